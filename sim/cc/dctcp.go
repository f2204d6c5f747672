package cc

import "fairlane/internal/quantity"

// DCTCP (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257) as in the RDMA simulators: a rate with a window
// instead of only a window. alpha follows the fraction of marked packets, with one update per window; a mark cuts the rate by
// alpha/2, at most once per window; a window without a cut adds one step. Switches mark at one threshold (Kmin = Kmax, 30 KB
// per 10 Gbit/s).
type dctcp struct {
	ackClocked
	g      float64
	ai     float64
	per    float64 // line rate that ai refers to; 0 means any
	alpha0 float64
	low    float64
	window uint8
	// bySequence counts the packets of the first window by the next sequence number, instead of the packets in flight.
	bySequence bool

	flows slots[dctcpFlow]
}

type dctcpFlow struct {
	rate    float64 // bit/s
	line    float64
	alpha   float64
	last    int64 // next byte to send at the last update of alpha
	high    int64 // next byte to send at the last cut
	bdp     int64
	payload int64
	marked  int32 // acknowledged packets with a mark since the last update
	batch   int32 // packets in flight at the last update, plus one; 0 before the first
	reduced bool  // no second cut, and no increase, until high is acknowledged
}

func dctcpSpec() Spec {
	return Spec{
		Name: "dctcp", Title: "DCTCP: fraction of ECN marks, rate with window",
		Source: "Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010; RFC 8257",
		Params: []Param{
			{Name: "g", Kind: ParamNumber, Default: 1.0 / 16, Min: 0, Max: 1,
				Doc: "weight of a new fraction of marks in alpha (RFC 8257, 4.2: 1/16)"},
			{Name: "ai", Kind: ParamRate, Default: 615e6, Min: 0, Max: 100e9, Step: true,
				Doc: "increase per window, bit/s: one packet of 1000 bytes per round trip of 13 us (the HPCC paper's simulator; RFC 8257 has one segment a round trip)"},
			ratePerParam(0, "ai"),
			{Name: "initial_alpha", Kind: ParamNumber, Default: 1, Min: 0, Max: 1,
				Doc: "alpha at the start (RFC 8257, 3.3: 1)"},
			{Name: "first_window", Kind: ParamWord, Words: []string{"in-flight", "sequence"},
				Doc: "packets of the first window: those in flight when it begins, or the next sequence number by the payload (the HPCC paper's simulator; model.preset ns3-hpcc sets it)"},
			minRateParam(),
			windowParam(windowVariable),
		},
		New: newDCTCP,
	}
}

func newDCTCP(v Values) (Algorithm, error) {
	return &dctcp{
		g: v["g"], ai: v["ai"], per: v[ratePer], low: v["min_rate"], window: uint8(v["window"]), alpha0: v["initial_alpha"],
		bySequence: v["first_window"] == 1,
	}, nil
}

// Traits implements Algorithm: only the two ECN bits and their echo.
func (a *dctcp) Traits() Traits { return Traits{ECN: true} }

func (a *dctcp) Reserve(n int) { a.flows.reserve(n) }

func (a *dctcp) Start(slot int32, _ quantity.Picoseconds, f *Flow) Control {
	line := float64(f.LineRate)
	*a.flows.at(slot) = dctcpFlow{
		rate: line, line: line, alpha: a.alpha0, bdp: max(1, f.BDP), payload: int64(max(1, f.Payload)),
	}
	return Control{Rate: line, Window: windowFor(a.window, max(1, f.BDP), line, line)}
}

func (a *dctcp) Ack(slot int32, k *Ack, c *Control) {
	s := a.flows.at(slot)
	s.marked += int32(k.Marked)
	boundary := k.Seq > s.last
	if boundary {
		a.observe(s, k)
	}
	if k.Seq > s.high {
		s.reduced = false
	}
	switch {
	case s.reduced:
		return
	case k.Marked > 0:
		s.rate = boundRate(s.rate*(1-s.alpha/2), a.low, s.line)
		s.reduced, s.high = true, max(s.high, k.Next)
	case boundary:
		s.rate = boundRate(s.rate+scaledStep(a.ai, a.per, s.line), a.low, s.line)
	default:
		return
	}
	c.Rate = s.rate
	c.Window = windowFor(a.window, s.bdp, s.rate, s.line)
}

// observe ends a window: alpha includes the fraction of its packets that were marked. The first boundary starts the first
// window; earlier marks count for that window.
func (a *dctcp) observe(s *dctcpFlow, k *Ack) {
	flight := k.InFlight()
	if s.batch == 0 && a.bySequence {
		flight = k.Next
	}
	if s.batch > 0 {
		fraction := min(1, float64(s.marked)/float64(s.batch))
		s.alpha = float64((1-a.g)*s.alpha) + float64(a.g*fraction)
		s.marked = 0
	}
	s.batch = int32(min(max(0, flight)/s.payload, 1<<30)) + 1
	s.last = max(s.last, k.Next)
}

// Gauges implements Algorithm: alpha is the smoothed fraction of marked packets.
func (a *dctcp) Gauges() []string { return []string{"alpha"} }

func (a *dctcp) Read(slot int32, dst []float64) { dst[0] = a.flows.at(slot).alpha }
