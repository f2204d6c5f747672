package store

// The conformance suite of control.Store: the behaviour of every database.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// conform runs the suite; open returns an empty store for each test and closes it at the end.
func conform(t *testing.T, open func(t *testing.T) control.Store) {
	for name, f := range map[string]func(*testing.T, *fixture){
		"fabrics are created once and listed in pages":        checkFabrics,
		"a snapshot found again is the same snapshot":         checkSnapshots,
		"tenants keep classes and attachments":                checkTenantRoundTrip,
		"a stale version is refused and changes nothing":      checkStaleVersion,
		"feeds keep the ports that they claim":                checkFeeds,
		"flows are replaced as a whole":                       checkFlows,
		"plans are stored once and found by their beginning":  checkPlans,
		"one rollout runs on a fabric":                        checkOneRollout,
		"a device's row keeps what a later record leaves out": checkRolloutDevices,
		"a final rollout stays as it is":                      checkFinalRollout,
		"a refused rollout differs from a rolled-back one":    checkRefusedRollout,
		"a rollout is written on its revision only":           checkRolloutRevision,
		"shards of a rollout":                                 checkShards,
		"many devices at once":                                checkManyDevices,
		"devices that were left in the middle are known":      checkDirtyDevices,
		"the plan whose placements are in force":              checkPlacedPlan,
		"some devices of a rollout":                           checkDevicesOf,
		"a fabric's drift policy":                             checkDriftPolicy,
		"objectives of tenants and of a fabric":               checkObjectives,
		"devices are known by plan, due time and policy":      checkDeviceRecords,
		"a rollout settles what is known of its devices":      checkSettledDevices,
		"events come in order and page on":                    checkEvents,
		"the newest measurements are kept":                    checkShares,
		"managers announce their series":                      checkSeriesManagers,
		"the newest tasks that ended are kept":                checkTasks,
		"one manager at a time moves an audit sink":           checkAuditSinks,
		"silences are listed until they end":                  checkSilences,
		"ports have their latest change":                      checkPortChanges,
		"maintenance is listed for those it touches":          checkMaintenance,
		"audit entries are chained and found":                 checkAudit,
		"audit entries keep any text":                         checkAuditText,
		"a failed change leaves no audit entry":               checkAuditRollback,
		"pruned audit entries leave a chain that verifies":    checkAuditPruning,
		"rollouts are kept while they are needed":             checkRetentionOfRollouts,
		"plans and snapshots are kept while they are needed":  checkRetentionOfPlans,
		"old audit entries end before the first young one":    checkAuditBefore,
		"tokens are found by hash":                            checkTokens,
		"accounts, roles and tokens":                          checkAccounts,
		"roles and accounts go with their tenant":             checkAccountsOfTenant,
		"roles and accounts go with their fabric":             checkAccountsOfFabric,
		"sessions and failed sign-ins":                        checkSessions,
		"lists are cut before paging":                         checkScopedLists,
		"a failed transaction leaves nothing":                 checkRollback,
		"a view cannot write":                                 checkReadOnly,
		"deleting a fabric takes all that is its own":         checkCascade,
		"writers take turns and no change is lost":            checkConcurrentWriters,
		"what does not exist is not found":                    checkMissing,
		"cursors of other lists are refused":                  checkForeignCursor,
		"rows are found by a part of their name":              checkViewLists,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, &fixture{t: t, s: open(t)})
		})
	}
}

// at returns the time of everything the suite stores.
func at() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 123_000, time.UTC) }

type fixture struct {
	t testing.TB
	s control.Store
}

func (f *fixture) tx(do func(r control.Repos) error) {
	f.t.Helper()
	if err := f.s.Tx(f.t.Context(), do); err != nil {
		f.t.Fatalf("Tx: %v", err)
	}
}

func (f *fixture) view(do func(r control.Repos) error) {
	f.t.Helper()
	if err := f.s.View(f.t.Context(), do); err != nil {
		f.t.Fatalf("View: %v", err)
	}
}

// fabricCalled returns a new fabric.
func fabricCalled(name string) control.Fabric {
	return control.Fabric{Name: name, Plane: "ib", Source: "file:x", TimeScale: 0.5, Counters: control.CountersKeep, Prerequisites: control.PrerequisitesRepair, CreatedAt: at()}
}

func (f *fixture) fabric(name string) {
	f.t.Helper()
	f.tx(func(r control.Repos) error { _, err := r.CreateFabric(f.t.Context(), fabricCalled(name)); return err })
}

// paged reads a list in pages of a size.
func paged[T any](size int, list func(p control.Page) ([]T, string, error)) (all []T, err error) {
	for p := (control.Page{Limit: size}); ; {
		part, next, err := list(p)
		switch all = append(all, part...); {
		case err != nil || next == "":
			return all, err
		case next == p.After || len(part) != size:
			return all, fmt.Errorf("after %q comes a page of %d and the cursor %q", p.After, len(part), next)
		}
		p.After = next
	}
}

func (f *fixture) want(err, kind error) {
	f.t.Helper()
	if !errors.Is(err, kind) {
		f.t.Fatalf("error is %v, want one that is %v", err, kind)
	}
}

func (f *fixture) equal(what string, want, got any) {
	f.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		f.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func checkEvents(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.tx(func(r control.Repos) error {
		for i := range 5 {
			e := control.Event{At: at().Add(time.Duration(i/2) * time.Second), Fabric: "lab", Rollout: int64(i % 2), Actor: "ada", Kind: "k", Subject: fmt.Sprint(i), Said: phrase.Verbatim("m"), Data: []byte(`{"a":1}`)}
			switch i {
			case 3:
				e.Kind = "device.state"
			case 4:
				e.Fabric, e.Data = "other", nil
			}
			if err := r.AddEvent(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	f.view(func(r control.Repos) error {
		for _, tc := range []struct {
			filter control.EventFilter
			want   string
		}{{control.EventFilter{}, "01234"}, {control.EventFilter{Fabric: "lab"}, "0123"}, {control.EventFilter{Fabric: "lab", Rollout: 1}, "13"}, {control.EventFilter{Fabric: "none"}, ""}, {control.EventFilter{Fabric: "lab", Since: at().Add(time.Second)}, "23"},
			{control.EventFilter{Fabric: "lab", Until: at().Add(time.Second)}, "01"}, {control.EventFilter{Fabric: "lab", Newest: true}, "3210"},
			{control.EventFilter{Newest: true, Since: at().Add(time.Second), Until: at().Add(2 * time.Second)}, "32"},
			{control.EventFilter{Fabric: "lab", Subject: "2"}, "2"}, {control.EventFilter{Kind: "device.s"}, "3"}, {control.EventFilter{NoSteps: true, Newest: true}, "4210"}} {
			list, err := paged(2, func(p control.Page) ([]control.Event, string, error) { return r.ListEvents(ctx, tc.filter, p) })
			if err != nil {
				return err
			}
			got := strings.Join(each(list, func(e control.Event) string { return e.Subject }), "")
			f.equal(fmt.Sprintf("events of %+v", tc.filter), tc.want, got)
		}
		list, _, err := r.ListEvents(ctx, control.EventFilter{}, control.Page{Limit: 1})
		want := control.Event{ID: list[0].ID, At: at(), Fabric: "lab", Actor: "ada", Kind: "k", Subject: "0", Said: phrase.Verbatim("m"), Data: []byte(`{"a":1}`)}
		f.equal("event", want, list[0])
		return err
	})
}

func checkTokens(t *testing.T, f *fixture) {
	ctx := t.Context()
	put := func(name string, h byte) {
		f.tx(func(r control.Repos) error {
			return r.PutToken(ctx, control.Token{Name: name, Hash: [32]byte{h}, CreatedAt: at()})
		})
	}
	put("admin", 1)
	put("ci", 2)
	put("admin", 3) // replaces the first
	f.view(func(r control.Repos) error {
		_, err := r.TokenByHash(ctx, [32]byte{1})
		f.want(err, control.ErrNotFound)
		got, err := r.TokenByHash(ctx, [32]byte{3})
		f.equal("token", control.Token{ID: got.ID, Name: "admin", Hash: [32]byte{3}, CreatedAt: at()}, got)
		n, cerr := r.CountTokens(ctx)
		f.equal("count", int64(2), n)
		return errors.Join(err, cerr)
	})
}

func checkRollback(t *testing.T, f *fixture) {
	ctx := t.Context()
	boom := errors.New("boom")
	err := f.s.Tx(ctx, func(r control.Repos) error {
		if _, err := r.CreateFabric(ctx, fabricCalled("lab")); err != nil {
			return err
		}
		return boom
	})
	f.want(err, boom)
	f.view(func(r control.Repos) error {
		_, err := r.Fabric(ctx, "lab")
		f.want(err, control.ErrNotFound)
		return nil
	})
}

func checkReadOnly(t *testing.T, f *fixture) {
	ctx := t.Context()
	err := f.s.View(ctx, func(r control.Repos) error {
		return r.AddEvent(ctx, control.Event{At: at(), Fabric: "lab", Kind: "k"})
	})
	if err == nil || errors.Is(err, control.ErrUnavailable) { // which would be the database's fault
		t.Errorf("writing in a view gave %v, want an error of the program", err)
	}
}

func checkCascade(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.tenant(red())
	f.plan(planName("a"))
	ro := f.rollout()
	f.tx(func(r control.Repos) error {
		_, err := r.ReplaceFlows(ctx, "lab", 0, someFlows())
		return errors.Join(err, r.PutRolloutDevice(ctx, ro.ID, control.RolloutDevice{Device: driver.Device{ID: port(1, 1)}, State: "pending", UpdatedAt: at()}))
	})
	f.tx(func(r control.Repos) error { return r.DeleteFabric(ctx, "lab", 1) })
	f.fabric("lab")
	f.view(func(r control.Repos) error {
		all, err := r.AllTenants(ctx, "lab")
		fl, v, err2 := r.Flows(ctx, "lab")
		running, err3 := r.RunningRollouts(ctx)
		if len(all)+len(fl)+len(running) != 0 || v != 0 {
			t.Errorf("a new fabric of the old name has %d tenants, %d flows at version %d, %d rollouts", len(all), len(fl), v, len(running))
		}
		return errors.Join(err, err2, err3)
	})
}

func checkConcurrentWriters(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.tenant(red())
	const writers, each = 8, 10
	var wg sync.WaitGroup
	errs := make(chan error, writers*each)
	for range writers {
		wg.Go(func() {
			for range each {
				errs <- f.s.Tx(ctx, func(r control.Repos) error {
					tn, err := r.Tenant(ctx, "lab", "red")
					if err != nil {
						return err
					}
					tn.Weight++
					_, err = r.UpdateTenant(ctx, tn)
					return err
				})
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	f.view(func(r control.Repos) error {
		got, err := r.Tenant(ctx, "lab", "red")
		if got.Weight != 1500+writers*each || got.Version != 1+writers*each {
			t.Errorf("after %d increments the weight is %d at version %d", writers*each, got.Weight, got.Version)
		}
		return err
	})
}

func checkMissing(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	all := control.Page{}
	err := f.s.Tx(ctx, func(r control.Repos) error {
		for name, do := range map[string]func() error{
			"fabric":                    func() error { _, err := r.Fabric(ctx, "x"); return err },
			"delete fabric":             func() error { return r.DeleteFabric(ctx, "x", 0) },
			"put snapshot":              func() error { _, err := r.PutSnapshot(ctx, snapshot("x", "1", at())); return err },
			"snapshot":                  func() error { _, err := r.Snapshot(ctx, "lab", ""); return err },
			"snapshots":                 func() error { _, _, err := r.ListSnapshots(ctx, "x", all); return err },
			"create tenant":             func() error { tn := red(); tn.Fabric = "x"; _, err := r.CreateTenant(ctx, tn); return err },
			"tenant":                    func() error { _, err := r.Tenant(ctx, "lab", "red"); return err },
			"tenants":                   func() error { _, _, err := r.ListTenants(ctx, "x", all); return err },
			"all tenants":               func() error { _, err := r.AllTenants(ctx, "x"); return err },
			"update tenant":             func() error { _, err := r.UpdateTenant(ctx, red()); return err },
			"delete tenant":             func() error { return r.DeleteTenant(ctx, "lab", "red", 0) },
			"flows":                     func() error { _, _, err := r.Flows(ctx, "x"); return err },
			"numbers of flows":          func() error { _, err := r.CountFlows(ctx, "x", nil); return err },
			"replace flows":             func() error { _, err := r.ReplaceFlows(ctx, "x", 0, nil); return err },
			"plan":                      func() error { _, err := r.Plan(ctx, "lab", planName("a")); return err },
			"plan of an unknown fabric": func() error { _, err := r.Plan(ctx, "x", planName("a")); return err },
			"plans":                     func() error { _, _, err := r.ListPlans(ctx, "x", all); return err },
			"put plan":                  func() error { p := plan(planName("a")); p.Fabric = "x"; _, _, err := r.PutPlan(ctx, p); return err },
			"rollout":                   func() error { _, err := r.Rollout(ctx, "lab", 1); return err },
			"rollouts":                  func() error { _, _, err := r.ListRollouts(ctx, "x", all); return err },
			"rollout of none": func() error {
				_, err := r.CreateRollout(ctx, control.Rollout{Fabric: "lab", Plan: planName("a")})
				return err
			},
			"latest rollout":   func() error { _, err := r.LatestRollout(ctx, "lab"); return err },
			"token by hash":    func() error { _, err := r.TokenByHash(ctx, [32]byte{9}); return err },
			"latest elsewhere": func() error { _, err := r.LatestRollout(ctx, "x"); return err },
		} {
			if err := do(); !errors.Is(err, control.ErrNotFound) {
				t.Errorf("%s: error is %v, want not found", name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func checkForeignCursor(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.view(func(r control.Repos) error {
		p := control.Page{After: "red"}
		for name, do := range map[string]func(context.Context) error{
			"snapshots": func(ctx context.Context) error { _, _, err := r.ListSnapshots(ctx, "lab", p); return err },
			"plans":     func(ctx context.Context) error { _, _, err := r.ListPlans(ctx, "lab", p); return err },
			"rollouts":  func(ctx context.Context) error { _, _, err := r.ListRollouts(ctx, "lab", p); return err },
			"events":    func(ctx context.Context) error { _, _, err := r.ListEvents(ctx, control.EventFilter{}, p); return err },
			"audit":     func(ctx context.Context) error { _, _, err := r.ListAudit(ctx, control.AuditFilter{}, p); return err },
			"policies":  func(ctx context.Context) error { _, _, err := r.ListPolicies(ctx, "lab", p); return err },
			"tasks":     func(ctx context.Context) error { _, _, err := r.ListTasks(ctx, control.TaskSimulation, p); return err },
			"measured":  func(ctx context.Context) error { _, _, err := r.ListShares(ctx, "lab", at(), at(), p); return err },
		} {
			if err := do(ctx); !errors.Is(err, control.ErrInvalid) {
				t.Errorf("%s: error is %v, want invalid", name, err)
			}
		}
		return nil
	})
}
