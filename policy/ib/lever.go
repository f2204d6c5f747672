package ib

import (
	"math"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/disjoint"
	"fairlane/internal/num"
	"fairlane/policy/model"
)

// Limits of the levers, measured on one bottleneck with free-running timers: shares hold for a mark load between a half and 0.8. Above one,
// the switch cannot mark as often as the weights need, and shares vanish at full link use.
const (
	loadLow, loadTarget, loadHigh = 500, 650, 800 // mark load, thousandths
	defaultMarking                = 32            // packets per mark
	sparseMarking                 = 64            // packets per mark up to which there is no finding
	steadyQuantisation            = 0.0025        // rounding error below which the load may stay at its target
	manySettingsQuantisation      = 0.005         // the same in a group of manySettings
	manySettings                  = 200           // group size from which finer timers are not worth rewriting every setting
	planRatio                     = 1080          // CCT ratio, thousandths, by which convergence is judged
)

// markingChoices are the packets per mark that a group of links may use, in order of preference. Fewer settle sooner; more allow longer, and
// so finer, timers.
var markingChoices = [...]int{defaultMarking, 16, 8, 64, 128}

// group is a set of settings and marking links connected by flows. Its links share one marking interval and one mark load, because a setting
// has the same timer towards all.
type group struct {
	settings []int32
	links    []int32 // limiting marking link directions, ascending
	marking  int     // packets per mark
	load     int     // thousandths
	miss     float64 // worst relative rounding error
	settle   float64 // seconds to converge
}

// connect finds the groups.
func (s *Settings) connect() {
	n := int32(len(s.all))
	sets := disjoint.New(int(n) + len(s.m.Caps)) // settings, then link directions: the first setting identifies each set
	l := s.m.Layout()
	marking := make([]bool, len(s.m.Caps))
	for d, on := range s.target.Limiting {
		marking[d] = on && !l.Sends[d]
	}
	for i, k := range s.ofFlow {
		if s.marks[i] == 0 || s.all[k].kind != model.Contended {
			continue
		}
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			if marking[d] {
				sets.Join(k, n+d)
			}
		}
	}
	at := make([]int32, n)
	for i := range at {
		at[i] = -1
	}
	for i := range n {
		if s.all[i].kind != model.Contended {
			continue
		}
		r := sets.Find(i)
		if at[r] < 0 {
			at[r] = int32(len(s.groups))
			s.groups = append(s.groups, group{})
		}
		s.all[i].group = at[r]
		s.groups[at[r]].settings = append(s.groups[at[r]].settings, i)
	}
	for d, on := range marking {
		if !on {
			continue
		}
		if r := sets.Find(n + int32(d)); r < n && at[r] >= 0 {
			s.groups[at[r]].links = append(s.groups[at[r]].links, int32(d))
		}
	}
}

// chooseLevers sets Increase and Timer of every setting. Settings of the previous compilation keep them while the marking of their group is
// unchanged.
func (s *Settings) chooseLevers() {
	var moved []int32
	for i := range s.groups {
		g := &s.groups[i]
		if s.keepsMarking(g) {
			continue
		}
		s.chooseMarking(g)
		for _, k := range g.settings {
			if st := &s.all[k]; !s.keepsLevers(k, g) {
				s.set(st, g)
				moved = append(moved, st.port)
			}
		}
	}
	for _, p := range moved { // deferred: other settings of the port may keep their levers
		s.fresh[p] = true
	}
	for i := range s.all {
		if st := &s.all[i]; st.group < 0 && s.fresh[st.port] {
			s.setProduct(st, defaultMarking, loadTarget)
		}
	}
}

// keepsLevers reports whether a setting that is not fresh has the levers that its group gives it. With theorem1 they depend on the whole
// group.
func (s *Settings) keepsLevers(k int32, g *group) bool {
	if s.prev == nil || s.fresh[s.all[k].port] || s.m.Input.Options.Mode == model.ModeTheorem1 {
		return false
	}
	was := s.prev.all[k].group
	return was >= 0 && s.prev.groups[was].marking == g.marking && s.prev.groups[was].load == g.load
}

// keepsMarking takes over the marking chosen for the same group before, when no part of it is fresh.
func (s *Settings) keepsMarking(g *group) bool {
	if s.prev == nil || slices.ContainsFunc(g.settings, func(k int32) bool { return s.fresh[s.all[k].port] }) {
		return false
	}
	was := s.prev.all[g.settings[0]].group
	if was < 0 || !slices.Equal(s.prev.groups[was].settings, g.settings) || !slices.Equal(s.prev.groups[was].links, g.links) {
		return false
	}
	*g = s.prev.groups[was]
	return true
}

// chooseMarking takes the first interval at which timers are fine enough and shares settle in time, else the one that misses the two bounds by
// the smallest factor.
func (s *Settings) chooseMarking(g *group) {
	best, bestScore := *g, math.Inf(1)
	for _, n := range s.choicesOf(g) {
		t := *g
		t.marking = n
		if s.m.Input.Options.Mode == model.ModeTheorem1 {
			t.load, t.miss = loadTarget, 0
		} else {
			t.load, t.miss = s.chooseLoad(g, n)
		}
		t.settle = s.settleTime(&t)
		score := max(t.miss/model.MaxQuantisation, t.settle/model.MaxConvergence)
		if score <= 1 {
			best = t
			break
		}
		if score < bestScore {
			best, bestScore = t, score
		}
	}
	*g = best
}

// steadyMiss returns the rounding error below which the load of a group may stay at its target. It is larger for groups of many settings,
// where moving the load for one tenant would change very many timers.
func (g *group) steadyMiss() float64 {
	if len(g.settings) >= manySettings {
		return manySettingsQuantisation
	}
	return steadyQuantisation
}

// chooseLoad scales all timers of a group together, within the allowed mark load, to minimise their worst rounding error. Errors below
// steadyMiss count as none, and of equal ones the load nearest the target wins.
func (s *Settings) chooseLoad(g *group, marking int) (load int, miss float64) {
	needs := s.coarseNeeds(g, marking)
	load, best := loadTarget, math.Inf(1)
	for off := range loadTarget - loadLow + 1 {
		for _, l := range [2]int{loadTarget - off, loadTarget + off} {
			if l > loadHigh || off == 0 && l != loadTarget {
				continue
			}
			if m := max(g.steadyMiss(), worstMiss(needs, marking, l, best)); m < best {
				load, best = l, m
			}
		}
	}
	return load, worstMiss(needs, marking, load, math.Inf(1))
}

// worstMiss returns the largest relative error of rounded timers. It stops at the first error that is at least enough.
func worstMiss(needs []float64, marking, load int, enough float64) float64 {
	worst := 0.0
	for _, n := range needs {
		exact := n * float64(marking) * 1000 / float64(load)
		if worst = max(worst, math.Abs(roundTimer(exact)/exact-1)); worst >= enough {
			break
		}
	}
	return worst
}

// coarseNeeds lists, once each, the needs whose timers can miss by more than steadyMiss, in units that include the response to an Increase of
// one.
func (s *Settings) coarseNeeds(g *group, marking int) []float64 {
	var needs []float64
	for _, k := range g.settings {
		st := &s.all[k]
		n := float64(st.need * ibcc.Response(1, s.ports[st.port].restart))
		if n*float64(marking)*1000/loadHigh < 0.5/g.steadyMiss() {
			needs = append(needs, n)
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

func roundTimer(exact float64) float64 { return min(math.MaxUint16, max(1, math.Floor(exact+0.5))) }

// settle returns the settleTime of the slowest group.
func (s *Settings) settle() float64 {
	slowest := 0.0
	for i := range s.groups {
		slowest = max(slowest, s.groups[i].settle)
	}
	return slowest
}

// settleTime estimates how long the slowest setting of a group takes from line rate to its share: one timer period for each table step.
func (s *Settings) settleTime(g *group) float64 {
	slowest := 0.0
	for _, k := range g.settings {
		st := &s.all[k]
		p := &s.ports[st.port]
		timer := st.need * ibcc.Response(1, p.restart) * float64(g.marking) * 1000 / float64(g.load)
		slowest = max(slowest, float64(geometricSteps(p.line, st.rate)*timer*p.unit))
	}
	return slowest
}

// geometricSteps returns the number of table steps between line rate and a rate.
func geometricSteps(line, rate float64) float64 {
	if rate >= line {
		return 0
	}
	return num.Ln(line/rate) / num.Ln(float64(planRatio)/1000)
}

func (s *Settings) set(st *setting, g *group) {
	if s.m.Input.Options.Mode == model.ModeTheorem1 {
		s.setTheorem1(st, g)
		return
	}
	s.setProduct(st, g.marking, g.load)
}

// setProduct uses the smallest Increase with which the timer fits the device, since its saw-tooth is the finest.
func (s *Settings) setProduct(st *setting, marking, load int) {
	scale := float64(marking) * 1000 / float64(load)
	p := &s.ports[st.port]
	a := &p.profile.Adapter
	for incr := 1; incr <= int(a.MaxIncrease); incr++ {
		st.incr = uint8(incr)
		st.exact = float64(st.need * scale * ibcc.Response(st.incr, p.restart))
		if st.exact < float64(a.MaxTimer)+0.5 {
			break
		}
	}
	st.timer = min(a.MaxTimer, uint16(roundTimer(st.exact)))
}

// setTheorem1 uses S1's own lever: all settings of a group have one timer, that of its fastest with an Increase of one, and Increase in
// inverse proportion to the rate (Theorem 1 of the differentiated-bandwidth paper).
func (s *Settings) setTheorem1(st *setting, g *group) {
	p := &s.ports[st.port]
	model, own := &p.profile.Adapter, float64(st.need*p.units())
	least, fastest := math.Inf(1), p.restart
	for _, k := range g.settings {
		of := &s.ports[s.all[k].port]
		if n := float64(s.all[k].need * of.units()); n < least {
			least, fastest = n, of.restart
		}
	}
	st.exact = float64(least*float64(g.marking)*1000/float64(g.load)*ibcc.Response(1, fastest)) / p.units()
	st.timer = min(model.MaxTimer, uint16(roundTimer(st.exact)))
	want := float64(least / own * ibcc.Response(1, fastest))
	st.incr = 1
	for incr := 2; incr <= int(model.MaxIncrease); incr++ {
		a, b := ibcc.Response(uint8(incr-1), p.restart), ibcc.Response(uint8(incr), p.restart)
		if a*b < want*want { // want is nearer to a on a logarithmic scale
			break
		}
		st.incr = uint8(incr)
	}
}

// aggressiveness is response/Timer, with the timer in standard units. In equilibrium the rate of the setting's CCTI is proportional to it
// among all settings that see the same marks.
func (s *Settings) aggressiveness(st *setting) float64 {
	p := &s.ports[st.port]
	return ibcc.Response(st.incr, p.restart) / float64(float64(st.timer)*p.units())
}

// floor returns the rate at the last table entry.
func (p *port) floor() float64 {
	if len(p.table) == 0 {
		return 0
	}
	return p.line / (1 + p.table[len(p.table)-1].Factor())
}
