package scenario

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Result holds the measurements of a batch run. Rates count link-layer bytes of data packets, payload and headers, as port
// counters do. DeliveredBps, marks and BECNs of tenants, flows and links cover the time from WarmupS to SimulatedS.
type Result struct {
	Scenario   string  `json:"scenario"`
	Seed       uint64  `json:"seed"`
	SimulatedS float64 `json:"simulated_s"`
	WarmupS    float64 `json:"warmup_s"`
	IntervalS  float64 `json:"interval_s"`
	// Interrupted means that the run ended before its duration.
	Interrupted bool `json:"interrupted"`

	Tenants []TenantResult `json:"tenants"`
	Flows   []FlowResult   `json:"flows"`
	Links   []LinkResult   `json:"links"` // link directions that carried data, by name
	// Jain is the Jain index of the tenants' rates divided by their weights: 1 means exactly proportional to weights, 1/n
	// means that one tenant gets all bandwidth. JainQPs is the Jain index of the bytes that the queue pairs delivered in the
	// whole run.
	Jain    float64 `json:"jain"`
	JainQPs float64 `json:"jain_qps"`
	Totals  Totals  `json:"totals"`
}

// Totals are totals of the whole run, including the warm-up.
type Totals struct {
	Packets  uint64 `json:"packets"`
	Hops     uint64 `json:"packet_hops"`
	Events   uint64 `json:"events"`
	Marks    uint64 `json:"marks"`
	BECNs    uint64 `json:"becns"`
	Discards uint64 `json:"discards"`
	Digest   string `json:"digest"` // equal digests mean the same packets at the same times
}

// TenantResult holds the results of one tenant.
type TenantResult struct {
	Name         string             `json:"name"`
	Weight       quantity.Weight    `json:"weight_milli"`
	QPs          int                `json:"qps"`
	DeliveredBps quantity.BitRate   `json:"delivered_bps"`
	Share        float64            `json:"share"` // fraction of all tenants' delivered bytes
	Marked       uint64             `json:"marked"`
	BECNs        uint64             `json:"becns"`
	RateBps      []quantity.BitRate `json:"rate_bps"` // rate in each interval
}

// FlowResult holds the results of one flow.
type FlowResult struct {
	Tenant       string             `json:"tenant"`
	Src          string             `json:"src"`
	Dst          string             `json:"dst"`
	QPs          int                `json:"qps"`
	DeliveredBps quantity.BitRate   `json:"delivered_bps"`
	BECNs        uint64             `json:"becns"`
	CompletedS   float64            `json:"completed_s,omitempty"`
	RateBps      []quantity.BitRate `json:"rate_bps"`
}

// LinkResult is one link direction, named after the transmitting port.
type LinkResult struct {
	Port           string           `json:"port"`
	Peer           string           `json:"peer"`
	CapacityBps    quantity.BitRate `json:"capacity_bps"`
	RateBps        quantity.BitRate `json:"rate_bps"`
	Use            float64          `json:"use"`
	PeakQueueBytes int              `json:"peak_queue_bytes"`
	Marks          uint64           `json:"marks"`
}

// Progress is called after every interval with the simulated time reached and its end.
type Progress func(now, end quantity.Picoseconds)

// batch is a batch run in progress.
type batch struct {
	s   *Scenario
	n   *fabric.Network
	ids []fabric.FlowID

	last    []uint64 // delivered bytes of each flow at the last sample
	atStart []uint64 // delivered bytes of each flow at the end of the warm-up
	marks   []uint64 // marks of each flow at the end of the warm-up
	becns   []uint64
	ports   []subnet.PortRef
	sent    []uint64 // sent bytes of each port at the end of the warm-up
	portMks []uint64
	rates   [][]quantity.BitRate
}

// DeadlockError reports that a run was stopped because of a credit loop: packets in the loop, and all packets that need its
// links, can never move again.
type DeadlockError struct {
	Scenario string
	At       quantity.Picoseconds // simulated time of the detection; the loop may be older
	Loop     *fabric.Deadlock
}

// Error names the loop.
func (e *DeadlockError) Error() string {
	return fmt.Sprintf("scenario %s: deadlock at %s: %s", e.Scenario, e.At, e.Loop)
}

// Run builds the scenario and runs it to its end, or until ctx is done. In the second case it returns the context's error with
// the result so far. If the routes lead to a credit loop, it returns a *DeadlockError with the result so far. progress may be
// nil.
func Run(ctx context.Context, s *Scenario, progress Progress) (*Result, error) {
	n, ids, err := s.Build()
	if err != nil {
		return nil, err
	}
	r := &batch{s: s, n: n, ids: ids, last: make([]uint64, len(ids)), rates: make([][]quantity.BitRate, len(ids))}
	r.findPorts()
	r.baseline()
	changes, warmed := s.Changes, s.Warmup == 0
	warm := func(limit quantity.Picoseconds) {
		if !warmed && s.Warmup <= limit {
			n.RunUntil(s.Warmup)
			r.baseline()
			warmed = true
		}
	}
	for t := quantity.Picoseconds(0); t < s.Duration; {
		next := min(t+s.Interval, s.Duration)
		for len(changes) > 0 && changes[0].At < next {
			warm(changes[0].At)
			n.RunUntil(changes[0].At)
			changes[0].apply(n, s)
			changes = changes[1:]
		}
		warm(next)
		n.RunUntil(next)
		idle := r.sample(next - t)
		t = next
		if idle {
			if d := n.Deadlock(); d != nil {
				return r.result(t, warmed), &DeadlockError{s.Name, t, d}
			}
		}
		if progress != nil {
			progress(t, s.Duration)
		}
		if err := ctx.Err(); err != nil {
			return r.result(t, warmed), fmt.Errorf("scenario %s: stopped at %s of %s: %w", s.Name, t, s.Duration, err)
		}
	}
	return r.result(s.Duration, warmed), nil
}

// findPorts collects every transmitting port with a link.
func (r *batch) findPorts() {
	topo := r.n.Topology()
	for i := range topo.Links {
		r.ports = append(r.ports, topo.Links[i].A, topo.Links[i].B)
	}
	slices.SortFunc(r.ports, func(a, b subnet.PortRef) int {
		if a.Node != b.Node {
			return int(a.Node - b.Node)
		}
		return int(a.Port) - int(b.Port)
	})
}

// baseline stores the totals at the end of the warm-up. Result excludes them.
func (r *batch) baseline() {
	r.atStart, r.marks, r.becns, r.sent, r.portMks = nil, nil, nil, nil, nil
	for _, id := range r.ids {
		f := r.n.Flow(id)
		r.atStart = append(r.atStart, f.DeliveredBytes)
		r.marks = append(r.marks, f.Marked)
		r.becns = append(r.becns, f.BECNs)
	}
	for _, p := range r.ports {
		c := r.n.Counters(p.Node, p.Port)
		r.sent = append(r.sent, c.XmitBytes)
		r.portMks = append(r.portMks, c.XmitFECN)
	}
}

// sample appends each flow's rate over the last interval. It reports whether a flow delivered nothing. A credit loop blocks
// at least one flow, so this may indicate a loop.
func (r *batch) sample(dt quantity.Picoseconds) (idle bool) {
	for i, id := range r.ids {
		now := r.n.Delivered(id)
		idle = idle || now == r.last[i]
		r.rates[i] = append(r.rates[i], bps(now-r.last[i], dt))
		r.last[i] = now
	}
	return idle
}

func bps(bytes uint64, dt quantity.Picoseconds) quantity.BitRate {
	return quantity.BitRate(float64(bytes) * 8 / dt.Seconds())
}

// result returns the measurements so far. If the run has not reached the end of its warm-up, they are since its start.
func (r *batch) result(now quantity.Picoseconds, warmed bool) *Result {
	s, st := r.s, r.n.Stats()
	warmup := s.Warmup
	if !warmed {
		warmup = 0
	}
	res := &Result{
		Scenario: s.Name, Seed: s.Config.Seed,
		SimulatedS: now.Seconds(), WarmupS: warmup.Seconds(), Interrupted: now < s.Duration, IntervalS: s.Interval.Seconds(),
		Totals: Totals{st.Packets, st.PacketHops, st.Events, st.Marks, st.BECNs, st.Discards, fmt.Sprintf("%016x", st.Digest)},
	}
	counted := now - warmup
	byName := make(map[string]int)
	for i := range s.Tenants {
		byName[s.Tenants[i].Name] = i
		res.Tenants = append(res.Tenants, TenantResult{Name: s.Tenants[i].Name, Weight: s.Tenants[i].Weight})
	}
	var perQP []float64
	for i, id := range r.ids {
		f, spec := r.n.Flow(id), &s.Flows[i]
		fr := FlowResult{
			Tenant: spec.Tenant, Src: r.name(spec.Src), Dst: r.name(spec.Dst), QPs: spec.QPs,
			DeliveredBps: bps(f.DeliveredBytes-r.atStart[i], counted), BECNs: f.BECNs - r.becns[i],
			CompletedS: f.CompletedAt.Seconds(), RateBps: r.rates[i],
		}
		res.Flows = append(res.Flows, fr)
		t := &res.Tenants[byName[spec.Tenant]]
		t.QPs += spec.QPs
		t.DeliveredBps += fr.DeliveredBps
		t.BECNs += fr.BECNs
		t.Marked += f.Marked - r.marks[i]
		t.RateBps = addRates(t.RateBps, fr.RateBps)
		for _, b := range f.QPDelivered {
			perQP = append(perQP, float64(b))
		}
	}
	res.JainQPs = stats.Jain(perQP)
	res.shares()
	res.Links = r.links(counted)
	return res
}

func (r *batch) name(id ident.PortID) string {
	ref, _ := r.n.Topology().PortByID(id)
	return r.n.Topology().PortName(ref)
}

func addRates(sum, v []quantity.BitRate) []quantity.BitRate {
	if sum == nil {
		return slices.Clone(v)
	}
	for i := range v {
		sum[i] += v[i]
	}
	return sum
}

func (res *Result) shares() {
	var total quantity.BitRate
	var weighted []float64
	for _, t := range res.Tenants {
		total += t.DeliveredBps
		weighted = append(weighted, float64(t.DeliveredBps)/t.Weight.Float())
	}
	for i := range res.Tenants {
		if total > 0 {
			res.Tenants[i].Share = float64(res.Tenants[i].DeliveredBps) / float64(total)
		}
	}
	res.Jain = stats.Jain(weighted)
}

func (r *batch) links(counted quantity.Picoseconds) []LinkResult {
	topo := r.n.Topology()
	var out []LinkResult
	for i, p := range r.ports {
		c := r.n.Counters(p.Node, p.Port)
		if c.XmitBytes == r.sent[i] {
			continue
		}
		peer, _ := topo.Peer(p)
		link, _ := topo.Link(p)
		_, peak := r.n.QueuedBytes(p.Node, p.Port, 0)
		rate := bps(c.XmitBytes-r.sent[i], counted)
		out = append(out, LinkResult{
			Port: topo.PortName(p), Peer: topo.PortName(peer), CapacityBps: link.Rate, RateBps: rate,
			Use: float64(rate) / float64(link.Rate), PeakQueueBytes: peak, Marks: c.XmitFECN - r.portMks[i],
		})
	}
	slices.SortFunc(out, func(a, b LinkResult) int {
		if a.Port < b.Port {
			return -1
		}
		return 1
	})
	return out
}
