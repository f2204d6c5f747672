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

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet/ident"
)

var _ control.WorkRepo = (*repos)(nil)

func (r *repos) AddRolloutWork(ctx context.Context, rollout int64, devices []control.RolloutDevice) error {
	rows := make([]rolloutDeviceRow, len(devices))
	var shards []rolloutShardRow
	seen := map[[2]int]bool{}
	for i := range devices {
		d := &devices[i]
		var err error
		if rows[i], err = deviceRow(rollout, d); err != nil {
			return err
		}
		if at := [2]int{d.Wave, d.Shard}; !seen[at] {
			seen[at] = true
			shards = append(shards, rolloutShardRow{RolloutID: rollout, Wave: d.Wave, Shard: d.Shard, State: string(control.ShardReady), Epoch: 1})
		}
	}
	if err := insertAll(r.in(ctx), rows); err != nil {
		return fmt.Errorf("insert devices of rollout %d: %w", rollout, err)
	}
	if err := insertAll(r.in(ctx), shards); err != nil {
		return fmt.Errorf("insert shards of rollout %d: %w", rollout, err)
	}
	return nil
}

func (r *repos) RolloutFabric(ctx context.Context, id int64) (fabric string, err error) {
	var names []string
	err = r.in(ctx).Raw("SELECT f.name FROM rollouts o JOIN fabrics f ON f.id = o.fabric_id WHERE o.id = ?", id).Scan(&names).Error
	switch {
	case err != nil:
		return "", fmt.Errorf("find the fabric of rollout %d: %w", id, err)
	case len(names) == 0:
		return "", &control.NotFoundError{Kind: "rollout", Name: fmt.Sprint(id)}
	}
	return names[0], nil
}

func (r *repos) LockRollout(ctx context.Context, id int64) (control.Rollout, error) {
	var row namedRollout
	lock := clause.Locking{Strength: clause.LockingStrengthUpdate, Table: clause.Table{Name: "rollouts"}}
	if err := found(r.rollouts(ctx).Clauses(lock).Where("rollouts.id = ?", id).Take(&row).Error, "rollout", fmt.Sprint(id)); err != nil {
		return control.Rollout{}, err
	}
	return row.domain()
}

func (r *repos) SaveRollout(ctx context.Context, ro control.Rollout) (control.Rollout, error) {
	set := map[string]any{
		"revision": ro.Revision + 1, "version": gorm.Expr("version + 1"), "updated_at_us": micros(ro.UpdatedAt),
		"phase": string(ro.Phase), "owner": ro.Owner, "wave": ro.Wave, "waves": ro.Waves,
		"placed": string(ro.Placed), "gated": ro.Gated, "confirm_by_us": optionalMicros(ro.ConfirmBy), "reason": text(ro.Reason.String()), "reason_said": phraseColumn(ro.Reason),
		"state": stored(ro.State), "refused": flag(ro.State == control.RolloutRefused), "result": text(ro.Result.String()), "result_said": phraseColumn(ro.Result), "finished_at_us": optionalMicros(ro.FinishedAt),
	}
	res := r.in(ctx).Model(&rolloutRow{}).Where("id = ? AND revision = ? AND state = ?", ro.ID, ro.Revision, string(control.RolloutRunning)).Updates(set)
	fenced := &control.ConflictError{Code: "fenced", Said: phrase.Of("problem.fenced", "rollout", ro.ID, "revision", ro.Revision)}
	if err := changed(res, fenced, "store rollout %d", ro.ID); err != nil {
		return ro, err
	}
	ro.Revision++
	ro.Version++
	return ro, nil
}

func (r *repos) SetRolloutRequest(ctx context.Context, id int64, request control.RolloutRequest, actor string, confirmed bool, at time.Time) error {
	res := r.in(ctx).Model(&rolloutRow{}).Where("id = ? AND state = ?", id, string(control.RolloutRunning)).Updates(map[string]any{
		"wish": string(request), "wish_actor": actor, "confirmed": flag(confirmed), "updated_at_us": micros(at), "version": gorm.Expr("version + 1"),
	})
	return changed(res, notRunning(id), "store the request for rollout %d", id)
}

func (r *repos) RolloutRequest(ctx context.Context, id int64) (control.RolloutRequest, error) {
	var row rolloutRow
	if err := found(r.in(ctx).Select("wish").Where("id = ?", id).Take(&row).Error, "rollout", fmt.Sprint(id)); err != nil {
		return "", err
	}
	return control.RolloutRequest(row.Request), nil
}

func shardWhere(db *gorm.DB, k control.ShardKey) *gorm.DB {
	return db.Where("rollout_id = ? AND undo = ? AND wave = ? AND shard = ?", k.Rollout, flag(k.Undo), k.Wave, k.Shard)
}

func (r *repos) LockShard(ctx context.Context, k control.ShardKey) (control.Shard, error) {
	var row rolloutShardRow
	if err := found(shardWhere(r.in(ctx).Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), k).Take(&row).Error, "shard", k.String()); err != nil {
		return control.Shard{}, err
	}
	return row.domain(), nil
}

func (r *repos) PutShard(ctx context.Context, s control.Shard) error {
	row := rolloutShardRow{
		RolloutID: s.Key.Rollout, Undo: flag(s.Key.Undo), Wave: s.Key.Wave, Shard: s.Key.Shard,
		State: string(s.State), Epoch: s.Epoch, Beat: s.Beat, Owner: s.Owner,
	}
	onKey := clause.OnConflict{
		Columns:   []clause.Column{{Name: "rollout_id"}, {Name: "undo"}, {Name: "wave"}, {Name: "shard"}},
		DoUpdates: clause.AssignmentColumns([]string{"state", "epoch", "beat", "owner"}),
	}
	if err := r.in(ctx).Clauses(onKey).Create(&row).Error; err != nil {
		return fmt.Errorf("store %s: %w", s.Key, err)
	}
	return nil
}

func (r *repos) Shards(ctx context.Context, rollout int64) ([]control.Shard, error) {
	var rows []rolloutShardRow
	if err := r.in(ctx).Where("rollout_id = ?", rollout).Order("undo, wave, shard").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list shards of rollout %d: %w", rollout, err)
	}
	return each(rows, rolloutShardRow.domain), nil
}

func (row rolloutShardRow) domain() control.Shard {
	return control.Shard{
		Key:   control.ShardKey{Rollout: row.RolloutID, Undo: row.Undo != 0, Wave: row.Wave, Shard: row.Shard},
		State: control.ShardState(row.State), Epoch: row.Epoch, Beat: row.Beat, Owner: row.Owner,
	}
}

func (r *repos) ShardDevices(ctx context.Context, rollout int64, wave, shard int) ([]control.RolloutDevice, error) {
	return rolloutDevices(r.in(ctx).Omit("wanted", "observed", "receipt").
		Where("rollout_id = ? AND wave = ? AND shard = ?", rollout, wave, shard).Order("node_guid, port_num"), nameOf(rollout))
}

func (r *repos) DevicesOf(ctx context.Context, rollout int64, ids []ident.PortID) ([]control.RolloutDevice, error) {
	return ofPorts(ids, func(d *control.RolloutDevice) ident.PortID { return d.Device.ID }, func(nodes []string) ([]control.RolloutDevice, error) {
		q := r.in(ctx).Omit("before", "wanted", "observed", "receipt").Where("rollout_id = ? AND node_guid IN ?", rollout, nodes)
		return rolloutDevices(q, nameOf(rollout))
	})
}

// ofPorts returns the rows of some ports. read returns all rows of some nodes. Each port's row is returned once.
func ofPorts[T any](ids []ident.PortID, id func(*T) ident.PortID, read func(nodes []string) ([]T, error)) (out []T, err error) {
	wanted := make(map[ident.PortID]bool, len(ids))
	nodes := make([]string, len(ids))
	for i, id := range ids {
		wanted[id], nodes[i] = true, id.Node.String()
	}
	for part := range slices.Chunk(nodes, batchNames) {
		list, err := read(part)
		if err != nil {
			return nil, err
		}
		for i := range list { // a node has several ports, and may be in two batches
			if port := id(&list[i]); wanted[port] {
				delete(wanted, port)
				out = append(out, list[i])
			}
		}
	}
	return out, nil
}

// rolloutDevices reads the devices that a query selects; of describes them in errors.
func rolloutDevices(q *gorm.DB, of string) ([]control.RolloutDevice, error) {
	var rows []rolloutDeviceRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list devices of %s: %w", of, err)
	}
	return tryEach(rows, rolloutDeviceRow.domain)
}

func (r *repos) PutRolloutDevices(ctx context.Context, rollout int64, ds []control.RolloutDevice) error {
	// Rows that update the same columns are grouped; since a later row of a device must not overtake an earlier one, a
	// call has one row for each device.
	groups := map[[4]bool][]rolloutDeviceRow{}
	seen := make(map[ident.PortID]bool, len(ds))
	for i := range ds {
		if seen[ds[i].Device.ID] {
			return fmt.Errorf("store devices of rollout %d: %s comes twice", rollout, ds[i].Device.ID)
		}
		seen[ds[i].Device.ID] = true
		row, err := deviceRow(rollout, &ds[i])
		if err != nil {
			return err
		}
		kind := [4]bool{row.Before != nil, row.Wanted != nil, row.Observed != nil, row.Receipt != nil}
		groups[kind] = append(groups[kind], row)
	}
	for kind, rows := range groups {
		renew := []string{"device", "state", "error", "error_said", "updated_at_us", "wave", "shard", "touched", "note", "note_said"}
		for i, column := range [4]string{"before", "wanted", "observed", "receipt"} {
			if kind[i] {
				renew = append(renew, column)
			}
		}
		onKey := clause.OnConflict{
			Columns:   []clause.Column{{Name: "rollout_id"}, {Name: "node_guid"}, {Name: "port_num"}},
			DoUpdates: clause.AssignmentColumns(renew),
		}
		if err := insertAll(r.in(ctx).Clauses(onKey), rows); err != nil {
			return fmt.Errorf("store %d devices of rollout %d: %w", len(rows), rollout, err)
		}
	}
	return nil
}

func deviceRow(rollout int64, d *control.RolloutDevice) (rolloutDeviceRow, error) {
	row := rolloutDeviceRow{
		RolloutID: rollout, NodeGUID: d.Device.ID.Node.String(), PortNum: int(d.Device.ID.Port),
		State: string(d.State), Error: text(d.Error.String()), ErrorSaid: phraseColumn(d.Error), UpdatedAtUS: micros(d.UpdatedAt),
		Wave: d.Wave, Shard: d.Shard, Touched: flag(d.Touched), Note: text(d.Note.String()), NoteSaid: phraseColumn(d.Note),
	}
	var errs [5]error
	row.Device, errs[0] = json.Marshal(d.Device)
	row.Before, errs[1] = encode(d.Before)
	row.Wanted, errs[2] = encode(d.Wanted)
	row.Observed, errs[3] = encode(d.Observed)
	row.Receipt, errs[4] = encode(d.Receipt)
	if err := errors.Join(errs[:]...); err != nil {
		return row, fmt.Errorf("encode device %s: %w", d.Device.ID, err)
	}
	return row, nil
}

// FailedDevices implements control.WorkRepo. Every shard calls it: the states are compared as literals and precede the
// large columns, so that neither a sorter nor a page of a large column is needed.
func (r *repos) FailedDevices(ctx context.Context, rollout int64) (n int, err error) {
	err = r.in(ctx).Raw("SELECT count(*) FROM rollout_devices WHERE rollout_id = ? AND state IN ('failed', 'unsupported', 'rolled-back')", rollout).Scan(&n).Error
	if err != nil {
		return 0, fmt.Errorf("count failed devices of rollout %d: %w", rollout, err)
	}
	return n, nil
}

func (r *repos) TallyRollout(ctx context.Context, rollout int64, wave int) (t control.Tally, err error) {
	var rows []struct {
		State   string
		Touched int
		N       int
	}
	q := r.in(ctx).Model(&rolloutDeviceRow{}).Select("state, touched, count(*) AS n").Where("rollout_id = ?", rollout)
	if wave >= 0 {
		q = q.Where("wave = ?", wave)
	}
	err = q.Group("state, touched").Scan(&rows).Error
	if err != nil {
		return t, fmt.Errorf("count devices of rollout %d: %w", rollout, err)
	}
	for _, row := range rows {
		t.Add(control.DeviceState(row.State), row.Touched != 0, row.N)
	}
	return t, nil
}

func (r *repos) TouchedWaves(ctx context.Context, rollout int64) (out []control.WaveShards, err error) {
	err = r.in(ctx).Model(&rolloutDeviceRow{}).Select("wave, max(shard) + 1 AS shards").
		Where("rollout_id = ? AND touched = 1", rollout).Group("wave").Order("wave").Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list touched waves of rollout %d: %w", rollout, err)
	}
	return out, nil
}

func (r *repos) FaultyDevices(ctx context.Context, rollout int64, limit int) ([]control.RolloutDevice, error) {
	return rolloutDevices(r.in(ctx).Where("rollout_id = ? AND error <> ''", rollout).Order("node_guid, port_num").Limit(limit), nameOf(rollout))
}

// Queries at the start of a rollout. History grows forever, so both start with an index of the few rows that matter and
// repeat its condition literally; a CROSS JOIN keeps its order.
const (
	dirtyDevices = `SELECT d.* FROM rollout_devices d CROSS JOIN rollouts o
		WHERE d.touched = 1 AND d.state NOT IN ('pending', 'in-sync', 'rolled-back')
			AND o.id = d.rollout_id AND o.fabric_id = ? AND o.state <> 'running'
			AND NOT EXISTS (SELECT 1 FROM rollouts l CROSS JOIN rollout_devices x
				WHERE l.fabric_id = o.fabric_id AND l.id > o.id AND l.state <> 'running'
					AND x.rollout_id = l.id AND x.node_guid = d.node_guid AND x.port_num = d.port_num AND x.state <> 'pending')
		ORDER BY d.node_guid, d.port_num`
	placedPlan = `SELECT p.name, o.id FROM rollouts o JOIN plans p ON p.id = o.plan_id
		WHERE o.fabric_id = ? AND o.state IN ('succeeded', 'partial') AND o.stages IN ('placement', 'placement,settings')
		ORDER BY o.id DESC LIMIT 1`
	// stillPlaced searches the few later rollouts that ended otherwise and left their placements.
	stillPlaced = `SELECT p.name, o.id FROM rollouts o JOIN plans p ON p.id = o.plan_id
		WHERE o.fabric_id = ? AND o.id > ? AND o.placed = 'verified' AND o.state NOT IN ('running', 'succeeded', 'partial')
			AND o.stages IN ('placement', 'placement,settings')
		ORDER BY o.id DESC LIMIT 1`
)

func (r *repos) DirtyDevices(ctx context.Context, fabric string) ([]control.RolloutDevice, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	// Only the latest row of a device counts: a later rollout that settled it has made it clean.
	return rolloutDevices(r.in(ctx).Raw(dirtyDevices, f.ID), "earlier rollouts on "+fabric)
}

func (r *repos) PlacedPlan(ctx context.Context, fabric string) (plan string, err error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return "", err
	}
	var last struct {
		Name string
		ID   int64
	}
	err = r.in(ctx).Raw(placedPlan, f.ID).Scan(&last).Error
	if err == nil {
		err = r.in(ctx).Raw(stillPlaced, f.ID, last.ID).Scan(&last).Error
	}
	if err != nil {
		return "", fmt.Errorf("find the placements in force on %s: %w", fabric, err)
	}
	return last.Name, nil
}

func (r *repos) AddEvents(ctx context.Context, es []control.Event) error {
	if r.late {
		r.events = append(r.events, each(es, newEventRow)...)
		return nil
	}
	if err := insertAll(r.in(ctx), each(es, newEventRow)); err != nil {
		return fmt.Errorf("insert %d events: %w", len(es), err)
	}
	return nil
}
