package i18n

import (
	"encoding/json"
	"testing"

	"fairlane/internal/i18n/catalogue"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/testkit/goldentest"
)

// TestTheBrowserWordsSentencesAlike compares sentences with a file that tests of web/src/i18n read: both must word them alike.
func TestTheBrowserWordsSentencesAlike(t *testing.T) {
	rate, spent := 12_500*quantity.Mbps, 1500*quantity.Microsecond
	said := []phrase.Text{
		phrase.Of("result.verified", "n", 1),
		phrase.Of("result.verified", "n", 20),
		phrase.Of("joined", "first", phrase.Of("result.verified", "n", 3), "second", phrase.Verbatim("dial tcp: refused\nagain")),
		phrase.Of("list.whole", "list", []phrase.Text{phrase.Of("result.verified", "n", 2), phrase.Verbatim("x")}),
		phrase.Commas{phrase.Verbatim("甲"), phrase.Verbatim("b")}.Text(),
		phrase.Of("list.or", "list", []string{"gold", "silver"}, "last", "bronze"),
		phrase.Of("list.more", "list", []string{"leaf1", "leaf2"}, "more", 7),
		phrase.Of("plan.as-entitled", "tenant", "gold", "predicted", rate),
		phrase.Of("plan.cap-unenforced", "tenant", "silver", "cap", 25*quantity.Gbps, "predicted", 800*quantity.Mbps, "reason", phrase.Of("plan.cap-no-demand")),
		phrase.Of("plan.dcqcn-slow", "port", "host-1/P1", "others", phrase.Text{}, "step", 5, "period", 300, "settle", spent, "held", rate),
		phrase.Of("plan.each-queue-pair"),
		phrase.Of("problem.changed", "kind", "租户", "name", "gold", "have", 4, "want", 3),
		phrase.Of("event.rollout-ended", "rollout", 7, "state", "rolled-back", "result", phrase.Of("result.verified", "n", 3)),
		phrase.Of("event.rollout-ended", "rollout", 7, "state", "of-a-later-release", "result", phrase.Of("result.placement", "state", "verified")),
		phrase.Of("problem.between", "found", "x", "min", 0, "max", 63),
		phrase.Of("problem.busy", "operation", phrase.Verbatim("GET"), "max", phrase.PercentOf(0.12345, 1)),
	}
	type sentence struct {
		Said  phrase.Text       `json:"said"`
		Texts map[string]string `json:"texts"`
	}
	out := make([]sentence, 0, len(said))
	for _, s := range said {
		if !s.Known() {
			t.Errorf("the catalogue has no template for %s with these values", s.ID)
		}
		texts := map[string]string{}
		for _, lang := range catalogue.Languages() {
			c, err := Load(lang)
			if err != nil {
				t.Fatal(err)
			}
			texts[lang] = c.Say(s)
		}
		out = append(out, sentence{s, texts})
	}
	got, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, "../../web/test/sentences.golden.json", append(got, '\n'))
}
