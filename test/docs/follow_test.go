package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each function in the page exists in the package that the page names.
func TestTheFunctionsNamedInFollowAWeightExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`([a-z0-9]+(?:/[a-z0-9]+)*)\\.([A-Za-z]+)`").FindAllStringSubmatch(page(t, "docs/follow-a-weight.md"), -1)
	if len(named) < 20 {
		t.Fatalf("%d functions named", len(named))
	}
	for _, m := range named {
		folder, name := m[1], m[2]
		if folder == "quantity" {
			folder = "internal/quantity"
		}
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		defined := regexp.MustCompile(`(?m)^(func (\([^)]+\) )?|type )` + name + `\b`)
		found := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || !strings.HasSuffix(f, "_test.go") && defined.Match(text)
		}
		if !found {
			t.Errorf("package %s has no %s", folder, name)
		}
	}
}
