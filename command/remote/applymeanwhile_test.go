package remote

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/api"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
)

// Only what was shown is done: a tenant that another user creates or changes between the difference and the
// confirmation is neither deleted nor overwritten.
func TestApplyRejectsChangesMadeSinceTheDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		discovered bool
		meanwhile  tenancy.TenantInput
	}{
		{"a tenant that is new", true, tenancy.TenantInput{Name: "green", Weight: 1000}},
		{"a tenant of a fabric before its discovery", false, tenancy.TenantInput{Name: "green", Weight: 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := controltest.New(t, openStore)
			if _, err := r.Service.CreateFabric(t.Context(), control.Fabric{Name: "lab", Source: controltest.Source}); err != nil {
				t.Fatal(err)
			}
			if c.discovered {
				if _, err := r.Service.Discover(t.Context(), "lab"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.Service.CreateTenant(t.Context(), "lab", tenancy.TenantInput{Name: "old", Weight: 1000}); err != nil {
				t.Fatal(err)
			}
			h, err := api.New(r.Service, api.Options{})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/tenants") && req.URL.Query().Get("dry_run") != "true" {
					if _, err := r.Service.CreateTenant(t.Context(), "lab", c.meanwhile); err != nil {
						t.Error(err)
					}
				}
				h.ServeHTTP(w, req)
			}))
			defer server.Close()
			file := filepath.Join(t.TempDir(), "lab.yaml")
			if err := os.WriteFile(file, []byte("kind: tenant\nname: red\nfabric: lab\nspec: {weight: 1, attachments: [h1]}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"FAIRLANE_URL": server.URL, "FAIRLANE_TOKEN": controltest.Token}
			cmd, out, words := asks(env, "apply", "-f", file, "--prune", "--fabric", "lab", "--yes")
			err = cmd.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), "the change was made against") {
				t.Errorf("apply ended with %v\n%s%s", err, out, words)
			}
			if !strings.Contains(out.String(), "tenant/lab/old") || strings.Contains(out.String(), "green") {
				t.Errorf("shown was\n%s", out)
			}
			list, _, err := r.Service.ListTenants(t.Context(), "lab", control.Page{})
			if err != nil || len(list) != 2 || list[0].Name != "green" || list[1].Name != "old" {
				t.Errorf("tenants are %+v, %v; want green and old", list, err)
			}
		})
	}
}
