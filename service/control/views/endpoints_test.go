package views_test

import (
	"encoding/json"
	"testing"
	"time"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/views"
	"fairlane/service/series"
	"fairlane/tenants"
)

func endpointsOf(p *page, tenant string) *views.Endpoints {
	p.t.Helper()
	list, err := p.Endpoints(p.t.Context(), tenants.Domain{Fabric: "lab", Tenant: tenant}, control.Page{})
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

func TestEndpointsHaveTheStateOfTheLatestScan(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	ctx := t.Context()
	red := endpointsOf(p, "red")
	if len(red.Items) == 0 {
		t.Fatal("red has no endpoints")
	}
	for _, e := range red.Items {
		if e.State != control.PortUp || !e.Since.IsZero() || e.Seen.IsZero() || e.Seen.Minute() != 0 || e.Name == "" || e.Rate != 100e9 {
			t.Errorf("before any change: %+v", e)
		}
	}
	first := red.Items[0]
	change := control.PortChange{Port: first.Port, State: control.PortUp, Since: p.now.Add(-90 * time.Second), Seen: p.now.Add(-time.Hour)}
	put := func(c control.PortChange) {
		t.Helper()
		if err := p.Store.Tx(ctx, func(r control.Repos) error { return r.PutPortChanges(ctx, "lab", []control.PortChange{c}) }); err != nil {
			t.Fatal(err)
		}
	}
	put(change)
	if e := endpointsOf(p, "red").Items[0]; !e.Since.Equal(change.Since.Truncate(time.Minute)) || !e.Seen.Equal(e.Since) {
		t.Errorf("after a change: up since %v, seen %v; want the minute of %v", e.Since, e.Seen, change.Since)
	}
	change.State = control.PortDown // the latest topology says up
	put(change)
	if e := endpointsOf(p, "red").Items[0]; e.State != control.PortUp || !e.Since.IsZero() {
		t.Errorf("a change that the latest topology contradicts: %+v", e)
	}
}

func TestEndpointsArePagedAndOfOneTenant(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	red := endpointsOf(p, "red").Items
	own := map[string]bool{}
	for _, e := range red {
		own[e.Port.String()] = true
	}
	seen, next := 0, ""
	for {
		list, err := p.Endpoints(t.Context(), tenants.Domain{Fabric: "lab", Tenant: "red"}, control.Page{After: next, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if seen++; !own[e.Port.String()] {
				t.Errorf("port %s is not red's", e.Port)
			}
		}
		if next = list.Next; next == "" {
			break
		}
	}
	if seen != len(red) {
		t.Errorf("%d endpoints in pages of one, want %d", seen, len(red))
	}
	if _, err := p.Endpoints(t.Context(), tenants.Domain{Fabric: "lab", Tenant: "red"}, control.Page{After: "x"}); err == nil {
		t.Error("a foreign cursor is accepted")
	}
	controltest.MustFail(t, "a tenant that does not exist", func() error {
		_, err := p.Endpoints(t.Context(), tenants.Domain{Fabric: "lab", Tenant: "nobody"}, control.Page{})
		return err
	}(), control.ErrNotFound)
}

func TestEndpointsHaveTheClassesOfDeclaredFlows(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	ctx := t.Context()
	if _, _, err := p.PutFlows(ctx, "lab", control.AnyVersion, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"train", "bulk"} {
		if err := p.AddClass(ctx, "lab", "red", tenants.Class{Name: c, Weight: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	red := endpointsOf(p, "red").Items
	if len(red) < 2 {
		t.Fatalf("red has %d endpoints, want two", len(red))
	}
	src, dst := red[0].Name, red[1].Name
	flows := []tenancy.FlowInput{{Tenant: "red", Class: "train", Src: src, Dst: dst}, {Tenant: "red", Class: "bulk", Src: src, Dst: dst}, {Tenant: "red", Class: "bulk", Src: src, Dst: dst}}
	if _, _, err := p.PutFlows(ctx, "lab", control.AnyVersion, flows); err != nil {
		t.Fatal(err)
	}
	for _, e := range endpointsOf(p, "red").Items[:2] {
		if len(e.Classes) != 2 || e.Classes[0] != "bulk" || e.Classes[1] != "train" {
			t.Errorf("classes of %s are %v", e.Name, e.Classes)
		}
	}
}

// TestFunctionsOfAPlanAreNotListed uses a plan with a function of red's first port and none of its second one.
func TestFunctionsOfAPlanAreNotListed(t *testing.T) {
	t.Parallel()
	r, name := controltest.LabWithPlan(t)
	p := onRig(t, r)
	ctx := t.Context()
	red := endpointsOf(p, "red").Items
	if len(red) < 2 {
		t.Fatalf("red has %d endpoints, want two", len(red))
	}
	// The test fabric is InfiniBand, so the plan gets the part about RoCE here.
	var made control.Plan
	err := p.Store.Tx(ctx, func(r control.Repos) error {
		had, err := r.Plan(ctx, "lab", name)
		if err != nil {
			return err
		}
		text, err := json.Marshal(had.Plan)
		if err == nil {
			had.Plan = new(policy.Plan)
			err = json.Unmarshal(text, had.Plan)
		}
		if err != nil {
			return err
		}
		had.Plan.Name = "f" + had.Plan.Name[1:]
		had.Plan.RoCE = &policy.RoCEPlan{Traffic: []policy.RoCEPlacement{{Tenant: "red", Port: red[0].Port, Function: 1}, {Tenant: "red", Port: red[1].Port, Function: policy.NodeFunction}}}
		made, _, err = r.PutPlan(ctx, had)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Store.Tx(ctx, func(r control.Repos) error {
		ro, err := r.CreateRollout(ctx, control.Rollout{Fabric: "lab", Plan: made.Plan.Name, State: control.RolloutRunning, CreatedAt: p.now, UpdatedAt: p.now})
		if err == nil {
			err = r.FinishRollout(ctx, ro.ID, control.RolloutSucceeded, "", p.now)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var batch []series.Sample
	for _, x := range []struct {
		port, vf, tenant string
		sent             float64
	}{{red[0].Name, "1", "red", 1e9}, {red[1].Name, "0", "red", 2e9}, {red[1].Name, "3", "red", 3e9}, {red[1].Name, "2", "blue", 7e9}} {
		batch = append(batch, series.Sample{Family: series.FunctionSent, Value: x.sent, Labels: []series.Label{
			{Name: series.LabelFabric, Value: "lab"}, {Name: series.LabelPort, Value: x.port}, {Name: series.LabelVF, Value: x.vf}, {Name: series.LabelTenant, Value: x.tenant},
		}})
	}
	if err := p.Series.Append(ctx, p.now, batch); err != nil {
		t.Fatal(err)
	}
	got := endpointsOf(p, "red").Items
	if got[0].Functions != nil {
		t.Errorf("%d functions of the plan are listed", *got[0].Functions)
	}
	if f, sent := got[1].Functions, got[1].FunctionsSent; f == nil || *f != 2 || *sent != 5e9 {
		t.Errorf("functions of red's workloads: %+v", got[1])
	}
}
