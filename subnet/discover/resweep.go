package discover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// AgainOptions configure a repeated sweep of a fabric.
type AgainOptions struct {
	Options
	// Named lists LIDs of nodes that traps 128 and 144 have named (IBTA vol. 1, 14.2.5.1): everything about these nodes
	// is queried again. Unknown LIDs are ignored.
	Named []ident.LID
	// Trust treats the ports of a switch, and the hosts behind them, as unchanged when the switch has PortStateChange
	// off and is not in Named. Set it only when traps are received; otherwise a subnet manager that clears the flag
	// before the sweep hides a change. When the local port reports another subnet manager than before, no switch is
	// trusted.
	Trust bool
	// Routes reads all forwarding tables, and with Options.Tables the other tables, even when nothing else changed.
	// Otherwise they are read when a node, a link, a LID or the highest routed LID changed.
	Routes bool
}

// memory holds the result of the previous sweep.
type memory struct {
	nodes map[ident.GUID]*node
	named map[ident.GUID]bool
	trust bool
	// asked holds the earlier nodes whose NodeInfo was requested; waiting holds the links that may lead to them.
	asked   map[ident.GUID]bool
	waiting map[ident.GUID][]job
}

// Again sweeps a fabric that was swept before, with fewer requests. It walks the current fabric, so that it does not
// depend on paths that no longer exist, and reuses data that cannot have changed. Each node is queried for its
// identity. Links between switches without port changes count as unchanged. Routes and other tables are read only
// when something else changed, or on request.
//
// The result equals that of a full Sweep, with two exceptions: new routes without any other change are found with
// AgainOptions.Routes only, and swapped cables between switches whose ports kept their states are not found once a
// subnet manager has cleared PortStateChange. previous must be a result of the same fabric; without common nodes the
// sweep is a full one. Again does not change previous. Errors are those of Sweep.
func Again(ctx context.Context, t mad.Transport, previous *Result, o AgainOptions) (*Result, error) {
	if previous == nil || previous.nodes == nil {
		return nil, errors.New("discover again: want the result of a sweep")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	s := newSweep(o.Options)
	s.memory = &memory{
		nodes: previous.nodes, named: make(map[ident.GUID]bool), trust: o.Trust,
		asked: make(map[ident.GUID]bool), waiting: make(map[ident.GUID][]job),
	}
	for _, lid := range o.Named {
		if ref, ok := previous.Fabric.PortByLID(lid); ok {
			s.memory.named[previous.Fabric.Nodes[ref.Node].GUID] = true
		}
	}
	s.push(job{attr: mad.AttrNodeInfo})
	if err := s.run(ctx, t); err != nil {
		return nil, fmt.Errorf("discover again: %w", err)
	}
	for s.queryWaiting() { // behind devices that answer one query and not the next
		if err := s.run(ctx, t); err != nil {
			return nil, fmt.Errorf("discover again: %w", err)
		}
	}
	if o.Trust && s.manager() != previous.Details.SM {
		// Another subnet manager may have changed values that no switch reports: LIDs, states, keys.
		o.Trust = false
		r, err := Again(ctx, t, previous, o)
		if err != nil {
			return nil, err
		}
		r.MADs += s.mads
		return r, nil
	}
	changed := o.Routes || s.differs(previous)
	if s.refresh(changed, previous) {
		if err := s.run(ctx, t); err != nil {
			return nil, fmt.Errorf("discover again: %w", err)
		}
	}
	return s.finish(ctx, t)
}

// remember finds the node in the previous sweep.
func (s *sweep) remember(n *node) {
	if s.memory == nil {
		return
	}
	if old := s.memory.nodes[n.info.NodeGUID]; old != nil && sameNode(&old.info, &n.info) {
		n.old = old
		return
	}
	n.judged, n.stale = true, true
	s.settle(n.info.NodeGUID)
}

func (s *sweep) isNamed(n *node) bool { return s.memory.named[n.info.NodeGUID] }

// askKnown queues the queries of a node that was in the previous sweep.
func (s *sweep) askKnown(n *node) {
	if n.old.named && !s.isNamed(n) && (n.isSwitch() || s.memory.trust) {
		n.desc, n.named = n.old.desc, true
	} else {
		s.push(job{attr: mad.AttrNodeDescription, path: n.path, from: n})
	}
	if !n.isSwitch() {
		s.judge(n, s.isNamed(n))
		return
	}
	n.ports[0].guid = n.info.PortGUID
	s.push(job{attr: mad.AttrSwitchInfo, path: n.path, from: n})
}

// judge decides whether the ports of an earlier node may have changed, and continues with them.
func (s *sweep) judge(n *node, stale bool) {
	n.judged, n.stale = true, stale || s.isNamed(n) || len(n.path) == 0
	if n.isSwitch() {
		for p := range n.ports {
			if s.memory.trust && !n.stale && n.old.ports[p].known {
				s.adoptPort(n, ident.PortNum(p))
			} else {
				s.askPort(n, ident.PortNum(p), n.path)
			}
		}
	}
	s.settle(n.info.NodeGUID)
}

// adoptPort reuses the known state of a switch's port.
func (s *sweep) adoptPort(n *node, p ident.PortNum) {
	old, at := &n.old.ports[p], &n.ports[p]
	at.asked, at.known, at.answer, at.fdr10 = true, true, old.answer, old.fdr10
	at.info, at.path = old.info, n.path
	if p > 0 && at.info.up() && at.peer == nil && len(n.path) < mad.MaxHops {
		s.findNeighbour(n, p)
	}
}

// up reports whether the port has a link.
func (f *portFacts) up() bool { return f.state > mad.StateDown && f.phys == mad.PhysLinkUp }

// findNeighbour determines the neighbour of a port: by a query, or from the previous sweep.
func (s *sweep) findNeighbour(n *node, p ident.PortNum) {
	j := job{attr: mad.AttrNodeInfo, path: n.via(p), from: n, port: p}
	if s.memory == nil || n.old == nil || n.stale || n.old.ports[p].peer == nil || n.old.ports[p].info != n.ports[p].info {
		s.push(j)
		return
	}
	j.expected = n.old.ports[p].peer.info.NodeGUID
	switch there := s.nodes[j.expected]; {
	case there != nil && there.judged:
		s.assume(j, there)
	case there == nil && s.adoptHost(j):
	case there != nil || s.memory.asked[j.expected]:
		s.memory.waiting[j.expected] = append(s.memory.waiting[j.expected], j)
	default:
		s.memory.asked[j.expected] = true
		s.push(j)
	}
}

// assume reuses the previous link when both ends report no change; otherwise it is queried.
func (s *sweep) assume(j job, there *node) {
	q := j.from.old.ports[j.port].peerPort
	switch {
	case there.old == nil, there.stale, there.ports[q].peer != nil, !there.isSwitch() && !(s.memory.trust && there.old.ports[q].known):
		j.expected = 0
		s.push(j)
	case there.isSwitch():
		s.join(j, there, q)
	default:
		s.adoptHostPort(j, there, q)
	}
}

// adoptHost reuses a whole host without a query, behind a trusted switch.
func (s *sweep) adoptHost(j job) bool {
	old := s.memory.nodes[j.expected]
	q := j.from.old.ports[j.port].peerPort
	if !s.memory.trust || old.isSwitch() || s.memory.named[j.expected] || !old.named || !old.ports[q].known {
		return false
	}
	n := &node{info: old.info, path: j.path, ports: make([]port, len(old.ports)), desc: old.desc, named: true, old: old, judged: true}
	s.nodes[j.expected] = n
	s.adoptHostPort(j, n, q)
	s.settle(j.expected)
	return true
}

func (s *sweep) adoptHostPort(j job, n *node, q ident.PortNum) {
	old, at := &n.old.ports[q], &n.ports[q]
	at.asked, at.known, at.answer, at.fdr10 = true, true, old.answer, old.fdr10
	at.info, at.guid, at.path = old.info, old.guid, j.path
	s.join(j, n, q)
}

// checkExpected checks whether a request found the node that other links wait for; if not, it queries those links.
func (s *sweep) checkExpected(j *job) {
	if j.expected != 0 && s.nodes[j.expected] == nil {
		s.settle(j.expected)
	}
}

// settle continues with the links that waited for a node.
func (s *sweep) settle(g ident.GUID) {
	waiting := s.memory.waiting[g]
	delete(s.memory.waiting, g)
	if s.nodes[g] == nil {
		delete(s.memory.asked, g) // later links are queried again
	}
	for _, j := range waiting {
		if j.from.ports[j.port].peer != nil {
			continue
		}
		if there := s.nodes[g]; there != nil {
			s.assume(j, there)
			continue
		}
		j.expected = 0
		s.push(j)
	}
}

// queryWaiting queries the links that still wait for a node; it reports whether there are any.
func (s *sweep) queryWaiting() bool {
	found := false
	for _, g := range slices.Sorted(maps.Keys(s.memory.waiting)) {
		for _, j := range s.memory.waiting[g] {
			if j.expected = 0; j.from.ports[j.port].peer == nil {
				s.push(j)
				found = true
			}
		}
	}
	clear(s.memory.waiting)
	return found
}

// differs compares the current state with the previous sweep.
func (s *sweep) differs(previous *Result) bool {
	if len(s.nodes) != len(previous.nodes) {
		return true
	}
	for g, n := range s.nodes {
		if !n.same(previous.nodes[g]) {
			return true
		}
	}
	return false
}

// same reports whether ports, neighbours and LIDs of a node are unchanged.
func (n *node) same(old *node) bool {
	if old == nil || len(n.ports) != len(old.ports) || n.top != old.top {
		return false
	}
	for p := range n.ports {
		a, b := &n.ports[p], &old.ports[p]
		if a.known != b.known || a.info != b.info || a.guid != b.guid || a.fdr10 != b.fdr10 || (a.peer == nil) != (b.peer == nil) {
			return false
		}
		if a.peer != nil && (a.peer.info.NodeGUID != b.peer.info.NodeGUID || a.peerPort != b.peerPort) {
			return false
		}
	}
	return true
}

// refresh reuses routes and tables, or queues the queries for them; it reports whether there are any.
func (s *sweep) refresh(changed bool, previous *Result) bool {
	asked := false
	for _, n := range s.byGUID() {
		if n.old == nil {
			continue // was queried when it was found
		}
		switch {
		case s.opts.SkipRoutes || !n.isSwitch() || n.noLFT:
		case changed || n.old.noLFT || n.old.lft == nil:
			s.askRoutes(n)
			asked = asked || n.lft != nil
		default:
			n.lft = n.old.lft
		}
		n.keepTables(s.opts.Tables && !changed)
	}
	if s.opts.Tables && (changed || !previous.tables) {
		s.pushTables()
		asked = true
	}
	return asked
}

// keepTables reuses the tables of Options.Tables, or none.
func (n *node) keepTables(keep bool) {
	n.cc, n.ccInfo = subnet.NotAsked, mad.CongestionInfo{}
	if keep {
		n.cc, n.ccInfo = n.old.cc, n.old.ccInfo
	}
	for p := range n.ports {
		if n.ports[p].tables = (tables{}); keep {
			n.ports[p].tables = n.old.ports[p].tables
		}
	}
}
