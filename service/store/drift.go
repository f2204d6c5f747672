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
	"fairlane/service/control"
	"fairlane/subnet/ident"
)

type deviceRecordRow struct {
	FabricID         int64   `gorm:"column:fabric_id;primaryKey;autoIncrement:false"`
	NodeGUID         string  `gorm:"column:node_guid;primaryKey"`
	PortNum          int     `gorm:"column:port_num;primaryKey;autoIncrement:false"`
	Device           []byte  `gorm:"column:device"`
	Plan             string  `gorm:"column:plan"`
	Policy           string  `gorm:"column:policy"`
	Reading          string  `gorm:"column:reading"`
	Seen             string  `gorm:"column:seen"`
	Observed         []byte  `gorm:"column:observed"`
	Differences      []byte  `gorm:"column:differences"`
	Error            string  `gorm:"column:error"`
	ErrorSaid        *string `gorm:"column:error_said"`
	ReadBy           string  `gorm:"column:read_by"`
	ReadAtUS         *int64  `gorm:"column:read_at_us"`
	SeenAtUS         *int64  `gorm:"column:seen_at_us"`
	SteadyAtUS       *int64  `gorm:"column:steady_at_us"`
	QuarantinedAtUS  *int64  `gorm:"column:quarantined_at_us"`
	QuarantineReason string  `gorm:"column:quarantine_reason"`
	QuarantineSaid   *string `gorm:"column:quarantine_said"`
	Incidents        []byte  `gorm:"column:incidents"`
	Repair           int64   `gorm:"column:repair"`
	DueAtUS          int64   `gorm:"column:due_at_us"`
	Version          int64   `gorm:"column:version"`
}

func (deviceRecordRow) TableName() string { return "devices" }

type driftPolicyRow struct {
	FabricID    int64  `gorm:"column:fabric_id;primaryKey;autoIncrement:false"`
	Body        []byte `gorm:"column:body"`
	Plan        string `gorm:"column:plan"`
	Version     int64  `gorm:"column:version"`
	UpdatedAtUS *int64 `gorm:"column:updated_at_us"`
}

func (driftPolicyRow) TableName() string { return "drift_policies" }

var _ control.DriftRepo = (*repos)(nil)

func (r *repos) StoredDriftPolicy(ctx context.Context, fabric string) ([]byte, int64, time.Time, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, 0, time.Time{}, "", err
	}
	var rows []driftPolicyRow
	if err := r.in(ctx).Where("fabric_id = ?", f.ID).Find(&rows).Error; err != nil {
		return nil, 0, time.Time{}, "", fmt.Errorf("read the drift policy of %s: %w", fabric, err)
	}
	if len(rows) == 0 {
		return nil, 0, time.Time{}, "", nil
	}
	return rows[0].Body, rows[0].Version, optionalTime(rows[0].UpdatedAtUS), rows[0].Plan, nil
}

func (r *repos) PutDriftPolicy(ctx context.Context, fabric string, text []byte, version int64, at time.Time) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	none := driftPolicyRow{FabricID: f.ID, Body: []byte("{}")}
	if err := r.in(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&none).Error; err != nil {
		return fmt.Errorf("insert the drift policy of %s: %w", fabric, err)
	}
	res := r.in(ctx).Model(&driftPolicyRow{}).Where("fabric_id = ? AND version = ?", f.ID, version).
		Updates(map[string]any{"body": text, "plan": "", "version": version + 1, "updated_at_us": micros(at)})
	return changed(res, stale("drift policy of", fabric, version), "store the drift policy of %s", fabric)
}

func (r *repos) SeedDevices(ctx context.Context, fabric, plan string, list []control.DeviceRecord) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	of := clause.OnConflict{Columns: []clause.Column{{Name: "fabric_id"}}, DoUpdates: clause.AssignmentColumns([]string{"plan"})}
	if err := r.in(ctx).Clauses(of).Create(&driftPolicyRow{FabricID: f.ID, Body: []byte("{}"), Plan: plan}).Error; err != nil {
		return fmt.Errorf("note the plan in force of %s: %w", fabric, err)
	}
	// Devices that are not in this plan are deleted; a due time marks them, since the given devices have due times after
	// 1970.
	if err := r.in(ctx).Model(&deviceRecordRow{}).Where("fabric_id = ?", f.ID).Update("due_at_us", noTurn).Error; err != nil {
		return fmt.Errorf("put off the devices of %s: %w", fabric, err)
	}
	if err := storeDevices(r.in(ctx), f, list, clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"device", "due_at_us"})}); err != nil {
		return err
	}
	if err := r.in(ctx).Where("fabric_id = ? AND due_at_us = ? AND policy = ''", f.ID, noTurn).Delete(&deviceRecordRow{}).Error; err != nil {
		return fmt.Errorf("take out former devices of %s: %w", fabric, err)
	}
	return nil
}

func (r *repos) DropDeviceRecords(ctx context.Context, fabric string, ids []ident.PortID) error {
	if len(ids) == 0 {
		return nil
	}
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, batchNames/2) {
		if err := r.in(ctx).Where("fabric_id = ? AND policy = ''", f.ID).Where(r.ports(ctx, part)).Delete(&deviceRecordRow{}).Error; err != nil {
			return fmt.Errorf("remove %d devices of %s: %w", len(part), fabric, err)
		}
		if err := r.in(ctx).Model(&deviceRecordRow{}).Where("fabric_id = ?", f.ID).Where(r.ports(ctx, part)).Update("due_at_us", noTurn).Error; err != nil {
			return fmt.Errorf("put off %d devices of %s: %w", len(part), fabric, err)
		}
	}
	return nil
}

// ports returns the condition that selects the rows of some ports.
func (r *repos) ports(ctx context.Context, ids []ident.PortID) *gorm.DB {
	any := r.in(ctx)
	for _, id := range ids {
		any = any.Or("node_guid = ? AND port_num = ?", id.Node.String(), int(id.Port))
	}
	return any
}

// noTurn is the due time of a device that is not read, since it is not in the plan in force.
const noTurn int64 = 1<<63 - 1

// storeDevices inserts devices; renew says what happens to existing rows.
func storeDevices(db *gorm.DB, f fabricRow, list []control.DeviceRecord, renew clause.OnConflict) error {
	rows, err := tryEach(list, func(d control.DeviceRecord) (deviceRecordRow, error) { return newDeviceRecordRow(f.ID, &d) })
	if err != nil {
		return err
	}
	renew.Columns = []clause.Column{{Name: "fabric_id"}, {Name: "node_guid"}, {Name: "port_num"}}
	if err := insertAll(db.Clauses(renew), rows); err != nil {
		return fmt.Errorf("store devices of %s: %w", f.Name, err)
	}
	return nil
}

func (r *repos) DevicesDue(ctx context.Context, fabric string, now, horizon time.Time, limit int) ([]control.DeviceRecord, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	q := r.in(ctx).Where("fabric_id = ? AND (due_at_us <= ? OR due_at_us > ? AND due_at_us < ?)", f.ID, micros(now), micros(horizon), noTurn)
	return deviceRecords(q.Order("due_at_us, node_guid, port_num").Limit(limit), "list due devices of "+fabric)
}

func (r *repos) DeviceRecords(ctx context.Context, fabric string, ids []ident.PortID) ([]control.DeviceRecord, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	return ofPorts(ids, func(d *control.DeviceRecord) ident.PortID { return d.Device.ID }, func(nodes []string) ([]control.DeviceRecord, error) {
		return deviceRecords(r.in(ctx).Where("fabric_id = ? AND node_guid IN ?", f.ID, nodes), "read devices of "+fabric)
	})
}

// deviceRecords reads the records that a query selects; what describes it in errors.
func deviceRecords(q *gorm.DB, what string) ([]control.DeviceRecord, error) {
	var rows []deviceRecordRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return tryEach(rows, deviceRecordRow.domain)
}

func (r *repos) DevicesWithPolicy(ctx context.Context, fabric string) ([]control.DeviceRecord, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	q := r.in(ctx).Where("fabric_id = ? AND policy <> ''", f.ID).Order("node_guid, port_num")
	return deviceRecords(q, "list devices of "+fabric+" with a policy")
}

func (r *repos) PutDeviceRecords(ctx context.Context, fabric string, list []control.DeviceRecord) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	return storeDevices(r.in(ctx), f, list, clause.OnConflict{UpdateAll: true})
}

// SettleDevices implements control.DriftRepo. It updates only known devices: the next sweep adds the others.
func (r *repos) SettleDevices(ctx context.Context, rollout int64, kept bool, now time.Time) error {
	const own = `EXISTS (SELECT 1 FROM rollout_devices d JOIN rollouts o ON o.id = d.rollout_id
		WHERE d.rollout_id = ? AND o.fabric_id = devices.fabric_id AND d.node_guid = devices.node_guid AND d.port_num = devices.port_num AND `
	// A rollout may last a day after it read a device, while it is paused or awaits confirmation.
	const read = `(SELECT d.updated_at_us FROM rollout_devices d
		WHERE d.rollout_id = ? AND d.node_guid = devices.node_guid AND d.port_num = devices.port_num)`
	if kept {
		err := r.in(ctx).Exec(`UPDATE devices SET plan = (SELECT p.name FROM rollouts o JOIN plans p ON p.id = o.plan_id WHERE o.id = ?),
			reading = 'in-sync', seen = 'in-sync', observed = NULL, differences = NULL, error = '', error_said = NULL, read_by = '', read_at_us = `+read+`, seen_at_us = `+read+`,
			steady_at_us = COALESCE(steady_at_us, ?) WHERE due_at_us < ? AND `+own+`d.state = 'in-sync')`,
			rollout, rollout, rollout, micros(now), noTurn, rollout).Error
		if err != nil {
			return fmt.Errorf("settle devices of rollout %d: %w", rollout, err)
		}
	}
	state := "d.state NOT IN ('pending', 'in-sync'))"
	if !kept {
		state = "d.state <> 'pending')"
	}
	err := r.in(ctx).Exec(`UPDATE devices SET reading = 'unknown', seen = 'unknown', observed = NULL, differences = NULL, error = '', error_said = NULL, steady_at_us = NULL, due_at_us = ?
		WHERE due_at_us < ? AND `+own+state, micros(now), noTurn, rollout).Error
	if err != nil {
		return fmt.Errorf("settle devices of rollout %d: %w", rollout, err)
	}
	return nil
}

func newDeviceRecordRow(fabric int64, d *control.DeviceRecord) (deviceRecordRow, error) {
	row := deviceRecordRow{
		FabricID: fabric, NodeGUID: d.Device.ID.Node.String(), PortNum: int(d.Device.ID.Port), Plan: d.Plan, Policy: string(d.Policy),
		Reading: string(d.Watch.Reading), Seen: string(d.Watch.Seen), Error: text(d.Error.String()), ErrorSaid: phraseColumn(d.Error), ReadBy: text(d.ReadBy),
		ReadAtUS: optionalMicros(d.ReadAt), SeenAtUS: optionalMicros(d.SeenAt), SteadyAtUS: optionalMicros(d.Watch.Steady),
		QuarantinedAtUS: optionalMicros(d.Watch.Quarantined), QuarantineReason: text(d.Watch.Reason.String()), QuarantineSaid: phraseColumn(d.Watch.Reason), Repair: d.Repair, DueAtUS: micros(d.Due), Version: d.Version,
	}
	var errs [4]error
	row.Device, errs[0] = json.Marshal(d.Device)
	row.Observed, errs[1] = encode(d.Observed)
	if len(d.Differences) > 0 {
		row.Differences, errs[2] = json.Marshal(d.Differences)
	}
	if len(d.Watch.Incidents) > 0 {
		row.Incidents, errs[3] = json.Marshal(each(d.Watch.Incidents, micros))
	}
	if err := errors.Join(errs[:]...); err != nil {
		return row, fmt.Errorf("encode device %s: %w", d.Device.ID, err)
	}
	return row, nil
}

func (row deviceRecordRow) domain() (control.DeviceRecord, error) {
	d := control.DeviceRecord{
		Plan: row.Plan, Policy: control.DevicePolicy(row.Policy), Error: said(row.Error, row.ErrorSaid), ReadBy: row.ReadBy,
		ReadAt: optionalTime(row.ReadAtUS), SeenAt: optionalTime(row.SeenAtUS), Repair: row.Repair, Due: fromMicros(row.DueAtUS), Version: row.Version,
		Watch: control.DeviceWatch{Reading: control.DeviceReading(row.Reading), Seen: control.DeviceReading(row.Seen),
			Steady: optionalTime(row.SteadyAtUS), Quarantined: optionalTime(row.QuarantinedAtUS), Reason: said(row.QuarantineReason, row.QuarantineSaid)},
	}
	errs := [4]error{json.Unmarshal(row.Device, &d.Device)}
	d.Observed, errs[1] = decode[driver.Settings](row.Observed)
	if len(row.Differences) > 0 {
		errs[2] = json.Unmarshal(row.Differences, &d.Differences)
	}
	if len(row.Incidents) > 0 {
		var times []int64
		errs[3] = json.Unmarshal(row.Incidents, &times)
		d.Watch.Incidents = each(times, fromMicros)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return d, fmt.Errorf("decode device %s:%d: %w", row.NodeGUID, row.PortNum, err)
	}
	return d, nil
}
