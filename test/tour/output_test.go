package tour

import (
	"regexp"
	"strings"
	"testing"
)

// volatile is what differs between runs of a command, each with its replacement: bars of charts, durations, digests,
// numbers.
var volatile = []struct {
	pattern *regexp.Regexp
	sign    string
}{
	{regexp.MustCompile(`[█▉▊▋▌▍▎▏░▒▓·|]+`), "~"},
	{regexp.MustCompile(`\b(?:\d+(?:\.\d+)?(?:h|ms|m|s|us|µs|ns))+\b`), "#"},
	{regexp.MustCompile(`\b[0-9a-f]{8,}\b`), "#"},
	{regexp.MustCompile(`\d+(?:[.,:-]\d+)*`), "#"},
}

// words removes what differs between runs from a text, and reduces white space to single blanks, since figures
// determine the width of tables.
func words(text string, exact bool) string {
	if !exact {
		for _, v := range volatile {
			text = v.pattern.ReplaceAllString(text, v.sign)
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// shows reports whether a page's sample, in which … stands for any text, matches the output of a command. Figures are
// only compared if the sample is exact. An empty sample matches everything.
func shows(sample, got string, exact bool) bool {
	if sample == "" {
		return true
	}
	var parts []string
	for part := range strings.SplitSeq(sample, "…") {
		parts = append(parts, regexp.QuoteMeta(words(part, exact)))
	}
	return regexp.MustCompile("^" + strings.Join(parts, " ?.*? ?") + "$").MatchString(words(got, exact))
}

func TestWrongSamplesAreDetected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sample, got string
		exact, want bool
	}{
		{"", "anything\n", false, true},
		{"plan e0b58a1ceffe has 20 devices in 1.5s\n", "plan 0c17bf86bca6 has 21 devices in 10.089ms\n", false, true},
		{"plan e0b58a1ceffe has 20 devices\n", "plan 0c17bf86bca6 had 21 devices\n", false, false},
		{"gold  █████|···  57.1 %\n", "gold     ██▍·|···  7.15 %\n", false, true},
		{"one\n…\nthree\n", "one\ntwo\nthree\n", false, true},
		{"one\n…\nthree\n", "one\ntwo\nfour\n", false, false},
		{"one\n", "one\ntwo\n", false, false},
		{"digest 1887b72a\n", "digest  1887b72a\n", true, true},
		{"digest 1887b72a\n", "digest 1887b72b\n", true, false},
		{"16:07:52.280  done\n", "02:01:00.001  done\n", false, true},
	} {
		if shows(c.sample, c.got, c.exact) != c.want {
			t.Errorf("%q is taken for %q: %v", c.got, c.sample, !c.want)
		}
	}
}
