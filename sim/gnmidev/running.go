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
	"fairlane/subnet/ident"
)

// running is the agent of a host that is up, with the agent's goroutine.
type running struct {
	agent             *agent.Agent
	events            chan struct{}
	stop              context.CancelFunc
	done              sync.WaitGroup
	stopNotifications func() // stops the agent's notifications
}

// hostTree is the tree of a host's agent, which stays the same across reboots.
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

// Agent returns the host's agent, and starts it if necessary. It returns an error after the server is closed.
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

// The sweeps of all hosts together may use 1/sweepShare of a core; one sweep takes sweepCost.
const (
	sweepShare = 20
	sweepCost  = 500 * time.Microsecond
)

// freshNV is the maximum age of the non-volatile configuration in responses. On hardware, reading it takes seconds.
const freshNV = 10 * time.Second

// start starts the agent. The caller holds the lock.
func (h *Host) start() error {
	if h.closed {
		return gnmitree.Errorf(codes.Unavailable, "host %q is down", h.name)
	}
	r := &running{events: make(chan struct{}, 1)}
	m := &machine{host: h, boot: h.bootID(), events: r.events, made: make([]*made, len(h.cards))}
	a, err := agent.New(context.Background(), agent.Options{
		Host: m, Tenants: h.tenants, Journal: &h.journal, Now: h.now, Version: "simulated", FreshNV: freshNV, SweepEvery: max(agent.DefaultSweep, time.Duration(h.server.countHosts())*sweepCost*sweepShare),
	})
	if err != nil {
		return gnmitree.Errorf(codes.Unavailable, "agent of host %q: %v", h.name, err)
	}
	r.agent = a
	tree, _ := h.tree.Tree.(*hostTree)
	r.stopNotifications = a.Watch(func(c gnmitree.Change) { tree.Changed(c.Paths...) })
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	r.done.Go(func() { _ = a.Run(ctx) }) // Run ends only when ctx ends
	h.running = r
	return nil
}

// ServePods makes the host's agent one that serves pods (agent.Options.Tenants). It restarts the agent.
func (h *Host) ServePods(tenants func(port ident.PortID) map[int]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.halt()
	h.tenants = tenants
}

// halt stops the agent. The caller holds the lock.
func (h *Host) halt() {
	if h.running == nil {
		return
	}
	h.running.stopNotifications()
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

// bootID returns the ID of the host's current boot. The caller holds the lock.
func (h *Host) bootID() string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", h.boots+1) }

// now returns the time of the host's clock.
func (h *Host) now() time.Time { return h.server.clock().Add(time.Duration(h.skew.Load())) }

// SetClock sets the offset of the host's clock from the server's clock.
func (h *Host) SetClock(off time.Duration) { h.skew.Store(int64(off)) }

// Reboot reboots the host: volatile settings are lost, the non-volatile configuration takes effect, and the agent restarts with
// its journal.
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
		_ = h.start() // the next caller of Agent gets the error
	}
	h.changed()
}

// Reset returns the host to its factory state, without any journal.
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

// changed notifies subscribers that any value may have changed.
func (h *Host) changed() {
	if tree, ok := h.tree.Tree.(*hostTree); ok {
		tree.Changed()
	}
}

// ReloadDriver reloads the driver of all cards: volatile settings are lost. It also notifies the agent.
func (h *Host) ReloadDriver() {
	h.toEach((*card).reload)
}

// ResetFirmware resets the firmware of all cards: the non-volatile configuration takes effect, and volatile settings are lost.
// It notifies the agent.
func (h *Host) ResetFirmware() {
	h.toEach((*card).firmwareReset)
}

// toEach calls do with every card, and notifies the agent.
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

// event notifies the agent of an event of a card. The caller holds the lock.
func (h *Host) event() {
	if h.running == nil {
		return
	}
	select {
	case h.running.events <- struct{}{}:
	default:
	}
}

// countHosts returns the number of hosts of the server.
func (s *Server) countHosts() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.hosts)
}
