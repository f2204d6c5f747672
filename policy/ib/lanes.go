package ib

import (
	"cmp"
	"math"
	"slices"

	"fairlane/policy/colour"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet/ident"
)

// dataVLs is the number of data lanes assumed of a port whose number is unknown.
const dataVLs = 8

// arbUnit is the unit of arbitration weights in bytes.
const arbUnit = 64

// lanes describes the lanes of one port.
type lanes struct {
	port   int32 // into Settings.ports
	vls    int   // data lanes of the port
	sl2vl  [ident.NumSLs]ident.VL
	busy   []int32    // settings with flows
	parts  []lane     // by VL
	idle   []ident.VL // lanes that must not starve: lane 0, and those of tenants without flows here
	blocks int        // of a full packet
	low    []plan.VLWeight
	miss   float64 // worst relative error of a lane's share
}

// lane is one VL with its traffic.
type lane struct {
	vl       ident.VL
	settings []int32
	entitled float64 // bit/s
	qps      float64
	packets  int // packets that it may send in one round of the table
}

// chooseLanes sets the lane weights of every port that limits flows of several SLs.
func (s *Settings) chooseLanes() {
	s.lanes = nil
	if !s.m.Input.Options.VLArbitration {
		return
	}
	for i := range s.ports {
		p := &s.ports[i]
		d := model.Direction(s.m.Fabric, p.ref)
		busy := s.busy(p)
		if vls := lanesOfLink(s.m, d); s.target.Limiting[d] && len(busy) > 1 && vls > 1 {
			s.lanes = append(s.lanes, lanes{port: int32(i), vls: vls, busy: busy, blocks: p.blocks()})
		}
	}
	for _, vls := range [...]int{2, 4, 8, 15} {
		var of []*lanes
		for i := range s.lanes {
			if s.lanes[i].vls == vls {
				of = append(of, &s.lanes[i])
			}
		}
		if len(of) == 0 {
			continue
		}
		s.mapLanes(of, vls, false)
		if worst := worstLane(of); worst > maxLaneMiss {
			apart := make([]lanes, len(of))
			for i := range of {
				apart[i] = *of[i]
			}
			if s.mapLanes(of, vls, true); worstLane(of) >= worst {
				for i := range of {
					*of[i] = apart[i]
				}
			}
		}
	}
}

// busy lists the settings of a port that have flows.
func (s *Settings) busy(p *port) []int32 {
	return slices.DeleteFunc(slices.Clone(p.settings), func(k int32) bool { return len(s.all[k].flows) == 0 })
}

// lanesAt returns a port's lanes in those of a plan; nil when it has none.
func lanesAt(plans []plan.LanePlan, port ident.PortID) *plan.LanePlan {
	i, ok := slices.BinarySearchFunc(plans, port, func(p plan.LanePlan, id ident.PortID) int { return p.Port.Compare(id) })
	if !ok {
		return nil
	}
	return &plans[i]
}

func worstLane(of []*lanes) float64 {
	worst := 0.0
	for _, l := range of {
		worst = max(worst, l.miss)
	}
	return worst
}

// lanesOfLink returns the number of data lanes that both ends of a link have: VLCap if known, else dataVLs.
func lanesOfLink(m *model.Model, d int32) int {
	n := 0
	for _, p := range [2]uint8{m.Fabric.Port(m.Transmitter(d)).VLCap, m.Fabric.Port(m.Receiver(d)).VLCap} {
		if p > 0 && (n == 0 || int(p) < n) {
			n = int(p)
		}
	}
	if n == 0 {
		n = dataVLs
	}
	return n
}

// mapLanes chooses one map from SL to VL for all ports with vls lanes, and sets their weights. SLs that contend for a port get different
// lanes, lane 0 stays free for SLs without tenants, and each SL gets the lane of its own number if available. Where lanes are too few, SLs
// whose queue pairs have nearly the same entitlements share one. With alike set, SLs whose queue pairs have equal entitlements wherever they
// meet share a lane, which saves table entries: inside a lane queue pairs take turns, which gives them equal rates.
func (s *Settings) mapLanes(of []*lanes, vls int, alike bool) {
	meet, differing := s.laneCosts(of)
	var rep [ident.NumSLs]int // the SL whose lane each SL has
	for v := range rep {
		rep[v] = v
		for u := 0; u < v && alike && rep[v] == v; u++ {
			same := rep[u] == u && meet[u][v] > 0
			for w := u; w < v; w++ {
				same = same && (rep[w] != u || differing[w][v] == 0)
			}
			if same {
				rep[v] = u
			}
		}
	}
	c := colour.New(ident.NumSLs)
	c.Move = s.preferLanes(of)
	var between [ident.NumSLs][ident.NumSLs]int32
	for v := range meet {
		for u, n := range meet[v] {
			if rep[u] != rep[v] {
				between[rep[v]][rep[u]] += n + differing[v][u]
			}
		}
	}
	order := make([]int8, vls)
	for k := range order {
		order[k] = int8((k + 1) % vls)
	}
	for v := range between {
		c.Domain[v] = 1<<vls - 1
		for u, n := range between[v] {
			if n > 0 {
				c.Meet[v] = append(c.Meet[v], colour.Edge{To: int32(u), Cost: n})
			}
		}
		if rep[v] != v || len(c.Meet[v]) == 0 && meet[v] == [ident.NumSLs]int32{} {
			c.Domain[v] = 1 // it follows another, or no flow contends on it: the lane of unmanaged traffic
		}
	}
	if !c.Adapt(order) {
		c.Greedy(order)
	}
	for _, l := range of {
		for sl := range l.sl2vl {
			l.sl2vl[sl] = ident.VL(c.Colour[rep[sl]])
		}
		s.assignLanes(l)
		l.weighLanes()
	}
}

// laneCosts returns the number of ports on which two SLs contend, and the sum of differing over them.
func (s *Settings) laneCosts(of []*lanes) (meet, differing [ident.NumSLs][ident.NumSLs]int32) {
	for _, l := range of {
		for _, a := range l.busy {
			for _, b := range l.busy {
				if x, y := &s.all[a], &s.all[b]; a != b {
					meet[x.sl][y.sl]++
					differing[x.sl][y.sl] += s.differing(x, y)
				}
			}
		}
	}
	return meet, differing
}

// preferLanes makes contending SLs prefer the lanes in force on their ports, then those of their own number.
func (s *Settings) preferLanes(of []*lanes) [][colour.Colours]int32 {
	move := make([][colour.Colours]int32, ident.NumSLs)
	for _, l := range of {
		var old *plan.LanePlan
		if f := s.m.Input.InForce; f != nil {
			old = lanesAt(f.Lanes, s.ports[l.port].id)
		}
		for _, b := range l.busy {
			sl := s.all[b].sl
			for k := range colour.Colours {
				if k != int(sl) {
					move[sl][k]++
				}
				if old != nil && int(old.SL2VL[sl]) != k {
					move[sl][k] += 2
				}
			}
		}
	}
	return move
}

// differing returns the cost of putting two SLs on one lane, where their queue pairs take turns: 0 to 60 by the ratio of the entitlements of one
// queue pair of each.
func (s *Settings) differing(a, b *setting) int32 {
	x, y := s.entitledOf(a)/a.qps, s.entitledOf(b)/b.qps
	if x > y {
		x, y = y, x
	}
	if !(x > 0) {
		return 60
	}
	return int32(min(60, math.Floor(float64((y/x-1)*20)+0.5)))
}

func (s *Settings) entitledOf(st *setting) float64 {
	sum := 0.0
	for _, f := range st.flows {
		sum += s.target.Rates[f]
	}
	return sum
}

// blocks returns the size of a full packet of the port in units of arbitration weights.
func (p *port) blocks() int { return (int(p.packet)/8 + arbUnit - 1) / arbUnit }

// assignLanes puts the settings on their lanes.
func (s *Settings) assignLanes(l *lanes) {
	var byVL [ident.NumVLs]lane
	for _, k := range l.busy {
		st := &s.all[k]
		to := &byVL[l.sl2vl[st.sl]]
		to.settings = append(to.settings, k)
		to.entitled += s.entitledOf(st)
		to.qps += st.qps
	}
	l.parts = l.parts[:0:0]
	for vl := range byVL {
		if b := byVL[vl]; len(b.settings) > 0 {
			b.vl = ident.VL(vl)
			l.parts = append(l.parts, b)
		}
	}
	l.idle = l.idle[:0:0]
	need := func(vl ident.VL) {
		if len(byVL[vl].settings) == 0 && !slices.Contains(l.idle, vl) {
			l.idle = append(l.idle, vl)
		}
	}
	need(0)
	for _, k := range s.ports[l.port].settings {
		need(l.sl2vl[s.all[k].sl])
	}
}

// weighLanes chooses how many full packets each lane may send in a round, minimising the worst relative error of a lane's share, and lays them out
// as a table. Devices round a weight up to whole packets, so weights are whole packets from the start. A table must hold as many entries as
// the port has data lanes, and is not known to hold more. Lane 0, which carries unmanaged traffic, and the lanes of tenants without flows here
// get an entry of one packet each, so that they do not starve.
func (l *lanes) weighLanes() {
	perEntry := max(1, math.MaxUint8/l.blocks)
	entries := l.vls - len(l.idle)
	total, most := 0.0, 0.0
	for _, p := range l.parts {
		total += p.entitled
		most = max(most, p.entitled)
	}
	best := math.Inf(1)
	trial := make([]int, len(l.parts))
	for q := 1; q <= perEntry*entries; q++ {
		rows, sum := 0, 0
		for i, p := range l.parts {
			trial[i] = max(1, int(math.Floor(float64(p.entitled*(float64(q)/most))+0.5)))
			rows += (trial[i] + perEntry - 1) / perEntry
			sum += trial[i]
		}
		if rows > entries {
			continue
		}
		miss := 0.0
		for i, p := range l.parts {
			if p.entitled > 0 {
				miss = max(miss, math.Abs(float64(trial[i])/float64(sum)/(p.entitled/total)-1))
			}
		}
		if miss < best-1e-9 {
			best = miss
			for i := range l.parts {
				l.parts[i].packets = trial[i]
			}
		}
	}
	l.miss = best
	l.low = l.table(perEntry)
}

// table spreads the entries of each lane over the round.
func (l *lanes) table(perEntry int) []plan.VLWeight {
	type entry struct {
		plan.VLWeight
		at float64
	}
	var all []entry
	add := func(vl ident.VL, packets int) {
		rows := (packets + perEntry - 1) / perEntry
		for i := range rows {
			n := packets / rows
			if i < packets%rows {
				n++
			}
			all = append(all, entry{plan.VLWeight{VL: vl, Weight: uint8(min(math.MaxUint8, n*l.blocks))}, (float64(i) + 0.5) / float64(rows)})
		}
	}
	for _, p := range l.parts {
		add(p.vl, p.packets)
	}
	for _, vl := range l.idle {
		add(vl, 1)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	out := make([]plan.VLWeight, len(all))
	for i := range all {
		out[i] = all[i].VLWeight
	}
	return out
}
