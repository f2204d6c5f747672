package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// CreateRollout implements control.RolloutRepo. The partial unique index on running rollouts decides, so that two
// managers cannot both succeed.
func (r *repos) CreateRollout(ctx context.Context, ro control.Rollout) (control.Rollout, error) {
	f, err := r.fabric(ctx, ro.Fabric)
	if err != nil {
		return control.Rollout{}, err
	}
	p, err := r.plan(ctx, f.ID, ro.Plan)
	if err != nil {
		return control.Rollout{}, err
	}
	row := rolloutRow{
		FabricID: f.ID, PlanID: p.ID, Stages: joinStages(ro.Stages), State: string(control.RolloutRunning),
		Actor: ro.Actor, Version: 1, CreatedAtUS: micros(ro.CreatedAt), UpdatedAtUS: micros(ro.CreatedAt),
		Revision: 1, Phase: string(cmp.Or(ro.Phase, control.PhasePlacing)), Request: string(control.RequestRun), Wave: -1, Waves: ro.Waves,
		PriorPlan: ro.Prior, Placed: string(control.PlacedNone), Gated: min(ro.Gated, -1),
	}
	if row.Options, err = json.Marshal(ro.Options); err != nil {
		return control.Rollout{}, fmt.Errorf("encode options of a rollout: %w", err)
	}
	switch err := r.in(ctx).Create(&row).Error; {
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return control.Rollout{}, &control.ConflictError{Code: "rollout-running", Said: phrase.Of("problem.fabric-busy", "fabric", ro.Fabric)}
	case err != nil:
		return control.Rollout{}, fmt.Errorf("insert rollout: %w", err)
	}
	return row.domain(ro.Fabric, p.Name)
}

func joinStages(stages []control.Stage) string {
	parts := make([]string, len(stages))
	for i, s := range stages {
		parts[i] = string(s)
	}
	return strings.Join(parts, ",")
}

// namedRollout is a rollout with the names of the rows that it references.
type namedRollout struct {
	Row    rolloutRow `gorm:"embedded"`
	Fabric string
	Plan   string
}

func (r *repos) rollouts(ctx context.Context) *gorm.DB {
	return r.in(ctx).Table("rollouts").
		Select("rollouts.*, fabrics.name AS fabric, plans.name AS plan").
		Joins("JOIN fabrics ON fabrics.id = rollouts.fabric_id").
		Joins("JOIN plans ON plans.id = rollouts.plan_id")
}

func (n namedRollout) domain() (control.Rollout, error) { return n.Row.domain(n.Fabric, n.Plan) }

var _ control.RolloutRepo = (*repos)(nil)

func (r *repos) Rollout(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return control.Rollout{}, err
	}
	var row namedRollout
	err = r.rollouts(ctx).Where("rollouts.fabric_id = ? AND rollouts.id = ?", f.ID, id).Take(&row).Error
	if err := found(err, "rollout", strconv.FormatInt(id, 10)); err != nil {
		return control.Rollout{}, err
	}
	ro, err := row.domain()
	if err != nil {
		return control.Rollout{}, err
	}
	ro.Devices, err = rolloutDevices(r.in(ctx).Where("rollout_id = ?", id).Order("node_guid, port_num"), nameOf(id))
	return ro, err
}

// ListRollouts implements control.RolloutRepo, newest first.
func (r *repos) ListRollouts(ctx context.Context, fabric string, p control.Page) ([]control.Rollout, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	q := r.rollouts(ctx).Where("rollouts.fabric_id = ?", f.ID)
	rows, next, err := newestFirst(q, "rollouts.id", "rollouts of "+fabric, p, func(n namedRollout) int64 { return n.Row.ID })
	if err != nil {
		return nil, "", err
	}
	list, err := tryEach(rows, namedRollout.domain)
	return list, next, err
}

func notRunning(id int64) error {
	return &control.ConflictError{Code: "not-running", Said: phrase.Of("problem.not-running", "rollout", id)}
}

func nameOf(rollout int64) string { return fmt.Sprintf("rollout %d", rollout) }

func (r *repos) FinishRollout(ctx context.Context, id int64, s control.RolloutState, result string, at time.Time) error {
	if s == control.RolloutRunning {
		return fmt.Errorf("finish rollout %d: %q is not a final state", id, s)
	}
	res := r.in(ctx).Model(&rolloutRow{}).Where("id = ? AND state = ?", id, string(control.RolloutRunning)).Updates(map[string]any{
		"state": stored(s), "refused": flag(s == control.RolloutRefused), "phase": string(control.PhaseEnded), "owner": "", "revision": gorm.Expr("revision + 1"), "result": result, "finished_at_us": micros(at), "updated_at_us": micros(at),
		"version": gorm.Expr("version + 1"),
	})
	return changed(res, notRunning(id), "finish rollout %d", id)
}

func (r *repos) PutRolloutDevice(ctx context.Context, rollout int64, d control.RolloutDevice) error {
	return r.PutRolloutDevices(ctx, rollout, []control.RolloutDevice{d})
}

// encode returns nil, stored as NULL, for a nil pointer.
func encode[T any](v *T) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	return json.Marshal(v)
}

func decode[T any](b []byte) (*T, error) {
	if len(b) == 0 {
		return nil, nil
	}
	v := new(T)
	return v, json.Unmarshal(b, v)
}

func (r *repos) RunningRollouts(ctx context.Context) ([]control.Rollout, error) {
	var rows []namedRollout
	if err := r.rollouts(ctx).Where("rollouts.state = ?", string(control.RolloutRunning)).
		Order("rollouts.id").Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("list running rollouts: %w", err)
	}
	return tryEach(rows, namedRollout.domain)
}

func (r *repos) LatestRollout(ctx context.Context, fabric string, states ...control.RolloutState) (control.Rollout, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return control.Rollout{}, err
	}
	q := r.rollouts(ctx).Where("rollouts.fabric_id = ?", f.ID)
	if len(states) > 0 {
		either := r.in(ctx)
		for _, s := range states {
			either = either.Or("rollouts.state = ? AND rollouts.refused = ?", stored(s), flag(s == control.RolloutRefused))
		}
		q = q.Where(either)
	}
	var row namedRollout
	if err := found(q.Order("rollouts.id DESC").Take(&row).Error, "rollout", "latest of "+fabric); err != nil {
		return control.Rollout{}, err
	}
	return row.domain()
}

// stored returns a rollout's state as its row has it. A refused rollout is stored as rolled-back, with the column refused
// set: neither managers of earlier releases, which may use the same database during an upgrade, nor the table's check
// know "refused".
func stored(s control.RolloutState) string {
	if s == control.RolloutRefused {
		s = control.RolloutRolledBack
	}
	return string(s)
}

func (row rolloutRow) domain(fabric, plan string) (control.Rollout, error) {
	ro := control.Rollout{
		ID: row.ID, Fabric: fabric, Plan: plan, State: control.RolloutState(row.State), Result: said(row.Result, row.ResultSaid),
		Actor: row.Actor, Version: row.Version,
		CreatedAt: fromMicros(row.CreatedAtUS), UpdatedAt: fromMicros(row.UpdatedAtUS),
		Revision: row.Revision, Phase: control.Phase(row.Phase), Request: control.RolloutRequest(row.Request), RequestedBy: row.RequestedBy, Owner: row.Owner,
		Wave: row.Wave, Waves: row.Waves, Prior: row.PriorPlan, Placed: control.Placed(row.Placed), Gated: row.Gated,
		Confirmed: row.Confirmed != 0, Reason: said(row.Reason, row.ReasonSaid), FinishedAt: optionalTime(row.FinishedAtUS), ConfirmBy: optionalTime(row.ConfirmByUS),
	}
	for s := range strings.SplitSeq(row.Stages, ",") {
		ro.Stages = append(ro.Stages, control.Stage(s))
	}
	if row.Refused != 0 {
		ro.State = control.RolloutRefused
	}
	if len(row.Options) > 0 {
		if err := json.Unmarshal(row.Options, &ro.Options); err != nil {
			return ro, fmt.Errorf("decode options of rollout %d: %w", row.ID, err)
		}
	}
	return ro, nil
}

func (row rolloutDeviceRow) domain() (control.RolloutDevice, error) {
	d := control.RolloutDevice{
		State: control.DeviceState(row.State), Error: said(row.Error, row.ErrorSaid), UpdatedAt: fromMicros(row.UpdatedAtUS),
		Wave: row.Wave, Shard: row.Shard, Touched: row.Touched != 0, Note: said(row.Note, row.NoteSaid),
	}
	errs := [5]error{json.Unmarshal(row.Device, &d.Device)}
	d.Before, errs[1] = decode[driver.Settings](row.Before)
	d.Wanted, errs[2] = decode[driver.Settings](row.Wanted)
	d.Observed, errs[3] = decode[driver.Settings](row.Observed)
	d.Receipt, errs[4] = decode[driver.Receipt](row.Receipt)
	if err := errors.Join(errs[:]...); err != nil {
		return d, fmt.Errorf("decode device %s:%d of rollout %d: %w", row.NodeGUID, row.PortNum, row.RolloutID, err)
	}
	return d, nil
}
