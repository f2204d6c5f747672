package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
)

func TestEveryOperationAnswersByTheContract(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/health", "/ready", "/version"} {
		r.call("GET", path, "").want(200)
	}
	made := r.call("POST", "/fabrics", `{"name":"lab","source":"`+controltest.Source+`","time_scale":0.25}`).want(201)
	if f := decode[gen.Fabric](made); f.TimeScale != 0.25 || f.Plane != "ib" || made.header.Get("ETag") != `"1"` {
		t.Errorf("fabric is %+v with ETag %s", f, made.header.Get("ETag"))
	}
	snap := decode[gen.Snapshot](r.call("POST", "/fabrics/lab/discover", "").want(200))
	if snap.Hosts != 4 || snap.Switches != 1 || snap.Links != 4 || snap.WallMs != 1.5 || snap.MadsSent != 42 {
		t.Errorf("snapshot is %+v", snap)
	}
	if f := decode[gen.Fabric](r.call("GET", "/fabrics/lab", "").want(200)); f.Snapshot == nil || f.Snapshot.Sha256 != snap.Sha256 {
		t.Errorf("fabric's snapshot is %+v", f.Snapshot)
	}
	r.call("GET", "/fabrics", "").want(200)
	r.call("GET", "/fabrics/lab/snapshots", "").want(200)
	topo := decode[gen.Topology](r.call("GET", "/fabrics/lab/topology?snapshot="+snap.Sha256, "").want(200))
	if len(topo.Nodes) != 5 || len(topo.Links) != 4 || topo.Links[0].RateBps == 0 {
		t.Errorf("topology is %+v", topo)
	}
	if file := r.call("GET", "/fabrics/lab/topology/file", "").want(200); !strings.Contains(string(file.body), "h1") {
		t.Errorf("fabric file is %s", file.body)
	}
	r.tenants()
	r.objectives()
	r.feeds()
	plan := r.plans()
	r.rollout(plan)
	r.devices()
	r.views()
	r.call("DELETE", "/fabrics/lab", "", "If-Match", `"1"`).want(409, "plan-in-force")
	r.releases()
	r.call("DELETE", "/fabrics/lab", "", "If-Match", "*").want(204) // a release leaves no plan in force
	r.call("GET", "/fabrics/lab", "").want(404, "not-found")

	// These have their own tests (TestARunningRollout and the engine's tests steer a running rollout); the router of this
	// rig checks those answers too.
	elsewhere := map[string]bool{"identity": true, "audit": true, "policies": true, "events": true, "simulations": true, "alerts": true, "calibrations": true, "settings": true, "series": true}
	for _, o := range operationsOf(r.server.spec.doc) {
		if elsewhere[o.Tags[0]] || extended()[o.OperationID] || o.Tags[0] == "rollouts" && strings.HasSuffix(o.OperationID, "Rollout") {
			continue
		}
		if !r.seen[o.OperationID] {
			t.Errorf("operation %s was never answered", o.OperationID)
		}
	}
}

func (r *rig) tenants() {
	t := r.t
	made := r.call("POST", "/fabrics/lab/tenants", `{"name":"red","weight":1.5,"pkey":"0x8001","classes":[{"name":"bulk","weight":1}],
		"attachments":[{"port":"h4","sl":3},{"port":"h1"}]}`).want(201)
	red := decode[gen.Tenant](made)
	if red.Weight != 1.5 || red.Pkey != "0x8001" || len(red.Attachments) != 2 || red.Version != 1 {
		t.Errorf("tenant is %+v", red)
	}
	got := r.call("GET", "/fabrics/lab/tenants/red", "").want(200)
	if d := cmp.Diff(red, decode[gen.Tenant](got)); d != "" || got.header.Get("ETag") != made.header.Get("ETag") {
		t.Errorf("tenant read back differs: %s", d)
	}
	up := r.call("PUT", "/fabrics/lab/tenants/red", `{"weight":2,"pkey":"0x8001","attachments":[{"port":"h1"},{"port":"h4"}]}`, "If-Match", made.header.Get("ETag")).want(200)
	if tn := decode[gen.Tenant](up); tn.Weight != 2 || tn.Version != 2 || len(tn.Classes) != 0 {
		t.Errorf("updated tenant is %+v", tn)
	}
	r.call("PUT", "/fabrics/lab/tenants/red", `{"weight":3}`, "If-Match", made.header.Get("ETag")).want(412, "precondition-failed")
	r.call("POST", "/fabrics/lab/tenants", `{"name":"blue","weight":1}`).want(201)
	list := decode[gen.TenantList](r.call("GET", "/fabrics/lab/tenants?limit=1", "").want(200))
	if len(list.Items) != 1 || list.Items[0].Name != "blue" || list.NextCursor == nil {
		t.Fatalf("first page is %+v", list)
	}
	list = decode[gen.TenantList](r.call("GET", "/fabrics/lab/tenants?limit=1&cursor="+*list.NextCursor, "").want(200))
	if len(list.Items) != 1 || list.Items[0].Name != "red" || list.NextCursor != nil {
		t.Errorf("second page is %+v", list)
	}
	r.call("DELETE", "/fabrics/lab/tenants/blue", "", "If-Match", "*").want(204)
	set := `{"tenants":[{"name":"red","weight":3,"pkey":"0x8001","attachments":[{"port":"h1"},{"port":"h4"}]},{"name":"blue","weight":1,"pkey":"0x8002"}],
		"flows":[{"tenant":"red","src":"h1","dst":"h4"}]}`
	res := decode[gen.TenantSetResult](r.call("PUT", "/fabrics/lab/tenants?dry_run=true", set).want(200))
	if d := cmp.Diff(gen.TenantSetResult{Created: []string{"blue"}, Updated: []string{"red"}, Unchanged: []string{}, Deleted: []string{}, FlowsChanged: true, DryRun: true}, res); d != "" {
		t.Errorf("dry run: %s", d)
	}
	r.call("GET", "/fabrics/lab/tenants/blue", "").want(404, "not-found")
	r.call("PUT", "/fabrics/lab/tenants", set).want(200)
	ends := decode[gen.EndpointList](r.call("GET", "/fabrics/lab/tenants/red/endpoints", "").want(200))
	if len(ends.Items) != 2 || ends.Items[0].State != gen.EndpointStateUp || ends.Items[0].SeenAt == nil || *ends.Items[0].Name != "h1/P1" {
		t.Errorf("endpoints are %+v", ends)
	}
	counted := decode[gen.TenantList](r.call("GET", "/fabrics/lab/tenants?flow_counts=true", "").want(200)).Items
	if len(counted) != 2 || counted[0].Flows == nil || *counted[0].Flows != 0 || counted[1].Flows == nil || *counted[1].Flows != 1 {
		t.Errorf("tenants with numbers of flows are %+v", counted)
	}
	if plain := decode[gen.TenantList](r.call("GET", "/fabrics/lab/tenants", "").want(200)).Items; plain[1].Flows != nil {
		t.Errorf("number of flows that was not requested: %+v", plain[1])
	}
	flows := r.call("GET", "/fabrics/lab/flows", "").want(200)
	if fs := decode[gen.FlowSet](flows); len(fs.Flows) != 1 || fs.Version != 1 || *fs.Flows[0].QPS != 1 {
		t.Errorf("flows are %+v", fs)
	}
	put := r.call("PUT", "/fabrics/lab/flows", `{"flows":[{"tenant":"red","src":"h1","dst":"h4","qps":2},
		{"tenant":"blue","src":"h2","dst":"h4","demand_bps":1000000000}]}`, "If-Match", flows.header.Get("ETag")).want(200)
	if fs := decode[gen.FlowSet](put); len(fs.Flows) != 2 || fs.Version != 2 || *fs.Flows[1].DemandBps != 1e9 {
		t.Errorf("flows are %+v", fs)
	}
	r.call("PUT", "/fabrics/lab/flows", `{"flows":[]}`, "If-Match", flows.header.Get("ETag")).want(412, "precondition-failed")
}

func (r *rig) plans() string {
	t := r.t
	dry := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans?dry_run=true", `{}`).want(200))
	if dry.Stored || dry.CreatedAt != nil || len(dry.Cas) == 0 || len(dry.Switches) == 0 || len(dry.Tenants) != 2 {
		t.Errorf("dry plan is stored %v with %d adapters", dry.Stored, len(dry.Cas))
	}
	if len(dry.Cas[0].Reasons) == 0 || len(dry.Cas[0].Settings.Sls) != 16 {
		t.Errorf("first adapter is %+v: want reasons and 16 service levels", dry.Cas[0])
	}
	if list := decode[gen.PlanList](r.call("GET", "/fabrics/lab/plans", "").want(200)); len(list.Items) != 0 {
		t.Errorf("a dry run stored %+v", list)
	}
	plan := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{"options":{}}`).want(201))
	if plan.Name != dry.Name || !plan.Stored {
		t.Errorf("stored plan is %s, the dry run's was %s", plan.Name, dry.Name)
	}
	r.call("POST", "/fabrics/lab/plans", `{}`).want(200)
	other := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans?dry_run=true",
		`{"options":{"mode":"theorem1","cct_law":"quadratic","timer_restart":true,"per_qp":"sl","reserved_sls":[15,14],"table_entries":64}}`).want(200))
	if other.Name == plan.Name || *other.Options.Mode != "theorem1" || len(other.Options.ReservedSls) != 2 {
		t.Errorf("plan with other options is %s with %+v", other.Name, other.Options)
	}
	if got := decode[gen.Plan](r.call("GET", "/fabrics/lab/plans/"+plan.Name[:8], "").want(200)); got.Name != plan.Name {
		t.Errorf("plan by its beginning is %s", got.Name)
	}
	return plan.Name
}

// releases shows the baseline, releases the fabric and resumes its management.
func (r *rig) releases() {
	t := r.t
	list := decode[gen.BaselineList](r.call("GET", "/fabrics/lab/baseline?against=observed&settings=true&limit=2", "").want(200))
	if len(list.Items) != 2 || list.NextCursor == nil || list.Items[0].Settings == nil || len(list.Items[0].Differences) == 0 || list.Items[0].Origin != "before" {
		t.Errorf("baseline is %+v", list)
	}
	r.call("GET", "/fabrics/lab/baseline?device=nobody", "").want(404, "not-found")
	p := decode[gen.ReleasePreview](r.call("POST", "/fabrics/lab/release?dry_run=true", `{"to":"factory"}`).want(200))
	if p.To != "factory" || len(p.Devices) == 0 || len(p.Devices[0].Changes) == 0 || len(p.Placements) == 0 {
		t.Errorf("preview of a release is %+v", p)
	}
	ro := decode[gen.Rollout](r.call("POST", "/fabrics/lab/release", `{}`).want(202))
	r.Wait()
	if ro.To == nil || *ro.To != "baseline" || ro.Release == nil || !*ro.Release {
		t.Errorf("release is %+v", ro)
	}
	if f := decode[gen.Fabric](r.call("GET", "/fabrics/lab", "").want(200)); *f.Management != "released" {
		t.Errorf("the released fabric is %s", *f.Management)
	}
	for _, asked := range []string{"", "?dry_run=true"} {
		r.call("POST", "/fabrics/lab/release"+asked, `{}`).want(409, "fabric-released")
		r.call("POST", "/fabrics/lab/rollouts"+asked, `{"plan":"`+ro.Plan+`"}`).want(409, "fabric-released")
	}
	if f := decode[gen.Fabric](r.call("POST", "/fabrics/lab/manage", "").want(200)); *f.Management != "managed" {
		t.Errorf("the fabric is %s", *f.Management)
	}
}

func (r *rig) views() {
	for _, path := range []string{"/overview", "/map", "/map/matrix", "/path?src=h1&dst=h4", "/tenants/red/now"} {
		r.call("GET", "/fabrics/lab"+path, "").want(200)
	}
	r.call("GET", "/search?q=red", "").want(200)
}

func (r *rig) rollout(plan string) {
	t := r.t
	r.call("GET", "/fabrics/lab/shares", "").want(409, "no-plan")
	acc := r.call("POST", "/fabrics/lab/rollouts", `{"plan":"`+plan+`","stages":["settings","placement"]}`).want(202)
	started := decode[gen.Rollout](acc)
	if started.State != "running" || started.Actor != control.BootstrapName || !cmp.Equal(started.Stages, []gen.Stage{"placement", "settings"}) {
		t.Errorf("started rollout is %+v", started)
	}
	r.Wait()
	path := strings.TrimPrefix(acc.header.Get("Location"), "/api/v1")
	ro := decode[gen.Rollout](r.call("GET", path, "").want(200))
	if ro.State != "succeeded" || ro.FinishedAt == nil || len(ro.Devices) == 0 || ro.Devices[0].Wanted != nil || len(ro.Devices[0].Receipt) != 1 {
		t.Errorf("rollout is %+v", ro)
	}
	full := decode[gen.Rollout](r.call("GET", path+"?settings=true", "").want(200))
	if d := full.Devices[0]; d.Wanted == nil || d.Wanted.CA == nil && d.Wanted.Switch == nil {
		t.Errorf("device with settings is %+v", d)
	}
	r.call("GET", "/fabrics/lab/rollouts", "").want(200)
	ev := decode[gen.EventList](r.call("GET", path+"/events?limit=2", "").want(200))
	rest := decode[gen.EventList](r.call("GET", path+"/events?cursor="+ev.LastCursor, "").want(200))
	if len(ev.Items) != 2 || ev.NextCursor == nil || len(rest.Items) == 0 || rest.Items[0].ID <= ev.Items[1].ID {
		t.Errorf("events are %+v, then %+v", ev, rest)
	}
	if all := decode[gen.EventList](r.call("GET", "/fabrics/lab/events", "").want(200)); all.Items[0].Kind != "fabric.created" || all.Items[0].Actor != "admin" {
		t.Errorf("first event is %+v", all.Items[0])
	}
	checkNewestEvents(r)
	if dev := decode[gen.DeviceList](r.call("GET", "/fabrics/lab/devices?settings=true", "").want(200)); dev.Plan != plan || dev.InSync != len(dev.Items) || dev.Items[0].Kind != gen.DeviceKindSubnetManager || dev.Items[0].Desired != nil || dev.Items[1].Desired == nil {
		t.Errorf("devices are %+v", dev)
	}
	r.Devices.Drift()
	if dev := decode[gen.DeviceList](r.call("GET", "/fabrics/lab/devices", "").want(200)); dev.Drifted != 1 {
		t.Errorf("%d devices drifted, want 1", dev.Drifted)
	}
	sh := decode[gen.Shares](r.call("GET", "/fabrics/lab/shares?window_ms=250&plan="+plan, "").want(200))
	if limit := policy.MissLimit(policy.PlaneIB); sh.ShareErrorLimit == nil || *sh.ShareErrorLimit != limit || policy.MissLimit(policy.PlaneRoCE) <= limit {
		t.Errorf("limit of share errors %v, want %g", sh.ShareErrorLimit, limit)
	}
	if sh.WindowMs != 250 || len(sh.Tenants) != 2 || *sh.Tenants[0].DeliveredBps == 0 {
		t.Errorf("shares are %+v", sh)
	}
	// A value that was not measured is absent, never 0.
	r.Devices.Unmeasured(sh.Tenants[0].Tenant, phrase.Of("measure.sl-saturated", "sl", 1))
	answer := r.call("GET", "/fabrics/lab/shares?plan="+plan, "").want(200)
	sh = decode[gen.Shares](answer)
	if x := sh.Tenants[0]; sh.Complete || x.Measured || x.DeliveredBps != nil || x.ShareError != nil || *x.Problem != "the counter of SL 1 has reached its maximum" || sh.MaxShareError == nil {
		t.Errorf("shares without a tenant are %+v", sh)
	}
	if n := bytes.Count(answer.body, []byte(`"share_error"`)); n != 1 {
		t.Errorf("the share errors of two tenants, one measured, are there %d times: %s", n, answer.body)
	}
}

func TestARunningRollout(t *testing.T) {
	t.Parallel()
	r := managed(t)
	plan := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{}`).want(201)).Name
	began, let := r.Devices.Hold()
	body := `{"plan":"` + plan + `"}`
	ro := decode[gen.Rollout](r.call("POST", "/fabrics/lab/rollouts", body).want(202))
	<-began
	for _, asked := range []string{"", "?dry_run=true"} {
		r.call("POST", "/fabrics/lab/rollouts"+asked, body).want(409, "rollout-running")
		r.call("POST", "/fabrics/lab/release"+asked, "{}").want(409, "rollout-running")
	}
	r.call("POST", "/fabrics/lab/rollouts/1/cancel", "").want(202)
	let()
	r.Wait()
	if got := decode[gen.Rollout](r.call("GET", "/fabrics/lab/rollouts/1", "").want(200)); got.ID != ro.ID || got.State != "canceled" {
		t.Errorf("rollout is %+v", got)
	}
	r.call("POST", "/fabrics/lab/rollouts/1/cancel", "").want(409, "not-running")
	r.call("POST", "/fabrics/lab/rollouts/9/cancel", "").want(404, "not-found")
}

func TestTokensAreRequired(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, token := range []string{"", "wrong", controltest.Token[:len(controltest.Token)-1]} {
		r.token = token
		a := r.call("GET", "/fabrics", "").want(401, "unauthorized")
		if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
			t.Error("401 without WWW-Authenticate")
		}
		r.call("POST", "/fabrics", `{"name":`).want(401, "unauthorized")   // the body is not read
		r.call("POST", "/fabrics", `{"name":1}`).want(401, "unauthorized") // the contract is not revealed before authentication
	}
	r.token = ""
	r.call("GET", "/fabrics", "", "Authorization", "Basic "+controltest.Token).want(401, "unauthorized")
	r.call("GET", "/fabrics", "", "Authorization", "bearer "+controltest.Token).want(200)
	for _, path := range []string{"/health", "/ready", "/version"} {
		r.call("GET", path, "").want(200)
	}
}

func TestEveryOperationButThePublicOnesNeedsAToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.token = ""
	fill := strings.NewReplacer(":fabric", "lab", ":tenant", "red", ":plan", "abcdef", ":rollout", "1")
	for key, route := range r.server.spec.routes {
		method, path, _ := strings.Cut(key, " ")
		a := r.call(method, strings.TrimPrefix(fill.Replace(path), "/api/v1"), "")
		if public(route.Operation) == (a.status == 401) {
			t.Errorf("%s without a token gives %d", key, a.status)
		}
	}
}

func TestProblemsOfBadRequestsContainNoLibraryText(t *testing.T) {
	t.Parallel()
	r := managed(t)
	tenants := "/fabrics/lab/tenants"
	for name, tc := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		code, in, pointer  string
		detail             string
	}{
		"broken JSON":               {"POST", tenants, "{\n \"name\": }", nil, 400, "malformed-body", "", "", "line 2, column 10"},
		"two JSON texts":            {"POST", tenants, `{} {}`, nil, 400, "malformed-body", "", "", "line 1"},
		"no body":                   {"POST", tenants, "", []string{"Content-Type", "application/json"}, 422, "invalid", "body", "", "the body is missing"},
		"other media type":          {"POST", tenants, "name=x", []string{"Content-Type", "text/plain"}, 415, "unsupported-media-type", "", "", "application/json"},
		"missing field":             {"POST", tenants, `{"name":"x"}`, nil, 422, "invalid", "body", "/weight", "is missing"},
		"unknown field":             {"POST", tenants, `{"name":"x","weight":1,"wieght":2}`, nil, 422, "invalid", "body", "/wieght", "is not a field"},
		"weight 0":                  {"POST", tenants, `{"name":"x","weight":0}`, nil, 422, "invalid", "body", "/weight", "found 0: want a number from 0.001 to 1000000"},
		"weight too fine":           {"POST", tenants, `{"name":"x","weight":1.00001}`, nil, 422, "invalid", "body", "/weight", "three decimals"},
		"weight of text":            {"POST", tenants, `{"name":"x","weight":"4"}`, nil, 422, "invalid", "body", "/weight", `found "4": want a number`},
		"bad name":                  {"POST", tenants, `{"name":"X!","weight":1}`, nil, 422, "invalid", "body", "/name", `found "X!": want 1 to 63 of a-z, 0-9 and -`},
		"bad SL":                    {"POST", tenants, `{"name":"x","weight":1,"attachments":[{"port":"h1","sl":16}]}`, nil, 422, "invalid", "body", "/attachments/0/sl", "found 16: want a whole number from 0 to 15"},
		"unknown host":              {"POST", tenants, `{"name":"x","weight":1,"attachments":[{"port":"h9"}]}`, nil, 422, "invalid", "body", "/attachments/0/port", "h9"},
		"bad P_Key":                 {"POST", tenants, `{"name":"x","weight":1,"pkey":"0x12345"}`, nil, 422, "invalid", "body", "/pkey", "0x12345"},
		"name taken":                {"POST", tenants, `{"name":"red","weight":1}`, nil, 409, "already-exists", "", "", "red"},
		"unknown fabric":            {"GET", "/fabrics/none/tenants", "", nil, 404, "not-found", "", "", "none"},
		"bad path name":             {"GET", "/fabrics/NO/tenants", "", nil, 422, "invalid", "path", "fabric", "found \"NO\""},
		"bad limit":                 {"GET", tenants + "?limit=0", "", nil, 422, "invalid", "query", "limit", "found 0: want a whole number from 1 to 1000"},
		"limit of text":             {"GET", tenants + "?limit=x", "", nil, 422, "invalid", "query", "limit", "want a whole number from 1 to 1000"},
		"foreign cursor":            {"GET", tenants + "?cursor=abc", "", nil, 422, "invalid", "query", "cursor", "next_cursor"},
		"forged cursor":             {"GET", "/fabrics/lab/plans?cursor=c.x", "", nil, 422, "invalid", "query", "cursor", ""},
		"misspelt parameter":        {"POST", "/fabrics/lab/plans?dryrun=true", `{}`, nil, 422, "invalid", "query", "dryrun", "no such parameter"},
		"dry_run of text":           {"POST", "/fabrics/lab/plans?dry_run=maybe", `{}`, nil, 422, "invalid", "query", "dry_run", "true or false"},
		"bad mode":                  {"POST", "/fabrics/lab/plans", `{"options":{"mode":"best"}}`, nil, 422, "invalid", "body", "/options/mode", "one of product, theorem1"},
		"all SLs reserved":          {"POST", "/fabrics/lab/plans", `{"options":{"reserved_sls":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}}`, nil, 422, "invalid", "body", "", "service levels"},
		"no If-Match":               {"PUT", tenants + "/red", `{"weight":1}`, nil, 428, "precondition-required", "", "", "If-Match"},
		"no If-Match on delete":     {"DELETE", tenants + "/red", "", nil, 428, "precondition-required", "", "", ""},
		"no If-Match on flows":      {"PUT", "/fabrics/lab/flows", `{"flows":[]}`, nil, 428, "precondition-required", "", "", ""},
		"weak If-Match":             {"PUT", tenants + "/red", `{"weight":1}`, []string{"If-Match", `W/"1"`}, 422, "invalid", "header", "If-Match", "quoted version"},
		"If-Match of nothing":       {"DELETE", tenants + "/red", "", []string{"If-Match", `"0"`}, 412, "precondition-failed", "", "", ""},
		"stale If-Match":            {"DELETE", "/fabrics/lab", "", []string{"If-Match", `"7"`}, 412, "precondition-failed", "", "", "version 1"},
		"tenant with flows":         {"DELETE", tenants + "/red", "", []string{"If-Match", "*"}, 409, "in-use", "", "", "flows"},
		"bad stage":                 {"POST", "/fabrics/lab/rollouts", `{"plan":"abcdef","stages":["all"]}`, nil, 422, "invalid", "body", "/stages/0", "one of placement, settings"},
		"unknown plan":              {"POST", "/fabrics/lab/rollouts", `{"plan":"abcdef"}`, nil, 404, "not-found", "", "", "abcdef"},
		"bad window":                {"GET", "/fabrics/lab/shares?window_ms=99999999", "", nil, 422, "invalid", "query", "window_ms", "60000"},
		"flow of an unknown tenant": {"PUT", "/fabrics/lab/flows", `{"flows":[{"tenant":"x","src":"h1","dst":"h2"}]}`, []string{"If-Match", "*"}, 422, "invalid", "body", "/flows/0/tenant", "a tenant of this fabric"},
		"two faults in a set":       {"PUT", tenants, `{"tenants":[{"name":"a","weight":1.00001},{"name":"b","weight":2.00001}]}`, nil, 422, "invalid", "body", "/tenants/0/weight", "three decimals"},
		"no source":                 {"POST", "/fabrics", `{"name":"x","source":""}`, nil, 422, "invalid", "body", "/source", `found ""`},
		"source of no kind":         {"POST", "/fabrics", `{"name":"x","source":"http://x"}`, nil, 422, "invalid", "body", "/source", "http://x"},
		"negative time scale":       {"POST", "/fabrics", `{"name":"x","source":"file:x","time_scale":-1}`, nil, 422, "invalid", "body", "/time_scale", "found -1"},
		"discovery of nothing":      {"POST", "/fabrics/other/discover", "", nil, 502, "discovery-failed", "", "", "nothing answers"},
		"no such path":              {"GET", "/nothing", "", nil, 404, "no-such-route", "", "", ""},
		"no such method":            {"PATCH", "/fabrics", `{}`, nil, 405, "method-not-allowed", "", "", "PATCH"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "discovery of nothing" {
				r.call("POST", "/fabrics", `{"name":"other","source":"file:void"}`).want(201)
			}
			a := r.call(tc.method, tc.path, tc.body, tc.header...).want(tc.status, tc.code)
			if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
				t.Errorf("content type is %q", ct)
			}
			p := decode[gen.Problem](a)
			text := deref(p.Detail)
			if tc.in != "" {
				if len(p.Errors) == 0 || string(p.Errors[0].In) != tc.in || p.Errors[0].Pointer != tc.pointer {
					t.Fatalf("faults are %+v, want one in %s at %q", p.Errors, tc.in, tc.pointer)
				}
				for i, f := range p.Errors {
					if slices.Contains(p.Errors[:i], f) {
						t.Errorf("%+v is said twice", f)
					}
				}
				text = p.Errors[0].Detail
			}
			if !strings.Contains(text, tc.detail) {
				t.Errorf("detail is %q, want it to say %q", text, tc.detail)
			}
			for _, foreign := range []string{"schema", "gorm", "sqlite", "json:", "openapi", "strconv"} {
				if strings.Contains(string(a.body), foreign) {
					t.Errorf("a library's word %q is in the answer: %s", foreign, a.body)
				}
			}
		})
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.call("GET", "/fabrics/none", "", "X-Request-ID", "My-id_7").want(404, "not-found")
	if p := decode[gen.Problem](a); p.RequestID != "My-id_7" || a.header.Get("X-Request-ID") != "My-id_7" {
		t.Errorf("request id is %q", p.RequestID)
	}
	for _, bad := range []string{"a b", strings.Repeat("x", 65), "x\"y"} {
		if id := r.call("GET", "/health", "", "X-Request-ID", bad).header.Get("X-Request-ID"); id == bad || len(id) != 24 {
			t.Errorf("request id %q became %q", bad, id)
		}
	}
}

func TestInternalErrorsAreNotDisclosed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := r.Store.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	a := r.call("GET", "/fabrics", "").want(500, "internal")
	if strings.Contains(string(a.body), "sql") || strings.Contains(string(a.body), "closed") {
		t.Errorf("the answer discloses an internal error: %s", a.body)
	}
	r.call("GET", "/ready", "").want(503, "not-ready")
	r.call("GET", "/health", "").want(200)
}

func TestUnreachableDevicesAreABadGateway(t *testing.T) {
	t.Parallel()
	r := managed(t)
	plan := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{}`).want(201)).Name
	r.Devices.Break(errors.New("no light on the cable"))
	r.call("GET", "/fabrics/lab/devices?plan="+plan, "").want(502, "devices-unreachable")
	r.call("GET", "/fabrics/lab/shares?plan="+plan, "").want(502, "measurement-failed")
	r.Devices.Break(context.DeadlineExceeded)
	r.call("POST", "/fabrics/lab/discover", "").want(504, "timeout")
}

func TestClient(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	srv := httptest.NewServer(r.server)
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL+"/", controltest.Token, srv.Client())
	if err != nil {
		t.Fatal(err)
	}
	ok, err := c.ListFabricsWithResponse(t.Context(), nil)
	if err != nil || client.Check(ok.StatusCode(), ok.Body) != nil || ok.JSON200 == nil {
		t.Errorf("list gives %v, %v", ok, err)
	}
	bad, err := c.CreateTenantWithResponse(t.Context(), "none", nil, gen.TenantCreate{Name: "x", Weight: -1})
	if err != nil {
		t.Fatal(err)
	}
	var p *client.ProblemError
	if err := client.Check(bad.StatusCode(), bad.Body); !errors.As(err, &p) || !p.BadInput() || !strings.Contains(err.Error(), "\n  /weight: found -1") {
		t.Errorf("problem is %v", err)
	}
	if err := client.Check(502, []byte("<html>")); err == nil || errors.As(err, &p) && p.Code == "" {
		t.Errorf("a foreign answer gives %v", err)
	}
	for _, u := range []string{"", "127.0.0.1:8080", "ftp://x", "http://"} {
		if _, err := client.New(u, "", nil); err == nil {
			t.Errorf("URL %q was taken", u)
		}
	}
}

func TestServerHasTimeLimits(t *testing.T) {
	t.Parallel()
	s := HTTPServer(http.NotFoundHandler())
	if s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.WriteTimeout <= slowTimeout || s.IdleTimeout == 0 || s.MaxHeaderBytes > 1<<20 {
		t.Errorf("server is %+v", s)
	}
	if client.Timeout <= slowTimeout {
		t.Errorf("a client waits %s, the server %s", client.Timeout, slowTimeout)
	}
}

func FuzzTenantBody(f *testing.F) {
	for _, s := range []string{
		`{"name":"x","weight":1}`, `{"name":"x","weight":1e400}`, `{"name":"x","weight":1,"attachments":[{"port":"h1","sl":3}]}`,
		`{"name":"x","weight":1,"pkey":"0x8001","classes":[{"name":"a","weight":0.001}]}`, `[]`, `null`, `{"name":"\u0000"}`, `{"weight":{}}`, "{\"name\":\"\xff\"}",
	} {
		f.Add(s)
	}
	r := managed(f)
	f.Fuzz(func(t *testing.T, body string) {
		q := &rig{Rig: r.Rig, t: t, server: r.server, router: r.router, token: r.token, seen: map[string]bool{}}
		a := q.call("POST", "/fabrics/lab/tenants", body)
		switch a.status {
		case 201:
			tn := decode[gen.Tenant](a)
			again := decode[gen.Tenant](q.call("GET", "/fabrics/lab/tenants/"+tn.Name, "").want(200))
			if d := cmp.Diff(tn, again); d != "" {
				t.Errorf("created and read back differ: %s", d)
			}
			q.call("DELETE", "/fabrics/lab/tenants/"+tn.Name, "", "If-Match", a.header.Get("ETag")).want(204)
		case 400, 409, 415, 422:
		default:
			t.Errorf("body %q gives %d: %s", body, a.status, a.body)
		}
	})
}

func BenchmarkListTenants(b *testing.B) {
	r := newRig(b)
	if _, err := r.Service.CreateFabric(b.Context(), control.Fabric{Name: "lab", Source: controltest.Source}); err != nil {
		b.Fatal(err)
	}
	err := r.Store.Tx(b.Context(), func(repos control.Repos) error {
		for i := range 2000 {
			tn := control.Tenant{Fabric: "lab", CreatedAt: time.Unix(0, 0)}
			tn.Name, tn.Weight = "t"+strings.Repeat("0", i%7)+strings.ReplaceAll(time.Duration(i).String(), ".", "-"), 1000
			if _, err := repos.CreateTenant(b.Context(), tn); err != nil && !errors.Is(err, control.ErrConflict) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		serve(b, r.server, newRequest(b, "GET", "/api/v1/fabrics/lab/tenants?limit=100", "", bearer(r.token)...)).want(200)
	}
}
