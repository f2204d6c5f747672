package osmfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// Text is a file.
type Text struct {
	Path    string // as named in OpenSM's options
	Present bool
	Data    string
}

// Texts are the files of one OpenSM.
type Texts struct{ Options, Partitions, Policy Text }

// Each returns the three files in the order in which they are written. A sweep may come between any two, and a partition
// without its line in the policy is harmless while no traffic uses it. Options are read on SIGHUP only.
func (t *Texts) Each() []*Text { return []*Text{&t.Partitions, &t.Policy, &t.Options} }

// Settings select the files that Fairlane may write. It always writes partitions.conf.
type Settings struct {
	// LeaveOptions means that opensm.conf is only checked. A missing setting there is a problem.
	LeaveOptions bool
	// LeavePolicy means that an existing QoS policy is only checked, and none is created.
	LeavePolicy bool
	// OneLane adds lane tables that put all service levels on one lane, where the options have no lane tables. A switch
	// marks by lane, so only tenants on the same lane see the same marks, from which congestion control makes shares by
	// weight. OpenSM's default tables give each service level its own lane; they divide a link evenly, and serve lane 0
	// before all others.
	OneLane bool
	// StopCC writes congestion_control FALSE where the options contain TRUE, instead of reporting a problem.
	StopCC bool
}

// Change is the effect of the desired state on the files.
type Change struct {
	Next     Texts
	Problems []Problem // errors first, by file and line
}

// Compose writes the desired state into Fairlane's part of the files and reports what would defeat that state. It
// does not fail: a part that cannot be composed is a problem, and the file stays unchanged. Nothing outside of the
// markers is changed.
//
// Service levels go into partitions.conf. Where OpenSM has a QoS policy, which takes precedence, each partition also gets
// a line there, before all others of the short form. A policy is created only for partitions with groups, which need
// rules of the long form; it is removed with the last of them.
func Compose(cur Texts, d Desired, s Settings) Change {
	c := composer{cur: cur, want: d.normal(), set: s}
	c.next = cur
	c.checkDesired()
	c.partitions()
	c.policy()
	c.options()
	c.check()
	return Change{Next: c.next, Problems: sortProblems(c.problems)}
}

type composer struct {
	cur, next Texts
	want      Desired
	set       Settings
	problems  []Problem
}

func (c *composer) problem(code Code, file string, line int, remedy, format string, args ...any) *Problem {
	c.problems = append(c.problems, Problem{Code: code, File: file, Line: line, Text: fmt.Sprintf(format, args...), Remedy: remedy})
	return &c.problems[len(c.problems)-1]
}

// cut finds Fairlane's part; ok is false when the file cannot be composed.
func (c *composer) cut(t *Text) (b Block, ok bool) {
	if len(t.Data) > MaxSize {
		c.problem(CodeTooLarge, t.Path, 0, fmt.Sprintf("files may have %d", MaxSize), "the file has %d bytes", len(t.Data)).Final = true
		return b, false
	}
	b, err := FindBlock(t.Data)
	if err != nil {
		c.problem(CodeMarkers, t.Path, 0, "restore or remove both comments by hand: the owner of each part is unknown", "%v", err).Final = true
		return b, false
	}
	if b.Edited {
		c.problem(CodeEdited, t.Path, b.Line, "take the change into Fairlane, or force the write, which replaces the part by what is wanted",
			"Fairlane's part of the file was changed since it was written")
	}
	return b, true
}

// written returns the partitions that Fairlane defines.
func (c *composer) written() []Partition {
	return slices.DeleteFunc(slices.Clone(c.want.Partitions), func(p Partition) bool { return p.Kept })
}

const (
	headPartitions = "# Tenants' partitions. Fairlane writes this part and refuses to when it was changed by hand.\n"
	headPolicy     = "# Tenants' service levels, by partition. Fairlane writes this part.\n"
	// headOwnPolicy is the head of a policy file that Fairlane created and will remove.
	headOwnPolicy = "# Tenants' service levels, by partition and port. Fairlane writes this file, and takes it away when no tenant needs it.\n"
	headOptions   = "# What tenants' service levels need. Fairlane writes this part.\n"
	// defaultStanza is OpenSM's behaviour without a file.
	defaultStanza = "Default=0x7fff,ipoib:ALL=full;\n"
)

func (c *composer) partitions() {
	t := &c.next.Partitions
	b, ok := c.cut(t)
	if !ok {
		return
	}
	var body strings.Builder
	// Any file, even an empty one, makes every port a limited member of the default partition. So a new file must contain
	// the behaviour without a file, unless the operator defines that partition.
	rest, _ := ReadPartitions(b.Before + b.After)
	fresh := !t.Present && len(c.written()) > 0 || b.Found && strings.Contains(b.Body, defaultStanza)
	if fresh && len(rest) == 0 {
		body.WriteString(defaultStanza)
	}
	for _, p := range c.written() {
		body.WriteString(stanza(p))
	}
	c.put(t, b, headPartitions, body.String())
}

// put replaces the body of a file; an empty one removes the part.
func (c *composer) put(t *Text, b Block, head, body string) {
	if body != "" {
		body = head + body
	}
	next := b.With(body)
	if next == t.Data {
		return
	}
	t.Data, t.Present = next, true
}

// policy writes Fairlane's part of the QoS policy. It precedes the operator's part, because the first matching rule
// of a form counts.
func (c *composer) policy() {
	t := &c.next.Policy
	if c.set.LeavePolicy || !t.Present && !c.want.split() {
		return
	}
	b, ok := c.cut(t)
	if !ok {
		return
	}
	rest := b.Before + b.After
	made := !t.Present || strings.HasPrefix(b.Body, headOwnPolicy)
	if made && !c.want.split() && strings.Trim(rest, blanks) == "" {
		*t = Text{Path: t.Path} // only groups needed it
		return
	}
	written := c.written()
	var lines strings.Builder
	for _, p := range written {
		fmt.Fprintf(&lines, "    any, pkey 0x%04x : %d # %s\n", uint16(p.PKey), p.SL, stanzaName(p))
	}
	head := headPolicy
	if made {
		head = headOwnPolicy
		lines.WriteString(c.otherwise(rest))
	}
	body := groupSections(written)
	if lines.Len() > 0 {
		body += "qos-ulps\n" + lines.String() + "end-qos-ulps\n"
	}
	c.put(t, Block{After: rest}, head, body)
}

// otherwise returns the lines of a new policy that preserve the service levels of the operator's partitions.
func (c *composer) otherwise(rest string) string {
	own, _ := ReadPolicy(rest)
	b, err := FindBlock(c.cur.Partitions.Data)
	if own.Default != nil || err != nil {
		return ""
	}
	stanzas, _ := ReadPartitions(b.Before + b.After)
	levels := make(map[ident.PKey]ident.SL) // of several definitions the last counts
	for _, s := range stanzas {
		k := s.PKey
		if k == 0 && s.Name == "Default" {
			k = ident.DefaultPKey.Base()
		}
		levels[k] = s.SL
	}
	usual := levels[ident.DefaultPKey.Base()]
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(levels)) {
		if sl := levels[k]; k != 0 && sl != usual {
			fmt.Fprintf(&out, "    any, pkey 0x%04x : %d # not a tenant's\n", uint16(k), sl)
		}
	}
	fmt.Fprintf(&out, "    default : %d\n", usual)
	return out.String()
}

// options writes the options that the desired state needs and that the rest of the file lacks.
func (c *composer) options() {
	t := &c.next.Options
	if c.set.LeaveOptions {
		return
	}
	b, ok := c.cut(t)
	if !ok {
		return
	}
	rest := ReadOptions(b.Before + b.After)
	if c.set.OneLane && c.needsQoS() && !slices.ContainsFunc(c.want.Lanes, func(l Lanes) bool { return l.Kind == AllPorts }) && !rest.hasLanes() {
		c.want.Lanes = append([]Lanes{oneLane()}, c.want.Lanes...)
	}
	var want [][2]string
	for _, o := range c.want.also {
		if !c.sets(o[0]) {
			want = append(want, o)
		}
	}
	if c.needsQoS() && !rest.Bool(keyQoS) {
		want = append(want, [2]string{keyQoS, "TRUE"})
	}
	if c.set.StopCC && rest.Bool(keyCC) {
		want = append(want, [2]string{keyCC, "FALSE"})
	}
	for _, l := range c.want.Lanes {
		for _, o := range l.lines() {
			if have, _ := rest.Text(o[0]); have != o[1] {
				want = append(want, o)
			}
		}
	}
	var body strings.Builder
	for _, o := range want {
		fmt.Fprintf(&body, "%s %s\n", o[0], o[1])
	}
	c.put(t, b, headOptions, body.String())
}

// sets reports whether the desired state itself determines an option.
func (c *composer) sets(key string) bool {
	if key == keyQoS && c.needsQoS() || key == keyCC {
		return true
	}
	for _, l := range c.want.Lanes {
		for _, o := range l.lines() {
			if o[0] == key {
				return true
			}
		}
	}
	return false
}

// needsQoS reports whether the desired state requires qos TRUE.
func (c *composer) needsQoS() bool {
	return len(c.want.Lanes) > 0 || slices.ContainsFunc(c.want.parts(), func(p Partition) bool { return p.SL != 0 })
}

// checkDesired checks the desired state by itself.
func (c *composer) checkDesired() {
	for i, p := range c.want.Partitions {
		if p.SL >= ident.NumSLs {
			c.problem(CodeSLOutOfRange, "", 0, "give it 0 to 15", "tenant %s: SL %d", p.Tenant, p.SL).Final = true
		}
		if !p.Kept && (p.PKey == 0 || p.PKey == ident.DefaultPKey.Base()) {
			c.problem(CodeNoPartition, "", 0, "give the tenant a P_Key from 0x0001 to 0x7ffe",
				"tenant %s has no partition of its own, by which the subnet manager could distinguish its traffic", p.Tenant).Final = true
		}
		if !p.Kept && !p.All && len(p.Members) == 0 {
			c.problem(CodeNoMembers, "", 0, "attach the tenant to a port, or leave it out", "tenant %s: partition 0x%04x has no members", p.Tenant, uint16(p.PKey)).Final = true
		}
		c.checkGroups(&p)
		if i > 0 && c.want.Partitions[i-1].PKey == p.PKey {
			before := c.want.Partitions[i-1]
			c.problem(CodeTwoSLs, "", 0, "give each a partition of its own",
				"partition 0x%04x is wanted by tenant %s with SL %d and by tenant %s with SL %d, but a partition has one definition",
				uint16(p.PKey), before.Tenant, before.SL, p.Tenant, p.SL).Final = true
		}
	}
	for i, l := range c.want.Lanes {
		if wrong := l.check(); wrong != "" {
			c.problem(CodeLanes, "", 0, "give tables that OpenSM can hold", "%s", wrong).Final = true
		}
		if i > 0 && c.want.Lanes[i-1].Kind == l.Kind {
			c.problem(CodeLanesDiffer, "", 0, "give one for each kind of ports", "two tables for ports of kind %q", l.Kind).Final = true
		}
	}
}
