package rollout_test

import (
	"context"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/service/control"
	"fairlane/subnet/ident"
)

// box is a simulated device.
type box struct {
	id        ident.PortID
	first     driver.Settings // before any rollout
	before    driver.Settings
	want      driver.Settings
	holds     driver.Settings
	lastWrite *driver.Settings // settings of the last write
	clamps    bool             // never accepts the desired settings
	// reread is the manager's task that read it last, and whether the device was then in the desired or the previous
	// state.
	reader           *task
	asWant, asBefore bool
	rebooted         bool // after it was last read
}

// flight bounds the latency of a request. Packets of one sender to one device do not overtake each other; those of two
// senders may. A request that a worker sent at its end must arrive before another worker takes over; that is why others
// wait for the lease and a quarter of it.
const flight = lease / 4

// stray is a write in flight whose sender no longer waits for it: the sender was killed, gave up, or sent it twice and
// has the answer to the other one.
type stray struct {
	at time.Time
	m  *manager
	b  *box
	to driver.Settings
}

// deliver delivers the selected strays in the order in which they were sent.
func (w *world) deliver(due func(stray) bool) {
	w.strays = slices.DeleteFunc(w.strays, func(s stray) bool {
		if !due(s) {
			return false
		}
		w.count("writes that nobody waits for")
		if !s.b.holds.Equal(s.to) {
			w.count("of them, changes")
			s.b.holds, s.b.reader = s.to.Clone(), nil
		}
		return true
	})
}

// kill ends a manager. Requests that it sent last still reach their devices.
func (w *world) kill(m *manager) {
	m.alive = false
	m.cancel()
	w.count("killed managers")
	for _, t := range w.tasks {
		if t.m == m && t.wire != nil && t.wire.at.After(w.now) {
			w.strays = append(w.strays, *t.wire)
		}
	}
}

// boxes is the driver of the devices.
type boxes opener

// Capabilities implements driver.Driver.
func (boxes) Capabilities(context.Context, driver.Device) (driver.Capabilities, error) {
	return driver.Capabilities{}, driver.ErrUnsupported
}

// send yields to the schedule and reports whether a request arrives; to is the written value, nil for a read. A request
// whose sender is dead or gave up may arrive later.
func (d boxes) send(ctx context.Context, b *box, to *driver.Settings) error {
	t := taskOf(ctx)
	if d.w.lag != nil {
		t.wake = d.w.now.Add(d.w.lag())
	} else if d.w.chance(d.w.o.slow) {
		t.wake = d.w.now.Add(time.Duration(d.w.rng.IntN(12000)) * time.Millisecond)
	}
	if to != nil {
		t.wire = &stray{at: d.w.now.Add(time.Duration(d.w.rng.Int64N(int64(flight)))), m: d.m, b: b, to: *to}
	}
	err := d.w.yield(t, d.m)
	wire := t.wire
	t.wire = nil
	if err != nil {
		return err
	}
	if until, ok := ctx.Value(deadlineKey{}).(time.Time); ok && !d.w.now.Before(until) {
		if wire != nil && wire.at.After(d.w.now) {
			d.w.strays = append(d.w.strays, *wire)
		}
		return context.DeadlineExceeded
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.catchUp(b)
	if d.w.chance(d.w.o.loseRequest) {
		return driver.ErrUnreachable
	}
	return nil
}

// catchUp delivers what the manager sent to the device before: nothing overtakes it, and a sender waits for an answer
// longer than a request takes.
func (d boxes) catchUp(b *box) {
	d.w.deliver(func(s stray) bool { return s.m == d.m && s.b == b })
}

// Read implements driver.Driver.
func (d boxes) Read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	b := d.w.devices[dev.ID]
	if err := d.send(ctx, b, nil); err != nil {
		return driver.Settings{}, err
	}
	d.alone(ctx, dev)
	b.reader, b.asWant, b.asBefore, b.rebooted = taskOf(ctx), b.holds.Equal(b.want), b.holds.Equal(b.before), false
	got := b.holds.Clone()
	if d.w.credulous && b.lastWrite != nil {
		got = b.lastWrite.Clone()
	}
	if err := d.w.yield(taskOf(ctx), d.m); err != nil {
		return driver.Settings{}, err
	}
	if d.w.chance(d.w.o.loseReply) {
		return driver.Settings{}, driver.ErrUnreachable
	}
	return got, nil
}

// Apply writes in two steps: between them the device holds a mixture.
func (d boxes) Apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	b := d.w.devices[dev.ID]
	if b.clamps && want.Equal(b.want) {
		want = halfway(b.before, want)
	}
	b.lastWrite = &want
	half := halfway(b.holds, want)
	for i, to := range []driver.Settings{half, want} {
		if err := d.send(ctx, b, &to); err != nil {
			if i > 0 {
				d.w.count("partial applies")
			}
			return driver.Receipt{}, err
		}
		d.alone(ctx, dev)
		b.holds, b.reader = to.Clone(), nil // a read before the write proves nothing
		if d.w.chance(d.w.o.double) {
			d.w.strays = append(d.w.strays, stray{at: d.w.now.Add(time.Duration(d.w.rng.Int64N(int64(flight)))), m: d.m, b: b, to: to})
		}
		if d.w.chance(d.w.o.partial) {
			d.w.count("partial applies")
			d.catchUp(b)
			return driver.Receipt{}, driver.ErrUnreachable
		}
	}
	if err := d.w.yield(taskOf(ctx), d.m); err != nil {
		return driver.Receipt{}, err // killed between the write and the answer
	}
	if d.w.chance(d.w.o.loseReply) {
		d.catchUp(b)
		return driver.Receipt{}, driver.ErrUnreachable
	}
	return driver.Receipt{Fields: []driver.FieldReceipt{{Field: "all", Outcome: driver.OutcomeAcknowledged}}}, nil
}

// halfway returns a mixture of two settings.
func halfway(a, b driver.Settings) driver.Settings {
	m := a.Clone()
	if m.CA != nil {
		m.CA.SLs[0], m.CA.SLs[1].Timer = b.CA.SLs[0], 4242
	}
	if m.Switch != nil {
		m.Switch.Defaults = b.Switch.Defaults
		m.Switch.Defaults.MarkingRate += 7
	}
	return m
}

// alone checks that no fenced-off worker acts on a device.
func (d boxes) alone(ctx context.Context, dev driver.Device) {
	mine := taskOf(ctx).shard
	if s := d.w.db.shards[mine.Key]; s.Epoch != mine.Epoch || s.Owner != d.m.name || s.State != control.ShardWorking {
		d.w.fault("%s is acted on by %s under epoch %d, but the shard is at epoch %d of %q", dev, d.m.name, mine.Epoch, s.Epoch, s.Owner)
	}
}
