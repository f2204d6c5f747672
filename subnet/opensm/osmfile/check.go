package osmfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// check searches the composed files for settings that would defeat the desired state.
func (c *composer) check() {
	o := ReadOptions(c.next.Options.Data)
	c.checkLines(o)
	c.checkSwitches(o)
	c.checkPaths(o)
	c.checkLanes(o)
	c.checkPartitions()
	if c.next.Policy.Present && o.Bool(keyQoS) {
		c.checkPolicy()
	}
}

// checkLines finds lines that OpenSM splits.
func (c *composer) checkLines(o Options) {
	path := c.next.Options.Path
	for _, line := range o.long {
		opt := slices.IndexFunc(o.all, func(x option) bool { return x.line == line })
		if opt < 0 {
			continue // a comment that stays a comment
		}
		c.problem(CodeLineTooLong, path, line, "shorten it: the rest is read as a line of its own",
			"%s: the line is longer than the %d characters that OpenSM reads at once", o.all[opt].key, optionsLine)
	}
}

// checkSwitches checks qos, congestion_control and the routing engine.
func (c *composer) checkSwitches(o Options) {
	path := c.next.Options.Path
	if o.Bool(keyCC) {
		c.problem(CodeCCOn, path, o.Line(keyCC), "set congestion_control FALSE: one setting for the whole fabric cannot hold weights",
			"congestion_control is TRUE: OpenSM writes its own settings to every port when it starts, when an option changes and when a port comes back")
	}
	if c.needsQoS() && !o.Bool(keyQoS) {
		found := "is not set, which is FALSE"
		if v, ok := o.Text(keyQoS); ok {
			found = fmt.Sprintf("is %q, which OpenSM takes for FALSE", v)
			if v == "FALSE" {
				found = "is FALSE"
			}
		}
		c.problem(CodeQoSOff, path, o.Line(keyQoS), "set qos TRUE", "qos %s: every partition's SL becomes 0", found)
	}
	for name := range strings.SplitSeq(first(o.Text(keyRouting)), ",") {
		switch strings.ToLower(strings.Trim(name, blanks)) {
		case "lash", "dfsssp", "nue", "torus-2qos":
			c.problem(CodeRouting, path, o.Line(keyRouting), "use minhop, updn, dnup, ftree or file routing for tenants' service levels",
				"routing engine %s assigns service levels itself, against credit loops", name)
		}
	}
	b, err := FindBlock(c.next.Options.Data)
	if err != nil || !b.Found || c.set.LeaveOptions {
		return
	}
	for _, our := range ReadOptions(b.Body).all {
		at := o.find(our.key)
		if at != nil && at.value != our.value {
			c.problem(CodeOverridden, path, at.line, "remove that line: the last one counts", "%s %s comes after Fairlane's part, which sets %s", at.key, at.value, our.value)
		}
	}
}

func first(v string, _ bool) string { return v }

// checkPaths compares the files that OpenSM reads with the written ones.
func (c *composer) checkPaths(o Options) {
	for _, f := range []struct {
		key  string
		text Text
	}{{keyPartFile, c.next.Partitions}, {keyPolicyFile, c.next.Policy}} {
		got, ok := o.Text(f.key)
		if ok && f.text.Present && got != f.text.Path {
			c.problem(CodePath, c.next.Options.Path, o.Line(f.key), "name the same file in both places; OpenSM takes a new path when it starts",
				"OpenSM reads %q as %s, not %s", got, f.key, f.text.Path)
		}
	}
}

// checkLanes follows each service level to its lane.
func (c *composer) checkLanes(o Options) {
	for _, kind := range []PortKind{AdapterPort, SwitchPort} {
		m, ok := o.SL2VL(kind)
		if !ok {
			key := kind.prefix() + "sl2vl"
			if _, given := o.Text(key); !given {
				key = AllPorts.prefix() + "sl2vl"
			}
			c.problem(CodeUnreadable, c.next.Options.Path, o.Line(key), "give 16 numbers from 0 to 15, separated by commas", "%s: %s", key, quote(first(o.Text(key))))
			continue
		}
		high, low := o.turns(kind, true), o.turns(kind, false)
		c.checkFirst(o, kind, m, high)
		if kind == SwitchPort {
			c.checkApart(o, m)
		}
		for _, p := range c.want.parts() {
			if p.SL >= ident.NumSLs {
				continue
			}
			vl := m[p.SL]
			if vl == ident.ManagementVL {
				c.problem(CodeSLDropped, c.next.Options.Path, o.Line(kind.prefix()+"sl2vl"), "map it to a lane from 0 to 14",
					"tenant %s: SL %d is on VL 15 at %s, which drops its packets", p.Tenant, p.SL, kindName(kind))
				continue
			}
			// A link with eight lanes carries VL n on VL n mod 8.
			if high[vl]+low[vl] == 0 && high[vl&7]+low[vl&7] == 0 {
				c.problem(CodeNoTurn, c.next.Options.Path, o.Line(kind.prefix()+"vlarb_low"), "give the lane a weight in the low table",
					"tenant %s: SL %d is on VL %d at %s, which has no weight in either arbitration table", p.Tenant, p.SL, vl, kindName(kind))
			}
		}
	}
}

// checkApart finds tenants on different lanes of switches: they do not see the same marks.
func (c *composer) checkApart(o Options, m [ident.NumSLs]ident.VL) {
	ps := slices.DeleteFunc(c.want.parts(), func(p Partition) bool { return p.SL >= ident.NumSLs || m[p.SL] == ident.ManagementVL })
	for _, p := range ps {
		if a, b := m[ps[0].SL], m[p.SL]; a != b {
			line, own := laneLine(o, SwitchPort, "sl2vl")
			who := fmt.Sprintf("tenants %s and %s are", ps[0].Tenant, p.Tenant)
			if p.Tenant == ps[0].Tenant {
				who = fmt.Sprintf("the parts of tenant %s are", p.Tenant)
			}
			c.problem(CodeLanesApart, c.next.Options.Path, line, "put the service levels of tenants on one lane of switches (qos_swe_sl2vl), or let Fairlane",
				"%s on VLs %d and %d of switches%s: a switch marks each lane for itself, so that they share a link as the arbitration tables say and not by weight", who, a, b, own).Warning = true
			return
		}
	}
}

// laneLine returns the line with the table of a kind of ports: its own, or else that of all kinds; own is set when there
// is none.
func laneLine(o Options, kind PortKind, table string) (line int, own string) {
	if line = cmp.Or(o.Line(kind.prefix()+table), o.Line(AllPorts.prefix()+table)); line == 0 {
		own = ", which is OpenSM's default"
	}
	return line, own
}

// checkFirst finds a lane with priority over those of tenants.
func (c *composer) checkFirst(o Options, kind PortKind, m [ident.NumSLs]ident.VL, high [ident.NumVLs]int) {
	waits := slices.ContainsFunc(c.want.parts(), func(p Partition) bool { return p.SL < ident.NumSLs && high[m[p.SL]] == 0 })
	first := slices.IndexFunc(high[:], func(w int) bool { return w > 0 })
	if !waits || first < 0 {
		return
	}
	line, own := laneLine(o, kind, "vlarb_high")
	even := oneLane()
	c.problem(CodeFirst, c.next.Options.Path, line, fmt.Sprintf("write qos_vlarb_high %s and qos_vlarb_low %s, or let Fairlane", weights(even.High), weights(even.Low)),
		"VL %d is in the high-priority table of %s%s: what uses it goes before the tenants whose lanes are not", first, kindName(kind), own).Warning = true
}

func kindName(k PortKind) string {
	if k == AdapterPort {
		return "channel adapters"
	}
	return "switches"
}

// checkPartitions checks the operator's partitions against Fairlane's.
func (c *composer) checkPartitions() {
	t := c.next.Partitions
	b, err := FindBlock(t.Data)
	if err != nil {
		return
	}
	stanzas, faults := ReadPartitions(t.Data)
	for _, f := range faults {
		remedy := "correct the line"
		if f.Whole {
			remedy += ": OpenSM refuses the whole file, and every tenant loses its partition"
		}
		c.problem(CodeUnreadable, t.Path, f.Line, remedy, "%s", f.Text)
	}
	hasDefault := false
	for _, s := range stanzas {
		hasDefault = hasDefault || s.PKey == ident.DefaultPKey.Base() || s.PKey == 0 && s.Name == "Default"
		if b.holds(s.Line) || s.PKey == 0 && s.Name == "Default" {
			continue
		}
		if s.PKey == 0 {
			c.problem(CodePKeyUnnumbered, t.Path, s.Line, "give it a P_Key", "partition %s has no P_Key: OpenSM takes the first free one, which changes with the tenants", quote(s.Name))
			continue
		}
		for _, p := range c.written() {
			if p.PKey == s.PKey {
				c.problem(CodePKeyConflict, t.Path, s.Line, "remove it, or give the tenant another P_Key",
					"partition %s has the P_Key 0x%04x of tenant %s: OpenSM joins the two, and the last SL counts", quote(s.Name), uint16(s.PKey), p.Tenant)
			}
		}
	}
	if t.Present && !hasDefault && len(stanzas) > 0 {
		c.problem(CodeNoDefault, t.Path, 0, "add a line such as Default=0x7fff,ipoib:ALL=full;",
			"no line defines the default partition: every port but the subnet manager's is a limited member of it").Warning = true
	}
}

// checkPolicy evaluates the policy for a query of each partition.
func (c *composer) checkPolicy() {
	t := c.next.Policy
	p, faults := ReadPolicy(t.Data)
	for _, f := range faults {
		c.problem(CodeUnreadable, t.Path, f.Line, "correct the line: OpenSM refuses the whole policy", "%s", f.Text)
	}
	if p.Default == nil {
		c.problem(CodePolicyNoDefault, t.Path, 0, "add a line default : 0 to qos-ulps, or a level named DEFAULT",
			"the policy has no default: OpenSM refuses all of it, and only the partitions' service levels hold")
		return
	}
	if len(faults) > 0 {
		return // OpenSM rejects it
	}
	b, _ := FindBlock(t.Data)
	for _, want := range c.want.Partitions {
		for _, part := range want.Parts() {
			c.checkRules(&p, &part, b, want.All && part.SL == want.SL)
		}
	}
}

// checkRules finds the policy rule that matches path queries between members of the partition. b is Fairlane's part
// of the policy. An open partition has unknown members, none of which is in our groups.
func (c *composer) checkRules(p *Policy, want *Partition, b Block, open bool) {
	path, decided, whole := c.next.Policy.Path, false, false // whole: by a rule that does not check ports
	ports := make([]ident.GUID, len(want.Members))
	for i, m := range want.Members {
		ports[i] = m.PortGUID
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		all, some := r.meet(want.PKey, ports, (open || len(ports) == 0) && !b.holds(r.Line))
		if !some {
			continue
		}
		ours, anywhere := r.PKeys != nil && all, r.Source == nil && r.Destination == nil
		switch {
		case decided && whole && ours && r.SL != want.SL:
			c.problem(CodePolicyLinesFirst, path, r.Line, "remove it", "tenant %s: a rule with SL %d for partition 0x%04x comes after one with SL %d, and is never reached",
				want.Tenant, r.SL, uint16(want.PKey), want.SL).Warning = true
		case decided:
		case ours && r.SL == want.SL:
			decided, whole = true, anywhere
		case ours:
			c.problem(CodePolicyRule, path, r.Line, "remove the rule, or let it name other partitions",
				"tenant %s: the rule gives SL %d to queries for partition 0x%04x, which needs SL %d", want.Tenant, r.SL, uint16(want.PKey), want.SL)
			decided, whole = true, anywhere
		case r.SL != want.SL:
			q := c.problem(CodePolicyRule, path, r.Line, "let Fairlane's rule come first, or limit this one to other partitions",
				"tenant %s: queries for partition 0x%04x that meet the rule get SL %d, not SL %d", want.Tenant, uint16(want.PKey), r.SL, want.SL)
			q.Warning = !all
			decided = all
		}
	}
	if !decided && *p.Default != want.SL {
		c.problem(CodePolicyDefault, path, p.DefaultLine, "give the partition a line such as "+
			fmt.Sprintf("any, pkey 0x%04x : %d", uint16(want.PKey), want.SL)+", or let Fairlane write the policy",
			"tenant %s: the policy's default gives SL %d to partition 0x%04x, whatever partitions.conf says; it needs SL %d", want.Tenant, *p.Default, uint16(want.PKey), want.SL)
	}
}
