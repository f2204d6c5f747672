package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// CheckLanguage rejects a language without a catalogue, from --lang or else from FAIRLANE_LANG.
func CheckLanguage(asked string, getenv func(string) string) error {
	want := strings.Join(i18n.Languages(), " or ")
	if asked != "" && !slices.Contains(i18n.Languages(), asked) {
		return usage.Of(phrase.Of("usage.language", "found", fmt.Sprintf("%q", asked), "want", want))
	}
	if of := getenv("FAIRLANE_LANG"); asked == "" && of != "" && !i18n.Known(of) {
		return usage.Of(phrase.Of("usage.language-variable", "found", fmt.Sprintf("%q", of), "want", want))
	}
	return nil
}
