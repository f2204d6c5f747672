package plans_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/plans"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/usecases"
)

// pointers returns the pointers of the rejected fields; nil when the error is no *InvalidError.
func pointers(err error) (list []string) {
	var bad *control.InvalidError
	if errors.As(err, &bad) {
		for _, f := range bad.Fields {
			list = append(list, f.Pointer)
		}
	}
	return list
}

// planNames lists the stored plans, newest first.
func planNames(t *testing.T, s *usecases.Services) (names []string) {
	t.Helper()
	for p := (control.Page{Limit: 1}); ; {
		list, next, err := s.ListPlans(t.Context(), "lab", p)
		if err != nil || len(list) > 1 {
			t.Fatalf("page of %d, %v", len(list), err)
		}
		for _, x := range list {
			names = append(names, x.Name)
		}
		if p.After = next; next == "" {
			return names
		}
	}
}

// weigh gives tenant red another weight.
func weigh(t *testing.T, s *usecases.Services, w quantity.Weight) {
	t.Helper()
	in := controltest.Tenants().Tenants[0]
	in.Weight = w
	if _, err := s.UpdateTenant(t.Context(), "lab", 0, in); err != nil {
		t.Fatal(err)
	}
}

func TestPlansAreListedNewestFirstAndDryRunsAreNotStored(t *testing.T) {
	t.Parallel()
	r, first := controltest.LabWithPlan(t)
	s, ctx := r.Service, t.Context()
	weigh(t, s, 9000)
	n := len(controltest.AuditEntries(t, s))
	dry, created, err := s.MakePlan(ctx, "lab", plans.PlanRequest{}, true)
	if err != nil || created || dry.Plan.Name == first || dry.Stored || len(controltest.AuditEntries(t, s)) != n {
		t.Fatalf("a dry run: created %v, stored %v, %v", created, dry.Stored, err)
	}
	if got := planNames(t, s); !slices.Equal(got, []string{first}) {
		t.Fatalf("plans are %q after a dry run", got)
	}
	second, created, err := s.MakePlan(ctx, "lab", plans.PlanRequest{}, false)
	if err != nil || !created || !second.Stored || second.Plan.Name != dry.Plan.Name {
		t.Fatalf("created %v, stored %v, %v: name %s after the dry run's %s", created, second.Stored, err, second.Plan.Name, dry.Plan.Name)
	}
	if e := controltest.LastAuditEntry(t, s); e.Action != "plan.created" || e.Object != second.Plan.Name || e.Fabric != "lab" {
		t.Errorf("the log has %+v", e)
	}
	n = len(controltest.AuditEntries(t, s))
	weigh(t, s, 3000)
	third, created, err := s.MakePlan(ctx, "lab", plans.PlanRequest{}, false)
	if err != nil || created || third.Plan.Name != first || third.Input.Policy != 1 {
		t.Errorf("back at the first weight: created %v, %v: name %s of revision %d", created, err, third.Plan.Name, third.Input.Policy)
	}
	if now := len(controltest.AuditEntries(t, s)); now != n+1 { // the weight's
		t.Errorf("a plan that was there left %d audit entries", now-n-1)
	}
	if got := planNames(t, s); !slices.Equal(got, []string{second.Plan.Name, first}) {
		t.Errorf("plans are %q, want %q", got, []string{second.Plan.Name, first})
	}
	_, _, err = s.MakePlan(ctx, "lab", plans.PlanRequest{Edits: []string{"weight:red=4"}}, false)
	if got := pointers(err); !slices.Equal(got, []string{"/edits"}) {
		t.Errorf("edits of a plan to store: %v", err)
	}
	_, _, err = s.MakePlan(ctx, "nowhere", plans.PlanRequest{}, true)
	controltest.MustFail(t, "a plan of no fabric", err, control.ErrNotFound)
	_, _, err = s.ListPlans(ctx, "nowhere", control.Page{})
	controltest.MustFail(t, "plans of no fabric", err, control.ErrNotFound)
}

func TestPlanOfARevisionIsCompiledFromThatRevision(t *testing.T) {
	t.Parallel()
	r, first := controltest.LabWithPlan(t)
	s, ctx := r.Service, t.Context()
	if _, err := s.PutOptions(ctx, "lab", control.AnyVersion, policy.Options{TableEntries: 64}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ApplyTenants(ctx, "lab", tenancy.TenantSet{Prune: true, Flows: []tenancy.FlowInput{}}, false); err != nil {
		t.Fatal(err)
	}
	old, created, err := s.MakePlan(ctx, "lab", plans.PlanRequest{Policy: 1}, false)
	if err != nil || created || old.Plan.Name != first || old.Input.Policy != 1 || old.Input.Options.TableEntries != 0 {
		t.Errorf("of revision 1: created %v, %v: %+v", created, err, old.Input)
	}
	now, _, err := s.MakePlan(ctx, "lab", plans.PlanRequest{}, true)
	if err != nil || now.Input.Policy != 3 || len(now.Input.Tenants) != 0 || now.Input.Options.TableEntries != 64 {
		t.Errorf("of the current declaration: %v: %+v", err, now.Input)
	}
	kept, _, err := s.MakePlan(ctx, "lab", plans.PlanRequest{Policy: 2}, true)
	if err != nil || len(kept.Input.Tenants) != 2 || kept.Input.Options.TableEntries != 64 {
		t.Errorf("of revision 2: %v: %+v", err, kept.Input)
	}
	// Options of the request replace those of the revision altogether.
	of2, _, err := s.MakePlan(ctx, "lab", plans.PlanRequest{Policy: 2, Options: &policy.Options{VLArbitration: true}}, true)
	if err != nil || of2.Input.Policy != 2 || len(of2.Input.Tenants) != 2 || of2.Input.Options.TableEntries != 0 || !of2.Input.Options.VLArbitration {
		t.Errorf("of revision 2 with other options: %v: %+v", err, of2.Input)
	}
	_, _, err = s.MakePlan(ctx, "lab", plans.PlanRequest{Policy: 9}, true)
	controltest.MustFail(t, "a revision that does not exist", err, control.ErrNotFound)
	_, _, err = s.MakePlan(ctx, "lab", plans.PlanRequest{Options: &policy.Options{Profile: "connectx-6"}}, true)
	if got := pointers(err); !slices.Equal(got, []string{"/profile"}) {
		t.Errorf("an option of another plane: %v at %q", err, got)
	}
}

func TestPlanInForceIsThatOfTheLatestSuccessfulRollout(t *testing.T) {
	t.Parallel()
	r, first := controltest.LabWithPlan(t)
	s, ctx := r.Service, t.Context()
	noPlan := func(what string, err error) {
		t.Helper()
		if controltest.Code(err) != "no-plan" {
			t.Errorf("%s: %v, want no-plan", what, err)
		}
	}
	_, err := s.PlanOrInForce(ctx, "lab", "")
	noPlan("the plan in force", err)
	_, err = s.LoadTarget(ctx, "lab", "")
	noPlan("its target", err)
	_, err = s.DiffPlans(ctx, "lab", "", first)
	noPlan("the difference to it", err)
	// Keeping placements does not need a plan in force.
	if p, _, err := s.MakePlan(ctx, "lab", plans.PlanRequest{KeepPlacements: true}, true); err != nil || p.Input.InForce != "" {
		t.Errorf("keeping placements: in force is %q, %v", p.Input.InForce, err)
	}

	controltest.Start(t, s, first)
	r.Wait()
	weigh(t, s, 9000)
	second, _, err := s.MakePlan(ctx, "lab", plans.PlanRequest{KeepPlacements: true}, false)
	if err != nil || second.Input.InForce != first {
		t.Fatalf("it keeps placements of %q, %v", second.Input.InForce, err)
	}
	if p, err := s.PlanOrInForce(ctx, "lab", ""); err != nil || p.Plan.Name != first {
		t.Errorf("in force is %v, %v", p.Plan, err)
	}
	target, err := s.LoadTarget(ctx, "lab", "")
	if err != nil || target.Plan.Name != first || target.Fabric.Name != "lab" || len(target.Flows) != 2 || target.Topology == nil {
		t.Errorf("the target is %+v, %v", target, err)
	}
	if p, err := s.PlanOrInForce(ctx, "lab", second.Plan.Name[:8]); err != nil || p.Plan.Name != second.Plan.Name {
		t.Errorf("a named plan is %v, %v", p.Plan, err)
	}
	d, err := s.DiffPlans(ctx, "lab", "", second.Plan.Name)
	back, errBack := s.DiffPlans(ctx, "lab", second.Plan.Name, first)
	none, errNone := s.DiffPlans(ctx, "lab", first, first)
	if err := errors.Join(err, errBack, errNone); err != nil || !none.Empty() || d.Empty() || cmp.Equal(d, back) {
		t.Errorf("differences are %v, %v, %v, %v", d.Empty(), back.Empty(), none.Empty(), err)
	}
	for _, of := range [][3]string{{"lab", "", "abcdef"}, {"lab", "abcdef", first}, {"nowhere", "", first}} {
		_, err := s.DiffPlans(ctx, of[0], of[1], of[2])
		controltest.MustFail(t, fmt.Sprintf("the difference %q", of), err, control.ErrNotFound)
	}
	_, err = s.LoadTarget(ctx, "nowhere", first)
	controltest.MustFail(t, "a target of no fabric", err, control.ErrNotFound)
}

// A refreshed target has the fabric as it is now, and the plan that is in force now; only an unchanged plan is kept.
func TestRefreshedTargetsFollowFabricAndPlan(t *testing.T) {
	t.Parallel()
	r, first := controltest.LabWithPlan(t)
	s, ctx := r.Service, t.Context()
	_, err := s.RefreshTarget(ctx, "lab", control.Target{})
	if controltest.Code(err) != "no-plan" {
		t.Errorf("before the rollout: %v, want no-plan", err)
	}
	controltest.Start(t, s, first)
	r.Wait()
	target, err := s.RefreshTarget(ctx, "lab", control.Target{})
	if err != nil || target.Plan.Name != first || target.Topology == nil || len(target.Flows) == 0 {
		t.Fatalf("the first target is %+v, %v", target, err)
	}
	f := target.Fabric
	f.TimeScale = 0.125
	if _, err := s.UpdateFabric(ctx, f); err != nil {
		t.Fatal(err)
	}
	again, err := s.RefreshTarget(ctx, "lab", target)
	if err != nil || again.Plan != target.Plan || again.Topology != target.Topology || again.Fabric.TimeScale != 0.125 {
		t.Errorf("of the same plan: %+v, %v", again, err)
	}
	foreign := target
	foreign.Fabric.Name = "other"
	if got, err := s.RefreshTarget(ctx, "lab", foreign); err != nil || got.Plan == target.Plan || got.Fabric.Name != "lab" {
		t.Errorf("after another fabric: %+v, %v", got, err)
	}
	weigh(t, s, 9000)
	second, _, err := s.MakePlan(ctx, "lab", plans.PlanRequest{}, false)
	if err != nil {
		t.Fatal(err)
	}
	controltest.Start(t, s, second.Plan.Name)
	r.Wait()
	if got, err := s.RefreshTarget(ctx, "lab", again); err != nil || got.Plan.Name != second.Plan.Name {
		t.Errorf("of another plan: %+v, %v", got, err)
	}
}

// TestPlanOfAnotherFabricIsNotFound: a plan's name must not open it from elsewhere.
func TestPlanOfAnotherFabricIsNotFound(t *testing.T) {
	t.Parallel()
	r, name := controltest.LabWithPlan(t)
	s, ctx := r.Service, t.Context()
	if _, err := s.CreateFabric(ctx, control.Fabric{Name: "other", Source: controltest.Source}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Plan(ctx, "other", name)
	controltest.MustFail(t, "plan", err, control.ErrNotFound)
	_, err = s.LoadTarget(ctx, "other", name)
	controltest.MustFail(t, "target", err, control.ErrNotFound)
	_, err = s.ExplainPlan(ctx, "other", name, policy.ExplainFilter{})
	controltest.MustFail(t, "explanation", err, control.ErrNotFound)
	if list, _, err := s.ListPlans(ctx, "other", control.Page{}); err != nil || len(list) != 0 {
		t.Errorf("plans of the other fabric are %v, %v", list, err)
	}
}

func TestDamagedPlanReachesNoDevice(t *testing.T) {
	t.Parallel()
	r, name := controltest.LabWithPlan(t)
	s, ctx := r.Service, t.Context()
	p, err := s.Plan(ctx, "lab", name)
	if err != nil {
		t.Fatal(err)
	}
	bad := *p.Plan
	bad.Name = strings.Repeat("0", len(name))
	p.Plan = &bad
	if err := r.Store.Tx(ctx, func(repos control.Repos) error { _, _, err := repos.PutPlan(ctx, p); return err }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.LoadTarget(ctx, "lab", bad.Name); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a plan whose contents have another name: %v", err)
	}
	if _, err := s.LoadTarget(ctx, "lab", name); err != nil {
		t.Errorf("the true one: %v", err)
	}
}

func TestBareTargetHasTheLatestTopologyAndSetsNothing(t *testing.T) {
	t.Parallel()
	r, _ := controltest.LabWithPlan(t)
	target, err := r.Service.BareTarget(t.Context(), "lab")
	if err != nil || target.Topology == nil || target.Fabric.Name != "lab" || control.DevicesOf(target.Plan) != 0 {
		t.Errorf("%+v, %v", target, err)
	}
	if _, err := r.Service.CreateFabric(t.Context(), control.Fabric{Name: "new", Source: controltest.Source}); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Service.BareTarget(t.Context(), "new"); controltest.Code(err) != "not-discovered" {
		t.Errorf("before the first discovery: %v", err)
	}
	_, err = r.Service.BareTarget(t.Context(), "nowhere")
	controltest.MustFail(t, "a target of no fabric", err, control.ErrNotFound)
}

func TestWhatIfComparesTheDeclarationWithItsEdits(t *testing.T) {
	t.Parallel()
	r, name := controltest.LabWithPlan(t)
	s, ctx := r.Service, t.Context()
	n := len(controltest.AuditEntries(t, s))
	w, err := s.WhatIf(ctx, "lab", plans.PlanRequest{Edits: []string{"weight:red=1", "remove:blue"}})
	if err != nil || w.Before.Name != name || len(w.Before.Tenants) != 2 || len(w.After.Tenants) != 1 || w.After.Tenants[0].Weight != 1000 {
		t.Fatalf("before %v, after %v, %v", w.Before, w.After, err)
	}
	if d := cmp.Diff(policy.Diff(w.Before, w.After), w.Difference); d != "" || w.Difference.Empty() {
		t.Errorf("the difference is not that of the two plans:\n%s", d)
	}
	if got := planNames(t, s); !slices.Equal(got, []string{name}) || len(controltest.AuditEntries(t, s)) != n {
		t.Errorf("plans are %q, want none stored", got)
	}
	if again, created, err := s.MakePlan(ctx, "lab", plans.PlanRequest{}, false); err != nil || created || again.Plan.Name != name {
		t.Errorf("the next real plan is %s, created %v, %v", again.Plan.Name, created, err)
	}
	for what, c := range map[string]struct {
		edits []string
		want  []string
	}{
		"no edits":        {nil, []string{"/edits"}},
		"too many edits":  {slices.Repeat([]string{"weight:red=1"}, plans.MaxEdits+1), []string{"/edits"}},
		"two bad edits":   {[]string{"weight:red=x", "weight:red=1", "nonsense"}, []string{"/edits/0", "/edits/2"}},
		"unknown tenant":  {[]string{"weight:nobody=2"}, []string{"/edits"}},
		"unknown link":    {[]string{"fail:nowhere/P1"}, []string{"/edits"}},
		"an edit too far": {[]string{"weight:red=2", "weight:red=0"}, []string{"/edits/1"}},
	} {
		_, err := s.WhatIf(ctx, "lab", plans.PlanRequest{Edits: c.edits})
		if got := pointers(err); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v at %q, want %q", what, err, got, c.want)
		}
	}
	if _, err := s.WhatIf(ctx, "lab", plans.PlanRequest{Edits: slices.Repeat([]string{"weight:red=1"}, plans.MaxEdits)}); err != nil {
		t.Errorf("as many edits as may be: %v", err)
	}
	_, err = s.WhatIf(ctx, "nowhere", plans.PlanRequest{Edits: []string{"weight:red=1"}})
	controltest.MustFail(t, "what if on no fabric", err, control.ErrNotFound)
}

func TestAdmissionNamesTheFieldAndStoresNothing(t *testing.T) {
	t.Parallel()
	r, name := controltest.InForce(t)
	s, ctx := r.Service, t.Context()
	n := len(controltest.AuditEntries(t, s))
	a, err := s.AdmitTenant(ctx, "lab", plans.PlanRequest{}, policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: []string{"h1", "h3"}})
	if err != nil || a.Tenant != "new" || a.Change || a.Tenants[0].Tenant != "new" {
		t.Fatalf("%+v, %v", a, err)
	}
	for what, c := range map[string]struct {
		ask  policy.AdmitRequest
		want string
	}{
		"a name in use":               {policy.AdmitRequest{Tenant: "red", Weight: 1000, Ports: []string{"h1", "h3"}}, "/tenant"},
		"change of an unknown tenant": {policy.AdmitRequest{Tenant: "new", Change: true, Weight: 1000}, "/tenant"},
		"no weight":                   {policy.AdmitRequest{Tenant: "new", Ports: []string{"h1", "h3"}}, "/weight"},
		"guarantee":                   {policy.AdmitRequest{Tenant: "new", Weight: 1000, Guarantee: new(quantity.BitRate(-1)), Ports: []string{"h1", "h3"}}, "/guarantee_bps"},
		"cap":                         {policy.AdmitRequest{Tenant: "new", Weight: 1000, Cap: new(quantity.BitRate(1)), Ports: []string{"h1", "h3"}}, "/cap_bps"},
	} {
		_, err := s.AdmitTenant(ctx, "lab", plans.PlanRequest{}, c.ask)
		if got := pointers(err); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %v at %q, want %s", what, err, got, c.want)
		}
	}
	if got := planNames(t, s); !slices.Equal(got, []string{name}) || len(controltest.AuditEntries(t, s)) != n {
		t.Errorf("plans are %q, want none stored", got)
	}
	_, err = s.AdmitTenant(ctx, "nowhere", plans.PlanRequest{}, policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: []string{"h1", "h3"}})
	controltest.MustFail(t, "admission to no fabric", err, control.ErrNotFound)
}

func TestExplanationNamesTheFilterThatNothingPasses(t *testing.T) {
	t.Parallel()
	r, name := controltest.LabWithPlan(t)
	s, ctx := r.Service, t.Context()
	all, err := s.ExplainPlan(ctx, "lab", name, policy.ExplainFilter{})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d devices, %v", len(all), err)
	}
	one, err := s.ExplainPlan(ctx, "lab", name, policy.ExplainFilter{Port: "h1"})
	if err != nil || len(one) == 0 || len(one) >= len(all) {
		t.Errorf("%d devices of %d pass the filter, %v", len(one), len(all), err)
	}
	for pointer, f := range map[string]policy.ExplainFilter{"port": {Port: "nowhere"}, "tenant": {Tenant: "nobody"}} {
		_, err := s.ExplainPlan(ctx, "lab", name, f)
		if got := pointers(err); !slices.Equal(got, []string{pointer}) {
			t.Errorf("%+v: %v at %q", f, err, got)
		}
	}
	_, err = s.ExplainPlan(ctx, "lab", "abcdef", policy.ExplainFilter{})
	controltest.MustFail(t, "a plan that does not exist", err, control.ErrNotFound)
}
