package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// promised is two tenants of equal weights that send from the first port of a star, 100 Gbit/s, to the second. claimed is what red's workloads
// are promised of the first.
func promised(t testing.TB, plane subnet.Plane, claimed quantity.BitRate) policy.Input {
	t.Helper()
	f, err := topogen.Star(3, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	if plane == policy.PlaneWRCC {
		for i := range f.Nodes {
			f.Nodes[i].Domain = "dc1"
		}
	}
	hosts := starHosts(f)
	in := policy.Input{Fabric: f, Options: policy.Options{Plane: plane}}
	for _, name := range []string{"blue", "red"} {
		tn := tenants.Tenant{Name: name, Weight: quantity.WeightOne}
		for i, h := range hosts {
			a := tenants.Attachment{Port: f.PortID(h)}
			if name == "red" && i == 0 {
				a.Claimed = claimed
			}
			tn.Attachments = append(tn.Attachments, a)
		}
		in.Tenants = append(in.Tenants, tn)
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: f.PortID(hosts[0]), Dst: f.PortID(hosts[1]), QPs: 1})
	}
	return in
}

// claimFindings returns a plan's findings about claims.
func claimFindings(p *policy.Plan) []policy.Finding {
	return slices.DeleteFunc(slices.Clone(p.Findings), func(f policy.Finding) bool { return f.Code != policy.CodeClaimsExceed })
}

// paramOf returns a value of a sentence as text; empty if it has none of the name.
func paramOf(t *phrase.Text, name string) string {
	if _, ok := t.Param(name); !ok {
		return ""
	}
	return t.In(func(id string) (string, bool) { return "{" + name + "}", id == t.ID })
}

var allPlanes = []subnet.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC}

func TestALoweredWeightThatBreaksAPromiseIsAFindingOfItsPreview(t *testing.T) {
	t.Parallel()
	for _, plane := range allPlanes {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			in := promised(t, plane, 50*quantity.Gbps)
			before := plantest.Compiled(t, in)
			if got := claimFindings(before); len(got) != 0 {
				t.Fatalf("half of the port is claimed and given: found %+v", got)
			}
			none := promised(t, plane, 0)
			if plantest.Compiled(t, none).Name != before.Name {
				t.Error("claims that are kept change the plan")
			}
			edited, _, err := policy.Apply(in, policy.Edit{Kind: policy.EditWeight, Tenant: "red", Weight: 250})
			if err != nil {
				t.Fatal(err)
			}
			got := claimFindings(plantest.Compiled(t, edited))
			if len(got) != 1 {
				t.Fatalf("found %+v, want one finding", got)
			}
			f := got[0]
			if !slices.Equal(f.Tenants, []string{"red"}) || !slices.Equal(f.Links, []string{"h1/P1"}) {
				t.Errorf("finding of %v at %v", f.Tenants, f.Links)
			}
			const say = "workloads of tenant red are promised 50 Gbit/s of port h1/P1, and the plan gives the tenant 20 Gbit/s there for sure: 30 Gbit/s too little"
			if f.Message != say {
				t.Errorf("%q, want %q", f.Message, say)
			}
			fix := "give the tenant a weight of 1 or more, or a guarantee of 50 Gbit/s; otherwise let its workloads claim 30 Gbit/s less, or place some of them on other ports"
			if plane == policy.PlaneRoCE {
				fix = "give the tenant a weight of 1 or more; otherwise let its workloads claim 30 Gbit/s less, or place some of them on other ports"
			}
			if f.Fix != fix {
				t.Errorf("fix %q, want %q", f.Fix, fix)
			}
		})
	}
}

func TestWhatATenantHasForSure(t *testing.T) {
	t.Parallel()
	const claim = 40 * quantity.Gbps
	change := func(f func(in *policy.Input)) func(in *policy.Input) { return f }
	for name, c := range map[string]struct {
		planes []subnet.Plane
		change func(in *policy.Input) // tenants: blue, red
		want   string                 // what is given and the advice; empty: no finding
	}{
		"a guarantee above the weight": {[]subnet.Plane{policy.PlaneIB, policy.PlaneWRCC}, change(func(in *policy.Input) {
			in.Tenants[1].Weight, in.Tenants[1].Guarantee = 250, 40*quantity.Gbps
		}), ""},
		"a guarantee that no function has": {[]subnet.Plane{policy.PlaneRoCE}, change(func(in *policy.Input) {
			in.Tenants[1].Weight, in.Tenants[1].Guarantee = 250, 40*quantity.Gbps
		}), "20 Gbit/s plan.claims-exceed.weight.fix"},
		"a cap": {allPlanes, change(func(in *policy.Input) { in.Tenants[1].Cap = 10 * quantity.Gbps }), "10 Gbit/s plan.claims-exceed.cap.fix"},
		"the other's cap": {[]subnet.Plane{policy.PlaneIB, policy.PlaneWRCC}, change(func(in *policy.Input) {
			in.Tenants[1].Weight, in.Tenants[0].Cap = 250, 60*quantity.Gbps
		}), ""},
		"more than the port":   {allPlanes, change(func(in *policy.Input) { in.Tenants[1].Attachments[0].Claimed = 200 * quantity.Gbps }), "50 Gbit/s plan.claims-exceed.port.fix"},
		"all of a shared port": {allPlanes, change(func(in *policy.Input) { in.Tenants[1].Attachments[0].Claimed = 100 * quantity.Gbps }), "50 Gbit/s plan.claims-exceed.alone.fix"},
		"the other only receives": {allPlanes, change(func(in *policy.Input) {
			in.Tenants[1].Attachments[0].Claimed = 100 * quantity.Gbps
			in.Flows[0].Src, in.Flows[0].Dst = in.Flows[0].Dst, in.Flows[0].Src
		}), ""},
		"alone on the port": {allPlanes, change(func(in *policy.Input) {
			in.Tenants[1].Attachments[0].Claimed = 100 * quantity.Gbps
			in.Tenants[0].Attachments = in.Tenants[0].Attachments[1:]
			in.Flows[0].Src = in.Tenants[0].Attachments[1].Port
		}), ""},
		"only receives itself": {[]subnet.Plane{policy.PlaneRoCE}, change(func(in *policy.Input) {
			in.Flows[1].Src, in.Flows[1].Dst = in.Flows[1].Dst, in.Flows[1].Src
		}), "0 bit/s plan.claims-exceed.flows.fix"},
		"weights are what counts, not flows": {allPlanes, change(func(in *policy.Input) { in.Flows[0].QPs = 64 }), ""},
	} {
		for _, plane := range c.planes {
			t.Run(name+" on "+string(plane), func(t *testing.T) {
				t.Parallel()
				in := promised(t, plane, claim)
				c.change(&in)
				got := ""
				for _, f := range claimFindings(plantest.Compiled(t, in)) {
					got += fmt.Sprintf("%s %s", paramOf(f.Statement, "given"), f.Advice.ID)
				}
				if got != c.want {
					t.Errorf("found %q, want %q", got, c.want)
				}
			})
		}
	}
}

func TestSeveralPortsAreOneFindingByTheWorst(t *testing.T) {
	t.Parallel()
	in := promised(t, policy.PlaneRoCE, 60*quantity.Gbps)
	in.Flows = nil // all may send from everywhere
	in.Tenants[1].Attachments[1].Claimed = 70 * quantity.Gbps
	in.Tenants[1].Attachments[2].Claimed = 10 * quantity.Gbps
	got := claimFindings(plantest.Compiled(t, in))
	if len(got) != 1 || !slices.Equal(got[0].Links, []string{"h2/P1", "h1/P1"}) {
		t.Fatalf("found %+v", got)
	}
	const say = "workloads of tenant red are promised 70 Gbit/s of port h2/P1 (the worst of 2 ports), and the plan gives the tenant 50 Gbit/s there for sure: 20 Gbit/s too little"
	if got[0].Message != say {
		t.Errorf("%q, want %q", got[0].Message, say)
	}
}

// The weight that the finding advises is the smallest that removes it.
func TestTheAdvisedWeightIsEnoughAndNoMore(t *testing.T) {
	t.Parallel()
	advised := 0
	rapid.Check(t, func(r *rapid.T) {
		plane := rapid.SampledFrom(allPlanes).Draw(r, "plane")
		in := promised(t, plane, quantity.BitRate(rapid.IntRange(2, 95).Draw(r, "claimed"))*quantity.Gbps)
		in.Tenants[0].Weight = quantity.Weight(rapid.IntRange(1, 1_000_000).Draw(r, "other's weight"))
		in.Tenants[1].Weight = 1
		if plane == policy.PlaneRoCE { // each of them has a thousandth, more than its weight entitles it to, at the cost of the others
			for i := range rapid.IntRange(0, 9).Draw(r, "light tenants") {
				light, flow := in.Tenants[0], in.Flows[0]
				light.Name, light.Weight = fmt.Sprintf("tiny%d", i), 1
				flow.Tenant = light.Name
				in.Tenants, in.Flows = append(in.Tenants, light), append(in.Flows, flow)
			}
		} else if rapid.Bool().Draw(r, "limits") {
			in.Tenants[0].Guarantee = quantity.BitRate(rapid.IntRange(0, 60).Draw(r, "other's guarantee")) * quantity.Gbps
		}
		got := claimFindings(plantest.Compiled(t, in))
		if len(got) == 0 {
			return // the claims are kept
		}
		text := paramOf(got[0].Advice, "weight")
		if text == "" {
			return // no weight suffices
		}
		advised++
		w, err := quantity.ParseWeight(text)
		if err != nil {
			r.Fatal(err)
		}
		in.Tenants[1].Weight = w
		if left := claimFindings(plantest.Compiled(t, in)); len(left) != 0 {
			r.Errorf("with weight %s: found %s", text, left[0].Message)
		}
		in.Tenants[1].Weight = w - 1
		if left := claimFindings(plantest.Compiled(t, in)); w > 1 && len(left) == 0 {
			r.Errorf("a weight below %s suffices", text)
		}
	})
	if advised < 10 {
		t.Errorf("%d findings advised a weight: the test is no test", advised)
	}
}
