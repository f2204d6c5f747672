package pods

import (
	"slices"

	"fairlane/agent/pods/podsock"
)

// A share is what a tenant has for sure of a port. When several devices of one class are on the port, they divide it equally;
// a device that comes or goes changes the parts of the others.

// sharers returns the number of devices that divide the share of an entry, itself included.
func (t *Table) sharers(e *entry) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 1
	for k, other := range t.entries {
		if k != e.Key && k != e.replaces && divides(e, other) {
			n++
		}
	}
	return n
}

// divides reports whether two entries have one class on one port.
func divides(e, other *entry) bool {
	return other.Device != "" && other.Device != e.Device && !other.Releasing && other.Levers.ShareOf1000 != nil &&
		other.Found.PF != "" && other.Found.PF == e.Found.PF && other.Found.Port == e.Found.Port &&
		other.Binding == e.Binding && other.Class == e.Class
}

// part returns the levers of an entry's class with the device's part of the share, at least one thousandth.
func (e *entry) part() podsock.Levers {
	l := e.Levers
	if l.ShareOf1000 != nil && e.DividedBy > 1 {
		l.ShareOf1000 = new(max(1, uint16(int(*l.ShareOf1000)/e.DividedBy)))
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
