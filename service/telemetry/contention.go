package telemetry

import (
	"fairlane/policy"
	"fairlane/subnet/ident"
)

// Contention says whether a tenant contended in a window, or else what limited it.
type Contention string

// States of a tenant on a link, and as a whole. docs/shares.md defines them.
const (
	Contending  Contention = "contending"   // the link limits the tenant
	NotMeasured Contention = "not-measured" // the tenant or the link has no measured rate
	PathDown    Contention = "path-down"    // a port from which the tenant sends has no link
	Idle        Contention = "idle"         // the tenant sends almost nothing
	AtCap       Contention = "cap"          // the tenant's cap limits it
	OwnPort     Contention = "own-port"     // the ports from which it sends are full
	OtherLink   Contention = "other-link"   // another link limits it
	OwnDemand   Contention = "demand"       // it sends less than the network allows
)

// Thresholds of the judgement.
const (
	fullPart   = 0.85 // of its capacity, from which a link is full
	idlePart   = 0.01 // of its entitlement, up to which a tenant is idle
	levelPart  = 0.8  // of the highest level on a link, from which a level counts as equal to it
	heldPart   = 0.8  // of the holding notifications, from which they hold a tenant at any level
	heldAtPart = 0.35 // the same for a tenant whose level equals the highest
	wholePart  = 0.9  // of a link's use: all of it, but for acknowledgements and the scatter of two readings
	mostlyPart = 0.5  // of a tenant's rate: most of it
	nearCap    = 0.97 // of a cap, from which a tenant is at it
)

// Evidence is the data, besides rates, that shows whether congestion control limits a tenant.
type Evidence struct {
	Holds map[string]Hold // by tenant; a tenant without an entry is judged by rates alone
	// OwnPorts is, by tenant, the part of its measured rate that comes from ports which send at least fullLink of their line rate.
	OwnPorts map[string]float64
	Limits
	Uplinks map[ident.PortID]bool // ports of adapters from which tenants send
	Stuck   map[string]bool       // tenants whose counters of octets contradict their notifications
	// Dead says that no sender is notified although a link is full: congestion control does not act, and rates do not follow the
	// settings.
	Dead bool
}

// Hold compares notifications of congestion that senders received with those that would hold the senders at their measured rates.
type Hold struct{ Received, Holding float64 }

// Part returns Received / Holding: about 1 for senders with a backlog, lower for senders that send less than allowed.
func (h Hold) Part() float64 {
	if h.Holding <= 0 {
		return 0
	}
	return h.Received / h.Holding
}

// judgeContention sets the state of every tenant of a report, on each link and as a whole, and what it was entitled to at the time.
// docs/shares.md explains the rules.
func judgeContention(p *policy.Plan, r *Report, e *Evidence) {
	r.withhold(e.Stuck)
	j := contentionJudge{report: r, evidence: e, at: map[string][]linkAt{}}
	for i := range r.Links {
		levels := levelsOf(&p.Links[i], &r.Links[i])
		for k, t := range r.Links[i].Tenants {
			j.at[t.Tenant] = append(j.at[t.Tenant], linkAt{i, k, e.Uplinks[r.Links[i].Port], levels[k]})
		}
	}
	for i := range r.Tenants {
		j.judge(&r.Tenants[i])
	}
	for i := range r.Links {
		entitleNow(&r.Links[i], e.Caps)
	}
	for i := range r.Tenants {
		j.worst(&r.Tenants[i])
	}
}

type contentionJudge struct {
	report   *Report
	evidence *Evidence
	at       map[string][]linkAt
}

// linkAt identifies a tenant on a link.
type linkAt struct {
	link, tenant int     // indices
	uplink       bool    // of a port from which the tenant sends: no switch marks there, so its notifications say nothing of this link
	level        float64 // of the highest on the link, 0 to 1; 0 when unknown
}

// levelsOf returns the levels of a link's tenants, delivered / predicted, relative to the highest. Tenants that the link limits have the same
// level, since congestion control shares it as predicted. All levels are 0, unknown, where the measured tenants explain less than wholePart
// of the link's use: another may have a higher level.
func levelsOf(p *policy.LinkShare, l *LinkUse) []float64 {
	levels, highest, sum := make([]float64, len(l.Tenants)), 0.0, 0.0
	for k, t := range l.Tenants {
		if t.Delivered == nil {
			continue
		}
		sum += float64(*t.Delivered)
		if predicted := p.Tenants[k].Predicted; predicted > 0 {
			levels[k] = float64(*t.Delivered) / float64(predicted)
			highest = max(highest, levels[k])
		}
	}
	unknown := highest == 0 || l.Used == nil || sum < wholePart*float64(*l.Used)
	for k := range levels {
		if unknown {
			levels[k] = 0
		} else {
			levels[k] /= highest
		}
	}
	return levels
}

// judge sets the states of a tenant.
func (j *contentionJudge) judge(t *TenantShare) {
	places := j.at[t.Tenant]
	limits, unsure := j.limiting(t, places)
	reason := j.reason(t)
	if unsure && (reason == OwnDemand || reason == OtherLink) {
		reason = NotMeasured
	}
	t.Contention = reason
	if len(limits) > 0 {
		t.Contention, reason = Contending, OtherLink
	}
	for i, at := range places {
		lt := &j.report.Links[at.link].Tenants[at.tenant]
		switch {
		case limits[i]:
			lt.Contention = Contending
		case lt.Delivered == nil || j.report.Links[at.link].Used == nil:
			lt.Contention = NotMeasured
		default:
			lt.Contention = reason
		}
	}
}

// limiting returns the places, by index, at which links limit a tenant, and whether further links may limit it that are not measured.
func (j *contentionJudge) limiting(t *TenantShare, places []linkAt) (limits map[int]bool, unsure bool) {
	held, known := j.held(t.Tenant)
	equal, hidden, best, bestLevel := map[int]bool{}, map[int]bool{}, -1, 0.0
	for i, at := range places {
		l := &j.report.Links[at.link]
		lt := &l.Tenants[at.tenant]
		switch full := l.Utilisation != nil && *l.Utilisation >= fullPart; {
		case l.Utilisation == nil:
			unsure = true
		case t.Delivered == nil:
		case !held && float64(*t.Delivered) < idlePart*float64(t.Entitled):
		case !full && (!held || !j.allHeld(l)):
		case lt.Delivered == nil || at.level == 0:
			hidden[i] = true
		case j.evidence.Dead, at.level >= levelPart && (!known || at.uplink || j.evidence.Holds[t.Tenant].Part() >= heldAtPart):
			equal[i] = true
		case held && at.level > bestLevel:
			best, bestLevel = i, at.level
		}
	}
	switch {
	case len(equal) > 0:
		return equal, unsure
	case best >= 0: // its level is below that of others on each of its full links: it is starved
		return map[int]bool{best: true}, unsure
	case held:
		return hidden, unsure
	}
	return nil, unsure || (!known || j.evidence.Dead) && len(hidden) > 0
}

// held reports whether notifications hold a tenant back, and whether that is known.
func (j *contentionJudge) held(tenant string) (held, known bool) {
	h, known := j.evidence.Holds[tenant]
	return known && h.Part() >= heldPart, known
}

// allHeld reports whether notifications hold back all tenants that use a link, at least two: congestion control then leaves a part of it
// unused.
func (j *contentionJudge) allHeld(l *LinkUse) bool {
	n := 0
	for _, t := range l.Tenants {
		if t.Delivered == nil || float64(*t.Delivered) < idlePart*float64(t.Entitled) {
			continue
		}
		if held, _ := j.held(t.Tenant); !held {
			return false
		}
		n++
	}
	return n > 1
}

// reason returns what limits a tenant that contends nowhere.
func (j *contentionJudge) reason(t *TenantShare) Contention {
	e := j.evidence
	switch limit, capped := e.Caps[t.Tenant]; {
	case e.Down[t.Tenant]:
		return PathDown
	case t.Delivered == nil:
		return NotMeasured
	case float64(*t.Delivered) < idlePart*float64(t.Entitled):
		return Idle
	case capped && float64(*t.Delivered) >= nearCap*float64(limit):
		return AtCap
	case e.OwnPorts[t.Tenant] >= mostlyPart:
		return OwnPort
	}
	if held, _ := j.held(t.Tenant); held {
		return OtherLink // one that the plan does not list, since no other tenant contends there
	}
	return OwnDemand
}

// worst sets what a contending tenant received on the link where that was least.
func (j *contentionJudge) worst(t *TenantShare) {
	for _, at := range j.at[t.Tenant] {
		l := &j.report.Links[at.link]
		if lt := &l.Tenants[at.tenant]; lt.Received != nil && (t.Received == nil || *lt.Received < *t.Received) {
			t.Received, t.EntitledNow, t.Limit = lt.Received, lt.EntitledNow, l.Name
		}
	}
}
