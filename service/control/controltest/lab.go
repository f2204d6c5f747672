package controltest

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/policy"
	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/control/drift"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/usecases"
	"fairlane/service/store"
)

// OpenSQLite opens the real store for a rig.
func OpenSQLite(ctx context.Context, path string) (control.Store, io.Closer, error) {
	s, err := store.OpenSQLite(ctx, path, store.Options{})
	return s, s, err
}

// LabWithPlan returns a rig whose fabric has a plan, and the name of the plan.
func LabWithPlan(t testing.TB) (*Rig, string) {
	t.Helper()
	r := New(t, OpenSQLite)
	r.Lab(t)
	p, created, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil || !created {
		t.Fatalf("plan: created %v, %v", created, err)
	}
	return r, p.Plan.Name
}

// MustFail reports an error that is not of the kind; what names the attempted action.
func MustFail(t testing.TB, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: error is %v, want one that is %v", what, err, kind)
	}
}

// Code returns the code of a *ConflictError or *UnavailableError; else "".
func Code(err error) string {
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

// Start starts a rollout of a plan on the fabric.
func Start(t testing.TB, s *usecases.Services, plan string) control.Rollout {
	t.Helper()
	ro, err := s.StartRollout(control.WithActor(t.Context(), "ada"), "lab", rollouts.RolloutInput{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	return ro
}

// Rollout reads a rollout on the fabric.
func Rollout(t testing.TB, s *usecases.Services, id int64) control.Rollout {
	t.Helper()
	ro, err := s.Rollout(t.Context(), "lab", id)
	if err != nil {
		t.Fatal(err)
	}
	return ro
}

// Kinds lists the events of a rollout by kind and actor, without those of single devices.
func Kinds(t testing.TB, s *usecases.Services, rollout int64) string {
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

// InForce returns a lab whose plan has been rolled out.
func InForce(t testing.TB) (*Rig, string) {
	t.Helper()
	r, plan := LabWithPlan(t)
	ro := Start(t, r.Service, plan)
	r.Wait()
	if got := Rollout(t, r.Service, ro.ID); got.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", got.State, got.Result)
	}
	return r, plan
}

// Managers returns services on one store, with a clock that the test advances.
func Managers(t testing.TB, r *Rig, n int, change ...func(*control.Deps)) (list []*usecases.Services, ahead *atomic.Int64) {
	t.Helper()
	ahead = &atomic.Int64{}
	change = append(change, func(d *control.Deps) {
		d.Clock = func() time.Time {
			return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(ahead.Load()))
		}
	})
	for range n {
		list = append(list, r.Manager(t, change...))
	}
	return list, ahead
}

// Baselines reads all baselines of the lab.
func Baselines(t testing.TB, s *usecases.Services, against string) []drift.BaselineView {
	t.Helper()
	_, list, next, err := s.ListBaseline(t.Context(), "lab", drift.BaselineQuery{Against: against}, control.Page{Limit: 100})
	if err != nil || next != "" {
		t.Fatalf("baselines: next %q, %v", next, err)
	}
	return list
}

// AuditEntries returns the whole log, oldest first, after verifying its chain.
func AuditEntries(t testing.TB, s *usecases.Services) []audit.Entry {
	t.Helper()
	report, err := s.VerifyAudit(t.Context(), audit.Tail{})
	if err != nil || report.Bad != nil {
		t.Fatalf("the chain is not whole: %v, %v", report.Bad, err)
	}
	list, next, err := s.ListAudit(t.Context(), control.AuditFilter{Oldest: true}, control.Page{Limit: control.MaxPageLimit})
	if err != nil || next != "" || int64(len(list)) != report.Entries {
		t.Fatalf("listed %d of %d entries, next %q, %v", len(list), report.Entries, next, err)
	}
	return list
}

// LastAuditEntry returns the newest entry of the audit log.
func LastAuditEntry(t testing.TB, s *usecases.Services) audit.Entry {
	t.Helper()
	list := AuditEntries(t, s)
	if len(list) == 0 {
		t.Fatal("the log is empty")
	}
	return list[len(list)-1]
}
