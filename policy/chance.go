package policy

import (
	"fmt"
	"math"
	"slices"
)

// boundHash is what a prediction is less sure of where a hash chooses paths, in standard deviations of what meets on them. Those are
// of each path; what tenants have in all varies less. With it 95 of 100 tenants are within their bounds (TestBoundsCoverHashes).
const boundHash = 0.7

// sureEnough is the uncertainty from which on a finding names it.
const sureEnough = 0.05

// byChance is, by tenant, how much of a prediction is chance because a hash that nobody told chooses the paths of
// queue pairs, its own and those of the tenants that it meets.
func (m *model) byChance(target *allocation) []float64 {
	out := m.ownChance(target)
	if !slices.ContainsFunc(out, func(x float64) bool { return x > 0 }) {
		return out
	}
	for t, met := range m.metChance(target) {
		out[t] = float64(boundHash * math.Sqrt(out[t]+met))
	}
	return out
}

// ownChance is the variance of each tenant's own rate, relative to its square: of n queue pairs that spread over w paths a path has
// n/w ± sqrt(n/w·(1-1/w)), relative sqrt((w-1)/n). A tenant's flows are independent, and count by their rates.
func (m *model) ownChance(target *allocation) []float64 {
	squares, rates := make([]float64, len(m.tenants)), make([]float64, len(m.tenants))
	for i := 0; i < len(m.flows); {
		f := &m.flows[i]
		r, last := 0.0, m.aggregate(i)
		for k := i; k < last; k++ {
			r += target.rates[k]
		}
		rates[f.tenant] += r
		squares[f.tenant] += float64(r * r * m.spreadOf(i, last))
		i = last
	}
	for t := range squares {
		if rates[t] > 0 {
			squares[t] /= float64(rates[t] * rates[t])
		}
	}
	return squares
}

// metChance is what the others add: on a limiting link a tenant with the rate x loses x·d/C when others have d more there than is
// to be expected.
func (m *model) metChance(target *allocation) []float64 {
	l := m.parts()
	has, square := make([]float64, len(l.carries)), make([]float64, len(l.carries))
	rates := make([]float64, len(m.tenants))
	for i := 0; i < len(m.flows); {
		last := m.aggregate(i)
		spread := m.spreadOf(i, last)
		for ; i < last; i++ {
			x := target.rates[i]
			rates[l.tenant[i]] += x
			for _, k := range l.partOf[l.first[i]:l.first[i+1]] {
				has[k] += x
				square[k] += float64(x * x * spread)
			}
		}
	}
	out := make([]float64, len(m.tenants))
	for d, limiting := range target.limiting {
		if !limiting {
			continue
		}
		all := 0.0
		parts := l.carries[l.firstPart[d]:l.firstPart[d+1]]
		for k := range parts {
			all += square[int(l.firstPart[d])+k]
		}
		for k := range parts {
			at := int(l.firstPart[d]) + k
			lost := has[at] / m.caps[d]
			out[parts[k].tenant] += float64(lost * lost * (all - square[at]))
		}
	}
	for t := range out {
		if rates[t] > 0 {
			out[t] /= float64(rates[t] * rates[t])
		}
	}
	return out
}

// aggregate is the end of the ways that belong together with way i: those of one class between two ports.
func (m *model) aggregate(i int) int {
	f := &m.flows[i]
	for i++; i < len(m.flows); i++ {
		if g := &m.flows[i]; g.tenant != f.tenant || g.class != f.class || g.src != f.src || g.dst != f.dst {
			break
		}
	}
	return i
}

// spreadOf is the relative variance of how many queue pairs of an aggregate are on one of its paths: 0 where no hash that is not known
// chooses.
func (m *model) spreadOf(first, last int) float64 {
	of, n := m.flows[first].of, 0.0
	if of <= 1 {
		return 0
	}
	for i := first; i < last; i++ {
		n += m.flows[i].qps
	}
	return min(1, float64(of-1)/n)
}

// chanceFinding names the tenants whose shares depend on the paths that a hash chooses.
func (m *model) chanceFinding(chance []float64) []Finding {
	var names []string
	worst := 0.0
	for t, c := range chance {
		if c > sureEnough {
			names = append(names, m.tenants[t].Name)
			worst = max(worst, c)
		}
	}
	if names == nil {
		return nil
	}
	return []Finding{{Code: CodePathsByChance, Tenants: bounded(names),
		Message: fmt.Sprintf("%d tenant(s) have few queue pairs on many equal-cost paths, and a hash chooses the path of each: which ones meet is not known, and shares may be off by %.0f %% and more where they do", len(names), float64(worst*100)),
		Fix:     "open more queue pairs: the more there are, the more evenly a hash spreads them; what a few of them get only a measurement tells"}}
}

// roughFinding says that flows are too entangled to be shared out exactly.
func roughFinding(target, predicted *allocation) []Finding {
	n := max(target.rough, predicted.rough)
	if n == 0 {
		return nil
	}
	return []Finding{{Code: CodeSharingApproximate,
		Message: fmt.Sprintf("%d flows wait for each other over so many links that their sharing was broken off near the fair one: no link is exceeded, but single flows may be off", n),
		Fix:     "none is needed where the predicted shares suit; aggregate queue pairs between the same ports into one flow"}}
}
