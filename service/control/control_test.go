package control_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fairlane/ccconfig/driver"
	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/store"
	"fairlane/tenants"
)

// openStore opens the real store for a rig.
func openStore(ctx context.Context, path string) (control.Store, io.Closer, error) {
	s, err := store.OpenSQLite(ctx, path, store.Options{})
	return s, s, err
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

func labWithPlan(t *testing.T) (*controltest.Rig, string) {
	t.Helper()
	r := controltest.New(t, openStore)
	r.Lab(t)
	p, created, err := r.Service.CreatePlan(t.Context(), "lab", control.CompileOptions{}, false)
	if err != nil || !created {
		t.Fatalf("plan: created %v, %v", created, err)
	}
	return r, p.Plan.Name
}

func mustFail(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: error is %v, want one that is %v", what, err, kind)
	}
}

func code(err error) string {
	var c *control.ConflictError
	var u *control.UnavailableError
	switch {
	case errors.As(err, &c):
		return c.Code
	case errors.As(err, &u):
		return u.Code
	}
	return ""
}

func start(t *testing.T, s *control.Service, plan string) control.Rollout {
	t.Helper()
	ro, err := s.StartRollout(control.WithActor(t.Context(), "ada"), "lab", control.RolloutInput{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	return ro
}

func rollout(t *testing.T, s *control.Service, id int64) control.Rollout {
	t.Helper()
	ro, err := s.Rollout(t.Context(), "lab", id)
	if err != nil {
		t.Fatal(err)
	}
	return ro
}

func kinds(t *testing.T, s *control.Service, rollout int64) string {
	t.Helper()
	list, _, err := s.Events(t.Context(), "lab", rollout, control.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		if e.Kind != "device.state" && e.Kind != "rollout.progress" {
			out = append(out, e.Kind+" by "+e.Actor)
		}
	}
	return strings.Join(out, ", ")
}

func TestARolloutIsRecordedToItsEnd(t *testing.T) {
	t.Parallel()
	r, plan := labWithPlan(t)
	ro := start(t, r.Service, plan[:10])
	if ro.State != control.RolloutRunning || ro.Plan != plan || ro.Actor != "ada" {
		t.Errorf("started rollout is %+v", ro)
	}
	r.Wait()
	got, err := r.Service.RolloutSettings(t.Context(), "lab", ro.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != control.RolloutSucceeded || got.FinishedAt.IsZero() || len(got.Devices) == 0 {
		t.Fatalf("rollout ended as %+v", got)
	}
	for _, d := range got.Devices {
		if d.State != "in-sync" || d.Before == nil || d.Wanted == nil || d.Observed == nil || d.Receipt == nil {
			t.Errorf("device is %+v: want its whole story", d)
		}
	}
	if k, want := kinds(t, r.Service, ro.ID), "rollout.started by ada, rollout.succeeded by system"; k != want {
		t.Errorf("events are %s, want %s", k, want)
	}
}

// TestCountersOfAFabricAreClearedUnlessKept holds the default, what a change leaves as it is, and what is refused.
func TestCountersOfAFabricAreClearedUnlessKept(t *testing.T) {
	t.Parallel()
	s := controltest.New(t, openStore).Service
	f, err := s.CreateFabric(t.Context(), control.Fabric{Name: "lab", Source: controltest.Source})
	if err != nil || f.Counters != control.CountersClear {
		t.Fatalf("a new fabric has counters %q, error %v", f.Counters, err)
	}
	for _, c := range []struct{ set, want control.Counters }{{"keep", "keep"}, {"", "keep"}, {"clear", "clear"}} {
		f, err = s.UpdateFabric(t.Context(), control.Fabric{Name: "lab", Source: controltest.Source, TimeScale: 1, Counters: c.set})
		if err != nil || f.Counters != c.want {
			t.Errorf("set to %q: counters %q, error %v, want %q", c.set, f.Counters, err, c.want)
		}
	}
	var invalid *control.InvalidError
	if _, err = s.UpdateFabric(t.Context(), control.Fabric{Name: "lab", Source: controltest.Source, TimeScale: 1, Counters: "reset"}); !errors.As(err, &invalid) {
		t.Errorf("counters %q: %v", "reset", err)
	}
	if _, err = s.CreateFabric(t.Context(), control.Fabric{Name: "lab2", Source: controltest.Source, Counters: "reset"}); !errors.As(err, &invalid) {
		t.Errorf("counters %q of a new fabric: %v", "reset", err)
	}
}

func TestTwoRolloutsNeverInterleave(t *testing.T) {
	t.Parallel()
	r, plan := labWithPlan(t)
	began, let := r.Devices.Hold()
	ro := start(t, r.Service, plan)
	<-began
	_, err := r.Service.StartRollout(t.Context(), "lab", control.RolloutInput{Plan: plan})
	if code(err) != "rollout-running" {
		t.Errorf("a second rollout gives %v", err)
	}
	// Another manager on the same database has no goroutine to see; the row must stop it.
	other := r.Manager(t)
	if _, err = other.StartRollout(t.Context(), "lab", control.RolloutInput{Plan: plan}); code(err) != "rollout-running" {
		t.Errorf("another manager's rollout gives %v", err)
	}
	if _, err := r.Service.UpdateFabric(t.Context(), control.Fabric{Name: "lab", Source: "ibsim:unix:elsewhere", TimeScale: 1}); code(err) != "rollout-running" {
		t.Errorf("a fabric moves while a rollout runs on it: %v", err)
	}
	if _, err := r.Service.UpdateFabric(t.Context(), control.Fabric{Name: "lab", Source: controltest.Source, TimeScale: 0.5}); err != nil {
		t.Errorf("a fabric whose time runs otherwise stays where it is: %v", err)
	}
	if err := r.Service.DeleteFabric(t.Context(), "lab", 0, true); code(err) != "rollout-running" {
		t.Errorf("deleting the fabric gives %v", err)
	}
	if _, err := r.Service.CancelRollout(t.Context(), "lab", ro.ID); err != nil {
		t.Fatal(err)
	}
	let()
	r.Wait()
	if got := rollout(t, r.Service, ro.ID); got.State != control.RolloutCanceled {
		t.Errorf("cancelled rollout ended as %s: %s", got.State, got.Result)
	}
	if _, err := r.Service.CancelRollout(t.Context(), "lab", ro.ID); code(err) != "not-running" {
		t.Errorf("cancelling it again gives %v", err)
	}
	r.Devices.OnRead(nil)
	again := start(t, r.Service, plan)
	r.Wait()
	if got := rollout(t, r.Service, again.ID); got.State != control.RolloutSucceeded {
		t.Errorf("the next rollout ended as %s", got.State)
	}
}

func TestOnlyAnIntactStoredPlanReachesDevices(t *testing.T) {
	t.Parallel()
	r, plan := labWithPlan(t)
	dry, created, err := r.Service.CreatePlan(t.Context(), "lab", control.CompileOptions{Mode: "theorem1"}, true)
	if err != nil || created || dry.Stored {
		t.Fatalf("dry run gives created %v, stored %v, %v", created, dry.Stored, err)
	}
	_, err = r.Service.StartRollout(t.Context(), "lab", control.RolloutInput{Plan: dry.Plan.Name})
	mustFail(t, "rollout of a dry run's plan", err, control.ErrNotFound)
	touched := false
	r.Devices.OnRead(func(context.Context, driver.Device) error {
		touched = true
		return nil
	})
	db, err := sql.Open("sqlite", r.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `DROP TRIGGER plans_are_immutable;
		UPDATE plans SET plan = replace(plan, '"plane":"ib"', '"plane":"xx"')`); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Service.StartRollout(t.Context(), "lab", control.RolloutInput{Plan: plan}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("rollout of a damaged plan gives %v", err)
	}
	r.Wait()
	if touched {
		t.Error("devices were touched")
	}
}

func TestTheSameInputGivesTheSamePlan(t *testing.T) {
	t.Parallel()
	r, name := labWithPlan(t)
	p, created, err := r.Service.CreatePlan(t.Context(), "lab", control.CompileOptions{}, false)
	if err != nil || created || p.Plan.Name != name {
		t.Errorf("compiling again: created %v, name %s, %v; want %s again", created, p.Plan.Name, err, name)
	}
	if _, err := r.Service.UpdateTenant(t.Context(), "lab", 0, control.TenantInput{
		Name: "red", Weight: 9000, PKey: 0x8001, Attachments: []control.AttachmentInput{{Port: "h1"}, {Port: "h4"}}}); err != nil {
		t.Fatal(err)
	}
	p, created, err = r.Service.CreatePlan(t.Context(), "lab", control.CompileOptions{}, false)
	if err != nil || !created || p.Plan.Name == name {
		t.Errorf("compiling with another weight: created %v, name %s, %v", created, p.Plan.Name, err)
	}
	back, err := r.Service.Plan(t.Context(), "lab", p.Plan.Name[:8])
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p.Plan, back.Plan); d != "" {
		t.Errorf("the stored plan differs:\n%s", d)
	}
}

func TestStagesRunInTheirOrder(t *testing.T) {
	t.Parallel()
	r, plan := labWithPlan(t)
	ro, err := r.Service.StartRollout(t.Context(), "lab", control.RolloutInput{Plan: plan, Stages: []control.Stage{"settings", "placement"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]control.Stage{"placement", "settings"}, ro.Stages); d != "" || ro.Prior != "" {
		t.Errorf("first rollout: %s prior %q", d, ro.Prior)
	}
	r.Wait()
	for i := range 2 { // the second follows one without the placement stage
		next, err := r.Service.StartRollout(t.Context(), "lab", control.RolloutInput{Plan: plan, Stages: []control.Stage{"settings"}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Wait(); len(next.Stages) != 1 || next.Prior != plan {
			t.Errorf("rollout %d has stages %v and prior %q", i+2, next.Stages, next.Prior)
		}
	}
	for _, bad := range [][]control.Stage{{"all"}, {"settings", "settings"}} {
		_, err := r.Service.StartRollout(t.Context(), "lab", control.RolloutInput{Plan: plan, Stages: bad})
		mustFail(t, "stages", err, control.ErrInvalid)
	}
}

func TestApplyTenants(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, openStore)
	r.Lab(t)
	ctx := t.Context()
	set := controltest.Tenants()
	same, err := r.Service.ApplyTenants(ctx, "lab", set, false)
	if d := cmp.Diff(control.TenantSetResult{Unchanged: []string{"blue", "red"}, Version: same.Version}, same); d != "" || err != nil {
		t.Errorf("applying the same again: %v\n%s", err, d)
	}
	set.Tenants[0].Weight = 5000
	set.Tenants[1].Name = "green"
	set.Flows[1].Tenant = "green"
	set.Prune = true
	set.Tenants[1].PKey = 0x8003
	want := control.TenantSetResult{Created: []string{"green"}, Updated: []string{"red"}, Deleted: []string{"blue"}, FlowsChanged: true}
	for _, dry := range []bool{true, false} {
		got, err := r.Service.ApplyTenants(ctx, "lab", set, dry)
		if (got.Version == same.Version) != dry {
			t.Errorf("dry %v: version %d, before it was %d", dry, got.Version, same.Version)
		}
		want.Version = got.Version
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("dry %v: %v\n%s", dry, err, d)
		}
		_, err = r.Service.Tenant(ctx, "lab", "green")
		if dry != errors.Is(err, control.ErrNotFound) {
			t.Errorf("dry %v: looking for green gives %v", dry, err)
		}
	}
}

func TestBadTenantsNameTheFieldAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, openStore)
	r.Lab(t)
	ctx := t.Context()
	att := func(ports ...string) (out []control.AttachmentInput) {
		for _, p := range ports {
			out = append(out, control.AttachmentInput{Port: p})
		}
		return out
	}
	for name, tc := range map[string]struct {
		in      control.TenantInput
		pointer string
	}{
		"unknown host":         {control.TenantInput{Name: "x", Weight: 1, Attachments: att("h1", "nowhere")}, "/attachments/1/port"},
		"a switch":             {control.TenantInput{Name: "x", Weight: 1, Attachments: att("sw1:1")}, "/attachments/0/port"},
		"the same port twice":  {control.TenantInput{Name: "x", Weight: 1, Attachments: att("h1", "h1/P1")}, "/attachments/1/port"},
		"no weight":            {control.TenantInput{Name: "x"}, "/weight"},
		"bad name":             {control.TenantInput{Name: "X", Weight: 1}, "/name"},
		"somebody's partition": {control.TenantInput{Name: "x", Weight: 1, PKey: 0x0001}, "/pkey"},
		"class twice":          {control.TenantInput{Name: "x", Weight: 1, Classes: []tenants.Class{{Name: "a", Weight: 1}, {Name: "a", Weight: 1}}}, "/classes/1/name"},
	} {
		_, err := r.Service.CreateTenant(ctx, "lab", tc.in)
		var inv *control.InvalidError
		if !errors.As(err, &inv) || inv.Fields[0].Pointer != tc.pointer {
			t.Errorf("%s: %v, want a fault at %s", name, err, tc.pointer)
		}
	}
	_, err := r.Service.UpdateTenant(ctx, "lab", 0, control.TenantInput{Name: "red", Weight: 1, Attachments: att("h3")})
	mustFail(t, "leaving a port with declared flows", err, control.ErrInvalid)
	mustFail(t, "deleting a tenant with flows", r.Service.DeleteTenant(ctx, "lab", "red", 0), control.ErrConflict)
	_, _, err = r.Service.PutFlows(ctx, "lab", control.AnyVersion, []control.FlowInput{{Tenant: "nobody", Src: "h1", Dst: "h2"}})
	mustFail(t, "flow of nobody", err, control.ErrInvalid)
}

func TestWithoutDiscoveryPortsCannotBeNamed(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, openStore)
	ctx := t.Context()
	if _, err := r.Service.CreateFabric(ctx, control.Fabric{Name: "lab", Source: controltest.Source}); err != nil {
		t.Fatal(err)
	}
	_, err := r.Service.CreateTenant(ctx, "lab", control.TenantInput{Name: "x", Weight: 1, Attachments: []control.AttachmentInput{{Port: "h1"}}})
	if code(err) != "not-discovered" {
		t.Errorf("attaching gives %v", err)
	}
	if _, _, err = r.Service.CreatePlan(ctx, "lab", control.CompileOptions{}, true); code(err) != "not-discovered" {
		t.Errorf("compiling gives %v", err)
	}
}

func TestDiscoveryKeepsOneSnapshotOfOneTopology(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, openStore)
	r.Lab(t)
	first, topo, err := r.Service.Topology(t.Context(), "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	star, err := controltest.Star()
	if err != nil {
		t.Fatal(err)
	}
	if len(topo.Nodes) != len(star.Nodes) || len(topo.Links) != len(star.Links) {
		t.Errorf("topology has %d nodes and %d links", len(topo.Nodes), len(topo.Links))
	}
	again, err := r.Service.Discover(t.Context(), "lab")
	if err != nil || again.SHA256 != first.SHA256 || !again.TakenAt.Equal(first.TakenAt) || !again.SeenAt.After(first.SeenAt) {
		t.Errorf("second discovery is %+v, %v", again, err)
	}
	r.Devices.Break(errors.New("no light"))
	if _, err := r.Service.Discover(t.Context(), "lab"); code(err) != "discovery-failed" || !strings.Contains(err.Error(), "no light") {
		t.Errorf("failed discovery gives %v", err)
	}
}

// What a discovery finds amiss reaches who asked for it, and devices of another plane than the fabric's are amiss.
func TestDiscoveryTellsWhatIsAmiss(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, openStore)
	r.Lab(t)
	warnings := func() []string {
		t.Helper()
		snap, err := r.Service.Discover(t.Context(), "lab")
		if err != nil {
			t.Fatal(err)
		}
		return snap.Stats.Warnings
	}
	if got := warnings(); len(got) > 0 {
		t.Errorf("a fabric in order has %q", got)
	}
	r.Devices.Warn("ib", "leaf1: it does not answer")
	if got := warnings(); !slices.Equal(got, []string{"leaf1: it does not answer"}) {
		t.Errorf("one silent device: %q", got)
	}
	r.Devices.Warn("roce", "leaf1: it does not answer")
	if got := warnings(); len(got) != 2 || !strings.Contains(got[0], `fabric "lab" is of plane ib, its switches are for plane roce`) {
		t.Errorf("devices of another plane: %q", got)
	}
	r.Devices.Warn("", slices.Repeat([]string{"x"}, 103)...)
	if got := warnings(); len(got) != 101 || got[100] != "and 3 more" {
		t.Errorf("103 warnings are %d: %q", len(got), got[len(got)-1])
	}
}

func TestDevicesAndShares(t *testing.T) {
	t.Parallel()
	r, plan := labWithPlan(t)
	ctx := t.Context()
	start(t, r.Service, plan)
	r.Wait()
	name, list, err := r.Service.Devices(ctx, "lab", "")
	if err != nil || name != plan || len(list) == 0 {
		t.Errorf("devices: plan %s, %d of them, %v", name, len(list), err)
	}
	sh, err := r.Service.ReadShares(ctx, "lab", "", 50*time.Millisecond)
	if err != nil || sh.Plan != plan || sh.Window != 50*time.Millisecond || len(sh.Tenants) != 2 || sh.MeasuredAt.IsZero() {
		t.Errorf("shares are %+v, %v", sh, err)
	}
	for _, w := range []time.Duration{0, time.Hour} {
		_, err := r.Service.ReadShares(ctx, "lab", "", w)
		mustFail(t, "window", err, control.ErrInvalid)
	}
	r.Devices.Break(os.ErrDeadlineExceeded)
	_, _, err = r.Service.Devices(ctx, "lab", plan)
	mustFail(t, "unreachable devices", err, control.ErrUnavailable)
	_, err = r.Service.ReadShares(ctx, "lab", plan, time.Second)
	mustFail(t, "failed measurement", err, os.ErrDeadlineExceeded)
}

func TestAWindowThatASlowFabricCannotFillIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	r, plan := labWithPlan(t)
	ctx := t.Context()
	f, err := r.Service.Fabric(ctx, "lab")
	if err != nil {
		t.Fatal(err)
	}
	slow := control.Fabric{Name: "slow", Source: f.Source, TimeScale: 0.01}
	if _, err := r.Service.CreateFabric(ctx, slow); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Service.Discover(ctx, "slow"); err != nil {
		t.Fatal(err)
	}
	in := control.TenantInput{Name: "red", Weight: quantity.WeightOne, Attachments: []control.AttachmentInput{{Port: "h1"}}}
	if _, err := r.Service.CreateTenant(ctx, "slow", in); err != nil {
		t.Fatal(err)
	}
	p, _, err := r.Service.CreatePlan(ctx, "slow", control.CompileOptions{}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Service.ReadShares(ctx, "slow", p.Plan.Name, 20*time.Second)
	mustFail(t, "20 s at a hundredth of real time", err, control.ErrInvalid)
	if _, err := r.Service.ReadShares(ctx, "slow", p.Plan.Name, 100*time.Millisecond); err != nil {
		t.Errorf("100 ms at a hundredth of real time: %v", err)
	}
	if _, err := r.Service.ReadShares(ctx, "lab", plan, 20*time.Second); err != nil {
		t.Errorf("20 s in real time: %v", err)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, openStore)
	ctx := t.Context()
	if tok, err := r.Service.Authenticate(ctx, controltest.Token); err != nil || tok.Name != control.BootstrapName {
		t.Errorf("the given token gives %+v, %v", tok, err)
	}
	for _, bad := range []string{"", "x", controltest.Token + "x", strings.Repeat("x", 5000)} {
		_, err := r.Service.Authenticate(ctx, bad)
		mustFail(t, "token", err, control.ErrUnauthorized)
	}
	if gen, err := r.Service.Bootstrap(ctx, ""); gen != "" || err != nil {
		t.Errorf("with a token in the store one was made: %v", err)
	}
	for _, bad := range []string{"short", strings.Repeat("x", 40) + " y"} {
		if _, err := r.Service.Bootstrap(ctx, bad); err == nil {
			t.Errorf("token %q was taken", bad)
		}
	}
	text, hash := control.NewToken()
	other, _ := control.NewToken()
	if text == other || len(text) < 40 {
		t.Errorf("tokens are %q and %q", text, other)
	}
	err := r.Store.Tx(ctx, func(repos control.Repos) error {
		return repos.PutToken(ctx, control.Token{Name: "ci", Hash: hash, CreatedAt: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if tok, err := r.Service.Authenticate(ctx, text); err != nil || tok.Name != "ci" {
		t.Errorf("token gives %+v, %v", tok, err)
	}
	raw, err := os.ReadFile(r.Path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), text) || strings.Contains(string(raw), controltest.Token) {
		t.Error("a token's text is in the database")
	}
}

func TestAFreshStoreGetsOneToken(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, openStore)
	db, err := sql.Open("sqlite", r.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "DELETE FROM tokens"); err != nil {
		t.Fatal(err)
	}
	text, err := r.Service.Bootstrap(t.Context(), "")
	if err != nil || text == "" {
		t.Fatalf("bootstrap gives %q, %v", text, err)
	}
	if tok, err := r.Service.Authenticate(t.Context(), text); err != nil || tok.Name != control.BootstrapName {
		t.Errorf("the made token gives %+v, %v", tok, err)
	}
}

func TestEveryPartIsNeeded(t *testing.T) {
	t.Parallel()
	if _, err := control.New(control.Deps{}); err == nil {
		t.Error("a service was made of nothing")
	}
}
