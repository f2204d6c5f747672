package check

import (
	"fmt"
	"strings"

	"fairlane/internal/disjoint"
	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// routes walks all forwarding tables, once for each LID.
func (c *checker) routes() {
	c.split()
	t := c.tally[GroupRoutes]
	if c.f.LFTs == nil {
		t.Skipped = SkipNoRoutes
		return
	}
	c.routeGraph = newRouteGraph(c.f)
	v := &verdict{c: c, r: c.routeGraph, loops: make(map[string]*fault), ends: make(map[subnet.PortRef]*fault), noTableSeen: make(map[int32]bool)}
	v.channels = newChannels(c)
	for lid := ident.LID(1); lid <= c.f.TopLID() && lid != 0; lid++ {
		end, ok := c.f.PortByLID(lid)
		if !ok || !v.plugged(end) {
			continue
		}
		c.routeGraph.walk(lid, end)
		c.routeGraph.addTurns()
		v.judge(lid, end)
		v.channels.enter()
	}
	v.report()
	c.channels = v.channels
	t.Of, t.Bad = v.pairs, v.unreachable
}

// split reports that the cabling itself separates hosts.
func (c *checker) split() {
	parts := disjoint.New(len(c.f.Nodes))
	for i := range c.f.Links {
		parts.Join(c.f.Links[i].A.Node, c.f.Links[i].B.Node)
	}
	hosts := make([]int, len(c.f.Nodes)) // of each component, by its root node
	for _, h := range c.f.Hosts() {
		hosts[parts.Find(h)]++
	}
	var at places
	var names phrase.Commas
	for first, n := range hosts {
		if n > 0 {
			at.node(c.f, int32(first))
			names = append(names, phrase.Of("check.part", "host", c.name(int32(first)), "hosts", countHost.Of(n)))
		}
	}
	if at.n > 1 {
		c.add(CodeFabricSplit, at, phrase.Of("check.parts", "n", at.n, "parts", some(names, at.n)))
	}
}

// fault is a loop or a dead end, with the affected destinations.
type fault struct {
	switches []int32
	port     subnet.PortRef
	lids     int
	first    ident.LID
}

// maxFaults bounds the loops, and the dead ends, that have their own finding; pairs separated by further ones still count
// as unreachable.
const maxFaults = 256

// verdict sums up the walks.
type verdict struct {
	c        *checker
	r        *routeGraph
	channels *channels

	pairs, unreachable int
	lost               [outcomes]int // unreachable pairs by the outcome of the packet
	samples            phrase.Commas
	at                 places
	loops              map[string]*fault
	loopKeys           []string
	ends               map[subnet.PortRef]*fault
	endKeys            []subnet.PortRef
	noTable            places
	noTableSeen        map[int32]bool
	farSwitches        places
}

// plugged reports whether packets can reach the port at all.
func (v *verdict) plugged(end subnet.PortRef) bool {
	if v.c.f.Nodes[end.Node].Kind == subnet.KindSwitch {
		return true
	}
	peer, ok := v.c.f.Peer(end)
	return ok && v.r.number[peer.Node] >= 0 && v.r.live[v.r.at(v.r.number[peer.Node], peer.Port)]
}

// judge adds the results of one destination.
func (v *verdict) judge(lid ident.LID, end subnet.PortRef) {
	toHost := v.c.f.Nodes[end.Node].Kind != subnet.KindSwitch
	short := 0
	for s := range v.r.sw {
		n := len(v.r.hosts[s])
		if n == 0 {
			continue
		}
		if peer, ok := v.c.f.Peer(end); toHost && ok && peer.Node == v.r.sw[s] {
			n-- // the destination's own port
		}
		if toHost {
			v.pairs += n
		}
		if v.r.ends[s] == outcomeDelivered || n == 0 {
			continue
		}
		short += n
		if toHost {
			v.missed(int32(s), n, end, lid)
		}
	}
	if short > 0 && !toHost {
		v.farSwitches.node(v.c.f, end.Node)
	}
	for s := range v.r.sw {
		if !v.r.carry[s] {
			continue
		}
		switch v.r.outcome[s] {
		case outcomeDeadEnd:
			v.deadEnd(int32(s), lid)
		case outcomeNoTable:
			v.missing(int32(s))
		case outcomeForwarded:
			if v.r.ends[s] == outcomeLoop && v.r.indeg[s] > 0 {
				v.loop(int32(s), lid)
			}
		}
	}
}

// missed counts pairs without a path.
func (v *verdict) missed(s int32, n int, end subnet.PortRef, lid ident.LID) {
	v.unreachable += n
	v.lost[v.r.ends[s]] += n
	if len(v.samples) >= maxSamples {
		return
	}
	for _, p := range v.r.hosts[s] {
		src, ok := v.c.f.Peer(subnet.PortRef{Node: v.r.sw[s], Port: p})
		if ok && src != end {
			v.samples = append(v.samples, phrase.Of("check.pair", "source", v.c.f.PortName(src), "destination", v.c.f.PortName(end), "lid", lid))
			v.at.port(v.c.f, src)
			v.at.port(v.c.f, end)
			return
		}
	}
}

func (v *verdict) deadEnd(s int32, lid ident.LID) {
	key := subnet.PortRef{Node: v.r.sw[s], Port: v.r.egress[s]}
	at := v.ends[key]
	if at == nil {
		if len(v.ends) >= maxFaults {
			return
		}
		at = &fault{port: key, first: lid}
		v.ends[key] = at
		v.endKeys = append(v.endKeys, key)
	}
	at.lids++
}

func (v *verdict) missing(s int32) {
	if !v.noTableSeen[s] {
		v.noTableSeen[s] = true
		v.noTable.node(v.c.f, v.r.sw[s])
	}
}

func (v *verdict) loop(s int32, lid ident.LID) {
	around := v.r.loop(s)
	if around[0] != s {
		return // noted once, at its first switch
	}
	var key strings.Builder
	for _, t := range around {
		fmt.Fprintf(&key, "%d.%d ", t, v.r.egress[t])
	}
	at := v.loops[key.String()]
	if at == nil {
		if len(v.loops) >= maxFaults {
			return
		}
		at = &fault{switches: around, port: subnet.PortRef{Node: v.r.sw[s], Port: v.r.egress[s]}, first: lid}
		v.loops[key.String()] = at
		v.loopKeys = append(v.loopKeys, key.String())
	}
	at.lids++
}

// report turns the sums into findings.
func (v *verdict) report() {
	c := v.c
	if v.noTable.n > 0 {
		c.add(CodeLFTMissing, v.noTable, phrase.Of("check.no-table", "switches", phrase.Switches.Of(v.noTable.n), "some", v.noTable.some()))
	}
	for _, k := range v.loopKeys {
		v.reportLoop(v.loops[k])
	}
	for _, k := range v.endKeys {
		v.reportEnd(v.ends[k])
	}
	if v.unreachable > 0 {
		v.at.n = v.unreachable
		c.add(CodeUnreachable, v.at, phrase.Of("check.unreachable", "n", v.unreachable, "pairs", v.pairs, "causes", v.causes(), "samples", v.samples))
	}
	if v.farSwitches.n > 0 {
		c.add(CodeSwitchUnreachable, v.farSwitches, phrase.Of("check.switch-unreachable", "switches", phrase.Switches.Of(v.farSwitches.n), "some", v.farSwitches.some()))
	}
}

// causes lists the outcomes of the packets of unreachable pairs.
func (v *verdict) causes() phrase.Commas {
	var out phrase.Commas
	for _, k := range []struct {
		is   outcome
		said phrase.Text
	}{
		{outcomeLoop, phrase.Of("check.circles", "n", v.lost[outcomeLoop])},
		{outcomeDropped, phrase.Of("check.no-route", "n", v.lost[outcomeDropped])},
		{outcomeNoTable, phrase.Of("check.meets-no-table", "n", v.lost[outcomeNoTable])},
		{outcomeDeadEnd, phrase.Of("check.wrong-port", "n", v.lost[outcomeDeadEnd])},
	} {
		if v.lost[k.is] > 0 {
			out = append(out, k.said)
		}
	}
	return out
}

func (v *verdict) reportLoop(at *fault) {
	var p places
	var names []string
	for _, s := range at.switches {
		p.node(v.c.f, v.r.sw[s])
	}
	for _, s := range at.switches[:min(len(at.switches), 8)] {
		names = append(names, v.c.name(v.r.sw[s]))
	}
	if len(at.switches) > len(names) {
		names = append(names, "…")
	}
	p.n = at.lids
	p.ports = []ident.PortID{v.c.f.PortID(at.port)}
	v.c.add(CodeLFTLoop, p, phrase.Of("check.loop", "lids", countLID.Of(at.lids), "lid", at.first, "nodes", names, "start", names[0]))
}

func (v *verdict) reportEnd(at *fault) {
	p := v.c.atPorts(at.port)
	p.n = at.lids
	what := phrase.Of("check.unplugged")
	if peer, ok := v.c.f.Peer(at.port); ok {
		what = phrase.Of("check.other-lid", "node", v.c.f.PortName(peer))
		if v.c.f.Port(at.port).State == subnet.PortDown || v.c.f.Port(peer).State == subnet.PortDown {
			what = phrase.Of("check.link-down")
		}
	}
	if at.port.Port == 0 {
		what = phrase.Of("check.own-lid")
	}
	v.c.add(CodeLFTDeadEnd, p, phrase.Of("check.misrouted",
		"switch", v.c.name(at.port.Node), "lids", countLID.Of(at.lids), "lid", at.first, "port", at.port.Port, "why", what))
}
