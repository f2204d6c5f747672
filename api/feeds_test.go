package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fairlane/api/gen"
)

// feeds follows a feed of tenant red, which the operator attached to h1 and h4, from its creation to its deletion.
func (r *rig) feeds() {
	t := r.t
	const root = "/fabrics/lab/tenants/red/feeds/cluster"
	at := func() string {
		t.Helper()
		var out []string
		for _, a := range decode[gen.Tenant](r.call("GET", "/fabrics/lab/tenants/red", "").want(200)).Attachments {
			out = append(out, fmt.Sprintf("%s %v %v", deref(a.Name), deref(a.FeedOnly), a.Feeds))
		}
		return strings.Join(out, ", ")
	}
	before := at()
	r.call("GET", root, "").want(404, "not-found")
	r.call("PUT", root, `{"attachments":[]}`).want(428, "precondition-required")
	r.call("PUT", root, `{}`, "If-Match", "*").want(422, "invalid")
	r.call("PUT", root+"?dry_run=true", `{"attachments":[{"port":"h2"}]}`, "If-Match", `"0"`).want(200)
	r.call("GET", root, "").want(404, "not-found")
	made := r.call("PUT", root, `{"attachments":[{"port":"h2","name":"ignored"},{"port":"h1"}]}`, "If-Match", `"0"`).want(200)
	if c := decode[gen.FeedResult](made); c.Version != 1 || c.Ports != 2 || len(c.Attached) != 1 || len(c.Detached) != 0 || made.header.Get("ETag") != `"1"` {
		t.Errorf("new feed is %+v", c)
	}
	if got, want := at(), "h1/P1 false [cluster], h2/P1 true [cluster], h4/P1 false []"; got != want {
		t.Errorf("red is attached to %s, want %s", got, want)
	}
	r.call("PUT", root, `{"attachments":[{"port":"h2"}]}`, "If-Match", `"0"`).want(412, "precondition-failed")
	refused := r.call("PUT", root, `{"attachments":[{"port":"h2"},{"port":"h77"}]}`, "If-Match", `"1"`).want(422, "invalid")
	if p := decode[gen.Problem](refused); len(p.Errors) != 1 || p.Errors[0].Pointer != "/attachments/1/port" || !strings.Contains(p.Errors[0].Detail, "h77") {
		t.Errorf("an unknown port is refused as %s", refused.body)
	}
	got := r.call("GET", root, "").want(200)
	if f := decode[gen.Feed](got); f.Version != 1 || len(f.Attachments) != 2 || deref(f.Attachments[1].Name) != "h2/P1" || f.Tenant != "red" || f.Actor == "" {
		t.Errorf("feed is %+v", f)
	}
	list := decode[gen.FeedList](r.call("GET", "/fabrics/lab/feeds?feed=cluster&tenant=red", "").want(200))
	if len(list.Items) != 1 || list.Items[0].Ports != 2 {
		t.Errorf("feeds are %+v", list)
	}
	// What was read is written back.
	tn := r.call("GET", "/fabrics/lab/tenants/red", "").want(200)
	var b strings.Builder
	for i, a := range decode[gen.Tenant](tn).Attachments {
		fmt.Fprintf(&b, `%s{"port":%q,"feed_only":%v,"feeds":["cluster"]}`, strings.Repeat(",", min(i, 1)), a.Port, deref(a.FeedOnly))
	}
	r.call("PUT", "/fabrics/lab/tenants/red", `{"weight":3,"pkey":"0x8001","attachments":[`+b.String()+`]}`, "If-Match", "*").want(200)
	r.call("DELETE", "/fabrics/lab/tenants/red/attachments/h2", "", "If-Match", "*").want(409, "in-use")
	r.call("DELETE", root, "", "If-Match", `"7"`).want(412, "precondition-failed")
	r.call("DELETE", root, "", "If-Match", `"1"`).want(204)
	r.call("DELETE", root, "", "If-Match", "*").want(404, "not-found")
	if after := at(); after != before {
		t.Errorf("after the feed red is attached to %s, before to %s", after, before)
	}
}

// A feeder starts a rollout of what feeds changed, and of nothing else.
func TestAFeederRollsOutOnlyWhatFeedsCaused(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	as := func(who, method, path, body string, status int, code ...string) answer {
		t.Helper()
		return w.ask(w.tokens[who], method, "/api/v1/fabrics/lab"+path, body, "If-Match", "*").want(status, code...)
	}
	plan := func(who string) string {
		t.Helper()
		a := w.ask(w.tokens[who], http.MethodPost, "/api/v1/fabrics/lab/plans", `{"keep_placements":true}`)
		if a.status != 200 && a.status != 201 {
			t.Fatalf("plan by %s: %d %s", who, a.status, a.body)
		}
		return decode[gen.Plan](a).Name
	}
	start := func(who, plan, more string, status int, code ...string) answer {
		t.Helper()
		return as(who, http.MethodPost, "/rollouts", fmt.Sprintf(`{"plan":%q%s}`, plan, more), status, code...)
	}
	feed := func(status int, ports string) {
		t.Helper()
		as("lab-feeder", http.MethodPut, "/tenants/red/feeds/cluster", `{"attachments":[`+ports+`]}`, status)
	}
	because := func(a answer, cause string) {
		t.Helper()
		if p := decode[gen.Problem](a); !strings.Contains(deref(p.Detail), cause) {
			t.Errorf("the refusal is %q, want the cause %q", deref(p.Detail), cause)
		}
	}
	feed(200, `{"port":"h2"}`)
	first := plan("lab-feeder")
	because(start("lab-feeder", first, "", 409, "needs-operator"), "no plan is in force")
	start("lab-operator", first, `,"limit_settings":1`, 409, "too-many-settings")
	start("lab-operator", first, "", 202)
	w.Wait()
	because(start("lab-feeder", first, "", 409, "needs-operator"), "it is the plan in force")

	feed(200, `{"port":"h2"},{"port":"h3"}`)
	second := plan("lab-feeder")
	because(start("lab-feeder", second, `,"stages":["settings"]`, 409, "needs-operator"), "leaves out a stage")
	because(start("lab-feeder", second, `,"limit_settings":0`, 409, "too-many-settings"), "more than the limit of 0")
	as("lab-feeder", http.MethodPost, "/rollouts?dry_run=true", fmt.Sprintf(`{"plan":%q,"limit_settings":0}`, second), 409, "too-many-settings")
	start("lab-feeder", second, `,"limit_settings":200`, 202)
	w.Wait()
	list := decode[gen.RolloutList](as("lab-feeder", http.MethodGet, "/rollouts", "", 200))
	if len(list.Items) != 2 || list.Items[0].Plan != second || list.Items[0].State != "succeeded" || list.Items[0].Actor != "lab-feeder" {
		t.Fatalf("rollouts are %+v", list.Items)
	}
	for _, verb := range []string{"cancel", "pause", "resume", "confirm", "roll-back"} {
		as("lab-feeder", http.MethodPost, fmt.Sprintf("/rollouts/%d/%s", list.Items[0].ID, verb), "", 403, "forbidden")
	}

	as("lab-feeder", http.MethodPut, "/tenants/red", `{"weight":9}`, 403, "forbidden")
	as("lab-operator", http.MethodPost, "/tenants/blue/classes", `{"name":"default","weight":9}`, 201)
	feed(200, `{"port":"h2"}`)
	because(start("lab-feeder", plan("lab-feeder"), "", 409, "needs-operator"), "tenants changed: blue")
	as("lab-operator", http.MethodPut, "/options", `{"mode":"theorem1"}`, 200)
	because(start("lab-feeder", plan("lab-feeder"), "", 409, "needs-operator"), "compiler options changed")
	start("lab-operator", plan("lab-operator"), "", 202)
	w.Wait()
	feed(200, ``)
	start("lab-feeder", plan("lab-feeder"), "", 202)
	w.Wait()
}

// What a weight would take from workloads is seen before it changes, and holds up no rollout of a feed.
func TestAPromiseIsHeldAgainstALowerWeight(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	as := func(who, method, path, body string, status int) answer {
		t.Helper()
		return w.ask(w.tokens[who], method, "/api/v1/fabrics/lab"+path, body, "If-Match", "*").want(status)
	}
	feed := func(rate int64) {
		t.Helper()
		as("lab-feeder", http.MethodPut, "/tenants/red/feeds/cluster", fmt.Sprintf(`{"functions":"node","attachments":[{"port":"h3"},{"port":"h2","claimed_bps":%d}]}`, rate), 200)
	}
	of := func(list []gen.Finding) (said []string) {
		for _, f := range list {
			if f.Code == "claims-exceed-guarantee" {
				said = append(said, f.Message)
			}
		}
		return said
	}
	feed(50e9)
	got := decode[gen.Feed](as("lab-feeder", http.MethodGet, "/tenants/red/feeds/cluster", "", 200))
	if deref(got.Functions) != gen.FeedFunctionsNode || got.Attachments[1].ClaimedBps != nil || deref(got.Attachments[0].ClaimedBps) != 50e9 {
		t.Errorf("the feed is %+v", got)
	}
	preview := func(edit string) []string {
		t.Helper()
		return of(decode[gen.WhatIf](as("lab-operator", http.MethodPost, "/plans/what-if", `{"edits":["`+edit+`"]}`, 200)).Findings)
	}
	if found := preview("weight:red=3"); len(found) != 0 {
		t.Errorf("the weights of now: %v", found)
	}
	if found := preview("weight:red=0.5"); len(found) != 1 || !strings.Contains(found[0], "workloads of tenant red are promised 50 Gbit/s of port h2/P1") {
		t.Fatalf("half the weight of the other tenant: %q", found)
	}
	// More is claimed than is given now: the finding is in the plan, which the feeder may roll out.
	as("lab-operator", http.MethodPost, "/rollouts", fmt.Sprintf(`{"plan":%q}`, decode[gen.Plan](w.ask(w.tokens["lab-operator"], http.MethodPost, "/api/v1/fabrics/lab/plans", `{}`)).Name), 202)
	w.Wait()
	feed(90e9)
	plan := decode[gen.Plan](as("lab-feeder", http.MethodPost, "/plans", `{"keep_placements":true}`, 201))
	if said := of(plan.Findings); len(said) != 1 {
		t.Errorf("90 Gbit/s are claimed: %v", said)
	}
	as("lab-feeder", http.MethodPost, "/rollouts", fmt.Sprintf(`{"plan":%q,"limit_settings":0}`, plan.Name), 202)
	w.Wait()
	if list := decode[gen.RolloutList](as("lab-feeder", http.MethodGet, "/rollouts", "", 200)); list.Items[0].Plan != plan.Name || list.Items[0].State != "succeeded" {
		t.Errorf("rollout %+v", list.Items[0])
	}
}

// A tenant sees its attachments, and not which feeds claim them.
func TestATenantSeesNoFeeds(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	put := w.ask(w.tokens["lab-feeder"], http.MethodPut, "/api/v1/fabrics/lab/tenants/red/feeds/secret-cluster", `{"attachments":[{"port":"h2"}]}`, "If-Match", "*")
	put.want(200)
	for _, path := range []string{"/tenants", "/tenants/red", "/tenants/red/attachments", "/tenants/red/attachments/h2", "/events"} {
		a := w.ask(w.tokens["red-admin"], http.MethodGet, "/api/v1/fabrics/lab"+path, "").want(200)
		if strings.Contains(string(a.body), "secret-cluster") || strings.Contains(string(a.body), "lab-feeder") {
			t.Errorf("GET %s shows the tenant the feed: %s", path, a.body)
		}
	}
	tn := decode[gen.Tenant](w.ask(w.tokens["red-admin"], http.MethodGet, "/api/v1/fabrics/lab/tenants/red", "").want(200))
	if !slices.ContainsFunc(tn.Attachments, func(a gen.Attachment) bool { return deref(a.Name) == "h2/P1" && deref(a.FeedOnly) }) {
		t.Errorf("the tenant's attachments are %+v, want h2 among them", tn.Attachments)
	}
}
