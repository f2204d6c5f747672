package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/tenants"
)

func TestIncrementalCompilationEqualsFullCompilation(t *testing.T) {
	t.Parallel()
	for _, plane := range []policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC} {
		for _, everyHistory := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, every history kept %v", plane, everyHistory), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					in := plantest.Input(t)
					in.Options.Plane = plane
					in.Options.VLArbitration = rapid.IntRange(0, 3).Draw(t, "lanes") == 0
					if plane == policy.PlaneRoCE {
						in.Options.Lever = rapid.SampledFrom([]policy.Lever{policy.LeverDCQCN, policy.LeverClasses, policy.LeverBoth}).Draw(t, "lever")
						in.Options.Classes = siteClasses(rapid.IntRange(1, 8).Draw(t, "classes"))
					}
					var c policy.Compiler
					c.KeepAll(everyHistory)
					for range rapid.IntRange(2, 8).Draw(t, "steps") {
						compileBoth(t, &c, in)
						in = changed(t, in)
					}
				})
			})
		}
	}
}

// compileBoth compiles an input with and without memory and compares the plans in full.
func compileBoth(t rapid.TB, c *policy.Compiler, in policy.Input) {
	t.Helper()
	got, err := c.Compile(in)
	want, errCold := policy.Compile(in)
	if err != nil || errCold != nil {
		if fmt.Sprint(err) != fmt.Sprint(errCold) {
			t.Fatalf("with memory %v, without %v", err, errCold)
		}
		return
	}
	a, errA := got.Encode()
	b, errB := want.Encode()
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Fatalf("with memory %s (%v), without %s (%v)\n%s\n%s", got.Name, errA, want.Name, errB, a, b)
	}
	if name := got.Hash(); name != got.Name {
		t.Fatalf("the plan is named %s, and its contents %s", got.Name, name)
	}
}

// TestAChangeOfOneWeightReachesFewPorts doubles one tenant's weight after the other on the fat tree of the budget. The number of device writes
// depends on it: the load of a large group, or the start of its lever, must not move with each change. Some of the plans are compared with
// those of a compiler without memory.
func TestAChangeOfOneWeightReachesFewPorts(t *testing.T) {
	t.Parallel()
	for plane, in := range map[policy.Plane]policy.Input{
		policy.PlaneIB:   trees()[2].input(t),
		policy.PlaneRoCE: bareTrees()[1].onEthernet(t, policy.PlaneRoCE, true),
		policy.PlaneWRCC: bareTrees()[1].onEthernet(t, policy.PlaneWRCC, true),
	} {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			var c policy.Compiler
			before, err := c.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			var reached []int
			for i := range in.Tenants {
				in.Tenants = slices.Clone(in.Tenants)
				in.Tenants[i].Weight *= 2
				p, err := c.Compile(in)
				if err != nil {
					t.Fatal(err)
				}
				reached = append(reached, changedSenders(before, p))
				before = p
				if i%21 == 20 {
					if cold := plantest.Compiled(t, in); cold.Name != p.Name {
						t.Errorf("change %d: plan %s, without a memory %s", i, p.Name, cold.Name)
					}
				}
			}
			slices.Sort(reached)
			if half, most := reached[len(reached)/2], reached[len(reached)*7/8]; half > 500 || most > 1000 {
				t.Errorf("changes of one tenant's weight gave %v of 10,000 ports other settings: want half of them at most 500, and seven of eight at most 1000", reached)
			}
		})
	}
}

// TestIncrementalCompilationFollowsManyChanges changes one tenant after the other on a fabric whose parts are large enough to be remembered.
func TestIncrementalCompilationFollowsManyChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		plane policy.Plane
		lever policy.Lever
	}{{policy.PlaneIB, ""}, {policy.PlaneRoCE, ""}, {policy.PlaneRoCE, policy.LeverClasses}, {policy.PlaneRoCE, policy.LeverBoth}, {policy.PlaneWRCC, ""}} {
		plane := c.plane
		t.Run(string(plane)+string(c.lever), func(t *testing.T) {
			t.Parallel()
			in, err := plantest.FatTree(plantest.TreeOptions{K: 8, Hosts: 128, Tenants: 12, Flows: 1280, Bare: plane != policy.PlaneIB, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			in.Options.Plane = plane
			if plane != policy.PlaneIB {
				in.Routes = hashed(t, 8, in)
			}
			if c.lever != "" {
				in.Options.Lever, in.Options.Classes = c.lever, siteClasses(7)
				in.InForce = plantest.Compiled(t, in) // whose classes tenants keep
			}
			var compiler policy.Compiler
			compiler.KeepAll(true)
			followed := 0
			for step := range 30 {
				compileBoth(t, &compiler, in)
				followed += compiler.Followed()
				in.Tenants = slices.Clone(in.Tenants)
				tn := &in.Tenants[step*5%12]
				switch step % 7 {
				case 3:
					tn.Guarantee, tn.Cap = 2*quantity.Gbps, 60*quantity.Gbps
				case 6:
					tn.Guarantee, tn.Cap = 0, 0
				default:
					tn.Weight = quantity.Weight(500 * (1 + step*7%16))
				}
			}
			if followed < 50 {
				t.Errorf("histories were followed %d times in 30 compilations: the test has checked nothing", followed)
			}
		})
	}
}

// changed makes one of the edits that a Compiler treats differently.
func changed(t *rapid.T, in policy.Input) policy.Input {
	switch rapid.IntRange(0, 12).Draw(t, "edit") {
	case 0: // no change
	case 1: // flows, replacing the old ones
		in.Flows = slices.Clone(in.Flows)
		in.Flows[rapid.IntRange(0, len(in.Flows)-1).Draw(t, "flow")].QPs += 3
	case 2:
		in.Options.TimerRestart = !in.Options.TimerRestart
	case 3:
		in.Tenants = slices.Clone(in.Tenants)
		slices.Reverse(in.Tenants)
	case 4: // a new tenant shares ports with another
		like := in.Flows[rapid.IntRange(0, len(in.Flows)-1).Draw(t, "like")]
		like.Tenant, like.Class = fmt.Sprintf("new%d", len(in.Tenants)), ""
		in.Tenants = append(slices.Clone(in.Tenants), tenants.Tenant{Name: like.Tenant, Weight: 3000})
		in.Flows = append(slices.Clone(in.Flows), like)
	case 5: // a tenant and its flows are removed
		if len(in.Tenants) == 1 {
			break
		}
		gone := in.Tenants[rapid.IntRange(0, len(in.Tenants)-1).Draw(t, "gone")].Name
		flows := slices.DeleteFunc(slices.Clone(in.Flows), func(f tenants.Flow) bool { return f.Tenant == gone })
		if len(flows) > 0 {
			in.Flows = flows
			in.Tenants = slices.DeleteFunc(slices.Clone(in.Tenants), func(t tenants.Tenant) bool { return t.Name == gone })
		}
	case 6: // a link fails, or a tenant's flows multiply
		edit := policy.Edit{Kind: policy.EditFlows, Tenant: in.Tenants[rapid.IntRange(0, len(in.Tenants)-1).Draw(t, "tenant")].Name, Factor: 2}
		if rapid.Bool().Draw(t, "a link fails") {
			l := in.Fabric.Links[rapid.IntRange(0, len(in.Fabric.Links)-1).Draw(t, "link")]
			edit = policy.Edit{Kind: policy.EditFail, Ports: []string{in.Fabric.PortName(l.A)}}
		}
		if out, _, err := policy.Apply(in, edit); err == nil && len(out.Flows) > 0 {
			in = out
		}
	default:
		in.Tenants = slices.Clone(in.Tenants)
		tn := &in.Tenants[rapid.IntRange(0, len(in.Tenants)-1).Draw(t, "tenant")]
		tn.Weight = quantity.Weight(rapid.IntRange(1, 16_000).Draw(t, "weight"))
		if len(tn.Classes) > 0 && rapid.Bool().Draw(t, "class too") {
			tn.Classes = slices.Clone(tn.Classes)
			tn.Classes[0].Weight = quantity.Weight(rapid.IntRange(1, 16_000).Draw(t, "class weight"))
		}
		if rapid.IntRange(0, 3).Draw(t, "limits") == 0 {
			tn.Cap = quantity.BitRate(rapid.IntRange(1, 200).Draw(t, "cap")) * quantity.Gbps
		}
	}
	return in
}

func TestCompilerDiscardsItsStateAfterAnError(t *testing.T) {
	t.Parallel()
	in := incast(t)
	var c policy.Compiler
	first, err := c.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	bad := in
	bad.Tenants = slices.Clone(in.Tenants)
	bad.Tenants[0].Weight = 0
	if p, err := c.Compile(bad); err == nil {
		t.Fatalf("weight 0 compiled to %s", p.Name)
	}
	again, err := c.Compile(in)
	if err != nil || again.Name != first.Name {
		t.Errorf("after an error %v, plan %v, want %s", err, again, first.Name)
	}
}
