package wrcc

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/wrcc"
)

// lateLoad is the part of a port's capacity from which late queue pairs disturb it: after the port has halved the rates of the others, their
// load keeps it above RateRatioMax, and it divides again.
const lateLoad = wrcc.DefaultRateRatioPct/100. - 1

// latePairs are queue pairs whose reaction a port cannot wait for: they learn a fair rate once a packet, so late that the loop is unstable
// with them.
type latePairs struct {
	load    float64 // bit/s
	qps     float64
	gap     quantity.Picoseconds // the longest time between two packets of one
	tenants []int32
}

// lateFinding reports the ports with much load that reacts too late: longestGap bounds the gaps that WRCCT accounts for.
func (s *Settings) lateFinding() {
	l := s.m.Layout()
	stableGap := make(map[int32]quantity.Picoseconds) // by domain
	at := make(map[int32]*latePairs)                  // by link direction
	for i, by := range s.limits {
		d := s.target.Bottleneck[i]
		if by != byLink || d < 0 || !s.m.Marks(d) {
			continue
		}
		gap := packetGap(s.target.Rates[i] / l.QPs[i])
		k := s.home[s.m.Transmitter(d).Node]
		if gap+s.domains[k].rtt <= s.domains[k].period/2 {
			continue // most queue pairs are fast; their domain's gap is not needed
		}
		if _, ok := stableGap[k]; !ok {
			stableGap[k] = s.domains[k].longestStableGap()
		}
		if gap <= stableGap[k] {
			continue
		}
		if at[d] == nil {
			at[d] = &latePairs{}
		}
		at[d].add(l.Tenant[i], s.target.Rates[i], l.QPs[i], gap)
	}
	var links []string
	worst, tenants := latePairs{}, []int32{}
	for d := range int32(len(s.m.Caps)) {
		x := at[d]
		if x == nil || x.load < float64(lateLoad*s.m.Caps[d]) {
			continue
		}
		links = append(links, s.m.LinkName(d))
		worst.gap, worst.qps = max(worst.gap, x.gap), worst.qps+x.qps
		tenants = append(tenants, x.tenants...)
	}
	if links == nil {
		return
	}
	var names []string
	slices.Sort(tenants)
	s.swinging = slices.Compact(tenants)
	for _, t := range s.swinging {
		names = append(names, s.m.Tenants[t].Name)
	}
	s.findings = append(s.findings, plan.NewFinding(plan.CodeWRCCUnstable, names, plan.Bounded(links),
		phrase.Of("plan.wrcc-late",
			"qps", plan.Counted(model.RoundQPs(worst.qps), plan.KindQueuePair), "links", plan.Counted(len(links), plan.KindLink), "gap", model.RoundTime(worst.gap.Seconds())),
		phrase.Of("plan.wrcc-late.fix")))
}

func (x *latePairs) add(tenant int32, load, qps float64, gap quantity.Picoseconds) {
	x.load += load
	x.qps += qps
	x.gap = max(x.gap, gap)
	if len(x.tenants) == 0 || x.tenants[len(x.tenants)-1] != tenant { // flows are ordered by tenant
		x.tenants = append(x.tenants, tenant)
	}
}

// packetGap returns the time between two packets of a queue pair with a rate in bit/s.
func packetGap(rate float64) quantity.Picoseconds {
	return quantity.Picoseconds(boundPacket / max(rate, 1) * float64(quantity.Second))
}

// longestStableGap returns the longest time between two packets of queue pairs with which the loop of the domain's ports is stable, to a
// microsecond. It is unlimited where the loop is unstable in any case, which choosePeriod reports.
func (d *domain) longestStableGap() quantity.Picoseconds {
	p := wrcc.DefaultParams(defaultUnit, d.period)
	stable := func(gap quantity.Picoseconds) bool { return p.CheckLate(d.rtt.Seconds(), gap.Seconds()) == nil }
	if !stable(0) {
		return quantity.Picoseconds(1<<63 - 1)
	}
	low, high := quantity.Picoseconds(0), 4*max(d.period, d.rtt) // a delay of five periods is too much for any factor
	for high-low > quantity.Microsecond {
		if mid := (low + high) / 2; stable(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
