package scenario

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/subnet"
)

// MaxThreads is the largest number of threads of one run.
const MaxThreads = 64

// Network is the interface of a simulated Ethernet fabric for a run: *ether.Network on one thread, *ether.Parallel on several.
type Network interface {
	SetSource(ether.Source) error
	Add(ether.FlowSpec) error
	RunUntil(quantity.Picoseconds)
	Now() quantity.Picoseconds
	Finished() bool
	Err() error
	Stats() ether.Stats
	Deadlock() *ether.Deadlock
	Hosts() int
	HostPort(host int32) subnet.PortRef
	PortName(subnet.PortRef) string
	Port(subnet.PortRef) ether.PortStats
	Queue(subnet.PortRef) int64
	Flows(yield func(ether.FlowState) bool)
	Gauges(*ether.FlowState, []float64)
	InFlight() (packets, bytes uint64)
}

var (
	_ Network = (*ether.Network)(nil)
	_ Network = (*ether.Parallel)(nil)
)

// SetThreads sets the number of threads of a run. More than one is an error if the fabric or the traffic cannot be divided: on
// InfiniBand; with collectives, whose flows wait for each other across parts; with BiCC, whose switches share state of flows;
// and for more threads than switches with hosts.
func (s *Scenario) SetThreads(n int) error {
	refuse := func(why string) error { return fmt.Errorf("threads %d: want 1: %s", n, why) }
	switch e := s.Ethernet; {
	case n < 1 || n > MaxThreads:
		return fmt.Errorf("threads %d: want 1 to %d", n, MaxThreads)
	case e == nil && n > 1:
		return refuse("a run on the plane infiniband has one")
	case e == nil || n == 1:
	case e.BiCC != nil:
		return refuse("BiCC switches keep flows in common")
	case e.collectives():
		return refuse("the flows of a collective wait for each other")
	case n > edgeSwitches(s.Fabric):
		return fmt.Errorf("threads %d: want at most %d, the number of switches that have hosts", n, edgeSwitches(s.Fabric))
	}
	if s.Ethernet != nil {
		s.Ethernet.Threads = n
	}
	return nil
}

// threads returns the number of threads of a run.
func (e *Ethernet) threads() int { return max(1, e.Threads) }

func (e *Ethernet) collectives() bool {
	for i := range e.Workload {
		switch e.Workload[i].Kind {
		case KindPoisson, KindIncast, KindPermutation, KindBatch, KindTrace:
		default:
			return true
		}
	}
	return false
}

// edgeSwitches returns the number of switches with hosts.
func edgeSwitches(f *subnet.Fabric) int {
	edge := make(map[int32]bool)
	for _, h := range Hosts(f) {
		if peer, ok := f.Peer(h); ok && f.Nodes[peer.Node].Kind == subnet.KindSwitch {
			edge[peer.Node] = true
		}
	}
	return len(edge)
}

// network builds the fabric: as a whole, or in one part for each thread.
func (s *Scenario) network(config func(part int) (ether.Config, error)) (Network, error) {
	if n := s.Ethernet.threads(); n > 1 {
		return ether.NewParallel(s.Fabric, n, config)
	}
	cfg, err := config(0)
	if err != nil {
		return nil, err
	}
	return ether.New(s.Fabric, cfg)
}
