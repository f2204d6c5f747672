package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/ether"
	"fairlane/sim/workload"
)

// EtherResult holds the measurements of a run of an Ethernet scenario. Rates of tenants and flows count acknowledged payload;
// rates of links count all bytes on the wire. Both are averages from WarmupS to SimulatedS. All other values are for the
// whole run.
type EtherResult struct {
	Scenario   string  `json:"scenario"`
	Plane      string  `json:"plane"`
	Seed       uint64  `json:"seed"`
	SimulatedS float64 `json:"simulated_s"`
	WarmupS    float64 `json:"warmup_s"`
	// Threads is the number of threads of the run. The order of simultaneous events depends on it, and so does the digest.
	Threads int `json:"threads"`
	// Finished means that all flows completed; Interrupted means that the caller stopped the run.
	Finished    bool `json:"finished"`
	Interrupted bool `json:"interrupted"`

	Flows    FlowCounts          `json:"flows"`
	FCT      stats.Summary       `json:"fct_us"`
	Slowdown stats.SlowdownRow   `json:"slowdown"`
	BySize   []stats.SlowdownRow `json:"slowdown_by_size"`
	ByTag    []TagSlowdown       `json:"slowdown_by_tag,omitempty"` // by trace column and tag
	Tenants  []EtherTenant       `json:"tenants"`
	TimesS   []float64           `json:"times_s"` // ends of the intervals of the tenants' rates
	Listed   []EtherFlowResult   `json:"listed_flows"`
	TagNames []string            `json:"tag_columns,omitempty"` // tag columns of the traces
	Jobs     []CollectiveReport  `json:"collectives,omitempty"`
	RTT      stats.Summary       `json:"rtt_us"`
	Queues   QueueResult         `json:"queues"`
	Links    []EtherLink         `json:"links"` // link directions with traffic, by name
	Totals   EtherTotals         `json:"totals"`
	Curves   EtherCurves         `json:"-"`

	// Jain is the Jain index of the tenants' rates divided by their weights over contended time (ContendedS), or over the whole
	// time if there was none. JainFlows is the Jain index of the flows' mean rates.
	Jain      float64 `json:"jain"`
	JainFlows float64 `json:"jain_flows"`
	// ContendedS is the time in which all tenants had active flows; MaxShareError is the largest share error of a tenant in
	// that time.
	ContendedS    float64 `json:"contended_s"`
	MaxShareError float64 `json:"max_share_error"`
	// Utilisation is the utilization of the busiest link direction.
	Utilisation float64 `json:"utilisation"`
}

// EtherCurves are distributions for charts.
type EtherCurves struct {
	FCT, RTT *stats.Histogram // picoseconds
	Queue    *stats.Histogram // bytes, of samples with a nonempty queue
}

// FlowCounts are numbers of flows.
type FlowCounts struct {
	Completed  uint64 `json:"completed"`
	Active     int    `json:"active"` // flows active at the end of the run
	PeakActive int    `json:"peak_active"`
}

// EtherTenant holds the results of one tenant.
type EtherTenant struct {
	Name         string             `json:"name"`
	Weight       quantity.Weight    `json:"weight_milli"`
	Completed    uint64             `json:"completed"`
	DeliveredBps quantity.BitRate   `json:"delivered_bps"`
	Share        float64            `json:"share"`       // fraction of all tenants' delivered bytes
	ShareError   float64            `json:"share_error"` // relative to its weight, over contended time
	RateBps      []quantity.BitRate `json:"rate_bps"`
}

// EtherFlowResult is the result of one of the first flows, by number.
type EtherFlowResult struct {
	ID           int64            `json:"id"`
	TraceFlow    *int64           `json:"flow_id,omitempty"` // number in its trace
	Tags         []string         `json:"tags,omitempty"`    // in the order of TagColumns
	Tenant       string           `json:"tenant"`
	Src          string           `json:"src"`
	Dst          string           `json:"dst"`
	Bytes        int64            `json:"bytes"` // bytes acknowledged so far
	StartS       float64          `json:"start_s"`
	FCTUs        float64          `json:"fct_us,omitempty"` // for completed flows only
	Slowdown     float64          `json:"slowdown,omitempty"`
	DeliveredBps quantity.BitRate `json:"delivered_bps"` // mean since the start of the flow
}

// CollectiveReport is the result of a collective.
type CollectiveReport struct {
	Kind     string  `json:"kind"`
	Ranks    int     `json:"ranks"`
	Bytes    int64   `json:"bytes"`
	Rounds   int     `json:"rounds"`
	Finished bool    `json:"finished"`
	RoundUs  float64 `json:"round_us"` // mean duration of a round
	AlgoBps  float64 `json:"algorithm_bps"`
	BusBps   float64 `json:"bus_bps"`
}

// QueueResult is the distribution of the bytes in queues of switch ports, sampled every SampleUs.
type QueueResult struct {
	SampleUs float64 `json:"sample_us"`
	Samples  uint64  `json:"samples"`
	NonEmpty float64 `json:"non_empty"` // fraction of samples with a nonempty queue
	Mean     float64 `json:"mean_bytes"`
	P50      int64   `json:"p50_bytes"`
	P80      int64   `json:"p80_bytes"`
	P99      int64   `json:"p99_bytes"`
	Max      int64   `json:"max_bytes"`      // over the samples
	Peak     int64   `json:"peak_bytes"`     // at any time
	BusyP50  int64   `json:"busy_p50_bytes"` // over the samples with a nonempty queue
	BusyP80  int64   `json:"busy_p80_bytes"`
	BusyP99  int64   `json:"busy_p99_bytes"`
}

// EtherLink is one link direction, named after the transmitting port.
type EtherLink struct {
	Port           string           `json:"port"`
	Peer           string           `json:"peer"`
	CapacityBps    quantity.BitRate `json:"capacity_bps"`
	RateBps        quantity.BitRate `json:"rate_bps"`
	Use            float64          `json:"use"`
	PeakQueueBytes int64            `json:"peak_queue_bytes"`
	Marks          uint64           `json:"marks"`
	Drops          uint64           `json:"drops"`
	Pauses         uint64           `json:"pauses"` // pause frames sent to the far end
	PausedS        float64          `json:"paused_s"`
}

// EtherTotals are totals of the whole run.
type EtherTotals struct {
	Packets       uint64  `json:"packets"`      // delivered data packets
	SentPackets   uint64  `json:"sent_packets"` // data packets sent on their first link, including resent ones
	Hops          uint64  `json:"packet_hops"`  // links traversed, summed over all sent packets
	MeanHops      float64 `json:"mean_hops"`    // Hops / SentPackets
	Events        uint64  `json:"events"`
	SentBytes     uint64  `json:"sent_bytes"`     // payload, including resent bytes
	AcceptedBytes uint64  `json:"accepted_bytes"` // payload that was new to its receiver
	ResentBytes   uint64  `json:"resent_bytes"`   // sent but neither accepted nor in flight
	Dropped       uint64  `json:"dropped"`        // dropped data packets
	Nacks         uint64  `json:"nacks"`
	Timeouts      uint64  `json:"timeouts"`
	Marks         uint64  `json:"marks"`
	CNPs          uint64  `json:"cnps"`
	FCNPs         uint64  `json:"fcnps"`
	Pauses        uint64  `json:"pauses"`
	PausedS       float64 `json:"paused_s"` // sum over all ports and classes
	Digest        string  `json:"digest"`   // equal digests mean the same packets at the same times
}

// result returns the report of the run so far.
func (r *etherRun) result() *EtherResult {
	st := r.sim.Stats()
	end := r.end()
	rtt := r.rtts()
	res := &EtherResult{
		Scenario: r.s.Name, Plane: PlaneEthernet, Seed: r.s.Config.Seed, SimulatedS: end.Seconds(), WarmupS: r.s.Warmup.Seconds(), Threads: r.s.Ethernet.threads(),
		Finished: r.sim.Finished(), Flows: FlowCounts{st.Completed, st.Active, st.PeakActive},
		FCT: r.fct.Summary(1e6), Slowdown: r.slow.Total(), BySize: r.slow.Rows(), ByTag: r.tagged.rows(), TagNames: r.tagged.columns, RTT: rtt.Summary(1e6),
		Queues: r.queueResult(), Totals: r.totals(&st), Curves: EtherCurves{FCT: r.fct, RTT: rtt, Queue: r.busy},
	}
	r.tenantResults(res, end)
	r.listedResults(res, end)
	res.Links = r.links(end - r.warmed)
	for i := range res.Links {
		l := &res.Links[i]
		res.Utilisation = max(res.Utilisation, l.Use)
		res.Queues.Peak = max(res.Queues.Peak, l.PeakQueueBytes)
	}
	for _, c := range r.sim.Collectives() {
		res.Jobs = append(res.Jobs, collectiveReport(c))
	}
	return res
}

// rtts returns the round trip times of all parts.
func (r *etherRun) rtts() *stats.Histogram {
	if len(r.rtt) == 1 {
		return r.rtt[0]
	}
	all, err := stats.NewHistogram(stats.DefaultRelativeError)
	for _, h := range r.rtt {
		if err == nil {
			err = all.Merge(h) // both have the same relative error, so Merge cannot fail
		}
	}
	r.keep(err)
	return all
}

func collectiveReport(c *workload.Collective) CollectiveReport {
	got, done := c.Result()
	return CollectiveReport{
		Kind: got.Kind.String(), Ranks: got.Ranks, Bytes: got.Bytes, Rounds: got.Rounds, Finished: done,
		RoundUs: got.Total.Seconds() * 1e6 / float64(max(1, got.Rounds)), AlgoBps: got.AlgorithmBandwidth(), BusBps: got.BusBandwidth(),
	}
}

func (r *etherRun) totals(st *ether.Stats) EtherTotals {
	_, flying := r.sim.InFlight()
	t := EtherTotals{
		Packets: st.DeliveredPackets, SentPackets: st.SentPackets, Hops: st.PacketHops, Events: st.Events, SentBytes: st.SentBytes, AcceptedBytes: st.AcceptedBytes,
		Dropped: st.DroppedPackets, Nacks: st.Nacks, Timeouts: st.Timeouts, Marks: st.Marks, CNPs: st.CNPs, FCNPs: st.FCNPs,
		Pauses: st.Pauses, PausedS: st.PausedTime.Seconds(), Digest: fmt.Sprintf("%016x", st.Digest),
	}
	if spent := st.AcceptedBytes + flying; st.SentBytes > spent {
		t.ResentBytes = st.SentBytes - spent
	}
	if st.SentPackets > 0 {
		t.MeanHops = float64(st.PacketHops) / float64(st.SentPackets)
	}
	return t
}

func (r *etherRun) queueResult() QueueResult {
	q, busy := r.queue, r.busy
	res := QueueResult{
		SampleUs: r.s.Ethernet.Sample.Seconds() * 1e6, Samples: q.Count(), Mean: q.Mean(),
		P50: q.Quantile(0.5), P80: q.Quantile(0.8), P99: q.Quantile(0.99), Max: q.Max(),
		BusyP50: busy.Quantile(0.5), BusyP80: busy.Quantile(0.8), BusyP99: busy.Quantile(0.99),
	}
	if q.Count() > 0 {
		res.NonEmpty = float64(busy.Count()) / float64(q.Count())
	}
	return res
}

// tenantResults converts the tenants' delivered bytes at each time to rates and shares.
func (r *etherRun) tenantResults(res *EtherResult, end quantity.Picoseconds) {
	for _, p := range r.points[1:] {
		res.TimesS = append(res.TimesS, p.at.Seconds())
	}
	var sum float64
	var weights []quantity.Weight
	var contended []quantity.BitRate
	for i := range r.s.Tenants {
		t := EtherTenant{Name: r.s.Tenants[i].Name, Weight: r.s.Tenants[i].Weight, Completed: r.completed[i]}
		t.DeliveredBps = rateOf(r.bytes[i]-r.atWarmup[i], end-r.warmed)
		for k := 1; k < len(r.points); k++ {
			a, z := &r.points[k-1], &r.points[k]
			t.RateBps = append(t.RateBps, rateOf(z.bytes[i]-a.bytes[i], z.at-a.at))
		}
		sum += float64(t.DeliveredBps)
		weights = append(weights, t.Weight)
		contended = append(contended, rateOf(r.contended[i], r.contendedFor))
		res.Tenants = append(res.Tenants, t)
	}
	res.ContendedS = r.contendedFor.Seconds()
	if errs, err := stats.WeightedShareErrors(contended, weights); err == nil && r.contendedFor > 0 {
		for i, e := range errs {
			res.Tenants[i].ShareError = e
			res.MaxShareError = max(res.MaxShareError, e)
		}
	}
	var normal []float64
	for i := range res.Tenants {
		t := &res.Tenants[i]
		if sum > 0 {
			t.Share = float64(t.DeliveredBps) / sum
		}
		rate := t.DeliveredBps
		if r.contendedFor > 0 {
			rate = contended[i]
		}
		normal = append(normal, float64(rate)/t.Weight.Float())
	}
	res.Jain = stats.Jain(normal)
}

func (r *etherRun) listedResults(res *EtherResult, end quantity.Picoseconds) {
	rates := r.flowRates
	for i := range r.listed {
		l := &r.listed[i]
		if !l.known {
			continue
		}
		f := EtherFlowResult{
			ID: int64(i), Tenant: r.s.Tenants[l.tenant].Name, Src: r.hostName(l.src), Dst: r.hostName(l.dst), Bytes: l.acked,
			StartS: l.start.Seconds(),
		}
		if l.origin != nil {
			f.TraceFlow, f.Tags = &l.origin.Flow, l.origin.Tags
		}
		took := end - l.start
		if l.fct > 0 {
			took = l.fct
			f.FCTUs, f.Slowdown = l.fct.Seconds()*1e6, float64(l.fct)/float64(l.ideal)
		}
		f.DeliveredBps = rateOf(l.acked, took)
		if l.fct == 0 && took > 0 {
			rates.Add(float64(f.DeliveredBps))
		}
		res.Listed = append(res.Listed, f)
	}
	if v := rates.CoV(); rates.Count() > 0 && !math.IsNaN(v) {
		res.JainFlows = 1 / (1 + float64(v*v))
	}
}

func rateOf(bytes int64, dt quantity.Picoseconds) quantity.BitRate {
	if dt <= 0 || bytes <= 0 {
		return 0
	}
	return quantity.BitRate(float64(bytes) * 8 / dt.Seconds())
}

// links returns every link direction that carried traffic.
func (r *etherRun) links(counted quantity.Picoseconds) []EtherLink {
	topo := r.s.Fabric
	var out []EtherLink
	for i, ref := range r.ports {
		st := r.sim.Port(ref)
		if st.TxBytes == 0 {
			continue
		}
		peer, _ := topo.Peer(ref)
		link, _ := topo.Link(ref)
		l := EtherLink{
			Port: topo.PortName(ref), Peer: topo.PortName(peer), CapacityBps: link.Rate, PeakQueueBytes: st.PeakQueue,
			Marks: st.Marks, Drops: st.Drops, Pauses: st.Pauses, PausedS: st.PausedTime.Seconds(),
		}
		l.RateBps = rateOf(int64(st.TxBytes-r.sent[i]), counted)
		l.Use = float64(l.RateBps) / float64(link.Rate)
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b EtherLink) int { return strings.Compare(a.Port, b.Port) })
	return out
}
