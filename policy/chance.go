package policy

import (
	"fmt"
	"math"
)

// boundHash is what a prediction is less sure of for a single queue pair whose path a hash chooses, in standard
// deviations of the number of queue pairs that meet on a path.
const boundHash = 0.5

// sureEnough is the uncertainty from which on a finding names it.
const sureEnough = 0.05

// byChance is, by tenant, how much of a prediction is chance because a hash that nobody told chooses the paths of its
// queue pairs: of n that spread over w paths, a path has n/w ± sqrt(n/w·(1-1/w)), relative sqrt((w-1)/n). A
// tenant's flows are independent, and count by their rates.
func (m *model) byChance(target *allocation) []float64 {
	squares, rates := make([]float64, len(m.tenants)), make([]float64, len(m.tenants))
	for i := 0; i < len(m.flows); {
		f := &m.flows[i]
		r, n := 0.0, 0.0
		for ; i < len(m.flows) && m.flows[i].tenant == f.tenant && m.flows[i].class == f.class && m.flows[i].src == f.src && m.flows[i].dst == f.dst; i++ {
			r += target.rates[i]
			n += m.flows[i].qps
		}
		rates[f.tenant] += r
		if f.of > 1 {
			squares[f.tenant] += float64(r * r * min(1, float64(f.of-1)/n))
		}
	}
	for t := range squares {
		if rates[t] > 0 {
			squares[t] = boundHash * math.Sqrt(squares[t]) / rates[t]
		}
	}
	return squares
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
