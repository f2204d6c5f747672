package scenario

import (
	"cmp"
	"math"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/subnet"
)

// SeriesRecorder stores the time series of a run. An error stops the run.
type SeriesRecorder interface {
	FlowSample(FlowSample) error
	// QueueSample receives the bytes in the queues of a switch port, at every sample.
	QueueSample(at quantity.Picoseconds, port string, bytes int64) error
	// Pause receives the start or end of a pause of a port's class, in the order of time.
	Pause(at quantity.Picoseconds, port string, class uint8, begin bool) error
}

// FlowSample is the state of a flow at a time.
type FlowSample struct {
	At     quantity.Picoseconds
	ID     int64
	Origin *Origin              // only for a flow of a trace
	Rate   float64              // rate of the pacer, bit/s on the wire
	Target float64              // bit/s; NaN if the congestion control has none
	Alpha  float64              // NaN if the congestion control has none
	RTT    quantity.Picoseconds // round trip time of the last acknowledgement; 0 before the first
	Window int64                // bytes; 0 means no window
}

// sampler records the time series of a run.
type sampler struct {
	r      *etherRun
	cfg    *Series
	rec    SeriesRecorder
	next   quantity.Picoseconds
	flows  bool // some flow value is requested
	chosen map[int64]bool
	gauges []gaugePlaces // by congestion control
	values []float64
	rtts   [][]lastRTT // by part of the fabric and slot
	ports  []queuePort
	names  map[subnet.PortRef]string // names of the ports with recorded pauses
	pauses [][]ether.Pause           // pauses since the last call of sample, by part of the fabric
	merged []ether.Pause
}

// gaugePlaces holds the indices of a congestion control's target and alpha gauges; -1 means none.
type gaugePlaces struct{ target, alpha, count int }

type lastRTT struct {
	flow ether.FlowRef
	rtt  quantity.Picoseconds
}

// newSampler prepares the series that the scenario requests; nil means none.
func newSampler(r *etherRun, rec SeriesRecorder) (*sampler, error) {
	e := r.s.Ethernet
	if e == nil || e.Series == nil || rec == nil {
		return nil, nil
	}
	p := &sampler{r: r, cfg: e.Series, rec: rec, next: math.MaxInt64, flows: e.Series.Has(FlowSeries()...)}
	if p.flows || e.Series.Has(SeriesQueue) {
		p.next = p.cfg.Every
	}
	if len(p.cfg.Flows) > 0 {
		p.chosen = make(map[int64]bool, len(p.cfg.Flows))
		for _, n := range p.cfg.Flows {
			p.chosen[n] = true
		}
	}
	for i := range e.Controls {
		a, err := e.Controls[i].build()
		if err != nil {
			return nil, err
		}
		names := a.Gauges()
		p.gauges = append(p.gauges, gaugePlaces{slices.Index(names, "target_bps"), slices.Index(names, "alpha"), len(names)})
		p.values = make([]float64, max(len(p.values), len(names)))
	}
	p.rtts = make([][]lastRTT, e.threads())
	p.pauses = make([][]ether.Pause, e.threads())
	return p, nil
}

// hooks adds the callbacks that the series need. Series that are not requested cost nothing.
func (p *sampler) hooks(h *Hooks) {
	if p.cfg.Has(SeriesRTT) {
		before := h.RTT
		h.RTT = func(part int) func(ether.FlowRef, quantity.Picoseconds) {
			also := before(part)
			return func(f ether.FlowRef, t quantity.Picoseconds) {
				also(f, t)
				p.keepRTT(part, f, t)
			}
		}
	}
	if p.cfg.Has(SeriesPFC) {
		h.Pause = func(part int) func(ether.Pause) {
			return func(e ether.Pause) { p.pauses[part] = append(p.pauses[part], e) }
		}
	}
}

func (p *sampler) keepRTT(part int, f ether.FlowRef, t quantity.Picoseconds) {
	slot := int(f.Slot())
	if slot >= len(p.rtts[part]) {
		p.rtts[part] = append(p.rtts[part], make([]lastRTT, slot+64-len(p.rtts[part]))...)
	}
	p.rtts[part][slot] = lastRTT{f, t}
}

// lastRTT returns the round trip of the last acknowledgement of a flow.
func (p *sampler) lastRTT(f *ether.FlowState) quantity.Picoseconds {
	for _, part := range p.rtts {
		if int(f.Slot) < len(part) && part[f.Slot].flow == f.Ref() {
			return part[f.Slot].rtt
		}
	}
	return 0
}

// choosePorts selects the ports that match the patterns, after the run has collected its ports.
func (p *sampler) choosePorts() {
	f := p.r.s.Fabric
	want := func(ref subnet.PortRef) bool {
		return len(p.cfg.Ports) == 0 || slices.ContainsFunc(p.cfg.Ports, func(pattern string) bool { return portMatches(f, ref, pattern) })
	}
	for _, q := range p.r.qs {
		if p.cfg.Has(SeriesQueue) && want(q.ref) {
			p.ports = append(p.ports, q)
		}
	}
	p.names = make(map[subnet.PortRef]string)
	for _, ref := range p.r.ports {
		if want(ref) {
			p.names[ref] = f.PortName(ref)
		}
	}
}

// nextSample returns the time at which the run must stop for a sample.
func (p *sampler) nextSample() quantity.Picoseconds {
	if p == nil {
		return math.MaxInt64
	}
	return p.next
}

// sample collects the pauses so far, and takes a sample if it is due.
func (p *sampler) sample(now quantity.Picoseconds) {
	if p == nil {
		return
	}
	p.reportPauses()
	if now != p.next {
		return
	}
	p.next += p.cfg.Every
	if p.flows {
		p.sampleFlows(now)
	}
	for i := range p.ports {
		p.r.keep(p.rec.QueueSample(now, p.ports[i].name, p.r.sim.Queue(p.ports[i].ref)))
	}
}

func (p *sampler) sampleFlows(now quantity.Picoseconds) {
	for f := range p.r.sim.Flows {
		from := p.r.origin(f.ID)
		if !p.includes(f.ID, from) {
			continue
		}
		s := FlowSample{At: now, ID: f.ID, Origin: from, Rate: f.Rate, Target: math.NaN(), Alpha: math.NaN(), RTT: p.lastRTT(&f), Window: f.Window}
		g := p.gauges[f.Algorithm]
		p.r.sim.Gauges(&f, p.values[:g.count])
		if g.target >= 0 {
			s.Target = p.values[g.target]
		}
		if g.alpha >= 0 {
			s.Alpha = p.values[g.alpha]
		}
		p.r.keep(p.rec.FlowSample(s))
	}
}

// includes reports whether series include a flow. A flow of a trace is selected by its number in the trace.
func (p *sampler) includes(id int64, from *Origin) bool {
	switch {
	case p.cfg.AllFlows:
		return true
	case p.chosen == nil:
		return id < defaultSeriesFlows
	case from != nil:
		return p.chosen[from.Flow]
	}
	return p.chosen[id]
}

// reportPauses passes on the pauses of all parts of the fabric, in the order of time.
func (p *sampler) reportPauses() {
	p.merged = p.merged[:0]
	for i := range p.pauses {
		p.merged = append(p.merged, p.pauses[i]...)
		p.pauses[i] = p.pauses[i][:0]
	}
	slices.SortStableFunc(p.merged, func(a, b ether.Pause) int { return cmp.Compare(a.At, b.At) })
	for _, e := range p.merged {
		if name, ok := p.names[e.Port]; ok {
			p.r.keep(p.rec.Pause(e.At, name, e.Class, e.Begin))
		}
	}
}
