package pods

import (
	"context"

	"fairlane/agent/pods/podsock"
)

// A virtual function may have two writers: a manager sets its rates by its number, and a pod that holds it has those of its
// class. The pod's win while it runs. What the manager sets lies beneath: it is what the function gets when the pod ends.

// Beneath returns the values that lie beneath those of classes, by device: only the settings that the class of the pod that
// holds the device has. Devices without such settings are missing.
func (t *Table) Beneath() map[string]podsock.Settings {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]podsock.Settings{}
	for _, e := range t.entries {
		addBeneath(out, &e.Record)
	}
	return out
}

// ReadBeneath returns what Table.Beneath does, of the records in a state directory, and changes nothing.
func ReadBeneath(dir, bootID string) (map[string]podsock.Settings, error) {
	records, err := Read(dir, bootID)
	out := map[string]podsock.Settings{}
	for i := range records {
		addBeneath(out, &records[i])
	}
	return out, err
}

func addBeneath(to map[string]podsock.Settings, r *podsock.Record) {
	if under := beneath(r); r.Device != "" && under != (podsock.Settings{}) {
		to[r.Device] = under
	}
}

// beneath returns the values before the class of the settings that the class of a record has, or an earlier one had.
func beneath(r *podsock.Record) podsock.Settings {
	under := only(r.Before, r.Applied)
	if r.Levers.MaxMbps != nil {
		under.MaxMbps = r.Before.MaxMbps
	}
	if r.Levers.ShareOf1000 != nil {
		under.ShareMbps = r.Before.ShareMbps
	}
	if r.Levers.TOS != nil {
		under.TOS = r.Before.TOS
	}
	return under
}

// Hold keeps devices from changing hands until the returned function is called: no class is applied to them, or ends.
func (t *Table) Hold(ctx context.Context, devices []string) (release func(), err error) {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = deviceLock(d)
	}
	return t.locks.acquire(ctx, names...)
}

// SetBeneath records that a device has other values when no pod holds it; nil values stay. A device that no pod holds has
// nothing to record. The caller holds the device, and writes the values that do not lie beneath to the device itself.
func (t *Table) SetBeneath(device string, s podsock.Settings) error {
	e := t.owner(device, podsock.Key{})
	if e == nil || e.Before == (podsock.Settings{}) { // not read yet: its class is not applied
		return nil
	}
	next := *e
	if s.MaxMbps != nil {
		next.Before.MaxMbps = s.MaxMbps
	}
	if s.ShareMbps != nil {
		next.Before.ShareMbps = s.ShareMbps
	}
	if next.Before == e.Before {
		return nil
	}
	return t.save(&next)
}
