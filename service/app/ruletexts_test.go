package app

import (
	"slices"
	"strings"
	"testing"

	"fairlane/internal/i18n"
	"fairlane/policy"
)

func TestEveryRuleOfAReasonHasAText(t *testing.T) {
	t.Parallel()
	for _, lang := range i18n.Languages() {
		texts, err := i18n.Load(lang)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range policy.Rules() {
			if !texts.Has("rule." + r) {
				t.Errorf("%s has no words for rule %s", lang, r)
			}
		}
		for _, k := range texts.Keys() {
			if r, ok := strings.CutPrefix(k, "rule."); ok && !slices.Contains(policy.Rules(), r) {
				t.Errorf("%s has words for rule %s, which there is not", lang, r)
			}
		}
	}
}
