package scenario

import (
	"context"
	"errors"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/ether"
	"fairlane/subnet"
)

// listedFlows is the number of flows that a result lists individually: the first ones by number.
const listedFlows = 64

// mostPoints is the largest number of tenant rates over time in a result. The result of a longer run has longer intervals. A
// Recorder receives the rates of all intervals.
const mostPoints = 1 << 20

// EtherOptions are the options of a run. The zero value returns only the result.
type EtherOptions struct {
	// Progress is called after every interval with the simulated time and the completed fraction of the work, 0 to 1: the
	// fraction of the duration or of the expected bytes, whichever is larger.
	Progress func(now quantity.Picoseconds, part float64)
	// Recorder receives all results as they occur; nil keeps only distributions.
	Recorder Recorder
	// Series receives the time series that the scenario requests; nil means none, at no cost.
	Series SeriesRecorder
}

// Recorder stores the results of a run. An error stops the run.
type Recorder interface {
	// Flow is called for each completed flow.
	Flow(f FlowRecord) error
	// Rate receives, at the end of every interval, the payload rate of each tenant (flow is -1) and of each of the first flows.
	Rate(at quantity.Picoseconds, tenant string, flow int64, rate quantity.BitRate) error
	// Queue receives, at every sample, the switch ports with nonempty queues.
	Queue(at quantity.Picoseconds, port string, bytes int64) error
}

// FlowRecord is a completed flow.
type FlowRecord struct {
	ID         int64
	Tenant     string
	Src, Dst   string
	Bytes      int64 // payload
	Start      quantity.Picoseconds
	FCT, Ideal quantity.Picoseconds
	Origin     *Origin // only for a flow of a trace
}

// Slowdown returns FCT divided by Ideal.
func (f *FlowRecord) Slowdown() float64 { return float64(f.FCT) / float64(f.Ideal) }

// point holds all tenants' delivered bytes at a time.
type point struct {
	at    quantity.Picoseconds
	bytes []int64
}

// listed is one of the first flows.
type listed struct {
	src, dst   int32
	tenant     uint16
	known      bool
	acked      int64
	last       int64 // acknowledged bytes at the end of the last interval
	start      quantity.Picoseconds
	fct, ideal quantity.Picoseconds
	origin     *Origin // only for a flow of a trace
}

// etherRun is a run in progress.
type etherRun struct {
	s   *Scenario
	sim *Simulation
	o   EtherOptions

	hosts []subnet.PortRef
	names []string // names of hosts, created on first use
	ports []subnet.PortRef
	sent  []uint64 // bytes sent by each port, at the end of the warm-up
	qs    []queuePort

	fct, queue, busy *stats.Histogram
	rtt              []*stats.Histogram // by part of the fabric
	slow             *stats.Slowdowns
	tagged           *tagSlowdowns
	series           *sampler      // nil means none
	flowRates        stats.Moments // mean rates of completed flows

	done         []int64                // payload of completed flows, by tenant
	completed    []uint64               // completed flows, by tenant
	bytes        []int64                // delivered bytes at the last interval, by tenant
	active       []int                  // active flows at the last interval, by tenant
	since        []quantity.Picoseconds // earliest start of the active flows, by tenant
	atWarmup     []int64
	warmed       quantity.Picoseconds // end of the warm-up
	contended    []int64
	contendedFor quantity.Picoseconds
	points       []point
	every, skip  int // intervals per point, and intervals since the last point
	listed       []listed
	expected     float64 // expected bytes
	delivered    uint64  // delivered packets, at the last interval
	lastInterval quantity.Picoseconds
	err          error
}

type queuePort struct {
	ref  subnet.PortRef
	name string
}

// InputError is an error in the scenario, or in a file it names, that occurs only while building or running it.
type InputError struct{ Err error }

// Error returns the text of the cause.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// RunEthernet builds an Ethernet scenario and runs it until all flows have completed, or to its duration. It returns an
// *InputError for a scenario that cannot be run. When ctx ends, in a deadlock (the error then is or wraps an *ether.Deadlock),
// or when the recorder returns an error, it returns the measurements so far with the error.
func RunEthernet(ctx context.Context, s *Scenario, o EtherOptions) (*EtherResult, error) {
	r, err := newEtherRun(s, o)
	if err != nil {
		return nil, &InputError{err}
	}
	err = r.run(ctx)
	res := r.result()
	res.Interrupted = ctx.Err() != nil
	return res, errors.Join(err, r.sim.Close())
}

func newEtherRun(s *Scenario, o EtherOptions) (*etherRun, error) {
	n := len(s.Tenants)
	r := &etherRun{
		s: s, o: o, done: make([]int64, n), completed: make([]uint64, n), bytes: make([]int64, n), active: make([]int, n), since: make([]quantity.Picoseconds, n),
		atWarmup: make([]int64, n), contended: make([]int64, n), every: 1,
	}
	bounds := stats.DecadeSizeBounds()
	if s.Ethernet != nil && len(s.Ethernet.SizeBins) > 0 {
		bounds = s.Ethernet.SizeBins
	}
	var errs [4]error
	r.fct, errs[0] = stats.NewHistogram(stats.DefaultRelativeError)
	r.queue, errs[1] = stats.NewHistogram(stats.DefaultRelativeError)
	r.busy, errs[2] = stats.NewHistogram(stats.DefaultRelativeError)
	r.slow, errs[3] = stats.NewSlowdowns(bounds)
	for i := 0; s.Ethernet != nil && i < s.Ethernet.threads(); i++ {
		h, err := stats.NewHistogram(stats.DefaultRelativeError)
		r.rtt = append(r.rtt, h)
		errs[0] = errors.Join(errs[0], err)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	var err error
	if r.series, err = newSampler(r, o.Series); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	hooks := Hooks{Done: r.onDone, RTT: func(part int) func(ether.FlowRef, quantity.Picoseconds) {
		return func(_ ether.FlowRef, t quantity.Picoseconds) { r.rtt[part].Record(int64(t)) }
	}}
	if r.series != nil {
		r.series.hooks(&hooks)
	}
	if r.sim, err = s.BuildEthernet(hooks); err != nil {
		return nil, err
	}
	r.tagged = newTagSlowdowns(s.TagColumns(), bounds)
	r.hosts = Hosts(s.Fabric)
	r.names = make([]string, len(r.hosts))
	r.findPorts()
	if r.series != nil {
		r.series.choosePorts()
	}
	r.expected = s.Estimate().Bytes
	r.points = append(r.points, point{bytes: make([]int64, n)})
	r.warmUp()
	return r, nil
}

func (r *etherRun) findPorts() {
	topo := r.s.Fabric
	for i := range topo.Links {
		for _, ref := range [2]subnet.PortRef{topo.Links[i].A, topo.Links[i].B} {
			r.ports = append(r.ports, ref)
			if topo.Nodes[ref.Node].Kind == subnet.KindSwitch {
				r.qs = append(r.qs, queuePort{ref, topo.PortName(ref)})
			}
		}
	}
	r.sent = make([]uint64, len(r.ports))
}

// run advances to the next sample, interval or end of the warm-up, until the end of the run.
func (r *etherRun) run(ctx context.Context) error {
	s, e := r.s, r.s.Ethernet
	sample, interval := e.Sample, s.Interval
	for now := quantity.Picoseconds(0); now < s.Duration; {
		next := min(sample, interval, r.series.nextSample(), s.Duration)
		if r.warmed < s.Warmup {
			next = min(next, s.Warmup)
		}
		r.sim.RunUntil(next)
		now = next
		finished := r.sim.Finished() && !e.ToDuration
		r.series.sample(now)
		if now == sample {
			r.sampleQueues(now)
			sample += e.Sample
		}
		if r.warmed < s.Warmup && now == s.Warmup {
			r.warmUp()
		}
		if now == interval || finished || now == s.Duration {
			if err := r.endInterval(now, finished || now == s.Duration); err != nil {
				return err
			}
			interval += s.Interval
		}
		if err := r.sim.Err(); err != nil {
			return &InputError{fmt.Errorf("scenario %s: %w", s.Name, err)}
		}
		if r.err != nil {
			return fmt.Errorf("scenario %s: at %s: %w", s.Name, now, r.err)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("scenario %s: stopped at %s of %s: %w", s.Name, now, s.Duration, err)
		}
		if finished {
			break
		}
	}
	return nil
}

// end returns the end of the run: the last completion, unless the run continued after it.
func (r *etherRun) end() quantity.Picoseconds {
	if r.sim.Finished() && !r.s.Ethernet.ToDuration {
		return r.sim.Stats().LastDone
	}
	return r.sim.Now()
}

// warmUp stores the totals at the end of the warm-up, which results exclude.
func (r *etherRun) warmUp() {
	r.count()
	copy(r.atWarmup, r.bytes)
	for i, ref := range r.ports {
		r.sent[i] = r.sim.Port(ref).TxBytes
	}
	r.warmed = r.sim.Now()
}

// count updates bytes and active flows of the tenants to now.
func (r *etherRun) count() {
	copy(r.bytes, r.done)
	clear(r.active)
	for f := range r.sim.Flows {
		r.bytes[f.Tenant] += f.Acked
		if r.active[f.Tenant] == 0 || f.Start < r.since[f.Tenant] {
			r.since[f.Tenant] = f.Start
		}
		r.active[f.Tenant]++
		if f.ID < listedFlows {
			l := r.listedFlow(f.ID)
			if !l.known {
				*l = listed{src: f.Src, dst: f.Dst, tenant: f.Tenant, known: true, start: f.Start, origin: r.origin(f.ID)}
			}
			l.acked = f.Acked
		}
	}
}

// origin returns the trace's data of a flow; nil for other flows.
func (r *etherRun) origin(id int64) *Origin {
	if o, ok := r.sim.Origin(id); ok {
		return &o
	}
	return nil
}

func (r *etherRun) listedFlow(id int64) *listed {
	for int64(len(r.listed)) <= id {
		r.listed = append(r.listed, listed{})
	}
	return &r.listed[id]
}

// onDone handles a completed flow.
func (r *etherRun) onDone(d ether.Done) {
	r.done[d.Tenant] += d.Bytes
	r.completed[d.Tenant]++
	r.fct.Record(int64(d.FCT))
	r.flowRates.Add(float64(rateOf(d.Bytes, d.FCT)))
	from := r.origin(d.ID)
	if d.Bytes > 0 {
		r.keep(r.slow.Record(d.Bytes, d.Slowdown()))
		if from != nil {
			r.keep(r.tagged.record(from.Tags, d.Bytes, d.Slowdown()))
		}
	}
	if d.ID < listedFlows {
		l := r.listedFlow(d.ID)
		*l = listed{
			src: d.Src, dst: d.Dst, tenant: d.Tenant, known: true, acked: d.Bytes, last: l.last,
			start: d.Start, fct: d.FCT, ideal: d.Ideal, origin: from,
		}
	}
	if r.o.Recorder != nil {
		r.keep(r.o.Recorder.Flow(FlowRecord{
			ID: d.ID, Tenant: r.s.Tenants[d.Tenant].Name, Src: r.hostName(d.Src), Dst: r.hostName(d.Dst), Bytes: d.Bytes,
			Start: d.Start, FCT: d.FCT, Ideal: d.Ideal, Origin: from,
		}))
	}
}

func (r *etherRun) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *etherRun) hostName(h int32) string {
	if r.names[h] == "" {
		ref := r.hosts[h]
		node := &r.s.Fabric.Nodes[ref.Node]
		r.names[h] = node.Name
		if linked := len(node.Ports); linked > 2 || node.Name == "" {
			r.names[h] = r.s.Fabric.PortName(ref)
		}
	}
	return r.names[h]
}

// sampleQueues samples every switch port.
func (r *etherRun) sampleQueues(now quantity.Picoseconds) {
	empty := uint64(0)
	for i := range r.qs {
		bytes := r.sim.Queue(r.qs[i].ref)
		if bytes == 0 {
			empty++
			continue
		}
		r.queue.Record(bytes)
		r.busy.Record(bytes)
		if r.o.Recorder != nil {
			r.keep(r.o.Recorder.Queue(now, r.qs[i].name, bytes))
		}
	}
	r.queue.RecordN(0, empty)
}

// endInterval updates rates, contended time and progress, and checks for a deadlock.
func (r *etherRun) endInterval(now quantity.Picoseconds, last bool) error {
	now = min(now, max(r.end(), r.points[len(r.points)-1].at))
	before := append([]int64(nil), r.bytes...)
	was := append([]int(nil), r.active...)
	r.count()
	from := r.sinceLast(now)
	r.contend(before, was, max(from, r.warmed), now)
	r.recordRates(before, now, now-from)
	r.addPoint(now, last)
	if r.o.Progress != nil {
		r.o.Progress(now, r.part(now))
	}
	st := r.sim.Stats()
	stuck := st.DeliveredPackets == r.delivered && st.Active > 0
	r.delivered = st.DeliveredPackets
	if stuck {
		if d := r.sim.Deadlock(); d != nil {
			return fmt.Errorf("scenario %s: no packet was delivered from %s to %s: %w", r.s.Name, from, now, d)
		}
	}
	return nil
}

// sinceLast returns the end of the last interval, and sets it to now.
func (r *etherRun) sinceLast(now quantity.Picoseconds) quantity.Picoseconds {
	from := r.lastInterval
	r.lastInterval = now
	return from
}

// contend adds an interval to contended time if every tenant had active flows at both its ends. A flow that starts exactly at
// the beginning of the interval is not in the earlier count, so contend also checks start times.
func (r *etherRun) contend(before []int64, was []int, from, now quantity.Picoseconds) {
	if len(was) < 2 || r.sim.Now() <= r.s.Warmup {
		return
	}
	for i := range was {
		if r.active[i] == 0 || was[i] == 0 && r.since[i] > from {
			return
		}
	}
	r.contendedFor += now - from
	for i := range before {
		r.contended[i] += r.bytes[i] - before[i]
	}
}

func (r *etherRun) recordRates(before []int64, now, dt quantity.Picoseconds) {
	if r.o.Recorder != nil && dt > 0 {
		for i := range before {
			r.keep(r.o.Recorder.Rate(now, r.s.Tenants[i].Name, -1, rateOf(r.bytes[i]-before[i], dt)))
		}
	}
	for i := range r.listed {
		l := &r.listed[i]
		if l.known && r.o.Recorder != nil && dt > 0 && (l.fct == 0 || l.last < l.acked) {
			r.keep(r.o.Recorder.Rate(now, r.s.Tenants[l.tenant].Name, int64(i), rateOf(l.acked-l.last, dt)))
		}
		l.last = l.acked
	}
}

// addPoint stores the tenants' delivered bytes. If there are too many points, it removes every second one.
func (r *etherRun) addPoint(now quantity.Picoseconds, last bool) {
	if r.skip++; r.skip < r.every && !last || now == r.points[len(r.points)-1].at {
		return
	}
	r.skip = 0
	r.points = append(r.points, point{now, append([]int64(nil), r.bytes...)})
	if len(r.points) <= max(64, min(4096, mostPoints/len(r.bytes))) {
		return
	}
	r.every *= 2
	kept := r.points[:0]
	for i := range r.points {
		if i%2 == 0 || i == len(r.points)-1 {
			kept = append(kept, r.points[i])
		}
	}
	r.points = kept
}

// part returns the completed fraction of the work (EtherOptions.Progress).
func (r *etherRun) part(now quantity.Picoseconds) float64 {
	part := float64(now) / float64(r.s.Duration)
	if r.expected > 0 && !r.s.Ethernet.ToDuration {
		part = max(part, min(0.999, float64(r.sim.Stats().AcceptedBytes)/r.expected))
	}
	return part
}
