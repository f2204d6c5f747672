package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/migrations"
	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func baseline(node, port int, timer uint16) control.Baseline {
	s := &ibcc.CASettings{Table: []ibcc.Entry{{}}}
	s.SLs[1].Timer = timer
	return control.Baseline{
		Device:   driver.Device{Plane: "ib", ID: ident.PortID{Node: ident.GUID(node), Port: ident.PortNum(port)}, Name: "h", Kind: subnet.KindCA, LID: 7},
		Settings: driver.Settings{CA: s}, Origin: control.OriginBefore, Held: true, Rollout: 3, RecordedAt: baselineTime,
	}
}

var baselineTime = time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)

func TestABaselineIsNeverReplaced(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		s, ctx := openAt(t, fresh(t, d), Options{}), t.Context()
		tx := func(f func(control.Repos) error) {
			t.Helper()
			if err := s.Tx(ctx, f); err != nil {
				t.Fatal(err)
			}
		}
		first, second := baseline(1, 1, 10), baseline(1, 2, 20)
		tx(func(r control.Repos) error {
			_, err := r.CreateFabric(ctx, control.Fabric{Name: "lab", Plane: "ib", Source: "file:x", TimeScale: 1, CreatedAt: baselineTime})
			return err
		})
		tx(func(r control.Repos) error { return r.AddBaselines(ctx, "lab", []control.Baseline{first}) })
		tx(func(r control.Repos) error { return r.LetGo(ctx, "lab", []ident.PortID{first.Device.ID}) })
		again := baseline(1, 1, 99)
		tx(func(r control.Repos) error { return r.AddBaselines(ctx, "lab", []control.Baseline{again, second}) })
		tx(func(r control.Repos) error { return r.LetGo(ctx, "lab", []ident.PortID{second.Device.ID, {Node: 9}}) })
		second.Held = false
		tx(func(r control.Repos) error {
			got, err := r.Baselines(ctx, "lab", nil)
			if d := cmp.Diff([]control.Baseline{first, second}, got); d != "" || err != nil {
				t.Errorf("baselines (-want +got), %v:\n%s", err, d)
			}
			page, next, err := r.ListBaselines(ctx, "lab", control.Page{Limit: 1})
			if len(page) != 1 || err != nil || next == "" {
				t.Fatalf("first page: %v, next %q, %v", page, next, err)
			}
			page, next, err = r.ListBaselines(ctx, "lab", control.Page{Limit: 1, After: next})
			if d := cmp.Diff([]control.Baseline{second}, page); d != "" || err != nil || next != "" {
				t.Errorf("second page, next %q, %v:\n%s", next, err, d)
			}
			held, err := r.HeldDevices(ctx, "lab")
			if d := cmp.Diff([]driver.Device{first.Device}, held); d != "" || err != nil {
				t.Errorf("held devices, %v:\n%s", err, d)
			}
			for _, due := range []bool{true, false} { // without a record of the held device, and with one
				unread, err := r.HeldUnread(ctx, "lab")
				if unread != due || err != nil {
					t.Errorf("held and unread: %t, want %t, %v", unread, due, err)
				}
				one := record(1, baselineTime)
				one.Device = first.Device
				if err := r.PutDeviceRecords(ctx, "lab", []control.DeviceRecord{one}); err != nil {
					return err
				}
			}
			based, err := r.Based(ctx, "lab", []ident.PortID{first.Device.ID, second.Device.ID, {Node: 1, Port: 3}})
			if d := cmp.Diff(map[ident.PortID]bool{first.Device.ID: true, second.Device.ID: false}, based); d != "" || err != nil {
				t.Errorf("based devices, %v:\n%s", err, d)
			}
			n, err := r.DropBaselines(ctx, "lab")
			if n != 2 || err != nil {
				t.Errorf("dropped %d, %v", n, err)
			}
			return r.SetManagement(ctx, "lab", control.Released, baselineTime)
		})
		tx(func(r control.Repos) error {
			f, err := r.Fabric(ctx, "lab")
			if f.Management != control.Released || !f.ManagementAt.Equal(baselineTime) || f.Version != 2 || err != nil {
				t.Errorf("fabric is %+v, %v", f, err)
			}
			return err
		})
	})
}

func TestBackupContainsBaselinesAndRestoreIsRecorded(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	database, file, moved := filepath.Join(dir, "a.db"), filepath.Join(dir, "a.backup"), filepath.Join(dir, "b.db")
	s := openAt(t, database, Options{})
	err := s.Tx(ctx, func(r control.Repos) error {
		if _, err := r.CreateFabric(ctx, control.Fabric{Name: "lab", Plane: "ib", Source: "file:x", TimeScale: 1, CreatedAt: baselineTime}); err != nil {
			return err
		}
		return r.AddBaselines(ctx, "lab", []control.Baseline{baseline(1, 1, 10)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Writer().Exec("UPDATE baselines SET settings = 'x'"); err != nil {
		t.Fatal(err)
	}
	if in, err := Inspect(ctx, database); err != nil || len(in.Faults) != 1 {
		t.Errorf("a baseline that cannot be read gives the faults %q, %v", in.Faults, err)
	}
	if _, err := s.Writer().Exec("DELETE FROM baselines"); err != nil {
		t.Fatal(err)
	}
	if err := s.Tx(ctx, func(r control.Repos) error { return r.AddBaselines(ctx, "lab", []control.Baseline{baseline(1, 1, 10)}) }); err != nil {
		t.Fatal(err)
	}
	in, err := Backup(ctx, database, file)
	if err != nil || in.String() != "1 fabrics, 1 baselines" {
		t.Fatalf("backup holds %s, %v", in, err)
	}
	if _, err := Restore(ctx, file, moved, false, baselineTime.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	err = openAt(t, moved, Options{}).View(ctx, func(r control.Repos) error {
		list, err := r.Baselines(ctx, "lab", nil)
		if d := cmp.Diff([]control.Baseline{baseline(1, 1, 10)}, list); d != "" || err != nil {
			t.Errorf("baselines after the restore, %v:\n%s", err, d)
		}
		f, err := r.Fabric(ctx, "lab")
		if !f.RestoredAt.Equal(baselineTime.Add(time.Hour)) {
			t.Errorf("the fabric does not say that the database was restored: %+v", f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
