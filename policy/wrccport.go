package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// wrccEgress is an egress port of a switch.
type wrccEgress struct {
	port   ident.PortID
	ref    subnet.PortRef
	params wrcc.Params
	facts  wrcc.Facts
	caps   bool // Fmax enforces caps
}

// egress is what the flows over a link direction tell of the port that drives it.
type egress struct {
	flows    bool
	open     bool // carries a flow that a link holds: more than its entitlement may be there for it one day
	capped   bool // carries a flow that its tenant's cap holds
	least    float64
	sum      float64
	hostRate float64
}

// setPorts derives the settings of all egress ports of every switch that flows cross, by S0's rules.
func (s *wrccSettings) setPorts() error {
	of := make([]egress, len(s.m.caps))
	all := egress{flows: true, least: math.Inf(1)}
	s.gather(of, &all)
	s.holdCaps(of)
	used := make([]bool, len(s.m.fabric.Nodes))
	for d := range of {
		if of[d].flows && s.m.marks(int32(d)) {
			used[s.m.transmitter(int32(d)).Node] = true
		}
	}
	for d := range of {
		tx := s.m.transmitter(int32(d))
		if !used[tx.Node] {
			continue
		}
		o := &of[d]
		if !o.flows {
			o = &all
		}
		e, err := s.egressSettings(int32(d), tx, o)
		if err != nil {
			return err
		}
		s.ports = append(s.ports, e)
	}
	slices.SortFunc(s.ports, func(a, b wrccEgress) int { return a.port.Compare(b.port) })
	return nil
}

// gather sums up the flows over each link direction, and over any.
func (s *wrccSettings) gather(of []egress, all *egress) {
	for i := range s.m.flows {
		f := &s.m.flows[i]
		host := s.m.caps[f.links[0]]
		all.least, all.hostRate = min(all.least, s.weights[i]), max(all.hostRate, host)
		for _, d := range f.links {
			o := &of[d]
			if !o.flows {
				*o = egress{flows: true, least: math.Inf(1)}
			}
			o.least, o.hostRate = min(o.least, s.weights[i]), max(o.hostRate, host)
			o.sum += float64(s.weights[i] * f.qps)
			o.open = o.open || s.limits[i] == byLink
			o.capped = o.capped || s.limits[i] == byCap
			all.sum = max(all.sum, o.sum)
		}
	}
}

// holdCaps finds a port for each flow that only its tenant's cap holds. Where all flows of a port have their
// demand or their cap, a largest fair rate of one unit holds each at its weight, and takes nothing
// from anybody.
func (s *wrccSettings) holdCaps(of []egress) {
	s.ceiling = make([]float64, len(s.m.flows))
	for i := range s.m.flows {
		f := &s.m.flows[i]
		if s.limits[i] == byCap && slices.ContainsFunc(f.links, func(d int32) bool { return of[d].enforces() && s.m.marks(d) }) {
			s.ceiling[i] = float64(float64(s.weights[i]*f.qps) * s.unit)
		}
	}
}

func (o *egress) enforces() bool { return o.capped && !o.open }

// egressSettings derives the settings of one port. Its facts are rounded, to powers of two on the side of more
// room, so that ports alike have the same settings.
func (s *wrccSettings) egressSettings(d int32, tx subnet.PortRef, o *egress) (wrccEgress, error) {
	dom := s.domainOf(tx.Node)
	e := wrccEgress{port: s.m.fabric.PortID(tx), ref: tx, caps: o.enforces(), facts: wrcc.Facts{
		PortRate: quantity.BitRate(s.m.caps[d]), HostRate: quantity.BitRate(o.hostRate), MaxIntraRTT: dom.react, PeriodRTTs: dom.perRTT,
	}}
	// A fair rate of one unit is a weight of 1: S0's rules count rates per unit of weight.
	least := min(max(powerBelow(o.least), wrcc.MinWeight), wrcc.MaxWeight)
	sum := min(max(powerAbove(float64(o.sum*weightReserve)), least), wrcc.MaxWeightSum)
	e.facts.MinWeight, e.facts.WeightSum = least, sum
	set, err := wrcc.Derive(e.facts)
	if err != nil {
		return e, fmt.Errorf("%w: port %s: %w", ErrInput, s.m.fabric.PortName(tx), err)
	}
	e.params = set.Port
	e.params.Period, e.params.QRatioPct = dom.period, wrcc.MinQRatioPct
	if e.caps {
		e.params.Fmax = quantity.BitRate(s.unit)
		e.params.Fmin = min(e.params.Fmin, e.params.Fmax)
	}
	return e, nil
}

// powerBelow is the largest power of two that is at most x, which is 0 or more; of 0 and infinity it is that.
func powerBelow(x float64) float64 {
	if x == 0 || math.IsInf(x, 1) {
		return x
	}
	_, exp := math.Frexp(x)
	return math.Ldexp(1, exp-1)
}

// powerAbove is the smallest power of two that is at least x, likewise.
func powerAbove(x float64) float64 {
	p := powerBelow(x)
	if p < x {
		p += p
	}
	return p
}

// portPlans groups ports with the same settings for the same reasons.
func (s *wrccSettings) portPlans() []WRCCPortPlan {
	type kind struct {
		params wrcc.Params
		facts  wrcc.Facts
		caps   bool
	}
	at := make(map[kind]int)
	out := []WRCCPortPlan{}
	for i := range s.ports {
		e := &s.ports[i]
		k := kind{e.params, e.facts, e.caps}
		n, ok := at[k]
		if !ok {
			n = len(out)
			at[k] = n
			out = append(out, WRCCPortPlan{Settings: e.params, Reasons: s.portReasons(e)})
		}
		out[n].Ports = append(out[n].Ports, NamedPort{Port: e.port, Name: s.m.fabric.PortName(e.ref)})
	}
	return out
}

func (s *wrccSettings) portReasons(e *wrccEgress) []Reason {
	mbps := func(r quantity.BitRate) string { return strconv.FormatInt(int64(r/quantity.Mbps), 10) }
	rates := fmt.Sprintf("%s..%s", mbps(wrcc.MinFairRate), mbps(wrcc.MaxFairRate))
	fmax := Reason{Field: "fmax", Value: mbps(e.params.Fmax), Unit: "Mbit/s", Range: rates, Rule: "fmax",
		Formula: fmt.Sprintf("%s, the fastest sender / %g: the lightest queue pair here may fill the port alone", e.facts.HostRate, e.facts.MinWeight)}
	if e.caps {
		fmax.Rule = "cap"
		fmax.Formula = "one unit: all flows here have their demand or the cap of their tenant, and it holds each at its weight"
	}
	return []Reason{
		{Field: "target", Value: mbps(e.params.Target), Unit: "Mbit/s", Range: "1.." + mbps(quantity.MaxBitRate), Rule: "target",
			Formula: "the rate of the link: S0 needs no reserve (section 1)"},
		fmax,
		{Field: "fmin", Value: mbps(e.params.Fmin), Unit: "Mbit/s", Range: rates, Rule: "fmin",
			Formula: fmt.Sprintf("the least of %s / %d and %s / %g, ten times the weight of the flows that meet here", e.facts.HostRate, wrcc.FminPart, e.params.Target, e.facts.WeightSum)},
		{Field: "period", Value: strconv.FormatInt(int64(e.params.Period/quantity.Microsecond), 10), Unit: "us", Range: "1..65535", Rule: "wrcct",
			Formula: "WRCCT of the data centre"},
		{Field: "rate_ratio", Value: strconv.Itoa(e.params.RateRatioPct), Unit: "%", Range: fmt.Sprintf("%d..%d", wrcc.MinRateRatioPct, wrcc.MaxRateRatioPct), Rule: "s0-default",
			Formula: "RateRatioMax of S0's experiments (table 2)"},
		{Field: "q_ratio", Value: strconv.Itoa(e.params.QRatioPct), Unit: "%", Range: fmt.Sprintf("%d..%d", wrcc.MinQRatioPct, wrcc.MaxQRatioPct), Rule: "short-queue",
			Formula: "the least of QRatioMax (S0, 3.6): a queue that stands makes the loop later than round trips tell, and swing; a part of the pause thresholds, which follow the buffer"},
		{Field: "lambda", Value: strconv.FormatFloat(e.params.Lambda, 'g', -1, 64), Range: "0..1", Rule: "s0-default",
			Formula: "weight of a period in the average round trip (S0, formula (1))"},
	}
}
