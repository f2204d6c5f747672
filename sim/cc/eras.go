package cc

import "fairlane/internal/quantity"

// eras are the settings of each port of a run whose settings change, with the instants of the changes. A change
// costs the same however many flows a port has: a flow that is next looked at finds the changes since, and takes
// them one by one as if it had seen them when they came. What no flow can meet any more is garbage.
type eras[P any] struct{ current []*era[P] }

// era is the time in which a port has one set of settings.
type era[P any] struct {
	p     *P
	next  *era[P]
	since quantity.Picoseconds
}

func newEras[P any](ports int, p *P) eras[P] {
	e := eras[P]{current: make([]*era[P], ports)}
	all := make([]era[P], ports)
	for i := range all {
		all[i].p = p
		e.current[i] = &all[i]
	}
	return e
}

// change begins a new era of a port.
func (e *eras[P]) change(port int, now quantity.Picoseconds, p *P) {
	next := &era[P]{p: p, since: now}
	e.current[port].next = next
	e.current[port] = next
}
