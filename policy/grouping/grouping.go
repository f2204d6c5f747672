// Package grouping assigns tenants to the traffic classes of a site, where there are fewer classes than tenants. On each link a class gets the
// sum of its tenants' shares, and divides it among their flows without regard to weights. A tenant whose weight per flow differs from that of
// its class on a link gets more or less than its share there. Assign makes the worst such error least.
package grouping

import (
	"cmp"
	"math"
	"slices"

	"fairlane/internal/num"
)

// Link is a link on which tenants contend.
type Link struct {
	Parts []Part // by tenant, each once
}

// Part is a tenant on a link.
type Part struct {
	Tenant int32
	Share  float64 // what it is entitled to there, in any unit; above 0
	Flows  float64 // how much its flows count in the division of a class; above 0
}

// Assignment is the class of each tenant, and the errors that remain.
type Assignment struct {
	Class []int32 // by tenant, from 0
	Worst float64 // largest |got/share - 1| of a tenant on a link
}

// keepWithin is how much worse, as a part of the best worst error, a former assignment may be and is kept: a new one makes tenants change the
// class of their applications. keepError is the worst error that always justifies keeping it.
const keepWithin, keepError = 0.1, 0.01

// Assign assigns tenants 0 to n-1 to at most the given number of classes, 1 or more. before is a former assignment: the class of each tenant,
// -1 for none; nil is none at all. While there are enough classes each tenant gets one of its own. Otherwise the result is the best of several
// local searches, not proven to be optimal. It depends on nothing but the arguments.
func Assign(n, classes int, links []Link, before []int32) Assignment {
	if n <= classes {
		return Assignment{Class: separate(n, classes, before)}
	}
	s := newSearch(n, classes, links)
	best := s.refine(s.byIntensity())
	if greedy := s.refine(s.greedily()); s.less(greedy, best) {
		best = greedy
	}
	if before != nil {
		kept := s.complete(before)
		if s.worst(kept) <= max(keepError, float64(s.worst(best)*(1+keepWithin))) {
			return Assignment{kept, s.worst(kept)}
		}
		best = s.rename(best, before)
	}
	return Assignment{best, s.worst(best)}
}

// separate gives each tenant a class of its own: its former one, if no other tenant had it, else the lowest free one.
func separate(n, classes int, before []int32) []int32 {
	out, taken := slices.Repeat([]int32{-1}, n), make([]bool, classes)
	for t := range min(n, len(before)) {
		if c := before[t]; c >= 0 && int(c) < classes && !taken[c] {
			out[t], taken[c] = c, true
		}
	}
	next := int32(0)
	for t := range out {
		if out[t] >= 0 {
			continue
		}
		for taken[next] {
			next++
		}
		out[t], taken[next] = next, true
	}
	return out
}

// search holds the links in the form in which assignments are judged.
type search struct {
	n, classes int
	links      []Link
	of         [][]int32 // links of each tenant
	intensity  []float64 // by tenant: mean of ln(share/flows), weighted by links
	division
}

func newSearch(n, classes int, links []Link) *search {
	s := &search{n: n, classes: classes, links: distinct(links), of: make([][]int32, n), intensity: make([]float64, n), division: newDivision(classes)}
	for i := range s.links {
		for _, p := range s.links[i].Parts {
			s.of[p.Tenant] = append(s.of[p.Tenant], int32(i))
			s.intensity[p.Tenant] += num.Ln(p.Share / p.Flows)
		}
	}
	for t := range s.intensity {
		if k := len(s.of[t]); k > 0 {
			s.intensity[t] /= float64(k)
		}
	}
	return s
}

// distinct returns the links with several tenants, each list of parts once, relative to the first part.
func distinct(links []Link) []Link {
	relative := make([]Link, 0, len(links))
	for _, l := range links {
		if len(l.Parts) < 2 {
			continue
		}
		parts := slices.Clone(l.Parts)
		share, flows := parts[0].Share, parts[0].Flows
		for i := range parts {
			parts[i].Share, parts[i].Flows = parts[i].Share/share, parts[i].Flows/flows
		}
		relative = append(relative, Link{parts})
	}
	compare := func(a, b Link) int { return slices.CompareFunc(a.Parts, b.Parts, compareParts) }
	slices.SortFunc(relative, compare)
	return slices.CompactFunc(relative, func(a, b Link) bool { return compare(a, b) == 0 })
}

func compareParts(a, b Part) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Share, b.Share), cmp.Compare(a.Flows, b.Flows))
}

// cost is what searches make least: the worst error, then the sum of the squares of all.
type cost struct{ worst, squares float64 }

func (c cost) less(d cost) bool {
	const tie = 1e-9
	if math.Abs(c.worst-d.worst) > tie {
		return c.worst < d.worst
	}
	return c.squares < d.squares*(1-tie)
}

func (c cost) add(d cost) cost { return cost{max(c.worst, d.worst), c.squares + d.squares} }

// division adds up what classes have on one link.
type division struct {
	share, flows []float64 // by class, of the link at hand
}

func newDivision(classes int) division {
	return division{make([]float64, classes), make([]float64, classes)}
}

// each calls do with the error of each tenant on a link.
func (d *division) each(l *Link, class []int32, do func(tenant int32, off float64)) {
	for _, p := range l.Parts {
		d.share[class[p.Tenant]], d.flows[class[p.Tenant]] = 0, 0
	}
	for _, p := range l.Parts {
		d.share[class[p.Tenant]] += p.Share
		d.flows[class[p.Tenant]] += p.Flows
	}
	for _, p := range l.Parts {
		k := class[p.Tenant]
		do(p.Tenant, math.Abs(d.share[k]/d.flows[k]*p.Flows/p.Share-1))
	}
}

// Errors calls do with |got/share - 1| of each tenant on each link.
func Errors(links []Link, class []int32, do func(tenant int32, off float64)) {
	d := newDivision(int(slices.Max(append(slices.Clone(class), 0))) + 1)
	for i := range links {
		d.each(&links[i], class, do)
	}
}

// linkCost returns the cost of one link.
func (s *search) linkCost(l *Link, class []int32) cost {
	var c cost
	s.division.each(l, class, func(_ int32, off float64) { c = c.add(cost{off, float64(off * off)}) })
	return c
}

// costOf returns the cost of an assignment.
func (s *search) costOf(class []int32) cost {
	var c cost
	for i := range s.links {
		c = c.add(s.linkCost(&s.links[i], class))
	}
	return c
}

func (s *search) worst(class []int32) float64 { return s.costOf(class).worst }

func (s *search) less(a, b []int32) bool { return s.costOf(a).less(s.costOf(b)) }
