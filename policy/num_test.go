package policy

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLogarithmAndExponentialAgreeWithTheLibrarys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.Float64Range(-200, 200).Draw(rt, "x")
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-13*want {
			rt.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
		y := math.Exp(x)
		if got, want := ln(y), math.Log(y); math.Abs(got-want) > 1e-14*max(1, math.Abs(want)) {
			rt.Fatalf("ln(%v) = %v, want %v", y, got, want)
		}
	})
}

func TestResponseIsTheReciprocalOrTheLogarithmOfS1(t *testing.T) {
	t.Parallel()
	// BECNs of one source at Increase 1, 2, 3, in proportion to its rate: 790 : 395 : 263 free
	// running, 790 : 462 : 328 restarted; S1 reports 790 : 480 : 320.
	for _, c := range []struct {
		restart bool
		want    [3]float64
	}{{false, [3]float64{790, 395, 263}}, {true, [3]float64{790, 462, 328}}} {
		for i, want := range c.want {
			if got := 790 * response(uint8(i+1), c.restart) / response(1, c.restart); math.Abs(got-want) > 0.7 {
				t.Errorf("restart %v, increase %d: %.1f BECNs, want %.0f", c.restart, i+1, got, want)
			}
		}
	}
}

// A compiler may fuse x*y+z into one rounding on some machines and not on others. Only an explicit
// conversion of the product forbids it, so every floating-point product that an addition or
// subtraction could reach must be inside one, or inside another product, quotient or comparison.
func TestNoProductCanBeFusedIntoASum(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	if _, err := conf.Check("policy", fset, files, info); err != nil {
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
			if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.MUL && isFloat(info, b) {
				products++
				if !shielded(info, stack) {
					t.Errorf("%s: wrap the product in float64()", fset.Position(b.Pos()))
				}
			}
			stack = append(stack, n)
			return true
		})
	}
	if products < 20 {
		t.Errorf("only %d products found: the test looks in the wrong place", products)
	}
}

func isFloat(info *types.Info, e ast.Expr) bool {
	tv := info.Types[e]
	b, ok := tv.Type.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsFloat != 0 && tv.Value == nil
}

// shielded looks outward from a product to the first thing that rounds it or uses it otherwise.
func shielded(info *types.Info, stack []ast.Node) bool {
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
			return info.Types[p.Fun].IsType() // a called function may be inlined
		}
		return false
	}
	return false
}
