package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

func TestFindingsSayTheSameInBothForms(t *testing.T) {
	t.Parallel()
	for _, plane := range []policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC} {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			findings := 0
			rapid.Check(t, func(t *rapid.T) {
				in := plantest.Input(t)
				in.Options.Plane = plane
				p, err := policy.Compile(in)
				if err != nil {
					return // an input that cannot be compiled
				}
				findings += len(p.Findings)
				for _, f := range p.Findings {
					if f.Said == nil || f.Advice == nil || f.Said.String() != f.Message || f.Advice.String() != f.Fix {
						t.Fatalf("%+v says otherwise for other languages", f)
					}
					if strings.Contains(f.Message+f.Fix, "{}") || strings.Contains(f.Message, "%!") {
						t.Fatalf("%q lacks values", f.Message)
					}
				}
			})
			if findings == 0 {
				t.Error("there were no findings: the test is no test")
			}
		})
	}
}

func TestEveryReasonHasAKnownRule(t *testing.T) {
	t.Parallel()
	rules := policy.Rules()
	if sorted := slices.Sorted(slices.Values(rules)); len(slices.Compact(sorted)) != len(rules) {
		t.Errorf("a rule is listed twice in %q", rules)
	}
	for _, plane := range []policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC} {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			seen := map[string]bool{}
			rapid.Check(t, func(t *rapid.T) {
				in := plantest.Input(t)
				in.Options.Plane = plane
				if plane == policy.PlaneIB {
					in.Options.VLArbitration = rapid.Bool().Draw(t, "lanes")
					in.Options.Mode = rapid.SampledFrom([]policy.Mode{policy.ModeProduct, policy.ModeTheorem1}).Draw(t, "mode")
					in.Options.CCTLaw = rapid.SampledFrom([]policy.CCTLaw{policy.CCTGeometric, policy.CCTQuadratic}).Draw(t, "law")
				}
				p, err := policy.Compile(in)
				if err != nil {
					return // an input that cannot be compiled
				}
				all, err := p.Explain(policy.ExplainFilter{})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range all {
					for _, r := range e.Reasons {
						if seen[r.Rule] = true; !slices.Contains(rules, r.Rule) {
							t.Fatalf("%s %s: %+v has a rule that is not on the list", e.Kind, e.Name, r)
						}
					}
				}
			})
			if len(seen) < 6 {
				t.Errorf("saw only %v", seen)
			}
		})
	}
}

// TestPlansOfEarlierVersionsAreTold is about plans whose findings have no sentences for other languages, and about sentences that somebody
// changed: the plan's name does not depend on them.
func TestPlansOfEarlierVersionsAreTold(t *testing.T) {
	t.Parallel()
	in := incast(t)
	in.Options = policy.Options{Mode: policy.ModeTheorem1, TimerRestart: true, CCTLaw: policy.CCTQuadratic} // has findings
	now := compile(t, in)
	if len(now.Findings) < 2 {
		t.Fatalf("findings %+v: the test is no test", now.Findings)
	}
	then := *now
	then.Findings = slices.Clone(now.Findings)
	for i := range then.Findings {
		then.Findings[i].Said, then.Findings[i].Advice = nil, nil
	}
	then.Findings[0].Fix = "see elsewhere"
	then.Name = then.Hash()
	b, err := then.Encode()
	if err != nil {
		t.Fatal(err)
	}
	old, err := policy.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	d, f := policy.Diff(now, old), old.Findings[0]
	if got, want := d.String(), fmt.Sprintf("finding changed: %s: now advises: see elsewhere", f.Code); got != want {
		t.Errorf("told as %q, want %q", got, want)
	}
	old.Findings[0].Advice = now.Findings[0].Advice // another's
	if again := policy.Diff(now, old); again.String() != d.String() {
		t.Errorf("with a changed sentence it is told as %q", again.String())
	}
	b, err = now.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if read, err := policy.Decode(b); err != nil || read.Findings[0].Said == nil || read.Findings[0].Said.String() != now.Findings[0].Message {
		t.Errorf("read again: %+v, %v", read, err)
	}
}
