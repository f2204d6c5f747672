package osmfile

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestEveryCodeHasARowInTheDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/infiniband.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Codes() {
		if !strings.Contains(string(page), "\n| `"+string(c)+"` | ") {
			t.Errorf("docs/infiniband.md lacks a row for %s", c)
		}
		if got, err := ParseCode(string(c)); got != c || err != nil {
			t.Errorf("%s reads as %s, %v", c, got, err)
		}
	}
	if n := strings.Count(string(source), " Code = "); n != len(Codes()) {
		t.Errorf("%d codes are declared and %d listed", n, len(Codes()))
	}
	if !slices.IsSorted(Codes()) {
		t.Errorf("not in order: %s", Codes())
	}
	if _, err := ParseCode("all"); err == nil || !strings.Contains(err.Error(), `code "all": want one of congestion-control-on, edited-by-hand, `) {
		t.Errorf("error %v", err)
	}
}
