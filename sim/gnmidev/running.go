package gnmidev

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"fairlane/agent"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicyang"
)

// running is a host that is up: its agent, and the goroutine that runs it.
type running struct {
	agent  *agent.Agent
	events chan struct{}
	stop   context.CancelFunc
	done   sync.WaitGroup
	unhook func() // of the agent's notices
}

// hostTree is a host's agent as a target, which stays the same while the host reboots.
type hostTree struct {
	gnmitree.Watchers
	host *Host
}

var _ gnmitree.Tree = (*hostTree)(nil)

func (t *hostTree) Info() gnmitree.Info {
	return gnmitree.Info{
		Models: []gnmitree.Model{nicyang.Model()}, Origins: []string{"", "openconfig", nicyang.Module}, Module: nicyang.Module,
	}
}

func (t *hostTree) Get(ctx context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	a, err := t.host.Agent()
	if err != nil {
		return nil, err
	}
	return a.Get(ctx, q)
}

func (t *hostTree) Set(ctx context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	a, err := t.host.Agent()
	if err != nil {
		return gnmitree.Result{}, err
	}
	return a.Set(ctx, ops)
}

var _ opener = (*Host)(nil)

func (h *Host) open() (gnmitree.Tree, error) { return h.tree, nil }

// Agent returns the host's agent, which starts when nobody asked before. It fails when the server is closed.
func (h *Host) Agent() (*agent.Agent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running == nil {
		if err := h.start(); err != nil {
			return nil, err
		}
	}
	return h.running.agent, nil
}

// sweepShare is the part of a core, one to so many, that the sweeps of all hosts may take, of sweepCost each.
const (
	sweepShare = 20
	sweepCost  = 500 * time.Microsecond
)

// freshNV is how old the non-volatile configuration in answers may be: on hardware, asking for it takes seconds.
const freshNV = 10 * time.Second

// start starts the agent. The caller holds the lock.
func (h *Host) start() error {
	if h.closed {
		return gnmitree.Errorf(codes.Unavailable, "host %q is down", h.name)
	}
	r := &running{events: make(chan struct{}, 1)}
	m := &machine{host: h, boot: h.bootID(), events: r.events, made: make([]*made, len(h.cards))}
	a, err := agent.New(context.Background(), agent.Options{
		Host: m, Journal: &h.journal, Now: h.now, Version: "simulated", FreshNV: freshNV, SweepEvery: max(agent.DefaultSweep, time.Duration(h.server.countHosts())*sweepCost*sweepShare),
	})
	if err != nil {
		return gnmitree.Errorf(codes.Unavailable, "agent of host %q: %v", h.name, err)
	}
	r.agent = a
	tree, _ := h.tree.Tree.(*hostTree)
	r.unhook = a.Watch(func(c gnmitree.Change) { tree.Changed(c.Paths...) })
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	r.done.Go(func() { _ = a.Run(ctx) }) // it ends with ctx, and not otherwise
	h.running = r
	return nil
}

// halt stops the agent. The caller holds the lock.
func (h *Host) halt() {
	if h.running == nil {
		return
	}
	h.running.unhook()
	h.running.stop()
	h.running.done.Wait()
	h.running = nil
}

func (h *Host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.halt()
}

// bootID is the name of the host's boot. The caller holds the lock.
func (h *Host) bootID() string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", h.boots+1) }

// now is the host's clock.
func (h *Host) now() time.Time { return h.server.clock().Add(time.Duration(h.skew.Load())) }

// SetClock makes the host's clock wrong by so much.
func (h *Host) SetClock(off time.Duration) { h.skew.Store(int64(off)) }

// Reboot reboots the host: what lives until then is gone, the non-volatile configuration acts, and the agent comes up
// again with its journal.
func (h *Host) Reboot() {
	h.mu.Lock()
	defer h.mu.Unlock()
	up := h.running != nil
	h.halt()
	h.boots++
	for _, c := range h.cards {
		c.mu.Lock()
		c.firmwareReset()
		c.mu.Unlock()
	}
	if up {
		_ = h.start() // whoever asks next hears why not
	}
	h.changed()
}

// Reset makes the host what it came as: nothing was ever set on its cards, and the agent remembers nothing.
func (h *Host) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.halt()
	h.boots++
	h.journal.clear()
	for _, c := range h.cards {
		c.mu.Lock()
		c.nv = nil
		c.firmwareReset()
		c.mu.Unlock()
	}
	h.changed()
}

// changed tells subscribers that everything may be different.
func (h *Host) changed() {
	if tree, ok := h.tree.Tree.(*hostTree); ok {
		tree.Changed()
	}
}

// ReloadDriver loads the driver of all cards again: what lives until then is gone, and the agent hears of it.
func (h *Host) ReloadDriver() {
	h.toEach((*card).reload)
}

// ResetFirmware resets the firmware of all cards: the non-volatile configuration acts, and what lives until a reload is
// gone. The agent hears of it.
func (h *Host) ResetFirmware() {
	h.toEach((*card).firmwareReset)
}

// toEach does something to every card, of which the agent hears.
func (h *Host) toEach(do func(*card)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.cards {
		c.mu.Lock()
		do(c)
		c.mu.Unlock()
	}
	h.event()
}

// event tells the agent that something happened to a card. The caller holds the lock.
func (h *Host) event() {
	if h.running == nil {
		return
	}
	select {
	case h.running.events <- struct{}{}:
	default:
	}
}

// countHosts is the number of hosts of the server.
func (s *Server) countHosts() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.hosts)
}
