package fabric

import (
	"errors"
	"fmt"

	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Network is one simulated fabric with its traffic. It is not safe for concurrent use; one process can hold any number of
// networks.
type Network struct {
	cfg          Config
	topo         *subnet.Fabric
	eng          sim.Engine
	rng          sim.RNG
	creditBlocks int32

	ports    []port
	first    []int32 // index in ports of each node's port 0, with one more entry at the end
	lids     []lidRange
	swOf     []int32 // switch of each node, or none
	switches []swtch
	hosts    []host
	profiles []*ibprofile.Profile // by node

	pool       pool
	qps        []qp
	flows      []flow
	unresolved list // queue pairs without lane or path

	hops, deliveredPkts, marks, becns, discards uint64
	digest                                      uint64
}

// Stats are totals of a network, for benchmarks and for comparison of runs.
type Stats struct {
	Events        uint64 // events that the engine handled
	PacketHops    uint64 // links traversed, summed over all data packets
	Packets       uint64 // data packets delivered
	InFabric      int    // packets now in the fabric
	Marks         uint64 // FECNs set by switches
	BECNs         uint64 // BECNs received by sources
	Discards      uint64
	PendingEvents int
	PeakPending   int
	// Digest is a hash over every arrival of every packet: equal digests mean the same packets at the same times.
	Digest uint64
}

// New builds the network of a topology with its LIDs and forwarding tables. If any of them is missing, it assigns all, as a
// subnet manager does (subnet.AssignLIDs, subnet.ComputeRoutes). New returns an error for a topology without links, for links
// without a rate, and for a configuration out of range.
func New(topo *subnet.Fabric, cfg Config) (*Network, error) {
	if topo == nil || len(topo.Links) == 0 {
		return nil, errors.New("simulated fabric: the topology has no links")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("simulated fabric: %w", err)
	}
	if topo, err = routed(topo); err != nil {
		return nil, fmt.Errorf("simulated fabric: %w", err)
	}
	n := &Network{
		cfg: cfg, topo: topo, rng: sim.NewRNG(sim.Hash(cfg.Seed)), unresolved: emptyList(),
		creditBlocks: int32(cfg.BufferPerVL / CreditBlock), pool: pool{free: none},
		digest: 0xcbf29ce484222325, profiles: cfg.Devices.ByNode(topo),
	}
	n.addNodes()
	if err := n.addLinks(); err != nil {
		return nil, fmt.Errorf("simulated fabric: %w", err)
	}
	return n, nil
}

// routed returns the topology with LIDs and forwarding tables. If any of them is missing, it assigns all.
func routed(topo *subnet.Fabric) (*subnet.Fabric, error) {
	missing := topo.LFTs == nil
	for i := range topo.Nodes {
		nd := &topo.Nodes[i]
		missing = missing || nd.Kind == subnet.KindSwitch && (i >= len(topo.LFTs) || topo.LFTs[i] == nil)
		for p := range nd.Ports {
			endport := p > 0 && nd.Ports[p].Link >= 0
			if nd.Kind == subnet.KindSwitch {
				endport = p == 0
			}
			missing = missing || endport && nd.Ports[p].LID == 0
		}
	}
	if !missing {
		return topo, nil
	}
	t, err := subnet.AssignLIDs(topo, 0)
	if err != nil {
		return nil, fmt.Errorf("assign LIDs: %w", err)
	}
	lfts, err := subnet.ComputeRoutes(t)
	if err != nil {
		return nil, fmt.Errorf("compute routes: %w", err)
	}
	if t, err = t.WithLFTs(lfts); err != nil {
		return nil, fmt.Errorf("set routes: %w", err)
	}
	return t, nil
}

// addNodes creates the ports, switches and hosts.
func (n *Network) addNodes() {
	n.first = make([]int32, 0, len(n.topo.Nodes)+1)
	n.swOf = make([]int32, 0, len(n.topo.Nodes))
	for i := range n.topo.Nodes {
		nd := &n.topo.Nodes[i]
		n.first = append(n.first, int32(len(n.ports)))
		sw := none
		if nd.Kind == subnet.KindSwitch {
			sw = int32(len(n.switches))
			s := swtch{node: int32(i), ports: len(nd.Ports)}
			if i < len(n.topo.LFTs) {
				s.lft = append([]ident.PortNum(nil), n.topo.LFTs[i]...)
			}
			n.switches = append(n.switches, s)
		}
		n.swOf = append(n.swOf, sw)
		for num := range nd.Ports {
			n.addPort(int32(i), ident.PortNum(num), &nd.Ports[num], sw)
		}
	}
	n.first = append(n.first, int32(len(n.ports)))
}

func (n *Network) addPort(node int32, num ident.PortNum, tp *subnet.Port, sw int32) {
	p := port{
		node: node, num: num, sw: sw, host: none, peer: none, kickAt: sim.Never, mtu: 4096,
		opVLs: uint8(n.cfg.DataVLs), marking: marking{interval: 1}, arb: newArbiter(),
		active: tp.State == 0 || tp.State == subnet.PortActive,
	}
	p.tally.waitSince = -1
	if tp.MTU != 0 {
		p.mtu = tp.MTU
	}
	if n.cfg.MTU != 0 {
		p.mtu = min(p.mtu, uint16(n.cfg.MTU))
	}
	if sw == none && num > 0 {
		p.host = int32(len(n.hosts))
		h := host{port: int32(len(n.ports))}
		for sl := range h.gates {
			h.gates[sl].parked = emptyList()
		}
		n.hosts = append(n.hosts, h)
	}
	n.growLanes(&p, n.cfg.DataVLs)
	n.ports = append(n.ports, p)
	n.lids = append(n.lids, lidRange{tp.LID, tp.LMC})
	if p.host != none {
		n.prepare(&n.hosts[p.host])
	}
}

// addLinks connects the ports.
func (n *Network) addLinks() error {
	for i := range n.topo.Links {
		l := &n.topo.Links[i]
		if l.Rate <= 0 {
			return fmt.Errorf("link %d, node %d port %d: no rate: want more than 0 bit/s", i, l.A.Node, l.A.Port)
		}
		if l.Delay < 0 || l.Delay > quantity.Second {
			return fmt.Errorf("link %d, node %d port %d: delay %s: want 0 to 1 s", i, l.A.Node, l.A.Port, l.Delay)
		}
		a, b := n.portIndex(l.A.Node, l.A.Port), n.portIndex(l.B.Node, l.B.Port)
		for _, e := range [2][2]int32{{a, b}, {b, a}} {
			p := &n.ports[e[0]]
			p.peer, p.delay, p.latency, p.up = e[1], l.Delay, l.Delay, true
			if n.ports[e[1]].sw != none {
				p.latency += n.cfg.SwitchLatency
			}
			p.setRate(l.Rate)
		}
		pa, pb := &n.ports[a], &n.ports[b]
		pa.carries = pa.active && pb.active
		pb.carries = pa.carries
	}
	return nil
}

// Topology returns the topology with the initial LIDs and routes of the network.
func (n *Network) Topology() *subnet.Fabric { return n.topo }

// Config returns the configuration with its defaults set.
func (n *Network) Config() Config { return n.cfg }

// Now returns the simulated time.
func (n *Network) Now() quantity.Picoseconds { return n.eng.Now() }

// RunUntil processes all events up to and including t; it has no effect if t is in the past.
func (n *Network) RunUntil(t quantity.Picoseconds) { n.eng.RunUntil(t, n) }

// Stats returns the network's totals so far.
func (n *Network) Stats() Stats {
	now, peak := n.eng.Pending()
	return Stats{
		Events: n.eng.Processed(), PacketHops: n.hops, Packets: n.deliveredPkts, InFabric: n.pool.used,
		Marks: n.marks, BECNs: n.becns, Discards: n.discards,
		PendingEvents: now, PeakPending: peak, Digest: n.digest,
	}
}
