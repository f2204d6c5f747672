package calibrate

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
)

// grid is the design of a calibration: the conditions and positions of its runs.
type grid struct {
	speeds []quantity.BitRate
	flows  []int
	rtts   []uint32 // us
	ratios []float64
	seeds  int
	mixes  []mixClass
	least  quantity.Picoseconds // minimum counted time of a run
}

// mixClass is the number of random mixes whose per-flow rates differ by up to a ratio.
type mixClass struct {
	ratio float64
	runs  int
}

// fullGrid covers the speeds of a profile's ports from 10 to 100 Gbit/s.
func fullGrid(p *profile.Profile) grid {
	var speeds []quantity.BitRate
	for _, s := range []quantity.BitRate{10 * quantity.Gbps, 25 * quantity.Gbps, 100 * quantity.Gbps} {
		if slices.Contains(p.Speeds, s) {
			speeds = append(speeds, s)
		}
	}
	return grid{
		speeds: speeds, flows: []int{2, 4, 8, 32}, rtts: []uint32{4, 12, 20},
		ratios: []float64{2, 4, 8, 16, 64, 256}, seeds: 2,
		mixes: []mixClass{{4, 48}, {16, 48}, {64, 48}, {256, 48}}, least: 50 * quantity.Millisecond,
	}
}

// quickGrid returns a small grid for tests; its profile is valid but coarse.
func quickGrid() grid {
	return grid{
		speeds: []quantity.BitRate{25 * quantity.Gbps}, flows: []int{4}, rtts: []uint32{4}, ratios: []float64{2, 8},
		seeds: 1, mixes: []mixClass{{4, 2}, {16, 2}}, least: 5 * quantity.Millisecond,
	}
}

// Kinds of runs.
const (
	kindGrid    = "grid"    // two groups with a ratio of rates: the response is fitted to these
	kindMix     = "mix"     // random groups, not part of the fit: the bounds are computed from these
	kindDecline = "decline" // two groups that differ only in the period
	kindEffect  = "effect"  // one register changed on one of two equal groups
	kindCliff   = "cliff"   // one register changed on both of two groups with a ratio of cliffRatio
)

// point is one run with its data for the fit.
type point struct {
	key   string
	kind  string
	run   Run
	rates []float64 // intended rate of a flow of each group, bit/s
	cell  int       // kindGrid: number of the condition
	ratio float64   // largest ratio of rates between groups
	index int       // kindGrid: index of the ratio; kindEffect and kindCliff: index of the change
}

// condition returns the run's condition in a response.
func (pt *point) condition() profile.Condition {
	i := slices.Index(pt.rates, slices.Max(pt.rates))
	flows := float64(pt.run.Groups[i].Flows)
	port := profile.Port{Line: float64(pt.run.Rate), Sent: float64(flows * pt.rates[i]), Flows: flows}
	return profile.Condition{Speed: pt.run.Rate, Fastest: pt.rates[i], Port: port, RTT: 4 * pt.run.Delay}
}

// maker creates the runs of one profile.
type maker struct {
	p    *profile.Profile
	g    grid
	seed uint64
	out  []point
}

func (m *maker) all() []point {
	m.grid()
	m.mixes()
	m.declines()
	m.changes()
	for i := range m.out {
		m.wait(&m.out[i])
		m.out[i].key += " " + m.out[i].run.digest()
	}
	return m.out
}

// digest distinguishes runs by all their inputs, so that results of a different lever are not reused.
func (r *Run) digest() string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%+v", *r) // writing to a hash cannot fail
	return strconv.FormatUint(h.Sum64(), 16)
}

// share is one group before its rate is computed.
type share struct {
	ports, flows int
	weight       float64
}

// payload is fixed: the packet size changes the number of marks, but not their distribution.
const payload = 1000

// addRun adds a run in which groups share a link in proportion to weights, and returns it.
func (m *maker) addRun(kind, key string, speed quantity.BitRate, rtt uint32, seed uint64, shares []share) *point {
	sum, top, least := 0.0, 0.0, math.Inf(1)
	for _, s := range shares {
		sum += float64(s.ports*s.flows) * s.weight
		top, least = max(top, s.weight), min(least, s.weight)
	}
	delay := quantity.Picoseconds(rtt) * quantity.Microsecond / 4
	pt := point{kind: kind, key: fmt.Sprintf("%s %s %s rtt %d seed %d", kind, key, speed, rtt, seed), ratio: top / least}
	pt.run = Run{Rate: speed, Delay: delay, Marking: m.p.Marking.At(speed, 4*delay), Payload: payload, Seed: seed}
	unit := float64(speed) / sum
	first := m.p.Lever.Shortest(unit * top)
	for _, s := range shares {
		rate := unit * s.weight
		set := m.p.Set(rate, first*top/s.weight, speed)
		pt.run.Groups = append(pt.run.Groups, Group{Ports: s.ports, Flows: s.flows, Settings: set})
		pt.rates = append(pt.rates, rate)
	}
	m.out = append(m.out, pt)
	return &m.out[len(m.out)-1]
}

// wait sets the settling time of a run from its slowest flows.
func (m *maker) wait(pt *point) {
	settle := 0.0
	for i, rate := range pt.rates {
		settle = max(settle, profile.Settle(rate, &pt.run.Groups[i].Settings))
	}
	pt.run.Settle = max(m.g.least/4, quantity.Picoseconds(math.Ceil(settle*1e6))*quantity.Microsecond)
	pt.run.Counted = max(m.g.least, profile.MeanSettles*pt.run.Settle)
}

// gridPorts is the number of ports of each group of the grid, if the group has at least as many flows. A group with almost
// the whole link would otherwise be limited by the line rate of one port instead of by marks.
const gridPorts = 4

// grid creates the runs for every condition and ratio; cells number the conditions as profile.Response does.
func (m *maker) grid() {
	cell := 0
	for _, speed := range m.g.speeds {
		for _, flows := range m.g.flows {
			for _, rtt := range m.g.rtts {
				for i, ratio := range m.g.ratios {
					for s := range m.g.seeds {
						n, ports := flows/2, min(flows/2, gridPorts)
						pt := m.addRun(kindGrid, fmt.Sprintf("%d flows 1:%g", flows, ratio), speed, rtt, m.seed+uint64(s),
							[]share{{ports, n / ports, ratio}, {ports, n / ports, 1}})
						pt.cell, pt.index = cell, i
					}
				}
				cell++
			}
		}
	}
}

// mixes creates runs similar to real plans: two to five tenants with separate ports, weights and flows, also at speeds, round
// trip times and numbers of flows between those of the grid. Every second run has few flows, so a single flow may have most
// of the link.
func (m *maker) mixes() {
	r := rand.New(rand.NewPCG(m.seed, 0x6d6978))
	var speeds []quantity.BitRate
	for _, s := range m.p.Speeds {
		if s >= m.g.speeds[0] && s <= m.g.speeds[len(m.g.speeds)-1] {
			speeds = append(speeds, s)
		}
	}
	for _, c := range m.g.mixes {
		for i := range c.runs {
			speed := speeds[r.IntN(len(speeds))]
			rtt := m.g.rtts[0] + uint32(r.IntN(int(m.g.rtts[len(m.g.rtts)-1]-m.g.rtts[0])+1))
			shares := make([]share, 2+r.IntN(4))
			for k := range shares {
				shares[k] = share{1 + r.IntN(2), 1 + r.IntN(1<<r.IntN(4)), math.Exp(r.Float64() * math.Log(c.ratio))}
				if i%2 == 1 {
					shares[k].flows = 1
				}
			}
			shares[0].weight, shares[1].weight = 1, c.ratio
			m.addRun(kindMix, fmt.Sprintf("%d of ratio %g", i, c.ratio), speed, rtt, m.seed+uint64(i), shares)
		}
	}
}

// declines creates runs that differ only in the period, by a factor of two.
func (m *maker) declines() {
	for _, speed := range m.g.speeds {
		for s := range 2 * m.g.seeds {
			pt := m.addRun(kindDecline, "8 flows", speed, m.g.rtts[0], m.seed+uint64(s), []share{{1, 4, 1}, {1, 4, 1}})
			g := &pt.run.Groups[1].Settings
			g.TimeReset *= 2
		}
	}
}

// change sets one register to a value.
type change struct {
	register string
	value    uint64
	set      func(*dcqcn.Settings)
}

// effects returns changes of single registers, for one of two equal groups.
func effects() []change {
	return []change{
		{"rpg_ai_rate", 2, func(s *dcqcn.Settings) { s.AIRate *= 2; s.HAIRate *= 2 }},
		{"rpg_ai_rate", 4, func(s *dcqcn.Settings) { s.AIRate *= 4; s.HAIRate *= 4 }},
		{"rpg_hai_rate", 4, func(s *dcqcn.Settings) { s.HAIRate *= 4 }},
		{"rpg_time_reset", 2, func(s *dcqcn.Settings) { s.TimeReset *= 2 }},
		{"rpg_time_reset", 4, func(s *dcqcn.Settings) { s.TimeReset *= 4 }},
		{"rpg_gd", 10, func(s *dcqcn.Settings) { s.GD = 10 }},
		{"clamp_tgt_rate", 0, func(s *dcqcn.Settings) { s.ClampTargetRate = false }},
		{"rpg_min_dec_fac", 98, func(s *dcqcn.Settings) { s.MinDecFac = 98 }},
		{"rpg_min_dec_fac", 95, func(s *dcqcn.Settings) { s.MinDecFac = 95 }},
		{"rpg_threshold", 1, func(s *dcqcn.Settings) { s.Threshold = 1 }},
		{"rpg_byte_reset", 32767, func(s *dcqcn.Settings) { s.ByteReset = 32767 }},
		{"dce_tcp_g", 1019, func(s *dcqcn.Settings) { s.G = 1019 }},
		{"rate_reduce_monitor_period", 16, func(s *dcqcn.Settings) { s.MonitorPeriod = 16 }},
	}
}

// cliffs returns changes for all flows that make the lever ineffective, and one change without effect for comparison.
func cliffs() []change {
	return []change{
		{"", 0, func(*dcqcn.Settings) {}},
		{"dce_tcp_rtt", 1, func(s *dcqcn.Settings) { s.AlphaPeriod, s.G = 1, 1019 }},
		{"rate_reduce_monitor_period", 64, func(s *dcqcn.Settings) { s.MonitorPeriod = 64 }},
		{"min_time_between_cnps", 64, func(s *dcqcn.Settings) { s.CNPGap = 64 }},
	}
}

// cliffRatio is the intended ratio between the groups of a cliff.
const cliffRatio = 8

func (m *maker) changes() {
	speed, rtt := m.g.speeds[len(m.g.speeds)-1], m.g.rtts[0]
	for s := range m.g.seeds {
		for i, c := range effects() {
			pt := m.addRun(kindEffect, fmt.Sprintf("%s %d", c.register, c.value), speed, rtt, m.seed+uint64(s), []share{{1, 4, 1}, {1, 4, 1}})
			c.set(&pt.run.Groups[0].Settings)
			pt.index = i
		}
		for i, c := range cliffs() {
			pt := m.addRun(kindCliff, fmt.Sprintf("%s %d", c.register, c.value), speed, rtt, m.seed+uint64(s), []share{{1, 2, cliffRatio}, {1, 2, 1}})
			for k := range pt.run.Groups {
				c.set(&pt.run.Groups[k].Settings)
			}
			pt.index = i
		}
	}
}
