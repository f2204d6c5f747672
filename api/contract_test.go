package api

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

func TestProblemCodesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, known []string
	for line := range strings.Lines(string(page)) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			documented = append(documented, strings.TrimSpace(h))
		}
	}
	for code, k := range kinds() {
		known = append(known, code)
		if http.StatusText(k.status) == "" || k.title.String() == "" || !k.title.Known() {
			t.Errorf("code %s has status %d and title %q", code, k.status, k.title)
		}
	}
	slices.Sort(known)
	slices.Sort(documented)
	if d := cmp.Diff(known, documented); d != "" {
		t.Errorf("codes (-) and headings of docs/problems.md (+) differ:\n%s", d)
	}
}

func TestGeneratedCodeIsUpToDate(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "api.gen.go")
	config, err := os.ReadFile("gen/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(elsewhere, bytes.Replace(config, []byte("output: api.gen.go"), []byte("output: "+out), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", "oapi-codegen", "-config", elsewhere, "../openapi.yaml")
	cmd.Dir = "gen"
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("gen/api.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Error("api/gen/api.gen.go is not what openapi.yaml gives: run go generate ./api")
	}
}

// TestTheContractUsesVocabularyOf30 restricts the contract to what the request validator supports.
func TestTheContractUsesVocabularyOf30(t *testing.T) {
	t.Parallel()
	sp := parsed(t)
	for name, ref := range sp.doc.Components.Schemas {
		err := ref.WalkSubtree(func(path string, s *openapi3.SchemaRef) error {
			v := s.Value
			if v.Type != nil && len(*v.Type) > 1 || v.Const != nil || v.PrefixItems != nil || v.If != nil || v.ExclusiveMin.Value != nil || v.ExclusiveMax.Value != nil {
				t.Errorf("schema %s uses a keyword of 3.1 at %s", name, path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if !strings.HasPrefix(sp.doc.OpenAPI, "3.1") {
		t.Errorf("contract is OpenAPI %s", sp.doc.OpenAPI)
	}
	if !bytes.Equal(Contract(), contract) {
		t.Error("Contract gives another document")
	}
}
