package drift_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/drift"
	"fairlane/service/control/usecases"
	"fairlane/service/device"
	"fairlane/service/store"
)

// restoredLab is a lab whose database was restored to the time of the first plan, while the devices hold the second plan
// and another program changed the subnet manager.
type restoredLab struct {
	*controltest.Rig

	t      *testing.T
	s      *usecases.Services // runs the drift sweeps
	ahead  *atomic.Int64
	first  string
	second string
	before []drift.BaselineView // as recorded before the first plan
	writes atomic.Int64         // since the restore
}

func newRestoredLab(t *testing.T) *restoredLab {
	t.Helper()
	old, first := controltest.InForce(t)
	old.Devices.Compare()
	l := &restoredLab{t: t, first: first, before: controltest.Baselines(t, old.Service, "")}
	p := control.DefaultDriftPolicy()
	p.Policy = device.PolicyRepair
	if _, err := old.Service.PutDriftPolicy(t.Context(), "lab", 0, p); err != nil {
		t.Fatal(err)
	}
	file, database := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored.db")
	if _, err := store.Backup(t.Context(), old.Path, file); err != nil {
		t.Fatal(err)
	}
	l.second = otherPlan(t, old)
	ro := controltest.Start(t, old.Service, l.second)
	old.Wait()
	if got := controltest.Rollout(t, old.Service, ro.ID); got.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", got.State, got.Result)
	}
	if _, err := store.Restore(t.Context(), file, database, false, time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	l.Rig = controltest.On(t, controltest.OpenSQLite, database, old.Devices)
	list, ahead := controltest.Managers(t, l.Rig, 1)
	l.s, l.ahead = list[0], ahead
	l.Devices.Stray(false, nil)
	l.Devices.OnApply(func(context.Context, driver.Device) error { l.writes.Add(1); return nil })
	return l
}

// sweep advances the clock by more than an interval and sweeps for drift, with the repairs that follow.
func (l *restoredLab) sweep() []drift.DeviceView {
	l.t.Helper()
	l.ahead.Add(int64(6 * time.Minute))
	if err := l.s.SweepDrift(l.t.Context(), "m"); err != nil {
		l.t.Fatal(err)
	}
	l.Wait()
	_, list, _, err := l.s.ListDevices(l.t.Context(), "lab", control.Page{})
	if err != nil {
		l.t.Fatal(err)
	}
	return list
}

// latest returns the number of the newest rollout.
func (l *restoredLab) latest() int64 {
	l.t.Helper()
	list, _, err := l.s.ListRollouts(l.t.Context(), "lab", control.Page{Limit: 1})
	if err != nil {
		l.t.Fatal(err)
	}
	return list[0].ID
}

// hold checks that devices hold the settings of a plan.
func (l *restoredLab) hold(plan string) {
	l.t.Helper()
	_, list, err := l.s.Devices(l.t.Context(), "lab", plan)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, d := range list {
		if d.State != "in-sync" {
			l.t.Errorf("by plan %.12s %s is %s: %v", plan, d.Device.Name, d.State, d.Differences)
		}
	}
}

// waits checks that drift is reported, with the reason why it is not repaired.
func (l *restoredLab) waits() {
	l.t.Helper()
	const why = "the database was restored at 2026-11-21 11:00:00 UTC: automatic repairs are on hold until"
	l.sweep() // creates the records
	var drifted int
	for _, d := range l.sweep() {
		if d.State != "drifted" {
			continue
		}
		if drifted++; !strings.Contains(d.Error.String(), why) {
			l.t.Errorf("%s is drifted: %q", d.Device.Name, d.Error)
		}
	}
	plan, live, err := l.s.Devices(l.t.Context(), "lab", "")
	if err != nil || plan != l.first {
		l.t.Fatalf("in force is %.12s, want %.12s: %v", plan, l.first, err)
	}
	at := slices.IndexFunc(live, func(d drift.DeviceView) bool { return d.State == "drifted" })
	if at < 0 || !strings.Contains(live[at].Error.String(), why) || live[at].Said == nil || live[at].Said.String() != live[at].Error.String() || drifted < 2 {
		l.t.Errorf("%d devices are reported as drifted, those just read are %+v", drifted, live)
	}
	if m, err := l.s.Device(l.t.Context(), "lab", device.ManagerName, false); err != nil || m.State != "drifted" || !strings.Contains(m.Error.String(), why) {
		l.t.Errorf("the subnet manager is %s, %q: %v", m.State, m.Error, err)
	}
	reported := 0
	events, _, err := l.s.Events(l.t.Context(), "lab", 0, control.Page{Limit: 100})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == "fabric.repairs-wait" {
			reported++
		}
	}
	if reported != 1 {
		l.t.Errorf("%d events report that repairs are on hold, want one", reported)
	}
}

// A restored database may hold an older plan than the devices: only an operator can decide which one counts.
func TestRestoreHoldsAutomaticRepairs(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(l *restoredLab) (wanted string){
		"a rollout": func(l *restoredLab) string {
			controltest.Start(l.t, l.Service, l.second)
			return l.second
		},
		"a repair": func(l *restoredLab) string {
			if _, err := l.Service.RepairDevice(l.t.Context(), "lab", l.before[0].Device.Name); err != nil {
				l.t.Fatal(err)
			}
			return l.first
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRestoredLab(t)
			last := l.latest()
			l.waits()
			for range 3 {
				l.sweep()
			}
			if n, got := l.writes.Load(), l.latest(); n != 0 || got != last {
				t.Fatalf("without a request, %d writes reached devices and rollout %d began", n, got)
			}
			if again := otherPlan(t, l.Rig); again != l.second { // the backup does not contain it
				t.Fatalf("compiled again, plan %.12s is %.12s", l.second, again)
			}
			l.hold(l.second)
			f, err := l.s.Fabric(t.Context(), "lab")
			if err != nil || !f.RepairsWait {
				t.Errorf("fabric %+v: %v", f, err)
			}
			l.same()

			wanted := act(l)
			l.Wait()
			for range 4 {
				l.sweep()
			}
			if f, err := l.s.Fabric(t.Context(), "lab"); err != nil || f.RepairsWait {
				t.Errorf("after an operator acted repairs are still on hold: %v", err)
			}
			l.hold(wanted)
			if m, err := l.s.Device(t.Context(), "lab", device.ManagerName, false); err != nil || m.State != "in-sync" {
				t.Errorf("the subnet manager is %s, %q: %v", m.State, m.Error, err)
			}
			l.same()
			ro, err := l.Service.RollBackToBaseline(t.Context(), "lab", l.latest())
			if err != nil {
				t.Fatal(err)
			}
			l.Wait()
			if got := controltest.Rollout(t, l.Service, ro.ID); got.State != control.RolloutSucceeded {
				t.Fatalf("roll-back to the baseline %s: %s", got.State, got.Result)
			}
			held := l.Devices.Held()
			for _, b := range l.before {
				if !held[b.Device.ID].Equal(b.Settings) {
					t.Errorf("%s holds %+v, and before %+v", b.Device.Name, held[b.Device.ID], b.Settings)
				}
			}
		})
	}
}

// same checks that the baseline is what devices held before the first plan.
func (l *restoredLab) same() {
	l.t.Helper()
	got := controltest.Baselines(l.t, l.s, "")
	if len(got) != len(l.before) || len(got) == 0 {
		l.t.Fatalf("%d devices have a baseline, want %d", len(got), len(l.before))
	}
	for i, b := range got {
		if w := l.before[i]; b.Device.ID != w.Device.ID || b.Origin != control.OriginBefore || !b.Settings.Equal(w.Settings) {
			l.t.Errorf("baseline %+v, want %+v", b.Baseline, w.Baseline)
		}
	}
}

// Clean-ups are on hold as well, until an operator acts.
func TestRestoreHoldsCleanUps(t *testing.T) {
	t.Parallel()
	r, ro := moved(t)
	if err := r.Store.Tx(t.Context(), func(x control.Repos) error { return x.NoteRestored(t.Context(), time.Now()) }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Service.SweepDrift(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		r.Wait()
	}
	list, _, err := r.Service.ListRollouts(t.Context(), "lab", control.Page{Limit: 1})
	if err != nil || list[0].ID != ro.ID {
		t.Fatalf("without a request, rollout %d began: %v", list[0].ID, err)
	}
	repair, err := r.Service.RepairDevice(t.Context(), "lab", "h1")
	if err != nil {
		t.Fatal(err)
	}
	r.Wait()
	cleanedUp(t, r, repair.ID)
}

// Only an action that allows writes to devices ends the hold: pause and cancel do not.
func TestResumingARolloutEndsTheHoldAfterRestore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		act   func(s *usecases.Services, id int64) (control.Rollout, error)
		waits bool
	}{
		"resumed": {func(s *usecases.Services, id int64) (control.Rollout, error) {
			return s.ResumeRollout(t.Context(), "lab", id)
		}, false},
		"rolled back": {func(s *usecases.Services, id int64) (control.Rollout, error) {
			return s.UndoRollout(t.Context(), "lab", id)
		}, false},
		"cancelled": {func(s *usecases.Services, id int64) (control.Rollout, error) {
			return s.CancelRollout(t.Context(), "lab", id)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, plan := controltest.LabWithPlan(t)
			began, let := r.Devices.Hold()
			ro := controltest.Start(t, r.Service, plan)
			<-began
			if _, err := r.Service.PauseRollout(t.Context(), "lab", ro.ID); err != nil {
				t.Fatal(err)
			}
			let()
			r.Wait()
			if err := r.Store.Tx(t.Context(), func(x control.Repos) error { return x.NoteRestored(t.Context(), time.Now()) }); err != nil {
				t.Fatal(err)
			}
			if _, err := c.act(r.Service, ro.ID); err != nil {
				t.Fatal(err)
			}
			r.Wait()
			if f, err := r.Service.Fabric(t.Context(), "lab"); err != nil || f.RepairsWait != c.waits {
				t.Errorf("repairs on hold: %t, want %t: %v", f.RepairsWait, c.waits, err)
			}
		})
	}
}
