package agent

import (
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicyang"
)

// CounterSet is a set of counters that some queue pairs of a port share: the traffic of a tenant's process, where queue
// pairs are bound by process.
type CounterSet struct {
	ID      uint32
	Mode    string   // "auto" or "manual"; empty when it is neither
	PID     uint32   // process of the queue pairs; 0 when unknown
	Process string   // its name, or that of the kernel component
	QPs     []uint32 // numbers of queue pairs, ascending; at most nicyang.MaxQPs
	QPCount int      // all of them
	// Counters are the set's. A counter that cannot be read has an error.
	Counters niccount.Counters
}

// counterSets adds the counter sets of a port.
func (g *getter) counterSets(s *seen, p *Port, port gnmitree.Path) error {
	e, ok := g.below(port, gnmitree.ClassOperational, "counter-sets")
	if !ok || p.Meter == nil {
		return nil
	}
	m := g.agent.meter(s.card, p.Number)
	all, at, err := m.sets.read(g.ctx, g.agent, m, p.Meter.CounterSets)
	if cancelled := g.ctx.Err(); cancelled != nil {
		return cancelled
	}
	e.sampled, e.time = true, at
	base := e.at
	if err != nil {
		e.at = base.Child("state")
		e.put("problem", gnmitree.String(err.Error()))
	}
	for i := range all {
		k := &all[i]
		set := nicyang.CounterSet(s.nic.Name, p.Number, k.ID)
		if !meets(g.pattern, set) {
			continue
		}
		e.at = set.Child("state")
		e.text("mode", k.Mode)
		e.text("process", k.Process)
		if k.PID != 0 {
			e.put("pid", gnmitree.Uint32(k.PID))
		}
		e.put("qp-count", gnmitree.Uint32(uint32(k.QPCount))) // a device has fewer than 2^24
		if len(k.QPs) > 0 {
			numbers := make([]gnmitree.Value, min(len(k.QPs), nicyang.MaxQPs))
			for j := range numbers {
				numbers[j] = gnmitree.Uint32(k.QPs[j])
			}
			e.put("qps", gnmitree.List(numbers...))
		}
		for _, name := range sortedNames(k.Counters) {
			e.at = set.Child("counters").Child("counter", gnmitree.Key{Name: "name", Value: name}).Child("state")
			e.counter("value", k.Counters[name])
		}
	}
	return nil
}
