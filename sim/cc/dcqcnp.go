package cc

import (
	"fmt"

	"fairlane/internal/quantity"
)

// dcqcnP is DCQCN-p (S2): rates are fractions of line rate, every marked packet causes a notification, the sender itself
// limits the frequency of cuts, and a NIC keeps state for a bounded number of congested flows.
//
// S2's text leaves four points open:
//   - The two intervals have no printed value. They are parameters; defaults: DCQCN's notification interval and the timer.
//   - gap_from: the pseudo-code measures the gap from "the previous" notification. Here it starts at the last one acted upon:
//     if ignored notifications counted, a flow whose packets are all marked would be cut only once.
//   - late_cnp: after a long gap the pseudo-code cuts and raises, although the timer has raised the rate meanwhile. The
//     default only cuts.
//   - stage_compare: fast recovery lasts while the counters are below F (pseudo-code) or at most F (figure 4, where the flow
//     is back at full rate at send 9, not 8).
//
// When the timer and a packet coincide, the timer is processed first.
type dcqcnP struct {
	rp       RPParams
	timer    quantity.Picoseconds
	bytes    int64
	cutGap   quantity.Picoseconds // decrease interval
	raiseGap quantity.Picoseconds // increase interval
	floor    float64              // bit/s
	limit    int32
	fromAny  bool
	lateUp   bool
	flows    slots[dcqcnPFlow]
	nics     []dcqcnPNIC // by sending host
}

type dcqcnPFlow struct {
	RPState
	line       float64
	cnpAt      quantity.Picoseconds // start of the gap: a notification
	incAt      quantity.Picoseconds // next expiry of the timer
	sent       int64
	prev, next int32 // list of the NIC's registered flows, as slot+1; 0 ends it
	host       uint16
	registered bool
}

// dcqcnPNIC is one NIC's table of registered flows.
type dcqcnPNIC struct {
	head    int32 // slot+1
	count   int32
	sweepAt quantity.Picoseconds // next time at which a full table is searched for recovered flows
}

// sweepsPerPeriod is the number of searches of a full table per timer period.
const sweepsPerPeriod = 16

const dcqcnPSource = "S2 (DCQCN-p)"

func dcqcnPSpec() Spec {
	return Spec{
		Name: "dcqcn-p", Title: "DCQCN-p: faster recovery, bounded hardware tables", Source: dcqcnPSource,
		Params: []Param{
			{Name: "g", Default: 1.0 / 16, Min: 1e-6, Max: 1, Doc: "gain of alpha; " + dcqcnPSource + ", table 3"},
			{Name: "initial_alpha", Default: 1, Min: 0, Max: 1, Doc: "alpha of a flow that registers; " + dcqcnPSource},
			spanParam("increase_timer", 55*quantity.Microsecond, "time threshold; "+dcqcnPSource+", table 3"),
			{Name: "byte_counter", Default: 10 << 20, Min: 0, Max: 1 << 40, Doc: "byte threshold, 0 is off; " + dcqcnPSource + ", table 3"},
			{Name: "fast_recovery_stages", Default: 5, Min: 0, Max: 60000, Doc: "F; " + dcqcnPSource + ", table 3"},
			compareParam(0),
			{Name: "r_ai", Default: 0.2, Min: 0, Max: 1, Step: true, Doc: "additive increase, share of line rate; " + dcqcnPSource + ", table 3"},
			{Name: "r_hai", Default: 0.8, Min: 0, Max: 1, Step: true, Doc: "hyper increase, share of line rate; " + dcqcnPSource + ", section 3.2, printed R_mai"},
			gapParam("decrease_interval", 50*quantity.Microsecond, "a notification at most this long after the last is ignored; no printed value: DCQCN's notification interval"),
			gapParam("increase_interval", 55*quantity.Microsecond, "a notification at least this long after the last only cuts, see late_cnp; no printed value: the time threshold"),
			{Name: "gap_from", Kind: ParamWord, Words: []string{"acted", "any"}, Doc: "the gap counts from the last notification acted upon, or from the last one"},
			{Name: "late_cnp", Kind: ParamWord, Words: []string{"cut", "cut-raise"}, Doc: "a notification after the increase interval cuts, or cuts and raises as the pseudo-code has it"},
			{Name: "registered_flows", Default: 512, Min: 1, Max: 1 << 20, Doc: "congested flows that a NIC has room for; notifications of others are dropped; " + dcqcnPSource + ", section 2.2"},
			rateParam("min_rate", 10e6, "minimum rate; no printed value: IEEE 802.1Qau rpgMinRate"),
		},
		New: newDCQCNP,
	}
}

func newDCQCNP(v Values) (Algorithm, error) {
	cut, raise := v.Span("decrease_interval"), v.Span("increase_interval")
	if raise < cut {
		return nil, fmt.Errorf("increase_interval %s is below decrease_interval %s: want at least that", raise, cut)
	}
	d := &dcqcnP{
		rp: RPParams{
			Reading: RecoverP, G: v["g"], InitialAlpha: v["initial_alpha"], Threshold: uint16(v["fast_recovery_stages"]),
			Below: v["stage_compare"] == 1, AI: v["r_ai"], HAI: v["r_hai"],
		},
		timer: v.Span("increase_timer"), bytes: int64(v["byte_counter"]), cutGap: cut, raiseGap: raise,
		floor: v["min_rate"], limit: int32(v["registered_flows"]),
		fromAny: v["gap_from"] == 1, lateUp: v["late_cnp"] == 1,
	}
	return d, nil
}

func (d *dcqcnP) Traits() Traits { return Traits{ECN: true, CNP: true, Quiet: true, Sent: d.bytes > 0} }
func (d *dcqcnP) Reserve(n int)  { d.flows.reserve(n) }

func (d *dcqcnP) Start(slot int32, _ quantity.Picoseconds, f *Flow) Control {
	if need := int(f.Host) + 1; need > len(d.nics) {
		d.nics = grown(d.nics, max(need, 2*len(d.nics)))
	}
	s := d.flows.at(slot)
	if s.registered {
		d.deregister(slot)
	}
	*s = dcqcnPFlow{RPState: NewRPState(&d.rp, 1), line: float64(f.LineRate), host: f.Host}
	return Control{Rate: s.line}
}

func (d *dcqcnP) Settle(slot int32, now quantity.Picoseconds, c *Control) {
	d.settle(slot, now)
	d.allow(slot, c)
}

// settle applies the timer. It does not free table entries: the fabric may settle a flow only to read it, and reads must not
// change which other flows find a free entry.
func (d *dcqcnP) settle(slot int32, now quantity.Picoseconds) {
	f := d.flows.at(slot)
	if f.registered && f.Rate < 1 && f.incAt <= now {
		f.incAt = f.expire(&d.rp, 1, 1, f.incAt, now, d.timer)
	}
}

// leave frees the entry of a flow that is back at line rate.
func (d *dcqcnP) leave(slot int32) {
	if f := d.flows.at(slot); f.registered && f.Rate >= 1 {
		d.deregister(slot)
	}
}

// allow converts the fraction of line rate to a rate.
func (d *dcqcnP) allow(slot int32, c *Control) {
	f := d.flows.at(slot)
	c.Rate = max(f.Rate*f.line, min(d.floor, f.line))
}

func (d *dcqcnP) Sent(slot int32, now quantity.Picoseconds, wire int, c *Control) {
	d.settle(slot, now)
	d.leave(slot)
	f := d.flows.at(slot)
	if f.registered && counted(&f.sent, wire, d.bytes) {
		f.ByteStep(&d.rp, 1)
		d.leave(slot)
	}
	d.allow(slot, c)
}

func (d *dcqcnP) Ack(slot int32, a *Ack, c *Control) {
	d.leave(slot)
	if a.Marked > 0 {
		d.notified(slot, a.Now, c)
	}
}

func (d *dcqcnP) Notify(slot int32, n *Notification, c *Control) {
	if n.Kind == NotifyCNP {
		d.notified(slot, n.Now, c)
	}
}

func (d *dcqcnP) notified(slot int32, now quantity.Picoseconds, c *Control) {
	d.leave(slot)
	f := d.flows.at(slot)
	gap := now - f.cnpAt
	switch {
	case !f.registered:
		if !d.register(slot, now) {
			return
		}
		d.cut(f, now, 0)
	case gap <= d.cutGap:
		if d.fromAny {
			f.cnpAt = now
		}
	case gap < d.raiseGap:
		// The credit is the time from the last notification to the timer's last expiry. It is 0 if the timer has not expired
		// since that notification.
		d.cut(f, now, f.incAt-d.timer-f.cnpAt)
		f.raise(&d.rp, 1)
	default:
		d.cut(f, now, 0)
		if d.lateUp {
			f.TimeStep(&d.rp, 1)
		}
	}
	d.leave(slot)
	d.allow(slot, c)
}

// cut lowers the rate at now and restarts the counters; the timer restarts with credit already elapsed.
func (d *dcqcnP) cut(f *dcqcnPFlow, now, credit quantity.Picoseconds) {
	f.Cut(&d.rp, 1)
	f.Rate = max(f.Rate, min(d.floor/f.line, 1))
	f.cnpAt, f.sent = now, 0
	f.incAt = now + max(d.timer-max(credit, 0), 1)
}

// register adds a flow to its NIC's table and reports whether there was a free entry. A recovered flow frees its entry at its
// next packet sent, acknowledgement or notification. An idle or ended flow keeps its entry until the table is full and
// searched.
func (d *dcqcnP) register(slot int32, now quantity.Picoseconds) bool {
	f := d.flows.at(slot)
	n := &d.nics[f.host]
	if n.count >= d.limit && now >= n.sweepAt {
		n.sweepAt = now + d.timer/sweepsPerPeriod
		for at := n.head; at != 0; {
			next := d.flows.at(at - 1).next
			d.settle(at-1, now)
			d.leave(at - 1)
			at = next
		}
	}
	if n.count >= d.limit {
		return false
	}
	f.registered, f.prev, f.next = true, 0, n.head
	if n.head != 0 {
		d.flows.at(n.head - 1).prev = slot + 1
	}
	n.head = slot + 1
	n.count++
	return true
}

// deregister frees a flow's entry and resets its state.
func (d *dcqcnP) deregister(slot int32) {
	f := d.flows.at(slot)
	n := &d.nics[f.host]
	if f.prev != 0 {
		d.flows.at(f.prev - 1).next = f.next
	} else {
		n.head = f.next
	}
	if f.next != 0 {
		d.flows.at(f.next - 1).prev = f.prev
	}
	n.count--
	f.registered, f.prev, f.next = false, 0, 0
	f.RPState = NewRPState(&d.rp, 1)
}

func (d *dcqcnP) Gauges() []string { return rpGauges() }

func (d *dcqcnP) Read(slot int32, dst []float64) {
	f := d.flows.at(slot)
	dst[0], dst[1], dst[2] = f.Target*f.line, f.Alpha, float64(max(f.TimeStage, f.ByteStage))
}
