package policy_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
)

func TestACompilerWithAMemoryGivesThePlanOfOneWithout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := plantest.Input(t)
		var c policy.Compiler
		for range rapid.IntRange(2, 6).Draw(t, "steps") {
			got, err := c.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			want, err := policy.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			a, errA := got.Encode()
			b, errB := want.Encode()
			if errA != nil || errB != nil || string(a) != string(b) {
				t.Fatalf("with memory %s (%v), without %s (%v)\n%s\n%s", got.Name, errA, want.Name, errB, a, b)
			}
			in = changed(t, in)
		}
	})
}

// changed edits an input in one of the ways that a Compiler treats differently.
func changed(t *rapid.T, in policy.Input) policy.Input {
	switch rapid.IntRange(0, 6).Draw(t, "edit") {
	case 0: // nothing
	case 1: // flows, in place of the old ones
		in.Flows = slices.Clone(in.Flows)
		in.Flows[rapid.IntRange(0, len(in.Flows)-1).Draw(t, "flow")].QPs += 3
	case 2:
		in.Options.TimerRestart = !in.Options.TimerRestart
	case 3:
		slices.Reverse(in.Tenants)
		in.Tenants = slices.Clone(in.Tenants)
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

func TestAfterAnErrorACompilerStartsAfresh(t *testing.T) {
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
