// Package fusetest checks in tests that a package computes the same floating-point numbers on every machine.
package fusetest

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Check fails if the package in the working directory has a product that a compiler may fuse into a sum. A compiler may
// round x*y+z once on some machines and twice on others, also across statements; only an explicit conversion of the
// product prevents it. So every floating-point product must be inside a conversion, another product, a quotient or a
// comparison, and *= is not allowed. Check also fails for fewer than least products, which means that it searches the
// wrong place. name is the package's name for messages.
func Check(t testing.TB, name string, least int) {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, file := range names {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if err := findRoot(); err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	if _, err := conf.Check(name, fset, files, info); err != nil {
		t.Fatal(err)
	}
	products := 0
	for _, f := range files {
		var stack []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.MUL && isFloat(info, n) {
					products++
					if !rounded(info, stack) {
						t.Errorf("%s: wrap the product in float64()", fset.Position(n.Pos()))
					}
				}
			case *ast.AssignStmt:
				if n.Tok == token.MUL_ASSIGN && isFloat(info, n.Lhs[0]) {
					t.Errorf("%s: write the product out, in float64()", fset.Position(n.Pos()))
				}
			}
			stack = append(stack, n)
			return true
		})
	}
	if products < least {
		t.Errorf("only %d products found: the test looks in the wrong place", products)
	}
}

// findRoot gives the importer the path of the standard library's sources, which a binary built with -trimpath does not
// know.
var findRoot = sync.OnceValue(func() error {
	if build.Default.GOROOT != "" {
		return nil
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	build.Default.GOROOT = strings.TrimSpace(string(out))
	return err
})

func isFloat(info *types.Info, e ast.Expr) bool {
	tv := info.Types[e]
	b, ok := tv.Type.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsFloat != 0 && tv.Value == nil
}

// rounded searches outward from a product for the first expression that rounds it or uses it otherwise.
func rounded(info *types.Info, stack []ast.Node) bool {
	for i := len(stack) - 1; i >= 0; i-- {
		switch p := stack[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.BinaryExpr:
			switch p.Op {
			case token.ADD, token.SUB:
				return false
			case token.MUL:
				continue
			}
			return true
		case *ast.CallExpr:
			return info.Types[p.Fun].IsType()
		}
		return false
	}
	return false
}
