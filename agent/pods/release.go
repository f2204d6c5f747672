package pods

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"fairlane/agent/pods/podsock"
)

// Check compares an attachment with its record, its class and its device. Errors are a *podsock.Problem: an unknown
// attachment, or any difference.
func (t *Table) Check(ctx context.Context, a podsock.Attachment) error {
	if err := a.Check(); err != nil {
		return err
	}
	e, unlock, err := t.lockEntry(ctx, a.Key, "")
	if err != nil {
		return err
	}
	defer unlock()
	switch {
	case e == nil || e.Releasing:
		return podsock.Problemf(podsock.CodeUnknown, "attachment %s: the agent has no record of it", a.Key)
	case e.Device != a.Device:
		return podsock.Problemf(podsock.CodeDrift, "device: found %q, want %q as recorded", a.Device, e.Device)
	case e.Pending:
		return podsock.Problemf(podsock.CodeDrift, "class %s of tenant %s is not in force: %s", e.Class, e.Tenant, e.Reason)
	}
	a.Assigned = e.Assigned // by another source, which CNI does not know
	if d, err := t.decide(&a); err == nil && d.unsettled == "" && !t.agrees(e, d) {
		return podsock.Problemf(podsock.CodeDrift, "class: found %s of tenant %s in force, want %s of tenant %s, to which the namespace is bound now", cmp.Or(e.Class, "none"), cmp.Or(e.Tenant, "none"), cmp.Or(d.binding.Class, "none"), cmp.Or(d.binding.Tenant, "none"))
	}
	e = t.observe(ctx, e)
	switch {
	case e.unreadable:
		return podsock.Problemf(podsock.CodeDevice, "%s", e.Reason)
	case e.Drift:
		return podsock.Problemf(podsock.CodeDrift, "%s", e.Reason)
	}
	return nil
}

// agrees reports whether a record has the class of a decision.
func (t *Table) agrees(e *entry, d decision) bool {
	b := d.binding
	return e.Binding == b.Name && e.Tenant == b.Tenant && e.Class == b.Class && e.Weight == b.Weights[b.Class] && sameLevers(e.Levers, b.at(e.Found.Port)) && t.divided(e)
}

// Delete releases an attachment and restores its device. An unknown attachment is no error. When the device cannot be
// restored, the record stays, and the sweep tries again: the caller has nothing to repeat.
func (t *Table) Delete(ctx context.Context, k podsock.Key) error {
	if err := k.Check(); err != nil {
		return err
	}
	e, unlock, err := t.lockEntry(ctx, k, "")
	if err != nil {
		return err
	}
	defer unlock()
	if e == nil {
		return nil
	}
	err = t.release(ctx, e)
	if err != nil && t.get(k) != nil && t.get(k).Releasing {
		return nil // in the journal
	}
	return err
}

// release restores the device of an entry and removes the entry. After a failure the entry is marked as releasing. The
// caller holds the locks.
func (t *Table) release(ctx context.Context, e *entry) error {
	err := t.restore(ctx, e)
	if err == nil {
		t.o.Log.Info("pod released", attributes(e)...)
		defer t.redivide(e)
		return t.drop(e.Key)
	}
	next := *e
	next.Releasing, next.Pending, next.Drift, next.Reason = true, false, false, "device not restored: "+err.Error()
	t.o.Log.Warn("device of a released pod not restored; the agent tries again", append(attributes(&next), "error", err.Error())...)
	return errors.Join(podsock.Problemf(podsock.CodeDevice, "device %s: %w", e.Device, err), t.save(&next))
}

// restore restores the values before the class of everything that the class may have changed.
func (t *Table) restore(ctx context.Context, e *entry) error {
	changed := beneath(&e.Record)
	if (changed == podsock.Settings{}) || e.Found.ID == "" {
		return nil
	}
	err := t.o.Devices.Restore(ctx, e.Found, changed)
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// GC releases all attachments of a network by CNI that are not valid, and returns their number.
func (t *Table) GC(ctx context.Context, g podsock.GC) (int, error) {
	if err := g.Check(); err != nil {
		return 0, err
	}
	return t.releaseAll(ctx, func(r *podsock.Record) bool {
		return r.Source == podsock.SourceCNI && r.Network == g.Network && !slices.Contains(g.Valid, podsock.Valid{ContainerID: r.ContainerID, Interface: r.Interface})
	})
}

// Reconcile releases the records of a source that keep does not keep, such as those of pods that no longer exist, and
// returns their number.
func (t *Table) Reconcile(ctx context.Context, source podsock.Source, keep func(*podsock.Record) bool) (int, error) {
	return t.releaseAll(ctx, func(r *podsock.Record) bool { return r.Source == source && !keep(r) })
}

// RestoreAll restores every device, as before the agent is removed. The error names the devices that were not restored.
func (t *Table) RestoreAll(ctx context.Context) error {
	_, err := t.releaseAll(ctx, func(*podsock.Record) bool { return true })
	errs := []error{err}
	for _, e := range t.all() {
		errs = append(errs, podsock.Problemf(podsock.CodeDevice, "device %s of pod %s/%s: %s", e.Device, e.Pod.Namespace, e.Pod.Name, e.Reason))
	}
	return errors.Join(errs...)
}

// releaseAll releases the records that a condition holds for.
func (t *Table) releaseAll(ctx context.Context, ends func(*podsock.Record) bool) (int, error) {
	n := 0
	var errs []error
	for _, e := range t.all() {
		if !ends(&e.Record) {
			continue
		}
		if err := t.Delete(ctx, e.Key); err != nil {
			errs = append(errs, err)
			continue
		}
		n++
	}
	return n, errors.Join(errs...)
}
