package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// diagram returns the boxes and the solid and dotted arrows of the page's n-th mermaid flowchart, from 0.
func diagram(t *testing.T, n int) (boxes map[string]bool, arrows, dotted map[string][]string) {
	t.Helper()
	texts := strings.Split(page(t, "docs/architecture.md"), "```mermaid\n")[1:]
	if n >= len(texts) {
		t.Fatalf("the page has %d diagrams", len(texts))
	}
	text, _, _ := strings.Cut(texts[n], "```")
	ids := map[string]string{}
	boxes, arrows, dotted = map[string]bool{}, map[string][]string{}, map[string][]string{}
	node := regexp.MustCompile(`(\w+)\["([a-z0-9/-]+)"\]`)
	for _, m := range node.FindAllStringSubmatch(text, -1) {
		ids[m[1]], boxes[m[2]] = m[2], true
	}
	for line := range strings.Lines(node.ReplaceAllString(text, "$1")) {
		kind := arrows
		from, to, ok := strings.Cut(strings.TrimSpace(line), " --> ")
		if !ok {
			kind = dotted
			if from, to, ok = strings.Cut(strings.TrimSpace(line), " -.-> "); !ok {
				continue
			}
		}
		for id := range strings.SplitSeq(to, " & ") {
			if ids[from] == "" || ids[id] == "" {
				t.Fatalf("arrow %q: a node without a package", strings.TrimSpace(line))
			}
			kind[ids[from]] = append(kind[ids[from]], ids[id])
		}
	}
	return boxes, arrows, dotted
}

// reaches reports whether arrows lead from one box to another.
func reaches(arrows map[string][]string, from, to string) bool {
	return slices.ContainsFunc(arrows[from], func(next string) bool { return next == to || reaches(arrows, next, to) })
}

// room returns the diagram's box of a package: its top folder, except for the wiring.
func room(pkg string) string {
	if pkg == "service/app" {
		return pkg
	}
	top, _, _ := strings.Cut(pkg, "/")
	return top
}

func TestTheDiagramShowsTheFoldersAndTheirImports(t *testing.T) {
	t.Parallel()
	boxes, arrows, dotted := diagram(t, 0)
	real := map[string][]string{}
	for from, list := range imports(t) {
		for _, to := range list {
			if room(from) != room(to) && !slices.Contains(real[room(from)], room(to)) {
				real[room(from)] = append(real[room(from)], room(to))
			}
		}
	}
	for from := range real {
		if !boxes[from] && from != "test" && from != "docs" && from != "migrations" {
			t.Errorf("the folder %s is no box of the diagram", from)
		}
	}
	sameArrows(t, boxes, arrows, dotted, real)
}

// sameArrows compares the arrows of a diagram with the actual imports of its boxes. Imports implied by other arrows may
// be omitted.
func sameArrows(t *testing.T, boxes map[string]bool, arrows, dotted, real map[string][]string) {
	t.Helper()
	for from := range boxes {
		if reaches(arrows, from, from) {
			t.Errorf("the solid arrows lead from %s back to it", from)
		}
		for _, to := range append(arrows[from], dotted[from]...) {
			if !slices.Contains(real[from], to) {
				t.Errorf("the diagram has an arrow from %s to %s, but there is no such import", from, to)
			}
		}
		for _, to := range real[from] {
			if boxes[to] && !reaches(arrows, from, to) && !slices.Contains(dotted[from], to) {
				t.Errorf("%s imports %s, but no path in the diagram leads there", from, to)
			}
		}
	}
}

// The boxes of the second and the third diagram are the packages of a folder.
func TestTheDiagramsOfFoldersAreTheImportsOfTheirPackages(t *testing.T) {
	t.Parallel()
	real := imports(t)
	for n, folder := range []string{"policy", "service/control"} {
		boxes, arrows, dotted := diagram(t, n+1)
		for pkg := range real {
			inside := pkg == folder || strings.HasPrefix(pkg, folder+"/")
			if inside && !boxes[pkg] && !strings.HasSuffix(pkg, "test") {
				t.Errorf("the diagram of %s has no box for %s", folder, pkg)
			}
		}
		sameArrows(t, boxes, arrows, dotted, real)
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
