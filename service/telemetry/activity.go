package telemetry

import (
	"maps"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// PortActivity is what a port sent and counted in a window, by the device's clock.
type PortActivity struct {
	Port   ident.PortID
	Name   string
	Sent   *quantity.BitRate // nil when not measured
	Counts []PortCount       // those that were measured
	// Senders has the rates of a NIC port's WRCC senders by name, those that were measured.
	Senders map[string]quantity.BitRate
	// Functions has what a NIC port's virtual functions did, by index.
	Functions []FunctionActivity
	Err       error // why some of it was not measured; nil when all was. Functions have no part in it.
}

// FunctionActivity is what a virtual function sent and counted in a window.
type FunctionActivity struct {
	Index  int
	Tenant string            // of the pod that has it, where functions belong to pods
	Sent   *quantity.BitRate // nil when not measured
	Counts []PortCount       // those that were measured
}

// CountKind names what a port counts.
type CountKind string

// Kinds of counts, each per second of the device's clock.
const (
	CountBECN      CountKind = "becn"            // notifications that an InfiniBand adapter received, by SL
	CountWait      CountKind = "xmit-wait"       // ticks in which the port had data to send and no credit; the device defines a tick
	CountCongested CountKind = "congested"       // ticks in which packets waited at a congested switch port, by VL
	CountMarks     CountKind = "marks"           // packets with an ECN mark that a NIC received
	CountCNPsSent  CountKind = "cnps-sent"       // notifications that a NIC sent
	CountCNPs      CountKind = "cnps-handled"    // notifications that slowed senders of a NIC down
	CountPauses    CountKind = "pauses-received" // pause frames that a NIC received in the priorities of RoCE
	// Counts of a WRCC switch port.
	CountFCNPs      CountKind = "fcnps-sent"  // fast notifications that the switch sent because of the port
	CountRewrites   CountKind = "rewrites"    // packets whose fair rate the port lowered
	CountPausesSent CountKind = "pauses-sent" // pause frames that the port sent
	CountPaused     CountKind = "paused"      // seconds in which these held a priority, summed over priorities
)

// PortCount is one count.
type PortCount struct {
	Kind      CountKind
	Lane      int // SL or VL of kinds that have one
	PerSecond float64
}

// HasLane reports whether counts of the kind are by SL or VL.
func (k CountKind) HasLane() bool { return k == CountBECN || k == CountCongested }

// activityOf lists what the ports of a window did. c may be nil.
func activityOf(w *Window, c *Congestion) []PortActivity {
	counts := map[ident.PortID]*PortCongestion{}
	if c != nil {
		for i := range c.Ports {
			counts[c.Ports[i].Port.ID] = &c.Ports[i]
		}
	}
	out := make([]PortActivity, len(w.Ports))
	for i := range w.Ports {
		p := &w.Ports[i]
		out[i] = PortActivity{Port: p.Port.ID, Name: p.Port.Name}
		if sent, err := p.sent(); err == nil {
			out[i].Sent = &sent
		}
		if n := counts[p.Port.ID]; n != nil {
			out[i].Counts = n.rates()
		}
	}
	return out
}

// rates returns the counts of a port, per second. A lane that counted nothing is left out.
func (p *PortCongestion) rates() (list []PortCount) {
	if p.Err != nil || p.Elapsed <= 0 {
		return nil
	}
	add := func(kind CountKind, lane int, n uint64) {
		list = append(list, PortCount{kind, lane, float64(n) / p.Elapsed.Seconds()})
	}
	lanes := func(kind CountKind, counts []uint64) {
		for lane, n := range counts {
			if n > 0 {
				add(kind, lane, n)
			}
		}
	}
	add(CountWait, 0, p.Wait)
	if p.Adapter && !p.NoBECN {
		lanes(CountBECN, p.BECN[:])
	}
	if !p.Adapter && !p.NoVL {
		lanes(CountCongested, p.Congested[:])
	}
	return list
}

// activity lists what the NIC ports of the window did, and the switch ports that transmit on contended links.
func (w *etherWindow) activity() (out []PortActivity) {
	for _, id := range w.c.nics {
		p := PortActivity{Port: id, Name: w.name(id)}
		a, b, err := w.nic(id)
		if err == nil {
			p.sent(w.rate(a.Tx, b.Tx, w.linkRate(id)))
			p.Counts, p.Senders, p.Functions = loopRates(a.Loop, b.Loop), w.senderRates(id, a, b), w.functions(id, a, b)
		} else {
			p.Err = err
		}
		out = append(out, p)
	}
	for _, id := range w.c.ports {
		p := PortActivity{Port: id, Name: w.name(id)}
		p.sent(w.rate(w.a.ports[id], w.b.ports[id], w.linkRate(id)))
		out = append(out, p)
	}
	for _, id := range w.c.fairAt {
		counts, err := w.fairCounts(id)
		i := slices.IndexFunc(out, func(p PortActivity) bool { return p.Port == id })
		if i < 0 { // the NIC at the other end measures what it sends
			i = len(out)
			out = append(out, PortActivity{Port: id, Name: w.name(id)})
		}
		out[i].Counts = append(out[i].Counts, counts...)
		if out[i].Err == nil {
			out[i].Err = err
		}
	}
	return out
}

// sent sets what the port sent, or why that is unknown.
func (p *PortActivity) sent(rate quantity.BitRate, err error) {
	if err != nil {
		p.Err = err
		return
	}
	p.Sent = &rate
}

// functions lists what the virtual functions of a NIC port did.
func (w *etherWindow) functions(id ident.PortID, a, b *NICReading) []FunctionActivity {
	var out []FunctionActivity
	for _, i := range slices.Sorted(maps.Keys(b.Functions)) {
		first, ok := a.Functions[i]
		if !ok {
			continue
		}
		last := b.Functions[i]
		f := FunctionActivity{Index: i}
		if first.Tenant == last.Tenant {
			f.Tenant = last.Tenant
		}
		if sent, err := w.rate(first.Tx, last.Tx, w.linkRate(id)); err == nil {
			f.Sent = &sent
		}
		if x, y := first.Notices, last.Notices; x != nil && y != nil && !sharedNotices(b.Functions, i) {
			f.Counts = x.rates(y)
		}
		out = append(out, f)
	}
	return out
}

// sharedNotices reports whether another function of a port has the same counters as a function, and any of them is not 0: the device
// then counts the port for every function.
func sharedNotices(all map[int]FunctionRead, i int) bool {
	of := all[i].Notices
	for k, f := range all {
		if k != i && f.Notices != nil && f.Notices.total() == of.total() && of.total() != [3]uint64{} {
			return true
		}
	}
	return false
}

// total returns the values of readable counters.
func (n *Notices) total() (out [3]uint64) {
	for i, c := range []Octets{n.Marks, n.Sent, n.Handled} {
		if c.Err == nil {
			out[i] = c.N
		}
	}
	return out
}

// rates returns the counts until a later reading, per second.
func (n *Notices) rates(last *Notices) (list []PortCount) {
	add := countsInto(&list)
	add(CountMarks, n.Marks, last.Marks, 1)
	add(CountCNPsSent, n.Sent, last.Sent, 1)
	add(CountCNPs, n.Handled, last.Handled, 1)
	return list
}

// countsInto returns a function that adds the increase of a counter to a list, in a unit and per second, if it was measured.
func countsInto(list *[]PortCount) func(kind CountKind, a, b Octets, unit float64) {
	return func(kind CountKind, a, b Octets, unit float64) {
		if n, span := went(a, b), b.At-a.At; n.Err == nil && span > 0 {
			*list = append(*list, PortCount{Kind: kind, PerSecond: float64(n.N) * unit / span.Seconds()})
		}
	}
}

// loopRates returns the counts of a NIC port, per second.
func loopRates(a, b *LoopReading) []PortCount {
	if a == nil || b == nil {
		return nil
	}
	list := a.rates(&b.Notices)
	add := countsInto(&list)
	add(CountPauses, a.Pauses, b.Pauses, 1)
	add(CountPaused, a.Paused, b.Paused, 1e-6) // counted in microseconds
	return list
}
