package check

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// lanes looks at the tables that turn SLs into VLs, and at those that give VLs their turns.
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
	j.tenants = len(j.sls) < ident.NumSLs
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

// laneFault is what goes wrong with an SL or a VL, wherever.
type laneFault struct {
	code Code
	sl   ident.SL // of drops and lanes that do not operate
	vl   ident.VL
}

// fold is two tenants' SLs on one lane.
type fold struct {
	a, b ident.SL
	vl   ident.VL
}

type laneJudge struct {
	c       *checker
	sls     []ident.SL
	tenants bool // the SLs are those of tenants
	faults  map[laneFault]*places
	folds   map[fold]*places
	passing [ident.NumSLs]bool // the SL is let through by some port
}

// port judges one port as the one that sends.
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
	before := j.count()
	var used uint16 // lanes
	folded := make(map[fold]bool)
	for _, in := range j.entries(ref) {
		by := j.sls
		var at [ident.NumSLs]ident.VL
		for _, sl := range by {
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
		j.fold(ref, by, &at, folded)
	}
	j.weights(ref, d, used)
	if j.count() > before {
		t.Bad++
	}
}

// count is of faults; that tenants share a lane is none.
func (j *laneJudge) count() int {
	n := 0
	for _, p := range j.faults {
		n += p.n
	}
	return n
}

// entries lists the ports by which packets that leave by ref come in: what routes use, or every other one when there
// are none.
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

// turns reports whether packets of hosts turn from a port of a switch to another.
func (c *checker) turns(out subnet.PortRef, in ident.PortNum) bool {
	if c.roads == nil {
		return true
	}
	s := c.roads.number[out.Node]
	ports := len(c.f.Nodes[out.Node].Ports)
	if slices.Contains(c.roads.hosts[s], in) {
		in = 0
	}
	return c.roads.turns[s][int(in)*ports+int(out.Port)]
}

// note files a fault of a port once.
func (j *laneJudge) note(k laneFault, ref subnet.PortRef) {
	p := j.faults[k]
	if p == nil {
		p = &places{}
		j.faults[k] = p
	}
	if id := j.c.f.PortID(ref); len(p.ports) == 0 || p.ports[len(p.ports)-1] != id {
		p.port(j.c.f, ref)
	}
}

// fold finds tenants' SLs that share a lane.
func (j *laneJudge) fold(ref subnet.PortRef, sls []ident.SL, at *[ident.NumSLs]ident.VL, folded map[fold]bool) {
	if !j.tenants {
		return
	}
	for i, a := range sls {
		for _, b := range sls[i+1:] {
			k := fold{a, b, at[a]}
			if at[a] != at[b] || at[a] == ident.ManagementVL || folded[k] || !j.c.tenantOf(a, b) || !j.meet(ref, a, b) {
				continue
			}
			folded[k] = true
			p := j.folds[k]
			if p == nil {
				p = &places{}
				j.folds[k] = p
			}
			p.port(j.c.f, ref)
		}
	}
}

// tenantOf reports whether different tenants use the two SLs.
func (c *checker) tenantOf(a, b ident.SL) bool { return c.userOf(a) != "" && c.userOf(b) != "" }

// meet reports whether the tenants of both SLs may send through the port: on a channel adapter's port both must sit.
func (j *laneJudge) meet(ref subnet.PortRef, a, b ident.SL) bool {
	if j.c.f.Nodes[ref.Node].Kind == subnet.KindSwitch {
		return true
	}
	var hasA, hasB bool
	for _, u := range j.c.x.Uses {
		if u.Port == ref && u.HasSL {
			hasA, hasB = hasA || u.SL == a, hasB || u.SL == b
		}
	}
	return hasA && hasB
}

// noLimit in VLHighLimit lets the high-priority table go on for ever.
const noLimit = 255

// weights looks for lanes that packets use and that never get a turn.
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

// userOf names the tenants of an SL: "ml and web"; empty when there is none.
func (c *checker) userOf(sl ident.SL) string {
	var names []string
	for _, u := range c.x.Uses {
		if u.HasSL && u.SL == sl && !slices.Contains(names, u.Tenant) {
			names = append(names, u.Tenant)
		}
	}
	slices.Sort(names)
	return some(names, len(names))
}

// whose prints an SL with its tenants.
func (c *checker) whose(sl ident.SL) string {
	if user := c.userOf(sl); user != "" {
		return fmt.Sprintf("SL %d (%s)", sl, user)
	}
	return fmt.Sprintf("SL %d", sl)
}

func (j *laneJudge) report() {
	keys := make([]laneFault, 0, len(j.faults))
	for k := range j.faults {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b laneFault) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.sl, b.sl), cmp.Compare(a.vl, b.vl))
	})
	for _, k := range keys {
		p := *j.faults[k]
		where := fmt.Sprintf("at %s: %s", count(p.n, "port"), j.c.somePorts(p))
		var f *Finding
		switch k.code {
		case CodeSLDropped:
			if !j.tenants && !j.passing[k.sl] {
				continue // switched off everywhere, as an SL that nobody uses may be
			}
			f = j.c.add(k.code, p, "%s is dropped (lane 15) %s", j.c.whose(k.sl), where)
		case CodeVLNotOperating:
			f = j.c.add(k.code, p, "%s is put on lane %d, which is not in operation, %s", j.c.whose(k.sl), k.vl, where)
		case CodeVLNoWeight:
			f = j.c.add(k.code, p, "lane %d carries packets and has no weight %s", k.vl, where)
		default:
			f = j.c.add(k.code, p, "lane %d waits while high-priority lanes have something to send, without a limit, %s", k.vl, where)
		}
		if !j.tenants {
			f.Severity = min(f.Severity, Warning) // an SL that nobody may use
		}
	}
	folds := make([]fold, 0, len(j.folds))
	for k := range j.folds {
		folds = append(folds, k)
	}
	slices.SortFunc(folds, func(a, b fold) int {
		return cmp.Or(cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b), cmp.Compare(a.vl, b.vl))
	})
	for _, k := range folds {
		p := *j.folds[k]
		j.c.add(CodeSLFolded, p, "%s and %s share lane %d at %s: %s", j.c.whose(k.a), j.c.whose(k.b), k.vl, count(p.n, "port"), j.c.somePorts(p))
	}
}

// somePorts names the first ports of a place.
func (c *checker) somePorts(p places) string {
	var names []string
	for _, id := range p.ports[:min(len(p.ports), maxSamples)] {
		if ref, ok := c.f.PortByID(id); ok {
			names = append(names, c.f.PortName(ref))
		}
	}
	return some(names, p.n)
}
