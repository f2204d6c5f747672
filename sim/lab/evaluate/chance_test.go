package evaluate

import (
	"math"
	"testing"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

// TestBoundsCoverHashes compiles random cases without the paths that hashes select. It compares the bounds of these plans
// with the predictions of plans for the actual paths, for several hashes. The factor of the bound was chosen with other
// seeds.
func TestBoundsCoverHashes(t *testing.T) {
	t.Parallel()
	for _, plane := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		within, all := 0, 0
		for i := range 60 {
			c, err := Generate(8001, i, plane)
			if err != nil {
				t.Fatal(err)
			}
			in := c.Input
			if in.Routes == nil {
				continue
			}
			in.Routes = nil
			unknown := plantest.Compiled(t, in)
			for hash := range uint64(6) {
				if in.Routes, err = Routes(&c.Input, 1000*uint64(i)+hash); err != nil {
					t.Fatal(err)
				}
				known := plantest.Compiled(t, in)
				for k := range unknown.Tenants {
					x := &unknown.Tenants[k]
					if x.Bound == known.Tenants[k].Bound {
						continue // no hash has a choice of paths
					}
					if all++; math.Abs(float64(x.Predicted-known.Tenants[k].Predicted)) <= x.Bound*float64(x.Predicted) {
						within++
					}
				}
			}
		}
		t.Logf("%s: %d of %d tenants are within their bounds", plane, within, all)
		if all < 500 || within*100 < all*95 {
			t.Errorf("%s: %d of %d tenants are within their bounds, want 95 %% of 500 and more", plane, within, all)
		}
	}
}
