package views

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// MapState is the worst state of the members of a group.
type MapState int

// States of groups, from the best to the worst.
const (
	MapOK MapState = iota
	MapContended
	MapDrifted
	MapBelow
	MapDown
)

// Map is an aggregated drawing of a fabric.
type Map struct {
	Fabric, Snapshot string
	At, MeasuredAt   time.Time
	Series           SeriesState
	By               Grouping
	Expanded         string
	Found            *Place // nil when no node, or several, have the name that was asked for
	Groups           []MapGroup
	More             int // members of Expanded that are not drawn
	Edges            []MapEdge
	MoreEdges        int
	Meetings         []Meeting
	MoreMeetings     int
}

// Place is where the map shows a node.
type Place struct {
	GUID   ident.GUID
	Name   string
	Groups []string // that hold the node, the widest first; the last one is the node alone
}

// MapGroup is a group of nodes.
type MapGroup struct {
	ID              string
	Host            bool // of hosts; of switches otherwise
	Tier            int
	Name, Domain    string
	Switches, Hosts int
	State           MapState
	WorstUse        *float64
	More            bool // it can be expanded
	mixed           bool // in several domains
	member          bool // of the expanded group
}

// MapEdge bundles the links between two groups.
type MapEdge struct {
	A, B                   string
	Links, Contended, Down int
	Capacity               int64
	WorstUse               *float64
}

// Meeting is a contended link direction with its tenants.
type Meeting struct {
	Link    string
	Use     *float64
	A, B    string // groups of its ends; "" when not drawn
	Tenants []MeetingTenant
	More    int
}

// MeetingTenant is a tenant on a link direction.
type MeetingTenant struct {
	Tenant    string
	Entitled  *int64
	Delivered *int64
	State     string
}

// overlay is the measured state of links and nodes.
type overlay struct {
	r     *reader
	snap  control.Snapshot
	topo  *subnet.Fabric
	plan  *planDigest
	state *contention
	use   map[string]float64 // by the name of the link direction
	links map[int32]*linkState
	gone  []*planLink // links of the plan that are down and not in the topology
	drift map[ident.GUID]bool
}

// linkState is the state of a link in both directions.
type linkState struct {
	use                    *float64 // the higher one
	contended, below, down bool
}

// overlay reads the latest topology of a fabric and what was measured on it. With drifted it also reads the states of devices.
func (v *Views) overlay(ctx context.Context, fabric string, drifted bool) (*overlay, error) {
	o := &overlay{r: v.read(series.Scope{Fabrics: []string{fabric}}), links: map[int32]*linkState{}, drift: map[ident.GUID]bool{}}
	var of control.ObjectiveSet
	err := v.Store.View(ctx, func(r control.Repos) (err error) {
		if o.snap, o.topo, err = v.Latest(ctx, r, fabric); err != nil {
			return err
		}
		if o.plan, err = v.inForce(ctx, r, fabric); err != nil {
			return err
		}
		objectives, err := r.Objectives(ctx, fabric)
		of = control.NewObjectiveSet(objectives)
		return err
	})
	if err != nil {
		return nil, err
	}
	if o.state, err = contentionOf(ctx, o.r, fabric, &of); err != nil {
		return nil, err
	}
	if err := o.measured(ctx, fabric); err != nil {
		return nil, err
	}
	if drifted {
		list, err := v.drift.DeviceStates(ctx, fabric)
		if err != nil && !errors.Is(err, control.ErrConflict) {
			return nil, err
		}
		for i := range list {
			if list[i].State == string(control.ReadingDrifted) {
				o.drift[list[i].ID.Node] = true
			}
		}
	}
	return o, nil
}

// measured adds the state of the links that the plan in force names.
func (o *overlay) measured(ctx context.Context, fabric string) error {
	if o.plan == nil {
		return nil
	}
	list, err := o.r.all(ctx, selector(fabric, []string{series.LinkUse, series.LinkUp}))
	if err != nil {
		return err
	}
	o.use = make(map[string]float64, len(list))
	down := map[string]bool{}
	for i := range list {
		switch name := list[i].label(series.LabelLink); {
		case list[i].family() == series.LinkUse:
			o.use[name] = list[i].v
		case list[i].v == 0:
			down[name] = true
		}
	}
	below := map[string]bool{}
	for _, t := range o.state.below {
		below[o.state.received[t].link] = true
	}
	lost := map[[2]ident.PortID]bool{} // both directions of a link are one link
	for _, name := range slices.Sorted(maps.Keys(o.plan.links)) {
		p := o.plan.links[name]
		use, known := o.use[name]
		_, contended := o.state.contended[name]
		ref, ok := o.topo.PortByID(p.port)
		_, at := o.topo.Link(ref)
		if !ok || at < 0 {
			if down[name] && !lost[[2]ident.PortID{p.peer, p.port}] {
				lost[[2]ident.PortID{p.port, p.peer}] = true
				o.gone = append(o.gone, p)
			}
			continue
		}
		l := o.links[at]
		if l == nil {
			l = &linkState{}
			o.links[at] = l
		}
		l.contended, l.below, l.down = l.contended || contended, l.below || below[name], l.down || down[name]
		if known {
			l.use = higher(l.use, &use)
		}
	}
	return nil
}

// eachLink calls do with the ends, the capacity and the state of every link: those of the topology, and those of the plan that are gone
// from it. The state is nil where nothing is known.
func (o *overlay) eachLink(do func(a, b int32, capacity int64, s *linkState)) {
	for i := range o.topo.Links {
		l := &o.topo.Links[i]
		do(l.A.Node, l.B.Node, int64(l.Rate), o.links[int32(i)])
	}
	for _, p := range o.gone {
		a, ok := o.topo.NodeByGUID(p.port.Node)
		b, ok2 := o.topo.NodeByGUID(p.peer.Node)
		if ok && ok2 {
			do(a, b, 0, &linkState{down: true})
		}
	}
}

// higher returns the higher of two measured values.
func higher(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// MapQuery selects a drawing.
type MapQuery struct {
	Expand string // id of the group whose members are drawn; "" for none
	Find   string // name or GUID of a node to locate; "" for none
}

// Map returns a drawing of a fabric.
func (v *Views) Map(ctx context.Context, fabric string, q MapQuery, parts Parts) (*Map, error) {
	o, err := v.overlay(ctx, fabric, parts.Devices)
	if err != nil {
		return nil, err
	}
	l := v.layoutOf(o.snap, o.topo)
	m := &Map{Fabric: fabric, Snapshot: o.snap.SHA256, At: o.r.at.UTC(), MeasuredAt: o.state.at, By: l.by, Expanded: q.Expand, Found: l.find(q.Find)}
	d := &drawing{overlay: o, layout: l, assign: l.assign, groups: map[string]*MapGroup{}}
	if q.Expand != "" {
		m.By = ByMember
		if m.More, err = d.expand(q.Expand); err != nil {
			return nil, err
		}
	}
	d.gather()
	d.connect()
	m.Groups, m.Edges, m.MoreEdges = d.bounded()
	if err := d.meet(ctx, m); err != nil {
		return nil, err
	}
	m.Series = o.r.state
	return m, nil
}

// drawing is a map under construction. assign is the group of each node, "" for one that is not drawn.
type drawing struct {
	*overlay
	layout *layout
	assign []string
	groups map[string]*MapGroup
	edges  map[[2]string]*MapEdge
	opened map[string]bool // ids of members of the expanded group
}

// expand assigns the members of a group to groups of their own, at most maxGroups, and leaves out the groups without a link to them. It
// returns the number of members that are left out.
func (d *drawing) expand(group string) (more int, err error) {
	f := d.topo
	assign := slices.Clone(d.layout.assign)
	first := map[string]int32{} // a node of each member
	for i := range f.Nodes {
		if id, ok := d.layout.member(int32(i), group); ok {
			assign[i] = id
			if _, had := first[id]; !had {
				first[id] = int32(i)
			}
		}
	}
	if len(first) == 0 {
		return 0, &control.NotFoundError{Kind: "group", Name: control.Clipped(group)}
	}
	ids := slices.SortedFunc(maps.Keys(first), func(a, b string) int {
		x, y := first[a], first[b]
		return cmp.Or(d.layout.tiers[x]-d.layout.tiers[y], natural(f.Nodes[x].Label(), f.Nodes[y].Label()), cmp.Compare(a, b))
	})
	more = max(len(ids)-maxGroups, 0)
	d.opened = make(map[string]bool, len(ids))
	for _, id := range ids[:len(ids)-more] {
		d.opened[id] = true
	}
	near := maps.Clone(d.opened)
	for i := range f.Links {
		a, b := assign[f.Links[i].A.Node], assign[f.Links[i].B.Node]
		_, inner := first[b]
		if d.opened[a] && !inner && len(near) < maxGroups {
			near[b] = true
		}
		_, inner = first[a]
		if d.opened[b] && !inner && len(near) < maxGroups {
			near[a] = true
		}
	}
	for i, id := range assign {
		if !near[id] {
			assign[i] = ""
		}
	}
	d.assign = assign
	return more, nil
}

// gather adds the nodes to their groups.
func (d *drawing) gather() {
	for i := range d.topo.Nodes {
		id := d.assign[i]
		if id == "" {
			continue
		}
		n := &d.topo.Nodes[i]
		g := d.groups[id]
		if g == nil {
			g = &MapGroup{ID: id, Host: n.Kind != subnet.KindSwitch, Tier: d.layout.tiers[i], Name: n.Label(), Domain: n.Domain, member: d.opened[id]}
			if leaf := d.layout.leaf[i]; g.Host && leaf >= 0 && id == d.layout.hostsOf(int32(i)) {
				g.Name = d.topo.Nodes[leaf].Label()
			}
			d.groups[id] = g
		}
		if g.Host {
			g.Hosts++
		} else {
			g.Switches++
		}
		g.Tier = min(g.Tier, d.layout.tiers[i])
		g.mixed = g.mixed || n.Domain != g.Domain
		if d.drift[n.GUID] {
			g.State = max(g.State, MapDrifted)
		}
		g.More = g.Hosts+g.Switches > 1 || g.Host && id == d.layout.hostsOf(int32(i))
	}
	for _, g := range d.groups {
		if g.mixed {
			g.Domain = ""
		}
	}
}

// connect adds the links to edges, and their state to the groups of their ends.
func (d *drawing) connect() {
	d.edges = map[[2]string]*MapEdge{}
	d.eachLink(d.link)
}

func (d *drawing) link(x, y int32, capacity int64, s *linkState) {
	a, b := d.assign[x], d.assign[y]
	for _, id := range []string{a, b} {
		if g := d.groups[id]; g != nil && s != nil {
			g.WorstUse = higher(g.WorstUse, s.use)
			g.State = max(g.State, s.state())
		}
	}
	if a == b || a == "" || b == "" {
		return
	}
	if p, q := d.groups[a], d.groups[b]; cmp.Or(p.Tier-q.Tier, cmp.Compare(a, b)) > 0 {
		a, b = b, a
	}
	e := d.edges[[2]string{a, b}]
	if e == nil {
		e = &MapEdge{A: a, B: b}
		d.edges[[2]string{a, b}] = e
	}
	e.Links++
	e.Capacity += capacity
	if s != nil {
		e.WorstUse = higher(e.WorstUse, s.use)
		e.Contended += one(s.contended)
		e.Down += one(s.down)
	}
}

func (s *linkState) state() MapState {
	switch {
	case s.down:
		return MapDown
	case s.below:
		return MapBelow
	case s.contended:
		return MapContended
	}
	return MapOK
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// bounded returns the groups by tier and name, and the edges.
func (d *drawing) bounded() (groups []MapGroup, edges []MapEdge, more int) {
	for _, g := range d.groups {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b MapGroup) int {
		return cmp.Or(a.Tier-b.Tier, natural(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	order := make(map[string]int, len(groups))
	for i := range groups {
		order[groups[i].ID] = i
	}
	for _, e := range d.edges {
		edges = append(edges, *e)
	}
	slices.SortFunc(edges, func(a, b MapEdge) int {
		return cmp.Or(one(b.Down > 0)-one(a.Down > 0), one(b.Contended > 0)-one(a.Contended > 0), order[a.A]-order[b.A], order[a.B]-order[b.B])
	})
	more = max(len(edges)-maxEdges, 0)
	return groups, edges[:len(edges)-more], more
}

// meet adds the tenants on contended links.
func (d *drawing) meet(ctx context.Context, m *Map) error {
	names := d.state.busiest()
	m.MoreMeetings = max(len(names)-maxMeetings, 0)
	names = names[:len(names)-m.MoreMeetings]
	there, err := onLinks(ctx, d.r, m.Fabric, slices.Sorted(slices.Values(names)))
	if err != nil {
		return err
	}
	for _, name := range names {
		x := Meeting{Link: name, Use: d.state.contended[name]}
		if d.plan != nil && d.plan.links[name] != nil {
			p := d.plan.links[name]
			x.A, x.B = d.at(p.port), d.at(p.peer)
			x.Tenants, x.More = meetingTenants(p, d.state, there, "")
		}
		m.Meetings = append(m.Meetings, x)
	}
	return nil
}

// at returns the group of a port's node; "" when it is not drawn.
func (d *drawing) at(p ident.PortID) string {
	if n, ok := d.topo.NodeByGUID(p.Node); ok {
		return d.assign[n]
	}
	return ""
}

// meetingTenants returns the tenants of a link, the highest entitlement first, and how many are left out. A tenant limits the list to it.
func meetingTenants(p *planLink, c *contention, there map[meeting]float64, only string) (out []MeetingTenant, more int) {
	for _, t := range p.tenants {
		if only != "" && t.tenant != only {
			continue
		}
		x := MeetingTenant{Tenant: t.tenant, Entitled: new(int64(t.entitled)), State: c.states[t.tenant]}
		if v, ok := there[meeting{p.name, t.tenant}]; ok {
			x.Delivered = new(int64(v))
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b MeetingTenant) int { return cmp.Compare(*b.Entitled, *a.Entitled) })
	more = max(len(out)-maxMeeting, 0)
	return out[:len(out)-more], more
}
