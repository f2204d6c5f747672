package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"fairlane/service/control"
)

func (r *repos) PutSnapshot(ctx context.Context, s control.Snapshot) (control.Snapshot, error) {
	f, err := r.fabric(ctx, s.Fabric)
	if err != nil {
		return control.Snapshot{}, err
	}
	var seq int64
	if err := r.in(ctx).Model(&snapshotRow{}).Where("fabric_id = ?", f.ID).
		Select("COALESCE(MAX(seen_seq), 0)").Scan(&seq).Error; err != nil {
		return control.Snapshot{}, fmt.Errorf("read snapshots of %s: %w", s.Fabric, err)
	}
	var row snapshotRow
	err = r.in(ctx).Where("fabric_id = ? AND sha256 = ?", f.ID, s.SHA256).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		row = snapshotRow{
			FabricID: f.ID, SHA256: s.SHA256, Topology: s.Topology,
			Nodes: s.Nodes, Switches: s.Switches, Hosts: s.Hosts, Links: s.Links,
			TakenAtUS: micros(s.TakenAt),
		}
	case err != nil:
		return control.Snapshot{}, fmt.Errorf("read snapshot %s: %w", s.SHA256, err)
	}
	row.SeenAtUS, row.SeenSeq = micros(s.SeenAt), seq+1
	row.WallUS, row.MADsSent = s.Stats.Wall.Microseconds(), s.Stats.MADsSent
	db := r.in(ctx)
	if row.ID != 0 { // the topology of an existing row, which may be large, is not written again
		db = db.Select("seen_at_us", "seen_seq", "wall_us", "mads_sent")
	}
	if err := db.Save(&row).Error; err != nil {
		return control.Snapshot{}, fmt.Errorf("store snapshot %s: %w", s.SHA256, err)
	}
	return row.domain(s.Fabric), nil
}

func (r *repos) Snapshot(ctx context.Context, fabric, sha string) (control.Snapshot, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return control.Snapshot{}, err
	}
	q := r.in(ctx).Where("fabric_id = ?", f.ID).Order("seen_seq DESC")
	name := "latest of " + fabric
	if sha != "" {
		q, name = q.Where("sha256 = ?", sha), sha
	}
	var row snapshotRow
	if err := found(q.Take(&row).Error, "snapshot", name); err != nil {
		return control.Snapshot{}, err
	}
	return row.domain(fabric), nil
}

// ListSnapshots implements control.FabricRepo, the one seen last first.
func (r *repos) ListSnapshots(ctx context.Context, fabric string, p control.Page) ([]control.Snapshot, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	q := r.in(ctx).Omit("topology").Where("fabric_id = ?", f.ID)
	rows, next, err := newestFirst(q, "seen_seq", "snapshots of "+fabric, p, func(s snapshotRow) int64 { return s.SeenSeq })
	return each(rows, func(s snapshotRow) control.Snapshot { return s.domain(fabric) }), next, err
}

func (row snapshotRow) domain(fabric string) control.Snapshot {
	return control.Snapshot{
		Fabric: fabric, SHA256: row.SHA256, Topology: row.Topology,
		Nodes: row.Nodes, Switches: row.Switches, Hosts: row.Hosts, Links: row.Links,
		TakenAt: fromMicros(row.TakenAtUS), SeenAt: fromMicros(row.SeenAtUS),
		Stats: control.DiscoverStats{Wall: time.Duration(row.WallUS) * time.Microsecond, MADsSent: row.MADsSent},
	}
}
