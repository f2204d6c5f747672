package ib

import (
	"fmt"
	"math"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/num"
	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/policy/sl"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// setting holds the congestion-control parameters of one (port, SL).
type setting struct {
	port    int32 // into Settings.ports
	sl      ident.SL
	tenants []int32 // tenants that may send on it; all of them if all only receive
	flows   []int32 // flows that leave the port on this SL
	qps     float64
	// rate is the intended rate of one CCTI, in bit/s: one queue pair's entitlement, or in SL mode that of all queue pairs of the SL; if these
	// differ, the geometric mean.
	rate float64
	// need is the product Increase·Timer (more exactly Timer/response), in timer units, for one packet per mark and a mark load of one.
	need float64
	// marked is the largest number of marking links that limit one of the setting's flows.
	marked int
	// taken is the part of timer ticks that take a step at rate; need includes it.
	taken float64
	// spread is the largest relative miss of need by a flow that shares the setting.
	spread float64
	kind   model.Kind
	group  int32 // into Settings.groups, or -1
	exact  float64
	timer  uint16
	incr   uint8
	min    uint8   // CCTI_Min; 0 when no tenant is capped
	held   float64 // rate of one CCTI at min, bit/s
}

// port is a channel-adapter port with attached tenants.
type port struct {
	ref        subnet.PortRef
	id         ident.PortID
	line       float64 // bit/s
	packet     float64 // bits of a full packet
	profile    *ibprofile.Profile
	entries    int     // most entries of its table
	unit       float64 // of its timer, seconds
	restart    bool    // every BECN restarts its timer
	settings   []int32 // by SL
	perSL      bool
	modeReason string // reason for perSL
	table      []ibcc.Entry
	shape      int     // of the table: its growth or scale in thousandths
	smallest   float64 // bit/s that the table must reach below with reachMargin
	tableWhy   plan.Reason
	clamps     *plan.Finding  // set when no table reaches low enough
	coarse     []plan.Finding // caps that the table cannot hold accurately
}

// Settings holds the settings of the whole fabric.
type Settings struct {
	m                 *model.Model
	target            *model.Allocation
	place             sl.Placements
	placementFindings []plan.Finding // findings about place
	// receivers are the tenants that only receive on a port, on an SL that another tenant also has there.
	receivers map[model.TenantPort]bool
	ports     []port
	all       []setting
	ofFlow    []int32 // setting of each flow
	marks     []int32 // number of limiting marking links that each flow crosses
	groups    []group
	// prev is a compilation of the same flows on the same service levels, or nil. fresh flags the ports whose inputs differ from prev and that
	// must be computed.
	prev    *Settings
	fresh   []bool
	capped  []float64 // by setting, see capRates
	lanes   []lanes   // ports with lane weights
	tops    *tops     // shared with prev
	marking []int     // packets per mark, by link direction, for the switches; 0 where unset
}

// newSettings assigns the flows to their (port, SL).
func newSettings(m *model.Model, target *model.Allocation, place sl.Placements) *Settings {
	s := &Settings{m: m, target: target, place: place, ofFlow: make([]int32, len(m.Flows)), marks: m.MarksOf(target),
		tops: newTops(), receivers: map[model.TenantPort]bool{}}
	roles := m.Roles()
	at := make([]int32, len(m.Caps)) // port by the link direction that it drives
	for _, pt := range m.TenantsByPort() {
		ref, _ := m.Fabric.PortByID(pt.Port)
		d := model.Direction(m.Fabric, ref)
		p := adapterPort(m, ref, d)
		var bySL, receive [ident.NumSLs][]int32
		for k, t := range pt.Tenants {
			sl, of := place[t][pt.At[k]], &bySL
			if roles[t][pt.At[k]] == model.RoleReceives {
				of = &receive
			}
			of[sl] = append(of[sl], t)
		}
		for sl, ts := range bySL {
			if len(ts)+len(receive[sl]) > 1 {
				for _, t := range receive[sl] {
					s.receivers[model.TenantPort{Tenant: t, Port: pt.Port}] = true
				}
			}
			if len(ts) == 0 {
				ts = receive[sl]
			}
			if len(ts) > 0 {
				p.settings = append(p.settings, int32(len(s.all)))
				s.all = append(s.all, setting{port: int32(len(s.ports)), sl: ident.SL(sl), tenants: ts, group: -1})
			}
		}
		at[d] = int32(len(s.ports))
		s.ports = append(s.ports, p)
	}
	for i := range m.Flows {
		f := &m.Flows[i]
		p := &s.ports[at[f.Links[0]]]
		for _, k := range p.settings {
			if st := &s.all[k]; slices.Contains(st.tenants, f.Tenant) {
				s.ofFlow[i] = k
				st.flows = append(st.flows, int32(i))
				st.qps += f.QPs
			}
		}
	}
	s.fresh = slices.Repeat([]bool{true}, len(s.ports))
	s.capped = s.capRates()
	return s
}

// settingsLike is newSettings for the flows and service levels of prev, which it does not change. Ports whose flows keep their entitlements
// and limiting links keep their settings.
func settingsLike(m *model.Model, prev *Settings, target *model.Allocation) *Settings {
	a := m.ChangesSince(target, prev.target)
	s := &Settings{m: m, target: target, place: prev.place, placementFindings: prev.placementFindings, ports: slices.Clone(prev.ports), all: slices.Clone(prev.all),
		ofFlow: prev.ofFlow, marks: m.MarksSince(target, a, prev.marks), prev: prev, fresh: make([]bool, len(prev.ports)), tops: prev.tops,
		receivers: prev.receivers}
	for i, anew := range a.Flows {
		if anew {
			s.fresh[s.all[s.ofFlow[i]].port] = true
		}
	}
	for i := range s.all {
		if st := &s.all[i]; len(st.flows) == 0 && slices.ContainsFunc(s.ports[st.port].settings, s.weightMoved) {
			s.fresh[st.port] = true // its share of the port is by weight
		}
	}
	s.capped = s.capRates()
	for k := range s.all {
		if (s.capped == nil) != (prev.capped == nil) || s.capped != nil && s.capped[k] != prev.capped[k] {
			s.fresh[s.all[k].port] = true
		}
	}
	for i := range s.all {
		if st := &s.all[i]; s.fresh[st.port] {
			*st = setting{port: st.port, sl: st.sl, tenants: st.tenants, flows: st.flows, qps: st.qps}
		}
		s.all[i].group = -1
	}
	for i := range s.ports {
		if p := &s.ports[i]; s.fresh[i] {
			*p = port{ref: p.ref, id: p.id, line: p.line, packet: p.packet, settings: p.settings,
				profile: p.profile, entries: p.entries, unit: p.unit, restart: p.restart}
		}
	}
	return s
}

// weightMoved reports whether the weight of a tenant of a setting changed.
func (s *Settings) weightMoved(k int32) bool {
	return slices.ContainsFunc(s.all[k].tenants, func(t int32) bool { return s.m.Tenants[t].Weight != s.prev.m.Tenants[t].Weight })
}

// wanted returns the rate that a flow's settings aim at: its entitlement; or, if only its demand or its part of a cap limits it, twice that,
// so that marks meant for others do not hold it below.
func (s *Settings) wanted(f int32) float64 {
	if s.target.Bottleneck[f] < 0 || s.capLimits(f) {
		return float64(2 * s.target.Rates[f])
	}
	return s.target.Rates[f]
}

// choosePortModes chooses for each port between one CCTI per queue pair and one per SL.
func (s *Settings) choosePortModes() error {
	tables := s.newTables()
	var last lastTop
	for i := range s.ports {
		if !s.fresh[i] {
			continue
		}
		p := &s.ports[i]
		switch s.m.Input.Options.PerQP {
		case model.PerQPOn:
			p.modeReason = phrase.Write("reason.formula.mode-asked-qp")
		case model.PerQPOff:
			p.perSL, p.modeReason = true, phrase.Write("reason.formula.mode-asked-sl")
		default:
			p.perSL, p.modeReason = s.autoMode(p)
		}
		p.enforceMode()
		finest, err := tables.finest(p)
		if err != nil {
			return err
		}
		for _, k := range p.settings {
			s.measure(&s.all[k])
			s.compensateLostTicks(k, finest, &last)
		}
	}
	return nil
}

// autoMode prefers one CCTI per queue pair, in which a queue pair slowed by one bottleneck does not slow the others of its SL. Its cost is
// time: with many queue pairs each has a small rate, therefore a long timer, and settles and averages out more slowly in proportion. One CCTI
// for all is as exact, and faster by their number, where it can slow no queue pair wrongly: all cross the same bottlenecks, and the SL is the
// only one with traffic on the port, so that it does not matter whether the device slows the SL or, as reported of some devices, the whole
// port.
func (s *Settings) autoMode(p *port) (perSL bool, why string) {
	busy, together, crowd := 0, true, 1.0
	for _, k := range p.settings {
		st := &s.all[k]
		if len(st.flows) == 0 {
			continue
		}
		busy++
		s.measure(st)
		together = together && s.sameBottlenecks(st)
		crowd = max(crowd, st.qps)
	}
	switch {
	case crowd <= 1:
		return false, phrase.Write("reason.formula.mode-few")
	case busy > 1:
		return false, phrase.Write("reason.formula.mode-several")
	case !together:
		return false, phrase.Write("reason.formula.mode-bottlenecks")
	}
	return true, phrase.Write("reason.formula.mode-together", "qps", fmt.Sprint(model.RoundQPs(crowd)))
}

func (s *Settings) sameBottlenecks(st *setting) bool {
	limits := func(f int32) []int32 {
		var out []int32
		for _, d := range s.m.Flows[f].Links {
			if s.target.Limiting[d] {
				out = append(out, d)
			}
		}
		return out
	}
	first := limits(st.flows[0])
	for _, f := range st.flows[1:] {
		if !slices.Equal(first, limits(f)) {
			return false
		}
	}
	return true
}

// timerUnit is the standard's unit of CCTI_Timer in seconds.
const timerUnit = ibcc.TimerUnitPicoseconds * 1e-12

// measure computes a setting's rate and need from its flows. Derivation: a CCTI that lets through r bit/s of packets of S bits gets p·r/S
// BECNs a second when a share p of the packets is marked, and in equilibrium that is the decay, response/(Timer·unit). A link that marks every
// Nth packet while its queue is over the threshold a share ρ of the time has p = ρ/N; ρ is the mark load. A flow that crosses k such links
// gets the marks of all. So
//
//	Timer/response = N·S / (ρ·k·r·unit) = (N/ρ) · need,  need = S/(k·r·unit).
//
// Flows of different need that share a setting get the geometric mean, weighted by queue pairs, which is least squares on a logarithmic scale.
func (s *Settings) measure(st *setting) {
	p := &s.ports[st.port]
	flows := s.relevant(st)
	if st.kind == model.Idle {
		st.rate = s.idleRate(p, st)
		st.need, st.spread = p.packet/float64(st.rate*p.unit), 0
		return
	}
	total := 0.0
	for _, f := range flows {
		total += s.wanted(f)
	}
	needs := make([]float64, len(flows))
	st.marked = 0
	least, most := math.Inf(1), 0.0
	for i, f := range flows {
		r := s.wanted(f) / s.m.Flows[f].QPs
		if p.perSL {
			r = total
		}
		k := max(1, s.marks[f])
		st.marked = max(st.marked, int(k))
		needs[i] = p.packet / float64(float64(float64(k)*r)*p.unit)
		least, most = min(least, needs[i]), max(most, needs[i])
	}
	if most <= least*(1+1e-9) { // equal but for rounding
		st.rate, st.need, st.spread = rateOf(flows, p.perSL, total, s), needs[0], 0
		if p.perSL {
			st.spread = s.uneven(flows)
		}
		return
	}
	var qps, logRate, logNeed float64
	for i, f := range flows {
		r, n := s.wanted(f)/s.m.Flows[f].QPs, s.m.Flows[f].QPs
		if p.perSL {
			r = total
		}
		qps += n
		logRate += float64(n * num.Ln(r))
		logNeed += float64(n * num.Ln(needs[i]))
	}
	st.rate, st.need = num.Exp(logRate/qps), num.Exp(logNeed/qps)
	st.spread = max(most/st.need-1, st.need/least-1)
}

// uneven returns the largest relative miss by a queue pair when all queue pairs of the flows get the same rate.
func (s *Settings) uneven(flows []int32) float64 {
	total, qps := 0.0, 0.0
	for _, f := range flows {
		total += s.wanted(f)
		qps += s.m.Flows[f].QPs
	}
	worst, mean := 0.0, total/qps
	for _, f := range flows {
		r := s.wanted(f) / s.m.Flows[f].QPs
		worst = max(worst, mean/r-1, r/mean-1)
	}
	if worst < 1e-9 {
		return 0
	}
	return worst
}

func rateOf(flows []int32, perSL bool, total float64, s *Settings) float64 {
	if perSL {
		return total
	}
	return s.wanted(flows[0]) / s.m.Flows[flows[0]].QPs
}

// relevant returns the flows that determine a setting: those that a marking link limits, or all of them when there are none.
func (s *Settings) relevant(st *setting) []int32 {
	var out []int32
	for _, f := range st.flows {
		if b := s.target.Bottleneck[f]; b >= 0 && s.m.Marks(b) && !s.capLimits(f) {
			out = append(out, f)
		}
	}
	switch {
	case len(st.flows) == 0:
		st.kind = model.Idle
	case len(out) == 0:
		st.kind = model.Uncontended
		return st.flows
	default:
		st.kind = model.Contended
	}
	return out
}

// idleRate returns the rate for a (port, SL) without flows: one queue pair with the share of the port that its tenants' weights give among the
// tenants attached there.
func (s *Settings) idleRate(p *port, st *setting) float64 {
	weight := func(ts []int32) float64 {
		w := 0.0
		for _, t := range ts {
			w += float64(s.m.Tenants[t].Weight)
		}
		return w
	}
	all := 0.0
	for _, k := range p.settings {
		all += weight(s.all[k].tenants)
	}
	return float64(p.line * (weight(st.tenants) / all))
}
