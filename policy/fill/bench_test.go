package fill

import (
	"fmt"
	"testing"
)

// cases runs a benchmark on three-level fat trees of 64 tenants with ten flows a host, in two placements, as the
// compiler's target (tree) and as its prediction (flat).
func cases(b *testing.B, run func(b *testing.B, p *Problem)) {
	for _, size := range []struct{ k, hosts int }{{16, 1000}, {36, 10_000}, {74, 100_000}} {
		for where, name := range []string{compact: "compact", scattered: "scattered"} {
			for _, flat := range []bool{false, true} {
				kind := map[bool]string{false: "tree", true: "flat"}[flat]
				b.Run(fmt.Sprintf("hosts=%d/%s/%s", size.hosts, name, kind), func(b *testing.B) {
					p := treeProblem(fatTree{size.k}, size.hosts, 64, 10*size.hosts, placement(where), flat)
					b.ReportAllocs()
					run(b, p)
				})
			}
		}
	}
}

func report(b *testing.B, s *Solution, err error) {
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.Approximate), "rough")
	b.ReportMetric(s.Residual, "residual")
}

// BenchmarkSolve solves from scratch.
func BenchmarkSolve(b *testing.B) {
	cases(b, func(b *testing.B, p *Problem) {
		for b.Loop() {
			s, err := Solve(p)
			report(b, s, err)
		}
	})
}

// BenchmarkOneWeight changes one tenant's weight (tree) or the weights of a flow (flat), and solves again.
func BenchmarkOneWeight(b *testing.B) {
	cases(b, func(b *testing.B, p *Problem) {
		var s Solver
		if _, err := s.Solve(p); err != nil {
			b.Fatal(err)
		}
		q := *p
		if p.flat() {
			q.Units = append([]float64(nil), p.Units...)
			q.Units[0] *= 2
		} else {
			q.TenantWeight = append([]float64(nil), p.TenantWeight...)
			q.TenantWeight[7] *= 2
		}
		for i := 0; b.Loop(); i++ {
			sol, err := s.Solve([]*Problem{&q, p}[i%2])
			report(b, sol, err)
			b.ReportMetric(float64(s.Computed), "computed")
		}
	})
}
