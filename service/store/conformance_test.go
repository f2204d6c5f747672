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
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/tenants"
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

func checkFabrics(t *testing.T, f *fixture) {
	ctx := t.Context()
	for _, n := range []string{"c", "a", "b"} {
		f.fabric(n)
	}
	f.want(f.s.Tx(ctx, func(r control.Repos) error { _, err := r.CreateFabric(ctx, fabricCalled("a")); return err }), control.ErrConflict)
	f.view(func(r control.Repos) error {
		list, err := paged(2, func(p control.Page) ([]control.Fabric, string, error) { return r.ListFabrics(ctx, p) })
		if err != nil {
			return err
		}
		names := each(list, func(x control.Fabric) string { return x.Name })
		f.equal("names", []string{"a", "b", "c"}, names)
		got, err := r.Fabric(ctx, "b")
		f.equal("fabric", control.Fabric{Name: "b", Plane: "ib", Source: "file:x", TimeScale: 0.5, Counters: control.CountersKeep, Prerequisites: control.PrerequisitesRepair, Version: 1, CreatedAt: at(), UpdatedAt: at(), Management: control.Managed}, got)
		return err
	})
}

func snapshot(fabric, digit string, seen time.Time) control.Snapshot {
	return control.Snapshot{
		Fabric: fabric, SHA256: strings.Repeat(digit, 64), Topology: []byte("topology " + digit),
		Nodes: 3, Switches: 1, Hosts: 2, Links: 2, TakenAt: seen, SeenAt: seen,
		Stats: control.DiscoverStats{Wall: 1500 * time.Microsecond, MADsSent: 42},
	}
}

func checkSnapshots(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	put := func(s control.Snapshot) {
		f.tx(func(r control.Repos) error { _, err := r.PutSnapshot(ctx, s); return err })
	}
	put(snapshot("lab", "1", at()))
	put(snapshot("lab", "2", at())) // the clock may stand still: the later sighting counts
	f.view(func(r control.Repos) error {
		s, err := r.Snapshot(ctx, "lab", "")
		f.equal("latest", snapshot("lab", "2", at()), s)
		return err
	})
	again := snapshot("lab", "1", at().Add(time.Hour))
	again.Stats.MADsSent = 7
	put(again)
	f.view(func(r control.Repos) error {
		s, err := r.Snapshot(ctx, "lab", "")
		want := again
		want.TakenAt = at()
		f.equal("latest after the first was seen again", want, s)
		list, next, lerr := r.ListSnapshots(ctx, "lab", control.Page{Limit: 1})
		if lerr != nil || len(list) != 1 || list[0].SHA256 != again.SHA256 || list[0].Topology != nil {
			t.Errorf("first page is %v, %v: want the snapshot seen last, without its topology", list, lerr)
		}
		list, next, lerr = r.ListSnapshots(ctx, "lab", control.Page{Limit: 1, After: next})
		if lerr != nil || len(list) != 1 || list[0].SHA256[0] != '2' || next != "" {
			t.Errorf("second page is %v, next %q, %v", list, next, lerr)
		}
		fab, ferr := r.Fabric(ctx, "lab")
		if ferr != nil || fab.Snapshot == nil || fab.Snapshot.SHA256 != again.SHA256 || fab.Snapshot.Topology != nil {
			t.Errorf("fabric's snapshot is %+v, %v", fab.Snapshot, ferr)
		}
		return err
	})
}

func port(guid uint64, num uint8) ident.PortID {
	return ident.PortID{Node: ident.GUID(guid), Port: ident.PortNum(num)}
}

func red() control.Tenant {
	sl := ident.SL(3)
	return control.Tenant{Fabric: "lab", CreatedAt: at(), UpdatedAt: at(), Tenant: tenants.Tenant{
		Name: "red", Weight: 1500, PKey: 0xffff, Guarantee: 10 * quantity.Gbps, Cap: quantity.MaxBitRate,
		Classes:     []tenants.Class{{Name: "bulk", Weight: 1}, {Name: "urgent", Weight: quantity.MaxWeight}},
		Attachments: []tenants.Attachment{{Port: port(1<<63+5, 1)}, {Port: port(2, 254), SL: &sl}},
	}}
}

func (f *fixture) tenant(tn control.Tenant) {
	f.t.Helper()
	f.tx(func(r control.Repos) error { _, err := r.CreateTenant(f.t.Context(), tn); return err })
}

func checkTenantRoundTrip(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.tenant(red())
	want := red()
	want.Version = 1
	f.view(func(r control.Repos) error {
		got, err := r.Tenant(ctx, "lab", "red")
		f.equal("tenant", want, got)
		all, aerr := r.AllTenants(ctx, "lab")
		f.equal("all tenants", []control.Tenant{want}, all)
		return errors.Join(err, aerr)
	})
	err := f.s.Tx(ctx, func(r control.Repos) error { _, err := r.CreateTenant(ctx, red()); return err })
	f.want(err, control.ErrConflict)
	many := red()
	many.Name, many.Attachments = "many", nil
	for i := range 1500 {
		many.Attachments = append(many.Attachments, tenants.Attachment{Port: port(uint64(i), 1)})
	}
	f.tenant(many)
	f.view(func(r control.Repos) error {
		list, next, err := r.ListTenants(ctx, "lab", control.Page{Limit: 1})
		if len(list) != 1 || len(list[0].Attachments) != 1500 || next != "many" {
			t.Errorf("page has %d tenants, next %q, want many with all its attachments", len(list), next)
		}
		return err
	})
}

func checkStaleVersion(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.tenant(red())
	change := red()
	change.Version, change.Weight, change.Classes, change.Attachments = 1, 9000, nil, nil
	change.Guarantee, change.Cap = 0, quantity.Gbps
	f.tx(func(r control.Repos) error {
		got, err := r.UpdateTenant(ctx, change)
		if got.Version != 2 || got.Weight != 9000 || got.Guarantee != 0 || got.Cap != quantity.Gbps || got.Classes != nil || got.Attachments != nil {
			t.Errorf("updated tenant is %+v", got)
		}
		return err
	})
	change.Weight = 1
	f.want(f.s.Tx(ctx, func(r control.Repos) error { _, err := r.UpdateTenant(ctx, change); return err }), control.ErrPrecondition)
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 1) }), control.ErrPrecondition)
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteFabric(ctx, "lab", 5) }), control.ErrPrecondition)
	f.view(func(r control.Repos) error {
		got, err := r.Tenant(ctx, "lab", "red")
		if got.Weight != 9000 || got.Version != 2 {
			t.Errorf("tenant after refused changes is %+v", got)
		}
		return err
	})
	f.tx(func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 2) })
}

func someFlows() []tenants.Flow {
	return []tenants.Flow{
		{Tenant: "red", Class: "bulk", Src: port(9, 1), Dst: port(8, 2), QPs: 65536, Demand: 100 * quantity.Tbps},
		{Tenant: "red", Src: port(1<<63, 1), Dst: port(8, 2), QPs: 1},
	}
}

func checkFlows(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.tenant(red())
	replace := func(v int64, list []tenants.Flow) (next int64, err error) {
		err = f.s.Tx(ctx, func(r control.Repos) (err error) { next, err = r.ReplaceFlows(ctx, "lab", v, list); return err })
		return next, err
	}
	if v, err := replace(0, someFlows()); v != 1 || err != nil {
		t.Fatalf("first replacement gives version %d, %v", v, err)
	}
	_, err := replace(0, nil)
	f.want(err, control.ErrPrecondition)
	_, err = replace(1, []tenants.Flow{{Tenant: "nobody", Src: port(1, 1), Dst: port(2, 1), QPs: 1}})
	f.want(err, control.ErrNotFound)
	f.view(func(r control.Repos) error {
		got, v, err := r.Flows(ctx, "lab")
		f.equal("flows", someFlows(), got)
		f.equal("version", int64(1), v)
		return err
	})
	f.plainTenant("lab", "blue")
	f.fabric("other")
	f.plainTenant("other", "red")
	f.view(func(r control.Repos) error {
		counts, err := r.CountFlows(ctx, "lab", []string{"blue", "red", "nobody"})
		f.equal("numbers of flows", map[string]int{"red": 2}, counts)
		if err == nil {
			counts, err = r.CountFlows(ctx, "other", []string{"red"})
			f.equal("numbers of flows of another fabric", map[string]int{}, counts)
		}
		return err
	})
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 0) }), control.ErrConflict)
	if v, err := replace(-1, nil); v != 2 || err != nil {
		t.Fatalf("replacement at any version gives %d, %v", v, err)
	}
	f.tx(func(r control.Repos) error { return r.DeleteTenant(ctx, "lab", "red", 0) })
}

func plan(name string) control.Plan {
	return control.Plan{
		Fabric: "lab", CreatedAt: at(), Stored: true,
		Plan: &policy.Plan{
			Name: name, Plane: "ib",
			CAs:      []policy.CAPlan{{Port: port(7, 1), Name: "host-01/P1", Settings: ibcc.CASettings{Limit: 1, Table: []ibcc.Entry{{}, {Shift: 2, Multiplier: 5}}}}},
			Switches: []policy.SwitchPlan{{Node: 4, Name: "leaf"}},
			Tenants:  []policy.TenantShare{{Tenant: "red", Weight: 1500, PredictedError: 0.25}},
			Findings: []policy.Finding{{Code: "sl-exhausted", Message: "m"}},
		},
		Input: control.PlanInput{Snapshot: strings.Repeat("1", 64), Tenants: []tenants.Tenant{red().Tenant}, Flows: someFlows(), Options: policy.Options{Mode: "theorem1"}},
	}
}

func planName(prefix string) string { return prefix + strings.Repeat("0", 64-len(prefix)) }

func (f *fixture) plan(name string) {
	f.t.Helper()
	f.tx(func(r control.Repos) error { _, _, err := r.PutPlan(f.t.Context(), plan(name)); return err })
}

func checkPlans(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	for _, n := range []string{"abc1", "abc2", "d"} {
		f.plan(planName(n))
	}
	f.tx(func(r control.Repos) error {
		again := plan(planName("d"))
		again.CreatedAt = at().Add(time.Hour)
		got, created, err := r.PutPlan(ctx, again)
		if created {
			t.Error("storing a plan again created one")
		}
		f.equal("plan stored before", plan(planName("d")), got)
		return err
	})
	f.view(func(r control.Repos) error {
		got, err := r.Plan(ctx, "lab", "abc1")
		f.equal("plan by its beginning", plan(planName("abc1")), got)
		_, err2 := r.Plan(ctx, "lab", "abc")
		f.want(err2, control.ErrConflict)
		for _, name := range []string{"", "abd", "ABC1", "%", "abc1'"} {
			_, err3 := r.Plan(ctx, "lab", name)
			f.want(err3, control.ErrNotFound)
		}
		list, next, err4 := r.ListPlans(ctx, "lab", control.Page{Limit: 2})
		if len(list) != 2 || list[0].Name != planName("d") || next == "" {
			t.Errorf("first page is %+v, next %q: want the newest two", list, next)
		}
		f.equal("summary", control.PlanSummary{Name: planName("d"), Fabric: "lab", Snapshot: strings.Repeat("1", 64),
			Tenants: 1, Devices: 2, Findings: 1, MaxPredictedError: 0.25, CreatedAt: at()}, list[0])
		rest, next, err5 := r.ListPlans(ctx, "lab", control.Page{Limit: 2, After: next})
		if len(rest) != 1 || rest[0].Name != planName("abc1") || next != "" {
			t.Errorf("second page is %+v, next %q", rest, next)
		}
		return errors.Join(err, err4, err5)
	})
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
