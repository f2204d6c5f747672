package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet/ident"
)

// state is the content of the fake database.
type state struct {
	rollouts map[int64]control.Rollout
	devices  map[int64]map[ident.PortID]control.RolloutDevice
	shards   map[control.ShardKey]control.Shard
	events   []control.Event
	jobs     []control.Job // queued
	ended    []int64
	turned   map[int64]int // number of events when a rollout turned back
	based    map[ident.PortID]control.Baseline
}

func newState() *state {
	return &state{rollouts: map[int64]control.Rollout{}, devices: map[int64]map[ident.PortID]control.RolloutDevice{}, shards: map[control.ShardKey]control.Shard{},
		turned: map[int64]int{}, based: map[ident.PortID]control.Baseline{}}
}

func (s *state) clone() *state {
	c := &state{rollouts: maps.Clone(s.rollouts), devices: map[int64]map[ident.PortID]control.RolloutDevice{}, shards: maps.Clone(s.shards),
		events: slices.Clip(s.events), jobs: slices.Clone(s.jobs), ended: slices.Clip(s.ended), turned: maps.Clone(s.turned), based: maps.Clone(s.based)}
	for id, m := range s.devices {
		c.devices[id] = maps.Clone(m)
	}
	return c
}

// covered checks that no write is announced to a device without a recorded baseline.
func (s *state) covered(w *world) {
	for _, d := range s.devices[w.id] {
		if b, ok := s.based[d.Device.ID]; d.State == "applying" && (!ok || !b.Held) {
			w.fault("%s is about to be written, and has no baseline", d.Device)
		}
	}
}

// repos is a transaction on a state. Methods that the engine does not use are nil and would panic.
type repos struct {
	control.Repos

	s     *state
	w     *world
	actor *task // the calling task; nil for operators
}

func (r *repos) LockRollout(_ context.Context, id int64) (control.Rollout, error) {
	ro, ok := r.s.rollouts[id]
	if !ok {
		return ro, &control.NotFoundError{Kind: "rollout", Name: fmt.Sprint(id)}
	}
	return ro, nil
}

func (r *repos) SaveRollout(_ context.Context, ro control.Rollout) (control.Rollout, error) {
	old := r.s.rollouts[ro.ID]
	if old.Revision != ro.Revision || old.State != control.RolloutRunning {
		return ro, &control.ConflictError{Code: "fenced", Said: phrase.Of("problem.fenced", "rollout", ro.ID, "revision", ro.Revision)}
	}
	ro.Revision++
	ro.Request, ro.RequestedBy, ro.Confirmed = old.Request, old.RequestedBy, old.Confirmed
	r.s.rollouts[ro.ID] = ro
	if _, ok := r.s.turned[ro.ID]; !ok && ro.Phase == control.PhaseUndoing {
		r.s.turned[ro.ID] = len(r.s.events)
	}
	return ro, nil
}

func (r *repos) Fabric(context.Context, string) (control.Fabric, error) { return r.w.plan.Fabric, nil }

func (r *repos) RolloutRequest(_ context.Context, id int64) (control.RolloutRequest, error) {
	return r.s.rollouts[id].Request, nil
}

func (r *repos) RunningRollouts(context.Context) (out []control.Rollout, err error) {
	for _, id := range slices.Sorted(maps.Keys(r.s.rollouts)) {
		if ro := r.s.rollouts[id]; ro.State == control.RolloutRunning {
			out = append(out, ro)
		}
	}
	return out, nil
}

func (r *repos) LockShard(_ context.Context, k control.ShardKey) (control.Shard, error) {
	s, ok := r.s.shards[k]
	if !ok {
		return s, &control.NotFoundError{Kind: "shard", Name: k.String()}
	}
	if mine := r.actor; r.w.unfenced && mine != nil && mine.shard.Key == k {
		s.Epoch, s.State, s.Owner = mine.shard.Epoch, control.ShardWorking, mine.m.name
	}
	return s, nil
}

func (r *repos) PutShard(_ context.Context, s control.Shard) error {
	if r.w.unfenced && r.s.shards[s.Key].Epoch > s.Epoch {
		return nil
	}
	r.s.shards[s.Key] = s
	if r.actor != nil && s.State == control.ShardWorking && s.Owner == r.actor.m.name {
		r.actor.shard = s
	}
	return nil
}

func (r *repos) Shards(_ context.Context, rollout int64) (out []control.Shard, err error) {
	for k, s := range r.s.shards {
		if k.Rollout == rollout {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b control.Shard) int {
		return slices.Compare(order(a.Key), order(b.Key))
	})
	return out, nil
}

func order(k control.ShardKey) []int {
	undo := 0
	if k.Undo {
		undo = 1
	}
	return []int{undo, k.Wave, k.Shard}
}

func (r *repos) ShardDevices(_ context.Context, rollout int64, wave, shard int) ([]control.RolloutDevice, error) {
	return r.pick(rollout, func(d control.RolloutDevice) bool { return d.Wave == wave && d.Shard == shard }), nil
}

func (r *repos) pick(rollout int64, want func(control.RolloutDevice) bool) (out []control.RolloutDevice) {
	for _, d := range r.s.devices[rollout] {
		if want(d) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b control.RolloutDevice) int { return a.Device.ID.Compare(b.Device.ID) })
	return out
}

func (r *repos) PutRolloutDevices(_ context.Context, rollout int64, ds []control.RolloutDevice) error {
	for _, d := range ds {
		old := r.s.devices[rollout][d.Device.ID]
		if d.Before == nil {
			d.Before = old.Before
		}
		if d.Receipt == nil {
			d.Receipt = old.Receipt
		}
		if d.Observed == nil {
			d.Observed = old.Observed
		}
		r.s.devices[rollout][d.Device.ID] = d
		r.w.recorded(r.actor, d)
	}
	return nil
}

func (r *repos) Based(_ context.Context, _ string, ids []ident.PortID) (map[ident.PortID]bool, error) {
	out := map[ident.PortID]bool{}
	for _, id := range ids {
		if b, ok := r.s.based[id]; ok {
			out[id] = b.Held
		}
	}
	return out, nil
}

// AddBaselines keeps existing baselines, as the store does.
func (r *repos) AddBaselines(_ context.Context, _ string, list []control.Baseline) error {
	for _, b := range list {
		old, ok := r.s.based[b.Device.ID]
		if ok {
			b = old
		} else if r.w.joins(b); b.Rollout == 0 {
			r.w.fault("the baseline of %s does not say which rollout wrote it first", b.Device)
		}
		b.Held = true
		r.s.based[b.Device.ID] = b
	}
	return nil
}

func (r *repos) Baselines(_ context.Context, _ string, ids []ident.PortID) (out []control.Baseline, err error) {
	for _, id := range ids {
		if b, ok := r.s.based[id]; ok {
			out = append(out, b)
		}
	}
	return out, nil
}

// LetGo requires a recent verifying read.
func (r *repos) LetGo(_ context.Context, _ string, ids []ident.PortID) error {
	for _, id := range ids {
		b := r.s.based[id]
		if d := r.w.devices[id]; d.reader != r.actor || !d.asWant {
			r.w.fault("%s is let go, but was not read as it is to be", b.Device)
		}
		b.Held = false
		r.s.based[id] = b
	}
	return nil
}

// ListRollouts lists the rollouts before the one that the page starts after.
func (r *repos) ListRollouts(_ context.Context, _ string, p control.Page) (out []control.Rollout, next string, err error) {
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(r.s.rollouts))) {
		if fmt.Sprint(id) < p.After {
			out = append(out, r.s.rollouts[id])
		}
	}
	return out, "", nil
}

func (r *repos) FailedDevices(ctx context.Context, rollout int64) (int, error) {
	t, err := r.TallyRollout(ctx, rollout, -1)
	return t.Failed, err
}

func (r *repos) TallyRollout(_ context.Context, rollout int64, wave int) (t control.Tally, err error) {
	for _, d := range r.s.devices[rollout] {
		if wave < 0 || d.Wave == wave {
			t.Add(d.State, d.Touched, 1)
		}
	}
	return t, nil
}

func (r *repos) TouchedWaves(_ context.Context, rollout int64) (out []control.WaveShards, err error) {
	most := map[int]int{}
	for _, d := range r.s.devices[rollout] {
		if d.Touched {
			most[d.Wave] = max(most[d.Wave], d.Shard+1)
		}
	}
	for _, w := range slices.Sorted(maps.Keys(most)) {
		out = append(out, control.WaveShards{Wave: w, Shards: most[w]})
	}
	return out, nil
}

func (r *repos) FaultyDevices(_ context.Context, rollout int64, limit int) ([]control.RolloutDevice, error) {
	list := r.pick(rollout, func(d control.RolloutDevice) bool { return d.Error.ID != "" })
	return list[:min(limit, len(list))], nil
}

func (r *repos) AddEvents(_ context.Context, es []control.Event) error {
	r.s.events = append(r.s.events, es...)
	return nil
}

// Enqueue keeps one copy of a queued or running job, as the queue does. The job of a killed manager counts as running for
// ever.
func (r *repos) Enqueue(_ context.Context, jobs ...control.Job) error {
	for _, j := range jobs {
		if !slices.Contains(r.s.jobs, j) && !r.w.running[j] {
			r.s.jobs = append(r.s.jobs, j)
		}
	}
	return nil
}

// memory is a store as one manager sees it.
type memory struct {
	w *world
	m *manager
}

// Ping implements control.Store.
func (memory) Ping(context.Context) error { return nil }

var errDatabase = errors.New("the database is gone")

// Tx can fail before its start, and after its commit.
func (m memory) Tx(ctx context.Context, f func(control.Repos) error) error {
	w, t := m.w, taskOf(ctx)
	if err := w.yield(t, m.m); err != nil {
		return err
	}
	if w.noDatabase() {
		return errDatabase
	}
	next := w.db.clone()
	if err := f(&repos{s: next, w: w, actor: t}); err != nil {
		return err
	}
	next.covered(w)
	w.db = next
	lost := w.chance(w.o.loseCommit)
	if err := w.yield(t, m.m); err != nil {
		return err // killed after the commit
	}
	if lost {
		w.count("commits whose answer was lost")
		return errDatabase
	}
	return nil
}

// View implements control.Store.
func (m memory) View(ctx context.Context, f func(control.Repos) error) error {
	if err := m.w.yield(taskOf(ctx), m.m); err != nil {
		return err
	}
	if m.w.noDatabase() {
		return errDatabase
	}
	return f(&repos{s: m.w.db.clone(), w: m.w})
}
