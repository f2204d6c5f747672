package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// Only InfiniBand tells tenants apart by service level.
func TestServiceLevelsLimitTenantsOfAPortOnInfiniBandOnly(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(tenants.MaxTenantsPerPort+2, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	in := policy.Input{Fabric: f}
	for i := range tenants.MaxTenantsPerPort + 1 {
		name := fmt.Sprintf("t%02d", i)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: 1000})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: h[i+1], Dst: h[0], QPs: 1})
	}
	for _, plane := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		in.Options.Plane = plane
		if p, err := policy.Compile(in); err != nil || len(p.Tenants) != len(in.Tenants) {
			t.Errorf("%s: %v", plane, err)
		}
		if _, _, err := policy.Apply(in, policy.Edit{Kind: policy.EditWeight, Tenant: "t00", Weight: 3000}); err != nil {
			t.Errorf("%s: an edit: %v", plane, err)
		}
	}
	in.Options.Plane = policy.PlaneIB
	_, err = policy.Compile(in)
	if want := "want at most 16 tenants on one port, which has no more service levels"; !errors.Is(err, policy.ErrInput) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
	in.Tenants, in.Flows = in.Tenants[1:], in.Flows[1:]
	if _, err = policy.Compile(in); err != nil {
		t.Errorf("sixteen tenants: %v", err)
	}
}
