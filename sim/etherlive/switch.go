package etherlive

import (
	"errors"
	"fmt"
	"math"

	"fairlane/ccconfig/ecn"
	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/sim/p4dev"
	"fairlane/sim/plane"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
)

// Switch is the data plane of one switch.
type Switch struct {
	f    *Fabric
	node int32
}

// FairSwitch is the data plane of one WRCC switch, for p4dev.
type FairSwitch struct{ *Switch }

var _ p4dev.DataPlane = FairSwitch{}

// Switch returns the data plane of a switch.
func (f *Fabric) Switch(id ident.GUID) (*Switch, error) {
	node, ok := f.topo.NodeByGUID(id)
	if !ok || f.switches[node] == nil {
		return nil, fmt.Errorf("node %s: want a switch of the fabric", id)
	}
	return f.switches[node], nil
}

// FairSwitch returns the data plane of a switch of a WRCC fabric.
func (f *Fabric) FairSwitch(id ident.GUID) (FairSwitch, error) {
	s, err := f.Switch(id)
	if err == nil && f.wrcc == nil {
		err = errors.New("the fabric is RoCE: want a WRCC fabric")
	}
	return FairSwitch{s}, err
}

func (f *Fabric) addSwitches() {
	f.switches = make([]*Switch, len(f.topo.Nodes))
	for i := range f.topo.Nodes {
		if f.topo.Nodes[i].Kind == subnet.KindSwitch {
			f.switches[i] = &Switch{f: f, node: int32(i)}
		}
	}
}

// Default returns the initial marking of the switch: the rule for the queue of the fabric's traffic, for each linked port. It
// is empty in a WRCC fabric.
func (s *Switch) Default() []ecn.QueueMarking {
	var out []ecn.QueueMarking
	if s.f.wrcc != nil {
		return out
	}
	s.each(func(num ident.PortNum, rate quantity.BitRate) {
		e := s.f.o.ECN.ForRate(rate)
		if !e.Off {
			out = append(out, ecn.QueueMarking{Port: num, Queue: s.f.o.Priority, Marking: ecn.Marking{Min: e.Min, Max: e.Max, PMaxPct: int(math.Round(e.PMax * 100))}})
		}
	})
	return out
}

// each calls do for every linked port.
func (s *Switch) each(do func(num ident.PortNum, rate quantity.BitRate)) {
	for k := range s.f.topo.Nodes[s.node].Ports {
		num := ident.PortNum(k)
		if l, _ := s.f.topo.Link(subnet.PortRef{Node: s.node, Port: num}); l != nil {
			do(num, l.Rate)
		}
	}
}

// Configure sets the marking of the switch: a queue without an entry marks nothing. In a WRCC fabric only the queue of its
// traffic is used.
func (s *Switch) Configure(queues []ecn.QueueMarking) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	type place struct {
		port  ident.PortNum
		queue int
	}
	rules := make(map[place]ether.ECN, len(queues))
	for _, q := range queues {
		rules[place{q.Port, int(q.Queue)}] = ether.ECN{Min: q.Marking.Min, Max: q.Marking.Max, PMax: float64(q.Marking.PMaxPct) / 100}
	}
	s.each(func(num ident.PortNum, _ quantity.BitRate) {
		s.f.eachClass(func(queue, class int) {
			e, ok := rules[place{num, queue}]
			e.Off = !ok
			s.problem(num, s.f.net.SetECN(subnet.PortRef{Node: s.node, Port: num}, uint8(class), e))
		})
	})
}

// problem records an error of a port.
func (s *Switch) problem(num ident.PortNum, err error) {
	if err != nil {
		s.f.reject("switch %s port %d: %w", s.f.topo.Nodes[s.node].Name, num, err)
	}
}

// Measure returns a port's counters since the start of the fabric, which are all zero for a port without a link.
func (s *Switch) Measure(port int) plane.SwitchPortCounters {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	c := plane.SwitchPortCounters{At: s.f.net.Now()}
	ref := subnet.PortRef{Node: s.node, Port: ident.PortNum(port)}
	if port < 0 || port > math.MaxUint8 || !s.f.topo.Valid(ref) {
		return c
	}
	l := s.f.net.Link(ref)
	c.Up, c.TxOctets, c.RxOctets, c.TxPackets, c.RxPackets, c.PausedTime = l.Up, l.TxOctets, l.RxOctets, l.TxPackets, l.RxPackets, l.PausedTime
	c.InDrops = s.f.net.Port(ref).Drops
	s.f.byClass(ref, func(prio int, q *ether.QueueStats, at int) {
		c.Queues[prio] = plane.QueueCounters{
			Octets: q.TxOctets, Packets: q.TxPackets, Drops: q.Drops, DroppedBytes: q.DroppedOctets, Marks: q.Marks, Bytes: q.Bytes, Peak: q.Peak,
		}
		c.PausesSent[prio], c.PausesReceived[prio], c.GroupDrops[prio] = l.PausesSent[at], l.PausesReceived[at], l.InDrops[at]
	})
	return c
}

// DefaultFair returns the published WRCC configuration for a switch, which gives every queue pair of a port the same rate: S0's
// settings for each linked port, and data centres with the numbers of unmanaged NICs.
func (s *Switch) DefaultFair() wrcc.SwitchConfig {
	var c wrcc.SwitchConfig
	number := s.f.domainNumbers()
	nodes := s.f.topo.Nodes
	s.each(func(num ident.PortNum, rate quantity.BitRate) {
		p, err := wrcc.NewPortConfig(uint16(num), wrcc.DefaultParams(rate, defaultPeriod))
		if err != nil {
			return // S0's settings do not exist for a rate below 1 Mbit/s
		}
		peer, _ := s.f.topo.Peer(subnet.PortRef{Node: s.node, Port: num})
		c.Ports = append(c.Ports, p)
		c.Domains = append(c.Domains, wrcc.PortDomain{
			Port: uint16(num), Domain: number[nodes[s.node].Domain], WAN: nodes[peer.Node].Domain != nodes[s.node].Domain,
		})
	})
	return c
}

// resetFair empties the tables.
func (s *Switch) resetFair() { s.configureFair(&wrcc.SwitchConfig{}) }

// Configure sets the tables of the switch. While ports have different sampling periods, the previous period stays. Whether a
// port faces another data centre follows from the topology, not from the table.
func (s FairSwitch) Configure(c wrcc.SwitchConfig) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.configureFair(&c)
}

func (s *Switch) configureFair(c *wrcc.SwitchConfig) {
	period, agree := quantity.Picoseconds(0), true
	for i := range c.Ports {
		at := c.Ports[i].Params().Period
		agree = agree && (period == 0 || at == period)
		period = at
	}
	if !agree {
		period, _ = s.f.net.Period(s.node)
	}
	ports := make(map[uint16]ether.FairPort, len(c.Ports))
	for i := range c.Ports {
		p := ether.FairPort{Params: c.Ports[i].Params(), Domain: -1}
		p.Params.Period = period
		ports[c.Ports[i].Port] = p
	}
	for _, w := range c.Weights {
		if p, ok := ports[w.Port]; ok && w.Class == s.f.o.Priority {
			p.Weights[0] = w // the network has one class, the fabric's priority
			ports[w.Port] = p
		}
	}
	for _, d := range c.Domains {
		if p, ok := ports[d.Port]; ok {
			number, err := s.f.domainOf(d.Domain)
			if err != nil {
				s.f.reject("switch %s: %w", s.f.topo.Nodes[s.node].Name, err)
				return
			}
			p.Domain = int16(number)
			ports[d.Port] = p
		}
	}
	err := s.f.net.SetFairRate(s.node, func(num ident.PortNum, _ quantity.BitRate) ether.FairPort {
		if p, ok := ports[uint16(num)]; ok {
			return p
		}
		return ether.FairPort{Off: true, Domain: -1}
	})
	if err != nil {
		s.f.reject("switch %s: %w", s.f.topo.Nodes[s.node].Name, err)
	}
}

// Measure returns a port's measurements, which are all zero for port 0 and for ports without a link.
func (s FairSwitch) Measure(port uint16) p4dev.Measured {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	ref := subnet.PortRef{Node: s.node, Port: ident.PortNum(port)}
	if port == 0 || port > math.MaxUint8 || !s.f.topo.Valid(ref) {
		return p4dev.Measured{}
	}
	r, ok := s.f.net.FairRate(ref)
	if !ok {
		return p4dev.Measured{}
	}
	return p4dev.Measured{
		FairRateMbps: r.FairRateMbps, AvgRTTUs: uint32(min(r.AvgRTT/quantity.Microsecond, math.MaxUint32)),
		QueueBytes: uint32(min(s.f.net.Queue(ref), math.MaxUint32)), Input: p4info.Count{Packets: r.InPackets, Bytes: r.InBytes},
		FCNPs: r.FCNPs, Rewrites: r.Rewrites, Pauses: s.f.net.Port(ref).Pauses,
		FairRateSum: p4info.Count{Packets: r.Periods, Bytes: r.FairRateSum},
	}
}

// domainNumbers returns the initial number of each data centre on devices: data centres are numbered in the order of their
// first nodes in the topology.
func (f *Fabric) domainNumbers() map[string]uint16 {
	out := make(map[string]uint16)
	for i := range f.topo.Nodes {
		if d := f.topo.Nodes[i].Domain; len(out) < math.MaxUint16 {
			if _, ok := out[d]; !ok {
				out[d] = uint16(len(out))
			}
		}
	}
	return out
}

// domainOf returns the network's number of a data centre; devices may name at most 256.
func (f *Fabric) domainOf(number uint16) (uint8, error) {
	at, ok := f.domains[number]
	if !ok {
		if len(f.domains) > math.MaxUint8 {
			return 0, fmt.Errorf("data centre %d: want at most %d different data centres on devices", number, len(f.domains))
		}
		at = uint8(len(f.domains))
		f.domains[number] = at
	}
	return at, nil
}
