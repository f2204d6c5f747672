package ib

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
)

// adapterPort returns a port with the limits of its adapter's model.
func adapterPort(m *model.Model, ref subnet.PortRef, d int32) port {
	profile := m.Profiles[ref.Node]
	a := &profile.Adapter
	p := port{ref: ref, id: m.Fabric.PortID(ref), line: m.Caps[d], packet: m.PacketBits(ref), profile: profile,
		entries: a.TableEntries, unit: float64(a.TimerUnit) / 1e12, restart: a.TimerRestart}
	if profile.Generic() {
		p.restart = m.Input.Options.TimerRestart
		p.entries = cmp.Or(m.Input.Options.TableEntries, p.entries)
	} else if n := m.Input.Options.TableEntries; n > 0 {
		p.entries = min(n, p.entries)
	}
	return p
}

// units returns the port's timer unit in standard units.
func (p *port) units() float64 { return p.unit / timerUnit }

// unitText prints the port's timer unit.
func (p *port) unitText() string {
	if p.profile.Adapter.TimerUnit == ibcc.TimerUnitPicoseconds {
		return "1.024 us"
	}
	return p.profile.Adapter.TimerUnit.String()
}

// standardForm reports whether the port's tables have the standard's form.
func (p *port) standardForm() bool {
	a := &p.profile.Adapter
	return a.MaxShift == ibcc.MaxShift && a.MaxMultiplier == ibcc.MaxMultiplier
}

// profileName returns the name of a profile for the plan; empty for a generic one.
func profileName(p *ibprofile.Profile) string {
	if p.Generic() {
		return ""
	}
	return p.Name
}

// enforceMode gives a port its chosen mode, or the other if the model lacks it.
func (p *port) enforceMode() {
	a := &p.profile.Adapter
	switch {
	case p.perSL && !a.PerSL:
		p.perSL, p.modeReason = false, phrase.Write("reason.formula.mode-no-sl", "profile", p.profile.Name)
	case !p.perSL && !a.PerQP:
		p.perSL, p.modeReason = true, phrase.Write("reason.formula.mode-no-qp", "profile", p.profile.Name)
	}
}

// markingRange returns the packets per mark that all switches of a group's links support; low is above high when they have none in common.
func (s *Settings) markingRange(g *group) (low, high int) {
	low, high = 1, 1<<16-1
	for _, d := range g.links {
		sw := &s.m.Profiles[s.m.Transmitter(d).Node].Switch
		low, high = max(low, int(sw.MinMarkingRate)), min(high, int(sw.MaxMarkingRate))
	}
	return low, high
}

// choicesOf returns the packets per mark that a group may use, in order of preference.
func (s *Settings) choicesOf(g *group) []int {
	low, high := s.markingRange(g)
	var out []int
	for _, n := range markingChoices {
		if n >= low && n <= high {
			out = append(out, n)
		}
	}
	if out == nil {
		out = []int{max(1, min(max(defaultMarking, low), high))}
	}
	return out
}

// deviceLimit is a value that a model cannot hold, with the ports or switches concerned.
type deviceLimit struct {
	tenants map[string]bool
	names   []string
	worst   float64
}

// limitKey identifies a limit.
type limitKey struct {
	profile *ibprofile.Profile
	of      limitKind
}

type limitKind int

const (
	limitTimer limitKind = iota
	limitTable
	limitMode
	limitMarking
	limitPorts
)

// deviceFindings reports values beyond the limits of device profiles, one finding for each profile and limit.
func (s *Settings) deviceFindings() []plan.Finding {
	limits := map[limitKey]*deviceLimit{}
	note := func(p *ibprofile.Profile, of limitKind, name string, need float64, tenants ...int32) {
		l := limits[limitKey{p, of}]
		if l == nil {
			l = &deviceLimit{tenants: map[string]bool{}}
			limits[limitKey{p, of}] = l
		}
		if !slices.Contains(l.names, name) {
			l.names = append(l.names, name)
		}
		l.worst = max(l.worst, need)
		for _, t := range tenants {
			l.tenants[s.m.Tenants[t].Name] = true
		}
	}
	for i := range s.ports {
		if p := &s.ports[i]; !p.profile.Generic() {
			s.notePort(p, note)
		}
	}
	s.noteSwitches(note)
	var out []plan.Finding
	for k, l := range limits { // sorted with all findings
		out = append(out, s.limitFinding(k, l))
	}
	return out
}

type noteLimit func(p *ibprofile.Profile, of limitKind, name string, need float64, tenants ...int32)

func (s *Settings) notePort(p *port, note noteLimit) {
	a, o, name := &p.profile.Adapter, &s.m.Input.Options, s.m.Fabric.PortName(p.ref)
	for _, k := range p.settings {
		st := &s.all[k]
		if st.exact >= float64(a.MaxTimer)+0.5 {
			note(p.profile, limitTimer, name, st.exact, st.tenants...)
		}
		if o.TableEntries > a.TableEntries {
			note(p.profile, limitTable, name, float64(o.TableEntries), st.tenants...)
		}
		if o.PerQP == model.PerQPOn && !a.PerQP || o.PerQP == model.PerQPOff && !a.PerSL {
			note(p.profile, limitMode, name, 0, st.tenants...)
		}
	}
}

func (s *Settings) noteSwitches(note noteLimit) {
	for i := range s.groups {
		g := &s.groups[i]
		for _, d := range g.links {
			ref := s.m.Transmitter(d)
			p := s.m.Profiles[ref.Node]
			if p.Generic() {
				continue
			}
			var tenants []int32
			for _, k := range g.settings {
				tenants = append(tenants, s.all[k].tenants...)
			}
			if g.marking < int(p.Switch.MinMarkingRate) || g.marking > int(p.Switch.MaxMarkingRate) {
				note(p, limitMarking, s.m.Fabric.Nodes[ref.Node].Name, float64(g.marking), tenants...)
			}
			if !p.Switch.PortMarking {
				note(p, limitPorts, s.m.Fabric.Nodes[ref.Node].Name, 0, tenants...)
			}
		}
	}
}

func (s *Settings) limitFinding(k limitKey, l *deviceLimit) plan.Finding {
	slices.Sort(l.names)
	a, sw, need := &k.profile.Adapter, &k.profile.Switch, strconv.Itoa(int(l.worst+0.5))
	where, model := phrase.Names(l.names, len(l.names), plan.MaxNames), k.profile.Name
	var statement, fix phrase.Text
	switch k.of {
	case limitTimer:
		statement = phrase.Of("plan.device-pacing",
			"where", where, "model", model, "timer", int(a.MaxTimer), "increase", int(a.MaxIncrease), "need", need)
		fix = phrase.Of("plan.device-pacing.fix")
	case limitTable:
		statement = phrase.Of("plan.device-table", "where", where, "model", model, "entries", a.TableEntries, "need", need)
		fix = phrase.Of("plan.device-table.fix")
	case limitMode:
		statement = phrase.Of("plan.device-mode", "where", where, "model", model)
		fix = phrase.Of("plan.device-mode.fix")
	case limitMarking:
		statement = phrase.Of("plan.device-marking",
			"where", where, "model", model, "min", int(sw.MinMarkingRate), "max", int(sw.MaxMarkingRate), "need", need)
		fix = phrase.Of("plan.device-marking.fix")
	default:
		statement = phrase.Of("plan.device-one-marking", "where", where, "model", model)
		fix = phrase.Of("plan.device-one-marking.fix")
	}
	return plan.NewFinding(plan.CodeDeviceLimit, slices.Sorted(maps.Keys(l.tenants)), plan.Bounded(l.names), statement, fix)
}

// from1 prints the legal values of a register from 1 to most.
func from1(most int) string { return "1.." + strconv.Itoa(most) }

// thresholdReason explains the threshold code of a queue of depth bytes.
func thresholdReason(m *model.Model, p *ibprofile.Profile, d int32, trip float64, depth int, code uint8) string {
	bytes, queue, number := strconv.Itoa(depth), strconv.Itoa(p.Switch.QueueBytes), strconv.Itoa(int(code))
	head := phrase.Write("reason.formula.threshold", "rate", quantity.BitRate(m.Caps[d]).String(), "trip", seconds(trip),
		"packets", strconv.Itoa(minimumPackets), "queue", queue, "depth", bytes)
	if p.Generic() {
		return phrase.Clauses(head, phrase.Write("reason.formula.threshold-code", "depth", bytes, "queue", queue, "code", number))
	}
	return phrase.Clauses(head, phrase.Write("reason.formula.threshold-profile",
		"profile", p.Name, "code", number, "bytes", strconv.Itoa(p.Switch.Thresholds[code])))
}
