package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// ErrStale means that the device has not refreshed a counter since the previous reading.
var ErrStale error = &phrase.Error{Text: phrase.Of("measure.stale")}

// etherWindow holds two samples and what they share.
type etherWindow struct {
	c    *EtherCollector
	a, b *etherSample

	read    bool // some counter was read at both ends
	elapsed quantity.Picoseconds
	faults  []error
}

// report computes the shares of the window.
func (w *etherWindow) report() Report {
	p := w.c.plan
	r := Report{Tenants: []TenantShare{}, Links: []LinkUse{}}
	for _, t := range p.Tenants {
		ts := TenantShare{Tenant: t.Tenant, Weight: t.Weight, Entitled: t.Entitled}
		if delivered, err := w.tenant(t.Tenant); err != nil {
			ts.Problem = new(phrase.OfError(err))
			w.faults = append(w.faults, err)
		} else {
			ts.Delivered, ts.ShareError = &delivered, shareError(&delivered, t.Entitled)
		}
		r.Tenants = append(r.Tenants, ts)
	}
	whole := make(map[linkPart]*quantity.BitRate, len(p.Tenants))
	for i := range p.Tenants {
		whole[linkPart{p.Tenants[i].Tenant, p.Tenants[i].QPs}] = r.Tenants[i].Delivered
	}
	for i := range p.Links {
		r.Links = append(r.Links, w.link(&p.Links[i], whole))
	}
	r.Window = w.elapsed
	if w.elapsed > 0 {
		r.Coverage = 1 // 64-bit counters miss nothing between two readings
	}
	r.Loop = w.loop()
	w.contend(&r)
	r.Ports = w.activity()
	r.sumUp()
	return r
}

// maxReportedFaults bounds the faults that an error lists.
const maxReportedFaults = 3

// unread returns the error of a window in which nothing was read.
func (w *etherWindow) unread() error {
	list := w.faults
	if more := len(list) - maxReportedFaults; more > 0 {
		list = append(slices.Clone(list[:maxReportedFaults]), fmt.Errorf("and %d more", more))
	}
	return fmt.Errorf("no port could be measured: %w", errors.Join(list...))
}

// refreshes is the number of times that a device must refresh a counter in a window: the rate is then wrong by a tenth at most.
const refreshes = 10

// rate returns the rate of a counter over the window.
func (w *etherWindow) rate(a, b Octets, link quantity.BitRate) (quantity.BitRate, error) {
	if err := cmp.Or(b.Err, a.Err); err != nil {
		return 0, unread(err)
	}
	span := b.At - a.At
	if !b.Wall.IsZero() {
		span = w.scaled(b.Wall.Sub(a.Wall))
	}
	if !w.read || span < w.elapsed {
		w.read, w.elapsed = true, max(span, 0)
	}
	every := max(a.Every, b.Every)
	switch {
	case span == 0:
		return 0, ErrNoTime
	case quantity.Elapsed(every)*refreshes > span:
		return 0, phrase.Because(ErrStale, phrase.Of("measure.refreshed-rarely", "every", every, "least", refreshes*every))
	case span < 0:
		return 0, phrase.Because(ErrReset, phrase.Of("measure.clock-reset"))
	case b.N < a.N || b.N-a.N > wordsIn(span, link)*wordOctets:
		return 0, phrase.Because(ErrReset, phrase.Of("measure.octets-reset", "after", b.N, "before", a.N))
	}
	return quantity.BitRate(min(mulDiv(mulDiv(b.N-a.N, 8, 1), uint64(quantity.Second), uint64(span)), 1<<63-1)), nil
}

// scaled returns the fabric's time during a span of wall time in the window. It uses the pace of a NIC's clock, since a
// simulated fabric on a busy machine is slower than its time scale; without one it uses the time scale.
func (w *etherWindow) scaled(wall time.Duration) quantity.Picoseconds {
	pace := w.c.o.TimeScale
	for _, id := range w.c.nics {
		a, b, err := w.nic(id)
		if err != nil || a.Tx.Err != nil || b.Tx.Err != nil {
			continue
		}
		if passed := b.read.Sub(a.read); passed > 0 && b.Tx.At > a.Tx.At {
			pace = float64(b.Tx.At-a.Tx.At) / float64(quantity.Nanosecond) / float64(passed)
			break
		}
	}
	return quantity.Picoseconds(float64(wall.Nanoseconds()) * pace * float64(quantity.Nanosecond))
}

// nic returns both readings of a NIC port.
func (w *etherWindow) nic(id ident.PortID) (a, b *NICReading, err error) {
	for _, s := range []*etherSample{w.b, w.a} { // the later reading has the current error
		if err := s.silent[id]; err != nil {
			return nil, nil, unread(err)
		}
	}
	a, b = w.a.nics[id], w.b.nics[id]
	if a == nil || b == nil {
		return nil, nil, ErrUnread
	}
	return a, b, nil
}

// tenant returns what a tenant sends, summed over its ports.
func (w *etherWindow) tenant(name string) (quantity.BitRate, error) {
	sum, seen := quantity.BitRate(0), map[ident.PortID]bool{}
	for i := range w.c.flows {
		f := &w.c.flows[i]
		if f.Tenant != name || seen[f.Src] {
			continue
		}
		seen[f.Src] = true
		r, err := w.sent(name, f.Src)
		if err != nil {
			return 0, atPort(err, w.name(f.Src))
		}
		sum += r
	}
	if len(seen) == 0 {
		return 0, &phrase.Error{Text: phrase.Of("measure.no-flows")}
	}
	return sum, nil
}

// sent returns what a tenant sends from one port.
func (w *etherWindow) sent(tenant string, id ident.PortID) (quantity.BitRate, error) {
	a, b, err := w.nic(id)
	if err != nil {
		return 0, err
	}
	link := w.linkRate(id)
	if w.c.plan.WRCC != nil {
		if r, ok, err := w.senders(tenant, a, b, link); ok || err != nil {
			return r, err
		}
	}
	if len(w.c.at[id]) == 1 {
		return w.rate(a.Tx, b.Tx, link)
	}
	fa, fb, ok := w.ofTenant(tenant, id, a, b)
	if !ok {
		if len(w.c.senders[id]) == 1 { // by the plan, the other tenants on it only receive
			return w.onlySender(a, b, link)
		}
		return 0, phrase.Because(ErrUnread, phrase.Of("measure.no-vf-counters", "tenants", len(w.c.at[id]), "vf", w.function(tenant, id)))
	}
	return w.rate(fa.Tx, fb.Tx, link)
}

// maxReplies bounds the replies of other tenants at a port, as a fraction of what the port sent, at which the port's octets still count as
// those of its only sender.
const maxReplies = 0.01

// onlySender returns what a port sends for the only tenant that sends there. The other tenants' acknowledgements leave by the same port; if
// they may be a part that matters, only counters of virtual functions tell them apart.
func (w *etherWindow) onlySender(a, b *NICReading, link quantity.BitRate) (quantity.BitRate, error) {
	sent, err := w.rate(a.Tx, b.Tx, link)
	if err != nil {
		return 0, err
	}
	received, err := w.rate(a.Rx, b.Rx, link)
	if err != nil {
		return 0, err
	}
	share := dcqcn.MaxAckShare
	if w.c.plan.WRCC != nil {
		share = wrcc.MaxAckShare
	}
	if float64(received)*share > maxReplies*float64(sent) {
		return 0, phrase.Because(ErrUnread, phrase.Of("measure.replies", "received", received))
	}
	return sent, nil
}

// senders returns what the senders of a tenant send; false when the port counts none of them. When a sender appeared or
// disappeared in between, the sum is unknown.
func (w *etherWindow) senders(tenant string, a, b *NICReading, link quantity.BitRate) (sum quantity.BitRate, found bool, err error) {
	for name, last := range b.Senders {
		if of, _, _ := strings.Cut(name, "/"); of != tenant {
			continue
		}
		first, ok := a.Senders[name]
		if !ok {
			return 0, true, phrase.Because(ErrUnread, phrase.Of("measure.sender-started", "sender", name))
		}
		r, err := w.rate(first, last, link)
		if err != nil {
			return 0, true, phrase.Because(err, phrase.Of("measure.sender", "sender", name, "text", err))
		}
		sum, found = sum+r, true
	}
	for name := range a.Senders {
		if of, _, _ := strings.Cut(name, "/"); of != tenant {
			continue
		}
		if _, ok := b.Senders[name]; !ok {
			return 0, true, phrase.Because(ErrUnread, phrase.Of("measure.sender-ended", "sender", name))
		}
	}
	return sum, found, nil
}

// function returns the index of a tenant's virtual function at a port, -1 for none.
func (w *etherWindow) function(tenant string, id ident.PortID) int {
	if i, ok := w.c.functions[tenantAt{id, tenant}]; ok {
		return i
	}
	for i, t := range w.c.at[id] {
		if t == tenant {
			return i
		}
	}
	return -1
}

func (w *etherWindow) name(id ident.PortID) string {
	if ref, ok := w.c.topo.PortByID(id); ok {
		return w.c.topo.PortName(ref)
	}
	return id.String()
}

func (w *etherWindow) linkRate(id ident.PortID) quantity.BitRate {
	if ref, ok := w.c.topo.PortByID(id); ok {
		if l, _ := w.c.topo.Link(ref); l != nil {
			return l.Rate
		}
	}
	return 0
}

// link returns the use of a contended link, counted by the NIC at its end, or by the switch that sends on it. whole has the measured rate of
// each tenant over all its queue pairs.
func (w *etherWindow) link(l *policy.LinkShare, whole map[linkPart]*quantity.BitRate) LinkUse {
	lu := LinkUse{Port: l.Port, Name: l.Name, Capacity: l.Capacity, Tenants: []LinkTenant{}, FairRate: w.fairRate(l.Port)}
	nic, received := l.Peer, true
	if !w.c.isNIC(nic) {
		nic, received = l.Port, false
	}
	pick := func(tx, rx Octets) Octets {
		if received {
			return rx
		}
		return tx
	}
	rate := w.linkRate(l.Port)
	var a, b *NICReading
	var used quantity.BitRate
	var err error
	if w.c.isNIC(nic) {
		if a, b, err = w.nic(nic); err == nil {
			used, err = w.rate(pick(a.Tx, a.Rx), pick(b.Tx, b.Rx), rate)
		}
	} else {
		used, err = w.rate(w.a.ports[l.Port], w.b.ports[l.Port], rate)
	}
	if err != nil {
		lu.Problem = new(phrase.OfError(err))
		w.faults = append(w.faults, fmt.Errorf("link %s: %w", l.Name, err))
	} else {
		lu.Used, lu.Utilisation = &used, use(&used, l.Capacity)
	}
	for _, t := range l.Tenants {
		lt := LinkTenant{Tenant: t.Tenant, Entitled: t.Entitled}
		switch {
		case a == nil || b == nil || err != nil:
		case len(w.c.at[nic]) == 1 && w.c.at[nic][0] == t.Tenant:
			lt.Delivered = lu.Used
		case !received:
			if got, err := w.sent(t.Tenant, nic); err == nil {
				lt.Delivered = &got
			}
		default:
			if fa, fb, ok := w.ofTenant(t.Tenant, nic, a, b); ok {
				if got, err := w.rate(fa.Rx, fb.Rx, rate); err == nil {
					lt.Delivered = &got
				}
			}
		}
		if lt.Delivered == nil && t.QPs > 0 {
			lt.Delivered = whole[linkPart{t.Tenant, t.QPs}]
			lt.AtSenders = lt.Delivered != nil
		}
		lt.ShareError = shareError(lt.Delivered, lt.Entitled)
		lu.Tenants = append(lu.Tenants, lt)
	}
	return lu
}
