package i18n

import (
	"regexp"
	"testing"
)

// coined are words that the field has another word for, beside that word. They do not stand in what people read.
var coined = map[string]string{
	`tells?|told`:                                "reports, returns",
	`wish(es|ed)?`:                               "requests",
	`forgets?|forgot(ten)?`:                      "deletes",
	`(brought|bring|brings|gone|goes) back`:      "restored, rolled back",
	`(hand|hands|handed) out`:                    "assigns",
	`course of chance`:                           "random seed",
	`read back equal`:                            "verified",
	`as (wanted|desired)`:                        "in sync, verified",
	`in order`:                                   "valid, in sync",
	`somebody|nobody|anybody|whoever`:            "who it is",
	`no such thing`:                              "not found",
	`looked after`:                               "supervised",
	`ways?|under way`:                            "path, interface; active",
	`beside that|none of its business`:           "also; ignored",
	`as (they|it) (were|was)|as before`:          "unchanged, at the baseline",
	`what (of it )?is chance|what it may be off`: "error contribution, uncertainty",
}

func TestTheCatalogueUsesTheWordsOfTheField(t *testing.T) {
	t.Parallel()
	value := regexp.MustCompile(`\{[^}]*\}`)
	for word, use := range coined {
		bad := regexp.MustCompile(`(?i)\b(` + word + `)\b`)
		for key, text := range load(t, "en").texts {
			if found := bad.FindString(value.ReplaceAllString(text, "")); found != "" {
				t.Errorf("%s says %q, want %s: %s", key, found, use, text)
			}
		}
	}
}
