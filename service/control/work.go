package control

import (
	"context"
	"fmt"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// Phase is the current phase of a running rollout.
type Phase string

// Phases; service/rollout defines the transitions between them.
const (
	PhasePlacing    Phase = "placing"    // moving tenants' traffic to its service levels
	PhasePushing    Phase = "pushing"    // writing devices, wave by wave
	PhaseConfirming Phase = "confirming" // every device is written; waiting for the confirmation
	PhaseUndoing    Phase = "undoing"    // restoring the previous state of devices, wave by wave
	PhaseUnplacing  Phase = "unplacing"  // moving traffic back to its former service levels
	PhaseEnded      Phase = "ended"
)

// RolloutRequest is the latest operator request to a running rollout.
type RolloutRequest string

// Operator requests.
const (
	RequestRun    RolloutRequest = "run"
	RequestPause  RolloutRequest = "pause"  // stop at the next safe point and wait
	RequestCancel RolloutRequest = "cancel" // stop at the next safe point and leave the devices as they are
	RequestUndo   RolloutRequest = "undo"   // restore the previous state everywhere
)

// Placed is the result of the placement stage.
type Placed string

// Placement states.
const (
	PlacedNone       Placed = "none"       // no such stage, or not started
	PlacedUnverified Placed = "unverified" // requested, but not verified to be in force
	PlacedVerified   Placed = "verified"   // the plan's placements are in force
	PlacedRestored   Placed = "restored"   // the prior placements are in force again
)

// ShardState is the state of a shard.
type ShardState string

// Shard states.
const (
	ShardReady   ShardState = "ready"   // no job was queued for it
	ShardQueued  ShardState = "queued"  // a job waits for a worker
	ShardWorking ShardState = "working" // its owner works it
	ShardDone    ShardState = "done"    // all its devices are settled, or the rollout is being abandoned
)

// ShardKey identifies a shard.
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

// Shard is a group of devices that one worker writes together.
type Shard struct {
	Key   ShardKey
	State ShardState
	Epoch int64  // grows with every new request: a worker with a lower epoch is rejected
	Beat  int64  // grows with every heartbeat of the worker
	Owner string // the manager that works it
}

// Tally counts a rollout's devices by the states that decide its end.
type Tally struct {
	All      int
	InSync   int // verified by a read
	Open     int // not settled
	Failed   int // failed, unsupported, or returned to their previous state
	Returned int // of Failed: verified to hold their previous state
	Touched  int // a write may have reached them, and no read found their previous state since
	Dirty    int // of Touched: settled neither in the desired nor in the previous state
}

// WorkRepo is the storage of the rollout workers. Lock methods hold the row until the transaction ends; lock a rollout
// before its shards.
type WorkRepo interface {
	// AddRolloutWork adds the devices of a new rollout, pending, with the shards they are in.
	AddRolloutWork(ctx context.Context, rollout int64, devices []RolloutDevice) error
	// RolloutFabric returns the name of the fabric that a rollout is on, or *NotFoundError.
	RolloutFabric(ctx context.Context, id int64) (string, error)
	// LockRollout reads a rollout, without devices, and holds it.
	LockRollout(ctx context.Context, id int64) (Rollout, error)
	// SaveRollout writes what a running rollout's steps change, when the stored revision is still ro.Revision, and
	// returns it with the next revision; else *ConflictError "fenced". It does not write operator requests.
	SaveRollout(ctx context.Context, ro Rollout) (Rollout, error)
	// SetRolloutRequest stores an operator's request to a running rollout, and whether it is confirmed, without a new revision.
	SetRolloutRequest(ctx context.Context, id int64, request RolloutRequest, actor string, confirmed bool, at time.Time) error
	// RolloutRequest reads the latest operator request, without holding the row.
	RolloutRequest(ctx context.Context, id int64) (RolloutRequest, error)
	// LockShard reads a shard and holds it.
	LockShard(ctx context.Context, k ShardKey) (Shard, error)
	// PutShard adds or replaces a shard.
	PutShard(ctx context.Context, s Shard) error
	// Shards lists the shards of a rollout in order.
	Shards(ctx context.Context, rollout int64) ([]Shard, error)
	// ShardDevices lists the devices of a shard by device, without desired settings, observed settings and receipts.
	ShardDevices(ctx context.Context, rollout int64, wave, shard int) ([]RolloutDevice, error)
	// DevicesOf lists the given devices that are in a rollout, in any order, with their state only: without settings and
	// receipts.
	DevicesOf(ctx context.Context, rollout int64, ids []ident.PortID) ([]RolloutDevice, error)
	// PutRolloutDevices updates the rows of devices, as PutRolloutDevice does, in few statements.
	PutRolloutDevices(ctx context.Context, rollout int64, ds []RolloutDevice) error
	// FailedDevices counts the devices of a rollout that count against its failure budget.
	FailedDevices(ctx context.Context, rollout int64) (int, error)
	// TallyRollout counts a rollout's devices in one wave; a negative wave means all.
	TallyRollout(ctx context.Context, rollout int64, wave int) (Tally, error)
	// TouchedWaves lists, in ascending order, the waves with touched devices, and the number of shards of each.
	TouchedWaves(ctx context.Context, rollout int64) ([]WaveShards, error)
	// FaultyDevices lists devices of a rollout that have an error, by device, at most limit.
	FaultyDevices(ctx context.Context, rollout int64, limit int) ([]RolloutDevice, error)
	// DirtyDevices lists the devices of a fabric whose latest finished rollout left them in neither the desired nor the
	// previous state, each with the state before it was first touched.
	DirtyDevices(ctx context.Context, fabric string) ([]RolloutDevice, error)
	// PlacedPlan names the plan whose placements are in force. It is the plan of the fabric's latest rollout with a
	// placement stage that succeeded, in whole or in part, or that ended otherwise with its placements verified. It is
	// empty when there is none.
	PlacedPlan(ctx context.Context, fabric string) (string, error)
	// AddEvents adds events in order.
	AddEvents(ctx context.Context, es []Event) error
}

// WaveShards is a wave and its number of shards.
type WaveShards struct{ Wave, Shards int }

// RolloutOptions bound a rollout. Zero fields take the default in their comment.
type RolloutOptions struct {
	Canary        int    `json:"canary,omitempty"`         // devices of each kind written first, alone; default 1
	Wave          int    `json:"wave,omitempty"`           // maximum number of devices in a wave; default 1024
	Domain        string `json:"domain,omitempty"`         // what a wave consists of: "leaf" (default), "pod" or "none"
	Shard         int    `json:"shard,omitempty"`          // maximum number of devices that one worker writes together; default 128
	Parallel      int    `json:"parallel,omitempty"`       // devices of a shard that are written concurrently; default 128
	FailureBudget int    `json:"failure_budget,omitempty"` // devices that may fail before everything is undone; default 0
	Attempts      int    `json:"attempts,omitempty"`       // tries of each step on a device; default 4, at most 100
	// ConfirmWindow is how long the finished rollout waits for a confirmation; without one everything is undone. 0 needs
	// no confirmation.
	ConfirmWindow time.Duration `json:"confirm_window_ns,omitempty"`
	// VerifyShares accepts measured shares within MaxShareError, at the end of the window, as confirmation.
	VerifyShares  bool    `json:"verify_shares,omitempty"`
	MaxShareError float64 `json:"max_share_error,omitempty"` // health gate at the end; 0 is none, unless VerifyShares: 0.1
	// MinUtilisation is the smallest utilisation of the contended links, 0..1, that passes the gate after each wave; 0 is
	// no gate.
	MinUtilisation float64 `json:"min_utilisation,omitempty"`
	// MeasureWindow is how long gates measure, in the fabric's own time; default 100 ms.
	MeasureWindow time.Duration `json:"measure_window_ns,omitempty"`
	// CheckLoop says that congestion control is measured under load after the last wave; the rollout is rolled back when
	// the loop does not act. Only the service sets it.
	CheckLoop bool `json:"check_loop,omitempty"`
	// CanaryWaves are the waves in which no device may fail; set when the rollout starts.
	CanaryWaves []int `json:"canary_waves,omitempty"`
	// Repair marks a repair of devices of the plan in force, where each device fails on its own. Only the service sets
	// it.
	Repair bool `json:"repair,omitempty"`
	// Manager marks a repair of the placements of the plan in force, without devices. Only the service sets it.
	Manager bool `json:"manager,omitempty"`
	// To says where devices outside of the plan return to: their baseline, or no congestion control. Empty is an ordinary
	// rollout. Only the service sets it, with a plan without devices.
	To ReturnTo `json:"to,omitempty"`
	// Release marks the release of the fabric, after which Fairlane manages nothing on it. Only the service sets it.
	Release bool `json:"release,omitempty"`
	// Again says that an earlier release of the fabric did not restore everything. Only the service sets it.
	Again bool `json:"again,omitempty"`
	// Trace is the trace context of the request that started the rollout, as span.Carry returns it; set at the start.
	Trace string `json:"trace,omitempty"`
}

// ReturnTo is a state that devices return to.
type ReturnTo string

// States that devices return to.
const (
	ToBaseline ReturnTo = "baseline" // the settings of each device before Fairlane's first write
	ToFactory  ReturnTo = "factory"  // no congestion control
)

// Want returns the desired settings of a device with baseline b that returns.
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
