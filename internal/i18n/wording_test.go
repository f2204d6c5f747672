package i18n

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// coined maps words to the field's terms. User-visible texts must use the terms.
var coined = map[string]string{
	`tells?|told`:                                "reports, returns",
	`wish(es|ed)?`:                               "requests",
	`forgets?|forgot(ten)?`:                      "deletes",
	`(brought|bring|brings|gone|goes?) back`:     "restored, rolled back",
	`(hand|hands|handed) out`:                    "assigns",
	`course of chance`:                           "random seed",
	`read back equal`:                            "verified",
	`as (wanted|desired)`:                        "in sync, verified",
	`in order`:                                   "valid, in sync",
	`somebody|nobody|anybody|whoever`:            "who it is",
	`who asks`:                                   "the caller",
	`no such thing`:                              "not found",
	`looked after`:                               "supervised",
	`ways?|under way`:                            "path, interface; active",
	`beside that|none of its business`:           "also; ignored",
	`as (they|it) (were|was)|as before`:          "unchanged, at the baseline",
	`what (of it )?is chance|what it may be off`: "error contribution, uncertainty",
}

// chineseSynonyms maps Chinese words to the term that commands, messages and pages use instead.
var chineseSynonyms = map[string]string{
	"漂移":  "偏离 (drift)",
	"回滚":  "回退 (roll back)",
	"已确认": "已核验 (verified)",
	"金丝雀": "先行 (canary)",
	"批次":  "波次 (wave)",
}

// confirmed are the keys of texts about a rollout that a person confirmed: that is not a verification.
var confirmed = []string{"event.confirmed", "msg.rollout-confirmed"}

func TestChineseTextsUseOneTermForEachThing(t *testing.T) {
	t.Parallel()
	for key, text := range load(t, "zh").texts {
		for word, use := range chineseSynonyms {
			if strings.Contains(text, word) && !(word == "已确认" && slices.Contains(confirmed, key)) {
				t.Errorf("%s says %s, want %s: %s", key, word, use, text)
			}
		}
	}
}

func TestTextsUseTheWordsOfTheField(t *testing.T) {
	t.Parallel()
	texts := contractProse(t)
	if len(texts) < 300 {
		t.Fatalf("the contract has %d texts: the test is no test", len(texts))
	}
	for key, text := range load(t, "en").texts {
		texts[key] = text
	}
	value := regexp.MustCompile(`\{[^}]*\}`)
	for word, use := range coined {
		bad := regexp.MustCompile(`(?i)\b(` + word + `)\b`)
		for key, text := range texts {
			if found := bad.FindString(value.ReplaceAllString(text, "")); found != "" {
				t.Errorf("%s says %q, want %s: %s", key, found, use, text)
			}
		}
	}
}

// contractProse returns the summaries and descriptions in the API contract by their path.
func contractProse(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var contract any
	if err := yaml.Unmarshal(b, &contract); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	var walk func(at string, x any)
	walk = func(at string, x any) {
		switch x := x.(type) {
		case []any:
			for _, y := range x {
				walk(at, y)
			}
		case map[string]any:
			for name, y := range x {
				if text, ok := y.(string); ok && (name == "description" || name == "summary") {
					texts[at+"/"+name] += text + "\n"
				}
				if name != "example" && name != "examples" {
					walk(at+"/"+name, y)
				}
			}
		}
	}
	walk("contract", contract)
	return texts
}
