package device

import (
	"context"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/policy"
)

// Deps are the dependencies of Work. Driver and Recorder are required.
type Deps struct {
	Driver   driver.Driver
	Recorder Recorder
	Clock    Clock // nil is SystemClock
}

// Placer moves tenants' traffic to service levels, for example through the partitions file of a subnet manager.
type Placer interface {
	// Check returns an error when Place could not apply the placements of a plan with the same arguments. It changes
	// nothing.
	Check(ctx context.Context, p, before *policy.Plan) error
	// Place applies the placements of a plan. It is idempotent. before is the plan whose placements are in force until
	// then, nil when unknown. Entries that only before needs stay where possible, for traffic that still moves, unless
	// clear is set.
	Place(ctx context.Context, p, before *policy.Plan, clear bool) error
	// Verify returns an error naming the first placement that is not in force.
	Verify(ctx context.Context, p *policy.Plan) error
}

// Clock waits. Tests use a virtual one.
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

// Recorder stores the moves of devices. A move is recorded before the operation that it announces and after the fact that
// it states: when Record fails, no further device is touched. Methods are called from several goroutines, in order for
// each device.
type Recorder interface {
	Record(ctx context.Context, e Event) error
}

// Event is a device's move from one state to the next.
type Event struct {
	Device driver.Device
	From   State
	To     State
	Said   phrase.Text
	// Before holds the device's settings before its first write, on the move that announces it.
	Before   *driver.Settings
	Observed *driver.Settings // what was read, on a move based on a read
	Want     *driver.Settings // its target, where it contains more than the plan; else nil
	Receipt  *driver.Receipt
	Error    phrase.Text // why it failed, or nothing
	// Touched says that a write may have reached the device, or may in the operation that the move announces.
	Touched bool
}

// Broken returns a driver that fails with err for every device: the driver of a fabric that could not be opened.
func Broken(err error) driver.Driver { return broken{err} }

type broken struct{ err error }

var _ driver.Driver = (*broken)(nil)

func (b broken) Capabilities(context.Context, driver.Device) (driver.Capabilities, error) {
	return driver.Capabilities{}, b.err
}

func (b broken) Read(context.Context, driver.Device) (driver.Settings, error) {
	return driver.Settings{}, b.err
}

func (b broken) Apply(context.Context, driver.Device, driver.Settings) (driver.Receipt, error) {
	return driver.Receipt{}, b.err
}
