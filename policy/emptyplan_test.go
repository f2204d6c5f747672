package policy_test

import (
	"testing"

	"fairlane/policy"
	"fairlane/subnet/topogen"
)

func TestThePlanForZeroTenantsIsEmpty(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	for _, plane := range []policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC} {
		p, err := policy.Compile(policy.Input{Fabric: f, Options: policy.Options{Plane: plane}})
		if err != nil {
			t.Errorf("plane %s: %v", plane, err)
			continue
		}
		devices := len(p.CAs) + len(p.Switches) + len(p.Placements)
		if p.RoCE != nil {
			devices += len(p.RoCE.NICs) + len(p.RoCE.Switches)
		}
		if p.WRCC != nil {
			devices += len(p.WRCC.Ports) + len(p.WRCC.Senders) + len(p.WRCC.Domains)
		}
		if devices != 0 || p.Plane != plane || p.Name != p.Hash() {
			t.Errorf("plane %s: %d devices in the plan %+v", plane, devices, p)
		}
	}
}
