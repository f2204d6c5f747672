package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"fairlane/internal/audit"
	"fairlane/internal/control"
)

// needed are the rollouts whose rows stay, whatever their age: those that run, the latest of each
// fabric and its latest one that put a plan in force, which no repair does: it rolls out to some devices what is in force.
func (r *repos) needed() string {
	repair := "COALESCE(json_extract(CAST(options AS TEXT), '$.repair'), 0) = 1"
	if r.db.Name() == "postgres" {
		repair = "COALESCE(convert_from(options, 'UTF8')::json->>'repair', 'false') = 'true'"
	}
	return `SELECT id FROM rollouts WHERE state = 'running'
	UNION SELECT MAX(id) FROM rollouts GROUP BY fabric_id
	UNION SELECT MAX(id) FROM rollouts WHERE state IN ('succeeded', 'partial') AND NOT ` + repair + ` GROUP BY fabric_id`
}

// prune deletes rows of a table by the identifiers that a query selects.
func (r *repos) prune(ctx context.Context, table string, ids *gorm.DB, limit int) (int64, error) {
	var list []int64
	if err := ids.Order("id").Limit(limit).Pluck("id", &list).Error; err != nil {
		return 0, fmt.Errorf("look for old %s: %w", table, err)
	}
	if len(list) == 0 {
		return 0, nil
	}
	res := r.in(ctx).Exec("DELETE FROM "+table+" WHERE id IN ?", list)
	if res.Error != nil {
		return 0, fmt.Errorf("delete old %s: %w", table, res.Error)
	}
	return res.RowsAffected, nil
}

// PruneEvents implements control.RetentionRepo.
func (r *repos) PruneEvents(ctx context.Context, before time.Time, limit int) (int64, error) {
	return r.prune(ctx, "events", r.in(ctx).Table("events").
		Where("at_us < ? AND rollout_id NOT IN ("+r.needed()+")", micros(before)), limit)
}

// PruneRolloutDevices implements control.RetentionRepo. The row of the rollout itself stays.
func (r *repos) PruneRolloutDevices(ctx context.Context, endedBefore time.Time, limit int) (int64, error) {
	var rows []rolloutDeviceRow
	err := r.in(ctx).Select("rollout_id", "node_guid", "port_num").
		Where("rollout_id IN (SELECT id FROM rollouts WHERE finished_at_us < ?) AND rollout_id NOT IN ("+r.needed()+")", micros(endedBefore)).
		Order("rollout_id, node_guid, port_num").Limit(limit).Find(&rows).Error
	if err != nil {
		return 0, fmt.Errorf("look for old rollout devices: %w", err)
	}
	var n int64
	for _, row := range rows {
		res := r.in(ctx).Where("rollout_id = ? AND node_guid = ? AND port_num = ?", row.RolloutID, row.NodeGUID, row.PortNum).Delete(&rolloutDeviceRow{})
		if res.Error != nil {
			return 0, fmt.Errorf("delete old rollout devices: %w", res.Error)
		}
		n += res.RowsAffected
	}
	return n, nil
}

// PrunePlans implements control.RetentionRepo: a plan that any rollout refers to stays, and so does the
// latest of each fabric.
func (r *repos) PrunePlans(ctx context.Context, before time.Time, limit int) (int64, error) {
	return r.prune(ctx, "plans", r.in(ctx).Table("plans").
		Where("created_at_us < ? AND id NOT IN (SELECT plan_id FROM rollouts) AND id NOT IN (SELECT MAX(id) FROM plans GROUP BY fabric_id)", micros(before)), limit)
}

// PruneSnapshots implements control.RetentionRepo: a snapshot that a plan was made for stays, and so does
// the one of each fabric that was seen last.
func (r *repos) PruneSnapshots(ctx context.Context, before time.Time, limit int) (int64, error) {
	return r.prune(ctx, "snapshots", r.in(ctx).Table("snapshots").
		Where(`seen_at_us < ?
			AND NOT EXISTS (SELECT 1 FROM plans WHERE plans.fabric_id = snapshots.fabric_id AND plans.snapshot_sha256 = snapshots.sha256)
			AND seen_seq < (SELECT MAX(s.seen_seq) FROM snapshots s WHERE s.fabric_id = snapshots.fabric_id)`, micros(before)), limit)
}

// AuditBefore implements control.RetentionRepo.
func (r *repos) AuditBefore(ctx context.Context, before time.Time) (audit.Tail, error) {
	var first struct{ Seq *int64 }
	if err := r.in(ctx).Model(&auditRow{}).Select("MIN(seq) AS seq").Where("at_us >= ?", micros(before)).Scan(&first).Error; err != nil {
		return audit.Tail{}, fmt.Errorf("look for old audit entries: %w", err)
	}
	q := r.in(ctx).Select("seq", "hash").Order("seq DESC").Limit(1)
	if first.Seq != nil {
		q = q.Where("seq < ?", *first.Seq)
	}
	var rows []auditRow
	if err := q.Find(&rows).Error; err != nil {
		return audit.Tail{}, fmt.Errorf("look for old audit entries: %w", err)
	}
	if len(rows) == 0 {
		return audit.Tail{}, nil
	}
	return audit.Tail{Seq: rows[0].Seq, Hash: rows[0].domain().Hash}, nil
}

var _ control.RetentionRepo = (*repos)(nil)
