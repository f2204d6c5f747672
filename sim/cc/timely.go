package cc

import (
	"fmt"

	"fairlane/internal/quantity"
)

// TIMELY (Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, algorithm 1): between a low
// and a high threshold, the rate follows the gradient of the round-trip time, with one update per round trip, as in the HPCC
// paper's simulator.
type timely struct {
	ackClocked
	gain   float64 // alpha of the paper: weight of a new difference
	beta   float64
	minRTT float64 // ps
	tLow   quantity.Picoseconds
	tHigh  quantity.Picoseconds
	ai     float64
	hai    float64
	per    float64 // line rate that ai and hai refer to; 0 means any
	steps  int32
	low    float64
	window uint8

	flows slots[timelyFlow]
}

type timelyFlow struct {
	rate  float64 // bit/s
	line  float64
	scale float64              // factor of the increase steps
	diff  float64              // smoothed difference between round trips, ps
	rtt   quantity.Picoseconds // round trip time at the last update
	last  int64                // next byte to send at the last update
	bdp   int64
	stage int32 // consecutive increases
	seen  bool
}

func timelySpec() Spec {
	return Spec{
		Name: "timely", Title: "TIMELY: gradient of the round-trip time",
		Source: "Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015, algorithm 1",
		Params: []Param{
			{Name: "alpha", Kind: ParamNumber, Default: 0.875, Min: 0, Max: 1,
				Doc: "weight of a new difference of round-trip times in the smoothed one; 0.875 as in the HPCC paper's simulator"},
			{Name: "beta", Kind: ParamNumber, Default: 0.8, Min: 0, Max: 1, Doc: "strength of a decrease (TIMELY, algorithm 1); 0.8 as in the HPCC paper's simulator"},
			{Name: "min_rtt", Kind: ParamDuration, Default: float64(20 * quantity.Microsecond),
				Min: float64(100 * quantity.Nanosecond), Max: float64(quantity.Second),
				Doc: "normalises the gradient: smoothed difference / min_rtt; 20 us as in the HPCC paper's simulator"},
			{Name: "t_low", Kind: ParamDuration, Default: float64(50 * quantity.Microsecond),
				Min: 0, Max: float64(quantity.Second), Doc: "below this round-trip time the rate only grows; the paper has 50 us for 10 Gbit/s"},
			{Name: "t_high", Kind: ParamDuration, Default: float64(500 * quantity.Microsecond),
				Min: 0, Max: float64(quantity.Second), Doc: "above this round-trip time the rate only falls; the paper has 500 us for 10 Gbit/s"},
			{Name: "ai", Kind: ParamRate, Default: 100e6, Min: 0, Max: 100e9, Step: true,
				Doc: "additive increase, bit/s (the paper: 10 Mbit/s at 10 Gbit/s)"},
			{Name: "hai", Kind: ParamRate, Default: 500e6, Min: 0, Max: 100e9, Step: true,
				Doc: "hyperactive increase, bit/s (50 Mbit/s at 10 Gbit/s in the HPCC paper's simulator: five additive steps)"},
			ratePerParam(100*quantity.Gbps, "ai and hai"),
			{Name: "hai_after", Kind: ParamNumber, Default: 5, Min: 0, Max: 1000,
				Doc: "increases in a row before hyperactive increase"},
			minRateParam(),
			windowParam(windowNone),
		},
		New: newTimely,
	}
}

func newTimely(v Values) (Algorithm, error) {
	if err := wholeUnits(v, 1, "increases", "hai_after"); err != nil {
		return nil, err
	}
	a := &timely{
		gain: v["alpha"], beta: v["beta"], minRTT: v["min_rtt"], tLow: v.Span("t_low"), tHigh: v.Span("t_high"),
		ai: v["ai"], hai: v["hai"], per: v[ratePer], steps: int32(v["hai_after"]), low: v["min_rate"], window: uint8(v["window"]),
	}
	if a.tLow > a.tHigh {
		return nil, fmt.Errorf("t_low %s: want at most t_high, which is %s", a.tLow, a.tHigh)
	}
	return a, nil
}

// Traits implements Algorithm: a time stamp of 8 bytes in every data packet. It returns in the padding of the acknowledgement,
// whose size stays 60 bytes.
func (a *timely) Traits() Traits { return Traits{DataHeader: 8} }

func (a *timely) Reserve(n int) { a.flows.reserve(n) }

func (a *timely) Start(slot int32, _ quantity.Picoseconds, f *Flow) Control {
	line := float64(f.LineRate)
	*a.flows.at(slot) = timelyFlow{rate: line, line: line, scale: scaledStep(1, a.per, line), bdp: max(1, f.BDP)}
	return Control{Rate: line, Window: windowFor(a.window, max(1, f.BDP), line, line)}
}

func (a *timely) Ack(slot int32, k *Ack, c *Control) {
	s := a.flows.at(slot)
	if k.Seq <= s.last {
		return // within the round trip of the last update
	}
	if s.seen {
		a.update(s, k.RTT)
		c.Rate = s.rate
		c.Window = windowFor(a.window, s.bdp, s.rate, s.line)
	}
	s.seen, s.rtt, s.last = true, k.RTT, max(s.last, k.Next)
}

// update handles one sample of the round-trip time (algorithm 1).
func (a *timely) update(s *timelyFlow, rtt quantity.Picoseconds) {
	s.diff = float64((1-a.gain)*s.diff) + float64(a.gain*float64(rtt-s.rtt))
	gradient := s.diff / a.minRTT
	switch {
	case rtt < a.tLow:
		a.raise(s)
	case rtt > a.tHigh:
		a.cut(s, float64(a.beta*(1-float64(a.tHigh)/float64(rtt))))
	case gradient <= 0:
		a.raise(s)
	default:
		a.cut(s, float64(a.beta*gradient))
	}
}

func (a *timely) raise(s *timelyFlow) {
	step := a.ai
	if s.stage >= a.steps {
		step = a.hai
	}
	s.rate = boundRate(s.rate+float64(step*s.scale), a.low, s.line)
	s.stage = min(s.stage+1, a.steps)
}

func (a *timely) cut(s *timelyFlow, by float64) {
	s.rate = boundRate(s.rate*max(0, 1-by), a.low, s.line)
	s.stage = 0
}

// Gauges implements Algorithm: the last sample of the round-trip time in us, and the normalized gradient.
func (a *timely) Gauges() []string { return []string{"rtt_us", "gradient"} }

func (a *timely) Read(slot int32, dst []float64) {
	s := a.flows.at(slot)
	dst[0], dst[1] = float64(s.rtt)/float64(quantity.Microsecond), s.diff/a.minRTT
}
