package policy_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/internal/testkit/goldentest"
	"fairlane/internal/testkit/zhtest"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

func compile(t interface{ Fatalf(string, ...any) }, in policy.Input) *policy.Plan {
	p, err := policy.Compile(in)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return p
}

// incast is three tenants of weight 4, 2, 1 with 1, 4 and 16 queue pairs onto one host of a two-level fat tree of 100 Gbit/s: the case in
// which the lever rules were measured.
func incast(t *testing.T) policy.Input {
	t.Helper()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 4, Spines: 2, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	in := policy.Input{Fabric: f, Tenants: []tenants.Tenant{
		{Name: "red", Weight: 4000, PKey: 0x8001}, {Name: "green", Weight: 2000, PKey: 0x8002}, {Name: "blue", Weight: 1000, PKey: 0x8003}}}
	for i, n := range []int{1, 4, 16} {
		in.Flows = append(in.Flows, tenants.Flow{Tenant: in.Tenants[i].Name, Src: h[4*(i+1)], Dst: h[0], QPs: n})
	}
	return in
}

func TestGoldenPlanOfTheIncast(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]policy.Options{
		"incast":   {},
		"theorem1": {Mode: policy.ModeTheorem1, TimerRestart: true, CCTLaw: policy.CCTQuadratic},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := incast(t)
			in.Options = o
			got, err := compile(t, in).Encode()
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Compare(t, filepath.Join("testdata", name+".golden.json"), got)
		})
	}
}

func TestIncastTimersFollowTheProductRule(t *testing.T) {
	t.Parallel()
	in := incast(t)
	in.Options.PerQP = policy.PerQPOn
	p := compile(t, in)
	var products [3]float64
	for i, n := range []string{"red", "green", "blue"} {
		for _, c := range p.CAs {
			if sl, ok := p.SL(n, c.Port); ok && slices.ContainsFunc(c.Reasons, func(r policy.Reason) bool { return r.Rule == "product-rule" && r.Tenant == n }) {
				products[i] = float64(c.Settings.SLs[sl].Timer) * float64(c.Settings.SLs[sl].Increase)
			}
		}
	}
	// Per queue pair the entitlements are 64 : 8 : 1.
	if r := products[1] / products[0]; math.Abs(r/8-1) > 0.01 {
		t.Errorf("green's timer is %.3f times red's, want 8", r)
	}
	if r := products[2] / products[0]; math.Abs(r/64-1) > 0.01 {
		t.Errorf("blue's timer is %.3f times red's, want 64", r)
	}
	// Mark load: decays a second over marks a second at one packet of 4122 bytes every 32.
	load := 0.0
	for i, n := range []float64{1, 4, 16} {
		load += n / (products[i] * 1.024e-6)
	}
	if load /= 100e9 / (4122 * 8) / 32; load < 0.5 || load > 0.8 {
		t.Errorf("mark load %.3f, want 0.5 to 0.8", load)
	}
	if len(p.Findings) != 0 {
		t.Errorf("findings on a fabric without faults: %+v", p.Findings)
	}
	for _, s := range p.Tenants {
		if s.PredictedError > 0.005 {
			t.Errorf("tenant %s: predicted %s, entitled %s", s.Tenant, s.Predicted, s.Entitled)
		}
	}
}

func TestThePlanDoesNotDependOnTheOrderOfTheInput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		other := in
		other.Tenants = rapid.Permutation(in.Tenants).Draw(rt, "tenants")
		other.Flows = rapid.Permutation(in.Flows).Draw(rt, "flows")
		if a, b := compile(rt, in), compile(rt, other); a.Name != b.Name {
			rt.Fatalf("plans differ: %s", cmp.Diff(a, b))
		}
	})
}

func TestDoublingAllWeightsChangesNoSetting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		other := in
		other.Tenants = slices.Clone(in.Tenants)
		for i := range other.Tenants {
			other.Tenants[i].Weight *= 2
		}
		a, b := compile(rt, in), compile(rt, other)
		for i := range b.Tenants {
			b.Tenants[i].Weight /= 2
		}
		b.Name = a.Name
		if d := cmp.Diff(a, b); d != "" {
			rt.Fatalf("plans differ: %s", d)
		}
	})
}

func TestRaisingAWeightNeverLowersTheTenantsShareOfASingleLink(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f, err := topogen.Star(9, topogen.Wire{Rate: 100 * quantity.Gbps})
		if err != nil {
			rt.Fatalf("star: %v", err)
		}
		h := plantest.Hosts(f)
		in := policy.Input{Fabric: f}
		for i := range rapid.IntRange(2, 8).Draw(rt, "tenants") {
			name := string(rune('a' + i))
			in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: quantity.Weight(rapid.IntRange(1, 20_000).Draw(rt, "weight"))})
			in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: h[i+1], Dst: h[0], QPs: rapid.IntRange(1, 64).Draw(rt, "qps")})
		}
		share := func() (quantity.BitRate, quantity.BitRate) {
			target, err := policy.Entitle(in)
			if err != nil {
				rt.Fatalf("entitle: %v", err)
			}
			sum := quantity.BitRate(0)
			for _, e := range target.Flows {
				sum += e.Rate
			}
			return target.Flows[0].Rate, sum
		}
		before, sum := share()
		if d := sum - 100*quantity.Gbps; d > 8 || d < -8 {
			rt.Fatalf("shares sum to %d bit/s", sum)
		}
		in.Tenants[0].Weight += quantity.Weight(rapid.IntRange(1, 20_000).Draw(rt, "raise"))
		if after, _ := share(); after < before-1 {
			rt.Fatalf("share fell from %d to %d", before, after)
		}
	})
}

func TestPlansSurviveEncodingAndTheirNameIsTheirContents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := compile(rt, plantest.Input(rt))
		b, err := p.Encode()
		if err != nil {
			rt.Fatalf("encode: %v", err)
		}
		q, err := policy.Decode(b)
		if err != nil {
			rt.Fatalf("decode: %v", err)
		}
		if d := cmp.Diff(p, q); d != "" {
			rt.Fatalf("decoded plan differs: %s", d)
		}
		q.Tenants[0].Entitled++
		forged, err := q.Encode()
		if err != nil {
			rt.Fatalf("encode: %v", err)
		}
		if _, err := policy.Decode(forged); err == nil {
			rt.Fatalf("a changed plan kept its name")
		}
	})
}

func TestEverySettingIsLegalAndHasAReason(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		in.Options = options(rt)
		p := compile(rt, in)
		for _, c := range p.CAs {
			if err := c.Settings.Validate(); err != nil {
				rt.Fatalf("%s: %v", c.Name, err)
			}
			for _, field := range []string{"per_sl", "cct", "ccti_limit"} {
				if !slices.ContainsFunc(c.Reasons, func(r policy.Reason) bool { return r.Field == field && r.Formula != "" }) {
					rt.Fatalf("%s: no reason for %s", c.Name, field)
				}
			}
			for sl, s := range c.Settings.SLs {
				if s.Timer == 0 || s.Increase == 0 {
					rt.Fatalf("%s: SL %d does not react: %+v", c.Name, sl, s)
				}
			}
		}
		for _, s := range p.Switches {
			if err := s.Defaults.Validate(); err != nil || s.Defaults.Threshold == 0 || s.Defaults.MarkingRate < 8 {
				rt.Fatalf("%s: defaults %+v: %v", s.Name, s.Defaults, err)
			}
		}
	})
}

func options(t *rapid.T) policy.Options {
	return policy.Options{
		Mode:         rapid.SampledFrom([]policy.Mode{"", policy.ModeProduct, policy.ModeTheorem1}).Draw(t, "mode"),
		CCTLaw:       rapid.SampledFrom([]policy.CCTLaw{"", policy.CCTQuadratic}).Draw(t, "law"),
		TimerRestart: rapid.Bool().Draw(t, "restart"),
		PerQP:        rapid.SampledFrom([]policy.PerQPMode{"", policy.PerQPOn, policy.PerQPOff}).Draw(t, "per qp"),
	}
}

// Two tenants that share an SL on a port that both may send from, without a finding, would be an unreported approximation.
func TestTenantsOnAPortHaveDifferentSLsOrAFinding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		for sl := range rapid.IntRange(0, 14).Draw(rt, "reserved") {
			in.Options.ReservedSLs = append(in.Options.ReservedSLs, ident.SL(sl))
		}
		p := compile(rt, in)
		type at struct {
			port ident.PortID
			sl   ident.SL
		}
		seen := map[at]string{}
		for _, pl := range p.Placements {
			if slices.Contains(in.Options.ReservedSLs, pl.SL) {
				rt.Fatalf("reserved SL %d given to %s", pl.SL, pl.Tenant)
			}
			if pl.Receives {
				continue
			}
			k := at{pl.Port, pl.SL}
			if other, ok := seen[k]; ok && !slices.ContainsFunc(p.Findings, func(f policy.Finding) bool {
				return f.Code == policy.CodeSLExhausted && slices.Contains(f.Tenants, other) && slices.Contains(f.Tenants, pl.Tenant)
			}) {
				rt.Fatalf("%s and %s share SL %d on %s without a finding", other, pl.Tenant, pl.SL, pl.Port)
			}
			seen[k] = pl.Tenant
		}
	})
}

func TestPredictOfACompiledPlanIsThePlansOwnPrediction(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		in.Options = options(rt)
		p := compile(rt, in)
		got, err := policy.Predict(in, p)
		if err != nil {
			rt.Fatalf("predict: %v", err)
		}
		if d := cmp.Diff(p.Tenants, got.Tenants); d != "" {
			rt.Fatalf("tenants differ: %s", d)
		}
		if d := cmp.Diff(p.Links, got.Links); d != "" {
			rt.Fatalf("links differ: %s", d)
		}
	})
}

func TestInputThatCannotBeCompiledIsRefusedAsSuch(t *testing.T) {
	t.Parallel()
	good := incast(t)
	for name, change := range map[string]func(in *policy.Input){
		"no fabric":    func(in *policy.Input) { in.Fabric = nil },
		"unknown mode": func(in *policy.Input) { in.Options.Mode = "fast" },
		"unknown law":  func(in *policy.Input) { in.Options.CCTLaw = "cubic" },
		"short table":  func(in *policy.Input) { in.Options.TableEntries = 3 },
		"zero weight":  func(in *policy.Input) { in.Tenants = []tenants.Tenant{{Name: "red"}}; in.Flows = nil },
		"switch port": func(in *policy.Input) {
			in.Flows = slices.Clone(in.Flows)
			in.Flows[0].Dst = in.Fabric.PortID(plug(in))
		},
		"unknown port":    func(in *policy.Input) { in.Flows = slices.Clone(in.Flows); in.Flows[0].Dst.Node++ },
		"all SLs kept":    func(in *policy.Input) { in.Options.ReservedSLs = allSLs() },
		"SL out of range": func(in *policy.Input) { in.Options.ReservedSLs = []ident.SL{16} },
	} {
		in := good
		change(&in)
		_, err := policy.Compile(in)
		if !errors.Is(err, policy.ErrInput) {
			t.Errorf("%s: error %v, want one that wraps ErrInput", name, err)
		}
		zhtest.Error(t, name, err, "red", "weight")
	}
}

func TestASendingPortThatTenantsContendForIsAFinding(t *testing.T) {
	t.Parallel()
	in := incast(t)
	h := plantest.Hosts(in.Fabric)
	in.Flows = []tenants.Flow{
		{Tenant: "red", Src: h[0], Dst: h[5], QPs: 1}, {Tenant: "green", Src: h[0], Dst: h[9], QPs: 1}}
	p := compile(t, in)
	if !slices.ContainsFunc(p.Findings, func(f policy.Finding) bool { return f.Code == policy.CodeSourcePort }) {
		t.Errorf("findings %+v, want %s", p.Findings, policy.CodeSourcePort)
	}
	for _, s := range p.Tenants[1:] { // green, red: the port's queue pairs take turns
		if s.Predicted != 50*quantity.Gbps {
			t.Errorf("%s is predicted %s, want 50 Gbit/s", s.Tenant, s.Predicted)
		}
	}
}

func TestLinkFedByOneSendingPortDoesNotDivide(t *testing.T) {
	t.Parallel()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 2, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}})
	if err != nil {
		t.Fatal(err)
	}
	host := func(i int) ident.PortID { return f.PortID(subnet.PortRef{Node: f.Hosts()[i], Port: 1}) }
	in := policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneWRCC},
		Tenants: []tenants.Tenant{{Name: "a", Weight: 1000}, {Name: "b", Weight: 3000}},
		Flows: []tenants.Flow{
			{Tenant: "a", Src: host(0), Dst: host(2), QPs: 6},
			{Tenant: "b", Src: host(0), Dst: host(2), QPs: 2},
		}}
	p, err := policy.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	// The receiver's link has two feeders and could divide 1:3, but the sender's port is full first: 6:2.
	if got := float64(p.Tenants[0].Predicted) / 100e9; math.Abs(got-0.75) > 1e-6 {
		t.Errorf("tenant a is predicted %g of the port, want 0.75: queue pairs take turns where they are sent", got)
	}
	if !slices.ContainsFunc(p.Findings, func(f policy.Finding) bool { return f.Code == policy.CodeSourcePort }) {
		t.Errorf("findings %v, want %s", p.Findings, policy.CodeSourcePort)
	}
}
