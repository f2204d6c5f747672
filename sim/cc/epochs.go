package cc

import "fairlane/internal/quantity"

// epochs holds the settings of each port of a run with changing settings, and the times of the changes. The cost of a change
// does not depend on the number of flows of the port: at the next access a flow applies the changes since the last access,
// one by one, as of their times. Settings that no flow can need any more are garbage-collected.
type epochs[P any] struct{ current []*epoch[P] }

// epoch is a period in which a port has one set of settings.
type epoch[P any] struct {
	p     *P
	next  *epoch[P]
	since quantity.Picoseconds
}

func newEpochs[P any](ports int, p *P) epochs[P] {
	e := epochs[P]{current: make([]*epoch[P], ports)}
	all := make([]epoch[P], ports)
	for i := range all {
		all[i].p = p
		e.current[i] = &all[i]
	}
	return e
}

// change starts a new epoch of a port.
func (e *epochs[P]) change(port int, now quantity.Picoseconds, p *P) {
	next := &epoch[P]{p: p, since: now}
	e.current[port].next = next
	e.current[port] = next
}
