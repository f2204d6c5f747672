package api

import (
	"strconv"
	"strings"
	"testing"

	"fairlane/api/gen"
)

func TestSilencesAreAddedListedAndEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	body := `{"matchers":["alertname=~\"Share.*\"","fabric=lab"],"ends_at":"2026-11-21T12:00:00Z","comment":"maintenance"}`
	if s := decode[gen.Silence](r.call("POST", "/silences?dry_run=true", body).want(201)); s.State != gen.SilenceStateActive {
		t.Errorf("a dry run gives %+v", s)
	}
	if list := decode[gen.SilenceList](r.call("GET", "/silences", "").want(200)); len(list.Items) != 0 {
		t.Errorf("a dry run left %+v", list)
	}
	made := decode[gen.Silence](r.call("POST", "/silences", body).want(201))
	if made.Author != "admin" || made.State != gen.SilenceStateActive || strings.Join(made.Matchers, " ") != `alertname=~"Share.*" fabric="lab"` {
		t.Errorf("made %+v", made)
	}
	if list := decode[gen.SilenceList](r.call("GET", "/silences", "").want(200)); len(list.Items) != 1 || list.Items[0].ID != made.ID {
		t.Errorf("list is %+v", list)
	}
	for range 2 {
		r.call("DELETE", "/silences/"+strconv.FormatInt(made.ID, 10), "").want(204)
	}
	if list := decode[gen.SilenceList](r.call("GET", "/silences", "").want(200)); len(list.Items) != 0 {
		t.Errorf("list is %+v", list)
	}
	if list := decode[gen.SilenceList](r.call("GET", "/silences?expired=true", "").want(200)); len(list.Items) != 1 || list.Items[0].State != gen.SilenceStateExpired {
		t.Errorf("list is %+v", list)
	}
	r.call("DELETE", "/silences/999", "").want(404, "not-found")
	for _, bad := range []string{
		strings.Replace(body, "fabric=lab", "fabric", 1), strings.Replace(body, "2026-11-21T12", "2026-11-21T09", 1), strings.Replace(body, "maintenance", " ", 1),
	} {
		r.call("POST", "/silences", bad).want(422, "invalid")
	}
}
