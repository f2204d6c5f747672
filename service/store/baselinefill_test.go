package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlane/internal/phrase"
	"fairlane/migrations"
	"fairlane/service/control"

	"github.com/google/go-cmp/cmp"
)

// beforeBaselines is the last schema without baselines.
const beforeBaselines = 65

// The settings that earlier releases recorded of a device before they wrote it become its baseline. The origin is known
// only where the fabric's first rollout recorded them.
func TestBaselinesAreFilledInFromEarlierRollouts(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		atVersion(t, database, d, beforeBaselines)
		db := rawOpen(t, database, d)
		exec := func(statement string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf(statement, args...)); err != nil {
				t.Fatal(err)
			}
		}
		text := func(v any) string {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		for id, name := range []string{"two", "three"} {
			id += 2
			exec(`INSERT INTO fabrics (id, name, plane, source, time_scale, version, flows_version, created_at_us, updated_at_us) VALUES (%d, '%s', 'ib', 'file:x', 1, 1, 0, 1, 1)`, id, name)
			exec(`INSERT INTO plans (id, fabric_id, name, snapshot_sha256, plan, input, tenants, devices, findings, max_predicted_error, created_at_us) VALUES (%d, %[1]d, '%[2]s', '%[2]s', '{}', '{}', 0, 0, 0, 0, 1)`, id, strings.Repeat(fmt.Sprint(id), 64))
		}
		rollouts := map[int]int{20: 2, 21: 2, 22: 2, 30: 3, 31: 3}
		for id, fabric := range rollouts {
			exec(`INSERT INTO rollouts (id, fabric_id, plan_id, stages, state, result, actor, version, created_at_us, updated_at_us, finished_at_us) VALUES (%d, %d, %[2]d, 'settings', 'succeeded', '', 'ada', 1, 1, 1, 1)`, id, fabric)
		}
		// Settings differ by the number of the rollout that recorded them.
		row := func(rollout, node, port int, read bool) {
			t.Helper()
			b, before := baseline(node, port, uint16(rollout)), "NULL"
			if read {
				before = "'" + text(b.Settings) + "'"
			}
			exec(`INSERT INTO rollout_devices (rollout_id, node_guid, port_num, device, state, before, error, updated_at_us) VALUES (%d, '%s', %d, '%s', 'in-sync', %s, '', %d)`,
				rollout, b.Device.ID.Node, port, text(b.Device), before, baselineTime.UnixMicro()+int64(rollout))
		}
		row(20, 1, 1, true) // by the first rollout, and written again
		row(21, 1, 1, true)
		row(21, 1, 2, true)  // another port of the node, by a later rollout
		row(20, 2, 1, false) // not read by the first
		row(22, 2, 1, true)
		row(20, 3, 1, false) // never read
		row(31, 1, 1, true)  // rows of the fabric's first rollout were pruned
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		const note = "recorded by a release that kept no baseline: an earlier rollout may have written the device"
		want := func(rollout, node, port int, origin control.BaselineOrigin, note string) control.Baseline {
			b := baseline(node, port, uint16(rollout))
			if note != "" {
				b.Note = phrase.Verbatim(note)
			}
			b.Origin, b.Rollout, b.RecordedAt = origin, int64(rollout), baselineTime.Add(time.Duration(rollout)*time.Microsecond)
			return b
		}
		f := &fixture{t: t, s: openAt(t, database, Options{})}
		f.view(func(r control.Repos) error {
			for fabric, want := range map[string][]control.Baseline{
				"two":   {want(20, 1, 1, control.OriginBefore, ""), want(21, 1, 2, control.OriginUnknown, note), want(22, 2, 1, control.OriginUnknown, note)},
				"three": {want(31, 1, 1, control.OriginUnknown, note)},
			} {
				got, err := r.Baselines(t.Context(), fabric, nil)
				if err != nil {
					return err
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("baselines of %s (-want +got):\n%s", fabric, d)
				}
				of, err := r.Fabric(t.Context(), fabric)
				if of.Management != control.Managed || !of.ManagementAt.IsZero() || !of.RestoredAt.IsZero() || err != nil {
					t.Errorf("fabric is %+v, %v", of, err)
				}
			}
			return nil
		})
		// They are baselines like any other.
		f.tx(func(r control.Repos) error {
			return r.AddBaselines(t.Context(), "two", []control.Baseline{baseline(1, 1, 99)})
		})
		f.view(func(r control.Repos) error {
			list, err := r.Baselines(t.Context(), "two", nil)
			if len(list) != 3 || list[0].Settings.CA.SLs[1].Timer != 20 {
				t.Errorf("a later write replaced a baseline: %+v", list)
			}
			return err
		})
	})
}
