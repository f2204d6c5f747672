// Package agent is the host agent: it serves the settings and counters of a host's RoCE NICs as a gNMI target of the
// module fairlane-nic.
//
//	manager ── gNMI ──► ccconfig/gnmi/gnmitree ──► Agent ──► nicfiles.Device, WRCC, Meter   of the Host's cards
//	                                         └─────► Journal                        desired and earlier values
//
// A Set is one transaction over all cards and ports that it names. All of it is checked against the parameter table and
// read before anything is written; the earlier values are in the journal before the first write; every write is read
// back. After any failure all parameters get their earlier values, and the error names those that do not. An agent that
// was killed in between restores the earlier values when it starts again.
//
//	idle ──Set──► checked ──journal: earlier values──► writing ──read back──► journal: desired values ──► done
//	                 └► refused                           └─ failed, killed ──► earlier values restored ──► undone or partial
//
// The journal stores the values that managers set. The agent sets them again after a driver reload, a firmware reset
// or a reboot; after a failure it retries with growing pauses. A value that another program changed is reported and
// not overwritten.
//
// On the host, the package itself touches only the journal's file: everything else is behind Host, so the same code runs
// on real and simulated hosts. It has never run on hardware.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/subnet/ident"
)

// Options of an Agent.
type Options struct {
	Host    Host             // required
	Journal Journal          // required
	Now     func() time.Time // required: the host's clock
	Version string           // version of the program
	// Fresh is the maximum age of parameter values in answers. Zero: they are read for each answer.
	Fresh time.Duration
	// FreshNV is the same for the non-volatile configuration, whose reading takes seconds on hardware.
	FreshNV time.Duration
	// FreshCounters is the same for counters and links, so that all subscribers of one sample share a reading.
	FreshCounters time.Duration
	// SweepEvery is the time between two sweeps of Run. Zero: 10 s.
	SweepEvery time.Duration
	// SampleInterval is the shortest interval that subscribers may request. Zero: the server's.
	SampleInterval time.Duration
	// SetsPerSecond bounds the accepted transactions, with a burst of as many as fit into 5 s. Zero: no bound.
	SetsPerSecond float64
	// Passive keeps the agent from writing anything except by Restore: neither devices nor the journal. It is for
	// inspection.
	Passive bool
	// Tenants returns the tenants of the pods that have functions of a port, by the function's index. Nil: the host serves no pods.
	Tenants func(port ident.PortID) map[int]string
	Log     *slog.Logger // nil: no log
}

// DefaultSweep is the time between two sweeps.
const DefaultSweep = 10 * time.Second

// maxCards bounds the cards of a host.
const maxCards = 256

// Agent is the agent of one host: a gnmitree.Tree. It is safe for concurrent use.
type Agent struct {
	gnmitree.Watchers

	o       Options
	log     *slog.Logger
	started time.Time
	limit   bucket

	sweeping chan struct{} // held during a read of the host; acquired before sets
	sets     chan struct{} // held by writers: Set, Sweep, Restore
	kick     chan struct{} // requests an immediate sweep from Run

	mu     sync.RWMutex // of everything below; held briefly only
	boot   string
	cards  map[string]*card // by name
	memory *memory
}

// New returns an agent: it reads the journal, reads the host once, and restores the earlier values of a transaction
// that a killed agent left unfinished. It fails on a journal that cannot be read. A host that does not answer is no
// error: the next Sweep tries again.
func New(ctx context.Context, o Options) (*Agent, error) {
	if o.Host == nil || o.Journal == nil || o.Now == nil {
		return nil, errors.New("an agent needs a host, a journal and a clock")
	}
	if o.SetsPerSecond < 0 {
		return nil, fmt.Errorf("sets per second: found %g, want 0 or more", o.SetsPerSecond)
	}
	document, err := o.Journal.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	m, err := decodeMemory(document)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	m.interrupt()
	o.SweepEvery = cmp.Or(o.SweepEvery, DefaultSweep)
	a := &Agent{
		o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), started: o.Now(), limit: newBucket(o.SetsPerSecond, o.Now()),
		sweeping: make(chan struct{}, 1), sets: make(chan struct{}, 1), kick: make(chan struct{}, 1), cards: map[string]*card{}, memory: m,
	}
	if err := a.Sweep(ctx); err != nil {
		a.log.Warn("first sweep of the host", "error", err)
	}
	return a, ctx.Err()
}

var _ gnmitree.Tree = (*Agent)(nil)

func (a *Agent) Info() gnmitree.Info {
	return gnmitree.Info{
		Models: []gnmitree.Model{nicyang.Model()}, Origins: []string{"", "openconfig", nicyang.Module}, Module: nicyang.Module,
		SampleInterval: a.o.SampleInterval,
	}
}

// eventSweeps is the number of sweeps per second that events may cause, with a burst of as many as fit into 5 s. Each
// sweep reads all parameters from the firmware, and a host that starts and stops containers has events all the time.
const eventSweeps = 2

// Run sweeps until ctx ends: at the host's events, periodically, and sooner while something must be set again. A host
// that does not answer is no error.
func (a *Agent) Run(ctx context.Context) error {
	events := newBucket(eventSweeps, time.Now())
	for {
		timer := time.NewTimer(a.pause())
		event := false
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-a.o.Host.Events():
			event = true
		case <-a.kick:
			event = true
		case <-timer.C:
		}
		if event && !events.take(time.Now()) {
			timer.Reset(time.Second / eventSweeps)
			select {
			case <-ctx.Done():
			case <-timer.C:
				events.take(time.Now()) // refill since the last event
			}
		}
		timer.Stop()
		if err := a.Sweep(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("sweep", "error", err)
		}
	}
}

// pause returns the time until the next sweep.
func (a *Agent) pause() time.Duration {
	a.mu.RLock()
	defer a.mu.RUnlock()
	pause, now := a.o.SweepEvery, a.o.Now()
	for _, c := range a.cards {
		if !c.reapply.next.IsZero() {
			pause = min(pause, c.reapply.next.Sub(now))
		}
	}
	return max(pause, time.Millisecond)
}

// acquire takes a lock in the form of a channel with one slot.
func acquire(ctx context.Context, lock chan struct{}) error {
	select {
	case lock <- struct{}{}:
		return nil
	default:
	}
	select {
	case lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func release(lock chan struct{}) { <-lock }

// list returns the cards by name.
func (a *Agent) list() []*card {
	a.mu.RLock()
	defer a.mu.RUnlock()
	out := make([]*card, 0, len(a.cards))
	for _, name := range slices.Sorted(maps.Keys(a.cards)) {
		out = append(out, a.cards[name])
	}
	return out
}

// save writes the memory to the journal durably. The caller holds sets.
func (a *Agent) save(ctx context.Context) error { return a.write(ctx, a.o.Journal.Save) }

// note writes the memory to the journal, for as long as the host runs. The caller holds sets.
func (a *Agent) note(ctx context.Context) error {
	if n, ok := a.o.Journal.(Noter); ok {
		return a.write(ctx, n.Note)
	}
	return a.save(ctx)
}

func (a *Agent) write(ctx context.Context, keep func(context.Context, []byte) error) error {
	a.mu.RLock()
	document, err := a.memory.encode()
	a.mu.RUnlock()
	if err == nil {
		err = keep(ctx, document)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// bucket is a rate limit.
type bucket struct {
	mu     sync.Mutex
	rate   float64 // a second; 0 is no limit
	most   float64
	tokens float64
	at     time.Time
}

// burst is the time over which unused rate accumulates.
const burst = 5 * time.Second

func newBucket(rate float64, now time.Time) bucket {
	most := max(1, rate*burst.Seconds())
	return bucket{rate: rate, most: most, tokens: most, at: now}
}

// take reports whether one more event is allowed now, and counts it if so.
func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rate == 0 {
		return true
	}
	if d := now.Sub(b.at); d > 0 {
		b.tokens = min(b.most, b.tokens+d.Seconds()*b.rate)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
