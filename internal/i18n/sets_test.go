package i18n

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/i18n/catalogue"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// asTyped are the types, sentences and values that sentences state as they are, since people type them so.
var asTyped = []string{
	"fairlane/subnet.Plane",                    // --plane ib
	"fairlane/subnet/inventory.Protocol",       // protocol: sonic
	"fairlane/subnet/opensm/osmfile.Code",      // codes of problems, as docs and --force list them
	"fairlane/ccconfig/structure.Guard",        // --guard 2026
	"fairlane/ccconfig/prereq.ID",              // names of prerequisites, as the pages of docs list them
	"problem.scope-missing",                    // scope tenant:write of a token
	"tenants.role-narrow", "tenants.role-wide", // --role
	"problem.role-global", "problem.role-fabric", // --role
	"found", "want", "first", "second", "last", // what an error found, and what is allowed
}

// TestEveryValueOfAFixedSetHasAWord checks the sentences that have a value of a type with declared constants, such as a
// rollout's state: the template takes the word of the value from a set, and the set has a word for every constant.
func TestEveryValueOfAFixedSetHasAWord(t *testing.T) {
	t.Parallel()
	en := load(t, Default)
	kinds := map[string]bool{}
	for _, s := range setValues(t) {
		if slices.Contains(asTyped, s.typeName) || slices.Contains(asTyped, s.id) || slices.Contains(asTyped, s.param) {
			continue
		}
		set := catalogue.Sets(en.texts[s.id])[s.param]
		if set == "" {
			t.Errorf("%s: %s of %s is a %s (%s): want {%s@SET} in the template", s.at, s.param, s.id, s.typeName, strings.Join(s.constants, ", "), s.param)
			continue
		}
		kinds[s.typeName] = true
		for _, value := range s.constants {
			if value != "" && !en.Has(catalogue.Word(set, value)) {
				t.Errorf("%s: %s of %s may be %q of %s: want a text %s", s.at, s.param, s.id, value, s.typeName, catalogue.Word(set, value))
			}
		}
	}
	if len(kinds) < 5 {
		t.Errorf("found %d types of fixed sets: the test is no test", len(kinds))
	}
}

// TestEveryWordIsThatOfAValue checks that templates name sets that exist, and that a set has the values of the contract.
func TestEveryWordIsThatOfAValue(t *testing.T) {
	t.Parallel()
	en := load(t, Default)
	sets := map[string][]string{}
	for _, key := range en.Keys() {
		if set, value, ok := strings.Cut(strings.TrimPrefix(key, "word."), "."); ok && strings.HasPrefix(key, "word.") {
			sets[set] = append(sets[set], value)
		}
	}
	for _, lang := range Languages() {
		c := load(t, lang)
		for _, key := range c.Keys() {
			named := catalogue.Sets(c.texts[key])
			if d := cmp.Diff(catalogue.Sets(en.texts[key]), named); d != "" {
				t.Errorf("%s of %s takes words from other sets than in %s:\n%s", key, lang, Default, d)
			}
			for _, set := range named {
				if sets[set] == nil {
					t.Errorf("%s of %s: no text begins with word.%s", key, lang, set)
				}
			}
		}
	}
	for schema, set := range map[string]string{"RolloutState": "rollout", "RolloutPhase": "phase", "RolloutWish": "request", "TaskState": "task", "Stage": "stage", "Role": "role"} {
		want := slices.Sorted(slices.Values(contractEnum(t, schema)))
		if d := cmp.Diff(want, sets[set]); d != "" || len(want) == 0 {
			t.Errorf("words of the set %s are not those of %s in the contract:\n%s", set, schema, d)
		}
	}
}

// contractEnum returns the values of a schema of the API contract.
func contractEnum(t *testing.T, schema string) []string {
	t.Helper()
	b, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var contract struct {
		Components struct {
			Schemas map[string]struct {
				Enum []string `yaml:"enum"`
			} `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(b, &contract); err != nil {
		t.Fatal(err)
	}
	return contract.Components.Schemas[schema].Enum
}

// setValue is a value of a type with constants in a call of phrase.Of.
type setValue struct {
	at        string // file and line
	id, param string
	typeName  string   // "fairlane/service/control.RolloutState"
	constants []string // values, sorted
}

// setValues finds the values of types with constants in all sentences of the program.
func setValues(t *testing.T) []setValue {
	t.Helper()
	exports := map[string]string{} // export data of a package
	folders := map[string]string{}
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .Imports \" \"}}", "./...")
	list.Dir = filepath.Join("..", "..")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[f[0]] = f[1]
		if strings.HasPrefix(f[0], "fairlane/") && slices.Contains(strings.Fields(f[3]), "fairlane/internal/phrase") {
			folders[f[0]] = f[2]
		}
	}
	fset := token.NewFileSet()
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		b, err := os.ReadFile(exports[path])
		return io.NopCloser(bytes.NewReader(b)), err
	})
	var found []setValue
	for path, dir := range folders {
		found = append(found, setValuesOf(t, fset, compiled, path, dir)...)
	}
	return found
}

// setValuesOf finds those in one package.
func setValuesOf(t *testing.T, fset *token.FileSet, compiled types.Importer, path, dir string) (found []setValue) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: compiled, Error: func(error) {}} // files of other systems declare names twice
	_, _ = conf.Check(path, fset, files, info)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !named(call.Fun, file, "Of") || len(call.Args) == 0 {
				return true
			}
			for i := 1; i+1 < len(call.Args); i += 2 {
				if name, constants := setOf(info, call.Args[i+1]); len(constants) > 1 {
					found = append(found, setValue{fset.Position(call.Pos()).String(), literal(call.Args[0]), literal(call.Args[i]), name, constants})
				}
			}
			return true
		})
	}
	return found
}

// setOf returns the type of a value, before its conversion to a string, and the values of the type's constants.
func setOf(info *types.Info, x ast.Expr) (name string, constants []string) {
	if call, ok := x.(*ast.CallExpr); ok && len(call.Args) == 1 && info.Types[call.Fun].IsType() {
		x = call.Args[0]
	}
	typ, ok := types.Unalias(info.Types[x].Type).(*types.Named)
	if !ok || typ.Obj().Pkg() == nil || !strings.HasPrefix(typ.Obj().Pkg().Path(), "fairlane/") {
		return "", nil
	}
	scope := typ.Obj().Pkg().Scope()
	for _, n := range scope.Names() {
		c, ok := scope.Lookup(n).(*types.Const)
		if ok && types.Identical(c.Type(), typ) && c.Val().Kind() == constant.String {
			constants = append(constants, constant.StringVal(c.Val()))
		}
	}
	slices.Sort(constants)
	return typ.Obj().Pkg().Path() + "." + typ.Obj().Name(), constants
}
