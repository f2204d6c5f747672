package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet/ident"
)

type baselineRow struct {
	FabricID     int64   `gorm:"column:fabric_id;primaryKey;autoIncrement:false"`
	NodeGUID     string  `gorm:"column:node_guid;primaryKey"`
	PortNum      int     `gorm:"column:port_num;primaryKey;autoIncrement:false"`
	Device       []byte  `gorm:"column:device"`
	Settings     []byte  `gorm:"column:settings"`
	Origin       string  `gorm:"column:origin"`
	Note         string  `gorm:"column:note"`
	NoteSaid     *string `gorm:"column:note_said"`
	Held         int     `gorm:"column:held"`
	RolloutID    int64   `gorm:"column:rollout_id"`
	RecordedAtUS int64   `gorm:"column:recorded_at_us"`
}

func (baselineRow) TableName() string { return "baselines" }

var _ control.BaselineRepo = (*repos)(nil)

func (r *repos) AddBaselines(ctx context.Context, fabric string, list []control.Baseline) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	rows, err := tryEach(list, func(b control.Baseline) (baselineRow, error) { return newBaselineRow(f.ID, &b) })
	if err != nil {
		return err
	}
	keep := clause.OnConflict{
		Columns:   []clause.Column{{Name: "fabric_id"}, {Name: "node_guid"}, {Name: "port_num"}},
		DoUpdates: clause.Assignments(map[string]any{"held": 1}),
	}
	if err := insertAll(r.in(ctx).Clauses(keep), rows); err != nil {
		return fmt.Errorf("insert %d baselines of %s: %w", len(rows), fabric, err)
	}
	return nil
}

func (r *repos) Baselines(ctx context.Context, fabric string, ids []ident.PortID) ([]control.Baseline, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	read := func(q *gorm.DB) ([]control.Baseline, error) {
		var rows []baselineRow
		if err := q.Where("fabric_id = ?", f.ID).Order("node_guid, port_num").Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("list baselines of %s: %w", fabric, err)
		}
		return tryEach(rows, baselineRow.domain)
	}
	if ids == nil {
		return read(r.in(ctx))
	}
	return ofPorts(ids, func(b *control.Baseline) ident.PortID { return b.Device.ID }, func(nodes []string) ([]control.Baseline, error) {
		return read(r.in(ctx).Where("node_guid IN ?", nodes))
	})
}

func (r *repos) Based(ctx context.Context, fabric string, ids []ident.PortID) (map[ident.PortID]bool, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	held := make(map[ident.PortID]bool, len(ids))
	_, err = ofPorts(ids, func(id *ident.PortID) ident.PortID { return *id }, func(nodes []string) ([]ident.PortID, error) {
		var rows []baselineRow
		err := r.in(ctx).Select("node_guid", "port_num", "held").Where("fabric_id = ? AND node_guid IN ?", f.ID, nodes).Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("find baselines of %s: %w", fabric, err)
		}
		return tryEach(rows, func(row baselineRow) (ident.PortID, error) {
			id, err := ident.ParsePortID(fmt.Sprintf("%s:%d", row.NodeGUID, row.PortNum))
			held[id] = row.Held != 0
			return id, err
		})
	})
	return held, err
}

func (r *repos) ListBaselines(ctx context.Context, fabric string, p control.Page) ([]control.Baseline, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	q := r.in(ctx).Where("fabric_id = ?", f.ID).Order("node_guid, port_num")
	if p.After != "" {
		id, err := ident.ParsePortID(p.After)
		if err != nil {
			return nil, "", control.Invalid("cursor", phrase.Of("problem.cursor"))
		}
		q = q.Where("node_guid > ? OR node_guid = ? AND port_num > ?", id.Node.String(), id.Node.String(), int(id.Port))
	}
	rows, next, err := page(q, "baselines of "+fabric, p, func(row baselineRow) string { return fmt.Sprintf("%s:%d", row.NodeGUID, row.PortNum) })
	if err != nil {
		return nil, "", err
	}
	list, err := tryEach(rows, baselineRow.domain)
	return list, next, err
}

func (r *repos) HeldDevices(ctx context.Context, fabric string) ([]driver.Device, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	var rows []baselineRow
	if err := r.in(ctx).Omit("settings").Where("fabric_id = ? AND held = 1", f.ID).Order("node_guid, port_num").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list held devices of %s: %w", fabric, err)
	}
	return tryEach(rows, func(row baselineRow) (d driver.Device, err error) { return d, json.Unmarshal(row.Device, &d) })
}

func (r *repos) HeldUnread(ctx context.Context, fabric string) (bool, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return false, err
	}
	var found []int
	err = r.in(ctx).Raw(`SELECT 1 FROM baselines b WHERE b.fabric_id = ? AND b.held = 1 AND NOT EXISTS (SELECT 1 FROM devices d
		WHERE d.fabric_id = b.fabric_id AND d.node_guid = b.node_guid AND d.port_num = b.port_num AND d.due_at_us < ?) LIMIT 1`, f.ID, noTurn).Scan(&found).Error
	if err != nil {
		return false, fmt.Errorf("find held devices of %s that are not read: %w", fabric, err)
	}
	return len(found) > 0, nil
}

func (r *repos) LetGo(ctx context.Context, fabric string, ids []ident.PortID) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, batchNames/2) {
		if err := r.in(ctx).Model(&baselineRow{}).Where("fabric_id = ?", f.ID).Where(r.ports(ctx, part)).Update("held", 0).Error; err != nil {
			return fmt.Errorf("record %d devices of %s as free of our settings: %w", len(part), fabric, err)
		}
	}
	return nil
}

func (r *repos) DropBaselines(ctx context.Context, fabric string) (int64, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return 0, err
	}
	res := r.in(ctx).Where("fabric_id = ?", f.ID).Delete(&baselineRow{})
	if res.Error != nil {
		return 0, fmt.Errorf("delete baselines of %s: %w", fabric, res.Error)
	}
	return res.RowsAffected, nil
}

func (r *repos) NoteRestored(ctx context.Context, at time.Time) error {
	if err := r.in(ctx).Exec("UPDATE fabrics SET restored_at_us = ?, repairs_wait = 1", micros(at)).Error; err != nil {
		return fmt.Errorf("record on the fabrics that the database was restored: %w", err)
	}
	return nil
}

func newBaselineRow(fabric int64, b *control.Baseline) (baselineRow, error) {
	row := baselineRow{
		FabricID: fabric, NodeGUID: b.Device.ID.Node.String(), PortNum: int(b.Device.ID.Port),
		Origin: string(b.Origin), Note: text(b.Note.String()), NoteSaid: phraseColumn(b.Note), Held: 1, RolloutID: b.Rollout, RecordedAtUS: micros(b.RecordedAt),
	}
	var errs [2]error
	row.Device, errs[0] = json.Marshal(b.Device)
	row.Settings, errs[1] = json.Marshal(b.Settings)
	if err := errors.Join(errs[:]...); err != nil {
		return row, fmt.Errorf("encode the baseline of %s: %w", b.Device.ID, err)
	}
	return row, nil
}

func (row baselineRow) domain() (control.Baseline, error) {
	b := control.Baseline{
		Origin: control.BaselineOrigin(row.Origin), Note: said(row.Note, row.NoteSaid), Held: row.Held != 0, Rollout: row.RolloutID, RecordedAt: fromMicros(row.RecordedAtUS),
	}
	if err := errors.Join(json.Unmarshal(row.Device, &b.Device), json.Unmarshal(row.Settings, &b.Settings)); err != nil {
		return b, fmt.Errorf("decode the baseline of %s:%d: %w", row.NodeGUID, row.PortNum, err)
	}
	return b, nil
}
