package api

import (
	"testing"

	"fairlane/api/gen"
	"fairlane/policy"
	"fairlane/service/control"
)

func TestApplyIsRefusedAfterChangesSinceTheDryRun(t *testing.T) {
	t.Parallel()
	r := managed(t)
	const path, set = "/fabrics/lab/tenants?prune=true", `{"tenants":[{"name":"red","weight":2,"pkey":"0x8001","attachments":[{"port":"h1"},{"port":"h4"}]}],"flows":[]}`
	dry := r.call("PUT", path+"&dry_run=true", set).want(200)
	seen := dry.header.Get("ETag")
	if got := r.call("PUT", "/fabrics/lab/tenants?dry_run=true", `{"tenants":[]}`, "If-Match", seen).want(200).header.Get("ETag"); got != seen {
		t.Errorf("another dry run answers %s, the first %s", got, seen)
	}
	// Every change of tenants and flows makes another tag, and undoing it restores the tag.
	for what, change := range map[string]func(){
		"a tenant more": func() {
			r.call("POST", "/fabrics/lab/tenants", `{"name":"green","weight":1}`).want(201)
		},
		"a tenant changed": func() {
			r.call("PUT", "/fabrics/lab/tenants/blue", `{"weight":7,"pkey":"0x8002","attachments":[{"port":"h2"},{"port":"h4"}]}`, "If-Match", "*").want(200)
		},
		"other flows": func() {
			r.call("PUT", "/fabrics/lab/flows", `{"flows":[]}`, "If-Match", "*").want(200)
		},
	} {
		change()
		r.call("PUT", path+"&dry_run=true", set, "If-Match", seen).want(412, "precondition-failed")
		r.call("PUT", path, set, "If-Match", seen).want(412, "precondition-failed")
		r.call("POST", "/fabrics/lab/policies/1/restore", "").want(200)
		if got := r.call("PUT", path+"&dry_run=true", set, "If-Match", seen).want(200).header.Get("ETag"); got != seen {
			t.Errorf("%s and back: tag %s, was %s", what, got, seen)
		}
	}
	// Compile options do not affect it.
	if _, err := r.Service.PutOptions(t.Context(), "lab", control.AnyVersion, policy.Options{}); err != nil {
		t.Fatal(err)
	}
	a := r.call("PUT", path, set, "If-Match", seen).want(200)
	if res := decode[gen.TenantSetResult](a); len(res.Deleted) != 1 || a.header.Get("ETag") == seen {
		t.Errorf("applied: %+v with tag %s", res, a.header.Get("ETag"))
	}
	r.call("PUT", path, set, "If-Match", a.header.Get("ETag")).want(200)
	r.call("PUT", path, set, "If-Match", "*").want(200)
	r.call("PUT", path, set).want(200)
	r.call("PUT", path, set, "If-Match", `"0"`).want(412, "precondition-failed")
	r.call("PUT", path, set, "If-Match", "nonsense").want(422, "invalid")
}
