package api

import (
	"strings"
	"testing"
	"time"

	"fairlane/api/gen"
	"fairlane/service/control/controltest"
)

func TestMaintenanceIsAnnouncedChangedAndCanceled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("POST", "/fabrics", `{"name":"lab","source":"`+controltest.Source+`"}`).want(201)
	r.call("POST", "/fabrics/lab/discover", "").want(200)
	r.call("POST", "/fabrics/lab/tenants", `{"name":"red","weight":1,"pkey":"0x8001","attachments":[{"port":"h1"}]}`).want(201)
	r.call("POST", "/fabrics/lab/tenants", `{"name":"blue","weight":1,"pkey":"0x8002","attachments":[{"port":"h2"}]}`).want(201)
	const list, body = "/fabrics/lab/maintenance", `{"starts_at":"2099-12-01T20:00:30Z","ends_at":"2099-12-01T22:00:00Z","text":{"en":"<b>firmware</b>"},"scope":{"places":["h1"]}}`
	soon := strings.ReplaceAll(body, "2099-12-01", time.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly))
	preview := decode[gen.Maintenance](r.call("POST", list+"?dry_run=true", soon).want(201))
	if strings.Join(preview.Touches, " ") != "red" || preview.State != gen.MaintenanceStatePlanned {
		t.Errorf("preview is %+v", preview)
	}
	if got := decode[gen.MaintenanceList](r.call("GET", list, "").want(200)); len(got.Items) != 0 {
		t.Fatalf("a dry run announced %+v", got.Items)
	}
	first := r.call("POST", list, soon, "Idempotency-Key", "one").want(201)
	again := r.call("POST", list, soon, "Idempotency-Key", "one").want(201)
	made := decode[gen.Maintenance](first)
	if made.ID != decode[gen.Maintenance](again).ID || made.StartsAt.Second() != 0 || first.header.Get("Location") != "/api/v1"+list+"/"+made.ID {
		t.Errorf("announced %+v at %s", made, first.header.Get("Location"))
	}
	at := list + "/" + made.ID
	tag := r.call("GET", at, "").want(200).header.Get("ETag")
	r.call("PUT", at, soon).want(428, "precondition-required")
	wide := strings.Replace(soon, `{"places":["h1"]}`, `{}`, 1)
	if got := decode[gen.Maintenance](r.call("PUT", at, wide, "If-Match", tag).want(200)); len(got.Touches) != 2 || got.Version != 2 {
		t.Errorf("changed to %+v", got)
	}
	r.call("PUT", at, wide, "If-Match", tag).want(412, "precondition-failed")
	notices := decode[gen.MaintenanceNoticeList](r.call("GET", "/fabrics/lab/tenants/blue/maintenance", "").want(200))
	if len(notices.Items) != 1 || *notices.Items[0].Text.En != "<b>firmware</b>" || notices.Items[0].ID != made.ID {
		t.Errorf("blue's notices are %+v", notices.Items)
	}
	r.call("DELETE", at, "", "If-Match", tag).want(412, "precondition-failed")
	r.call("DELETE", at, "", "If-Match", "*").want(204)
	r.call("DELETE", at, "", "If-Match", "*").want(204)
	r.call("PUT", at, wide, "If-Match", "*").want(409, "maintenance-over")
	if got := decode[gen.MaintenanceList](r.call("GET", list, "").want(200)); len(got.Items) != 0 {
		t.Errorf("open maintenance is %+v", got.Items)
	}
	if got := decode[gen.MaintenanceList](r.call("GET", list+"?ended=true", "").want(200)); len(got.Items) != 1 || got.Items[0].State != gen.MaintenanceStateCanceled {
		t.Errorf("all maintenance is %+v", got.Items)
	}
	r.call("GET", list+"/m-000000000000", "").want(404, "not-found")
	for _, bad := range []string{
		strings.Replace(soon, "<b>firmware</b>", "hosts of blue", 1), strings.Replace(soon, `"h1"`, `"h9"`, 1), strings.Replace(soon, "22:00", "20:00", 1),
		strings.Replace(soon, "<b>firmware</b>", strings.Repeat("x", 501), 1), body,
	} {
		r.call("POST", list, bad).want(422, "invalid")
	}
}
