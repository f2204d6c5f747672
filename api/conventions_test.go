package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/api/gen"
	"fairlane/service/control"
)

// managed returns a rig with a managed fabric lab, tenants and flows.
func managed(t testing.TB) *rig {
	t.Helper()
	r := newRig(t)
	r.Lab(t)
	return r
}

func TestDryRunAnswersAndStoresNothing(t *testing.T) {
	t.Parallel()
	r := managed(t)
	r.call("POST", "/fabrics/lab/tenants", `{"name":"idle","weight":2,"pkey":"0x8009"}`).want(201)
	before := r.call("GET", "/fabrics/lab/events?limit=1000", "").want(200).body
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/fabrics", `{"name":"other","source":"file:x"}`, 201},
		{"PUT", "/fabrics/lab", `{"source":"file:y"}`, 200},
		{"POST", "/fabrics/lab/discover", "", 200},
		{"POST", "/fabrics/lab/tenants", `{"name":"green","weight":2,"pkey":"0x8003"}`, 201},
		{"PUT", "/fabrics/lab/tenants/red", `{"weight":7,"pkey":"0x8001","attachments":[{"port":"h1"},{"port":"h4"}]}`, 200},
		{"PUT", "/fabrics/lab/flows", `{"flows":[]}`, 200},
		{"PUT", "/fabrics/lab/options", `{"mode":"theorem1"}`, 200},
		{"POST", "/fabrics/lab/tenants/red/attachments", `{"port":"h2"}`, 201},
		{"POST", "/fabrics/lab/tenants/idle/classes", `{"name":"bulk","weight":1}`, 201},
		{"POST", "/fabrics/lab/plans", `{}`, 200},
		{"PUT", "/fabrics/lab/policies/1/label", `{"label":"first"}`, 200},
		{"DELETE", "/fabrics/lab", "", 204},
	} {
		a := r.call(c.method, c.path+"?dry_run=true", c.body, "If-Match", "*").want(c.status)
		if a.header.Get(dryRunHeader) != "true" && !strings.HasSuffix(c.path, "/plans") {
			t.Errorf("%s %s: the answer does not say that it was a dry run", c.method, c.path)
		}
	}
	if after := r.call("GET", "/fabrics/lab/events?limit=1000", "").want(200).body; string(after) != string(before) {
		t.Errorf("dry runs left events: %s", after)
	}
	if list := decode[gen.PlanList](r.call("GET", "/fabrics/lab/plans", "").want(200)); len(list.Items) != 0 {
		t.Errorf("a dry run left plans: %+v", list.Items)
	}
	r.call("POST", "/fabrics?dry_run=true", `{"name":"lab","source":"file:x"}`).want(409, "already-exists")
}

func TestIdempotencyKeyExecutesOnce(t *testing.T) {
	t.Parallel()
	r := managed(t)
	key := []string{"Idempotency-Key", "k-1"}
	body := `{"name":"green","weight":2,"pkey":"0x8003"}`
	first := r.call("POST", "/fabrics/lab/tenants", body, key...).want(201)
	again := r.call("POST", "/fabrics/lab/tenants", body, key...).want(201)
	if string(first.body) != string(again.body) || again.header.Get("ETag") != first.header.Get("ETag") || again.header.Get(replayedHeader) != "true" {
		t.Errorf("repeated: %s %v\nfirst: %s", again.body, again.header, first.body)
	}
	if first.header.Get(replayedHeader) != "" {
		t.Error("the first answer says that it is a repetition")
	}
	r.call("POST", "/fabrics/lab/tenants", `{"name":"green","weight":3,"pkey":"0x8003"}`, key...).want(422, "idempotency-mismatch")
	r.call("POST", "/fabrics/lab/tenants/green/classes", `{"name":"x","weight":3}`, key...).want(422, "idempotency-mismatch")
	r.call("POST", "/fabrics/lab/tenants", body, "Idempotency-Key", "k-2").want(409, "already-exists")
	// A refused request was not executed: the key can be used again.
	r.call("POST", "/fabrics/lab/tenants", `{"name":"pink","weight":2,"pkey":"0x8004"}`, "Idempotency-Key", "k-2").want(201)
	if n := strings.Count(string(r.call("GET", "/fabrics/lab/events?limit=1000", "").body), `"tenant.created"`); n != 4 {
		t.Errorf("%d tenants were created, want red, blue, green and pink", n)
	}
}

func TestIdempotencyKeyCoversOperationsOutsideTheStore(t *testing.T) {
	t.Parallel()
	r := managed(t)
	key := []string{"Idempotency-Key", "plan-1"}
	first := r.call("POST", "/fabrics/lab/plans", `{}`, key...).want(201)
	again := r.call("POST", "/fabrics/lab/plans", `{}`, key...).want(201)
	if string(first.body) != string(again.body) || again.header.Get(replayedHeader) != "true" {
		t.Errorf("repeated with %d bytes, %v", len(again.body), again.header)
	}
	r.call("POST", "/fabrics/lab/discover", "", "Idempotency-Key", "d-1").want(200)
	r.Devices.Break(io.ErrUnexpectedEOF)
	r.call("POST", "/fabrics/lab/discover", "", "Idempotency-Key", "d-1").want(200) // from the store
	r.call("POST", "/fabrics/lab/discover", "", "Idempotency-Key", "d-2").want(502, "discovery-failed")
	r.Devices.Break(nil)
	r.call("POST", "/fabrics/lab/discover", "", "Idempotency-Key", "d-2").want(200)
}

func TestConcurrentIdempotencyKeyExecutesOnce(t *testing.T) {
	t.Parallel()
	r := managed(t)
	const n = 16
	status := make([]int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			status[i] = r.call("POST", "/fabrics/lab/tenants", `{"name":"green","weight":2,"pkey":"0x8003"}`, "Idempotency-Key", "race").status
		})
	}
	wg.Wait()
	for _, s := range status {
		if s != 201 && s != 409 {
			t.Errorf("answers are %v, want 201, or 409 while the first request is active", status)
		}
	}
	if n := strings.Count(string(r.call("GET", "/fabrics/lab/events?limit=1000", "").body), `"subject":"green"`); n != 1 {
		t.Errorf("green was made %d times", n)
	}
}

func TestAnswersAreCompressedWhenAskedFor(t *testing.T) {
	t.Parallel()
	r := managed(t)
	path := "/fabrics/lab/plans/" + decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{}`).want(201)).Name
	plain := r.call("GET", path, "").want(200)
	packed := serve(t, r.server, newRequest(t, "GET", "/api/v1"+path, "", append(bearer(r.token), "Accept-Encoding", "br, gzip;q=0.5")...))
	if packed.header.Get("Content-Encoding") != "gzip" || packed.header.Get("Vary") != "Accept-Encoding" || len(packed.body) >= len(plain.body) {
		t.Fatalf("headers are %v with %d bytes of %d", packed.header, len(packed.body), len(plain.body))
	}
	z, err := gzip.NewReader(bytes.NewReader(packed.body))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if err != nil || string(got) != string(plain.body) {
		t.Errorf("unpacked: %v, %d bytes, want %d", err, len(got), len(plain.body))
	}
	if small := r.call("GET", "/health", "", "Accept-Encoding", "gzip").want(200); small.header.Get("Content-Encoding") != "" {
		t.Error("a small answer was compressed")
	}
	r.call("GET", "/fabrics/none", "", "Accept-Encoding", "gzip").want(404, "not-found")
	for accept, want := range map[string]bool{"gzip": true, "*": true, "gzip;q=0, *": false, "br": false, "": false, "GZIP": true, "gzip;q=x": false, "*;q=0": false} {
		if takes(accept, "gzip") != want {
			t.Errorf("Accept-Encoding %q: taken for %v", accept, !want)
		}
	}
}

func TestHostileBodiesAreRefused(t *testing.T) {
	t.Parallel()
	r := managed(t)
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, c := range map[string]struct {
		body, code string
		status     int
	}{
		"too deep":                {`{"name":"a","weight":1,"classes":` + deep(100000) + `}`, "malformed-body", 400},
		"deep and open":           {strings.Repeat(`{"a":`, 100000), "malformed-body", 400},
		"not UTF-8":               {"{\"name\":\"\xff\xfe\",\"weight\":1}", "malformed-body", 400},
		"character 0":             {`{"name":"a\u0000b","weight":1}`, "malformed-body", 400},
		"two values":              {`{"name":"a","weight":1}{}`, "malformed-body", 400},
		"larger than is taken":    {`{"source":"file:` + strings.Repeat("x", smallBody) + `"}`, "body-too-large", 413},
		"a list":                  {`[]`, "invalid", 422},
		"null":                    {`null`, "invalid", 422},
		"a number beyond numbers": {`{"name":"a","weight":1e999}`, "invalid", 422},
		"an escaped backslash":    {`{"name":"a\\u0000","weight":1}`, "invalid", 422},
		"brackets in a text":      {`{"name":"` + strings.Repeat("[", 100) + `","weight":1}`, "invalid", 422},
	} {
		path := "/fabrics/lab/tenants"
		if c.status == 413 {
			path = "/fabrics"
		}
		a := r.call("POST", path, c.body)
		if p := decode[gen.Problem](a); a.status != c.status || p.Code != c.code {
			t.Errorf("%s: %d %s (%v), want %d %s", name, a.status, p.Code, p.Detail, c.status, c.code)
		}
	}
	r.call("GET", "/fabrics/%ff", "").want(400, "malformed-request")
	r.call("GET", "/fabrics/a%00b", "").want(400, "malformed-request")
	r.call("POST", "/fabrics", `{"name":"a","source":"file:x"}`, "Content-Encoding", "gzip").want(415, "unsupported-media-type")
}

// sse is one event of a stream.
type sse struct{ id, kind, data, comment string }

func (e *sse) read(in *bufio.Reader) error {
	*e = sse{}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "":
			return nil
		case strings.HasPrefix(line, ":"):
			e.comment = line[1:]
		default:
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data = value
			default:
				return fmt.Errorf("line %q", line)
			}
		}
	}
}

// stream follows the events of fabric lab over the network until the context ends.
func stream(ctx context.Context, t *testing.T, srv *httptest.Server, query string, header ...string) (int, http.Header, *bufio.Reader) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/api/v1/fabrics/lab/events/stream"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	setPairs(req.Header, header)
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res.StatusCode, res.Header, bufio.NewReader(res.Body)
}

func TestEventsStreamAsTheyHappen(t *testing.T) {
	t.Parallel()
	r := managed(t)
	srv := started(t, r)
	open := func(query string, header ...string) (*bufio.Reader, func()) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		status, head, in := stream(ctx, t, srv, query, append(bearer(r.token), header...)...)
		if status != http.StatusOK || head.Get("Content-Type") != "text/event-stream" || head.Get("Content-Encoding") != "" {
			t.Fatalf("stream answers %d %v", status, head)
		}
		var first sse
		if err := first.read(in); err != nil || first.comment == "" {
			t.Fatalf("stream begins with %+v, %v", first, err)
		}
		return in, cancel
	}
	live, end := open("")
	defer end()
	filtered, endFiltered := open("?after=0&kind=tenant.")
	defer endFiltered()
	var e sse
	for _, want := range []string{"tenant.created", "tenant.created"} {
		if err := e.read(filtered); err != nil || e.kind != want {
			t.Fatalf("filtered stream has %+v, %v, want %s", e, err, want)
		}
	}
	r.call("POST", "/fabrics/lab/tenants", `{"name":"green","weight":2,"pkey":"0x8003"}`).want(201)
	for _, in := range []*bufio.Reader{live, filtered} {
		if err := e.read(in); err != nil || e.kind != "tenant.created" {
			t.Fatalf("stream has %+v, %v", e, err)
		}
		var ev gen.Event
		if err := json.Unmarshal([]byte(e.data), &ev); err != nil || ev.Subject != "green" || fmt.Sprint(ev.ID) != e.id {
			t.Fatalf("data is %s (%v)", e.data, err)
		}
	}
	r.call("DELETE", "/fabrics/lab/tenants/green", "", "If-Match", "*").want(204)
	resumed, endResumed := open("", "Last-Event-ID", e.id)
	defer endResumed()
	if err := e.read(resumed); err != nil || e.kind != "tenant.deleted" {
		t.Errorf("resumed stream has %+v, %v", e, err)
	}
	r.server.Drain()
	if err := e.read(resumed); !errors.Is(err, io.EOF) {
		t.Errorf("after the end of the service the stream has %+v, %v", e, err)
	}
}

func TestPoliciesAreRevisedByEveryChange(t *testing.T) {
	t.Parallel()
	r := managed(t)
	latest := func() gen.Policy {
		return decode[gen.PolicyList](r.call("GET", "/fabrics/lab/policies?limit=1", "").want(200)).Items[0]
	}
	if p := latest(); p.Revision != 1 || p.Tenants != 2 || p.Flows != 2 {
		t.Fatalf("first revision is %+v", p)
	}
	r.call("PUT", "/fabrics/lab/tenants/red", `{"weight":7,"pkey":"0x8001","attachments":[{"port":"h1"},{"port":"h4"}]}`, "If-Match", "*").want(200)
	r.call("POST", "/fabrics/lab/tenants", `{"name":"green","weight":2,"pkey":"0x8003"}`).want(201)
	r.call("PUT", "/fabrics/lab/flows", `{"flows":[{"tenant":"red","src":"h1","dst":"h4"}]}`, "If-Match", "*").want(200)
	r.call("PUT", "/fabrics/lab/options", `{"vl_arbitration":true}`, "If-Match", `"0"`).want(200)
	r.call("DELETE", "/fabrics/lab/tenants/green", "", "If-Match", "*").want(204)
	// Nothing changes, so nothing is revised.
	r.call("PUT", "/fabrics/lab/tenants/red", `{"weight":7,"pkey":"0x8001","attachments":[{"port":"h1"},{"port":"h4"}]}`, "If-Match", "*").want(200)
	if p := latest(); p.Revision != 6 || p.Tenants != 2 || p.Flows != 1 || p.Actor != control.BootstrapName {
		t.Fatalf("latest revision is %+v", p)
	}
	then := decode[gen.PolicyContent](r.call("GET", "/fabrics/lab/policies/3", "").want(200))
	if len(then.Tenants) != 3 || then.Tenants[2].Weight != 7 || len(then.Flows) != 2 || then.Options.VlArbitration != nil {
		t.Errorf("third revision holds %+v", then)
	}
	d := decode[gen.PolicyDifference](r.call("GET", "/fabrics/lab/policies/1/diff", "").want(200))
	if d.From != 6 || d.To != 1 || len(d.Changed) != 1 || d.Changed[0].Fields[0].Field != "weight" || d.Changed[0].Fields[0].After != 3.0 ||
		d.FlowsAdded.Count != 1 || d.FlowsRemoved.Count != 0 || len(d.Options) != 1 {
		t.Errorf("difference is %+v", d)
	}
	r.call("POST", "/fabrics/lab/policies/1/restore", "", "If-Match", `"5"`).want(412, "precondition-failed")
	back := decode[gen.Policy](r.call("POST", "/fabrics/lab/policies/1/restore", "", "If-Match", `"6"`).want(200))
	if back.Revision != 7 || back.Restores == nil || *back.Restores != 1 || back.Flows != 2 {
		t.Errorf("restored revision is %+v", back)
	}
	if d := decode[gen.PolicyDifference](r.call("GET", "/fabrics/lab/policies/1/diff", "").want(200)); len(d.Changed)+len(d.Added)+len(d.Removed)+len(d.Options)+d.FlowsAdded.Count != 0 {
		t.Errorf("after the restoration: %+v", d)
	}
	if again := decode[gen.Policy](r.call("POST", "/fabrics/lab/policies/1/restore", "").want(200)); again.Revision != 7 {
		t.Errorf("restored again: %+v", again)
	}
	labelled := decode[gen.Policy](r.call("PUT", "/fabrics/lab/policies/7/label", `{"label":"as before"}`).want(200))
	if labelled.Label == nil || *labelled.Label != "as before" {
		t.Errorf("label is %v", labelled.Label)
	}
	r.call("PUT", "/fabrics/lab/policies/7/label", `{"label":"a\nb"}`).want(422, "invalid")
	r.call("GET", "/fabrics/lab/policies/99", "").want(404, "not-found")
	r.call("PUT", "/fabrics/lab/options", `{"profile":"connectx-6"}`, "If-Match", "*").want(422, "invalid")
}

// TestEmptyListOfReservedServiceLevelsDiffersFromOmission follows an empty list through requests, store, plans and answers.
// If it were dropped, SL 15 would be reserved, and the advice to free it could not be followed.
func TestEmptyListOfReservedServiceLevelsDiffersFromOmission(t *testing.T) {
	t.Parallel()
	r := managed(t)
	reserved := func(o gen.CompileOptions, want bool, what string) {
		t.Helper()
		if (o.ReservedSls != nil) != want || len(o.ReservedSls) != 0 {
			t.Errorf("%s: reserved SLs are %#v: want them said: %v", what, o.ReservedSls, want)
		}
	}
	reserved(decode[gen.CompileOptions](r.call("GET", "/fabrics/lab/options", "").want(200)), false, "before")
	reserved(decode[gen.CompileOptions](r.call("PUT", "/fabrics/lab/options", `{"reserved_sls":[]}`, "If-Match", "*").want(200)), true, "put")
	reserved(decode[gen.CompileOptions](r.call("GET", "/fabrics/lab/options", "").want(200)), true, "got")
	plan := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{}`).want(201))
	reserved(decode[gen.Plan](r.call("GET", "/fabrics/lab/plans/"+plan.Name, "").want(200)).Options, true, "of the plan")
	r.call("PUT", "/fabrics/lab/options", `{"plane":"roce","reserved_sls":[]}`, "If-Match", "*").want(422, "invalid")
	reserved(decode[gen.CompileOptions](r.call("PUT", "/fabrics/lab/options", `{}`, "If-Match", "*").want(200)), false, "after")
}

func TestPartsOfATenantHaveIndependentTags(t *testing.T) {
	t.Parallel()
	r := managed(t)
	const red = "/fabrics/lab/tenants/red"
	list := decode[gen.AttachmentList](r.call("GET", red+"/attachments?limit=1", "").want(200))
	if len(list.Items) != 1 || list.NextCursor == nil {
		t.Fatalf("attachments are %+v", list)
	}
	made := r.call("POST", red+"/attachments", `{"port":"h2","sl":3}`).want(201)
	at := decode[gen.Attachment](made)
	if made.header.Get("Location") != "/api/v1"+red+"/attachments/"+at.Port {
		t.Errorf("Location is %s", made.header.Get("Location"))
	}
	r.call("POST", red+"/attachments", `{"port":"h2"}`).want(409, "already-exists")
	r.call("POST", red+"/attachments", `{"port":"nowhere"}`).want(422, "invalid")
	got := r.call("GET", red+"/attachments/"+at.Port, "").want(200)
	tag := got.header.Get("ETag")
	r.call("PUT", "/fabrics/lab/tenants/red", `{"weight":7,"pkey":"0x8001","attachments":[{"port":"h1"},{"port":"h2","sl":3},{"port":"h4"}]}`, "If-Match", "*").want(200)
	put := r.call("PUT", red+"/attachments/h2", `{"sl":4}`, "If-Match", tag).want(200) // a change of the weight does not affect the attachment
	r.call("GET", red+"/attachments/h2%2FP1", "").want(200)                            // as tables print it
	r.call("GET", red+"/attachments/h2%2FP9", "").want(404, "not-found")
	r.call("GET", red+"%2F..%2Fblue", "").want(422, "invalid")
	r.call("PUT", red+"/attachments/h2", `{}`, "If-Match", tag).want(412, "precondition-failed")
	r.call("PUT", red+"/attachments/h2", `{}`).want(428, "precondition-required")
	for _, none := range []string{`"*"`, `W/"1"`, "nonsense"} {
		r.call("DELETE", red+"/attachments/h2", "", "If-Match", none).want(412, "precondition-failed")
	}
	r.call("DELETE", red+"/attachments/h2", "", "If-Match", put.header.Get("ETag")).want(204)
	r.call("DELETE", red+"/attachments/h2", "", "If-Match", "*").want(404, "not-found")
	r.call("DELETE", red+"/attachments/h4", "", "If-Match", "*").want(409, "in-use")

	// Flows without a class belong to no class of a tenant.
	r.call("POST", red+"/classes", `{"name":"bulk","weight":2}`).want(422, "invalid")
	r.call("PUT", "/fabrics/lab/flows", `{"flows":[]}`, "If-Match", "*").want(200)
	r.call("POST", red+"/classes", `{"name":"bulk","weight":2}`).want(201)
	r.call("POST", red+"/classes", `{"name":"bulk","weight":2}`).want(409, "already-exists")
	class := r.call("GET", red+"/classes/bulk", "").want(200)
	r.call("PUT", red+"/classes/bulk", `{"weight":5}`, "If-Match", class.header.Get("ETag")).want(200)
	r.call("PUT", red+"/classes/bulk", `{"weight":6}`, "If-Match", class.header.Get("ETag")).want(412, "precondition-failed")
	if l := decode[gen.ClassList](r.call("GET", red+"/classes", "").want(200)); len(l.Items) != 1 || l.Items[0].Weight != 5 {
		t.Errorf("classes are %+v", l)
	}
	r.call("DELETE", red+"/classes/bulk", "", "If-Match", "*").want(204)
	r.call("GET", red+"/classes/bulk", "").want(404, "not-found")
}

func TestPlansAreComparedAndExplained(t *testing.T) {
	t.Parallel()
	r := managed(t)
	a := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{}`).want(201))
	if a.Policy == nil || *a.Policy != 1 {
		t.Errorf("plan is of revision %v", a.Policy)
	}
	r.call("PUT", "/fabrics/lab/tenants/red", `{"weight":9,"pkey":"0x8001","attachments":[{"port":"h1"},{"port":"h4"}]}`, "If-Match", "*").want(200)
	b := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{}`).want(201))
	d := decode[gen.PlanDifference](r.call("GET", "/fabrics/lab/plans/"+b.Name+"/diff?against="+a.Name, "").want(200))
	if d.From != a.Name || d.To != b.Name || len(d.Tenants) != 2 || d.Tenants[1].After.Weight != 9 {
		t.Errorf("difference is %+v", d)
	}
	r.call("GET", "/fabrics/lab/plans/"+b.Name+"/diff", "").want(409, "no-plan")
	again := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{"policy":1,"keep_placements":true}`).want(200))
	if again.Name != a.Name {
		t.Errorf("the first revision gives plan %s now, %s before", again.Name, a.Name)
	}
	why := decode[gen.ExplanationList](r.call("GET", "/fabrics/lab/plans/"+b.Name+"/explain?tenant=red", "").want(200))
	if len(why.Items) == 0 || len(why.Items[0].Reasons) == 0 {
		t.Errorf("explanation is %+v", why)
	}
	r.call("GET", "/fabrics/lab/plans/"+b.Name+"/explain?tenant=nobody", "").want(422, "invalid")
	if page := decode[gen.ExplanationList](r.call("GET", "/fabrics/lab/plans/"+b.Name+"/explain?limit=1", "").want(200)); len(page.Items) != 1 || page.NextCursor == nil {
		t.Errorf("page is %+v", page)
	}
	w := decode[gen.WhatIf](r.call("POST", "/fabrics/lab/plans/what-if", `{"edits":["weight:blue=9"]}`).want(200))
	if w.Before.Name != b.Name || w.After.Name == b.Name || len(w.Difference.Tenants) == 0 {
		t.Errorf("what if: %+v", w)
	}
	r.call("POST", "/fabrics/lab/plans/what-if", `{"edits":["weight:nobody=9","nonsense"]}`).want(422, "invalid")
	admit := "/fabrics/lab/plans/admit"
	n := decode[gen.Admission](r.call("POST", admit, `{"tenant":"green","weight":2,"guarantee_bps":99000000000,"ports":["h1","h2"]}`).want(200))
	if n.Verdict == gen.AdmissionVerdictNo || len(n.Tenants) != 3 || n.Tenants[0].Weight != 2 || n.Fits.GuaranteeBps != 99e9 {
		t.Errorf("admission: %+v", n)
	}
	n = decode[gen.Admission](r.call("POST", admit, `{"tenant":"green","weight":2,"guarantee_bps":99000000001,"ports":["h1","h2"]}`).want(200))
	if n.Verdict != gen.AdmissionVerdictNo || len(n.Guarantees) != 1 || n.Guarantees[0].Status != gen.GuaranteeCheckStatusBroken {
		t.Errorf("admission: %+v", n)
	}
	for body, pointer := range map[string]string{
		`{"tenant":"red","weight":2,"ports":["h1","h2"]}`:                          "/tenant",
		`{"tenant":"green","weight":2,"ports":["h1","nowhere"]}`:                   "/ports",
		`{"tenant":"green","weight":2,"guarantee_bps":10,"ports":["h1","h2"]}`:     "/guarantee_bps",
		`{"tenant":"green","weight":2,"cap_bps":10,"ports":["h1"],"to":["h2"]}`:    "/cap_bps",
		`{"tenant":"green","weight":2,"ports":["h1"],"to":["nowhere"]}`:            "/to",
		`{"tenant":"green","ports":["h1","h2"]}`:                                   "/weight",
		`{"tenant":"green","weight":2.0001,"ports":["h1","h2"]}`:                   "/weight",
		`{"tenant":"green","weight":2,"ports":["h1","h2"],"qps":65537}`:            "/qps",
		`{"tenant":"green","weight":2,"ports":["h1","h2"],"options":{"mode":"x"}}`: "/options/mode",
	} {
		p := decode[gen.Problem](r.call("POST", admit, body).want(422, "invalid"))
		if p.Errors == nil || len(p.Errors) != 1 || p.Errors[0].Pointer != pointer {
			t.Errorf("%s: %+v, want a fault at %s", body, p, pointer)
		}
	}
	if tenants := decode[gen.TenantList](r.call("GET", "/fabrics/lab/tenants", "").want(200)); len(tenants.Items) != 2 {
		t.Errorf("an admission was kept: %+v", tenants.Items)
	}
	roce := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans?dry_run=true", `{"options":{"plane":"roce"}}`).want(200))
	if roce.Plane != gen.PlanPlaneRoce || roce.Roce == nil {
		t.Errorf("plan for the plane roce is %+v", roce)
	}
}

// extended are operations that tests of their own cover, here and in tasks_test.go.
func extended() map[string]bool {
	return map[string]bool{
		"updateFabric": true, "whatIf": true, "admitTenant": true, "diffPlans": true, "explainPlan": true, "getTiers": true, "listLinks": true,
		"listAttachments": true, "addAttachment": true, "getAttachment": true, "putAttachment": true, "deleteAttachment": true,
		"listClasses": true, "addClass": true, "getClass": true, "putClass": true, "deleteClass": true,
		"listShares": true, "measureShares": true,
		"listMaintenance": true, "addMaintenance": true, "getMaintenance": true, "putMaintenance": true, "cancelMaintenance": true, "listTenantMaintenance": true,
	}
}
