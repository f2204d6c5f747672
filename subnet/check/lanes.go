package check

import (
	"cmp"
	"maps"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// lanes checks the tables that map SLs to VLs, and those that arbitrate VLs.
func (c *checker) lanes() {
	t := c.tally[GroupLanes]
	switch tables, several := c.readLanes(); {
	case c.x.Details != nil && !several:
		t.Skipped = SkipOneLane
		return
	case !tables:
		t.Skipped = SkipNoLanes
		return
	}
	j := &laneJudge{c: c, sls: c.judgedSLs(), faults: make(map[laneFault]*places), folds: make(map[fold]*places)}
	j.seat()
	for i := range c.f.Nodes {
		for p := 1; p < len(c.f.Nodes[i].Ports); p++ {
			ref := subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}
			if c.f.Nodes[i].Ports[p].Link >= 0 {
				j.port(ref, t)
			}
		}
	}
	j.report()
}

// readLanes reports whether any table was read, and whether any port has several lanes.
func (c *checker) readLanes() (tables, several bool) {
	if c.x.Details == nil {
		return false, false
	}
	for i := range c.x.Details.Nodes {
		for p := range c.x.Details.Nodes[i].Ports {
			d := &c.x.Details.Nodes[i].Ports[p]
			tables = tables || d.Lanes != nil || d.Arb == subnet.Answered
			several = several || p > 0 && d.OperVLs > 1
		}
	}
	return tables, several
}

// laneFault is a fault of an SL or a VL, at any port.
type laneFault struct {
	code Code
	sl   ident.SL // set for drops and for lanes that do not operate
	vl   ident.VL
}

// fold is a pair of tenants' SLs on one lane.
type fold struct {
	a, b ident.SL
	vl   ident.VL
}

type laneJudge struct {
	c       *checker
	sls     []ident.SL
	tenants bool                      // the SL of some tenant is known
	users   [ident.NumSLs][]string    // the tenants of an SL, sorted
	portSLs map[subnet.PortRef]uint16 // SLs of the tenants on a port
	faults  map[laneFault]*places
	noted   int // ports with faults; sharing a lane is no fault
	folds   map[fold]*places
	passing [ident.NumSLs]bool // at least one port does not drop the SL
}

// seat determines which SLs tenants use, and where.
func (j *laneJudge) seat() {
	j.portSLs = make(map[subnet.PortRef]uint16)
	for _, u := range j.c.x.Uses {
		if !u.HasSL || u.SL >= ident.NumSLs {
			continue
		}
		j.portSLs[u.Port] |= 1 << u.SL
		if !slices.Contains(j.users[u.SL], u.Tenant) {
			j.users[u.SL] = append(j.users[u.SL], u.Tenant)
		}
	}
	j.tenants = len(j.portSLs) > 0
	for sl := range j.users {
		slices.Sort(j.users[sl])
	}
}

// port checks the tables of one transmitting port.
func (j *laneJudge) port(ref subnet.PortRef, t *Tally) {
	d := j.c.x.Details.Port(ref)
	if !known(d) || d.OperVLs <= 1 {
		return
	}
	t.Of++
	if d.Lanes == nil && d.Arb != subnet.Answered {
		t.Unread++
		return
	}
	before := j.noted
	var used uint16 // lanes
	for _, in := range j.entries(ref) {
		var at [ident.NumSLs]ident.VL
		for _, sl := range j.sls {
			vl, ok := j.c.x.Details.Lane(ref, in, sl)
			if at[sl] = vl; !ok {
				at[sl] = ident.ManagementVL
				continue
			}
			switch {
			case vl == ident.ManagementVL:
				j.note(laneFault{CodeSLDropped, sl, 0}, ref)
			case uint8(vl) >= d.OperVLs:
				j.note(laneFault{CodeVLNotOperating, sl, vl}, ref)
			default:
				j.passing[sl] = true
				used |= 1 << vl
			}
		}
		j.fold(ref, &at)
	}
	j.weights(ref, d, used)
	if j.noted > before {
		t.Bad++
	}
}

// entries lists the ports of entry of packets that leave through ref: those that routes use or, without routes, all
// other ports.
func (j *laneJudge) entries(ref subnet.PortRef) []ident.PortNum {
	c := j.c
	n := &c.f.Nodes[ref.Node]
	if n.Kind != subnet.KindSwitch {
		return []ident.PortNum{0}
	}
	var in []ident.PortNum
	for p := 1; p < len(n.Ports); p++ {
		if n.Ports[p].Link >= 0 && ident.PortNum(p) != ref.Port && c.turns(ref, ident.PortNum(p)) {
			in = append(in, ident.PortNum(p))
		}
	}
	return in
}

// turns reports whether packets of hosts go from one port of a switch to another.
func (c *checker) turns(out subnet.PortRef, in ident.PortNum) bool {
	if c.routeGraph == nil {
		return true
	}
	s := c.routeGraph.number[out.Node]
	ports := len(c.f.Nodes[out.Node].Ports)
	if slices.Contains(c.routeGraph.hosts[s], in) {
		in = 0
	}
	return c.routeGraph.turns[s][int(in)*ports+int(out.Port)]
}

// note records a fault at a port.
func (j *laneJudge) note(k laneFault, ref subnet.PortRef) {
	if of(j.faults, k).once(j.c.f, ref) {
		j.noted++
	}
}

// fold finds tenants' SLs that share a lane.
func (j *laneJudge) fold(ref subnet.PortRef, at *[ident.NumSLs]ident.VL) {
	for i, a := range j.sls {
		for _, b := range j.sls[i+1:] {
			if at[a] == at[b] && at[a] != ident.ManagementVL && len(j.users[a]) > 0 && len(j.users[b]) > 0 && j.meet(ref, a, b) {
				of(j.folds, fold{a, b, at[a]}).once(j.c.f, ref)
			}
		}
	}
}

// meet reports whether the tenants of both SLs may send through the port; on a channel adapter's port both must be
// attached.
func (j *laneJudge) meet(ref subnet.PortRef, a, b ident.SL) bool {
	return j.c.f.Nodes[ref.Node].Kind == subnet.KindSwitch || j.portSLs[ref]>>a&(j.portSLs[ref]>>b)&1 != 0
}

// noLimit in VLHighLimit means no limit of the high-priority table.
const noLimit = 255

// weights finds lanes that packets use and that are never served.
func (j *laneJudge) weights(ref subnet.PortRef, d *subnet.PortDetails, used uint16) {
	if d.Arb != subnet.Answered {
		return
	}
	var low, high [ident.NumVLs]int
	highAny := false
	for _, e := range d.ArbLow {
		low[e.VL%ident.NumVLs] += int(e.Weight)
	}
	for _, e := range d.ArbHigh {
		high[e.VL%ident.NumVLs] += int(e.Weight)
		highAny = highAny || e.Weight > 0
	}
	for vl := range ident.ManagementVL {
		switch {
		case used>>vl&1 == 0:
		case low[vl]+high[vl] == 0:
			j.note(laneFault{CodeVLNoWeight, 0, vl}, ref)
		case high[vl] == 0 && highAny && d.HighLimit == noLimit:
			j.note(laneFault{CodeVLStarved, 0, vl}, ref)
		}
	}
}

// describeSL describes an SL with its tenants.
func (j *laneJudge) describeSL(sl ident.SL) phrase.Text {
	if users := j.users[sl]; len(users) > 0 {
		return phrase.Of("check.sl-of", "sl", sl, "users", phrase.Names(users, len(users), maxSamples))
	}
	return phrase.Of("check.sl", "sl", sl)
}

func (j *laneJudge) report() {
	faults := slices.SortedFunc(maps.Keys(j.faults), func(a, b laneFault) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.sl, b.sl), cmp.Compare(a.vl, b.vl))
	})
	for _, k := range faults {
		p := *j.faults[k]
		at, some := phrase.Ports.Of(p.n), p.some()
		var f *Finding
		switch k.code {
		case CodeSLDropped:
			if !j.tenants && !j.passing[k.sl] {
				continue // disabled everywhere, as an unused SL may be
			}
			f = j.c.add(k.code, p, phrase.Of("check.sl-dropped", "sl", j.describeSL(k.sl), "ports", at, "some", some))
		case CodeVLNotOperating:
			f = j.c.add(k.code, p, phrase.Of("check.lane-off", "sl", j.describeSL(k.sl), "lane", k.vl, "ports", at, "some", some))
		case CodeVLNoWeight:
			f = j.c.add(k.code, p, phrase.Of("check.lane-weightless", "lane", k.vl, "ports", at, "some", some))
		default:
			f = j.c.add(k.code, p, phrase.Of("check.lane-starved", "lane", k.vl, "ports", at, "some", some))
		}
		if !j.tenants {
			f.Severity = min(f.Severity, Warning) // an SL without a known user
		}
	}
	folds := slices.SortedFunc(maps.Keys(j.folds), func(a, b fold) int {
		return cmp.Or(cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b), cmp.Compare(a.vl, b.vl))
	})
	for _, k := range folds {
		p := *j.folds[k]
		j.c.add(CodeSLFolded, p, phrase.Of("check.lane-shared", "first", j.describeSL(k.a), "second", j.describeSL(k.b), "lane", k.vl, "ports", phrase.Ports.Of(p.n), "some", p.some()))
	}
}
