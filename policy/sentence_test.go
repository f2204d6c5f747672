package policy_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/i18n/catalogue"
	"fairlane/internal/phrase"
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

// TestReasonsAreSentences compiles arbitrary inputs: every reason has a rule of the list, and each of its texts with words is a sentence, the
// same in English and without English in Chinese.
func TestReasonsAreSentences(t *testing.T) {
	t.Parallel()
	rules := policy.Rules()
	if sorted := slices.Sorted(slices.Values(rules)); len(slices.Compact(sorted)) != len(rules) {
		t.Errorf("a rule is listed twice in %q", rules)
	}
	for _, plane := range []policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC} {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			seen, said := map[string]bool{}, map[string]bool{}
			rapid.Check(t, func(t *rapid.T) {
				in := plantest.Input(t)
				in.Options.Plane = plane
				if plane == policy.PlaneIB {
					in.Options.VLArbitration = rapid.Bool().Draw(t, "lanes")
					in.Options.Mode = rapid.SampledFrom([]policy.Mode{policy.ModeProduct, policy.ModeTheorem1}).Draw(t, "mode")
					in.Options.CCTLaw = rapid.SampledFrom([]policy.CCTLaw{policy.CCTGeometric, policy.CCTQuadratic}).Draw(t, "law")
					in.Options.TimerRestart = rapid.Bool().Draw(t, "restart")
				}
				p, err := policy.Compile(in)
				if err != nil {
					return // an input that cannot be compiled
				}
				for _, r := range reasons(t, p) {
					if seen[r.Rule] = true; !slices.Contains(rules, r.Rule) {
						t.Fatalf("%+v has a rule that is not on the list", r)
					}
					for _, id := range saidOf(t, r) {
						said[id] = true
					}
				}
			})
			if len(seen) < 6 || len(said) < 10 {
				t.Errorf("saw only the rules %v and the sentences %v", seen, said)
			}
		})
	}
}

// reasons returns all reasons of a plan.
func reasons(t rapid.TB, p *policy.Plan) []policy.Reason {
	t.Helper()
	all, err := p.Explain(policy.ExplainFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var out []policy.Reason
	for _, e := range all {
		out = append(out, e.Reasons...)
	}
	return out
}

var (
	words = regexp.MustCompile(`[A-Za-z]{2,}[ ,]+[A-Za-z]{2,}`)
	// kept is what Chinese leaves as it is: names of fields and profiles, units, and the field's own terms.
	kept  = regexp.MustCompile(`"[a-z]+"|\b([a-z]+_[a-z_]+|connectx-\d|spectrum-\d|min|max|bit|alpha)\b|k?bit/s|queue\[|[A-Z][A-Za-z]*_?[A-Z][A-Za-z_]*`)
	latin = regexp.MustCompile(`[A-Za-z]{3,}`)
)

// saidOf returns the ids of a reason's sentences, after checks of each text.
func saidOf(t rapid.TB, r policy.Reason) []string {
	t.Helper()
	chinese, err := catalogue.Load("zh")
	if err != nil {
		t.Fatal(err)
	}
	said := r.Said()
	var ids []string
	for _, x := range []struct {
		text string
		said *phrase.Text
	}{{r.Field, said.Field}, {r.Value, said.Value}, {r.Unit, said.Unit}, {r.Range, said.Range}, {r.Formula, said.Formula}, {r.Clamped, said.Clamped}} {
		if x.said == nil {
			if words.MatchString(x.text) {
				t.Fatalf("%q of %+v is no sentence", x.text, r)
			}
			continue
		}
		if x.said.String() != x.text || !x.said.Known() {
			t.Fatalf("%q reads as %q", x.text, x.said)
		}
		zh := x.said.In(func(id string) (string, bool) { template, ok := chinese[id]; return template, ok })
		if english := latin.FindString(kept.ReplaceAllString(zh, "")); english != "" {
			t.Fatalf("%q has %q in Chinese: %q", x.text, english, zh)
		}
		ids = append(ids, idsOf(*x.said)...)
	}
	return ids
}

// idsOf returns the ids of the sentences that a text joins.
func idsOf(said phrase.Text) []string {
	list, ok := said.Param("list")
	if said.ID != "list.whole" || !ok {
		return []string{said.ID}
	}
	var out []string
	for _, s := range list.Texts {
		out = append(out, s.ID)
	}
	return out
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
	quoted := 0
	for _, r := range reasons(t, old) {
		if said := r.Said().Formula; said == nil {
			quoted++
		} else if said.String() != r.Formula {
			t.Errorf("%q reads as %q", r.Formula, said)
		}
	}
	if quoted == 0 {
		t.Error("no formula has the words of that time: the test has checked nothing")
	}
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
