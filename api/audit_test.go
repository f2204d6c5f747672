package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fairlane/api/gen"
	"fairlane/internal/audit"
	"fairlane/internal/control"
)

func decodeAudit(t *testing.T, a answer) gen.AuditList {
	t.Helper()
	var list gen.AuditList
	if err := json.Unmarshal(a.body, &list); err != nil || a.status != http.StatusOK {
		t.Fatalf("answered %d: %s", a.status, a.body)
	}
	return list
}

func TestTheAuditLogIsListedWithWhoAndFromWhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Lab(t)
	got := r.call(http.MethodGet, "/fabrics/lab/tenants/red", "")
	weight := strings.Replace(string(got.body), `"weight":3`, `"weight":7`, 1)
	var in map[string]any
	if err := json.Unmarshal([]byte(weight), &in); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"weight": in["weight"], "pkey": in["pkey"]})
	if err != nil {
		t.Fatal(err)
	}
	if a := r.call(http.MethodPut, "/fabrics/lab/tenants/red", string(body), "If-Match", got.header.Get("ETag"), "X-Request-ID", "chosen-7"); a.status != http.StatusOK {
		t.Fatalf("update answered %d: %s", a.status, a.body)
	}
	list := decodeAudit(t, r.call(http.MethodGet, "/audit?action=tenant.&fabric=lab&limit=1", ""))
	if len(list.Items) != 1 || list.NextCursor == nil {
		t.Fatalf("list is %+v", list)
	}
	e := list.Items[0]
	if e.Action != "tenant.updated" || e.Object != "red" || e.Actor != control.BootstrapName || deref(e.RequestID) != "chosen-7" || deref(e.Addr) == "" || e.Before == nil || e.After == nil || e.Outcome != gen.AuditOutcomeDone {
		t.Errorf("entry is %+v", e)
	}
	older := decodeAudit(t, r.call(http.MethodGet, "/audit?action=tenant.&fabric=lab&limit=1&cursor="+url.QueryEscape(*list.NextCursor), ""))
	if len(older.Items) != 1 || older.Items[0].Seq >= e.Seq {
		t.Errorf("the next page is %+v", older)
	}
	none := decodeAudit(t, r.call(http.MethodGet, "/audit?actor=nobody&since=2026-11-21T00:00:00Z&outcome=refused&object=x", ""))
	if len(none.Items) != 0 {
		t.Errorf("nobody did %+v", none)
	}
}

// TestWhatTheAPIListsVerifiesElsewhere recomputes the chain from the bytes of the answers.
func TestWhatTheAPIListsVerifiesElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Lab(t)
	var v audit.Verifier
	path := "/audit?order=oldest&limit=2"
	for next := path; next != ""; {
		var page struct {
			Items      []audit.Entry `json:"items"`
			NextCursor string        `json:"next_cursor"`
		}
		a := r.call(http.MethodGet, next, "")
		if err := json.Unmarshal(a.body, &page); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
		for _, e := range page.Items {
			if err := v.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if next = ""; page.NextCursor != "" {
			next = path + "&cursor=" + url.QueryEscape(page.NextCursor)
		}
	}
	var report gen.AuditReport
	a := r.call(http.MethodGet, "/audit/verify?expect="+v.Tail().String(), "")
	if err := json.Unmarshal(a.body, &report); err != nil || !report.Ok || report.Tail != v.Tail().String() || report.Entries < 3 {
		t.Errorf("the service's check says %s, ours ends with %s", a.body, v.Tail())
	}
	other := v.Tail()
	other.Hash[0]++
	a = r.call(http.MethodGet, "/audit/verify?expect="+other.String(), "")
	report = gen.AuditReport{}
	if err := json.Unmarshal(a.body, &report); err != nil || report.Ok || report.Bad == nil || report.Bad.Seq != other.Seq {
		t.Errorf("with a memory of another chain the check says %s", a.body)
	}
}

func TestBadAuditQueriesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, query := range []string{
		"?since=yesterday", "?order=random", "?outcome=maybe", "?limit=0", "?cursor=x", "?actor=", "?since=2026-11-21T10:00:00Z&until=2026-11-21T10:00:00Z",
		"/verify?expect=1", "/verify?expect=0:" + strings.Repeat("0", 64), "/verify?expect=1:" + strings.Repeat("g", 64),
	} {
		if a := r.call(http.MethodGet, "/audit"+query, ""); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s answered %d: %s", query, a.status, a.body)
		}
	}
}

func TestFaultsOfTheDatabaseAreProblemsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"storage-full", "storage-read-only", "storage-unavailable"} {
		p := classify(&control.UnavailableError{Code: code, Detail: "words for people", Err: errors.New("dial db.internal: refused")})
		if p.code != code || p.detail != "words for people" || kinds()[code].status != http.StatusServiceUnavailable {
			t.Errorf("%s is told as %+v", code, p)
		}
	}
}
