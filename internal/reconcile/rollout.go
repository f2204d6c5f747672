package reconcile

import (
	"context"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/policy"
)

// Rollout is the work of one Run.
type Rollout struct {
	Plan    string // name of the stored plan, for messages and events
	Targets []Target
	// Placements are brought about and verified before the first device is written; none, or a
	// nil Deps.Placer, skips the stage.
	Placements []policy.Placement
	// PriorPlacements is what a roll-back returns the placements to; nil leaves them, and the
	// result says so.
	PriorPlacements []policy.Placement
	Options         Options
}

// Options bound a rollout. Zero fields take the default named beside them, negative ones are
// refused.
type Options struct {
	Canary   int // devices of each kind written first, alone; default 1
	Wave     int // devices of a wave after that; default 64
	Parallel int // devices written at the same time; default 16
	// FailureBudget is how many devices may fail before everything is rolled back; default 0.
	// A failed canary is always over the budget.
	FailureBudget int
	Attempts      int           // tries of each step on a device; default 4, at most 100
	Backoff       time.Duration // wait after the first failed try, doubled each time; default 100 ms
	MaxBackoff    time.Duration // longest wait; default 5 s
	// Grace is how long the devices in work when the context ends may take to finish and be
	// read back; default 10 s.
	Grace time.Duration
}

// Deps are what a rollout works through.
type Deps struct {
	Driver   driver.Driver
	Recorder Recorder // nil records nothing, which only a test should want
	Placer   Placer   // nil has no placement stage
	Clock    Clock    // nil is SystemClock
	// Gate is asked after every wave whether the fabric is still healthy; an error rolls the
	// rollout back. Nil always agrees.
	Gate func(ctx context.Context, w Wave) error
}

// Wave names a wave to the health gate.
type Wave struct {
	Index   int // from 0
	Total   int
	Canary  bool
	Devices []driver.Device
}

// Placer decides which service level a tenant's traffic uses, for example through the
// partitions file of a subnet manager.
type Placer interface {
	// Place asks for the whole set of placements. It is idempotent.
	Place(ctx context.Context, ps []policy.Placement) error
	// Verify returns an error naming the first placement that is not in force.
	Verify(ctx context.Context, ps []policy.Placement) error
}

// Clock waits. Tests give a virtual one.
type Clock interface {
	// Sleep returns after d, or earlier with the context's error.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the real clock.
type SystemClock struct{}

// Sleep waits for d or the end of ctx.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Recorder persists what a rollout does. A move is recorded before the act it announces and
// after the fact it states: when Record fails no further device is touched and the run ends
// paused. Methods are called from several goroutines, in order for each device.
type Recorder interface {
	Record(ctx context.Context, e Event) error
}

// Event is one step of a rollout. For a device it is a move from one state to the next; for
// the rollout as a whole From and To are empty.
type Event struct {
	Plan    string         `json:"plan"`
	Device  *driver.Device `json:"device,omitempty"`
	From    State          `json:"from,omitempty"`
	To      State          `json:"to,omitempty"`
	Message string         `json:"message"` // for people, in English
	// Before is the state the device had before its first write, on the move that announces it.
	Before *driver.Settings `json:"before,omitempty"`
	// Observed is what was read, on a move that rests on a read.
	Observed    *driver.Settings  `json:"observed,omitempty"`
	Differences []ibcc.Difference `json:"differences,omitempty"` // wanted against observed
	Receipt     *driver.Receipt   `json:"receipt,omitempty"`
	Error       string            `json:"error,omitempty"`
	// Touched says that a write may have reached the device, or will in the act that the move announces.
	Touched bool `json:"touched,omitempty"`
}

// Outcome is how a rollout ended.
type Outcome string

// Outcomes.
const (
	OutcomeDone       Outcome = "done"        // every device was read back as wanted
	OutcomePartial    Outcome = "partial"     // failures within the budget; those devices are as before, or cannot hold settings
	OutcomeRolledBack Outcome = "rolled-back" // every touched device was read back as before
	OutcomeStuck      Outcome = "stuck"       // a device is neither, its result is Dirty; or the placements are unverified
	OutcomePaused     Outcome = "paused"      // the context ended or the recorder failed; resume or undo
	OutcomeRefused    Outcome = "refused"     // bad input; nothing was touched
)

// Result is the truth about a rollout that ended.
type Result struct {
	Outcome   Outcome        `json:"outcome"`
	Reason    string         `json:"reason,omitempty"` // why it is not OutcomeDone, for people
	Err       error          `json:"-"`                // the cause, for errors.Is
	Placement PlacementState `json:"placement"`
	Devices   []DeviceResult `json:"devices"` // sorted by device
}

// PlacementState is what became of the placement stage.
type PlacementState string

// Placement states.
const (
	PlacementNone       PlacementState = "none"       // no such stage
	PlacementVerified   PlacementState = "verified"   // the wanted placements are in force
	PlacementRestored   PlacementState = "restored"   // the prior placements are in force again
	PlacementUnverified PlacementState = "unverified" // asked for, but not seen in force
)

// DeviceResult is the truth about one device.
type DeviceResult struct {
	Device driver.Device `json:"device"`
	State  State         `json:"state"`
	// Touched says that a write may have reached the device in this rollout.
	Touched bool `json:"touched"`
	// Dirty says that a touched device could not be verified, neither as wanted nor as before.
	Dirty bool `json:"dirty"`
	// Before is the state before the first write, nil when it was never read.
	Before      *driver.Settings  `json:"before,omitempty"`
	Differences []ibcc.Difference `json:"differences,omitempty"` // last goal against last read, when they differ
	Error       string            `json:"error,omitempty"`       // why the device failed
	Err         error             `json:"-"`
	Attempts    int               `json:"attempts"` // applies tried, roll-back included
}
