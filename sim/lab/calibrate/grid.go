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

// grid is the design of a calibration: which conditions and positions are run.
type grid struct {
	speeds []quantity.BitRate
	flows  []int
	rtts   []uint32 // us
	ratios []float64
	seeds  int
	mixes  []mixClass
	least  quantity.Picoseconds // counted in a run, at least
}

// mixClass is how many random mixes have per-flow rates up to a ratio apart.
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

// quickGrid is a small one for tests of the machinery; its profile is legal but coarse.
func quickGrid() grid {
	return grid{
		speeds: []quantity.BitRate{25 * quantity.Gbps}, flows: []int{4}, rtts: []uint32{4}, ratios: []float64{2, 8},
		seeds: 1, mixes: []mixClass{{4, 2}, {16, 2}}, least: 5 * quantity.Millisecond,
	}
}

// Kinds of runs.
const (
	kindGrid    = "grid"    // two groups apart by a ratio: the response is fitted to these
	kindMix     = "mix"     // random groups, held out of the fit: the bounds come from these
	kindDecline = "decline" // two groups that differ in the period alone
	kindEffect  = "effect"  // one register changed on one of two equal groups
	kindCliff   = "cliff"   // one register changed on both of two groups apart by cliffRatio
)

// point is one run with what the fit has to know of it.
type point struct {
	key   string
	kind  string
	run   Run
	rates []float64 // meant for a flow of each group, bit/s
	cell  int       // kindGrid: condition
	ratio float64   // largest between groups
	index int       // kindGrid: of the ratio; kindEffect and kindCliff: of the change
}

// condition is where a run is looked up in a response.
func (pt *point) condition() profile.Condition {
	i := slices.Index(pt.rates, slices.Max(pt.rates))
	flows := float64(pt.run.Groups[i].Flows)
	port := profile.Port{Line: float64(pt.run.Rate), Sent: float64(flows * pt.rates[i]), Flows: flows}
	return profile.Condition{Speed: pt.run.Rate, Fastest: pt.rates[i], Port: port, RTT: 4 * pt.run.Delay}
}

// maker makes the runs of one profile.
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

// digest tells runs apart by all that matters of them, so that results of another lever are not taken for
// those of this one.
func (r *Run) digest() string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%+v", *r) // a hash takes all
	return strconv.FormatUint(h.Sum64(), 16)
}

// share is one group before its rate is known.
type share struct {
	ports, flows int
	weight       float64
}

// payload and the rest of a packet's size change how many marks there are, not how they are shared.
const payload = 1000

// lay makes a run in which groups share a link in proportion to weights.
func (m *maker) lay(kind, key string, speed quantity.BitRate, rtt uint32, seed uint64, shares []share) *point {
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

// wait has a run settle for as long as its slowest flows need.
func (m *maker) wait(pt *point) {
	settle := 0.0
	for i, rate := range pt.rates {
		settle = max(settle, profile.Settle(rate, &pt.run.Groups[i].Settings))
	}
	pt.run.Settle = max(m.g.least/4, quantity.Picoseconds(math.Ceil(settle*1e6))*quantity.Microsecond)
	pt.run.Counted = max(m.g.least, profile.MeanSettles*pt.run.Settle)
}

// gridPorts are the ports that each group of the grid is spread over where it has as many flows: on one
// port the line rate would hold a group that has nearly all of the link, and not the marks.
const gridPorts = 4

// grid runs every condition and ratio; cells number the conditions as profile.Response does.
func (m *maker) grid() {
	cell := 0
	for _, speed := range m.g.speeds {
		for _, flows := range m.g.flows {
			for _, rtt := range m.g.rtts {
				for i, ratio := range m.g.ratios {
					for s := range m.g.seeds {
						n, ports := flows/2, min(flows/2, gridPorts)
						pt := m.lay(kindGrid, fmt.Sprintf("%d flows 1:%g", flows, ratio), speed, rtt, m.seed+uint64(s),
							[]share{{ports, n / ports, ratio}, {ports, n / ports, 1}})
						pt.cell, pt.index = cell, i
					}
				}
				cell++
			}
		}
	}
}

// mixes are like what plans make: two to five tenants with their own ports, weights and flows, also at speeds, round trips and numbers of flows
// between those of the grid. Every other one has few flows, of which a single one may have most of the link.
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
			m.lay(kindMix, fmt.Sprintf("%d of ratio %g", i, c.ratio), speed, rtt, m.seed+uint64(i), shares)
		}
	}
}

// declines differ in the period alone, by a factor of two.
func (m *maker) declines() {
	for _, speed := range m.g.speeds {
		for s := range 2 * m.g.seeds {
			pt := m.lay(kindDecline, "8 flows", speed, m.g.rtts[0], m.seed+uint64(s), []share{{1, 4, 1}, {1, 4, 1}})
			g := &pt.run.Groups[1].Settings
			g.TimeReset *= 2
		}
	}
}

// change is one register set to a value.
type change struct {
	register string
	value    uint64
	set      func(*dcqcn.Settings)
}

// changes of single registers, on one of two equal groups.
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

// cliffs are changes on all flows that spoil what the lever does, and one that leaves all as it is.
func cliffs() []change {
	return []change{
		{"", 0, func(*dcqcn.Settings) {}},
		{"dce_tcp_rtt", 1, func(s *dcqcn.Settings) { s.AlphaPeriod, s.G = 1, 1019 }},
		{"rate_reduce_monitor_period", 64, func(s *dcqcn.Settings) { s.MonitorPeriod = 64 }},
		{"min_time_between_cnps", 64, func(s *dcqcn.Settings) { s.CNPGap = 64 }},
	}
}

// cliffRatio is how far apart the groups of a cliff are meant to be.
const cliffRatio = 8

func (m *maker) changes() {
	speed, rtt := m.g.speeds[len(m.g.speeds)-1], m.g.rtts[0]
	for s := range m.g.seeds {
		for i, c := range effects() {
			pt := m.lay(kindEffect, fmt.Sprintf("%s %d", c.register, c.value), speed, rtt, m.seed+uint64(s), []share{{1, 4, 1}, {1, 4, 1}})
			c.set(&pt.run.Groups[0].Settings)
			pt.index = i
		}
		for i, c := range cliffs() {
			pt := m.lay(kindCliff, fmt.Sprintf("%s %d", c.register, c.value), speed, rtt, m.seed+uint64(s), []share{{1, 2, cliffRatio}, {1, 2, 1}})
			for k := range pt.run.Groups {
				c.set(&pt.run.Groups[k].Settings)
			}
			pt.index = i
		}
	}
}
