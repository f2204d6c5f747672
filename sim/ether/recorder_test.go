package ether

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

const (
	us = quantity.Microsecond
	ms = quantity.Millisecond
)

// full is the transmission time of a packet of 1048 bytes at 100 Gbit/s. later adds 1 us, the delay of a link.
const (
	full  = 1048 * 80 * quantity.Picoseconds(1)
	later = full + us
)

// recorder is a congestion control that records its calls and never changes its control.
type recorder struct {
	traits  cc.Traits
	control cc.Control
	acks    []cc.Ack
	notes   []cc.Notification
}

func (r *recorder) Traits() cc.Traits                                  { return r.traits }
func (r *recorder) Reserve(int)                                        {}
func (r *recorder) Settle(int32, quantity.Picoseconds, *cc.Control)    {}
func (r *recorder) Sent(int32, quantity.Picoseconds, int, *cc.Control) {}
func (r *recorder) Ack(_ int32, a *cc.Ack, _ *cc.Control)              { r.acks = append(r.acks, *a) }
func (r *recorder) Notify(_ int32, n *cc.Notification, _ *cc.Control)  { r.notes = append(r.notes, *n) }
func (r *recorder) Gauges() []string                                   { return nil }
func (r *recorder) Read(int32, []float64)                              {}
func (r *recorder) Start(int32, quantity.Picoseconds, *cc.Flow) cc.Control {
	if r.control.Rate == 0 {
		r.control.Rate = 1e15
	}
	return r.control
}

// star builds a star of 100 Gbit/s and 1 us per link whose flows use a recorder.
func star(tb testing.TB, hosts int, cfg Config, flows ...FlowSpec) (*Network, *recorder) {
	tb.Helper()
	topo, err := topogen.Star(hosts, topogen.Wire{})
	if err != nil {
		tb.Fatal(err)
	}
	return on(tb, topo, cfg, flows...)
}

// on builds a network whose flows use a recorder, unless the configuration has other algorithms.
func on(tb testing.TB, topo *subnet.Fabric, cfg Config, flows ...FlowSpec) (*Network, *recorder) {
	tb.Helper()
	r := &recorder{traits: cc.Traits{ECN: true, CNP: true}}
	if cfg.Algorithms == nil {
		cfg.Algorithms = []cc.Algorithm{r}
	}
	n, err := New(topo, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range flows {
		if err := n.Add(f); err != nil {
			tb.Fatal(err)
		}
	}
	return n, r
}

// outTo returns the switch port with the link to a host.
func (n *Network) outTo(host int32) (int32, *port) {
	pi := n.ports[n.hosts[host].port].peer
	return pi, &n.ports[pi]
}

// block stops or resumes the packets to a host.
func (n *Network) block(host int32, stop bool) {
	pi, p := n.outTo(host)
	if p.paused = 0; stop {
		p.paused = 1<<n.classes - 1
		return
	}
	n.kick(pi, p)
}

// lose drops all packets of lossy classes that arrive at the first switch between two times.
func (n *Network) lose(from, to quantity.Picoseconds) {
	n.RunUntil(from)
	s := &n.switches[0]
	free := s.shared - s.used
	s.used += free
	n.RunUntil(to)
	s.used -= free
}

// shares returns the acknowledged bytes of each flow by its number.
func (n *Network) shares(flows int) []float64 {
	out := make([]float64, flows)
	for s := range n.Flows {
		out[s.ID] = float64(s.Acked)
	}
	return out
}
