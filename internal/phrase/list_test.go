package phrase

import (
	"strings"
	"testing"
)

func TestListsHaveTheFirstAndCountTheRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names   string
		n, most int
		want    string
	}{
		{"", 0, 3, ""},
		{"a", 1, 3, "a"},
		{"a b c", 3, 3, "a, b, c"},
		{"a b c d", 4, 3, "a, b, c and 1 more"},
		{"a b", 9, 3, "a, b and 7 more"},
	} {
		names := strings.Fields(c.names)
		if got := Names(names, c.n, c.most).String(); got != c.want {
			t.Errorf("names %q of %d: %q, want %q", names, c.n, got, c.want)
		}
		var things Commas
		for _, n := range names {
			things = append(things, Verbatim(n))
		}
		if got := First(things, c.n, c.most).String(); got != c.want {
			t.Errorf("things %q of %d: %q, want %q", names, c.n, got, c.want)
		}
	}
	if got := First(Commas{Of("plan.sl-pinned"), Verbatim("b"), Verbatim("c")}, 3, 2).In(dutch); got != "zo gewild en b and 1 more" {
		t.Errorf("in another language: %q", got)
	}
}
