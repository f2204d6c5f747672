package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryRuleIsOnTheList reads the sources: the rule of a reason is one of the constants, and all of these are listed once.
func TestEveryRuleIsOnTheList(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				key, ok := n.Key.(*ast.Ident)
				if text, plain := n.Value.(*ast.BasicLit); ok && plain && (key.Name == "Rule" || key.Name == "rule") {
					t.Errorf("%s: rule %s is no constant", f, text.Value)
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if f == "rules.go" && strings.HasPrefix(name.Name, "Rule") {
						named = append(named, textOf(n.Values[i]))
					}
				}
			}
			return true
		})
	}
	listed := Rules()
	slices.Sort(listed)
	slices.Sort(named)
	if len(named) < 30 || !slices.Equal(listed, named) || len(slices.Compact(listed)) != len(named) {
		t.Errorf("listed %q, named %q", listed, named)
	}
}

// textOf is the text of a constant: a literal, or "cct-" and a law.
func textOf(e ast.Expr) string {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		law := CCTGeometric
		if sum.Y.(*ast.CallExpr).Args[0].(*ast.Ident).Name == "CCTQuadratic" {
			law = CCTQuadratic
		}
		return textOf(sum.X) + string(law)
	}
	text, _ := strconv.Unquote(e.(*ast.BasicLit).Value)
	return text
}
