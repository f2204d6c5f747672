package cc

import (
	"fmt"
	"math"

	"fairlane/internal/quantity"
)

// Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020,
// algorithm 1): AIMD of a window of packets around a target for the fabric delay. The target grows with the length of the
// path and, for flows with small windows, with the estimated number of flows at the bottleneck. A window below one packet
// becomes a gap between packets.
//
// Only the fabric delay is controlled. The model's hosts acknowledge immediately. The paper's second window, for the delay of
// the remote host, is therefore omitted. The paper's retransmission timer is omitted too, because it belongs to the
// transport.
type swift struct {
	ackClocked
	ai     float64 // packets per round trip
	beta   float64
	mdf    float64
	base   quantity.Picoseconds
	perHop quantity.Picoseconds
	spread quantity.Picoseconds // fs_range
	slope  float64              // factor of 1/sqrt(cwnd) in the flow term, ps
	offset float64              // ps
	least  float64
	most   float64 // 0 means derived from line rate and target
	start  float64 // 0 means the bandwidth-delay product

	flows slots[swiftFlow]
}

// swiftFlow is the state of a flow: one cache line.
type swiftFlow struct {
	cwnd    float64              // packets
	most    float64              // packets
	line    float64              // bit/s
	fixed   quantity.Picoseconds // target without the flow term
	rtt     quantity.Picoseconds // round trip time of the last acknowledgement
	cut     quantity.Picoseconds // time of the last decrease
	payload int32                // bytes
	wire    int32                // bytes
}

func swiftSpec() Spec {
	us := float64(quantity.Microsecond)
	return Spec{
		Name: "swift", Title: "Swift: AIMD around a target for the fabric delay",
		Source: "Kumar et al., Swift: Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020, algorithm 1",
		Params: []Param{
			{Name: "ai", Kind: ParamNumber, Default: 1, Min: 0, Max: 1000, Doc: "additive increase, packets per round trip"},
			{Name: "beta", Kind: ParamNumber, Default: 0.8, Min: 0, Max: 1,
				Doc: "multiplicative decrease: the window falls by beta * (delay - target) / delay"},
			{Name: "max_mdf", Kind: ParamNumber, Default: 0.5, Min: 0, Max: 1, Doc: "largest decrease at once, and that after a loss"},
			{Name: "base_target", Kind: ParamDuration, Default: 0, Min: 0, Max: float64(quantity.Second),
				Doc: "target delay of a path before scaling; 0 is the flow's base round trip (ours: the paper has one number, for its own network)"},
			{Name: "hop_target", Kind: ParamDuration, Default: us, Min: 0, Max: float64(quantity.Millisecond),
				Doc: "added to the target for each switch of the path (topology scaling, Swift, section 3.5); the default is ours"},
			{Name: "fs_range", Kind: ParamDuration, Default: 20 * us, Min: 0, Max: float64(quantity.Second),
				Doc: "the most that flow scaling adds to the target (Swift, section 3.5); the default is ours"},
			{Name: "fs_min_cwnd", Kind: ParamNumber, Default: 0.1, Min: 0.001, Max: 1000,
				Doc: "window at and below which flow scaling adds all of fs_range, packets"},
			{Name: "fs_max_cwnd", Kind: ParamNumber, Default: 100, Min: 0.001, Max: 1e6,
				Doc: "window at and above which flow scaling adds nothing, packets (Swift, section 3.5); the default is ours"},
			{Name: "min_cwnd", Kind: ParamNumber, Default: 0.01, Min: 0.001, Max: 1, Doc: "smallest window, packets"},
			{Name: "max_cwnd", Kind: ParamNumber, Default: 0, Min: 0, Max: 1e6,
				Doc: "largest window, packets; 0 is what the line carries in the largest target delay"},
			{Name: "start_cwnd", Kind: ParamNumber, Default: 0, Min: 0, Max: 1e6,
				Doc: "first window, packets; 0 is the bandwidth-delay product"},
		},
		New: newSwift,
	}
}

func newSwift(v Values) (Algorithm, error) {
	a := &swift{
		ai: v["ai"], beta: v["beta"], mdf: v["max_mdf"], base: v.Span("base_target"), perHop: v.Span("hop_target"),
		spread: v.Span("fs_range"), least: v["min_cwnd"], most: v["max_cwnd"], start: v["start_cwnd"],
	}
	low, high := v["fs_min_cwnd"], v["fs_max_cwnd"]
	if low >= high {
		return nil, fmt.Errorf("fs_min_cwnd %g: want less than fs_max_cwnd, which is %g", low, high)
	}
	if a.most != 0 && a.most < 1 {
		return nil, fmt.Errorf("max_cwnd %g: want 0 or at least 1 packet", a.most)
	}
	a.slope = float64(a.spread) / (1/math.Sqrt(low) - 1/math.Sqrt(high))
	a.offset = -a.slope / math.Sqrt(high)
	return a, nil
}

// Traits implements Algorithm: no header bytes, because the sender stores the send times.
func (a *swift) Traits() Traits { return Traits{} }

func (a *swift) Reserve(n int) { a.flows.reserve(n) }

func (a *swift) Start(slot int32, now quantity.Picoseconds, f *Flow) Control {
	s := swiftFlow{
		line: float64(f.LineRate), rtt: max(1, f.BaseRTT), fixed: a.base,
		payload: int32(max(1, f.Payload)), wire: int32(max(1, f.Wire)),
	}
	if s.fixed == 0 {
		s.fixed = s.rtt
	}
	s.fixed += quantity.Picoseconds(max(0, f.Hops-1)) * a.perHop
	s.cut = now - s.rtt
	s.most = a.most
	if s.most == 0 {
		s.most = max(1, s.line*(s.fixed+a.spread).Seconds()/8/float64(s.wire))
	}
	s.cwnd = a.start
	if s.cwnd == 0 {
		s.cwnd = float64(f.BDP) / float64(s.payload)
	}
	s.cwnd = min(max(s.cwnd, a.least), s.most)
	*a.flows.at(slot) = s
	var c Control
	s.control(&c)
	return c
}

func (a *swift) Ack(slot int32, k *Ack, c *Control) {
	s := a.flows.at(slot)
	s.rtt = max(1, k.RTT)
	target := a.target(s)
	before := s.cwnd
	switch {
	case k.Nack:
		a.decrease(s, k.Now, a.mdf)
	case float64(k.RTT) < target:
		s.cwnd += a.increase(s, float64(k.Acked)/float64(s.payload))
	default:
		over := (float64(k.RTT) - target) / float64(s.rtt)
		a.decrease(s, k.Now, min(a.beta*over, a.mdf))
	}
	s.cwnd = min(max(s.cwnd, a.least), s.most)
	if s.cwnd < before {
		// The paper prints "not above". With that condition, acknowledgements too early for a cut would postpone the next cut
		// as long as they arrive.
		s.cut = k.Now
	}
	s.control(c)
}

// target returns the target for the fabric delay, ps (section 3.5: topology- and flow-based scaling).
func (a *swift) target(s *swiftFlow) float64 {
	scaling := float64(a.slope/math.Sqrt(s.cwnd)) + a.offset
	return float64(s.fixed) + max(0, min(scaling, float64(a.spread)))
}

// increase returns the growth of the window for the acknowledged packets: ai per round trip.
func (a *swift) increase(s *swiftFlow, acked float64) float64 {
	if s.cwnd >= 1 {
		return a.ai * acked / s.cwnd
	}
	return a.ai * acked
}

// decrease reduces the window by a fraction, at most once per round trip.
func (a *swift) decrease(s *swiftFlow, now quantity.Picoseconds, part float64) {
	if now-s.cut >= s.rtt {
		s.cwnd *= 1 - part
	}
}

// control converts the window to a Control. A window of one packet or more allows whole packets in flight at line rate; a
// smaller one allows one packet per rtt / cwnd.
func (s *swiftFlow) control(c *Control) {
	c.Rate = s.line
	c.Window = int64(s.payload) * int64(max(1, s.cwnd))
	if s.cwnd < 1 {
		c.Rate = min(s.line, s.cwnd*float64(s.wire)*8e12/float64(s.rtt))
	}
}

// Gauges implements Algorithm: the window in packets, and the target delay in us.
func (a *swift) Gauges() []string { return []string{"cwnd", "target_us"} }

func (a *swift) Read(slot int32, dst []float64) {
	s := a.flows.at(slot)
	dst[0], dst[1] = s.cwnd, a.target(s)/float64(quantity.Microsecond)
}
