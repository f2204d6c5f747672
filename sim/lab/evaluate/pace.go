package evaluate

import (
	"math"

	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/tenantnet"
	"fairlane/wrcc"
)

// What a tenant's rate over the window is worth. On InfiniBand it is steered by single marks: its relative standard
// error is 1/sqrt(marks). Ethernet's loops answer in the mean of many packets.
const (
	wantedMarks   = 10_000 // standard error 1 %
	wantedPackets = 4_000
	markLoad      = 0.65 // part of the time in which a marking link is above its threshold
)

// wrccSettling is for how many sampling periods WRCC settles. Near rest a fair rate moves by a 64th of the port's excess in each (S0, formula
// (5)). Where only a quarter of a port's load follows it, as the rest is held by other ports, the excess shrinks by 1/e in
// 256 periods, and the queue grows by it meanwhile: these are four times as many.
const wrccSettling = 1024

// settledPlans is how many of a WRCC plan's settling times are waited for: after one about a third of the distance is left, after six 0.2 %.
const settledPlans = 6

// longestSettling bounds the time that is waited for shares: a plan may need longer, and says so (slow-convergence).
const longestSettling = 3 * quantity.Second

// paceOf says how long to settle and to count. The window is long enough for the smallest tenant to be
// counted well, unless that takes more hops than allowed.
func paceOf(in *policy.Input, p *policy.Plan, n network, o *Options) pace {
	bits := packetBits(in)
	smallest, hopRate := math.Inf(1), 0.0
	for _, t := range p.Tenants {
		if t.Predicted > 0 {
			smallest = min(smallest, float64(t.Predicted))
		}
	}
	total := 0.0
	for _, t := range p.Tenants {
		total += float64(t.Predicted)
	}
	streams := n.streams()
	for _, s := range streams {
		hopRate += float64(len(s.way))
	}
	hopRate *= total / bits / float64(max(1, len(streams))) // packet hops a second
	var pc pace
	var wanted float64 // seconds
	settle := min(p.Settle, longestSettling)
	switch in.Options.Plane {
	case policy.PlaneRoCE:
		pc.settle, pc.window = max(60*quantity.Millisecond, settle), 100*quantity.Millisecond
		wanted = max(wantedPackets*bits/smallest, profile.MeanSettles*settle.Seconds())
	case policy.PlaneWRCC:
		period := longestPeriod(p)
		pc.settle, pc.window = max(4*quantity.Millisecond, wrccSettling*period, settledPlans*settle), max(5*quantity.Millisecond, 100*period)
		wanted = max(wantedPackets*bits/smallest, profile.MeanSettles*settle.Seconds())
	default:
		const steps = 150 // of the timer from line rate down to any share and back
		pc.settle = min(max(steps*longestTimer(in, p), 50*quantity.Millisecond), longestSettling)
		pc.window = 100 * quantity.Millisecond
		wanted = wantedMarks * coarsest(p) / markLoad * bits / smallest
	}
	longest := 4.0 // seconds
	if o.MaxHops > 0 {
		longest = max(min(20, o.MaxHops/hopRate), o.LeastS)
	}
	wanted = max(min(wanted, longest), pc.window.Seconds())
	pc.window = quantity.Picoseconds(wanted*1e6) * quantity.Microsecond
	return pc
}

// longestPeriod is the longest sampling period of the plan's WRCC switches.
func longestPeriod(p *policy.Plan) quantity.Picoseconds {
	longest := quantity.Picoseconds(0)
	if p.WRCC != nil {
		for i := range p.WRCC.Domains {
			longest = max(longest, p.WRCC.Domains[i].Period)
		}
	}
	return longest
}

// packetBits is the size of a full packet on the wire.
func packetBits(in *policy.Input) float64 {
	switch in.Options.Plane {
	case policy.PlaneRoCE:
		return 8 * (tenantnet.Payload + tenantnet.Headers)
	case policy.PlaneWRCC:
		return 8 * (tenantnet.Payload + tenantnet.Headers + wrcc.HeaderSize)
	default:
		return 8 * (4096 + 26)
	}
}
