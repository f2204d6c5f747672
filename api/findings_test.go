package api

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/phrase"
	"fairlane/policy"
)

func TestFindingsComeWithSentencesForOtherLanguages(t *testing.T) {
	t.Parallel()
	said, advice := phrase.Of("plan.sl-exhausted", "tenants", []string{"a", "b"}, "sl", 3, "ports", phrase.Ports.Of(2), "reason", phrase.Of("plan.sl-pinned")), phrase.Of("plan.increase-clamped.fix")
	f := policy.Finding{Code: "sl-exhausted", Tenants: []string{"a", "b"}, Links: []string{"h1/P1"}, Message: said.String(), Fix: advice.String(), Statement: &said, Advice: &advice}
	for _, f := range []policy.Finding{f, {Code: "of-an-earlier-version", Tenants: []string{}, Links: []string{}, Message: "so"}} {
		sent, err := json.Marshal(findingOut(f))
		if err != nil {
			t.Fatal(err)
		}
		got := policy.Finding{Tenants: []string{}, Links: []string{}}
		if err := json.Unmarshal(sent, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f, got); d != "" {
			t.Errorf("%s:\n%s", sent, d)
		}
	}
}
