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

// sending is what is known of a tenant as a sender.
type sending struct {
	hold  Hold
	known bool    // hold is known
	own   float64 // part of the tenant's rate that comes from full ports
	stuck bool    // a counter of octets contradicts the notifications
}

// port adds what one port of the tenant sent, and what it received and would hold it, to the sums.
func (s *sending) port(sent quantity.BitRate, line quantity.BitRate, seconds, received, holding float64) {
	if float64(sent)/8*seconds < received*leastPacket {
		s.stuck = true
	}
	if float64(sent) < activePart*float64(line) {
		return
	}
	s.known = s.known && holding > 0
	s.hold.Received += received
	s.hold.Holding += holding
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

// Traffic is the input of JudgeBECNs beside the plan and the counters.
type Traffic struct {
	Flows []tenants.Flow              // that the plan was compiled for
	Caps  map[string]quantity.BitRate // of the tenants that have one
	Down  map[string]bool             // tenants with a sending port that has no link
	// Restarts reports whether every BECN restarts the timer of an adapter port; nil: of no port.
	Restarts func(*policy.CAPlan) bool
}

func newEvidence(caps map[string]quantity.BitRate, down map[string]bool, sends []senders, r *Report) Evidence {
	e := Evidence{Holds: map[string]Hold{}, OwnPorts: map[string]float64{}, Caps: caps, Down: down, Dead: r.Loop != nil && r.Loop.State == LoopDead, Uplinks: map[ident.PortID]bool{}, Stuck: map[string]bool{}}
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
	e.OwnPorts[tenant] = s.own
}

// JudgeBECNs judges whether the tenants of an InfiniBand fabric contended, from a window and the notifications that adapters received
// during it; c may be nil when they were not read. It sets the states and the ports of the report, which Shares computed from the window.
func JudgeBECNs(p *policy.Plan, w *Window, c *Congestion, traffic *Traffic, r *Report) {
	sends := sendersOf(traffic.Flows)
	e := newEvidence(traffic.Caps, traffic.Down, sends, r)
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
	var sum, full float64
	done := map[slot]bool{}
	for _, pl := range b.plan.Placements {
		s := slot{pl.Port, pl.SL}
		if pl.Tenant != name || pl.Receives || done[s] {
			continue
		}
		done[s] = true
		sent, err := b.rates[pl.Port].sentOn(pl.SL, b.users[s])
		if err != nil {
			return sending{}
		}
		port := b.rates[pl.Port]
		sum += float64(sent)
		if total, err := port.Xmit.Value(); err == nil && port.Port.Rate > 0 && float64(total) >= fullLink*float64(port.Port.Rate) {
			full += float64(sent)
		}
		got, want, seconds := b.slot(name, s)
		out.port(sent, port.Port.Rate, seconds, got, want)
	}
	if sum > 0 {
		out.own = full / sum
	}
	return out
}

// slot returns the notifications that a tenant's queue pairs on a port received in a time, and those that would hold them; all 0 when they
// are unknown.
// In equilibrium a BECN comes as often as a CCTI decays (ibcc.Response), so the rate at which it holds does not depend on the sender's rate.
func (b *becnHolds) slot(tenant string, s slot) (received, holding, seconds float64) {
	c, ca := b.counts[s.port], b.cas[s.port]
	if c == nil || ca == nil || c.Err != nil || c.NoBECN || int(s.sl) >= len(c.BECN) {
		return 0, 0, 0
	}
	set := &ca.Settings.SLs[s.sl]
	limiters := b.qps[tenantAt{s.port, tenant}]
	if ca.Settings.PerSL {
		limiters = 1
	}
	if set.Increase == 0 || set.Timer == 0 || limiters == 0 || c.Elapsed <= 0 {
		return 0, 0, 0
	}
	period := ca.TimerPeriod(set.Timer).Seconds()
	decay := ibcc.Response(set.Increase, b.restarts != nil && b.restarts(ca)) / period
	return float64(c.BECN[s.sl]), decay * float64(limiters) * c.Elapsed.Seconds(), c.Elapsed.Seconds()
}

// contend judges whether the tenants of an Ethernet fabric contended, and sets the states in a report.
func (w *etherWindow) contend(r *Report) {
	e := newEvidence(w.c.limits.Caps, w.c.limits.Down, w.c.sends, r)
	for i := range r.Tenants {
		e.add(r.Tenants[i].Tenant, w.sending(r.Tenants[i].Tenant))
	}
	judgeContention(w.c.plan, r, &e)
}

// sending sums up the ports of a tenant. The hold is known where notifications are counted and none of the ports has another sender.
func (w *etherWindow) sending(tenant string) sending {
	out := sending{known: w.c.plan.RoCE != nil}
	var sum, full float64
	for _, at := range w.c.sends {
		if at.tenant != tenant {
			continue
		}
		sent, err := w.sent(tenant, at.port)
		if err != nil {
			return sending{}
		}
		sum += float64(sent)
		a, b, err := w.nic(at.port)
		line := w.linkRate(at.port)
		if err != nil || line <= 0 {
			return sending{}
		}
		if total, err := w.rate(a.Tx, b.Tx, line); err == nil && float64(total) >= fullLink*float64(line) {
			full += float64(sent)
		}
		if w.c.plan.RoCE != nil {
			got, want, seconds := w.cnps(at.port, sent, at.qps)
			out.port(sent, line, seconds, got, want)
		}
	}
	if sum > 0 {
		out.own = full / sum
	}
	return out
}

// cnps returns the notifications that a port handled in a time, and those that would hold its queue pairs at their rate
// (profile.HoldingRate); all 0 when they are unknown.
func (w *etherWindow) cnps(id ident.PortID, sent quantity.BitRate, qps int) (handled, holding, seconds float64) {
	a, b, err := w.nic(id)
	if err != nil || a.Loop == nil || b.Loop == nil || len(w.c.senders[id]) != 1 || qps == 0 {
		return 0, 0, 0
	}
	n, span := went(a.Loop.Handled, b.Loop.Handled), b.Loop.Handled.At-a.Loop.Handled.At
	nic := w.c.plan.RoCE.NIC(id)
	if n.Err != nil || span <= 0 || nic == nil {
		return 0, 0, 0
	}
	perQP := max(float64(sent)/float64(qps), 1)
	return float64(n.N), profile.HoldingRate(&nic.Settings, perQP) * float64(qps) * span.Seconds(), span.Seconds()
}
