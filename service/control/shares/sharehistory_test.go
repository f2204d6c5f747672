package shares_test

import (
	"strings"
	"testing"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
)

// TestOldMeasurementsShowNoNumberWhenNotMeasured reads rows of earlier managers, which stored 0 for values
// that were not measured.
func TestOldMeasurementsShowNoNumberWhenNotMeasured(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	body := `{"Plan":"p","Window":100000000,"MeasuredAt":"2026-11-21T10:00:00Z","MaxShareError":MAX,"Jain":JAIN,"Tenants":[
		{"Tenant":"blue","Weight":1000,"Entitled":0,"Delivered":5,"ShareError":0,"Problem":""},
		{"Tenant":"red","Weight":3000,"Entitled":75,"Delivered":0,"ShareError":0,"Problem":"counter at its end"}GREEN],"Links":[
		{"Name":"a","Capacity":100,"Delivered":0,"Use":0,"Problem":"port unread"},{"Name":"b","Capacity":100,"Delivered":40,"Use":0.4,"Problem":""}]}`
	for _, c := range []struct {
		max, jain, green string
		known            bool
	}{
		{"0", "0", "", false},
		{"0.1", "0.9", `,{"Tenant":"green","Weight":1000,"Entitled":20,"Delivered":18,"ShareError":0.1,"Problem":""}`, true},
	} {
		err := r.Store.Tx(t.Context(), func(repos control.Repos) error {
			text := strings.NewReplacer("MAX", c.max, "JAIN", c.jain, "GREEN", c.green).Replace(body)
			return repos.AddShares(t.Context(), "lab", time.Now(), []byte(text), 100)
		})
		if err != nil {
			t.Fatal(err)
		}
		sh, err := r.Service.LatestShares(t.Context(), "lab")
		if err != nil {
			t.Fatal(err)
		}
		blue, red := sh.Tenants[0], sh.Tenants[1]
		if blue.Delivered == nil || *blue.Delivered != 5 || blue.ShareError != nil || red.Delivered != nil || red.ShareError != nil {
			t.Errorf("tenants are %+v, %+v", blue, red)
		}
		if a, b := sh.Links[0], sh.Links[1]; a.Delivered != nil || a.Use != nil || *b.Delivered != 40 || *b.Use != 0.4 {
			t.Errorf("links are %+v, %+v", a, b)
		}
		if (sh.MaxShareError != nil) != c.known || (sh.Jain != nil) != c.known || sh.Complete() {
			t.Errorf("worst share error %v, Jain index %v, complete %t", sh.MaxShareError, sh.Jain, sh.Complete())
		}
		if tenants, links := sh.Missing(); tenants != 1 || links != 1 {
			t.Errorf("%d tenants and %d links are missing, want one each", tenants, links)
		}
	}
}

// TestIncompleteMeasurementIsReportedAsSuch checks the stored row, the event and a tenant's view.
func TestIncompleteMeasurementIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	first, err := r.Service.ReadShares(t.Context(), "lab", "", time.Second)
	if err != nil || len(first.Tenants) == 0 {
		t.Fatalf("shares %+v, %v", first, err)
	}
	for _, x := range first.Tenants {
		r.Devices.Unmeasured(x.Tenant, phrase.Of("measure.sl-cleared", "sl", 1))
	}
	sh, err := r.Service.MeasureShares(t.Context(), "lab", "", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := r.Service.LatestShares(t.Context(), "lab")
	if err != nil || kept.Complete() || sh.Complete() {
		t.Errorf("complete: measured %t, kept %t, %v", sh.Complete(), kept.Complete(), err)
	}
	list, _, err := r.Service.Events(t.Context(), "lab", 0, control.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	last := list[len(list)-1]
	if last.Kind != "shares.measured" || !strings.Contains(last.Said.String(), "not measured: 1 of ") || !strings.Contains(string(last.Data), `"tenants_not_measured":1`) {
		t.Errorf("event %s: %s %s", last.Kind, last.Said.String(), last.Data)
	}
}
