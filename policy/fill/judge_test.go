package fill_test

import (
	"math"
	"slices"

	"pgregory.net/rapid"

	"fairlane/policy/fill"
)

// participant is one participant of the naive division.
type participant struct{ weight, floor, ceil, need float64 }

// share is the definition, by bisection: with a level L each party has min(need, ceil, max(floor, weight·L)), where L uses total if the
// parties can. The floors fit.
func share(total float64, ps []participant) []float64 {
	out := make([]float64, len(ps))
	at := func(level float64) float64 {
		sum := 0.0
		for i, p := range ps {
			out[i] = min(p.need, p.ceil, max(p.floor, p.weight*level))
			sum += out[i]
		}
		return sum
	}
	low, high := 0.0, 1.0
	for range 400 { // doubling up to where every party has its need
		if at(high) >= total {
			break
		}
		high *= 2
	}
	if at(high) < total {
		return out
	}
	for range 200 {
		if mid := (low + high) / 2; at(mid) < total {
			low = mid
		} else {
			high = mid
		}
	}
	at(high)
	return out
}

// judge is a second, naive implementation of a link's offer to a flow.
type judge struct {
	p     *fill.Problem
	users [][]int // flows by link
}

func newJudge(p *fill.Problem) *judge {
	j := &judge{p: p, users: make([][]int, len(p.Capacity))}
	for f := range p.Units {
		for _, l := range j.path(f) {
			j.users[l] = append(j.users[l], f)
		}
	}
	return j
}

func (j *judge) path(f int) []int32 { return j.p.Hops[j.p.First[f]:j.p.First[f+1]] }

func at(s []float64, i int, otherwise float64) float64 {
	if s == nil || s[i] == 0 {
		return otherwise
	}
	return s[i]
}

func (j *judge) most(f int) float64 {
	return min(at(j.p.Demand, f, math.Inf(1)), at(j.p.Ceiling, f, math.Inf(1)))
}

// offer returns link l's offer to flow f when each other flow requests its rate and f the whole link.
func (j *judge) offer(l int32, f int, rates []float64) float64 {
	total := j.p.Capacity[l]
	need := func(g int) float64 {
		if g == f {
			return 2 * total
		}
		return rates[g]
	}
	if j.p.Tenant == nil {
		return j.flat(l, f, need)
	}
	booked := j.booked(l)
	var tenants, own, classes []participant
	var tenantOf, classOf, mineAt int
	for i, g := range j.users[l] {
		t, c := j.p.Tenant[g], j.p.Class[g]
		newTenant := i == 0 || t != j.p.Tenant[j.users[l][i-1]]
		if newTenant {
			tenants = append(tenants, participant{j.tenantWeight(g, l), j.guarantee(t) * booked, at(j.p.Cap, int(t), math.Inf(1)), 0})
		}
		tenants[len(tenants)-1].need += need(g)
		if g == f {
			tenantOf = len(tenants) - 1
		}
		if t != j.p.Tenant[f] {
			continue
		}
		if newTenant || c != j.p.Class[j.users[l][i-1]] {
			classes = append(classes, participant{j.p.ClassWeight[c], 0, math.Inf(1), 0})
		}
		classes[len(classes)-1].need += need(g)
		if c != j.p.Class[f] {
			continue
		}
		if g == f {
			classOf, mineAt = len(classes)-1, len(own)
		}
		own = append(own, participant{j.weight(g, l), 0, math.Inf(1), need(g)})
	}
	part := share(total, tenants)[tenantOf]
	part = share(part, classes)[classOf]
	return share(part, own)[mineAt]
}

func (j *judge) tenantWeight(f int, l int32) float64 {
	if j.p.LinkWeight == nil {
		return j.p.TenantWeight[j.p.Tenant[f]]
	}
	return j.p.LinkWeight[int(j.p.First[f])+slices.Index(j.path(f), l)]
}

func (j *judge) weight(f int, l int32) float64 {
	if j.p.Sends != nil && j.p.Sends[l] {
		return j.p.Sending[f]
	}
	return j.p.Units[f]
}

func (j *judge) guarantee(t int32) float64 {
	return min(at(j.p.Guarantee, int(t), 0), at(j.p.Cap, int(t), math.Inf(1)))
}

func (j *judge) floor(f int) float64 { return min(at(j.p.Floor, f, 0), j.most(f)) }

// booked returns the kept part of the guarantees or floors on a link: all, or the proportion that fits in 99 %.
func (j *judge) booked(l int32) float64 {
	sum, seen := 0.0, map[int32]bool{}
	for _, g := range j.users[l] {
		if j.p.Tenant == nil {
			sum += j.floor(g)
		} else if t := j.p.Tenant[g]; !seen[t] {
			seen[t] = true
			sum += j.guarantee(t)
		}
	}
	if most := 0.99 * j.p.Capacity[l]; sum > most {
		return most / sum
	}
	return 1
}

func (j *judge) flat(l int32, f int, need func(int) float64) float64 {
	booked := j.booked(l)
	var all []participant
	own := 0
	for _, g := range j.users[l] {
		if g == f {
			own = len(all)
		}
		all = append(all, participant{j.weight(g, l), j.floor(g) * booked, math.Inf(1), need(g)})
	}
	return share(j.p.Capacity[l], all)[own]
}

// bestResponse returns the rate of flow f if it requested all it can use of its links while the others kept their rates. In a fair allocation
// it has exactly that.
func (j *judge) bestResponse(f int, rates []float64) float64 {
	best := j.most(f)
	for _, l := range j.path(f) {
		best = min(best, j.offer(l, f, rates))
	}
	return best
}

const gbps = 1e9

// problem draws a small problem; flat or a tree.
func problem(t *rapid.T, flat bool) *fill.Problem {
	links := rapid.SampledFrom([]int{1, 2, 3, 4, 6, 9}).Draw(t, "links")
	p := &fill.Problem{First: []int32{0}}
	for range links {
		p.Capacity = append(p.Capacity, gbps*float64(rapid.SampledFrom([]int{25, 50, 100, 100, 100, 200}).Draw(t, "capacity")))
	}
	tenants := rapid.SampledFrom([]int{1, 2, 3, 4, 6}).Draw(t, "tenants")
	if flat {
		tenants = 3
		p.Sends = rapid.SliceOfN(rapid.Bool(), links, links).Draw(t, "sends")
	}
	for tn := range tenants {
		classes := rapid.IntRange(1, 2).Draw(t, "classes")
		for range classes {
			for range rapid.SampledFrom([]int{0, 1, 2, 3, 5, 8}).Draw(t, "flows") {
				path := rapid.Permutation(numbers(links)).Draw(t, "path")
				p.Hops = append(p.Hops, path[:rapid.IntRange(1, min(links, 5)).Draw(t, "length")]...)
				p.First = append(p.First, int32(len(p.Hops)))
				p.Units = append(p.Units, float64(rapid.IntRange(1, 16).Draw(t, "units"))/float64(rapid.IntRange(1, 2).Draw(t, "half")))
				p.Demand = append(p.Demand, gbps*float64(rapid.SampledFrom([]int{0, 0, 0, 1, 5, 20, 60}).Draw(t, "demand")))
				if flat {
					p.Sending = append(p.Sending, float64(rapid.IntRange(1, 4).Draw(t, "sending")))
					p.Floor = append(p.Floor, gbps*float64(rapid.SampledFrom([]int{0, 0, 1, 3, 12}).Draw(t, "floor")))
					p.Ceiling = append(p.Ceiling, gbps*float64(rapid.SampledFrom([]int{0, 0, 0, 4, 30}).Draw(t, "ceiling")))
				} else {
					p.Tenant, p.Class = append(p.Tenant, int32(tn)), append(p.Class, int32(len(p.ClassWeight)))
				}
			}
			p.ClassWeight = append(p.ClassWeight, float64(rapid.IntRange(1, 4).Draw(t, "class weight")))
		}
		p.TenantWeight = append(p.TenantWeight, float64(rapid.IntRange(1, 16).Draw(t, "weight")))
		p.Guarantee = append(p.Guarantee, gbps*float64(rapid.SampledFrom([]int{0, 0, 0, 5, 20, 60}).Draw(t, "guarantee")))
		p.Cap = append(p.Cap, gbps*float64(rapid.SampledFrom([]int{0, 0, 0, 8, 40}).Draw(t, "cap")))
	}
	switch {
	case flat:
		p.TenantWeight, p.ClassWeight, p.Guarantee, p.Cap = nil, nil, nil, nil
	case p.Tenant == nil:
		p.Tenant, p.Class = []int32{}, []int32{}
	case rapid.Bool().Draw(t, "by link"):
		p.Sends = rapid.SliceOfN(rapid.Bool(), links, links).Draw(t, "sends")
		p.Sending = rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 4), func(n int) float64 { return float64(n) }), len(p.Units), len(p.Units)).Draw(t, "sending")
		p.LinkWeight = linkWeights(p, func() float64 { return float64(rapid.IntRange(1, 16).Draw(t, "weight on the link")) })
	}
	return p
}

// linkWeights draws a weight for each tenant on each link.
func linkWeights(p *fill.Problem, draw func() float64) []float64 {
	type place struct{ tenant, link int32 }
	weights, out := make(map[place]float64), make([]float64, len(p.Hops))
	for f, t := range p.Tenant {
		for h := p.First[f]; h < p.First[f+1]; h++ {
			at := place{t, p.Hops[h]}
			if weights[at] == 0 {
				weights[at] = draw()
			}
			out[h] = weights[at]
		}
	}
	return out
}

func numbers(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}
