package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
	"fairlane/service/audit"
	"fairlane/service/control"
)

func TestAuditLogListsActorAndOrigin(t *testing.T) {
	t.Parallel()
	r := managed(t)
	got := r.call(http.MethodGet, "/fabrics/lab/tenants/red", "")
	r.call(http.MethodPut, "/fabrics/lab/tenants/red", `{"weight":7,"pkey":"0x8001"}`, "If-Match", got.header.Get("ETag"), "X-Request-ID", "chosen-7").want(200)
	list := decode[gen.AuditList](r.call(http.MethodGet, "/audit?action=tenant.&fabric=lab&limit=1", "").want(200))
	if len(list.Items) != 1 || list.NextCursor == nil {
		t.Fatalf("list is %+v", list)
	}
	e := list.Items[0]
	if e.Action != "tenant.updated" || e.Object != "red" || e.Actor != control.BootstrapName || deref(e.RequestID) != "chosen-7" || deref(e.Addr) == "" || e.Before == nil || e.After == nil || e.Outcome != gen.AuditOutcomeDone {
		t.Errorf("entry is %+v", e)
	}
	older := decode[gen.AuditList](r.call(http.MethodGet, "/audit?action=tenant.&fabric=lab&limit=1&cursor="+url.QueryEscape(*list.NextCursor), "").want(200))
	if len(older.Items) != 1 || older.Items[0].Seq >= e.Seq {
		t.Errorf("the next page is %+v", older)
	}
	none := decode[gen.AuditList](r.call(http.MethodGet, "/audit?actor=nobody&since=2026-11-21T00:00:00Z&outcome=refused&object=x", "").want(200))
	if len(none.Items) != 0 {
		t.Errorf("unexpected entries %+v", none)
	}
}

func TestAuditEntryIsReadByItsNumber(t *testing.T) {
	t.Parallel()
	r := managed(t)
	all := decode[gen.AuditList](r.call(http.MethodGet, "/audit?order=oldest", "").want(200)).Items
	if len(all) < 3 {
		t.Fatalf("the log has %d entries", len(all))
	}
	for _, want := range all {
		got := decode[gen.AuditList](r.call(http.MethodGet, fmt.Sprintf("/audit?seq=%d", want.Seq), "").want(200))
		if len(got.Items) != 1 || got.Items[0].Seq != want.Seq || got.Items[0].Hash != want.Hash || got.NextCursor != nil {
			t.Errorf("entry %d is %+v", want.Seq, got)
		}
	}
	last := all[len(all)-1].Seq
	if got := decode[gen.AuditList](r.call(http.MethodGet, fmt.Sprintf("/audit?seq=%d", last+1), "").want(200)); len(got.Items) != 0 {
		t.Errorf("an entry that does not exist is %+v", got.Items)
	}
}

// TestListedAuditEntriesVerifyOutsideTheService recomputes the chain from the bytes of the answers.
func TestListedAuditEntriesVerifyOutsideTheService(t *testing.T) {
	t.Parallel()
	r := managed(t)
	var v audit.Verifier
	path := "/audit?order=oldest&limit=2"
	for next := path; next != ""; {
		page := decode[struct {
			Items      []audit.Entry `json:"items"`
			NextCursor string        `json:"next_cursor"`
		}](r.call(http.MethodGet, next, "").want(200))
		for _, e := range page.Items {
			if err := v.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if next = ""; page.NextCursor != "" {
			next = path + "&cursor=" + url.QueryEscape(page.NextCursor)
		}
	}
	report := decode[gen.AuditReport](r.call(http.MethodGet, "/audit/verify?expect="+v.Tail().String(), "").want(200))
	if !report.Ok || report.Tail != v.Tail().String() || report.Entries < 3 {
		t.Errorf("the service's check says %+v, ours ends with %s", report, v.Tail())
	}
	other := v.Tail()
	other.Hash[0]++
	report = decode[gen.AuditReport](r.call(http.MethodGet, "/audit/verify?expect="+other.String(), "").want(200))
	if report.Ok || report.Bad == nil || report.Bad.Seq != other.Seq {
		t.Errorf("with a memory of another chain the check says %+v", report)
	}
}

func TestBadAuditQueriesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, query := range []string{
		"?seq=0", "?seq=-1", "?seq=last", "?seq=9223372036854775808", "?since=yesterday", "?order=random", "?outcome=maybe", "?limit=0", "?cursor=x", "?actor=", "?since=2026-11-21T10:00:00Z&until=2026-11-21T10:00:00Z",
		"/verify?expect=1", "/verify?expect=0:" + strings.Repeat("0", 64), "/verify?expect=1:" + strings.Repeat("g", 64),
	} {
		r.call(http.MethodGet, "/audit"+query, "").want(422, "invalid")
	}
}

func TestDatabaseFailuresHaveTheirOwnProblems(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"storage-full", "storage-read-only", "storage-unavailable"} {
		p := classify(&control.UnavailableError{Code: code, Said: phrase.Of("problem.database-full"), Err: errors.New("dial db.internal: refused")})
		if p.code != code || p.said.ID != "problem.database-full" || kinds()[code].status != http.StatusServiceUnavailable {
			t.Errorf("%s is reported as %+v", code, p)
		}
	}
}
