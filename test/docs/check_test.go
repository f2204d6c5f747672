package docs

import (
	"strings"
	"testing"

	"fairlane/subnet/check"
)

// TestThePageOfFabricsHasEveryFinding compares the table of findings with the program's.
func TestThePageOfFabricsHasEveryFinding(t *testing.T) {
	t.Parallel()
	if got := section(page(t, "docs/infiniband.md"), "Looking at the fabric"); !strings.Contains(got, check.Reference()) {
		t.Errorf("docs/infiniband.md, section Looking at the fabric, lacks this table:\n%s", check.Reference())
	}
}
