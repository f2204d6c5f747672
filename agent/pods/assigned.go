package pods

import (
	"context"

	"fairlane/agent/pods/podsock"
)

// An administrator's DeviceClass assigns a class to a device. Only claims report it, and the same device of a pod may also be
// reported by CNI and by the kubelet, in any order: the assigned class wins over that of the binding, whichever source has the
// record.

// assigned returns the class that an earlier report assigned to the device of an attachment, for the same pod; empty if none
// did. old is the entry of the attachment, or nil. The caller holds the locks.
func (t *Table) assigned(a *podsock.Attachment, old *entry) string {
	e := old
	if e == nil {
		e = t.owner(a.Device, a.Key)
	}
	if e == nil || e.Releasing || e.Device != a.Device || a.Pod.UID == "" || e.Pod.UID != a.Pod.UID {
		return ""
	}
	return e.Assigned
}

// assign gives an assigned class to the device of another source's record, which stays, and returns the record. The pod runs,
// so that what fails is tried again by the sweep. The caller holds the lock of the device, without which no entry that has it
// changes.
func (t *Table) assign(ctx context.Context, e *entry, class string) podsock.Record {
	if class == "" || class == e.Assigned || e.Releasing {
		return e.Record
	}
	next := *e
	next.Assigned = class
	d, err := t.decide(&next.Attachment)
	switch {
	case err != nil:
		next.Pending, next.Reason = true, err.Error()
	case d.unsettled != "":
		next.Pending, next.Reason = true, d.unsettled
	default:
		t.reapply(ctx, &next, d, "class assigned by a DeviceClass")
		t.redivide(e) // the devices of the class that it had divide its share without it
		return t.get(e.Key).Record
	}
	if err := t.save(&next); err != nil {
		t.o.Log.Error("record of a pod not saved", append(attributes(&next), "error", err.Error())...)
		return e.Record
	}
	return next.Record
}
