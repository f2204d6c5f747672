package control

import (
	"context"
	"fmt"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// Phase says what a running rollout is busy with.
type Phase string

// Phases; the moves between them are in service/rollout.
const (
	PhasePlacing    Phase = "placing"    // bringing tenants' traffic onto its service levels
	PhasePushing    Phase = "pushing"    // writing devices, wave by wave
	PhaseConfirming Phase = "confirming" // every device is written; waiting for the word that it may stay
	PhaseUndoing    Phase = "undoing"    // returning devices to what they were, wave by wave
	PhaseUnplacing  Phase = "unplacing"  // returning traffic to its former service levels
	PhaseEnded      Phase = "ended"
)

// Wish is what an operator last asked of a running rollout.
type Wish string

// Wishes.
const (
	WishRun    Wish = "run"
	WishPause  Wish = "pause"  // stop at the next safe point and wait
	WishCancel Wish = "cancel" // stop at the next safe point and leave the devices as they are
	WishUndo   Wish = "undo"   // return everything to what it was
)

// Placed is what became of the placement stage.
type Placed string

// Placement states.
const (
	PlacedNone       Placed = "none"       // no such stage, or not begun
	PlacedUnverified Placed = "unverified" // asked for, but not seen in force
	PlacedVerified   Placed = "verified"   // the plan's placements are in force
	PlacedRestored   Placed = "restored"   // the prior ones are in force again
)

// ShardState is where a shard stands.
type ShardState string

// Shard states.
const (
	ShardReady   ShardState = "ready"   // nobody was asked to work it
	ShardQueued  ShardState = "queued"  // a job waits for a worker
	ShardWorking ShardState = "working" // its owner works it
	ShardDone    ShardState = "done"    // every device of it is settled, or the rollout is being given up
)

// ShardKey names a shard.
type ShardKey struct {
	Rollout     int64
	Undo        bool
	Wave, Shard int
}

// String prints "rollout 3 wave 0 shard 2".
func (k ShardKey) String() string {
	way := ""
	if k.Undo {
		way = " undo"
	}
	return fmt.Sprintf("rollout %d%s wave %d shard %d", k.Rollout, way, k.Wave, k.Shard)
}

// Shard is the devices that one worker writes together.
type Shard struct {
	Key   ShardKey
	State ShardState
	Epoch int64  // grows with every new asking: whoever works under a lower one is refused
	Beat  int64  // grows with every sign of life of the worker
	Owner string // the manager that works it
}

// Tally counts a rollout's devices by what decides how it ends.
type Tally struct {
	All      int
	InSync   int // read back as wanted
	Open     int // not settled
	Failed   int // failed, unsupported, or returned to what they were
	Returned int // of Failed: read back as they were before
	Touched  int // a write may have reached them, and they are not read back as they were
	Dirty    int // of Touched: settled neither as wanted nor as before
}

// WorkRepo is what the workers of rollouts need. Lock methods hold the row until the transaction ends; lock a
// rollout before its shards.
type WorkRepo interface {
	// AddRolloutWork adds the devices of a new rollout, pending, with the shards they are in.
	AddRolloutWork(ctx context.Context, rollout int64, devices []RolloutDevice) error
	// RolloutFabric returns the name of the fabric that a rollout is on, or *NotFoundError.
	RolloutFabric(ctx context.Context, id int64) (string, error)
	// LockRollout reads a rollout, without devices, and holds it.
	LockRollout(ctx context.Context, id int64) (Rollout, error)
	// SaveRollout writes what a running rollout's steps change, when its stored revision is still
	// ro.Revision, and returns it with the next one; else *ConflictError "fenced". Wishes are left as they are.
	SaveRollout(ctx context.Context, ro Rollout) (Rollout, error)
	// SetWish stores what an operator asks of a running rollout, and whether it may stay, without a new revision.
	SetWish(ctx context.Context, id int64, w Wish, actor string, confirmed bool, at time.Time) error
	// RolloutWish reads what an operator last asked for, without holding the row.
	RolloutWish(ctx context.Context, id int64) (Wish, error)
	// LockShard reads a shard and holds it.
	LockShard(ctx context.Context, k ShardKey) (Shard, error)
	// PutShard adds or replaces a shard.
	PutShard(ctx context.Context, s Shard) error
	// Shards lists the shards of a rollout in order.
	Shards(ctx context.Context, rollout int64) ([]Shard, error)
	// ShardDevices lists the devices of a shard by device, without what is wanted of them, what was observed and receipts.
	ShardDevices(ctx context.Context, rollout int64, wave, shard int) ([]RolloutDevice, error)
	// DevicesOf lists those of the given devices that are in a rollout, in no order, with where they stand only: without
	// settings and receipts.
	DevicesOf(ctx context.Context, rollout int64, ids []ident.PortID) ([]RolloutDevice, error)
	// PutRolloutDevices renews the rows of devices, as PutRolloutDevice does, in few statements.
	PutRolloutDevices(ctx context.Context, rollout int64, ds []RolloutDevice) error
	// FailedDevices counts the devices of a rollout that count against its failure budget.
	FailedDevices(ctx context.Context, rollout int64) (int, error)
	// TallyRollout counts a rollout's devices, of one wave or, when that is negative, of all.
	TallyRollout(ctx context.Context, rollout int64, wave int) (Tally, error)
	// TouchedWaves lists, in ascending order, the waves with touched devices, and the number of shards of each.
	TouchedWaves(ctx context.Context, rollout int64) ([]WaveShards, error)
	// FaultyDevices lists devices of a rollout that have an error, by device, at most limit.
	FaultyDevices(ctx context.Context, rollout int64, limit int) ([]RolloutDevice, error)
	// DirtyDevices lists the devices of a fabric whose latest finished rollout left them neither as wanted
	// nor as before, each with the state before it was first touched.
	DirtyDevices(ctx context.Context, fabric string) ([]RolloutDevice, error)
	// PlacedPlan names the plan whose placements are in force: that of the latest rollout of a fabric with the placement stage
	// that succeeded, in whole or in part, or that ended otherwise and left its placements verified. It is empty when
	// there was none.
	PlacedPlan(ctx context.Context, fabric string) (string, error)
	// AddEvents adds events in order.
	AddEvents(ctx context.Context, es []Event) error
}

// WaveShards is a wave and how many shards it has.
type WaveShards struct{ Wave, Shards int }

// RolloutOptions bound a rollout. Zero fields take the default named beside them.
type RolloutOptions struct {
	Canary        int    `json:"canary,omitempty"`         // devices of each kind written first, alone; default 1
	Wave          int    `json:"wave,omitempty"`           // most devices of a wave; default 1024
	Domain        string `json:"domain,omitempty"`         // what a wave is made of: "leaf" (default), "pod" or "none"
	Shard         int    `json:"shard,omitempty"`          // most devices one worker writes together; default 128
	Parallel      int    `json:"parallel,omitempty"`       // devices of a shard written at the same time; default 128
	FailureBudget int    `json:"failure_budget,omitempty"` // devices that may fail before everything is undone; default 0
	Attempts      int    `json:"attempts,omitempty"`       // tries of each step on a device; default 4, at most 100
	// ConfirmWindow is how long the finished rollout waits for the word that it may stay; without it
	// everything is undone. 0 needs no word.
	ConfirmWindow time.Duration `json:"confirm_window_ns,omitempty"`
	// VerifyShares takes measured shares within MaxShareError for the word, at the end of the window.
	VerifyShares  bool    `json:"verify_shares,omitempty"`
	MaxShareError float64 `json:"max_share_error,omitempty"` // health gate at the end; 0 is none, unless VerifyShares: 0.1
	// MinUtilisation is the least use of the contended links, 0..1, that every wave must leave; 0 is no gate.
	MinUtilisation float64 `json:"min_utilisation,omitempty"`
	// MeasureWindow is how long gates measure, in the fabric's own time; default 100 ms.
	MeasureWindow time.Duration `json:"measure_window_ns,omitempty"`
	// CheckLoop says that congestion control is measured under load after the last wave, and a loop that does not act rolls the
	// rollout back. It is set by the service only.
	CheckLoop bool `json:"check_loop,omitempty"`
	// CanaryWaves are the waves in which no device may fail; filled when the rollout starts.
	CanaryWaves []int `json:"canary_waves,omitempty"`
	// Repair says that it repairs devices of the plan in force, which fail each for itself. It is set by the service only.
	Repair bool `json:"repair,omitempty"`
	// Manager says that it repairs the placements of the plan in force and no device. It is set by the service only.
	Manager bool `json:"manager,omitempty"`
	// To says where devices that the plan does not have return to: their baseline, or no congestion control. Empty is an
	// ordinary rollout. It is set by the service only, with a plan that has no device.
	To ReturnTo `json:"to,omitempty"`
	// Release says that the rollout releases the fabric, so that Fairlane manages nothing there afterwards. It is set by the
	// service only.
	Release bool `json:"release,omitempty"`
	// Again says that an earlier release of the fabric did not take everything back; it is set by the service only.
	Again bool `json:"again,omitempty"`
	// Trace is the place in the trace of the request that started the rollout, as span.Carry gives it; filled then.
	Trace string `json:"trace,omitempty"`
}

// ReturnTo is where devices return to.
type ReturnTo string

// Where devices return to.
const (
	ToBaseline ReturnTo = "baseline" // what each held before Fairlane's first write
	ToFactory  ReturnTo = "factory"  // no congestion control
)

// Want returns the settings of a device with baseline b that returns.
func (to ReturnTo) Want(b *Baseline) driver.Settings {
	if to == ToFactory {
		return device.Factory(b.Device, b.Settings)
	}
	return device.Restored(b.Settings)
}

// Add counts n devices in one state.
func (t *Tally) Add(s device.State, touched bool, n int) {
	t.All += n
	if touched && s != device.RolledBack {
		t.Touched += n
	}
	switch s {
	case device.InSync:
		t.InSync += n
	case device.RolledBack:
		t.Failed += n
		t.Returned += n
	case device.Unsupported:
		t.Failed += n
	case device.Failed:
		t.Failed += n
		if touched {
			t.Dirty += n
		}
	default:
		t.Open += n
	}
}
