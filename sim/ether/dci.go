package ether

import (
	"errors"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/dci"
)

// DCI makes switches at the edge of a data centre run BiCC (package dci). They answer marks of their own data centre with
// CNPs. Packets from the long haul wait in virtual output queues, which the receivers' notifications pace. The DCI switches
// notify each other of the suitable rate for a destination. Set Config.CNPs, because the end hosts of BiCC run DCQCN.
type DCI struct {
	// Nodes are the DCI switches; a link between two of them is a long-haul link. An empty list selects every switch with a
	// link to a switch of another domain.
	Nodes []int32
	// Params returns the settings of a switch, by node; def has the defaults. nil selects dci.DefaultConfig for the fastest
	// host of the switch's domain, the largest round trip time within it, and the switch's longest long-haul link.
	Params func(node int32, def dci.Config) dci.Config
	// Pace creates the algorithm that paces the virtual output queues of one switch; nil selects dcqcn with its defaults.
	Pace func() (cc.Algorithm, error)
}

// edge is one DCI switch.
type edge struct {
	near *dci.SenderSide
	far  *dci.ReceiverSide
	voqs []list
	wake quantity.Picoseconds // time of the valid event; negative when none is pending
	sw   int32
}

// prepareDCI creates the state of DCI switches.
func (n *Network) prepareDCI() error {
	for i := range n.switches {
		n.switches[i].edge = none
	}
	c := n.cfg.DCI
	if c == nil {
		return nil
	}
	nodes, err := n.edgeNodes(c.Nodes)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		sw := n.swOf[node]
		n.switches[sw].edge = int32(len(n.edges))
		n.edges = append(n.edges, edge{sw: sw, wake: -1})
	}
	for i := range n.edges {
		if err := n.prepareEdge(c, &n.edges[i]); err != nil {
			return fmt.Errorf("DCI switch %s: %w", n.topo.Nodes[n.switches[n.edges[i].sw].node].Name, err)
		}
	}
	return nil
}

// edgeNodes validates the given DCI switches, or finds them.
func (n *Network) edgeNodes(given []int32) ([]int32, error) {
	var nodes []int32
	for _, node := range given {
		if node < 0 || int(node) >= len(n.swOf) || n.swOf[node] == none || slices.Contains(nodes, node) {
			return nil, fmt.Errorf("DCI switch %d: want distinct nodes that are switches", node)
		}
		nodes = append(nodes, node)
	}
	if len(given) > 0 {
		return nodes, nil
	}
	for i := range n.switches {
		if s := &n.switches[i]; slices.ContainsFunc(n.ports[n.first[s.node]:n.first[s.node+1]], func(p port) bool {
			return p.peer != none && n.ports[p.peer].sw != none && n.switches[n.ports[p.peer].sw].domain != s.domain
		}) {
			nodes = append(nodes, s.node)
		}
	}
	if len(nodes) == 0 {
		return nil, errors.New("no link between switches of different domains: want such a link, or a list of DCI switches")
	}
	return nodes, nil
}

func (n *Network) prepareEdge(c *DCI, e *edge) error {
	s := &n.switches[e.sw]
	haul := quantity.Picoseconds(0)
	for pi := n.first[s.node]; pi < n.first[s.node+1]; pi++ {
		p := &n.ports[pi]
		if p.peer == none || n.ports[p.peer].sw == none || n.switches[n.ports[p.peer].sw].edge == none {
			continue
		}
		p.haul = true
		haul = max(haul, 2*p.delay)
	}
	if haul == 0 {
		return errors.New("no link with a delay to another DCI switch: want a long-haul link")
	}
	line, local := n.domainOf(s.domain)
	prm := dci.DefaultConfig(line, max(local, 1), haul)
	prm.Payload, prm.Wire = n.cfg.Payload, n.cfg.Payload+n.cfg.Headers.Data
	if c.Params != nil {
		prm = c.Params(s.node, prm)
	}
	pace := c.Pace
	if pace == nil {
		pace = func() (cc.Algorithm, error) {
			spec, err := cc.ByName("dcqcn")
			if err != nil {
				return nil, err
			}
			return spec.Build(nil)
		}
	}
	alg, err := pace()
	if err != nil {
		return err
	}
	if e.near, err = dci.NewSenderSide(prm); err != nil {
		return err
	}
	if e.far, err = dci.NewReceiverSide(prm, alg); err != nil {
		return err
	}
	e.near.Reserve(0, len(n.hosts))
	e.far.Reserve(len(n.hosts))
	e.voqs = slices.Repeat([]list{emptyList()}, prm.VOQs)
	return nil
}

// domainOf returns the rate of the fastest host of a domain, and the largest base round trip inside it.
func (n *Network) domainOf(domain uint8) (line quantity.BitRate, rtt quantity.Picoseconds) {
	var hosts []int32
	for i := range n.hosts {
		if n.hosts[i].domain == domain {
			hosts = append(hosts, int32(i))
			line = max(line, n.ports[n.hosts[i].port].rate)
		}
	}
	step := 1 + len(hosts)*len(hosts)/mostPairs
	for i, s := range hosts {
		for k := i % step; k < len(hosts); k += step {
			if d := hosts[k]; s != d && n.reaches(s, d) {
				rtt = max(rtt, n.walk(s, d, 0).rtt)
			}
		}
	}
	return line, rtt
}

// intercept handles, at a DCI switch, notices of other DCI switches and congestion notifications of receivers in its own data
// centre. It reports whether the switch consumes the packet.
func (n *Network) intercept(e *edge, p *port, out *port, pk int32) bool {
	k := n.pool.at(pk)
	now := n.eng.Now()
	switch {
	case k.kind == kindNotice:
		e.near.Notice(k.dst, float64(k.fair)*1e6, now)
		n.pool.put(pk)
		return true
	case p.haul || !out.haul:
		return false
	}
	f := n.flow(k.flow)
	if f.gen != k.gen {
		return false // the flow has ended; its slot may have another destination now
	}
	switch {
	case k.kind == kindCNP:
		if !e.far.CNP(f.dst, now) {
			return false
		}
		n.totals.LocalCNPs++
		n.pool.put(pk)
		return true
	case k.kind != kindFCNP && e.far.Echo(f.dst, int(k.load>>8), now):
		n.totals.LocalCNPs++
		k.load &= 0xff
	}
	return false
}

// outbound applies BiCC to the mark of a data packet that leaves into the long haul, and reports whether the sender must be
// notified.
func (n *Network) outbound(p *port, k *packet) bool {
	e := &n.edges[n.switches[p.sw].edge]
	v := e.near.Outbound(k.flow, k.dst, int(k.wire), k.flag&flagMarked != 0, n.eng.Now())
	if v.Clear {
		k.flag &^= flagMarked
	}
	return v.CNP
}

// notifySender sends a notification packet from a DCI switch to the sender of a flow.
func (n *Network) notifySender(sw, slot int32, gen uint16) {
	f := n.flow(slot)
	if f.gen != gen || f.state == stateFree || !n.traits[f.algo].cnp {
		return
	}
	note := packet{
		flow: slot, gen: gen, dst: f.src, hash: f.back, tel: none, in: none,
		wire: uint16(n.cfg.Headers.CNP), kind: kindCNP, cls: n.cfg.CNPClass, dom: n.switches[sw].domain,
	}
	oi := n.route(sw, &note)
	if oi == none {
		return
	}
	n.totals.SenderSideCNPs++
	pk := n.pool.get()
	*n.pool.at(pk) = note
	n.enqueue(oi, &n.ports[oi], pk)
}

// hold puts a data packet from the long haul, which is already in the buffer, into its virtual output queue.
func (n *Network) hold(ei, pi int32, pk int32) {
	e := &n.edges[ei]
	k := n.pool.at(pk)
	a := e.far.Arrive(k.dst, int(k.wire), n.eng.Now())
	e.voqs[a.VOQ].push(&n.pool, pk)
	if a.Notice {
		dst := k.dst
		note := n.pool.get()
		*n.pool.at(note) = packet{
			dst: dst, flow: none, tel: none, in: none, wire: uint16(n.cfg.Headers.CNP), kind: kindNotice, cls: n.cfg.CNPClass,
			fair: uint32(max(1, a.Rate/1e6)), dom: n.switches[e.sw].domain,
		}
		n.totals.Notices++
		n.enqueue(pi, &n.ports[pi], note)
	}
	n.serveVOQs(ei)
}

// serveVOQs moves packets that may leave from the virtual output queues to the output queues, and schedules the next event.
func (n *Network) serveVOQs(ei int32) {
	e := &n.edges[ei]
	now := n.eng.Now()
	for {
		q, at, ok := e.far.Next()
		if !ok {
			return
		}
		if at > now {
			if e.wake < 0 || at < e.wake {
				e.wake = at
				n.eng.Schedule(at, evVOQ, ei, 0)
			}
			return
		}
		pk := e.voqs[q].pop(&n.pool)
		k := n.pool.at(pk)
		e.far.Leave(q, int(k.wire), now)
		oi := n.route(e.sw, k) // the route exists: the packet is in the buffer
		n.enqueue(oi, &n.ports[oi], pk)
	}
}

// voqDue handles the event of a DCI switch's virtual output queues. An event that was rescheduled to an earlier time has no
// effect.
func (n *Network) voqDue(ei int32, at quantity.Picoseconds) {
	e := &n.edges[ei]
	if at != e.wake {
		return
	}
	e.wake = -1
	n.serveVOQs(ei)
}

// reserveEdges allocates space for flows at the DCI switches.
func (n *Network) reserveEdges(flows int) {
	for i := range n.edges {
		n.edges[i].near.Reserve(flows, len(n.hosts))
	}
}

// startEdges resets the DCI switches' state of a flow slot for its new flow.
func (n *Network) startEdges(slot int32) {
	for i := range n.edges {
		n.edges[i].near.Start(slot)
	}
}
