package local

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/policy"
)

// importedPolicy is the part of the state that Fairlane's settings can express: a policy that starts from it changes
// nothing.
type importedPolicy struct {
	// DCQCN lists settings of NIC ports, each with the ports that have them. They do not imply weights: a calibrated
	// curve maps weights to settings relative to one base, and the ports may have others.
	DCQCN []importedDCQCN `json:"dcqcn"`
	// Marking lists marking rules, each with the queues that have it.
	Marking []importedMarking `json:"marking"`
	// Weights lists the shares that schedulers give queues and classes, each with those that have it.
	Weights []importedWeight `json:"weights"`
}

// importedDCQCN is a set of settings with its ports.
type importedDCQCN struct {
	Settings dcqcn.Settings `json:"settings"`
	Default  bool           `json:"default"` // the vendor's defaults
	Ports    []string       `json:"ports"`
}

// importedMarking is a marking rule with its queues.
type importedMarking struct {
	Marking ecn.Marking `json:"marking"`
	Queues  []string    `json:"queues"` // such as leaf1/Ethernet0 queue 3
}

// importedWeight is a share of a port with its queues or classes.
type importedWeight struct {
	Weight  int      `json:"weight"`
	Percent float64  `json:"percent"`
	Of      []string `json:"of"` // such as leaf1/Ethernet0 queue 3 or host1/P1 class 3
}

// startPolicy groups devices by equal settings.
func startPolicy(devices []*importedDevice) (importedPolicy, []string) {
	p := importedPolicy{DCQCN: []importedDCQCN{}, Marking: []importedMarking{}, Weights: []importedWeight{}}
	var warnings []string
	for _, d := range devices {
		warnings = append(warnings, p.dcqcn(d)...)
		p.classes(d)
		if d.state.Switch != nil {
			p.queues(d.sw())
		}
	}
	return p, warnings
}

// ports lists the ports of a NIC that its texts describe.
func (d *importedDevice) ports() []int {
	var out []int
	for _, s := range d.state.Start() {
		if s.Port > 0 && !slices.Contains(out, s.Port) {
			out = append(out, s.Port)
		}
	}
	return out
}

// dcqcn adds the settings of a NIC's ports. It warns of a port for which a text has only some of the settings.
func (p *importedPolicy) dcqcn(d *importedDevice) (warnings []string) {
	start := d.state.Start()
	for _, port := range d.ports() {
		name := d.name + "/P" + strconv.Itoa(port)
		s, err := nicparam.DCQCN(port, start)
		if err != nil {
			if slices.ContainsFunc(start, func(s nicparam.Setting) bool { return s.Port == port && s.Name == "rpg_ai_rate" }) {
				warnings = append(warnings, fmt.Sprintf("%s: %v", name, err))
			}
			continue
		}
		i := slices.IndexFunc(p.DCQCN, func(o importedDCQCN) bool { return o.Settings == s })
		if i < 0 {
			i = len(p.DCQCN)
			p.DCQCN = append(p.DCQCN, importedDCQCN{Settings: s, Default: s == dcqcn.Default()})
		}
		p.DCQCN[i].Ports = append(p.DCQCN[i].Ports, name)
	}
	return warnings
}

// classes adds the shares of a NIC's traffic classes.
func (p *importedPolicy) classes(d *importedDevice) {
	for _, port := range d.ports() {
		for class := range 8 {
			kind, ok := d.state.Value(nicparam.Key{Port: port, Name: "tsa", Index: class}, adopt.StageCurrent)
			bw, has := d.state.Value(nicparam.Key{Port: port, Name: "tc_bw", Index: class}, adopt.StageCurrent)
			if ok && has && kind == nicparam.TSAETS && bw > 0 {
				p.weight(int(bw), float64(bw), fmt.Sprintf("%s/P%d class %d", d.name, port, class))
			}
		}
	}
}

// queues adds the marking and the shares of a switch's queues.
func (p *importedPolicy) queues(s importedSwitch) {
	for _, q := range s.Queues {
		name := fmt.Sprintf("%s/%s queue %d", s.Device, q.Port, q.Queue)
		if q.Share > 0 {
			p.weight(max(q.Weight, 1), q.Share, name)
		}
		if q.MinBytes == nil {
			continue
		}
		m := ecn.Marking{Min: *q.MinBytes, Max: *q.MaxBytes, PMaxPct: *q.PMaxPct}
		i := slices.IndexFunc(p.Marking, func(o importedMarking) bool { return o.Marking == m })
		if i < 0 {
			i = len(p.Marking)
			p.Marking = append(p.Marking, importedMarking{Marking: m})
		}
		p.Marking[i].Queues = append(p.Marking[i].Queues, name)
	}
}

func (p *importedPolicy) weight(weight int, percent float64, of string) {
	i := slices.IndexFunc(p.Weights, func(o importedWeight) bool { return o.Weight == weight && o.Percent == percent })
	if i < 0 {
		i = len(p.Weights)
		p.Weights = append(p.Weights, importedWeight{Weight: weight, Percent: percent})
	}
	p.Weights[i].Of = append(p.Weights[i].Of, of)
}

// importedDrift is one deviation from a plan.
type importedDrift struct {
	Device string       `json:"device"`
	What   string       `json:"what"` // such as "port 1 rpg_gd" or "port 3 queue 3 min_bytes"
	Reason adopt.Reason `json:"reason"`
	Want   string       `json:"want"`
	Got    string       `json:"got,omitempty"`
	File   string       `json:"file,omitempty"`
	Line   int          `json:"line,omitempty"`
}

// driftOf compares the state with a plan. Devices of the plan without a text are only counted.
func driftOf(devices []*importedDevice, plan *policy.Plan) (drift []importedDrift, warnings []string) {
	named := map[string]bool{}
	for _, d := range devices {
		wanted, unknown := wantedOf(d, plan)
		warnings = append(warnings, unknown...)
		found := len(wanted)+len(unknown) > 0
		for _, x := range d.state.Drift(wanted) {
			row := importedDrift{Device: d.name, What: x.Key.String(), Reason: x.Reason, Want: fmt.Sprint(x.Want), Got: fmt.Sprint(x.Got), File: x.File, Line: x.Line}
			if x.Reason == adopt.Missing {
				row.Got = ""
			}
			drift = append(drift, row)
		}
		for i := range plan.RoCE.Switches {
			if s := &plan.RoCE.Switches[i]; s.Name == d.name && d.state.Switch != nil {
				found = true
				if len(d.state.Switch.Front) == 0 {
					warnings = append(warnings, fmt.Sprintf("%s: %s has no table PORT: its ports cannot be matched with those of the plan", d.name, d.state.Switch.File))
					continue
				}
				drift = append(drift, switchDrift(d, s)...)
			}
		}
		if named[d.name] = found; !found {
			warnings = append(warnings, fmt.Sprintf("%s: plan %s has no settings that its texts contain", d.name, plan.Name))
		}
	}
	unread := 0
	for i := range plan.RoCE.NICs {
		if node, _ := splitPort(plan.RoCE.NICs[i].Name); !named[node] {
			unread++
		}
	}
	for i := range plan.RoCE.Switches {
		if !named[plan.RoCE.Switches[i].Name] {
			unread++
		}
	}
	if unread > 0 {
		warnings = append(warnings, fmt.Sprintf("%d NIC ports and switches of plan %s have no text: their drift is unknown", unread, plan.Name))
	}
	return drift, warnings
}

// splitPort splits a port's name: "host1/P2" is port 2 of host1.
func splitPort(name string) (node string, port int) {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == 'P' && name[i-1] == '/' {
			if n, err := strconv.Atoi(name[i+1:]); err == nil {
				return name[:i-1], n
			}
			break
		}
	}
	return name, 0
}

// wantedOf lists a plan's parameters for a NIC: its registers and, if a text describes classes, the trust mode, the
// priority of the tenants' DSCP, and pause.
func wantedOf(d *importedDevice, plan *policy.Plan) (out []nicparam.Setting, warnings []string) {
	for i := range plan.RoCE.NICs {
		n := &plan.RoCE.NICs[i]
		node, port := splitPort(n.Name)
		if node != d.name {
			continue
		}
		registers := nicparam.OfDCQCN(port, &n.Settings)
		if !slices.ContainsFunc(registers, func(r nicparam.Setting) bool { return d.contains(r.Key) }) {
			warnings = append(warnings, fmt.Sprintf("%s: none of the texts has its DCQCN registers: their drift is unknown", n.Name))
			registers = nil
		}
		out = append(out, registers...)
		if !d.contains(nicparam.Key{Port: port, Name: "pfc"}) {
			continue
		}
		have := map[nicparam.Key]bool{}
		want := func(name string, index, value int) {
			k := nicparam.Key{Port: port, Name: name, Index: index}
			if !have[k] {
				have[k] = true
				out = append(out, nicparam.Setting{Key: k, Value: uint64(value)})
			}
		}
		for _, c := range n.Shares {
			want("tsa", int(c.Class), nicparam.TSAETS)
			want("tc_bw", int(c.Class), int(c.Percent))
		}
		for _, t := range plan.RoCE.Traffic {
			if t.Port == n.Port {
				want("trust", 0, nicparam.TrustDSCP)
				want("dscp2prio", int(t.DSCP), int(t.Priority))
				want("pfc", int(t.Priority), 1)
			}
		}
	}
	return out, warnings
}

// contains reports whether a text contains a parameter.
func (d *importedDevice) contains(k nicparam.Key) bool {
	_, ok := d.state.Value(k, adopt.StageCurrent)
	return ok
}

// switchDrift compares the queues that a plan marks with the settings of a switch.
func switchDrift(d *importedDevice, plan *policy.ECNPlan) []importedDrift {
	var out []importedDrift
	state := d.sw()
	for _, want := range plan.Queues {
		what := fmt.Sprintf("port %d queue %d", want.Port, want.Queue)
		i := slices.IndexFunc(state.Queues, func(q importedQueue) bool { return q.Number == int(want.Port) && q.Queue == int(want.Queue) })
		if i < 0 || state.Queues[i].MinBytes == nil {
			out = append(out, importedDrift{Device: d.name, What: what + " marking", Reason: adopt.Missing, Want: fmt.Sprintf("%d..%d bytes, %d %%", want.Marking.Min, want.Marking.Max, want.Marking.PMaxPct), File: state.File})
			continue
		}
		q := state.Queues[i]
		for _, f := range []struct {
			name      string
			want, got int64
		}{
			{"min_bytes", want.Marking.Min, *q.MinBytes}, {"max_bytes", want.Marking.Max, *q.MaxBytes},
			{"p_max_percent", int64(want.Marking.PMaxPct), int64(*q.PMaxPct)},
		} {
			if f.want != f.got {
				out = append(out, importedDrift{Device: d.name, What: what + " " + f.name, Reason: adopt.Differs, Want: fmt.Sprint(f.want), Got: fmt.Sprint(f.got), File: state.File})
			}
		}
	}
	out = append(out, weightDrift(d.name, &state, plan.Weights)...)
	slices.SortStableFunc(out, func(a, b importedDrift) int { return cmp.Compare(a.Device, b.Device) })
	return out
}

// weightDrift compares the weights that a plan gives queues with the schedulers of a switch. A scheduler without a weight has weight 1.
func weightDrift(name string, state *importedSwitch, weights []qos.QueueWeight) []importedDrift {
	var out []importedDrift
	for _, want := range weights {
		drift := importedDrift{Device: name, What: fmt.Sprintf("port %d queue %d weight", want.Port, want.Queue), Reason: adopt.Missing, Want: fmt.Sprint(want.Weight), File: state.File}
		i := slices.IndexFunc(state.Queues, func(q importedQueue) bool {
			return q.Number == int(want.Port) && q.Queue == int(want.Queue) && q.Scheduler != ""
		})
		if i >= 0 {
			q := &state.Queues[i]
			drift.Reason, drift.Got = adopt.Differs, fmt.Sprint(max(q.Weight, 1))
			if q.Scheduler == "STRICT" {
				drift.Got = q.Scheduler
			}
		}
		if drift.Got != drift.Want {
			out = append(out, drift)
		}
	}
	return out
}
