package ether

import (
	"errors"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Kinds of events.
const (
	evArrive  uint8 = iota // A: sending port of the link on which a packet arrives
	evFree                 // A: port that has become idle
	evPace                 // A: flow, B: its generation
	evStart                // A: index of the scheduled flow
	evStop                 // A: flow, B: its generation
	evTimeout              // A: flow, B: its generation
	evFair                 // A: switch whose period ends
	evVOQ                  // A: DCI switch whose virtual output queue may send
	evAnswer               // A: flow, B: its generation: a delayed acknowledgement may be due
	evShape                // A: host: a function of this host that was held back may send
)

// trait is cc.Traits prepared for the data path.
type trait struct {
	stamper cc.Stamper
	data    uint16 // header bytes of a data packet
	ack     uint16 // bytes of an acknowledgement
	flags   uint8
	tel     bool
	cnp     bool
	repace  bool
	sent    bool
	quiet   bool
	maxHops int // largest number of switches in a path; 0 means no limit
}

// Network is one simulated fabric with its traffic. It is not safe for concurrent use; one process can hold any number of
// networks.
type Network struct {
	cfg  Config
	topo *subnet.Fabric
	eng  sim.Engine

	ports    []port
	first    []int32 // index in ports of each node's port 0, with one more entry at the end
	swOf     []int32 // switch of each node, or none
	switches []swtch
	hosts    []host
	queues   []queue   // [port][class]
	ingress  []ingress // [port][class]
	acks     []list    // [host][class]
	turns    []turns   // [host][class]
	routes   routes
	maxRTT   quantity.Picoseconds

	classes   int
	strict    uint8 // bit mask of the strict classes
	lossy     uint8 // bit mask of the lossy classes
	resends   bool  // senders may have to resend
	truncate  bool
	fixed     bool // nanoseconds are computed as in fixedPoint
	quantum   int32
	largest   int32 // bytes of the largest packet
	fullSizes [MaxClasses]int32
	traits    []trait
	maps      []CodeMap // maps of the ports that have one

	pool      pool
	records   records
	pages     []*page
	slots     int32 // number of slots ever used
	reserved  int32
	freeSlots []int32
	specs     []FlowSpec
	freeSpecs []int32
	source    Source
	selective map[int32]*scoreboard // senders' scoreboards
	kept      map[int32]*scoreboard // receivers' scoreboards
	nacks     map[int32]nack        // NACK state of receivers with missing packets

	part  *part        // nil when this network simulates the whole fabric
	fair  []fairSwitch // by switch; nil without WRCC
	edges []edge       // DCI switches

	functions []function // functions of hosts; index 0 means no function and is not used
	ends      []ends     // functions of flows; nil in a fabric without functions
	sink      HostStats  // of flows without functions; not read

	upcoming, active, peakActive int
	periodic                     int // periodic events
	completed                    uint64
	lastDone                     quantity.Picoseconds
	hops                         uint64
	totals                       Totals
	digest                       uint64
	failed                       error

	// Arguments of calls to algorithms. As local variables passed by pointer, each call would allocate them.
	ackArg  cc.Ack
	noteArg cc.Notification
	flowArg cc.Flow
}

// New builds the network of a topology. A host is a linked port of a channel adapter; hosts are numbered by node and port. New
// returns an error for a topology without links, for links without a rate, for more than 256 domains, and for a configuration
// out of range.
func New(topo *subnet.Fabric, cfg Config) (*Network, error) { return assemble(topo, cfg, nil) }

// assemble implements New. It calls divide, if given, after the creation of ports and links, to make the network a part.
func assemble(topo *subnet.Fabric, cfg Config, divide func(*Network) error) (*Network, error) {
	if topo == nil || len(topo.Links) == 0 {
		return nil, errors.New("ethernet fabric: the topology has no links")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("ethernet fabric: %w", err)
	}
	n := &Network{
		cfg: cfg, topo: topo, classes: len(cfg.Classes), truncate: cfg.TruncateNs, fixed: cfg.TruncateNs && cfg.FixedPoint,
		pool: pool{free: none}, records: records{free: none}, quantum: int32(cfg.Payload + cfg.Headers.Data),
		selective: make(map[int32]*scoreboard), kept: make(map[int32]*scoreboard), nacks: make(map[int32]nack), digest: 0xcbf29ce484222325,
	}
	n.prepareClasses()
	n.prepareTraits()
	if err := n.addNodes(); err != nil {
		return nil, fmt.Errorf("ethernet fabric: %w", err)
	}
	if err := n.addLinks(); err != nil {
		return nil, fmt.Errorf("ethernet fabric: %w", err)
	}
	if divide != nil {
		if err := divide(n); err != nil {
			return nil, err
		}
	}
	n.addQueues()
	if err := n.prepareBuffers(); err != nil {
		return nil, fmt.Errorf("ethernet fabric: %w", err)
	}
	if err := n.buildRoutes(); err != nil {
		return nil, fmt.Errorf("ethernet fabric: %w", err)
	}
	if err := n.prepareDCI(); err != nil {
		return nil, fmt.Errorf("ethernet fabric: %w", err)
	}
	if err := n.prepareFairRate(); err != nil {
		return nil, fmt.Errorf("ethernet fabric: %w", err)
	}
	return n, nil
}

func (n *Network) prepareClasses() {
	for i, c := range n.cfg.Classes {
		if c.Strict {
			n.strict |= 1 << i
		}
		if c.Lossy {
			n.lossy |= 1 << i
		}
		n.fullSizes[i] = n.quantum
	}
	n.resends = n.lossy != 0 || n.cfg.Recovery.Timeout > 0
}

func (n *Network) prepareTraits() {
	n.largest = int32(n.cfg.Headers.CNP)
	for _, a := range n.cfg.Algorithms {
		t := a.Traits()
		tr := trait{
			data: uint16(n.cfg.Headers.Data + t.DataHeader), ack: uint16(n.cfg.Headers.Ack + t.AckHeader),
			tel: t.INT, cnp: t.CNP, repace: t.Repace, sent: t.Sent, quiet: t.Quiet,
		}
		if t.ECN {
			tr.flags |= flagCapable
		}
		if t.INT {
			tr.maxHops = maxHops
			if t.MaxHops > 0 {
				tr.maxHops = min(maxHops, t.MaxHops)
			}
		}
		tr.stamper, _ = a.(cc.Stamper)
		n.largest = max(n.largest, int32(n.cfg.Payload)+int32(tr.data), int32(tr.ack))
		n.traits = append(n.traits, tr)
	}
}

// addNodes creates the ports, switches and hosts.
func (n *Network) addNodes() error {
	domains := make(map[string]uint8)
	for i := range n.topo.Nodes {
		nd := &n.topo.Nodes[i]
		dom, ok := domains[nd.Domain]
		if !ok {
			if len(domains) == 256 {
				return errors.New("more than 256 domains")
			}
			dom = uint8(len(domains))
			domains[nd.Domain] = dom
		}
		n.first = append(n.first, int32(len(n.ports)))
		sw := none
		if nd.Kind == subnet.KindSwitch {
			sw = int32(len(n.switches))
			n.switches = append(n.switches, swtch{node: int32(i), domain: dom, salt: uint32(sim.Hash(n.cfg.Seed, uint64(i)))})
		}
		n.swOf = append(n.swOf, sw)
		for num := range nd.Ports {
			p := port{node: int32(i), num: int32(num), sw: sw, host: none, peer: none, pipe: emptyList(), control: emptyList(), pfc: 0xff, strict: n.strict}
			for c := range n.cfg.Classes {
				p.weights[c] = uint8(n.cfg.Classes[c].Weight)
			}
			if sw == none && nd.Ports[num].Link >= 0 {
				p.host = int32(len(n.hosts))
				n.hosts = append(n.hosts, host{port: int32(len(n.ports)), node: int32(i), domain: dom, cnpGap: n.cfg.CNPGap})
			}
			n.ports = append(n.ports, p)
		}
	}
	n.first = append(n.first, int32(len(n.ports)))
	return nil
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
		a, b := n.first[l.A.Node]+int32(l.A.Port), n.first[l.B.Node]+int32(l.B.Port)
		for _, e := range [2][2]int32{{a, b}, {b, a}} {
			p := &n.ports[e[0]]
			p.peer, p.delay, p.rate = e[1], l.Delay, l.Rate
			if 8_000_000_000_000%l.Rate == 0 {
				p.psPerByte = quantity.Picoseconds(8_000_000_000_000 / l.Rate)
			}
		}
	}
	return nil
}

// prepareMarking sets the marking of a port after its link is known.
func (n *Network) prepareMarking(p *port) {
	e, own := n.cfg.ECNs[subnet.PortRef{Node: p.node, Port: ident.PortNum(p.num)}]
	queues := n.queuesOf(p)
	if !own {
		e = n.cfg.ECN.ForRate(p.rate)
	}
	for i := range queues {
		queues[i].marking(&e)
	}
}

// queuesOf returns the queues of a port, by class.
func (n *Network) queuesOf(p *port) []queue {
	at := (int(n.first[p.node]) + int(p.num)) * n.classes
	return n.queues[at : at+n.classes]
}

// marking sets the marking rule of a queue.
func (q *queue) marking(e *ECN) {
	if e.Off {
		q.kmin, q.kmax = 1<<62, 1<<62
		return
	}
	q.kmin, q.kmax, q.pmax = e.Min, e.Max, e.PMax
}

func (n *Network) addQueues() {
	n.queues = make([]queue, len(n.ports)*n.classes)
	for i := range n.queues {
		n.queues[i].list = emptyList()
	}
	for i := range n.ports {
		if p := &n.ports[i]; p.peer != none {
			n.prepareMarking(p)
		}
	}
	n.ingress = make([]ingress, len(n.ports)*n.classes)
	n.acks = make([]list, len(n.hosts)*n.classes)
	n.turns = make([]turns, len(n.hosts)*n.classes)
	for i := range n.acks {
		n.acks[i] = emptyList()
		n.turns[i] = turns{none, none}
	}
}

var _ sim.Handler = (*Network)(nil)

func (n *Network) Handle(ev sim.Event) {
	switch ev.Kind() {
	case evArrive:
		n.arrive(ev.A)
	case evFree:
		p := &n.ports[ev.A]
		p.armed = false
		n.transmit(ev.A, p)
	case evPace:
		n.pace(ev.A, uint16(ev.B), ev.At)
	case evStart:
		n.begin(ev.A)
	case evStop:
		n.stop(ev.A, uint16(ev.B))
	case evTimeout:
		n.timeout(ev.A, uint16(ev.B))
	case evFair:
		n.updateFair(ev.A)
	case evVOQ:
		n.voqDue(ev.A, ev.At)
	case evAnswer:
		n.answer(ev.A, uint16(ev.B))
	case evShape:
		n.shaped(ev.A, ev.At)
	}
}

// Now returns the simulated time.
func (n *Network) Now() quantity.Picoseconds { return n.eng.Now() }

// RunUntil processes all events up to and including t; it has no effect if t is in the past.
func (n *Network) RunUntil(t quantity.Picoseconds) { n.eng.RunUntil(t, n) }
