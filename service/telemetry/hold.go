package telemetry

import (
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// activePart is the part of a port's line rate below which a tenant's queue pairs there count as silent.
const activePart = 1e-4

// leastPacket is the length of the shortest data packet, in octets. A notification answers at least one packet, so fewer octets than this
// for each notification mean that the counter of octets stands still.
const leastPacket = 32

// sending sums up what is known of a tenant as a sender.
type sending struct {
	hold      Hold
	known     bool    // hold is known
	stuck     bool    // a counter of octets contradicts the notifications
	sum, full float64 // the tenant's rate, and the part of it that comes from full ports
}

// notified are the notifications that reached a tenant's queue pairs on a port.
type notified struct {
	received, holding float64 // as in Hold; both are 0 when they are unknown
	certain           float64 // those received for packets that were sent while octets were counted
	seconds           float64 // in which they were counted
}

// port adds a port with a line rate. The tenant sent at a rate from it, and all tenants at the rate total, negative when unknown.
func (s *sending) port(sent, total, line quantity.BitRate, n notified) {
	s.sum += float64(sent)
	if line > 0 && float64(total) >= fullLink*float64(line) {
		s.full += float64(sent)
	}
	if float64(sent)/8*n.seconds < n.certain*leastPacket {
		s.stuck = true
	}
	if float64(sent) >= activePart*float64(line) {
		s.known = s.known && n.holding > 0
		s.hold.Received += n.received
		s.hold.Holding += n.holding
	}
}

// own returns the part of the tenant's rate that comes from full ports.
func (s *sending) own() float64 {
	if s.sum == 0 {
		return 0
	}
	return s.full / s.sum
}

// senders are the queue pairs with which a tenant sends from a port.
type senders struct {
	tenantAt
	qps int
}

// sendersOf sums the queue pairs of flows, in the order of the flows.
func sendersOf(flows []tenants.Flow) []senders {
	var list []senders
	at := make(map[tenantAt]int, len(flows))
	for i := range flows {
		key := tenantAt{flows[i].Src, flows[i].Tenant}
		k, ok := at[key]
		if !ok {
			k = len(list)
			at[key] = k
			list = append(list, senders{tenantAt: key})
		}
		list[k].qps += flows[i].QPs
	}
	return list
}

// Limits are the limits of tenants other than contended links.
type Limits struct {
	Caps map[string]quantity.BitRate // by tenant; none for tenants without a cap
	Down map[string]bool             // tenants with a sending port that has no link
}

// Traffic is the input of JudgeBECNs in addition to the plan and the counters.
type Traffic struct {
	Flows []tenants.Flow // that the plan was compiled for
	Limits
	// Restarts reports whether every BECN restarts the timer of an adapter port; nil: of no port.
	Restarts func(*policy.CAPlan) bool
}

func newEvidence(l Limits, sends []senders, r *Report) Evidence {
	e := Evidence{Holds: map[string]Hold{}, OwnPorts: map[string]float64{}, Limits: l, Dead: r.Loop != nil && r.Loop.State == LoopDead, Uplinks: map[ident.PortID]bool{}, Stuck: map[string]bool{}}
	for _, s := range sends {
		e.Uplinks[s.port] = true
	}
	return e
}

// add adds what is known of a tenant as a sender.
func (e *Evidence) add(tenant string, s sending) {
	if s.known {
		e.Holds[tenant] = s.hold
	}
	if s.stuck {
		e.Stuck[tenant] = true
	}
	e.OwnPorts[tenant] = s.own()
}

// JudgeBECNs judges whether the tenants of an InfiniBand fabric contended, from a window and the notifications that adapters received
// during it; c may be nil when they were not read. It sets the states and the ports of the report, which Shares computed from the window.
func JudgeBECNs(p *policy.Plan, w *Window, c *Congestion, traffic *Traffic, r *Report) {
	sends := sendersOf(traffic.Flows)
	e := newEvidence(traffic.Limits, sends, r)
	b := becnHolds{plan: p, qps: map[tenantAt]int{}, users: slotUsers(p), restarts: traffic.Restarts,
		rates: make(map[ident.PortID]*PortRate, len(w.Ports)), counts: map[ident.PortID]*PortCongestion{}, cas: make(map[ident.PortID]*policy.CAPlan, len(p.CAs))}
	for _, s := range sends {
		b.qps[s.tenantAt] = s.qps
	}
	for i := range w.Ports {
		b.rates[w.Ports[i].Port.ID] = &w.Ports[i]
	}
	for i := range p.CAs {
		b.cas[p.CAs[i].Port] = &p.CAs[i]
	}
	if c != nil {
		for i := range c.Ports {
			b.counts[c.Ports[i].Port.ID] = &c.Ports[i]
		}
	}
	for _, t := range p.Tenants {
		e.add(t.Tenant, b.tenant(t.Tenant))
	}
	judgeContention(p, r, &e)
	r.Ports = activityOf(w, c)
}

// becnHolds finds what holds tenants back on InfiniBand.
type becnHolds struct {
	plan     *policy.Plan
	qps      map[tenantAt]int
	users    map[slot]int
	restarts func(*policy.CAPlan) bool
	rates    map[ident.PortID]*PortRate
	counts   map[ident.PortID]*PortCongestion
	cas      map[ident.PortID]*policy.CAPlan
}

// tenant sums up the ports of a tenant. The hold is unknown when a counter of one of them is lacking or shared, or a port does not react to
// notifications.
func (b *becnHolds) tenant(name string) sending {
	out := sending{known: true}
	done := map[slot]bool{}
	for _, pl := range b.plan.Placements {
		s := slot{pl.Port, pl.SL}
		if pl.Tenant != name || pl.Receives || done[s] {
			continue
		}
		done[s] = true
		port := b.rates[pl.Port]
		sent, err := port.sentOn(pl.SL, b.users[s])
		if err != nil {
			return sending{}
		}
		total, err := port.Xmit.Value()
		if err != nil {
			total = -1
		}
		out.port(sent, total, port.Port.Rate, b.slot(name, s))
	}
	return out
}

// slot returns the notifications of a tenant's queue pairs on a port. In equilibrium a BECN arrives as often as a CCTI decays
// (ibcc.Response), so the rate at which it holds does not depend on the sender's rate.
func (b *becnHolds) slot(tenant string, s slot) (n notified) {
	c, ca := b.counts[s.port], b.cas[s.port]
	if c == nil || ca == nil || c.Err != nil || c.NoBECN || int(s.sl) >= len(c.BECN) {
		return n
	}
	set := &ca.Settings.SLs[s.sl]
	limiters := b.qps[tenantAt{s.port, tenant}]
	if ca.Settings.PerSL {
		limiters = 1
	}
	if set.Increase == 0 || set.Timer == 0 || limiters == 0 || c.Elapsed <= 0 {
		return n
	}
	decay := ibcc.Response(set.Increase, b.restarts != nil && b.restarts(ca)) / ca.TimerPeriod(set.Timer).Seconds()
	n.seconds = c.Elapsed.Seconds()
	n.received, n.holding = float64(c.BECN[s.sl]), decay*float64(limiters)*n.seconds
	// BECNs are counted a little longer than octets, so a tenant that just stopped has a few. As many as hold a sender for half of the time
	// cannot all be from before or after.
	if n.received >= n.holding/2 {
		n.certain = n.received
	}
	return n
}

// contend judges whether the tenants of an Ethernet fabric contended, and sets the states in a report.
func (w *etherWindow) contend(r *Report) {
	e := newEvidence(w.c.limits, w.c.sends, r)
	for i := range r.Tenants {
		e.add(r.Tenants[i].Tenant, w.sending(r.Tenants[i].Tenant))
	}
	judgeContention(w.c.plan, r, &e)
}

// sending sums up the ports of a tenant. The hold is known where notifications are counted, on ports with several senders by virtual function.
func (w *etherWindow) sending(tenant string) sending {
	out := sending{known: w.c.plan.RoCE != nil}
	for _, at := range w.c.sends {
		if at.tenant != tenant {
			continue
		}
		sent, err := w.sent(tenant, at.port)
		if err != nil {
			return sending{}
		}
		a, b, err := w.nic(at.port)
		line := w.linkRate(at.port)
		if err != nil || line <= 0 {
			return sending{}
		}
		total, err := w.rate(a.Tx, b.Tx, line)
		if err != nil {
			total = -1
		}
		out.port(sent, total, line, w.cnps(a, b, at, sent))
	}
	return out
}

// cnps returns the notifications that a tenant's queue pairs on a port handled between two readings. Those that would hold its queue pairs at their rate are by profile.HoldingRate.
func (w *etherWindow) cnps(a, b *NICReading, at senders, sent quantity.BitRate) (n notified) {
	if w.c.plan.RoCE == nil || at.qps == 0 {
		return n
	}
	first, last := w.notices(a, b, at.tenantAt)
	nic := w.c.plan.RoCE.NIC(at.port)
	if first == nil || last == nil || nic == nil {
		return n
	}
	handled, span := went(first.Handled, last.Handled), last.Handled.At-first.Handled.At
	if handled.Err != nil || span <= 0 {
		return n
	}
	perQP := max(float64(sent)/float64(at.qps), 1)
	n.seconds = span.Seconds()
	n.received, n.holding = float64(handled.N), profile.HoldingRate(&nic.Settings, perQP)*float64(at.qps)*n.seconds
	n.certain = n.received // one reading has both counters
	return n
}

// notices returns the counters of a tenant's notifications on a port at both readings: those of its virtual function where several
// tenants are on the port, and otherwise those of the port if no other tenant sends there; nil without such counters.
func (w *etherWindow) notices(a, b *NICReading, at tenantAt) (first, last *Notices) {
	if len(w.c.at[at.port]) > 1 {
		fa, fb, ok := w.ofTenant(at.tenant, at.port, a, b)
		shared := !b.ServesPods && sharedNotices(b.Functions, w.function(at.tenant, at.port)) // otherwise ofTenant checked it
		if ok && fa.Notices != nil && fb.Notices != nil && fb.Notices.Handled.Err == nil && !shared {
			return fa.Notices, fb.Notices
		}
	}
	if len(w.c.senders[at.port]) != 1 || a.Loop == nil || b.Loop == nil {
		return nil, nil
	}
	return &a.Loop.Notices, &b.Loop.Notices
}
