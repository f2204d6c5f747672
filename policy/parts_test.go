package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

func TestTenantPartBelowItsShareHasAFinding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := plantest.Input(t)
		in.Options.Plane = rapid.SampledFrom([]policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC}).Draw(t, "plane")
		p := plantest.Compiled(t, in)
		check := func(what, tenant string, entitled, predicted quantity.BitRate) {
			if d := float64(predicted - entitled); max(d, -d) > 0.05*float64(entitled)+1 &&
				!slices.ContainsFunc(p.Findings, func(f policy.Finding) bool {
					return f.Code == policy.CodeWeightUnreachable && slices.Contains(f.Tenants, tenant)
				}) {
				t.Errorf("%s of tenant %s: predicted %s, entitled %s, and no finding reports it", what, tenant, predicted, entitled)
			}
		}
		for _, c := range p.Classes {
			check("class "+c.Class, c.Tenant, c.Entitled, c.Predicted)
		}
		for _, l := range p.Links {
			for _, s := range l.Tenants {
				check("link "+l.Name, s.Tenant, s.Entitled, s.Predicted)
			}
		}
	})
}

func TestClassesThatTakeTurnsAtASendingPortHaveAFinding(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	p, err := policy.Compile(policy.Input{Fabric: f,
		Tenants: []tenants.Tenant{{Name: "a", Weight: 1000, Classes: []tenants.Class{{Name: "x", Weight: 9000}, {Name: "y", Weight: 1000}}}},
		Flows:   []tenants.Flow{{Tenant: "a", Class: "x", Src: h[0], Dst: h[1], QPs: 1}, {Tenant: "a", Class: "y", Src: h[0], Dst: h[2], QPs: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Findings) != 1 || !strings.Contains(p.Findings[0].Message, "class x 50 Gbit/s instead of 90 Gbit/s; class y 50 Gbit/s instead of 10 Gbit/s") {
		t.Errorf("findings %+v, want one that names both classes", p.Findings)
	}
}

func TestThreeTimesAllWeightsIsTheSameTarget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := plantest.Input(t)
		a, err := policy.Entitle(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Tenants = slices.Clone(in.Tenants)
		for i := range in.Tenants {
			in.Tenants[i].Weight *= 3
		}
		b, err := policy.Entitle(in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Flows {
			if x, y := a.Flows[i].Rate, b.Flows[i].Rate; x-y > 1 || y-x > 1 {
				t.Errorf("flow %d: %d bit/s, with three times all weights %d", i, x, y)
			}
		}
	})
}

func TestVFSharesAreAPortAtMost(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(2, topogen.Wire{Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		in := policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneRoCE}}
		for i := range 2 + r.IntN(15) {
			name := fmt.Sprintf("t%d", i)
			in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: []quantity.Weight{1, 1000, 1_000_000_000}[r.IntN(3)]})
			in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: h[0], Dst: h[1], QPs: 1})
		}
		p := plantest.Compiled(t, in)
		sum := 0
		for _, x := range p.RoCE.Traffic {
			switch {
			case x.Port != h[0]:
			case x.VFShare < 1:
				t.Errorf("tenant %s has VF share %d: want 1 or more", x.Tenant, x.VFShare)
			default:
				sum += x.VFShare
			}
		}
		if sum > 1000 {
			t.Errorf("VF shares of %d tenants sum to %d: want at most 1000", len(in.Tenants), sum)
		}
	}
}

func TestClassesOnOneServiceLevelAreReportedToShareASetting(t *testing.T) {
	t.Parallel()
	in := incast(t)
	in.Tenants = slices.Clone(in.Tenants)
	in.Flows = slices.Clone(in.Flows)
	blue := slices.IndexFunc(in.Tenants, func(tn tenants.Tenant) bool { return tn.Name == "blue" })
	in.Tenants[blue].Classes = []tenants.Class{{Name: "bulk", Weight: 1000}, {Name: "fast", Weight: 9000}}
	var more []tenants.Flow
	for i := range in.Flows {
		if in.Flows[i].Tenant == "blue" {
			in.Flows[i].Class = "bulk"
			f := in.Flows[i]
			f.Class = "fast"
			more = append(more, f)
		}
	}
	in.Flows = append(in.Flows, more...)
	for _, mode := range []policy.PerQPMode{policy.PerQPAuto, policy.PerQPOn, policy.PerQPOff} {
		in.Options.PerQP = mode
		p := plantest.Compiled(t, in)
		if !slices.ContainsFunc(p.Findings, func(f policy.Finding) bool {
			return f.Code == policy.CodeSharedSetting && slices.Contains(f.Tenants, "blue")
		}) {
			t.Errorf("mode %s: no %s for classes 1:9 that send from one port: %v", mode, policy.CodeSharedSetting, p.Findings)
		}
	}
}
