package scenario

import (
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/subnet"
)

// MaxThreads is the largest number of threads of one run.
const MaxThreads = 64

// Network is a simulated Ethernet fabric: an *ether.Network on one thread, an *ether.Parallel on several.
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
	refuse := func(why phrase.Text) error { return fault(phrase.Of("scenario.threads-one", "n", n, "reason", why)) }
	switch e := s.Ethernet; {
	case n < 1 || n > MaxThreads:
		return fault(phrase.Of("scenario.threads", "n", n, "max", MaxThreads))
	case e == nil && n > 1:
		return refuse(phrase.Of("scenario.threads-infiniband"))
	case e == nil || n == 1:
	case e.BiCC != nil:
		return refuse(phrase.Of("scenario.threads-bicc"))
	case e.collectives():
		return refuse(phrase.Of("scenario.threads-collective"))
	case n > edgeSwitches(s.Fabric):
		return fault(phrase.Of("scenario.threads-switches", "n", n, "max", edgeSwitches(s.Fabric)))
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

// network builds the fabric: as a whole, or divided into one part per thread.
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
