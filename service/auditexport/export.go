// Package auditexport sends the audit log to receivers elsewhere: syslog servers and webhooks. An attacker with the database cannot rewrite
// what was sent.
//
// Each sink gets every entry at least once and in order, with the hashes of the chain. Its position, the newest entry that it has
// acknowledged, is in the store, and moves after the acknowledgement: a manager that dies in between causes duplicates and no gaps. One
// manager at a time sends to a sink, for as long as it extends its lease. Reading the log and moving a position never wait for a receiver, so
// no receiver can delay the writers of the log.
package auditexport

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/webhook"
)

// Sink is a receiver of the log.
type Sink struct {
	Name string // of its position in the store, and in metrics
	URL  string // udp://, tcp:// or tls://HOST:PORT of a syslog server; http:// or https:// of a webhook
}

// Store is the part of control.Store that the export needs.
type Store interface {
	Tx(ctx context.Context, f func(control.Repos) error) error
	View(ctx context.Context, f func(control.Repos) error) error
}

// Options configure an export.
type Options struct {
	Sinks []Sink
	Key   *webhook.Key   // signs the deliveries to webhooks; nil: unsigned
	Roots *x509.CertPool // that TLS trusts; nil: the system's
	Owner string         // of leases: the name of this manager
	Lag   func(sink string, entries int64)
	Log   *slog.Logger
}

// limits of an export; tests have smaller ones.
type limits struct {
	batch   int           // most entries at once
	poll    time.Duration // between two checks for new entries
	lease   time.Duration // of a sink; longer than one attempt
	attempt time.Duration // to deliver a batch, and to note that
	pause   time.Duration // the longest after failures; the shortest is poll
	grace   time.Duration // of an attempt when the process ends
	settle  time.Duration // for which a syslog server must keep its connection open after it has received a batch
}

func usual() limits {
	return limits{batch: control.MaxPageLimit, poll: time.Second, lease: 20 * time.Second, attempt: 10 * time.Second, pause: 2 * time.Minute, grace: 2 * time.Second, settle: time.Second}
}

// batchBytes bounds a batch: the texts of its entries.
const batchBytes = 1 << 20

// sender delivers entries to one receiver.
type sender interface {
	// send makes one attempt to deliver entries, in order. After an error none, some or all were delivered.
	send(ctx context.Context, list []audit.Entry) error
	close()
}

// Exporter sends the log to all sinks.
type Exporter struct {
	o     Options
	store Store
	feeds []*feed
	limits
}

// feed is the export to one sink.
type feed struct {
	name   string
	to     sender
	e      *Exporter
	failed bool // the latest attempt did
	size   int  // most entries of the next batch
}

// New returns an exporter; Run sends. Its error is about a sink's URL, which it does not repeat.
func New(store Store, o Options) (*Exporter, error) { return newExporter(store, o, usual()) }

func newExporter(store Store, o Options, l limits) (*Exporter, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lag == nil {
		o.Lag = func(string, int64) {}
	}
	e := &Exporter{o: o, store: store, limits: l}
	host, _ := os.Hostname() // an unknown name is an empty one
	for _, s := range o.Sinks {
		to, err := open(s, host, &o, l.settle)
		if err != nil {
			return nil, fmt.Errorf("sink %s of the audit log: %w", s.Name, err)
		}
		e.feeds = append(e.feeds, &feed{name: s.Name, to: to, e: e, size: l.batch})
	}
	return e, nil
}

func open(s Sink, host string, o *Options, settle time.Duration) (sender, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("the URL cannot be read")
	}
	switch u.Scheme {
	case "http", "https":
		return &hook{sink: s.Name, to: webhook.New(s.URL, o.Key, o.Roots)}, nil
	case "udp", "tcp", "tls":
		return newSyslog(u.Scheme, u.Host, host, o.Roots, settle), nil
	}
	return nil, fmt.Errorf("scheme %q: want udp, tcp, tls, http or https", u.Scheme)
}

// Run sends until the context ends; then another manager may continue at once. A nil exporter does nothing.
func (e *Exporter) Run(ctx context.Context) {
	if e == nil {
		return
	}
	var all sync.WaitGroup
	for _, f := range e.feeds {
		all.Go(func() { f.run(ctx) })
	}
	all.Wait()
}

func (f *feed) run(ctx context.Context) {
	defer f.to.close()
	failures := 0
	for ctx.Err() == nil {
		err := f.turn(ctx)
		f.note(ctx, err)
		pause := f.e.poll
		if failures++; err == nil {
			failures = 0
		} else {
			pause = min(f.e.poll<<min(failures, 10), f.e.pause)
			pause = pause/2 + rand.N(pause/2)
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
	f.release(context.WithoutCancel(ctx))
}

// note logs when an export begins to fail and when it works again, instead of each attempt.
func (f *feed) note(ctx context.Context, err error) {
	switch {
	case err != nil && ctx.Err() == nil && !f.failed:
		f.failed = true
		f.e.o.Log.Warn("the audit log could not be exported", "sink", f.name, "error", err.Error())
	case err == nil && f.failed:
		f.failed = false
		f.e.o.Log.Info("the audit log is exported again", "sink", f.name)
	}
}

// turn sends all entries that the sink does not have, if no other manager does.
func (f *feed) turn(ctx context.Context) error {
	var s control.AuditSink
	var tail audit.Tail
	err := f.e.store.View(ctx, func(r control.Repos) (err error) {
		if s, err = r.AuditSink(ctx, f.name); err == nil {
			tail, err = r.AuditTail(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	f.e.o.Lag(f.name, max(tail.Seq-s.Position.Seq, 0))
	if others := s.Owner != f.e.o.Owner && time.Now().Before(s.Until); others || s.Position.Seq >= tail.Seq {
		if others {
			f.to.close()
		}
		return nil
	}
	if s, err = f.claim(ctx); err != nil || s.Owner != f.e.o.Owner {
		return err
	}
	for sent := true; sent && err == nil && ctx.Err() == nil; {
		sent, err = f.batch(ctx, &s)
	}
	return err
}

// claim takes or extends the lease of the sink.
func (f *feed) claim(ctx context.Context) (s control.AuditSink, err error) {
	now := time.Now()
	err = f.tx(ctx, func(r control.Repos) (err error) {
		s, err = r.ClaimAuditSink(ctx, f.name, f.e.o.Owner, now, now.Add(f.e.lease))
		return err
	})
	return s, err
}

func (f *feed) tx(ctx context.Context, do func(control.Repos) error) error {
	return f.e.store.Tx(control.WithScope(ctx, control.ScopeAuditExport), do)
}

// batch sends the next entries and moves the position; sent is false when there were none, or the sink has another owner.
func (f *feed) batch(ctx context.Context, s *control.AuditSink) (sent bool, err error) {
	var list []audit.Entry
	var tail audit.Tail
	err = f.e.store.View(ctx, func(r control.Repos) (err error) {
		list, _, err = r.ListAudit(ctx, control.AuditFilter{Oldest: true}, control.Page{After: strconv.FormatInt(s.Position.Seq, 10), Limit: f.size})
		if err == nil {
			tail, err = r.AuditTail(ctx)
		}
		return err
	})
	if err != nil || len(list) == 0 {
		return false, err
	}
	list = list[:fitting(list)]
	if first := &list[0]; first.Seq != s.Position.Seq+1 {
		f.e.o.Log.Warn("retention removed audit entries before they were exported", "sink", f.name, "from", s.Position.Seq+1, "to", first.Seq-1)
	}
	if err := f.send(ctx, list); err != nil {
		f.size = max(f.size/2, 1) // the receiver may not accept as much at once
		return false, err
	}
	f.size = min(2*f.size, f.e.batch)
	last := &list[len(list)-1]
	position := audit.Tail{Seq: last.Seq, Hash: last.Hash}
	ok, err := f.move(ctx, position, time.Now().Add(f.e.lease))
	if err != nil || !ok {
		return false, err
	}
	s.Position = position
	f.e.o.Lag(f.name, max(tail.Seq-position.Seq, 0))
	return true, nil
}

// send makes one attempt. When the context ends, the attempt has a moment more, so that an orderly end causes no duplicates.
func (f *feed) send(ctx context.Context, list []audit.Entry) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.e.attempt)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(f.e.grace, cancel) })
	defer stop()
	return f.to.send(within, list)
}

// move notes what was sent, also when the context ends: a position that stays means duplicates.
func (f *feed) move(ctx context.Context, position audit.Tail, until time.Time) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.e.attempt)
	defer cancel()
	err = f.tx(ctx, func(r control.Repos) (err error) {
		ok, err = r.MoveAuditSink(ctx, f.name, f.e.o.Owner, position, until)
		return err
	})
	return ok, err
}

// release ends the lease of this manager.
func (f *feed) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := f.tx(ctx, func(r control.Repos) error {
		s, err := r.AuditSink(ctx, f.name)
		if err != nil || s.Owner != f.e.o.Owner {
			return err
		}
		_, err = r.MoveAuditSink(ctx, f.name, f.e.o.Owner, s.Position, time.Now())
		return err
	})
	if err != nil { // the lease ends by itself
		f.e.o.Log.Debug("the lease of a sink was not given up", "sink", f.name, "error", err.Error())
	}
}

// fitting returns the number of entries that a batch holds by their size, at least one.
func fitting(list []audit.Entry) int {
	size := 0
	for i := range list {
		if size += len(list[i].Before) + len(list[i].After) + len(list[i].Detail); size > batchBytes && i > 0 {
			return i
		}
	}
	return len(list)
}
