package cc

import (
	"fairlane/internal/quantity"
)

// dcqcn is DCQCN as in the paper (SIGCOMM 2015, section 3.1). A notification cuts the rate immediately and restarts every
// timer; alpha decays after a time without notifications; the timer and the byte counter cause increases. At the same
// instant, timers precede a notification. The alpha timer and the increase timer change different fields, so their order at
// the same instant does not matter.
type dcqcn struct {
	rp    RPParams
	alpha alphaFilter
	timer quantity.Picoseconds
	bytes int64
	gap   quantity.Picoseconds // minimum gap between notifications derived from echoes
	flows slots[dcqcnFlow]
}

type dcqcnFlow struct {
	RPState
	line    float64
	alphaAt quantity.Picoseconds // last notification: Alpha is its value after it
	incAt   quantity.Picoseconds
	echoAt  quantity.Picoseconds // last echo counted as a notification
	seen    quantity.Picoseconds
	sent    int64 // bytes since the last expiry of the byte counter, or since the last cut
	active  bool  // a notification has arrived
}

const paperSource = "DCQCN paper, SIGCOMM 2015"

func dcqcnSpec() Spec {
	return Spec{
		Name: "dcqcn", Title: "DCQCN as published", Source: paperSource + ", section 3.1 and table 14",
		Params: []Param{
			{Name: "g", Default: 1.0 / 256, Min: 1e-6, Max: 1, Doc: "gain of alpha; " + paperSource + ", equation 1"},
			{Name: "initial_alpha", Default: 1, Min: 0, Max: 1, Doc: "alpha before the first notification; " + paperSource},
			spanParam("alpha_timer", 55*quantity.Microsecond, "K: alpha decays after each such time without a notification; "+paperSource+", equation 2"),
			spanParam("increase_timer", 55*quantity.Microsecond, "T: time between increases; "+paperSource),
			{Name: "byte_counter", Default: 10e6, Min: 0, Max: 1 << 40, Doc: "B: bytes sent between increases, 0 is off; " + paperSource},
			{Name: "fast_recovery_stages", Default: 5, Min: 0, Max: 60000, Doc: "F; " + paperSource},
			compareParam(1),
			stepParam("r_ai", 40e6, "additive increase of the target; "+paperSource),
			stepParam("r_hai", 400e6, "hyper increase of the target; the paper gives none: ten times r_ai, as the vendor's defaults have it"),
			ratePerParam(0, "r_ai and r_hai"),
			hyperParam(),
			rateParam("min_rate", 10e6, "minimum rate; the paper gives none: IEEE 802.1Qau rpgMinRate"),
			gapParam("cnp_interval", 50*quantity.Microsecond, "N: least time between notifications made of echoes in acknowledgements; "+paperSource),
		},
		New: newDCQCN,
	}
}

func newDCQCN(v Values) (Algorithm, error) {
	d := &dcqcn{
		rp: RPParams{
			Reading: RecoverDCQCN, G: v["g"], Threshold: uint16(v["fast_recovery_stages"]), Below: v["stage_compare"] == 1,
			HyperByStage: v.Flag("hyper_by_stage"), Floor: v["min_rate"],
			InitialAlpha: v["initial_alpha"],
		},
		timer: v.Span("increase_timer"), bytes: int64(v["byte_counter"]), gap: v.Span("cnp_interval"),
	}
	d.rp.setSteps(v)
	d.alpha = newAlphaFilter(v.Span("alpha_timer"), 1-d.rp.G, d.rp.G, 1)
	return d, nil
}

func (d *dcqcn) Traits() Traits { return Traits{ECN: true, CNP: true, Quiet: true, Sent: d.bytes > 0} }
func (d *dcqcn) Reserve(n int)  { d.flows.reserve(n) }

func (d *dcqcn) Start(slot int32, now quantity.Picoseconds, f *Flow) Control {
	line := float64(f.LineRate)
	*d.flows.at(slot) = dcqcnFlow{RPState: NewRPState(&d.rp, line), line: line, echoAt: distantPast, seen: now}
	return Control{Rate: line}
}

func (d *dcqcn) Settle(slot int32, now quantity.Picoseconds, c *Control) {
	f := d.flows.at(slot)
	f.seen = now
	if f.active && f.incAt <= now {
		f.incAt = f.expire(&d.rp, f.line, noStop, f.incAt, now, d.timer)
	}
	c.Rate = f.Rate
}

func (d *dcqcn) Sent(slot int32, now quantity.Picoseconds, wire int, c *Control) {
	d.Settle(slot, now, c)
	f := d.flows.at(slot)
	if f.active && counted(&f.sent, wire, d.bytes) {
		f.ByteStep(&d.rp, f.line)
		c.Rate = f.Rate
	}
}

func (d *dcqcn) Ack(slot int32, a *Ack, c *Control) {
	f := d.flows.at(slot)
	if a.Marked > 0 && a.Now-f.echoAt >= d.gap {
		f.echoAt = a.Now
		d.notified(f, a.Now, c)
	}
}

func (d *dcqcn) Notify(slot int32, n *Notification, c *Control) {
	if n.Kind == NotifyCNP {
		d.notified(d.flows.at(slot), n.Now, c)
	}
}

func (d *dcqcn) notified(f *dcqcnFlow, now quantity.Picoseconds, c *Control) {
	f.Alpha = d.alphaNow(f, now)
	f.Cut(&d.rp, f.line)
	f.active, f.alphaAt, f.incAt, f.sent = true, now, now+d.timer, 0
	c.Rate = f.Rate
}

func (d *dcqcn) alphaNow(f *dcqcnFlow, now quantity.Picoseconds) float64 {
	if !f.active {
		return f.Alpha
	}
	return d.alpha.decay(f.Alpha, int64((now-f.alphaAt)/d.alpha.period))
}

func (d *dcqcn) Gauges() []string { return rpGauges() }

func (d *dcqcn) Read(slot int32, dst []float64) {
	f := d.flows.at(slot)
	dst[0], dst[1], dst[2] = f.Target, d.alphaNow(f, f.seen), float64(max(f.TimeStage, f.ByteStage))
}
