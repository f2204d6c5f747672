package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// imports maps each package of the module to the packages of the module that it imports.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./...")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		from := strings.TrimPrefix(words[0], "fairlane/")
		for _, w := range words[1:] {
			if to, ours := strings.CutPrefix(w, "fairlane/"); ours {
				out[from] = append(out[from], to)
			}
		}
	}
	return out
}

// diagram reads the packages and the arrows of the page's mermaid flowchart.
func diagram(t *testing.T) (packages map[string]bool, arrows map[string][]string) {
	t.Helper()
	_, rest, _ := strings.Cut(page(t, "docs/architecture.md"), "```mermaid\n")
	text, _, _ := strings.Cut(rest, "```")
	ids := map[string]string{}
	packages, arrows = map[string]bool{}, map[string][]string{}
	node := regexp.MustCompile(`(\w+)\["([a-z0-9/-]+)"\]`)
	for _, m := range node.FindAllStringSubmatch(text, -1) {
		ids[m[1]], packages[m[2]] = m[2], true
	}
	for line := range strings.Lines(node.ReplaceAllString(text, "$1")) {
		from, to, ok := strings.Cut(strings.TrimSpace(line), " --> ")
		if !ok {
			continue
		}
		for id := range strings.SplitSeq(to, " & ") {
			if ids[from] == "" || ids[id] == "" {
				t.Fatalf("arrow %q: a node without a package", strings.TrimSpace(line))
			}
			arrows[ids[from]] = append(arrows[ids[from]], ids[id])
		}
	}
	return packages, arrows
}

func TestTheDiagramIsTheImports(t *testing.T) {
	t.Parallel()
	real := imports(t)
	packages, arrows := diagram(t)
	if len(packages) < 20 {
		t.Fatalf("%d packages in the diagram", len(packages))
	}
	has := func(list []string, p string) bool {
		for _, q := range list {
			if q == p {
				return true
			}
		}
		return false
	}
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		for _, next := range arrows[from] {
			if next == to || reaches(next, to) {
				return true
			}
		}
		return false
	}
	for from := range packages {
		for _, to := range arrows[from] {
			if !has(real[from], to) {
				t.Errorf("the diagram has an arrow from %s to %s, but there is no such import", from, to)
			}
		}
		for _, to := range real[from] {
			if packages[to] && !reaches(from, to) {
				t.Errorf("%s imports %s, but no way in the diagram leads there", from, to)
			}
		}
	}
}

func TestEveryTestNamedOnThePageExists(t *testing.T) {
	t.Parallel()
	defined := map[string]bool{}
	fn := regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+|Benchmark\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range fn.FindAllStringSubmatch(string(text), -1) {
			defined[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob(filepath.Join(root, "docs/decisions/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, p := range append(pages, records...) {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)[/`]").FindAllStringSubmatch(string(text), -1) {
			named++
			if !defined[m[1]] {
				t.Errorf("%s names %s, which does not exist", p, m[1])
			}
		}
	}
	if named < 20 {
		t.Fatalf("%d tests named", named)
	}
}
