package cc

import "fairlane/internal/quantity"

// eras holds the settings of each port of a run with changing settings, and the times of the changes. The cost of a change
// does not depend on the number of flows of the port: at the next access a flow applies the changes since the last access,
// one by one, as of their times. Settings that no flow can need any more are garbage-collected.
type eras[P any] struct{ current []*era[P] }

// era is a period in which a port has one set of settings.
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

// change starts a new era of a port.
func (e *eras[P]) change(port int, now quantity.Picoseconds, p *P) {
	next := &era[P]{p: p, since: now}
	e.current[port].next = next
	e.current[port] = next
}
