package wrcc

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// egressKind holds the settings of an egress port of a switch.
type egressKind struct {
	port   ident.PortID
	ref    subnet.PortRef
	params wrcc.Params
	facts  wrcc.Facts
	caps   bool // Fmax enforces caps
}

// egress summarises the flows over a link direction for the port that drives it.
type egress struct {
	flows    bool
	open     bool // carries a flow that a link limits, which may later get more than its entitlement
	capped   bool // carries a flow that its tenant's cap limits
	least    float64
	sum      float64
	hostRate float64
}

// setPorts derives the settings of all egress ports of every switch that flows cross, by S0's rules.
func (s *Settings) setPorts() error {
	all := egress{flows: true, least: math.Inf(1)}
	s.gather(&all)
	if s.ports, s.layout.ports = s.layout.ports, nil; s.ports == nil {
		s.ports = make([]egressKind, len(s.layout.egress))
	}
	for i, d := range s.layout.egress {
		o := &s.of[d]
		if !o.flows {
			o = &all
		}
		var was *egressKind
		if s.prev != nil {
			was = &s.prev.ports[i]
		}
		var err error
		if s.ports[i], err = s.egressSettings(d, o, was); err != nil {
			return err
		}
	}
	return nil
}

// gather summarises the flows over each link direction, and over all, except what holdCaps finds.
func (s *Settings) gather(all *egress) {
	l, of := s.m.Layout(), s.of
	for i, w := range s.weights {
		hops := l.Hops[l.First[i]:l.First[i+1]]
		host := s.m.Caps[hops[0]]
		all.least, all.hostRate = min(all.least, w), max(all.hostRate, host)
		sum := float64(w * l.QPs[i])
		for _, d := range hops {
			o := &of[d]
			if !o.flows {
				o.flows, o.least = true, math.Inf(1)
			}
			o.least, o.hostRate = min(o.least, w), max(o.hostRate, host)
			o.sum += sum
			all.sum = max(all.sum, o.sum)
		}
	}
}

// holdCaps finds a port for each flow that only its tenant's cap limits. If all flows of a port have their demand or their cap, a largest fair
// rate of one unit holds each at its weight, at no other flow's expense.
func (s *Settings) holdCaps() {
	if s.of, s.layout.of = s.layout.of, nil; s.of == nil {
		s.of = make([]egress, len(s.m.Caps))
	} else {
		clear(s.of)
	}
	if !slices.Contains(s.limits, byCap) {
		return
	}
	l := s.m.Layout()
	for i, by := range s.limits {
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			o := &s.of[d]
			o.open, o.capped = o.open || by == byLink, o.capped || by == byCap
		}
	}
	s.ceiling = make([]float64, len(s.m.Flows))
	for i, by := range s.limits {
		if by == byCap && slices.ContainsFunc(s.m.Flows[i].Links, func(d int32) bool { return s.of[d].enforces() && s.m.Marks(d) }) {
			s.ceiling[i] = float64(float64(s.weights[i]*l.QPs[i]) * s.unit)
		}
	}
}

func (o *egress) enforces() bool { return o.capped && !o.open }

// egressSettings derives the settings of one port. It rounds the inputs to powers of two, on the side of more room, so that similar ports have
// the same settings. was is the previous result of the port, or nil.
func (s *Settings) egressSettings(d int32, o *egress, was *egressKind) (egressKind, error) {
	tx := s.m.Transmitter(d)
	dom := s.domainOf(tx.Node)
	e := egressKind{port: s.m.Fabric.PortID(tx), ref: tx, caps: o.enforces(), facts: wrcc.Facts{
		PortRate: quantity.BitRate(s.m.Caps[d]), HostRate: quantity.BitRate(o.hostRate), MaxIntraRTT: dom.react, PeriodRTTs: dom.perRTT,
	}}
	// A fair rate of one unit is a weight of 1: S0's rules count rates per unit of weight.
	least := min(max(powerBelow(o.least), wrcc.MinWeight), wrcc.MaxWeight)
	sum := min(max(powerAbove(float64(o.sum*weightReserve)), least), wrcc.MaxWeightSum)
	e.facts.MinWeight, e.facts.WeightSum = least, sum
	if was != nil && was.facts == e.facts && was.caps == e.caps && was.params.Period == dom.period {
		return *was, nil
	}
	set, err := wrcc.Derive(e.facts)
	if err != nil {
		return e, fmt.Errorf("%w: port %s: %w", model.ErrInput, s.m.Fabric.PortName(tx), err)
	}
	e.params = set.Port
	e.params.Period, e.params.QRatioPct = dom.period, wrcc.MinQRatioPct
	if e.caps {
		e.params.Fmax = quantity.BitRate(s.unit)
		e.params.Fmin = min(e.params.Fmin, e.params.Fmax)
	}
	return e, nil
}

// powerBelow returns the largest power of two that is at most x, which is 0 or more; 0 and infinity are returned unchanged.
func powerBelow(x float64) float64 {
	if x == 0 || math.IsInf(x, 1) {
		return x
	}
	_, exp := math.Frexp(x)
	return math.Ldexp(1, exp-1)
}

// powerAbove returns the smallest power of two that is at least x; 0 and infinity are returned unchanged.
func powerAbove(x float64) float64 {
	p := powerBelow(x)
	if p < x {
		p += p
	}
	return p
}

// portPlans groups ports with the same settings for the same reasons. A group with the same ports as in the previous plan is taken over, with
// its digest.
func (s *Settings) portPlans(before []plan.WRCCPortPlan, was []plan.Digest) ([]plan.WRCCPortPlan, []plan.Digest) {
	first := s.kindsOfPorts()
	out, digests, size := make([]plan.WRCCPortPlan, len(first)), make([]plan.Digest, len(first)), make([]int, len(first))
	for _, k := range s.kinds {
		size[k]++
	}
	for k, i := range first {
		e := &s.ports[i]
		out[k] = plan.WRCCPortPlan{Settings: e.params, Ports: make([]plan.NamedPort, 0, size[k])}
	}
	for i, k := range s.kinds {
		out[k].Ports = append(out[k].Ports, plan.NamedPort{Port: s.ports[i].port, Name: s.layout.names[i]})
	}
	for k, i := range first {
		if s.prev != nil && s.ports[i] == s.prev.ports[i] {
			if old := s.prev.kinds[i]; slices.Equal(out[k].Ports, before[old].Ports) {
				out[k], digests[k] = before[old], was[old]
				continue
			}
		}
		out[k].Reasons = s.portReasons(&s.ports[i])
	}
	return out, digests
}

// kindsOfPorts numbers the kinds of ports, and lists the first port of each.
func (s *Settings) kindsOfPorts() (first []int) {
	type kind struct {
		params wrcc.Params
		facts  wrcc.Facts
		caps   bool
	}
	at := make(map[kind]int32)
	var known []int32 // kind by the port's previous kind, -1 where unknown
	if s.prev != nil {
		known = slices.Repeat([]int32{-1}, len(s.ports))
	}
	s.kinds = make([]int32, len(s.ports))
	for i := range s.ports {
		e := &s.ports[i]
		same := s.prev != nil && *e == s.prev.ports[i]
		if same && known[s.prev.kinds[i]] >= 0 {
			s.kinds[i] = known[s.prev.kinds[i]]
			continue
		}
		k := kind{e.params, e.facts, e.caps}
		n, ok := at[k]
		if !ok {
			n = int32(len(first))
			at[k] = n
			first = append(first, i)
		}
		if s.kinds[i] = n; same {
			known[s.prev.kinds[i]] = n
		}
	}
	return first
}

func (s *Settings) portReasons(e *egressKind) []plan.Reason {
	mbps := func(r quantity.BitRate) string { return strconv.FormatInt(int64(r/quantity.Mbps), 10) }
	rates := fmt.Sprintf("%s..%s", mbps(wrcc.MinFairRate), mbps(wrcc.MaxFairRate))
	fmax := plan.Reason{Field: "fmax", Value: mbps(e.params.Fmax), Unit: "Mbit/s", Range: rates, Rule: plan.RuleFmax,
		Formula: phrase.Write("reason.formula.fmax", "rate", e.facts.HostRate.String(), "weight", fmt.Sprint(e.facts.MinWeight))}
	if e.caps {
		fmax.Rule = plan.RuleCap
		fmax.Formula = phrase.Write("reason.formula.fmax-caps")
	}
	return []plan.Reason{
		{Field: "target", Value: mbps(e.params.Target), Unit: "Mbit/s", Range: "1.." + mbps(quantity.MaxBitRate), Rule: plan.RuleTarget,
			Formula: phrase.Write("reason.formula.target")},
		fmax,
		{Field: "fmin", Value: mbps(e.params.Fmin), Unit: "Mbit/s", Range: rates, Rule: plan.RuleFmin,
			Formula: phrase.Write("reason.formula.fmin", "host", e.facts.HostRate.String(), "part", strconv.Itoa(wrcc.FminPart), "target", e.params.Target.String(), "sum", fmt.Sprint(e.facts.WeightSum))},
		{Field: "period", Value: strconv.FormatInt(int64(e.params.Period/quantity.Microsecond), 10), Unit: "us", Range: "1..65535", Rule: plan.RuleWRCCT,
			Formula: phrase.Write("reason.formula.period-domain")},
		{Field: "rate_ratio", Value: strconv.Itoa(e.params.RateRatioPct), Unit: "%", Range: fmt.Sprintf("%d..%d", wrcc.MinRateRatioPct, wrcc.MaxRateRatioPct), Rule: plan.RuleS0Default,
			Formula: phrase.Write("reason.formula.rate-ratio")},
		{Field: "q_ratio", Value: strconv.Itoa(e.params.QRatioPct), Unit: "%", Range: fmt.Sprintf("%d..%d", wrcc.MinQRatioPct, wrcc.MaxQRatioPct), Rule: plan.RuleShortQueue,
			Formula: phrase.Clauses(phrase.Write("reason.formula.queue-ratio"), phrase.Write("reason.formula.queue-part"))},
		{Field: "lambda", Value: strconv.FormatFloat(e.params.Lambda, 'g', -1, 64), Range: "0..1", Rule: plan.RuleS0Default,
			Formula: phrase.Write("reason.formula.lambda")},
	}
}
