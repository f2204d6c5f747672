package docs

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// required returns the modules in a go.mod with their versions, and the paths of its tool lines.
func required(text string) (versions map[string]string, tools []string) {
	versions = map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:require\s+|\t)([a-zA-Z0-9./_-]+\.[a-zA-Z0-9./_-]+) (v\S+)`).FindAllStringSubmatch(text, -1) {
		versions[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:tool\s+|\t)([a-zA-Z0-9./_-]+)$`).FindAllStringSubmatch(text, -1) {
		tools = append(tools, m[1])
	}
	return versions, tools
}

// imported returns the packages that the Go files below a folder import, except in folders that are separate modules.
func imported(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != dir:
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" {
				return fs.SkipDir
			}
		case strings.HasSuffix(path, ".go"):
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, i := range f.Imports {
				found[strings.Trim(i.Path.Value, `"`)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// direct returns the modules that a folder's code or tool lines use directly, with their versions; all is its go.mod.
func direct(t *testing.T, dir string) (used, all map[string]string) {
	t.Helper()
	all, tools := required(page(t, filepath.Join(dir, "go.mod")))
	used = map[string]string{}
	take := func(path string) {
		for ; strings.Contains(path, "/"); path = path[:strings.LastIndexByte(path, '/')] {
			if v, ok := all[path]; ok {
				used[path] = v
				return
			}
		}
	}
	for path := range imported(t, filepath.Join(root, dir)) {
		take(path)
	}
	for _, path := range tools {
		take(path)
	}
	return used, all
}

// TestEveryDependencyHasARow compares the table with the go.mod files of the project and its tools, in both directions.
func TestEveryDependencyHasARow(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "tools", "*", "go.mod"))
	if err != nil || len(files) < 3 {
		t.Fatalf("go.mod files of tools are %v, %v", files, err)
	}
	dirs := []string{"."}
	for _, f := range files {
		dirs = append(dirs, filepath.Join("tools", filepath.Base(filepath.Dir(f))))
	}
	want, known := map[string]string{}, map[string][]string{}
	for _, dir := range dirs {
		used, all := direct(t, dir)
		maps.Copy(want, used)
		for module, version := range all {
			known[module] = append(known[module], version)
		}
	}
	if len(want) < 30 {
		t.Fatalf("only %d direct dependencies were found: the pattern does not fit go.mod any more", len(want))
	}
	modules, _ := tables(t)
	have := rows(t, modules)
	for _, module := range slices.Sorted(maps.Keys(want)) {
		if _, ok := have[module]; !ok {
			t.Errorf("%s %s is used and has no row", module, want[module])
		}
	}
	for module, version := range have {
		if !slices.Contains(known[module], version) {
			t.Errorf("%s has a row with version %q, go.mod says %q", module, version, known[module])
		}
	}
}

// frontEnd begins the table of the packages that pages are built from and with.
const frontEnd = "## Front end"

// tables returns the two tables of the page.
func tables(t *testing.T) (modules, packages string) {
	t.Helper()
	modules, packages, found := strings.Cut(page(t, "docs/dependencies.md"), frontEnd)
	if !found {
		t.Fatalf("the page has no section %q", frontEnd)
	}
	return modules, packages
}

// rows returns the versions of a table by name, and checks its licences and reasons.
func rows(t *testing.T, table string) map[string]string {
	t.Helper()
	have := map[string]string{}
	licences := []string{"MIT", "BSD-2", "BSD-3", "Apache-2.0", "ISC", "MPL-2.0", "GPL-3.0", "MIT, Apache-2.0", "BSD-3, MIT"}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 || strings.TrimSpace(cells[1]) == "version" {
			continue
		}
		name := strings.TrimSpace(cells[0])
		if _, twice := have[name]; twice {
			t.Errorf("%s has two rows", name)
		}
		have[name] = cells[1]
		if !slices.Contains(licences, cells[2]) {
			t.Errorf("%s: licence %q: want one of %v", name, cells[2], licences)
		}
		if len(strings.TrimSpace(cells[3])) < 10 {
			t.Errorf("%s: no reason is given", name)
		}
		if strings.HasPrefix(cells[2], "GPL") && !strings.Contains(cells[3], "never linked") {
			t.Errorf("%s is %s: want a tool that is never linked", name, cells[2])
		}
	}
	return have
}

func TestEveryPackageOfTheFrontEndHasARow(t *testing.T) {
	t.Parallel()
	var file struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal([]byte(page(t, "web/package.json")), &file); err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(file.Dependencies)
	maps.Copy(want, file.DevDependencies)
	_, packages := tables(t)
	if have := rows(t, packages); !maps.Equal(have, want) {
		t.Errorf("the table has %v, web/package.json %v", have, want)
	}
	for name, version := range want {
		if strings.Trim(version, "0123456789.") != "" {
			t.Errorf("%s %s: want one version", name, version)
		}
	}
}
