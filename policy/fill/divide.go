package fill

import "math"

const (
	// tie is the relative difference below which two rates count as equal while links are divided. It is far above the rounding of float64 sums
	// and far below a bit per second at any link speed.
	tie = 1e-13
	// restPrecision is the relative movement below which a limit is at rest.
	restPrecision = 1e-12
	// exact is the relative difference of sums that are equal but for rounding.
	exact = 1e-15
	// alike is the relative difference below which the result reports two limits as equal.
	alike = 1e-9
)

// node is a tenant on a link, or a class of a tenant on a link.
type node struct {
	weight      float64
	floor, ceil float64 // bit/s; 0 and infinite when unset
	first, last int32   // its classes, or its members

	need  float64 // what its members can use, given their limits elsewhere
	offer float64 // what it would get with an unlimited need
	leaf  bool    // its children are members: a class, or a tenant with a single class on the link
	bound Limit   // what limits the node itself: LimitLink, LimitCap or LimitGuarantee
}

// divide shares total among nodes by weight and sets their offers. No node gets less than its floor unless it needs less, and none more than its
// ceiling. If a node needs less than its share, its offer is what it would get with a larger need, while the other nodes below their shares keep
// theirs. This offer grows continuously with the need, so links that wait for each other converge. spare is how much all nodes can grow together
// before the division changes; it is 0 when total is used up. The floors must fit in total.
func divide(ns []node, total float64) (spare float64) {
	if len(ns) == 1 {
		return divideAlone(&ns[0], total)
	}
	wanted, floors, weights := 0.0, 0.0, 0.0
	for i := range ns {
		n := &ns[i]
		want := min(n.need, n.ceil)
		wanted += want
		floors += min(want, n.floor)
		weights += n.weight
	}
	switch {
	case wanted < total*(1-tie):
		return offerSpare(ns, total-wanted)
	case floors > 0:
		offerLevel(ns, levelAbove(ns, total))
	default:
		offerLevel(ns, levelOf(ns, total, total/weights))
	}
	return 0
}

// Parts returns the rates in bit/s of the problem's tenants on a link of a capacity on which all of them meet, and each sends as much as it may.
func (p *Problem) Parts(capacity float64) []float64 {
	ns, out := make([]node, len(p.TenantWeight)), make([]float64, len(p.TenantWeight))
	for t := range ns {
		ns[t] = p.group(int32(t), p.TenantWeight[t], 0)
		ns[t].need = capacity
	}
	book(ns, capacity)
	divide(ns, capacity)
	for t := range ns {
		out[t] = ns[t].offer
	}
	return out
}

// divideAlone offers a single node the whole total.
func divideAlone(n *node, total float64) (spare float64) {
	n.offer, n.bound = total, LimitLink
	if n.offer >= n.ceil {
		n.offer, n.bound = n.ceil, LimitCap
	}
	if n.need < n.offer*(1-tie) {
		return n.offer - n.need
	}
	return 0
}

// offerSpare offers each node the spare capacity beyond its share at the level of the node that has most by weight.
func offerSpare(ns []node, spare float64) float64 {
	room, level := spare, 0.0
	for i := range ns {
		if want := min(ns[i].need, ns[i].ceil); want > ns[i].floor {
			level = max(level, want/ns[i].weight)
		}
	}
	for i := range ns {
		n := &ns[i]
		n.bound = LimitLink
		n.offer = max(n.need, n.floor, float64(n.weight*level)) + spare
		if n.offer >= n.ceil {
			n.offer, n.bound = n.ceil, LimitCap
		}
		room = min(room, n.offer-n.need)
	}
	return max(0, room)
}

// levelOf returns the level at which nodes without floors use total, by Newton's method on a concave, piecewise linear function. It starts below
// the solution, and is exact after at most as many steps as nodes reach their needs.
func levelOf(ns []node, total, level float64) float64 {
	for closed := -1; ; {
		used, open, n := 0.0, 0.0, 0
		for i := range ns {
			if want := min(ns[i].need, ns[i].ceil); want < float64(ns[i].weight*level)*(1-tie) {
				used += want
				n++
			} else {
				open += ns[i].weight
			}
		}
		if n == closed || open == 0 {
			return level
		}
		closed, level = n, max(level, (total-used)/open)
	}
}

// levelAbove returns the level at which nodes with floors use total. It keeps Newton's method between bounds, because floors make the function
// convex in places.
func levelAbove(ns []node, total float64) float64 {
	low, high := 0.0, 0.0
	for i := range ns {
		high = max(high, min(ns[i].need, ns[i].ceil)/ns[i].weight)
	}
	level := high / 2
	for range 200 {
		used, open := 0.0, 0.0
		for i := range ns {
			n := &ns[i]
			want, share := min(n.need, n.ceil), float64(n.weight*level)
			switch {
			case want < share*(1-tie):
				used += want
			case min(n.floor, want) > share:
				used += min(n.floor, want)
			default:
				used += share
				open += n.weight
			}
		}
		if math.Abs(used-total) <= total*exact {
			break
		}
		level = narrowBounds(&low, &high, level, used, total, open)
	}
	return level
}

// narrowBounds updates the bounds after a level that uses used of the wanted total. It returns the next level to try: Newton's, or the middle of the
// bounds if Newton's is outside.
func narrowBounds(low, high *float64, level, used, total, open float64) float64 {
	if used < total {
		*low = level
	} else {
		*high = level
	}
	next := level
	if open > 0 {
		next = level + (total-used)/open
	}
	if open == 0 || next <= *low || next >= *high {
		next = *low + (*high-*low)/2
	}
	return next
}

// offerLevel offers each node its share at level.
func offerLevel(ns []node, level float64) {
	for i := range ns {
		n := &ns[i]
		n.offer, n.bound = float64(n.weight*level), LimitLink
		if n.offer < n.floor {
			n.offer, n.bound = n.floor, LimitGuarantee
		}
		if n.offer >= n.ceil {
			n.offer, n.bound = n.ceil, LimitCap
		}
	}
}
