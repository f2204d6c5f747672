package policy_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

func TestClassesOfATenantSumToIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := plantest.Input(t)
		p := plantest.Compiled(t, in)
		for _, tn := range in.Tenants {
			var sum policy.ClassShare
			n := 0
			for _, c := range p.Classes {
				if c.Tenant == tn.Name {
					sum.QPs += c.QPs
					sum.Entitled += c.Entitled
					sum.Predicted += c.Predicted
					n++
				}
			}
			share := p.Tenants[slices.IndexFunc(p.Tenants, func(s policy.TenantShare) bool { return s.Tenant == tn.Name })]
			if n != len(tn.Classes) {
				t.Fatalf("tenant %s has %d classes, the plan %d", tn.Name, len(tn.Classes), n)
			}
			if n > 0 && (sum.QPs != share.QPs || far(sum.Entitled, share.Entitled, n) || far(sum.Predicted, share.Predicted, n)) {
				t.Fatalf("tenant %s: classes sum to %+v, the tenant has %+v", tn.Name, sum, share)
			}
		}
	})
}

// far reports whether two rates differ by more than the rounding of n parts.
func far[T ~int64](a, b T, n int) bool { return math.Abs(float64(a-b)) > float64(n)/2+1 }
