package grouping

import (
	"cmp"
	"slices"
)

// byIntensity orders tenants by their mean share per flow and cuts the order into classes, so that the largest ratio within a class is least. This
// is the best assignment where every tenant meets every other with the same share per flow.
func (s *search) byIntensity() []int32 {
	order := make([]int32, s.n)
	for t := range order {
		order[t] = int32(t)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(s.intensity[a], s.intensity[b]) })
	low, high := 0.0, s.intensity[order[s.n-1]]-s.intensity[order[0]]
	for range 60 { // bisection on the allowed spread; the result fits with high
		if mid := (low + high) / 2; s.cut(order, mid, nil) <= s.classes {
			high = mid
		} else {
			low = mid
		}
	}
	out := make([]int32, s.n)
	s.cut(order, high, out)
	return out
}

// cut puts tenants in order into classes, each as long as its spread allows, and returns the number of classes. out may be nil.
func (s *search) cut(order []int32, spread float64, out []int32) int {
	classes, from := 1, s.intensity[order[0]]
	for _, t := range order {
		if s.intensity[t]-from > spread {
			classes, from = classes+1, s.intensity[t]
		}
		if out != nil {
			out[t] = int32(classes - 1)
		}
	}
	return classes
}

// greedily places tenants one after the other, those with the most links first, each in the class with the least cost.
func (s *search) greedily() []int32 {
	order := make([]int32, s.n)
	for t := range order {
		order[t] = int32(t)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(len(s.of[b]), len(s.of[a])), cmp.Compare(s.intensity[b], s.intensity[a]))
	})
	return s.place(slices.Repeat([]int32{-1}, s.n), order)
}

// place puts the tenants of order into the classes of least cost, next to those that are placed.
func (s *search) place(class []int32, order []int32) []int32 {
	for _, t := range order {
		var best cost
		to := int32(-1)
		for c := range int32(s.classes) {
			class[t] = c
			if at := s.placedCost(class, t); to < 0 || at.less(best) {
				best, to = at, c
			}
		}
		class[t] = to
	}
	return class
}

// placedCost is the cost on the links of a tenant among the tenants that have a class.
func (s *search) placedCost(class []int32, t int32) cost {
	var c cost
	for _, i := range s.of[t] {
		l := Link{slices.DeleteFunc(slices.Clone(s.links[i].Parts), func(p Part) bool { return class[p.Tenant] < 0 })}
		c = c.add(s.linkCost(&l, class))
	}
	return c
}

// maxEffort bounds the changes that a refinement judges, times the links on which it judges them.
const maxEffort = 1_000_000

// refinement is a local search from an assignment.
type refinement struct {
	*search
	class  []int32
	costs  []cost // by link
	now    cost
	effort int
	tried  []int32 // by link: the last trial that changed it
	trial  int32
}

// refine moves single tenants, and swaps two, as long as the cost falls: those of the worst link first.
func (s *search) refine(class []int32) []int32 {
	r := &refinement{search: s, class: class, costs: make([]cost, len(s.links)), tried: make([]int32, len(s.links))}
	for i := range s.links {
		r.costs[i] = s.linkCost(&s.links[i], class)
		r.now = r.now.add(r.costs[i])
	}
	for r.effort < maxEffort && r.improve() {
	}
	return class
}

// improve applies the first change that lowers the cost; false where none does.
func (r *refinement) improve() bool {
	for _, t := range r.suspects() {
		was := r.class[t]
		for c := range int32(r.classes) {
			if c == was {
				continue
			}
			if r.class[t] = c; r.accept(t, t) {
				return true
			}
			for u := range int32(r.n) {
				if r.class[u] != c || u == t || r.effort > maxEffort {
					continue
				}
				if r.class[u] = was; r.accept(t, u) {
					return true
				}
				r.class[u] = c
			}
		}
		r.class[t] = was
	}
	return false
}

// accept keeps the classes of two tenants that have just changed, if the cost is lower with them.
func (r *refinement) accept(t, u int32) bool {
	r.trial++
	var after cost
	for _, moved := range [...]int32{t, u} {
		for _, i := range r.of[moved] {
			if r.tried[i] != r.trial {
				r.tried[i] = r.trial
				after = after.add(r.linkCost(&r.links[i], r.class))
			}
		}
	}
	r.effort += len(r.of[t]) + len(r.of[u]) + len(r.links)/16
	for i, was := range r.costs {
		if r.tried[i] != r.trial {
			after = after.add(was)
		}
	}
	if !after.less(r.now) {
		return false
	}
	r.now = after
	for i := range r.links {
		if r.tried[i] == r.trial {
			r.costs[i] = r.linkCost(&r.links[i], r.class)
		}
	}
	return true
}

// suspects lists tenants in the order in which to move them: those of the link with the worst error first.
func (r *refinement) suspects() []int32 {
	worst, at := -1.0, 0
	for i := range r.links {
		if c := r.costs[i]; c.worst > worst {
			worst, at = c.worst, i
		}
	}
	out, listed := make([]int32, 0, r.n), make([]bool, r.n)
	if len(r.links) > 0 {
		for _, p := range r.links[at].Parts {
			out, listed[p.Tenant] = append(out, p.Tenant), true
		}
	}
	for t := range int32(r.n) {
		if !listed[t] && len(r.of[t]) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// complete returns a former assignment with the tenants that had no class, or one that no longer exists, in the classes of least cost.
func (s *search) complete(before []int32) []int32 {
	out := slices.Repeat([]int32{-1}, s.n)
	var fresh []int32
	for t := range out {
		if t < len(before) && before[t] >= 0 && int(before[t]) < s.classes {
			out[t] = before[t]
		} else {
			fresh = append(fresh, int32(t))
		}
	}
	return s.place(out, fresh)
}

// rename numbers the classes so that as many tenants as possible keep theirs: the pair of classes with the most tenants in common first.
func (s *search) rename(class, before []int32) []int32 {
	common := make([][]int, s.classes)
	for c := range common {
		common[c] = make([]int, s.classes)
	}
	for t := range min(len(class), len(before)) {
		if b := before[t]; b >= 0 && int(b) < s.classes {
			common[class[t]][b]++
		}
	}
	to, taken := slices.Repeat([]int32{-1}, s.classes), make([]bool, s.classes)
	for range s.classes {
		a, b, most := -1, -1, -1
		for c := range common {
			for d, n := range common[c] {
				if to[c] < 0 && !taken[d] && n > most {
					a, b, most = c, d, n
				}
			}
		}
		to[a], taken[b] = int32(b), true
	}
	out := make([]int32, len(class))
	for t, c := range class {
		out[t] = to[c]
	}
	return out
}
