package pods

import (
	"slices"

	"fairlane/agent/pods/podsock"
)

// A share is what a class has for sure of a port, or a tenant whose classes have weights. When several devices of it are on the port,
// they divide it: classes by weight, and the devices of a class equally. A device that comes or goes changes the parts of the others.

// divide returns the number of devices that divide the share of an entry, itself included, and the part of the port that its own device
// gets: in thousandths, at least one.
func (t *Table) divide(e *entry) (devices int, part uint16) {
	t.mu.Lock()
	defer t.mu.Unlock()
	devices = 1
	classes, mine := map[string]float64{e.Class: e.Weight}, 1 // on the port; devices of the entry's class
	for k, other := range t.entries {
		if k == e.Key || k == e.replaces || !divides(e, other) {
			continue
		}
		devices++
		if other.Class == e.Class {
			mine++
			continue
		}
		classes[other.Class] = other.Weight
	}
	share := float64(*e.Levers.ShareOf1000)
	if e.Weight > 0 {
		var total float64
		for _, weight := range classes {
			total += weight
		}
		share *= e.Weight / total
	}
	return devices, max(1, uint16(share/float64(mine)))
}

// divides reports whether two entries divide one share: on one port, of one class, or of one tenant whose classes have weights.
func divides(e, other *entry) bool {
	return other.Device != "" && other.Device != e.Device && !other.Releasing && other.Levers.ShareOf1000 != nil &&
		other.Found.PF != "" && other.Found.PF == e.Found.PF && other.Found.Port == e.Found.Port &&
		(other.Binding == e.Binding && other.Class == e.Class || e.Weight > 0 && other.Weight > 0 && other.Tenant == e.Tenant)
}

// divided reports whether the device of an entry has the part that it should have now.
func (t *Table) divided(e *entry) bool {
	if e.Levers.ShareOf1000 == nil || e.Device == "" {
		return true
	}
	devices, part := t.divide(e)
	return e.DividedBy == devices && e.PartOf1000 == part
}

// part returns the levers of an entry's class with the device's part of the share.
func (e *entry) part() podsock.Levers {
	l := e.Levers
	if l.ShareOf1000 != nil {
		l.ShareOf1000 = &e.PartOf1000
	}
	return l
}

// redivide sweeps soon if an entry that came or went changes the parts of others.
func (t *Table) redivide(e *entry) {
	if e.Levers.ShareOf1000 == nil || !slices.ContainsFunc(t.all(), func(other *entry) bool { return divides(e, other) }) {
		return
	}
	select {
	case t.kick <- struct{}{}:
	default:
	}
}
