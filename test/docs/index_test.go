package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryPageIsInTheIndex searches the table of the README for each page of docs.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index := section(page(t, "README.md"), "Documentation")
	for _, p := range pages(t) {
		if dir, name := filepath.Split(p); filepath.Base(dir) == "docs" && !strings.Contains(index, "](docs/"+name+")") {
			t.Errorf("the index of the README does not have docs/%s", name)
		}
	}
}

// TestPagesUseTheFieldsTerms searches for phrases that hide who acts, or for which the field has a term. It ignores
// tables that programs print.
func TestPagesUseTheFieldsTerms(t *testing.T) {
	t.Parallel()
	loose := regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|told|tells|hands? out|handed out|brought back|brings back|turns? back|way out|ways? back|looked after|forgotten|as desired)\b`)
	printed := []string{"`not-told`"} // code of a finding
	for _, p := range pages(t) {
		name, err := filepath.Rel(root, p)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(page(t, name)) {
			if found := loose.FindString(line); found != "" && !slices.ContainsFunc(printed, func(s string) bool { return strings.Contains(line, s) }) {
				t.Errorf("%s has %q: %s", name, found, strings.TrimSpace(line))
			}
		}
	}
}
