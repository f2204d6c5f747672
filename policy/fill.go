package policy

import "math"

// filler shares link capacities among flows by progressive filling. Each link direction holds a
// tree: groups (tenants) by weight, classes inside a group by weight, members inside a class
// in proportion to their units (queue pairs). It is the engine of both the target and the prediction, which
// differ only in the trees.
//
// Level of a link: every group that still has an open member gets capacity in proportion to its
// weight, after the groups whose members are all settled elsewhere have taken what they use; inside
// a group the classes likewise, inside a class the units. A link is decisive when each of its
// open members is offered no more by it than by any other link of the member's path (or
// its demand). Its members are settled at what it offers. Settling never lowers what other links
// offer, because each settled flow takes no more of them than it was offered; so every flow
// ends with a saturated link on which its group, its class and it itself are at the highest level
// there. That is the certificate of hierarchical max-min fairness, and the tests check it.
//
// Since levels of different links weigh a flow differently, links can wait for each other in a
// circle and none be decisive. Then the open part is settled together by relaxation: every link
// offers what is fair given what the others let pass, in turn, until nothing moves. Where more
// than maxRelaxed flows wait, the links nearest to decisive go first instead, which is quicker and
// not exact: see settleNearest.
type filler struct {
	caps    []float64
	links   []fillLink
	groups  []fillGroup
	classes []fillClass
	members []fillMember
	flows   []fillFlow
	refs    []int32 // member indices, by flow, in path order
	open    []int32 // flows not settled
	shares  []float64
	limits  []float64 // scratch of relax, by member
}

type fillLink struct {
	id          int32 // link direction
	first, last int32 // groups
	open        int32 // open members
	tight       int32 // open members that are offered least here
	dirty       bool
	decisive    bool
	weight      float64 // of the open groups
	spare       float64 // capacity less what closed groups use
}

// A group or class is open while it has an open member, then closed.
type fillGroup struct {
	weight      float64
	first, last int32   // classes
	used        float64 // by settled members
	closedUse   float64 // by closed classes
	openWeight  float64 // of open classes
	part        float64 // of the link's capacity, when open
}

type fillClass struct {
	weight      float64
	first, last int32   // members
	used        float64 // by settled members
	units       float64 // of open members
	part        float64 // of the group's part, when open
	level       float64 // offered per unit; infinite when closed
}

type fillMember struct {
	flow, class, link int32
	units             float64
}

type fillFlow struct {
	first, last int32 // refs
	demand      float64
	rate        float64
	settled     bool
	bottleneck  int32 // link direction, or -1 when the flow's own demand limits it
}

// tolerance is the relative difference below which two rates count as equal: far above the
// rounding of float64 sums, far below a bit per second at any link speed.
const tolerance = 1e-11

// maxRelaxed is how many flows waiting for each other are settled exactly.
const maxRelaxed = 2000

// run settles every flow.
func (x *filler) run() {
	for i := range x.links {
		x.links[i].dirty = true
	}
	for len(x.open) > 0 {
		for i := range x.links {
			if l := &x.links[i]; l.dirty {
				x.levels(l, nil)
				l.dirty = false
			}
		}
		x.offer()
		if x.settleDecisive() {
			continue
		}
		if len(x.open) <= maxRelaxed {
			x.relax()
		} else {
			x.settleNearest()
		}
	}
}

// offer finds what each open flow is offered at least, and counts where.
func (x *filler) offer() {
	for i := range x.links {
		x.links[i].tight = 0
	}
	for _, f := range x.open {
		best := x.best(f)
		for _, r := range x.refs[x.flows[f].first:x.flows[f].last] {
			m := &x.members[r]
			if x.shareOf(m) <= best*(1+tolerance) {
				x.links[m.link].tight++
			}
		}
		x.shares[f] = best
	}
	for i := range x.links {
		l := &x.links[i]
		l.decisive = l.open > 0 && l.tight == l.open
	}
}

func (x *filler) shareOf(m *fillMember) float64 { return float64(x.classes[m.class].level * m.units) }

// best is the least that a flow is offered on its way, or its demand.
func (x *filler) best(f int32) float64 {
	fl := &x.flows[f]
	best := math.Inf(1)
	if fl.demand > 0 {
		best = fl.demand
	}
	for _, r := range x.refs[fl.first:fl.last] {
		best = min(best, x.shareOf(&x.members[r]))
	}
	return best
}

// settleDecisive settles the members of decisive links and the flows whose demand is the least
// offer; false when there is neither.
func (x *filler) settleDecisive() bool {
	kept := x.open[:0]
	n := len(x.open)
	for _, f := range x.open {
		fl := &x.flows[f]
		at, ok := int32(-1), fl.demand > 0 && fl.demand <= x.shares[f]*(1+tolerance)
		for _, r := range x.refs[fl.first:fl.last] {
			if ok {
				break
			}
			if m := &x.members[r]; x.links[m.link].decisive {
				at, ok = x.firstTight(fl, x.shares[f]), true
			}
		}
		if !ok {
			kept = append(kept, f)
			continue
		}
		x.settle(f, x.shares[f], at)
	}
	x.open = kept
	return len(kept) < n
}

// firstTight is the most upstream decisive link that offers the flow no more than rate: where several
// limit it equally, the first one queues and those behind it never see more than it lets through.
func (x *filler) firstTight(fl *fillFlow, rate float64) int32 {
	for _, r := range x.refs[fl.first:fl.last] {
		if m := &x.members[r]; x.links[m.link].decisive && x.shareOf(m) <= rate*(1+tolerance) {
			return x.links[m.link].id
		}
	}
	return -1
}

// settleNearest treats the links with the largest part of tight members as decisive. Their tight members
// are settled at what the links offer now, though that may still rise when the others
// settle elsewhere for less; what then remains goes to the members still open. Capacity is never exceeded.
func (x *filler) settleNearest() {
	most := 0.0
	for i := range x.links {
		if l := &x.links[i]; l.open > 0 {
			most = max(most, float64(l.tight)/float64(l.open))
		}
	}
	for i := range x.links {
		l := &x.links[i]
		l.decisive = l.open > 0 && float64(l.tight) >= float64(0.7*most*float64(l.open))
	}
	kept := x.open[:0]
	for _, f := range x.open {
		fl := &x.flows[f]
		if at := x.firstTight(fl, x.shares[f]); at >= 0 {
			x.settle(f, x.shares[f], at)
		} else {
			kept = append(kept, f)
		}
	}
	x.open = kept
}

func (x *filler) settle(f int32, rate float64, bottleneck int32) {
	fl := &x.flows[f]
	fl.rate, fl.settled, fl.bottleneck = rate, true, bottleneck
	for _, r := range x.refs[fl.first:fl.last] {
		l := &x.links[x.members[r].link]
		l.open--
		l.dirty = true
	}
}

// levels computes what a link offers each class per unit. closed, when not nil, gives the rate at which
// a member counts as settled although it is open; a negative value leaves it open.
func (x *filler) levels(l *fillLink, closed []float64) {
	l.spare, l.weight = x.caps[l.id], 0
	for i := l.first; i < l.last; i++ {
		g := &x.groups[i]
		x.sum(g, closed)
		if g.openWeight > 0 {
			l.weight += g.weight
		} else {
			l.spare -= g.used
		}
	}
	for i := l.first; i < l.last; i++ {
		g := &x.groups[i]
		if g.openWeight > 0 {
			g.part = float64(max(0, l.spare) * (g.weight / l.weight))
		}
		for j := g.first; j < g.last; j++ {
			c := &x.classes[j]
			c.level = math.Inf(1)
			if c.units > 0 {
				c.part = float64(max(0, g.part-g.closedUse) * (c.weight / g.openWeight))
				c.level = max(0, c.part-c.used) / c.units
			}
		}
	}
}

// sum totals what the settled members of a group and its classes use, and its open parts.
func (x *filler) sum(g *fillGroup, closed []float64) {
	g.used, g.closedUse, g.openWeight = 0, 0, 0
	for j := g.first; j < g.last; j++ {
		c := &x.classes[j]
		c.used, c.units = 0, 0
		for m := c.first; m < c.last; m++ {
			mem := &x.members[m]
			switch f := &x.flows[mem.flow]; {
			case f.settled:
				c.used += f.rate
			case closed != nil && closed[m] >= 0:
				c.used += closed[m]
			default:
				c.units += mem.units
			}
		}
		g.used += c.used
		if c.units > 0 {
			g.openWeight += c.weight
		} else {
			g.closedUse += c.used
		}
	}
}
