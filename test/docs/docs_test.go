// Package docs tests that the pages of docs agree with the code.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// constants lists the string constants of a file whose names begin with a prefix.
func constants(t *testing.T, path, prefix string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
		return true
	})
	if len(out) == 0 {
		t.Fatalf("%s: no string constants that begin with %s", path, prefix)
	}
	slices.Sort(out)
	return out
}

func TestThePageOfTheCompilerHasEveryFindingAndNoOther(t *testing.T) {
	t.Parallel()
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| ").FindAllStringSubmatch(section(page(t, "docs/compiler.md"), "Findings"), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	if want := constants(t, "policy/plan/findings.go", "Code"); !slices.Equal(got, want) {
		t.Errorf("docs/compiler.md has the findings\n%q, the code has\n%q", got, want)
	}
}

func TestThePageOfTheServiceHasEveryDeviceState(t *testing.T) {
	t.Parallel()
	text := section(page(t, "docs/service.md"), "What a rollout does")
	// The names of the states share no prefix: they are the first block of the file.
	for _, s := range []string{"unknown", "in-sync", "pending", "applying", "verifying", "drifted", "failed", "rolled-back", "unsupported"} {
		if !strings.Contains(text, "| `"+s+"` |") {
			t.Errorf("docs/service.md does not explain the device state %q", s)
		}
	}
	for _, s := range constants(t, "service/control/types.go", "Rollout") {
		if !strings.Contains(text, "`"+s+"`") {
			t.Errorf("docs/service.md does not explain the rollout state %q", s)
		}
	}
}

// section returns the text below a heading of the second level.
func section(text, heading string) string {
	_, rest, _ := strings.Cut(text, "\n## "+heading+"\n")
	out, _, _ := strings.Cut(rest, "\n## ")
	return out
}

// pages lists the pages of the repository by path.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	if len(out) < 10 {
		t.Fatalf("%d pages found", len(out))
	}
	return out
}

var (
	fenced    = regexp.MustCompile("(?s)```.*?```")
	pageTitle = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notOfSlug = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// anchors returns the link targets in a page: its headings, as GitHub and the service render them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range pageTitle.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		out[strings.ReplaceAll(notOfSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), ""), " ", "-")] = true
	}
	return out
}

// TestLinksHaveTargets checks that every relative link leads to an existing file, and to an existing heading in it.
func TestLinksHaveTargets(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	named := 0
	for _, p := range pages(t) {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			target := p
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(p), m[1])
			}
			if m[2] == "" {
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s: link to %s: %v", p, m[1], err)
				}
				continue
			}
			named++
			there, err := os.ReadFile(target)
			if err != nil || !anchors(string(there))[m[2]] {
				t.Errorf("%s: link to %s#%s: no such heading, or %v", p, m[1], m[2], err)
			}
		}
	}
	if named < 50 {
		t.Fatalf("%d links to headings found", named)
	}
}

// TestTheTwoReadmesHaveTheSameStructure compares the headings, commands and links of the English and the Chinese README,
// since a change may miss one of them.
func TestTheTwoReadmesHaveTheSameStructure(t *testing.T) {
	t.Parallel()
	shape := func(path string) []string {
		var out []string
		for line := range strings.Lines(page(t, path)) {
			switch {
			case strings.HasPrefix(line, "#"):
				level, _, _ := strings.Cut(line, " ")
				out = append(out, level)
			case strings.HasPrefix(line, "    ") && !strings.HasPrefix(strings.TrimSpace(line), "#"):
				command, _, _ := strings.Cut(strings.TrimSpace(line), " #")
				out = append(out, strings.TrimSpace(command))
			case strings.HasPrefix(line, "* "):
				out = append(out, "*")
			}
			for _, m := range regexp.MustCompile(`\]\((docs/[^)]*|api/[^)]*)\)`).FindAllStringSubmatch(line, -1) {
				out = append(out, m[1])
			}
		}
		return out
	}
	en, zh := shape("README.md"), shape("README.zh.md")
	for i := range max(len(en), len(zh)) {
		if i >= len(en) || i >= len(zh) || en[i] != zh[i] {
			t.Fatalf("part %d differs:\nREADME.md    %q\nREADME.zh.md %q", i, en[min(i, len(en)):min(i+3, len(en))], zh[min(i, len(zh)):min(i+3, len(zh))])
		}
	}
}

func TestTheTableOfPackagesIsComplete(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/architecture.md")
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal/archtest/rules_test.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "rules" {
			return true
		}
		for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
			pkg, err := strconv.Unquote(e.(*ast.CompositeLit).Elts[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			if !strings.Contains(text, "`"+pkg+"`") {
				t.Errorf("docs/architecture.md does not name the package %s", pkg)
			}
		}
		return false
	})
	if seen < 20 {
		t.Fatalf("%d rules found", seen)
	}
}
