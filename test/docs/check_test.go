package docs

import (
	"slices"
	"strings"
	"testing"

	"fairlane/subnet/check"
)

// TestThePageOfFabricsHasEveryFinding compares the codes of each severity with the program's.
func TestThePageOfFabricsHasEveryFinding(t *testing.T) {
	t.Parallel()
	want := map[string][]string{}
	for line := range strings.Lines(check.Reference()) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `") && len(cells) == 3 {
			want[cells[1]] = append(want[cells[1]], strings.TrimPrefix(cells[0], "| "))
		}
	}
	if len(want) != 3 {
		t.Fatalf("%d severities found", len(want))
	}
	text := section(page(t, "docs/infiniband.md"), "Discovering and checking a fabric")
	for severity, codes := range want {
		slices.Sort(codes)
		if row := "\n| " + severity + " | " + strings.Join(codes, ", ") + " |\n"; !strings.Contains(text, row) {
			t.Errorf("docs/infiniband.md, section Discovering and checking a fabric, lacks this row:%s", row)
		}
	}
}
