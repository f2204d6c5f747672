package config

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
)

// CCLayout is one entry of cc_layouts: InfiniBand devices whose layout of congestion control attributes differs from
// the annex of the standard.
type CCLayout struct {
	Pattern  string // for path.Match on node names
	Switches []string
}

// CCLayoutSwitches lists the switches of a layout; docs/infiniband.md describes each.
func CCLayoutSwitches() []string { return []string{"libibmad-log", "wide-ports", "packed-ca"} }

// ParseCCLayout parses an entry of cc_layouts, such as "old-*=packed-ca+libibmad-log".
func ParseCCLayout(s string) (CCLayout, error) {
	pattern, list, ok := strings.Cut(s, "=")
	l := CCLayout{Pattern: strings.TrimSpace(pattern)}
	if _, err := path.Match(l.Pattern, ""); !ok || l.Pattern == "" || err != nil {
		return CCLayout{}, found(strconv.Quote(s), phrase.Of("config.want-layout"))
	}
	for word := range strings.SplitSeq(list, "+") {
		word = strings.TrimSpace(word)
		if !slices.Contains(CCLayoutSwitches(), word) {
			return CCLayout{}, fault(phrase.Of("config.layout", "found", strconv.Quote(word), "want", CCLayoutSwitches()))
		}
		l.Switches = append(l.Switches, word)
	}
	return l, nil
}

func isCCLayout(s string) error {
	_, err := ParseCCLayout(s)
	return err
}
