package policy_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

func TestFindingsAreEqualInBothForms(t *testing.T) {
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
					if f.Statement == nil || f.Advice == nil || f.Statement.String() != f.Message || f.Advice.String() != f.Fix {
						t.Fatalf("%+v differs in other languages", f)
					}
					if strings.Contains(f.Message+f.Fix, "{}") || strings.Contains(f.Message, "%!") {
						t.Fatalf("%q lacks values", f.Message)
					}
				}
			})
			if findings == 0 {
				t.Error("there were no findings: the test has checked nothing")
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

// TestPlansOfFormat1AreReadAndVerified covers plans from before sentences had ids; a build of that time made the stored file. It can be read,
// its name is that of its contents, and its texts count.
func TestPlansOfFormat1AreReadAndVerified(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/format1.json")
	if err != nil {
		t.Fatal(err)
	}
	old, err := policy.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if old.Format != 0 || len(old.Findings) < 2 || old.Findings[0].Message == "" || old.Findings[0].Fix == "" {
		t.Fatalf("format %d, findings %+v", old.Format, old.Findings)
	}
	if again, err := old.Encode(); err != nil {
		t.Fatal(err)
	} else if read, err := policy.Decode(again); err != nil || read.Name != old.Name {
		t.Errorf("written and read again: %v", err)
	}
	for _, change := range []func(f *policy.Finding){func(f *policy.Finding) { f.Message += "." }, func(f *policy.Finding) { f.Fix += "." }} {
		forged := *old
		forged.Findings = slices.Clone(old.Findings)
		change(&forged.Findings[0])
		if forged.Hash() == old.Name {
			t.Error("a sentence of a plan of format 1 does not count")
		}
	}
	in := incast(t)
	in.Options = theorem1()
	d := policy.Diff(old, compile(t, in))
	if len(d.Appeared)+len(d.Vanished)+len(d.Settings) != 0 {
		t.Errorf("the plan of the same input differs: %s", d.String())
	}
}

// theorem1 are options whose plan of the incast has findings.
func theorem1() policy.Options {
	return policy.Options{Mode: policy.ModeTheorem1, TimerRestart: true, CCTLaw: policy.CCTQuadratic}
}

// TestPlanNameExcludesTheWordingOfFindings covers plans of format 2, whose wording later versions change.
func TestPlanNameExcludesTheWordingOfFindings(t *testing.T) {
	t.Parallel()
	in := incast(t)
	in.Options = theorem1()
	p := compile(t, in)
	if p.Format != policy.PlanFormat || len(p.Findings) < 2 {
		t.Fatalf("format %d, findings %+v: the test has checked nothing", p.Format, p.Findings)
	}
	worded := *p
	worded.Findings = slices.Clone(p.Findings)
	worded.Findings[0].Message, worded.Findings[0].Fix = "said otherwise", "another word"
	if worded.Hash() != p.Name {
		t.Error("the name depends on the words")
	}
	if d := policy.Diff(p, &worded); !d.Empty() {
		t.Errorf("another wording is a difference: %s", d.String())
	}
	other := *p
	other.Findings = slices.Clone(p.Findings)
	other.Findings[0].Advice = p.Findings[1].Statement
	if other.Hash() == p.Name {
		t.Error("the name does not depend on the advice")
	}
	d := policy.Diff(p, &other)
	if got, want := d.String(), fmt.Sprintf("finding changed: %s: now advises: %s", p.Findings[0].Code, p.Findings[1].Statement); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	later := *p
	later.Format = policy.PlanFormat + 1
	later.Name = later.Hash()
	b, err := later.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Decode(b); err == nil || !strings.Contains(err.Error(), "format 3") {
		t.Errorf("a plan of a later format: %v", err)
	}
}
