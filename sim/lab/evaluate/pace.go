package evaluate

import (
	"math"

	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/tenantnet"
	"fairlane/wrcc"
)

// Accuracy of a tenant's rate over the window. On InfiniBand single marks control the rate, so its relative standard error is
// 1/sqrt(marks). The loops on Ethernet react to the mean of many packets.
const (
	wantedMarks   = 10_000 // standard error 1 %
	wantedPackets = 4_000
	markLoad      = 0.65 // fraction of the time in which a marking link is above its threshold
)

// wrccSettling is the number of sampling periods in which WRCC settles. Near equilibrium a fair rate changes by 1/64 of the
// port's excess in each period (S0, formula (5)). If only a quarter of a port's load follows the fair rate, because other
// ports limit the rest, the excess shrinks to 1/e in 256 periods, and the queue grows in the meantime. The constant is four
// times that number.
const wrccSettling = 1024

// settledPlans is the time to wait, in settling times of a WRCC plan. After one settling time about a third of the distance
// remains, after six 0.2 %.
const settledPlans = 6

// longestSettling is the longest wait for shares to settle. A plan may need longer, and then has a finding (slow-convergence).
const longestSettling = 3 * quantity.Second

// paceOf returns the settling time and the window. The window is long enough for an accurate rate of the smallest tenant,
// within the limit of packet hops.
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
		hopRate += float64(len(s.path))
	}
	hopRate *= total / bits / float64(max(1, len(streams))) // packet hops per second
	var pc pace
	var wanted float64 // seconds of window for an accurate rate
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
		const steps = 150 // timer steps from line rate down to any rate and back
		pc.settle = min(max(steps*longestTimer(in, p), 50*quantity.Millisecond), longestSettling)
		pc.window = 100 * quantity.Millisecond
		wanted = wantedMarks * coarsest(p) / markLoad * bits / smallest
	}
	longest := 4.0 // longest window, seconds
	if o.MaxHops > 0 {
		longest = max(min(20, o.MaxHops/hopRate), o.MinSeconds)
	}
	wanted = max(min(wanted, longest), pc.window.Seconds())
	pc.window = quantity.Picoseconds(wanted*1e6) * quantity.Microsecond
	return pc
}

// longestPeriod returns the longest sampling period of the plan's WRCC switches.
func longestPeriod(p *policy.Plan) quantity.Picoseconds {
	longest := quantity.Picoseconds(0)
	if p.WRCC != nil {
		for i := range p.WRCC.Domains {
			longest = max(longest, p.WRCC.Domains[i].Period)
		}
	}
	return longest
}

// packetBits returns the size of a full packet on the wire, in bits.
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
