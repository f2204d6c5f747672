package api

import (
	"strings"
	"testing"
	"time"

	"fairlane/api/gen"
)

// ended waits for a task's job and returns its GET answer.
func (r *rig) ended(location string) answer {
	r.t.Helper()
	r.Wait()
	return r.call("GET", strings.TrimPrefix(location, "/api/v1"), "").want(200)
}

func TestSimulationsRunAndAreKept(t *testing.T) {
	t.Parallel()
	r := managed(t)
	plan := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{}`).want(201)).Name
	for body, want := range map[string]struct {
		state gen.TaskState
		text  string
	}{
		`{"fabric":"lab","plan":"` + plan[:8] + `","seed":7}`: {"succeeded", `"seed":7`},
		`{"scenario":"good"}`:  {"succeeded", `"jain":1`},
		`{"scenario":"bad"}`:   {"failed", "deadlock"},
		`{"scenario":"large"}`: {"failed", "at most"},
	} {
		made := r.call("POST", "/simulations", body).want(202)
		if s := decode[gen.Simulation](made); s.State != "queued" || s.Actor != "admin" {
			t.Errorf("%s begins as %+v", body, s)
		}
		a := r.ended(made.header.Get("Location"))
		s := decode[gen.Simulation](a)
		if s.State != want.state || !strings.Contains(string(a.body), want.text) || s.StartedAt == nil || s.FinishedAt == nil || s.State == "succeeded" && s.Progress != 1 {
			t.Errorf("%s ends as %s", body, a.body)
		}
	}
	if list := decode[gen.SimulationList](r.call("GET", "/simulations?limit=2", "").want(200)); len(list.Items) != 2 || list.NextCursor == nil || list.Items[0].Result != nil {
		t.Errorf("list is %+v", list)
	}
	for _, body := range []string{
		`{}`, `{"scenario":"unknown"}`, `{"fabric":"lab"}`, `{"plan":"` + plan + `"}`, `{"scenario":"good","fabric":"lab","plan":"` + plan + `"}`,
		`{"scenario":"good","before":true}`,
	} {
		r.call("POST", "/simulations", body).want(422, "invalid")
	}
	r.call("POST", "/simulations", `{"fabric":"lab","plan":"abcdef"}`).want(404, "not-found")
	r.call("GET", "/simulations/99", "").want(404, "not-found")
	r.call("GET", "/calibrations/1", "").want(404, "not-found") // that number is a simulation's
}

func TestASimulationCanBeCanceled(t *testing.T) {
	t.Parallel()
	r := managed(t)
	made := r.call("POST", "/simulations", `{"scenario":"long"}`).want(202)
	at := strings.TrimPrefix(made.header.Get("Location"), "/api/v1")
	r.call("POST", at+"/cancel", "").want(202)
	if s := decode[gen.Simulation](r.ended(made.header.Get("Location"))); s.State != "canceled" || s.FinishedAt == nil {
		t.Errorf("canceled simulation is %+v", s)
	}
	if s := decode[gen.Simulation](r.call("POST", at+"/cancel", "").want(202)); s.State != "canceled" {
		t.Errorf("canceled again: %+v", s)
	}
}

func TestTasksAreBoundedBySettings(t *testing.T) {
	t.Parallel()
	r := managed(t)
	r.call("PUT", "/settings", `{"tasks":{"keep":2,"limit":1}}`, "If-Match", `"0"`).want(200)
	long := r.call("POST", "/simulations", `{"scenario":"long"}`).want(202)
	r.call("POST", "/calibrations", `{"profile":"good"}`).want(409, "too-many-tasks")
	r.call("POST", strings.TrimPrefix(long.header.Get("Location"), "/api/v1")+"/cancel", "").want(202)
	r.Wait()
	for range 4 {
		r.ended(r.call("POST", "/simulations", `{"scenario":"good"}`).want(202).header.Get("Location"))
	}
	if list := decode[gen.SimulationList](r.call("GET", "/simulations", "").want(200)); len(list.Items) != 3 {
		t.Errorf("%d simulations are kept, want the newest and two that had ended before it", len(list.Items))
	}
}

func TestCalibrationsRunAndAreKept(t *testing.T) {
	t.Parallel()
	r := managed(t)
	made := r.call("POST", "/calibrations", `{"profile":"good","quick":true,"seed":3}`).want(202)
	c := decode[gen.Calibration](r.ended(made.header.Get("Location")))
	if c.State != "succeeded" || c.Result["runs"] != 3.0 || !c.Quick || c.Seed != 3 {
		t.Errorf("calibration is %+v", c)
	}
	if list := decode[gen.CalibrationList](r.call("GET", "/calibrations", "").want(200)); len(list.Items) != 1 {
		t.Errorf("list is %+v", list)
	}
	r.call("POST", "/calibrations/1/cancel", "").want(202)
	r.call("POST", "/calibrations", `{"profile":"other"}`).want(422, "invalid")
	before := r.call("GET", "/calibrations", "").body
	r.call("POST", "/calibrations?dry_run=true", `{"profile":"good"}`).want(202)
	if after := r.call("GET", "/calibrations", "").body; string(after) != string(before) {
		t.Errorf("a dry run left a calibration: %s", after)
	}
}

func TestSettingsHaveDefaultsAndVersions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.call("GET", "/settings", "").want(200)
	s := decode[gen.Settings](first)
	if *s.Shares.WindowMs != 100 || *s.Tasks.Limit != 100 || *s.Shares.IntervalS != 0 || s.Version != 0 || s.UpdatedAt != nil || first.header.Get("ETag") != `"0"` {
		t.Errorf("defaults are %s", first.body)
	}
	put := r.call("PUT", "/settings", `{"tasks":{"keep":30},"shares":{"interval_s":60}}`, "If-Match", `"0"`).want(200)
	if s := decode[gen.Settings](put); *s.Tasks.Keep != 30 || *s.Tasks.Limit != 100 || *s.Shares.IntervalS != 60 || s.Version != 1 {
		t.Errorf("settings are %s", put.body)
	}
	r.call("PUT", "/settings", `{}`, "If-Match", `"0"`).want(412, "precondition-failed")
	r.call("PUT", "/settings", `{}`).want(428, "precondition-required")
	for _, body := range []string{`{"shares":{"interval_s":5}}`, `{"shares":{"window_ms":0}}`, `{"tasks":{"keep":-1}}`, `{"colour":"red"}`} {
		r.call("PUT", "/settings", body, "If-Match", "*").want(422, "invalid")
	}
}

func TestMeasurementsAreKept(t *testing.T) {
	t.Parallel()
	r := managed(t)
	plan := decode[gen.Plan](r.call("POST", "/fabrics/lab/plans", `{}`).want(201)).Name
	r.call("POST", "/fabrics/lab/shares/history", "").want(409, "no-plan")
	r.call("POST", "/fabrics/lab/shares/history?dry_run=true&plan="+plan, "").want(201)
	r.call("PUT", "/settings", `{"shares":{"keep":3}}`, "If-Match", "*").want(200)
	var last gen.Shares
	for range 5 {
		last = decode[gen.Shares](r.call("POST", "/fabrics/lab/shares/history?window_ms=20&plan="+plan, "").want(201))
	}
	list := decode[gen.SharesList](r.call("GET", "/fabrics/lab/shares/history?limit=2", "").want(200))
	if len(list.Items) != 2 || list.NextCursor == nil || !list.Items[0].MeasuredAt.Equal(last.MeasuredAt) || !list.Items[0].Complete || list.Items[0].WindowMs != 20 {
		t.Fatalf("first page is %+v", list)
	}
	rest := decode[gen.SharesList](r.call("GET", "/fabrics/lab/shares/history?cursor="+*list.NextCursor, "").want(200))
	if len(rest.Items) != 1 || rest.NextCursor != nil {
		t.Errorf("%d more are kept, want 1", len(rest.Items))
	}
	since := last.MeasuredAt.Format(time.RFC3339Nano)
	if l := decode[gen.SharesList](r.call("GET", "/fabrics/lab/shares/history?since="+since, "").want(200)); len(l.Items) != 1 {
		t.Errorf("%d measurements since the last, want 1", len(l.Items))
	}
	links := decode[gen.LinkList](r.call("GET", "/fabrics/lab/links?plan="+plan, "").want(200))
	if len(links.Items) != 4 || links.MeasuredAt == nil || links.Plan == nil {
		t.Fatalf("links are %+v", links)
	}
	var known int
	for _, l := range links.Items {
		for _, d := range l.Directions {
			if d.PredictedBps == nil || d.PredictedUse == nil || d.Use == nil || *d.Use != 0.5 {
				t.Errorf("direction is %+v", d)
			}
			known++
		}
	}
	if known == 0 {
		t.Error("no direction has a use")
	}
}

func TestTopologyByTiersAndLinks(t *testing.T) {
	t.Parallel()
	r := managed(t)
	tiers := decode[gen.Tiers](r.call("GET", "/fabrics/lab/tiers", "").want(200))
	if len(tiers.Tiers) != 2 || tiers.Tiers[0].Hosts != 4 || tiers.Tiers[1].Switches != 1 || len(tiers.Bundles) != 1 || tiers.Bundles[0].Links != 4 {
		t.Errorf("tiers are %+v", tiers)
	}
	if l := decode[gen.LinkList](r.call("GET", "/fabrics/lab/links?node=h1", "").want(200)); len(l.Items) != 1 || l.Plan != nil || l.MeasuredAt != nil {
		t.Errorf("links of h1 are %+v", l)
	}
	if l := decode[gen.LinkList](r.call("GET", "/fabrics/lab/links?tier=1&limit=3", "").want(200)); len(l.Items) != 3 || l.NextCursor == nil {
		t.Errorf("links of tier 1 are %+v", l)
	}
	if l := decode[gen.LinkList](r.call("GET", "/fabrics/lab/links?tier=5", "").want(200)); len(l.Items) != 0 {
		t.Errorf("links of tier 5 are %+v", l)
	}
	made := r.call("PUT", "/fabrics/lab", `{"source":"file:elsewhere","time_scale":0.5,"counters":"keep"}`, "If-Match", "*").want(200)
	if f := decode[gen.Fabric](made); f.Source != "file:elsewhere" || f.TimeScale != 0.5 || *f.Counters != gen.CountersKeep || f.Version != 2 || f.Snapshot == nil {
		t.Errorf("fabric is %+v", f)
	}
	r.call("PUT", "/fabrics/lab", `{"source":"file:x"}`, "If-Match", `"1"`).want(412, "precondition-failed")
}
