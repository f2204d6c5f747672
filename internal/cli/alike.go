package cli

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/phrase"
)

// ToldFinding is a finding of a plan as it is printed.
type ToldFinding struct {
	Code           string
	Tenants, Links []string
	Said, Advice   phrase.Text // without advice its template is ""
}

// Alike puts findings that differ in nothing but the port or the link that they are of into one, which tells how many more there are; the
// others and the order stay. A large fabric has the same to say of hundreds of ports.
func Alike(list []ToldFinding) []ToldFinding {
	var out []ToldFinding
	first := map[string]int{} // in out, by all but the place
	more := map[int]int{}
	for _, f := range list {
		if len(f.Links) != 1 {
			out = append(out, f)
			continue
		}
		key := fmt.Sprintf("%q %q %q %q", f.Code, f.Tenants, masked(f.Said, f.Links[0]).String(), masked(f.Advice, f.Links[0]).String())
		if i, ok := first[key]; ok {
			more[i]++
			continue
		}
		first[key] = len(out)
		out = append(out, f)
	}
	for i, n := range more {
		places := morePorts
		if link := out[i].Links[0]; link != sender(link) && strings.Contains(out[i].Said.String(), link) {
			places = moreLinks
		}
		out[i].Said = phrase.Of("{} (and {})", out[i].Said, places.Of(n))
	}
	return out
}

var (
	morePorts = phrase.NewNoun(phrase.Of("1 more port"), func(n int) phrase.Text { return phrase.Of("{} more ports", n) })
	moreLinks = phrase.NewNoun(phrase.Of("1 more link"), func(n int) phrase.Text { return phrase.Of("{} more links", n) })
)

// sender is the port that sends on a link, "a/P1" of "a/P1 -> b/P2".
func sender(link string) string {
	name, _, _ := strings.Cut(link, " -> ")
	return name
}

// masked leaves the name of a port or link, or of the port that sends on it, out of what is said.
func masked(t phrase.Text, place string) phrase.Text {
	t.Values = slices.Clone(t.Values)
	for i := range t.Values {
		v := &t.Values[i]
		if v.Plain == place || v.Plain == sender(place) {
			v.Plain = "\x00"
		}
		v.Texts = slices.Clone(v.Texts)
		for k := range v.Texts {
			v.Texts[k] = masked(v.Texts[k], place)
		}
	}
	return t
}
