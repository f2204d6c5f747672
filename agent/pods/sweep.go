package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"fairlane/agent/pods/podsock"
)

// sweepTimeout bounds the work on one record in a sweep: a device that hangs must not hide the others.
const sweepTimeout = 10 * time.Second

// Run sweeps at once, at intervals, and when bindings or the devices on a port change, until the context ends.
func (t *Table) Run(ctx context.Context, every time.Duration) {
	var changed <-chan struct{}
	if n, ok := t.o.Bindings.(Notifier); ok {
		changed = n.Changed()
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		t.Sweep(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-changed:
		case <-t.kick:
		}
	}
}

// Sweep reads the inventory, executes the requests in the spool, and compares every record with its class, its network
// namespace and its device:
//
//   - a class that changed, or could not be applied before, is applied;
//   - a device that has its values from before the class again was reset, and gets its class again;
//   - a device with other values has drifted: this is reported, and nothing is written;
//   - a record whose network namespace is gone for longer than the grace time is released.
func (t *Table) Sweep(ctx context.Context) {
	n, err := t.o.Devices.Refresh(ctx)
	t.mu.Lock()
	t.problem = ""
	if err != nil {
		t.problem = err.Error()
	} else {
		t.devices, t.loaded = n, true
	}
	t.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		t.o.Log.Warn("inventory of devices not read", "error", err.Error())
	}
	t.unspool(ctx)
	for _, e := range t.all() {
		if ctx.Err() != nil {
			return
		}
		t.sweepOne(ctx, e.Key)
	}
}

// sweepOne compares one record.
func (t *Table) sweepOne(ctx context.Context, k podsock.Key) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	e, unlock, err := t.lockEntry(ctx, k, "")
	if err != nil {
		return // in use: the next sweep reads it
	}
	defer unlock()
	switch {
	case e == nil:
	case e.Releasing, e.Applying && !e.Established:
		// Its ADD was never answered: the pod did not start with this device.
		_ = t.release(ctx, e) // logged, and kept for the next sweep
	case e.Source == podsock.SourceCNI && t.ended(e):
		t.sweepEnded(ctx, e)
	default:
		t.sweepLive(ctx, e)
	}
}

// sweepEnded releases a record whose network namespace is gone, after the grace time.
func (t *Table) sweepEnded(ctx context.Context, e *entry) {
	now := t.o.Now()
	if e.gone.IsZero() {
		next := *e
		next.gone = now
		t.put(&next)
		return
	}
	if now.Sub(e.gone) >= t.o.Grace {
		_ = t.release(ctx, e) // logged, and kept for the next sweep
	}
}

// sweepLive brings the class of a running pod up to date and reads its device.
func (t *Table) sweepLive(ctx context.Context, e *entry) {
	d, err := t.decide(&e.Attachment)
	settled := err == nil && d.unsettled == ""
	if settled && (e.Pending || e.Applying || !t.agrees(e, d)) {
		t.reapply(ctx, e, d, "class changed")
		return
	}
	if (e.Applied == podsock.Settings{}) {
		return
	}
	before := e
	e = t.observe(ctx, e)
	if e.Drift && reset(&e.Record) {
		t.reapply(ctx, e, decision{binding: e.class(), bound: true}, "device was reset")
		return
	}
	if e.Drift && !before.Drift {
		t.o.Log.Warn("device of a pod has drifted", attributes(e)...)
	}
}

// reset reports whether every value of a device is the applied one, or that from before the class. A rate of 0 is that of a
// driver that was loaded again.
func reset(r *podsock.Record) bool {
	none := new(uint32(0))
	rate := func(now, applied, before *uint32) bool { return either(now, applied, before) || same(now, none) }
	return rate(r.ReadBack.MaxMbps, r.Applied.MaxMbps, r.Before.MaxMbps) && rate(r.ReadBack.ShareMbps, r.Applied.ShareMbps, r.Before.ShareMbps) &&
		either(r.ReadBack.TOS, r.Applied.TOS, r.Before.TOS)
}

// either reports whether a value is the applied one, or that from before the class; a setting that was not applied does not matter.
func either[T comparable](now, applied, before *T) bool {
	return applied == nil || same(now, applied) || same(now, before)
}

// class returns the binding that a record holds.
func (e *entry) class() Binding {
	return Binding{Name: e.Binding, Tenant: e.Tenant, Class: e.Class, Levers: e.Levers, Weights: map[string]float64{e.Class: e.Weight}}
}

// reapply applies a class to the device of a running pod. After a failure the record is pending.
func (t *Table) reapply(ctx context.Context, e *entry, d decision, why string) {
	next, err := t.apply(ctx, e, d, e.Found)
	if err != nil {
		next.Pending, next.Reason = true, err.Error()
	}
	next.Applying = false
	if saveErr := t.save(next); saveErr != nil {
		t.o.Log.Error("record of a pod not saved", append(attributes(next), "error", saveErr.Error())...)
		return
	}
	if err == nil {
		t.o.Log.Info("class of a pod applied", append(attributes(next), "why", why)...)
	} else if e.Reason != next.Reason {
		t.o.Log.Warn("class of a pod not applied; the agent tries again", append(attributes(next), "error", err.Error())...)
	}
}

// observe reads the device of an entry and returns the entry with the result. The caller holds the locks.
func (t *Table) observe(ctx context.Context, e *entry) *entry {
	if (e.Applied == podsock.Settings{}) {
		return e
	}
	next := *e
	now, err := t.o.Devices.Read(ctx, e.Found)
	next.Checked, next.unreadable, next.Drift = t.o.Now(), err != nil, false
	switch {
	case err != nil:
		next.ReadBack = podsock.Settings{}
		next.Reason = fmt.Sprintf("device %s cannot be read: %v", e.Device, err)
	default:
		next.ReadBack = only(now, e.Applied)
		next.Drift = !holds(e.Applied, now)
		if next.Drift {
			next.Reason = fmt.Sprintf("device %s: found %s, want %s as applied", e.Device, show(next.ReadBack), show(e.Applied))
		} else if !next.Pending {
			next.Reason = ""
		}
	}
	t.put(&next)
	return &next
}

// show formats settings for messages.
func show(s podsock.Settings) string {
	var out []string
	if s.MaxMbps != nil {
		out = append(out, fmt.Sprint("max_mbps ", *s.MaxMbps))
	}
	if s.ShareMbps != nil {
		out = append(out, fmt.Sprint("share_mbps ", *s.ShareMbps))
	}
	if s.TOS != nil {
		out = append(out, fmt.Sprint("tos ", *s.TOS))
	}
	return cmp.Or(strings.Join(out, ", "), "no values")
}

// unspool executes the requests that were kept while no agent ran. One that is older than the record of its attachment was
// overtaken by a later ADD.
func (t *Table) unspool(ctx context.Context) {
	found, damaged, err := podsock.ReadSpool(t.spool)
	for _, err := range append(slices.Clip(damaged), err) {
		if err != nil {
			t.o.Log.Error("spool of kept requests", "error", err.Error())
		}
	}
	for _, s := range found {
		if ctx.Err() != nil {
			return
		}
		if err := t.execute(ctx, &s); err != nil {
			t.o.Log.Warn("kept request not executed; the agent tries again", "attachment", s.Key().String(), "error", err.Error())
			continue
		}
		if err := s.Remove(); err != nil {
			t.o.Log.Error("spool of kept requests", "error", err.Error())
		}
	}
}

// execute executes a kept request.
func (t *Table) execute(ctx context.Context, s *podsock.Spooled) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	if e := t.get(s.Key()); e != nil && e.Added.After(s.At) {
		return nil
	}
	if s.Release != nil {
		return t.Delete(ctx, *s.Release)
	}
	if _, err := t.o.Namespaces.Identify(s.Attach.NetNS); errors.Is(err, fs.ErrNotExist) {
		t.o.Log.Info("kept request dropped: its pod has ended", "attachment", s.Key().String())
		return nil
	}
	_, err := t.Add(ctx, *s.Attach, podsock.SourceCNI)
	if p, ok := errors.AsType[*podsock.Problem](err); ok && p.Code == podsock.CodeInvalid {
		t.o.Log.Error("kept request dropped", "attachment", s.Key().String(), "error", err.Error())
		return nil
	}
	return err
}
