package cc

import (
	"math"

	"fairlane/internal/quantity"
)

// dcqcnPeer is DCQCN as in the public ns-3 simulators, where it is called "mlx": the simulator of HPCC (SIGCOMM 2019) and its
// descendants. An echo only sets two flags. The first echo of a flow starts the alpha timer and, one nanosecond later, the cut
// timer. Both then run freely: alpha changes at every expiry of the alpha timer, and the cut timer cuts if its flag is set.
// Increases follow from time only, counted from the last cut. Rates are truncated to whole bit/s.
//
// At the same instant alpha precedes the cut. The increase precedes the cut if its period is the longer one, because ns-3
// processes simultaneous events in the order of scheduling; otherwise the cut is first and restarts the increase timer. Timers
// precede acknowledgements.
type dcqcnPeer struct {
	rp     RPParams
	alpha  alphaFilter
	cut    quantity.Picoseconds
	inc    quantity.Picoseconds
	first  float64 // fraction of the rate that remains after the first echo
	clamp  bool
	window uint8
	flows  slots[dcqcnPeerFlow]
}

type dcqcnPeerFlow struct {
	rpClock
	bdp int64
}

const peerSource = "ns-3 simulator of the HPCC paper (SIGCOMM 2019)"

// peerOffset is the delay between the starts of the alpha timer and the cut timer.
const peerOffset = quantity.Nanosecond

func dcqcnPeerSpec() Spec {
	return Spec{
		Name: "dcqcn-peer", Title: "DCQCN as the ns-3 simulators model it", Source: peerSource,
		Params: []Param{
			{Name: "g", Default: 1.0 / 256, Min: 1e-6, Max: 1, Doc: "gain of alpha; " + peerSource},
			spanParam("alpha_timer", 1*quantity.Microsecond, "period of alpha; "+peerSource),
			spanParam("cut_timer", 4*quantity.Microsecond, "period at which a flow may be cut; "+peerSource),
			spanParam("increase_timer", 300*quantity.Microsecond, "time between increases, from the last cut on; "+peerSource),
			{Name: "fast_recovery_stages", Default: 1, Min: 0, Max: 60000, Doc: "increases before the additive one; " + peerSource},
			stepParam("r_ai", 20e6, "additive increase of the target; "+peerSource),
			stepParam("r_hai", 200e6, "hyper increase of the target; "+peerSource),
			ratePerParam(100*quantity.Gbps, "r_ai and r_hai"),
			{Name: "rate_on_first_cnp", Default: 1, Min: 0.001, Max: 1, Doc: "share of the rate that the first echo leaves; " + peerSource},
			{Name: "clamp_target", Kind: ParamFlag, Doc: "every cut lowers the target; otherwise only after an increase; " + peerSource},
			rateParam("min_rate", 1e9, "minimum rate; "+peerSource),
			windowParam(windowNone),
		},
		New: newDCQCNPeer,
	}
}

func newDCQCNPeer(v Values) (Algorithm, error) {
	d := &dcqcnPeer{
		rp: RPParams{
			Reading: RecoverTimeOnly, G: v["g"], InitialAlpha: 1, Threshold: uint16(v["fast_recovery_stages"]),
			Floor: v["min_rate"],
		},
		alpha: newAlphaFilter(v.Span("alpha_timer"), 1-v["g"], v["g"], 1),
		cut:   v.Span("cut_timer"), inc: v.Span("increase_timer"),
		first: v["rate_on_first_cnp"], clamp: v.Flag("clamp_target"), window: uint8(v["window"]),
	}
	d.rp.setSteps(v)
	return d, nil
}

func (d *dcqcnPeer) Traits() Traits { return Traits{ECN: true, CNP: true, Quiet: true} }
func (d *dcqcnPeer) Reserve(n int)  { d.flows.reserve(n) }

func (d *dcqcnPeer) Start(slot int32, now quantity.Picoseconds, f *Flow) Control {
	line := float64(f.LineRate)
	s := d.flows.at(slot)
	*s = dcqcnPeerFlow{rpClock: rpClock{RPState: NewRPState(&d.rp, line), line: line, seen: now}, bdp: f.BDP}
	return Control{Rate: line, Window: windowFor(d.window, f.BDP, line, line)}
}

func (d *dcqcnPeer) Settle(slot int32, now quantity.Picoseconds, c *Control) {
	f := d.flows.at(slot)
	f.seen = now
	if !f.is(rpActive) {
		return
	}
	cuts := f.is(rpCutDue) && f.cutAt <= now
	if cuts {
		last := f.cutAt
		if d.inc <= d.cut {
			last--
		}
		f.incAt = f.expire(&d.rp, f.line, noStop, f.incAt, last, d.inc)
		f.settleAlpha(f.cutAt, &d.alpha)
		d.lower(&f.rpClock)
	}
	if cuts || f.incAt <= now {
		f.incAt = f.expire(&d.rp, f.line, noStop, f.incAt, now, d.inc)
		d.allow(f, c)
	}
	f.settleAlpha(now, &d.alpha)
}

// lower handles an expiry of the cut timer with a pending echo.
func (d *dcqcnPeer) lower(f *rpClock) {
	if d.clamp || f.TimeStage > 0 {
		f.Target = f.Rate
	}
	f.Rate = max(math.Floor(f.Rate*(1-f.alphaNow(f.cutAt, &d.alpha)/2)), min(d.rp.Floor, f.line))
	f.TimeStage = 0
	f.flags &^= rpCutDue
	f.incAt = f.cutAt + d.inc
}

func (d *dcqcnPeer) allow(f *dcqcnPeerFlow, c *Control) {
	c.Rate, c.Window = f.Rate, windowFor(d.window, f.bdp, f.Rate, f.line)
}

func (d *dcqcnPeer) Sent(int32, quantity.Picoseconds, int, *Control) {}

func (d *dcqcnPeer) Ack(slot int32, a *Ack, c *Control) {
	if a.Marked > 0 {
		d.notified(d.flows.at(slot), a.Now, c)
	}
}

func (d *dcqcnPeer) Notify(slot int32, n *Notification, c *Control) {
	if n.Kind == NotifyCNP {
		d.notified(d.flows.at(slot), n.Now, c)
	}
}

func (d *dcqcnPeer) notified(f *dcqcnPeerFlow, now quantity.Picoseconds, c *Control) {
	if f.is(rpActive) {
		f.rpClock.notified(now, d.cut, &d.alpha)
		return
	}
	f.begin(now, peerOffset, d.cut, d.rp.InitialAlpha)
	f.Rate = max(math.Floor(f.Rate*d.first), min(d.rp.Floor, f.line))
	f.Target = f.Rate
	d.allow(f, c)
}

func (d *dcqcnPeer) Gauges() []string { return rpGauges() }

func (d *dcqcnPeer) Read(slot int32, dst []float64) {
	f := d.flows.at(slot)
	dst[0], dst[1], dst[2] = f.Target, f.alphaNow(f.seen, &d.alpha), float64(f.TimeStage)
}
