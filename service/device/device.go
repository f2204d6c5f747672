package device

import (
	"context"
	"errors"
	"fmt"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/prereq"
	"fairlane/internal/fieldwise"
	"fairlane/internal/phrase"
	"fairlane/subnet"
)

// differenceError reports a device that does not hold what was written to it: it clips or ignores values, restarted, or
// another program writes to it. There is at least one difference.
type differenceError []fieldwise.Difference

// Error returns the sentence in English.
func (e differenceError) Error() string { return e.Sentence().String() }

// Sentence names the first difference and the number of others.
func (e differenceError) Sentence() phrase.Text {
	first := phrase.Of("device.read-back", "field", e[0].Field, "want", e[0].Want, "got", e[0].Got)
	if n := len(e) - 1; n > 0 {
		return phrase.Of("device.read-back-more", "first", first, "n", n)
	}
	return first
}

// while returns an error of a driver with the step that it ended, whose sentence has the value "reason".
func while(err error, step func(reason phrase.Text) phrase.Text) error {
	return phrase.Because(err, step(driver.Said(err)))
}

func reading(reason phrase.Text) phrase.Text { return phrase.Of("device.reading", "reason", reason) }
func readingBack(reason phrase.Text) phrase.Text {
	return phrase.Of("device.reading-back", "reason", reason)
}
func applying(reason phrase.Text) phrase.Text { return phrase.Of("device.applying", "reason", reason) }

// move records a device's move to a state and then makes it. When the recorder fails, the run halts and the error is
// returned: the announced operation must not happen.
func (r *runner) move(dev *device, to State, e Event) error {
	err := checkMove(dev.State, to)
	if err == nil {
		e.Device, e.From, e.To, e.Touched = dev.Device, dev.State, to, dev.Touched || to == Applying
		if err = r.d.Recorder.Record(r.work, e); err != nil {
			err = fmt.Errorf("record progress: %w", err)
		}
	}
	if err != nil {
		r.halt(err)
		return err
	}
	dev.State = to
	return nil
}

// writeDevice writes the desired settings to one pending device, or records a failure. A touched device that fails is
// returned to its previous settings at once.
func (r *runner) writeDevice(ctx context.Context, dev *device) {
	got, err := r.readPatiently(ctx, dev)
	if err != nil {
		r.unread(ctx, dev, err)
		return
	}
	if dev.Before == nil {
		before := got.Clone()
		dev.Before = &before
	}
	r.meetPrerequisites(dev, got)
	if dev.Want.Equal(got) {
		_ = r.move(dev, InSync, Event{Said: phrase.Of("note.in-sync", "device", dev.Device), Before: dev.Before, Observed: &got})
		return
	}
	if r.drive(ctx, dev, dev.Want, InSync) == nil || dev.State == Unknown || r.haltErr() != nil {
		return
	}
	r.failures.Add(1)
	if dev.Touched {
		r.restore(ctx, dev)
	}
}

// meetPrerequisites adds to a NIC port's target the prerequisites that are wrong and may be set. They are written, read
// back and undone with the plan's own settings.
func (r *runner) meetPrerequisites(dev *device, got driver.Settings) {
	if !r.repair || dev.Want.NIC == nil || dev.Device.Kind != subnet.KindCA {
		return
	}
	set, _ := prereq.Repairs(driver.Examine(r.work, r.d.Driver, dev.Device, got, dev.Needs))
	for _, p := range set {
		if _, has := dev.Want.NIC.Param(p.Name, p.Index); !has {
			dev.Want.NIC.Params = append(dev.Want.NIC.Params, driver.NICParam{Name: p.Name, Index: p.Index, Value: p.Value})
			dev.Want.NIC.Sort()
			dev.more = true
		}
	}
}

// extended returns the target of a device that meetPrerequisites extended; nil otherwise.
func (d *device) extended() *driver.Settings {
	if !d.more {
		return nil
	}
	want := d.Want.Clone()
	return &want
}

// unread ends the work on a device that could not be read before this worker's first write.
func (r *runner) unread(ctx context.Context, dev *device, err error) {
	if ctx.Err() != nil {
		return // still pending: nothing else happened to it
	}
	r.failures.Add(1)
	to := Failed
	if errors.Is(err, driver.ErrUnsupported) && !dev.Touched { // otherwise an earlier worker wrote it
		to = Unsupported
	}
	_ = r.move(dev, to, Event{Said: phrase.Of("note.unread", "device", dev.Device), Error: driver.Said(err)})
}

// readPatiently reads the device, with retries while it is unreachable, busy or changing.
func (r *runner) readPatiently(ctx context.Context, dev *device) (driver.Settings, error) {
	var err error
	for i := range r.o.Attempts {
		if i > 0 && r.d.Clock.Sleep(ctx, r.o.Pause(i)) != nil {
			break
		}
		var got driver.Settings
		if got, err = r.d.Driver.Read(r.work, dev.Device); err == nil {
			return got, nil
		}
		if !retryable(err) {
			break
		}
	}
	return driver.Settings{}, while(err, reading)
}

// retryable reports whether a retry may succeed.
func retryable(err error) bool {
	return errors.Is(err, driver.ErrUnreachable) || errors.Is(err, driver.ErrBusy) || errors.Is(err, driver.ErrConflict)
}

// restore returns one touched device to its settings before the rollout and verifies that. A device that cannot be
// returned stays Failed; one without recorded previous settings was never written.
func (r *runner) restore(ctx context.Context, dev *device) {
	if dev.Before != nil {
		_ = r.drive(ctx, dev, *dev.Before, RolledBack) // its moves record the result
	}
}

// drive applies goal and reads it back until the two agree, then moves the device to done. Otherwise it leaves the device
// Failed or Unsupported and returns the reason; when the run pauses half-way, it leaves it Unknown.
func (r *runner) drive(ctx context.Context, dev *device, goal driver.Settings, done State) error {
	var why error
	for i := range r.o.Attempts {
		if i > 0 && r.d.Clock.Sleep(ctx, r.o.Pause(i)) != nil {
			return r.lose(dev, why)
		}
		again, err := r.applyOnce(dev, goal, done)
		if err == nil {
			return nil
		}
		if dev.State == Unknown || r.haltErr() != nil {
			return err
		}
		why = err
		if !again {
			break
		}
	}
	if dev.State == Unsupported {
		return why
	}
	if err := r.move(dev, Failed, Event{Said: phrase.Of("note.failed", "device", dev.Device), Error: driver.Said(why)}); err != nil {
		return err
	}
	return why
}

// applyOnce returns one apply and one read-back. again says that a retry may succeed.
func (r *runner) applyOnce(dev *device, goal driver.Settings, done State) (again bool, err error) {
	said := phrase.Of("note.writing", "device", dev.Device)
	if done == RolledBack {
		said = phrase.Of("note.returning", "device", dev.Device)
	}
	if err := r.move(dev, Applying, Event{Said: said, Before: dev.Before, Want: dev.extended()}); err != nil {
		return false, err
	}
	receipt, applyErr := r.d.Driver.Apply(r.work, dev.Device, goal)
	dev.Touched = dev.Touched || mayHaveWritten(receipt, applyErr)
	if applyErr != nil && !retryable(applyErr) {
		return false, r.refused(dev, receipt, while(applyErr, applying))
	}
	e := Event{Said: phrase.Of("note.reading-back", "device", dev.Device), Receipt: &receipt}
	if applyErr != nil {
		applyErr = while(applyErr, applying)
		e.Error = driver.Said(applyErr)
	}
	if err := r.move(dev, Verifying, e); err != nil {
		return false, err
	}
	got, readErr := r.d.Driver.Read(r.work, dev.Device)
	if readErr != nil {
		err := errors.Join(applyErr, while(readErr, readingBack))
		if r.work.Err() != nil {
			return false, r.lose(dev, err)
		}
		return retryable(readErr), err
	}
	if ds := goal.Diff(got); len(ds) > 0 {
		return true, errors.Join(applyErr, differenceError(ds))
	}
	return false, r.move(dev, done, Event{Said: phrase.Of("note.verified", "device", dev.Device), Observed: &got})
}

// refused ends an apply with an error that no retry can fix.
func (r *runner) refused(dev *device, receipt driver.Receipt, why error) error {
	switch {
	case r.work.Err() != nil:
		return r.lose(dev, why)
	case errors.Is(why, driver.ErrUnsupported) && !dev.Touched:
		if err := r.move(dev, Unsupported, Event{Said: phrase.Of("note.unsupported", "device", dev.Device), Receipt: &receipt, Error: driver.Said(why)}); err != nil {
			return err
		}
	}
	return why
}

// lose gives up all claims about a device because the run pauses.
func (r *runner) lose(dev *device, why error) error {
	if dev.State != Unknown {
		dev.Touched = true // a write may have been sent: any later worker has to read the device, also in an undo
		_ = r.move(dev, Unknown, Event{Said: phrase.Of("note.paused", "device", dev.Device), Error: driver.Said(why)})
		dev.State = Unknown
	}
	return errors.Join(why, context.Canceled)
}

// mayHaveWritten reports whether an apply may have changed the device. It has not when no write was needed, or when the
// error says that nothing was sent.
func mayHaveWritten(receipt driver.Receipt, err error) bool {
	for _, f := range receipt.Fields {
		if f.Outcome != driver.OutcomeUnchanged && f.Outcome != driver.OutcomeSkipped {
			return true
		}
	}
	return err != nil && !errors.Is(err, driver.ErrUnsent)
}
