// Package archtest tests the import rules. Its failures give the reason of the rule.
package archtest

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "fairlane/"

type goPackage struct {
	Name       string
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=Name,ImportPath,Dir,GoFiles,Imports", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		all = append(all, p)
	}
}

// matches reports whether pkg is pattern or, if pattern ends in "/...", lies below it.
func matches(pkg, pattern string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(pkg, tree+"/")
	}
	return pattern == "*" || pkg == pattern
}

func TestImportsPointInwards(t *testing.T) {
	t.Parallel()
	words := []string{"internal/quantity", "internal/stats", "internal/fieldwise", "subnet/ident"}
	for _, p := range packages(t) {
		i := slices.IndexFunc(rules, func(r rule) bool { return matches(p.ImportPath, r.pkg) })
		if i < 0 {
			t.Errorf("package %s has no rule: give it a line in internal/archtest and docs/architecture.md", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			imp, ours := strings.CutPrefix(imp, module)
			if !ours || slices.Contains(words, imp) {
				continue
			}
			if !slices.ContainsFunc(rules[i].may, func(m string) bool { return matches(imp, m) }) {
				t.Errorf("%s imports %s: %s", p.ImportPath, imp, rules[i].reason)
			}
		}
	}
}

func TestLibrariesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for lib, o := range only {
				if strings.HasPrefix(imp, lib) && !slices.Contains(o.in, p.ImportPath) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imp, o.reason)
				}
			}
		}
	}
}

// forbidden maps the names that a pure package may not use to the reason.
var forbidden = map[string]string{
	"time.Now":   "a pure package has no clock",
	"time.Since": "a pure package has no clock",
	"time.Sleep": "a pure package has no clock",
}

func TestPurePackagesArePure(t *testing.T) {
	t.Parallel()
	impure := []string{"os", "net", "net/http", "log", "log/slog", "math/rand", "os/exec", "database/sql"}
	for _, p := range packages(t) {
		if !slices.Contains(pure, p.ImportPath) {
			continue
		}
		for _, imp := range p.Imports {
			if slices.Contains(impure, imp) {
				t.Errorf("%s imports %s: a pure package has no I/O, no logs, and randomness only from a seed", p.ImportPath, imp)
			}
		}
		eachSelector(t, p, func(pos token.Position, sel string) {
			if why, bad := forbidden[sel]; bad {
				t.Errorf("%s uses %s: %s", pos, sel, why)
			}
		})
	}
}

func TestOnlyMainExits(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.Name == "main" {
			continue
		}
		eachSelector(t, p, func(pos token.Position, sel string) {
			if sel == "os.Exit" || strings.HasPrefix(sel, "log.Fatal") {
				t.Errorf("%s uses %s: return an error, main decides the exit code", pos, sel)
			}
		})
	}
}

// eachSelector calls f for every package-qualified name in the package's files.
func eachSelector(t *testing.T, p goPackage, f func(token.Position, string)) {
	t.Helper()
	fset := token.NewFileSet()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok {
					f(fset.Position(s.Pos()), x.Name+"."+s.Sel.Name)
				}
			}
			return true
		})
	}
}
