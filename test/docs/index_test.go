package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryPageIsInTheIndex looks for each page of docs in the table of the README.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index := section(page(t, "README.md"), "Documentation")
	for _, p := range pages(t) {
		if dir, name := filepath.Split(p); filepath.Base(dir) == "docs" && !strings.Contains(index, "](docs/"+name+")") {
			t.Errorf("the index of the README does not have docs/%s", name)
		}
	}
}

// TestPagesUseTheFieldsTerms looks for turns of phrase that leave open who acts, or that have a term of the field. Tables that programs print are
// theirs to word.
func TestPagesUseTheFieldsTerms(t *testing.T) {
	t.Parallel()
	loose := regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|told|tells|hands? out|handed out|brought back|brings back|turns? back|way out|ways? back|looked after|forgotten|as desired)\b`)
	printed := []string{"which nothing on a host tells", "`not-told`"} // table of the agent's settings, code of a finding
	for _, p := range pages(t) {
		name, err := filepath.Rel(root, p)
		if err != nil {
			t.Fatal(err)
		}
		if name == "CHANGELOG.md" { // what was, in the words of its time
			continue
		}
		for line := range strings.Lines(page(t, name)) {
			if found := loose.FindString(line); found != "" && !slices.ContainsFunc(printed, func(s string) bool { return strings.Contains(line, s) }) {
				t.Errorf("%s has %q: %s", name, found, strings.TrimSpace(line))
			}
		}
	}
}
