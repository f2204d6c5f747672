package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// receivers is tenants that each send from a host of their own, with the given queue pairs, to one host.
func receivers(t *testing.T, line quantity.BitRate, weights []quantity.Weight, qps []int) policy.Input {
	t.Helper()
	f, err := topogen.Star(len(weights)+1, topogen.Wire{Rate: line})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	in := policy.Input{Fabric: f}
	for i := range weights {
		name := fmt.Sprintf("t%02d", i)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: weights[i]})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: h[i+1], Dst: h[0], QPs: qps[i]})
	}
	return in
}

// Each case builds an input with a finding, follows its advice, and checks that the finding disappears.
func TestFollowingTheAdviceRemovesTheFinding(t *testing.T) {
	t.Parallel()
	sharing := func(t *testing.T) policy.Input {
		in := attached(t, 3, func(int) []int { return []int{0, 1} })
		for sl := ident.SL(2); sl < ident.NumSLs; sl++ {
			in.Options.ReservedSLs = append(in.Options.ReservedSLs, sl)
		}
		return in
	}
	pinned := func(t *testing.T) policy.Input {
		in := attached(t, 2, func(int) []int { return []int{0} })
		in.Tenants[0].Attachments[0].SL, in.Tenants[1].Attachments[0].SL = level(4), level(4)
		return in
	}
	crowded := func(t *testing.T) policy.Input {
		in := receivers(t, 100*quantity.Gbps, []quantity.Weight{9000, 1000}, []int{1, 4096})
		in.Options.PerQP = policy.PerQPOn
		return in
	}
	short := func(t *testing.T) policy.Input {
		in := receivers(t, 100*quantity.Gbps, []quantity.Weight{9000, 1000}, []int{1, 128})
		in.Options.TableEntries, in.Options.CCTLaw, in.Options.PerQP = 16, policy.CCTQuadratic, policy.PerQPOn
		return in
	}
	fast := func(t *testing.T) policy.Input {
		return receivers(t, 800*quantity.Gbps, []quantity.Weight{16000, 13000, 1000, 7000}, []int{32, 1, 2, 1})
	}
	steps := func(t *testing.T) policy.Input {
		in := receivers(t, 100*quantity.Gbps, []quantity.Weight{1_000_000, 1000}, []int{1, 1})
		in.Options.Mode = policy.ModeTheorem1
		return in
	}
	far := func(t *testing.T) policy.Input {
		in := receivers(t, 100*quantity.Gbps, []quantity.Weight{16_000, 1000}, []int{1, 16})
		in.Options.Plane = policy.PlaneRoCE
		return in
	}
	source := func(t *testing.T) policy.Input {
		in := senders(t, []quantity.Weight{3000, 1000}, []int{1, 1})
		in.Options.VLArbitration = false
		return in
	}
	booked := func(t *testing.T) policy.Input {
		in := receivers(t, 100*quantity.Gbps, []quantity.Weight{1000, 1000, 1000}, []int{1, 1, 1})
		in.Tenants[0].Guarantee, in.Tenants[1].Guarantee = 60*quantity.Gbps, 50*quantity.Gbps
		return in
	}
	low := func(t *testing.T) policy.Input {
		in := receivers(t, 100*quantity.Gbps, []quantity.Weight{1000, 1000}, []int{1, 1})
		in.Tenants[1].Cap = 2 * quantity.Mbps
		return in
	}
	light := func(t *testing.T) policy.Input {
		return receivers(t, 100*quantity.Gbps, []quantity.Weight{10_000_000, 1000}, []int{1, 1})
	}
	unlike := func(t *testing.T) policy.Input {
		in := receivers(t, 100*quantity.Gbps, []quantity.Weight{100_000, 1000}, []int{1, 64})
		in.Options.Plane = policy.PlaneRoCE
		return in
	}
	classes := func(plane policy.Plane) func(*testing.T) policy.Input {
		return func(t *testing.T) policy.Input { return twoClasses(t, plane) }
	}
	apart := func(in *policy.Input) { in.Flows[1].Src = plantest.Hosts(in.Fabric)[3] }
	for name, c := range map[string]struct {
		code, advice string // the code, and the words that the test follows
		input        func(*testing.T) policy.Input
		follow       func(*policy.Input)
	}{
		"reserved SLs": {policy.CodeSLExhausted, "free reserved or pinned SLs", sharing,
			func(in *policy.Input) { in.Options.ReservedSLs = in.Options.ReservedSLs[1:] }},
		"other ports": {policy.CodeSLExhausted, "place the tenants on different ports", sharing,
			func(in *policy.Input) {
				h := plantest.Hosts(in.Fabric)
				in.Tenants[2].Attachments = []tenants.Attachment{{Port: h[2]}, {Port: h[3]}}
			}},
		"other pins": {policy.CodeSLExhausted, "pin the tenants to different SLs", pinned,
			func(in *policy.Input) { in.Tenants[0].Attachments[0].SL = level(5) }},
		"no pins": {policy.CodeSLExhausted, "leave the choice to the compiler", pinned,
			func(in *policy.Input) {
				in.Tenants[0].Attachments[0].SL, in.Tenants[1].Attachments[0].SL = nil, nil
			}},
		"longer tables": {policy.CodeCCTLimit, "longer tables", short, func(in *policy.Input) { in.Options.TableEntries = 128 }},
		"SL mode":       {policy.CodeCCTLimit, "SL mode", crowded, func(in *policy.Input) { in.Options.PerQP = policy.PerQPOff }},
		"fewer queue pairs": {policy.CodeCCTLimit, "fewer queue pairs", crowded,
			func(in *policy.Input) { in.Flows[1].QPs = 2 }},
		"more weight": {policy.CodeCCTLimit, "more weight or a guarantee", light, func(in *policy.Input) { in.Tenants[1].Weight = 2000 }},
		"a guarantee": {policy.CodeCCTLimit, "more weight or a guarantee", light, func(in *policy.Input) { in.Tenants[1].Guarantee = 20 * quantity.Mbps }},
		"a higher cap": {policy.CodeCapCoarse, "a cap at least 3.1 times as high", low,
			func(in *policy.Input) { in.Tenants[1].Cap = 31 * in.Tenants[1].Cap / 10 }},
		"what another tenant misses": {policy.CodeWeightUnreachable, "follow the advice of weight-unreachable for t01, with which this tenant shares links", unlike,
			func(in *policy.Input) { in.Flows[1].QPs = 1 }},
		"more queue pairs": {policy.CodeMarkingSparse, "QP mode), and open more queue pairs", fast,
			func(in *policy.Input) {
				in.Options.PerQP = policy.PerQPOn
				in.Flows[1].QPs, in.Flows[3].QPs = 16, 16
			}},
		"nearer weights": {policy.CodeMarkingSparse, "weights that differ less", fast,
			func(in *policy.Input) { in.Tenants[1].Weight, in.Tenants[3].Weight = 4000, 4000 }},
		"the other mode":            {policy.CodeWeightUnreachable, "use mode product", steps, func(in *policy.Input) { in.Options.Mode = policy.ModeProduct }},
		"increase":                  {policy.CodeIncreaseClamped, "mode product", steps, func(in *policy.Input) { in.Options.Mode = policy.ModeProduct }},
		"fewer queue pairs on RoCE": {policy.CodeSlowConvergence, "fewer queue pairs", far, func(in *policy.Input) { in.Flows[1].QPs = 2 }},
		"nearer weights on RoCE":    {policy.CodeSlowConvergence, "weights that differ less", far, func(in *policy.Input) { in.Tenants[0].Weight = 4000 }},
		"other sending ports": {policy.CodeSourcePort, "different ports", source,
			func(in *policy.Input) {
				h := plantest.Hosts(in.Fabric)
				in.Tenants[1].Attachments = append(in.Tenants[1].Attachments, tenants.Attachment{Port: h[9]})
				in.Flows[1].Src = h[9]
			}},
		"lower guarantees": {policy.CodeOverbooked, "lower the guarantees to 99 Gbit/s in total", booked,
			func(in *policy.Input) { in.Tenants[1].Guarantee = 39 * quantity.Gbps }},
		"guarantees on different links": {policy.CodeOverbooked, "fewer of them meet", booked,
			func(in *policy.Input) { in.Flows[1].Dst = plantest.Hosts(in.Fabric)[3] }},
		"classes on different InfiniBand ports": {policy.CodeWeightUnreachable, "send the classes from different ports", classes(policy.PlaneIB), apart},
		"classes on different RoCE ports":       {policy.CodeWeightUnreachable, "send the classes from different ports", classes(policy.PlaneRoCE), apart},
		"classes on different WRCC ports":       {policy.CodeWeightUnreachable, "send the classes from different ports", classes(policy.PlaneWRCC), apart},
		"classes by queue pairs": {policy.CodeWeightUnreachable, "queue pairs in proportion to the weights", classes(policy.PlaneWRCC),
			func(in *policy.Input) { in.Flows[0].QPs = 3 }},
		"classes by queue pairs on InfiniBand": {policy.CodeWeightUnreachable, "queue pairs in proportion to the weights", classes(policy.PlaneIB),
			func(in *policy.Input) { in.Flows[0].QPs = 3 }},
		"tenants in place of classes": {policy.CodeWeightUnreachable, "make each class a tenant of its own and set weights for their lanes (--vl-arbitration", classes(policy.PlaneIB),
			func(in *policy.Input) {
				in.Options.VLArbitration = true
				in.Tenants = []tenants.Tenant{{Name: "big", Weight: 3000}, {Name: "small", Weight: 1000}}
				in.Flows[0].Tenant, in.Flows[0].Class = "big", ""
				in.Flows[1].Tenant, in.Flows[1].Class = "small", ""
			}},
		"lanes": {policy.CodeSourcePort, "VL arbitration on this port (--vl-arbitration", source, func(in *policy.Input) { in.Options.VLArbitration = true }},
		"the cause of a share out of reach": {policy.CodeWeightUnreachable, "follow the advice of source-port-contended", source,
			func(in *policy.Input) { in.Options.VLArbitration = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := c.input(t)
			f := found(t, compile(t, in), c.code)
			if !strings.Contains(f.Fix, c.advice) {
				t.Fatalf("the advice %q does not contain %q", f.Fix, c.advice)
			}
			c.follow(&in)
			if p := compile(t, in); has(p, c.code) {
				t.Errorf("still there: %+v", p.Findings[slices.IndexFunc(p.Findings, func(f policy.Finding) bool { return f.Code == c.code })])
			}
		})
	}
}

// twoClasses is a tenant with classes of weights 3 and 1 that send from one port.
func twoClasses(t *testing.T, plane policy.Plane) policy.Input {
	in := receivers(t, 100*quantity.Gbps, []quantity.Weight{1000, 1000, 1000}, []int{1, 1, 1})
	h := plantest.Hosts(in.Fabric)
	in.Options.Plane = plane
	in.Tenants = []tenants.Tenant{{Name: "a", Weight: 1000, Classes: []tenants.Class{{Name: "big", Weight: 3000}, {Name: "small", Weight: 1000}}}}
	in.Flows = []tenants.Flow{{Tenant: "a", Class: "big", Src: h[0], Dst: h[1], QPs: 1}, {Tenant: "a", Class: "small", Src: h[0], Dst: h[2], QPs: 1}}
	return in
}

// On every plane an unreachable share has advice that names something, and advice about sending ports names only levers of the plane.
func TestAdviceIsOfThePlane(t *testing.T) {
	t.Parallel()
	shared := func(plane policy.Plane) policy.Input {
		in := senders(t, []quantity.Weight{3000, 1000}, []int{1, 1})
		in.Options.VLArbitration, in.Options.Plane = false, plane
		return in
	}
	for plane, want := range map[policy.Plane]struct{ source, unreachable string }{
		policy.PlaneIB:   {"or set weights for their lanes by VL arbitration on this port (--vl-arbitration, option vl_arbitration)", "follow the advice of source-port-contended for tenant "},
		policy.PlaneWRCC: {"place the tenants' senders on different ports", "follow the advice of source-port-contended for tenant "},
	} {
		p := compile(t, shared(plane))
		if f := found(t, p, policy.CodeSourcePort); !strings.HasSuffix(f.Fix, want.source) {
			t.Errorf("%s: advice %q, want %q", plane, f.Fix, want.source)
		}
		if f := found(t, p, policy.CodeWeightUnreachable); !strings.HasPrefix(f.Fix, want.unreachable) {
			t.Errorf("%s: advice %q, want %q", plane, f.Fix, want.unreachable)
		}
	}
	p := compile(t, shared(policy.PlaneRoCE)) // there virtual functions divide the port
	if has(p, policy.CodeSourcePort) || has(p, policy.CodeWeightUnreachable) || p.Tenants[0].PredictedError > 1e-6 {
		t.Errorf("with shares of virtual functions: %+v, findings %+v", p.Tenants, p.Findings)
	}
}

func level(sl ident.SL) *ident.SL { return &sl }
