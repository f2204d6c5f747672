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
	p.Marks, p.Sent = went(a.Loop.Marks, b.Loop.Marks), went(a.Loop.Sent, b.Loop.Sent)
	p.Handled, p.Ignored = went(a.Loop.Handled, b.Loop.Handled), went(a.Loop.Ignored, b.Loop.Ignored)
	p.Pauses = went(a.Loop.Pauses, b.Loop.Pauses)
	held, span := went(a.Loop.Paused, b.Loop.Paused), b.Loop.Paused.At-a.Loop.Paused.At
	if held.Err == nil && span > 0 {
		p.Paused = float64(held.N) / (float64(span) / float64(quantity.Microsecond))
	}
	if r, err := w.rate(a.Rx, b.Rx, line); err == nil && line > 0 {
		p.Full = float64(r) >= fullLink*float64(line)
	}
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
