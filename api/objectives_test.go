package api

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/api/gen"
)

var stamped = regexp.MustCompile(`2\d\d\d-\d\d-\d\dT[0-9:.]+Z`)

// TestObjectivesOfTenantsAndOfAFabric sets, shows and removes objectives. A tenant sees its own, and may not change it.
func TestObjectivesOfTenantsAndOfAFabric(t *testing.T) {
	t.Parallel()
	r := managed(t)
	red := (&rightsRig{rig: r}).person("viewer", "tenant-viewer@lab/red")
	const root = "/fabrics/lab/objectives"
	list := func(want string) {
		t.Helper()
		if d := cmp.Diff(want, strings.TrimSpace(stamped.ReplaceAllString(string(r.call("GET", root, "").want(200).body), "AT"))); d != "" {
			t.Error(d)
		}
	}
	const builtIn = `{"bound":0.95,"source":"built-in","target":0.99`
	list(`{"default":` + builtIn + `},"items":[` + builtIn + `,"tenant":"blue"},` + builtIn + `,"tenant":"red"}]}`)
	r.call("PUT", root, `{"target":0.9}`).want(200)
	r.call("PUT", root+"/red", `{"bound":0.8}`).want(200)
	r.call("PUT", root+"/red?dry_run=true", `{"bound":0.1}`).want(200)
	const standard = `{"bound":0.95,"source":"fabric","target":0.9`
	list(`{"default":` + standard + `,"updated_at":"AT"},"items":[` + standard + `,"tenant":"blue","updated_at":"AT"},{"bound":0.8,"source":"tenant","target":0.9,"tenant":"red","updated_at":"AT"}]}`)
	r.call("PUT", root+"/purple", `{"bound":0.8}`).want(404, "not-found")
	for _, bad := range []string{`{"bound":0}`, `{"bound":1.1}`, `{"target":1}`, `{"target":0.1}`, `{"budget":1}`} {
		r.call("PUT", root+"/red", bad).want(422, "invalid")
	}
	admin := r.token
	r.token = red
	list(`{"default":` + standard + `,"updated_at":"AT"},"items":[{"bound":0.8,"source":"tenant","target":0.9,"tenant":"red","updated_at":"AT"}]}`)
	r.call("PUT", root+"/red", `{"bound":0.1}`).want(403, "forbidden")
	r.token = admin
	r.call("DELETE", root+"/red", "").want(204)
	r.call("DELETE", root+"/red", "").want(404, "not-found")
	r.call("DELETE", root, "").want(204)
	list(`{"default":` + builtIn + `},"items":[` + builtIn + `,"tenant":"blue"},` + builtIn + `,"tenant":"red"}]}`)
	log := string(r.call("GET", "/audit?action=tenant.objective", "").want(200).body)
	for _, want := range []string{`"after":{"bound":0.8,"target":0.9}`, "objective of red: in 90 % of the contended seconds at least 80 % of what it may have", "objective of red removed: the default applies"} {
		if !strings.Contains(log, want) {
			t.Errorf("the audit log lacks %s: %s", want, log)
		}
	}
	if log := string(r.call("GET", "/audit?action=fabric.objective", "").want(200).body); strings.Count(log, `"action":"fabric.objective"`) != 2 {
		t.Errorf("audit log of the fabric: %s", log)
	}
}

// objectives walks the operations on objectives.
func (r *rig) objectives() {
	r.t.Helper()
	const root = "/fabrics/lab/objectives"
	r.call("PUT", root, `{"bound":0.9}`).want(200)
	r.call("PUT", root+"/red", `{"target":0.999}`).want(200)
	page := decode[gen.ObjectiveList](r.call("GET", root+"?limit=1", "").want(200))
	if len(page.Items) != 1 || *page.Items[0].Tenant != "blue" || page.Items[0].Bound != 0.9 || page.Default.Bound != 0.9 || page.NextCursor == nil {
		r.t.Errorf("first page: %+v", page)
	}
	r.call("DELETE", root+"/red", "").want(204)
	r.call("DELETE", root, "").want(204)
}
