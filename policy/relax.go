package policy

import "math"

const (
	// maxSweeps bounds the relaxation. Where it is needed at all, a hundred or two are common.
	maxSweeps = 2000
	// relaxTolerance is the relative movement at which limits count as at rest: a tenth of
	// a kilobit per second at 100 Gbit/s.
	relaxTolerance = 1e-9
)

// relax settles open flows that wait for each other in a circle. limits[m] is what the link of member m
// would let its flow have; a link's limits are recomputed from the limits of the flow's other
// links until no limit moves by more than the tolerance. If that does not come to rest within
// maxSweeps the flows are settled at the least of their limits, which no link exceeds
// by more than the last movement, after scaling to fit.
func (x *filler) relax() {
	if x.limits == nil {
		x.limits = make([]float64, len(x.members))
	}
	for i := range x.members {
		m := &x.members[i]
		x.limits[i] = min(x.shareOf(m), x.caps[x.links[m.link].id])
	}
	closed := make([]float64, len(x.members))
	for i := range x.links {
		x.links[i].dirty = x.links[i].open > 0
	}
	for sweep := range maxSweeps {
		part := damping(sweep)
		moved := false
		for i := range x.links {
			if l := &x.links[i]; l.dirty {
				l.dirty = false
				moved = x.relaxLink(l, closed, part) || moved
			}
		}
		if !moved {
			break
		}
	}
	x.settleRelaxed()
}

// damping is the part of the way to its new value that a limit goes in a sweep. Going all the way, limits
// can swing for ever between two states.
func damping(sweep int) float64 {
	switch {
	case sweep < 20:
		return 1
	case sweep < 100:
		return 0.5
	}
	return 0.25
}

// relaxLink recomputes the limits of one link, going part of the way to their new values. Links that
// a moved limit concerns become dirty; false when none moved.
func (x *filler) relaxLink(l *fillLink, closed []float64, part float64) bool {
	first, last := x.memberRange(l)
	x.closeMembers(l, first, last, closed)
	moved := false
	for m := first; m < last; m++ {
		mem := &x.members[m]
		fl := &x.flows[mem.flow]
		if fl.settled {
			continue
		}
		limit := x.shareOf(mem)
		if closed[m] >= 0 {
			limit = x.closedLimit(l, mem, closed[m])
		}
		limit = min(limit, x.caps[l.id])
		if change(x.limits[m], limit) <= relaxTolerance {
			continue
		}
		x.limits[m] += float64(part * (limit - x.limits[m]))
		moved = true
		l.dirty = l.dirty || part < 1
		for _, r := range x.refs[fl.first:fl.last] {
			if r != m {
				x.links[x.members[r].link].dirty = true
			}
		}
	}
	return moved
}

// closeMembers finds which members of a link are limited elsewhere to less than the link offers
// them, and leaves the link's levels as the others then share it.
func (x *filler) closeMembers(l *fillLink, first, last int32, closed []float64) {
	for m := first; m < last; m++ {
		closed[m] = -1
	}
	for again := true; again; {
		again = false
		x.levels(l, closed)
		for m := first; m < last; m++ {
			mem := &x.members[m]
			if closed[m] >= 0 || x.flows[mem.flow].settled {
				continue
			}
			if u := x.elsewhere(m); u < x.shareOf(mem)*(1-tolerance) {
				closed[m], again = u, true
			}
		}
	}
}

// closedLimit is what a link would let a member have that asks only for used, if it asked for more and all
// others stayed as they are: an upper part that grows steadily out of the level at which
// the member opens, which is what lets the relaxation come to rest.
func (x *filler) closedLimit(l *fillLink, m *fillMember, used float64) float64 {
	c := &x.classes[m.class]
	g := &x.groups[x.groupOf(l, m.class)]
	part := g.part
	if g.openWeight == 0 {
		part = float64(max(0, l.spare+g.used) * (g.weight / (l.weight + g.weight)))
	}
	classPart := c.part
	if c.units == 0 {
		classPart = float64(max(0, part-g.closedUse+c.used) * (c.weight / (g.openWeight + c.weight)))
	}
	return max(used, float64(max(0, classPart-c.used+used)*(m.units/(c.units+m.units))))
}

// groupOf finds the group of a class by bisection.
func (x *filler) groupOf(l *fillLink, class int32) int32 {
	lo, hi := l.first, l.last-1
	for lo < hi {
		if mid := (lo + hi) / 2; x.groups[mid].last <= class {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (x *filler) memberRange(l *fillLink) (first, last int32) {
	return x.classes[x.groups[l.first].first].first, x.classes[x.groups[l.last-1].last-1].last
}

// elsewhere is what the flow of a member may have by its other links and its demand.
func (x *filler) elsewhere(m int32) float64 {
	fl := &x.flows[x.members[m].flow]
	u := math.Inf(1)
	if fl.demand > 0 {
		u = fl.demand
	}
	for _, r := range x.refs[fl.first:fl.last] {
		if r != m {
			u = min(u, x.limits[r])
		}
	}
	return u
}

func change(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / max(a, b)
}

// settleRelaxed settles every open flow at the least of its limits, scaled down where a link would
// be over its capacity.
func (x *filler) settleRelaxed() {
	for _, f := range x.open {
		fl := &x.flows[f]
		fl.rate, fl.bottleneck = math.Inf(1), -1
		if fl.demand > 0 {
			fl.rate = fl.demand
		}
		for _, r := range x.refs[fl.first:fl.last] {
			if x.limits[r] < fl.rate*(1-tolerance) {
				fl.rate, fl.bottleneck = x.limits[r], x.links[x.members[r].link].id
			}
		}
	}
	for i := range x.links {
		x.scaleToFit(&x.links[i])
	}
	for _, f := range x.open {
		x.settle(f, x.flows[f].rate, x.flows[f].bottleneck)
	}
	x.open = x.open[:0]
}

func (x *filler) scaleToFit(l *fillLink) {
	if l.open == 0 {
		return
	}
	var settled, open float64
	first, last := x.memberRange(l)
	for m := first; m < last; m++ {
		if f := &x.flows[x.members[m].flow]; f.settled {
			settled += f.rate
		} else {
			open += f.rate
		}
	}
	if spare := max(0, x.caps[l.id]-settled); open > spare {
		for m := first; m < last; m++ {
			if f := &x.flows[x.members[m].flow]; !f.settled {
				f.rate = float64(f.rate * (spare / open))
			}
		}
	}
}
