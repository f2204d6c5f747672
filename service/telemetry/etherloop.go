package telemetry

import (
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// loop judges congestion control over the window; nil when no port has its counters.
func (w *etherWindow) loop() *Loop {
	ports := map[ident.PortID]LoopPort{}
	counted := false
	for _, id := range w.c.nics {
		a, b, err := w.nic(id)
		p := LoopPort{Name: w.name(id)}
		switch {
		case err != nil:
			p.Marks.Err, p.Sent.Err, p.Handled.Err, p.Ignored.Err, p.Pauses.Err = err, err, err, err, err
		case a.Loop == nil || b.Loop == nil:
			continue
		default:
			counted = true
			w.count(&p, a, b, w.linkRate(id))
		}
		ports[id] = p
	}
	if !counted {
		return nil
	}
	pairs := make([]LoopPair, len(w.c.flows))
	for i := range w.c.flows {
		pairs[i] = LoopPair{Src: w.c.flows[i].Src, Dst: w.c.flows[i].Dst}
	}
	l := JudgeLoop(ports, pairs)
	return &l
}

// count sets what a port counted.
func (w *etherWindow) count(p *LoopPort, a, b *NICReading, line quantity.BitRate) {
	of := func(pick func(*Notices) Octets) Count {
		return atLeast(went(pick(&a.Loop.Notices), pick(&b.Loop.Notices)), a.Functions, b.Functions, pick)
	}
	p.Marks = of(func(n *Notices) Octets { return n.Marks })
	p.Sent = of(func(n *Notices) Octets { return n.Sent })
	p.Handled = of(func(n *Notices) Octets { return n.Handled })
	p.Ignored, p.Pauses = went(a.Loop.Ignored, b.Loop.Ignored), went(a.Loop.Pauses, b.Loop.Pauses)
	held, span := went(a.Loop.Paused, b.Loop.Paused), b.Loop.Paused.At-a.Loop.Paused.At
	if held.Err == nil && span > 0 {
		p.Paused = float64(held.N) / (float64(span) / float64(quantity.Microsecond))
	}
	if r, err := w.rate(a.Rx, b.Rx, line); err == nil && line > 0 {
		p.Full = float64(r) >= fullLink*float64(line)
	}
}

// atLeast returns the count of a port, or the sum of the counts of its virtual functions if that is larger: a card may count the port without
// the functions that have counters of their own.
func atLeast(n Count, a, b map[int]FunctionRead, pick func(*Notices) Octets) Count {
	var sum uint64
	for i, last := range b {
		first := a[i].Notices
		if first == nil || last.Notices == nil || sharedNotices(b, i) {
			continue
		}
		if f := went(pick(first), pick(last.Notices)); f.Err == nil {
			sum += f.N
		}
	}
	if n.Err == nil {
		n.N = max(n.N, sum)
	}
	return n
}

// went returns the increase of a counter.
func went(a, b Octets) Count {
	switch {
	case b.Err != nil:
		return Count{Err: b.Err}
	case a.Err != nil:
		return Count{Err: a.Err}
	case b.N < a.N:
		return Count{Err: phrase.Because(ErrReset, phrase.Of("measure.counter-reset", "after", b.N, "before", a.N))}
	}
	return Count{N: b.N - a.N}
}
