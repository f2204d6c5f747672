package cc

import (
	"math"

	"fairlane/internal/quantity"
)

// HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1): every data packet collects load and
// queue of each port on its path. The sender estimates the utilization of the busiest link from two consecutive
// acknowledgements, and sets its rate to bring this link to eta. This implementation uses rates, R = W / T, as the paper's
// simulator does: the rate paces, and the window W = BDP * R / line rate limits the bytes in flight.
type hpcc struct {
	ackClocked
	eta      float64
	rai      float64
	per      float64 // line rate that rai refers to; 0 means any
	low      float64
	maxStage int32
	window   uint8
	wire     bool
	fast     bool
	maxHops  int

	flows slots[hpccFlow]
	hops  [][]hpccHop // by page of slots: maxHops for each slot
}

// hpccFlow is the state of a flow, one cache line in addition to its hops.
type hpccFlow struct {
	ref  float64 // Rc, the reference rate, updated once per round trip, bit/s
	util float64 // U, smoothed utilisation of the busiest link
	line float64 // bit/s
	rai  float64 // bit/s
	rtt  quantity.Picoseconds
	bdp  int64
	last int64 // next byte to send at the last reference update
	// stage counts consecutive additive increases.
	stage int32
	seen  uint8 // number of hops in the last stack; 0 before the first
	unit  uint8 // wire: log2 of the NIC rate in units of 25 Gbit/s
}

// hpccHop is the stored state of a hop: the exact values or the header's fields.
type hpccHop struct {
	at    int64 // time stamp: ps, exact; ns and 24 bits in the header
	tx    uint32
	queue uint32
}

// Widths and units of the INT header of the HPCC simulator; byte counts have these units, multiplied by the NIC rate in units
// of 25 Gbit/s.
const (
	hpccExactHops  = 10
	hpccWireHops   = 5
	hpccTimeMask   = 1<<24 - 1 // ns
	hpccTxMask     = 1<<20 - 1
	hpccQueueMask  = 1<<17 - 1
	hpccTxUnit     = 128
	hpccQueueUnit  = 80
	hpccUnitRate   = 25 * quantity.Gbps
	hpccMaxUnit    = 5 // 800 Gbit/s
	hpccDataHeader = 42
	hpccAckHeader  = 28
)

func hpccSpec() Spec {
	return Spec{
		Name: "hpcc", Title: "HPCC: in-band telemetry, link utilisation held at eta",
		Source: "Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019",
		Params: []Param{
			{Name: "eta", Kind: ParamNumber, Default: 0.95, Min: 0.5, Max: 1,
				Doc: "target utilisation of the busiest link (HPCC, 3.2)"},
			{Name: "max_stage", Kind: ParamNumber, Default: 0, Min: 0, Max: 100,
				Doc: "additive increases in a row before a multiplicative step; the paper has 5, its simulator's runs 0"},
			{Name: "rai", Kind: ParamRate, Default: 40e6, Min: 0, Max: 10e9, Step: true,
				Doc: "additive increase W_AI / T, bit/s"},
			ratePerParam(100*quantity.Gbps, "rai"),
			minRateParam(),
			{Name: "fast_react", Kind: ParamFlag, Default: 1,
				Doc: "react to every acknowledgement, not only once per round trip (HPCC, 3.2)"},
			windowParam(windowVariable),
			{Name: "int", Kind: ParamWord, Default: 0, Words: []string{"exact", "wire"},
				Doc: "telemetry as exact values, or as the header of the paper's simulator carries it: 24 bits of " +
					"ns, 20 bits of 128 m bytes sent, 17 bits of 80 m bytes queued (m: NIC rate / 25 Gbit/s), " +
					"5 hops; rates are then whole bit/s"},
		},
		New: newHPCC,
	}
}

// HPCCPresets returns the parameter sets in use for HPCC. The caller may change them.
func HPCCPresets() []Preset {
	return []Preset{
		{
			Name: "hpcc-paper", Algorithm: "hpcc", Title: "the paper's five additive stages, exact telemetry",
			Source: "HPCC, SIGCOMM 2019, section 3.2", Values: Values{"max_stage": 5},
		}, {
			Name: "hpcc-peer", Algorithm: "hpcc", Title: "as the paper's ns-3 simulator runs it: telemetry cut to its header",
			Source: "ns-3 simulator of HPCC, 2021", Values: Values{"int": 1},
		},
	}
}

func newHPCC(v Values) (Algorithm, error) {
	if err := wholeUnits(v, 1, "stages", "max_stage"); err != nil {
		return nil, err
	}
	a := &hpcc{
		eta: v["eta"], rai: v["rai"], per: v[ratePer], low: v["min_rate"], maxStage: int32(v["max_stage"]),
		window: uint8(v["window"]), wire: v.Flag("int"), fast: v.Flag("fast_react"), maxHops: hpccExactHops,
	}
	if a.wire {
		a.maxHops = hpccWireHops
	}
	return a, nil
}

// Traits implements Algorithm: every data packet carries a stack of five hops of 8 bytes and a count of 2 bytes, for any path
// length. An acknowledgement of 46 bytes is padded to 60 without the stack, and has 88 bytes with it.
func (a *hpcc) Traits() Traits {
	return Traits{DataHeader: hpccDataHeader, AckHeader: hpccAckHeader, INT: true, Repace: true, MaxHops: a.maxHops}
}

func (a *hpcc) Reserve(n int) {
	a.flows.reserve(n)
	for len(a.hops)*slotPage < n {
		a.hops = append(a.hops, make([]hpccHop, slotPage*a.maxHops))
	}
}

func (a *hpcc) Start(slot int32, _ quantity.Picoseconds, f *Flow) Control {
	line := float64(f.LineRate)
	s := hpccFlow{
		ref: line, util: 1, line: line, rai: scaledStep(a.rai, a.per, line),
		rtt: max(quantity.Nanosecond, f.BaseRTT), bdp: max(1, f.BDP),
	}
	for s.unit < hpccMaxUnit && f.LineRate>>(s.unit+1) >= hpccUnitRate {
		s.unit++
	}
	*a.flows.at(slot) = s
	return Control{Rate: line, Window: windowFor(a.window, s.bdp, line, line)}
}

func (a *hpcc) Ack(slot int32, k *Ack, c *Control) {
	s := a.flows.at(slot)
	n := len(k.INT)
	if n == 0 || n > a.maxHops {
		return // not measurable: the path is too long for the header
	}
	full := k.Seq > s.last
	if !full && !a.fast {
		return
	}
	if int(s.seen) != n {
		a.store(slot, s, k.INT)
		s.last = max(s.last, k.Next)
		return
	}
	if u, tau, ok := a.measure(slot, s, k.INT); ok {
		rate, stage := a.rateFor(s, u, tau)
		c.Rate = rate
		c.Window = windowFor(a.window, s.bdp, rate, s.line)
		if full {
			s.ref, s.stage = rate, stage
		}
	}
	if full {
		s.last = max(s.last, k.Next)
	}
}

// measure returns the utilization of the busiest link since the previous stack and the time between the two stacks at that
// link, and stores the new stack (algorithm 1, MeasureInflight, lines 2 to 7).
func (a *hpcc) measure(slot int32, s *hpccFlow, stack []Hop) (u float64, tau quantity.Picoseconds, ok bool) {
	kept := a.kept(slot)
	for i := range stack {
		h, old := a.read(s, &stack[i]), kept[i]
		kept[i] = h
		dt, sent, queue := a.difference(s, h, old)
		link := float64(stack[i].Mbps) * 1e6
		if dt <= 0 || link == 0 {
			continue // the same packet again: no new information
		}
		if float64(dt)*link >= 8e12*math.MaxUint32 {
			continue // the byte count may have wrapped around
		}
		ok = true
		if hop := a.sending(sent, dt)/link + float64(queue)*s.line/link/float64(s.bdp); hop > u {
			u, tau = hop, dt
		}
	}
	return u, tau, ok
}

// sending returns the rate of a port that sent the given bytes in dt, bit/s.
func (a *hpcc) sending(sent uint32, dt quantity.Picoseconds) float64 {
	if a.wire {
		// Computed in seconds, as in the paper's simulator, so that a replay agrees to the bit.
		return float64(sent) * 8 / (float64(dt/quantity.Nanosecond) * 1e-9)
	}
	return float64(sent) * 8e12 / float64(dt)
}

// rateFor updates the smoothed estimate and returns the new rate with its stage (algorithm 1, lines 8 to 20).
func (a *hpcc) rateFor(s *hpccFlow, u float64, tau quantity.Picoseconds) (float64, int32) {
	tau = min(tau, s.rtt)
	if a.wire {
		// whole nanoseconds, in the paper simulator's order of operations
		t, d := float64(s.rtt/quantity.Nanosecond), float64(tau/quantity.Nanosecond)
		s.util = (float64(s.util*(t-d)) + float64(u*d)) / t
	} else {
		w := float64(tau) / float64(s.rtt)
		s.util = float64((1-w)*s.util) + float64(w*u)
	}
	k := s.util / a.eta
	if k >= 1 || s.stage >= a.maxStage {
		return boundRate(a.whole(s.ref/k)+a.whole(s.rai), a.low, s.line), 0
	}
	return boundRate(s.ref+a.whole(s.rai), a.low, s.line), s.stage + 1
}

// whole truncates a rate to whole bit/s where the paper's simulator does. An almost idle link gives an unbounded quotient, so
// the rate is limited to a value above all line rates.
func (a *hpcc) whole(rate float64) float64 {
	if a.wire {
		return math.Trunc(min(rate, float64(quantity.MaxBitRate)))
	}
	return rate
}

func (a *hpcc) store(slot int32, s *hpccFlow, stack []Hop) {
	kept := a.kept(slot)
	for i := range stack {
		kept[i] = a.read(s, &stack[i])
	}
	s.seen = uint8(len(stack))
}

func (a *hpcc) kept(slot int32) []hpccHop {
	from := int(slot%slotPage) * a.maxHops
	return a.hops[slot/slotPage][from : from+a.maxHops]
}

// read returns the values of a hop as the sender receives them in an acknowledgement.
func (a *hpcc) read(s *hpccFlow, h *Hop) hpccHop {
	if !a.wire {
		return hpccHop{at: int64(h.At), tx: h.Tx, queue: h.Queue}
	}
	return hpccHop{
		at:    int64(h.At/quantity.Nanosecond) & hpccTimeMask,
		tx:    h.Tx / (hpccTxUnit << s.unit) & hpccTxMask,
		queue: h.Queue / (hpccQueueUnit << s.unit) & hpccQueueMask,
	}
}

// difference returns the time and the bytes sent between two readings of a hop, and the smaller of the two queues, which
// filters out a transient burst (HPCC, 3.2).
func (a *hpcc) difference(s *hpccFlow, h, old hpccHop) (dt quantity.Picoseconds, sent, queue uint32) {
	if !a.wire {
		return quantity.Picoseconds(h.at - old.at), h.tx - old.tx, min(h.queue, old.queue)
	}
	dt = quantity.Picoseconds((h.at-old.at)&hpccTimeMask) * quantity.Nanosecond
	sent = (h.tx - old.tx) & hpccTxMask * (hpccTxUnit << s.unit)
	return dt, sent, min(h.queue, old.queue) * (hpccQueueUnit << s.unit)
}

// Gauges implements Algorithm: utilization U, and the reference rate Rc in bit/s.
func (a *hpcc) Gauges() []string { return []string{"u", "reference_bps"} }

func (a *hpcc) Read(slot int32, dst []float64) {
	dst[0], dst[1] = a.flows.at(slot).util, a.flows.at(slot).ref
}
