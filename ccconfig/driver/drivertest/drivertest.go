// Package drivertest is the conformance suite for drivers, and an in-memory driver for tests of packages that use drivers.
//
// A driver's test builds a Harness (the driver, some devices, and functions that make those devices misbehave) and calls Run.
// The suite checks that the driver reports the true state and completes its work under all faults of the devices.
package drivertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
)

// Harness is a driver under test with its devices.
type Harness struct {
	Driver driver.Driver
	// Devices are the devices to test, at least one, in their default state.
	Devices []driver.Device
	Faults  Faults
	// Atomic means that one Apply is one write, so that its fields succeed or fail together, and that the devices may detect
	// themselves that they do not store a received value.
	Atomic bool
	// Parts means that one Apply is one write to each part of the device, such as its ASICs: the fields of a part succeed or fail together.
	Parts bool
	// Samples replaces the function Samples, for devices that do not support all of it.
	Samples func(d driver.Device, c driver.Capabilities) []driver.Settings
}

// Faults makes devices misbehave, and reads their true state without the driver. All counts are of requests to that device.
type Faults interface {
	// TrueState returns the true state of the device.
	TrueState(d driver.Device) driver.Settings
	// Put changes the state of the device to s, as a second manager would.
	Put(d driver.Device, s driver.Settings)
	// Reboot returns the device to its defaults.
	Reboot(d driver.Device)
	// Writes returns the number of writes sent to the device, including lost ones.
	Writes(d driver.Device) int
	// LoseRequests loses n requests of any kind, from the first one after the given number of writes; a negative n
	// loses all until Heal. Reads before the first loss pass.
	LoseRequests(d driver.Device, after, n int)
	// LoseReply passes the given number of writes. The following write is executed, but its reply is lost, and so are
	// the replies to its repetitions until Heal.
	LoseReply(d driver.Device, after int)
	// Partial makes the device execute only a part of the next write with changes, and acknowledge it.
	Partial(d driver.Device)
	// Clamp makes the device silently store a different value for at least one field of every sample, until Heal.
	Clamp(d driver.Device)
	// Busy makes the device answer "busy" to the next n requests.
	Busy(d driver.Device, n int)
	// Disable makes the device answer like a device without congestion control, until Heal.
	Disable(d driver.Device)
	// Heal removes all faults of the device. Its state stays.
	Heal(d driver.Device)
}

// Run runs every check of the suite, each on a fresh harness for every device.
func Run(t *testing.T, newHarness func(t testing.TB) Harness) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := len(newHarness(t).Devices)
			if n == 0 {
				t.Fatal("harness without devices")
			}
			for i := range n {
				h := newHarness(t)
				if err := c.run(t.Context(), h, h.Devices[i]); err != nil {
					t.Errorf("%s: %v", h.Devices[i], err)
				}
			}
		})
	}
}

// check tests one property of a driver. It returns an error if the driver violates it.
type check struct {
	name string
	run  func(ctx context.Context, h Harness, d driver.Device) error
}

func checks() []check {
	return []check{
		{"capabilities list the supported settings", checkCapabilities},
		{"reading returns the defaults", checkDefaults},
		{"what was applied is read back", checkApplyRead},
		{"applying twice sends nothing", checkIdempotent},
		{"any state follows any other", checkTransitions},
		{"an interruption at each write is finished by applying again", checkInterruption},
		{"a lost reply is neither success nor loss", checkLostReply},
		{"one lost request of any kind is an error or overcome", checkOneLost},
		{"a reboot is reported and repaired", checkReboot},
		{"a partial write is reported and repaired", checkPartial},
		{"a silent clamp is reported", checkClamp},
		{"a second writer is reported and overruled", checkSecondWriter},
		{"values out of range are refused before anything is sent", checkOutOfRange},
		{"settings beyond the device are refused before anything is sent", checkBeyond},
		{"devices that cannot be addressed are refused", checkBadDevice},
		{"a silent device is unreachable", checkUnreachable},
		{"a busy device is busy", checkBusy},
		{"a device without congestion control is unsupported", checkUnsupported},
		{"a cancelled context sends nothing", checkCancelled},
		{"devices are independent", checkParallel},
	}
}

// wantKind returns an error unless err is of the kind.
func wantKind(what string, err, kind error) error {
	if !errors.Is(err, kind) {
		return fmt.Errorf("%s: got error %s, want kind %q", what, fmt.Sprint(err), kind.Error())
	}
	return nil
}

// checkState returns an error unless the device's true state is want.
func checkState(h Harness, d driver.Device, want driver.Settings) error {
	if ds := want.Diff(h.Faults.TrueState(d)); len(ds) > 0 {
		return fmt.Errorf("the device does not hold what was applied: %d differences, first %s", len(ds), ds[0])
	}
	return nil
}

// checkRead returns an error unless Read returns exactly the device's true state.
func checkRead(ctx context.Context, h Harness, d driver.Device) error {
	got, err := h.Driver.Read(ctx, d)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if ds := h.Faults.TrueState(d).Diff(got); len(ds) > 0 {
		return fmt.Errorf("read differs from what the device holds: %d differences, first %s", len(ds), ds[0])
	}
	return nil
}

// apply applies want without faults, and checks the result by the driver and by the true state.
func apply(ctx context.Context, h Harness, d driver.Device, want driver.Settings) (driver.Receipt, error) {
	r, err := h.Driver.Apply(ctx, d, want)
	if err != nil {
		return r, fmt.Errorf("apply: %w", err)
	}
	for _, f := range r.Fields {
		if f.Outcome != driver.OutcomeAcknowledged && f.Outcome != driver.OutcomeUnchanged {
			return r, fmt.Errorf("apply succeeded with field %s %s", f.Field, f.Outcome)
		}
	}
	if err := checkState(h, d, want); err != nil {
		return r, err
	}
	return r, checkRead(ctx, h, d)
}

// worded reports a field of a receipt whose detail and sentence differ.
func worded(r driver.Receipt) error {
	for _, f := range r.Fields {
		said := ""
		if f.Said != nil {
			said = f.Said.String()
		}
		if said != strings.ReplaceAll(f.Detail, "\n", "; ") {
			return fmt.Errorf("receipt of %s: detail %q, sentence %q", f.Field, f.Detail, said)
		}
	}
	return nil
}

// count returns the number of fields of a receipt with an outcome.
func count(r driver.Receipt, o driver.Outcome) int {
	n := 0
	for _, f := range r.Fields {
		if f.Outcome == o {
			n++
		}
	}
	return n
}
