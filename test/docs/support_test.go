package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheSupportMatrixNamesExistingPaths compares the versions in the table with go.mod, and checks that the named paths
// exist.
func TestTheSupportMatrixNamesExistingPaths(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/support.md")
	for _, c := range []struct{ words, mod, module string }{
		{"SQLite | by modernc.org/sqlite ", ".", "modernc.org/sqlite"},
		{"OpenID provider | zitadel/oidc ", "tools/oidcserver", "github.com/zitadel/oidc/v3"},
		{"gnmi_cli | ", "tools/gnmicli", "github.com/openconfig/gnmi"},
		{"gnmic | ", "tools/gnmic", "github.com/openconfig/gnmic"},
		{"grpcurl | ", "tools/grpcurl", "github.com/fullstorydev/grpcurl"},
	} {
		versions, _ := required(page(t, filepath.Join(c.mod, "go.mod")))
		if want := "| " + c.words + versions[c.module] + " |"; versions[c.module] == "" || !strings.Contains(text, want) {
			t.Errorf("docs/support.md lacks %q", want)
		}
	}
	release := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(page(t, "go.mod"))
	if want := "| Go | " + release[1] + " |"; !strings.Contains(text, want) {
		t.Errorf("docs/support.md lacks %q", want)
	}
	paths := regexp.MustCompile("`([a-z0-9]+/[A-Za-z0-9/._-]+)`").FindAllStringSubmatch(text, -1)
	if len(paths) < 15 {
		t.Fatalf("%d paths found", len(paths))
	}
	for _, m := range paths {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("docs/support.md names %s: %v", m[1], err)
		}
	}
}
