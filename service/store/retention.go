package store

import (
	"context"
	"fmt"
	"time"

	"fairlane/service/audit"
	"fairlane/service/control"
)

// needed selects the rollouts whose rows stay, whatever their age: the running ones, the latest of each fabric, and its
// latest one that put a plan in force. A repair does not count as such, since it applies the plan in force to some
// devices.
func (r *repos) needed() string {
	repair := "COALESCE(json_extract(CAST(options AS TEXT), '$.repair'), 0) = 1"
	if r.db.Name() == "postgres" {
		repair = "COALESCE(convert_from(options, 'UTF8')::json->>'repair', 'false') = 'true'"
	}
	return `SELECT id FROM rollouts WHERE state = 'running'
	UNION SELECT MAX(id) FROM rollouts GROUP BY fabric_id
	UNION SELECT MAX(id) FROM rollouts WHERE state IN ('succeeded', 'partial') AND NOT ` + repair + ` GROUP BY fabric_id`
}

// prune deletes the first rows of a table, in the order of its key, that the condition old selects; before is its
// parameter.
func (r *repos) prune(ctx context.Context, table, key, old string, before time.Time, limit int) (int64, error) {
	res := r.in(ctx).Exec("DELETE FROM "+table+" WHERE ("+key+") IN (SELECT "+key+" FROM "+table+" WHERE "+old+" ORDER BY "+key+" LIMIT ?)", micros(before), limit)
	if res.Error != nil {
		return 0, fmt.Errorf("delete old rows of %s: %w", table, res.Error)
	}
	return res.RowsAffected, nil
}

var _ control.RetentionRepo = (*repos)(nil)

func (r *repos) PruneEvents(ctx context.Context, before time.Time, limit int) (int64, error) {
	return r.prune(ctx, "events", "id", "at_us < ? AND rollout_id NOT IN ("+r.needed()+")", before, limit)
}

// PruneRolloutDevices implements control.RetentionRepo. The row of the rollout itself stays.
func (r *repos) PruneRolloutDevices(ctx context.Context, endedBefore time.Time, limit int) (int64, error) {
	return r.prune(ctx, "rollout_devices", "rollout_id, node_guid, port_num",
		"rollout_id IN (SELECT id FROM rollouts WHERE finished_at_us < ?) AND rollout_id NOT IN ("+r.needed()+")", endedBefore, limit)
}

// PrunePlans implements control.RetentionRepo. Plans that a rollout refers to stay, and so does the latest of each
// fabric.
func (r *repos) PrunePlans(ctx context.Context, before time.Time, limit int) (int64, error) {
	return r.prune(ctx, "plans", "id",
		"created_at_us < ? AND id NOT IN (SELECT plan_id FROM rollouts) AND id NOT IN (SELECT MAX(id) FROM plans GROUP BY fabric_id)", before, limit)
}

// PruneSnapshots implements control.RetentionRepo. Snapshots that a plan was made for stay, and so does the one of each
// fabric that was seen last.
func (r *repos) PruneSnapshots(ctx context.Context, before time.Time, limit int) (int64, error) {
	return r.prune(ctx, "snapshots", "id", `seen_at_us < ?
		AND NOT EXISTS (SELECT 1 FROM plans WHERE plans.fabric_id = snapshots.fabric_id AND plans.snapshot_sha256 = snapshots.sha256)
		AND seen_seq < (SELECT MAX(s.seen_seq) FROM snapshots s WHERE s.fabric_id = snapshots.fabric_id)`, before, limit)
}

func (r *repos) PruneMaintenance(ctx context.Context, endedBefore time.Time, limit int) (int64, error) {
	return r.prune(ctx, "maintenance", "id", "ends_at_us < ?", endedBefore, limit)
}

func (r *repos) AuditBefore(ctx context.Context, before time.Time) (audit.Tail, error) {
	var first struct{ Seq *int64 }
	if err := r.in(ctx).Model(&auditRow{}).Select("MIN(seq) AS seq").Where("at_us >= ?", micros(before)).Scan(&first).Error; err != nil {
		return audit.Tail{}, fmt.Errorf("find old audit entries: %w", err)
	}
	q := r.in(ctx).Select("seq", "hash").Order("seq DESC").Limit(1)
	if first.Seq != nil {
		q = q.Where("seq < ?", *first.Seq)
	}
	var rows []auditRow
	if err := q.Find(&rows).Error; err != nil {
		return audit.Tail{}, fmt.Errorf("find old audit entries: %w", err)
	}
	if len(rows) == 0 {
		return audit.Tail{}, nil
	}
	return audit.Tail{Seq: rows[0].Seq, Hash: rows[0].domain().Hash}, nil
}
