package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryCodeThatTheServiceRaisesIsAProblem collects the codes in the source: one that kinds does not know would be
// answered as a fault of the service.
func TestEveryCodeThatTheServiceRaisesIsAProblem(t *testing.T) {
	t.Parallel()
	known, found := kinds(), map[string]bool{}
	for _, dir := range []string{".", "../service/control", "../service/store", "../service/device", "../service/rollout", "../service/openid"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %d files", dir, err, len(files))
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, code := range codesIn(t, path) {
				found[code] = true
				if _, ok := known[code]; !ok {
					t.Errorf("%s raises %q, which is no problem of the API: give it a status, a title and a section of docs/problems.md", path, code)
				}
			}
		}
	}
	if len(found) < 30 {
		t.Errorf("%d codes found: the search does not see them", len(found))
	}
}

// codesIn lists the values of fields called Code or code in the composite literals of errors.
func codesIn(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || !slices.Contains([]string{"ConflictError", "UnavailableError", "problemError"}, typeName(lit.Type)) {
			return true
		}
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			name, ok := kv.Key.(*ast.Ident)
			value, isText := kv.Value.(*ast.BasicLit)
			if ok && isText && strings.EqualFold(name.Name, "code") {
				code, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes = append(codes, code)
			}
		}
		return true
	})
	return codes
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func TestEveryProblemIsOneOfAnOperation(t *testing.T) {
	t.Parallel()
	sp := parsed(t)
	documented := append(ambient(), routing()...)
	for _, o := range operationsOf(sp.doc) {
		documented = append(documented, sp.at(o.method, o.path).problems...)
		own, err := ownProblems(o.Operation)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range own {
			if slices.Contains(ambient(), c) || slices.Contains(routing(), c) {
				t.Errorf("%s lists %s, which every operation may answer", o, c)
			}
		}
	}
	unspoken := []string{"fenced"} // used between managers; an operation that encounters it still returns it
	for code := range kinds() {
		if !slices.Contains(documented, code) && !slices.Contains(unspoken, code) {
			t.Errorf("no operation says that it may answer %s", code)
		}
	}
}
