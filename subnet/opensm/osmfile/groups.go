package osmfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// Group is a set of a partition's ports whose paths have another service level than the partition. The partition's
// level is in partitions.conf. The groups' levels are in the QoS policy, by the source port of a path: the level of a
// source port belongs to the tenant, and that of a destination port may belong to another tenant.
type Group struct {
	SL    ident.SL     `json:"sl"` // 0 to 15, different from the partition's and from other groups'
	Ports []ident.GUID `json:"ports"`
}

// Grouped returns the service level of each port that is in a group.
func (p *Partition) Grouped() map[ident.GUID]ident.SL {
	out := make(map[ident.GUID]ident.SL)
	for _, g := range p.Groups {
		for _, port := range g.Ports {
			out[port] = g.SL
		}
	}
	return out
}

// ports returns the members' ports.
func (p *Partition) ports() map[ident.GUID]bool {
	out := make(map[ident.GUID]bool, len(p.Members))
	for _, m := range p.Members {
		out[m.PortGUID] = true
	}
	return out
}

// Parts splits the partition by service level, each part with its members and without groups. A partition without groups
// is its only part.
func (p *Partition) Parts() []Partition {
	if len(p.Groups) == 0 {
		return []Partition{*p}
	}
	level, sls := p.Grouped(), []ident.SL{p.SL}
	for _, g := range p.Groups {
		sls = append(sls, g.SL)
	}
	parts := make([]Partition, len(sls))
	for i, sl := range sls {
		parts[i] = *p
		parts[i].SL, parts[i].Groups, parts[i].Members = sl, nil, nil
	}
	for _, m := range p.Members {
		sl, grouped := level[m.PortGUID]
		if !grouped {
			sl = p.SL
		}
		part := &parts[slices.Index(sls, sl)]
		part.Members = append(part.Members, m)
	}
	return parts
}

// parts returns the parts of all partitions.
func (d *Desired) parts() []Partition {
	var out []Partition
	for i := range d.Partitions {
		out = append(out, d.Partitions[i].Parts()...)
	}
	return out
}

// split reports whether any partition needs the QoS policy for its service levels.
func (d *Desired) split() bool {
	return slices.ContainsFunc(d.Partitions, func(p Partition) bool { return len(p.Groups) > 0 })
}

// joinGroups returns the desired groups, plus the previous levels of ports that are no longer members.
func joinGroups(want, old *Partition) []Group {
	out := slices.Clone(want.Groups)
	if len(old.Groups) == 0 {
		return out
	}
	stay, were := want.ports(), old.ports()
	for _, g := range old.Groups {
		left := slices.DeleteFunc(slices.Clone(g.Ports), func(port ident.GUID) bool { return stay[port] || !were[port] && !old.All })
		if len(left) == 0 || g.SL == want.SL {
			continue
		}
		i := slices.IndexFunc(out, func(x Group) bool { return x.SL == g.SL })
		if i < 0 {
			i = len(out)
			out = append(out, Group{SL: g.SL})
		}
		out[i].Ports = slices.Concat(out[i].Ports, left)
	}
	return out
}

// normalGroups sorts the groups by level, and the ports of each, without duplicates.
func normalGroups(gs []Group) []Group {
	out := slices.Clone(gs)
	for i := range out {
		ports := slices.Clone(out[i].Ports)
		slices.Sort(ports)
		out[i].Ports = slices.Compact(ports)
	}
	slices.SortStableFunc(out, func(a, b Group) int { return cmp.Compare(a.SL, b.SL) })
	return out
}

// ourGroups reads the groups in Fairlane's part of a policy, by P_Key.
func ourGroups(policy string) map[ident.PKey][]Group {
	b, err := FindBlock(policy)
	if err != nil || !b.Found {
		return nil
	}
	out := make(map[ident.PKey][]Group)
	p, _ := ReadPolicy(b.Body)
	for _, r := range p.Rules {
		if r.Source == nil || len(r.PKeys) != 1 {
			continue
		}
		g := Group{SL: r.SL}
		for _, x := range r.Source.GUIDs {
			g.Ports = append(g.Ports, x[0])
		}
		k := ident.PKey(r.PKeys[0][0])
		out[k] = append(out[k], g)
	}
	return out
}

// Names in Fairlane's part of a policy. OpenSM ignores case, and takes the first of equal names.
func groupName(k ident.PKey, sl ident.SL) string {
	return fmt.Sprintf("fairlane-%04x-sl%d", uint16(k), sl)
}

func levelName(sl ident.SL) string { return fmt.Sprintf("fairlane-sl%d", sl) }

// groupSections returns the sections of a policy that set the groups' service levels; "" without groups.
func groupSections(ps []Partition) string {
	var groups, levels, rules strings.Builder
	var sls [ident.NumSLs]bool
	for _, p := range ps {
		for _, g := range p.Groups {
			if g.SL >= ident.NumSLs || len(g.Ports) == 0 {
				continue // rejected
			}
			sls[g.SL] = true
			name := groupName(p.PKey, g.SL)
			fmt.Fprintf(&groups, "    port-group # %s\n        name: %s\n", stanzaName(p), name)
			for line := range slices.Chunk(g.Ports, membersOnLine) {
				text := make([]string, len(line))
				for i, port := range line {
					text[i] = port.String()
				}
				fmt.Fprintf(&groups, "        port-guid: %s\n", strings.Join(text, ", "))
			}
			groups.WriteString("    end-port-group\n")
			fmt.Fprintf(&rules, "    qos-match-rule # %s\n        pkey: 0x%04x\n        source: %s\n        qos-level-name: %s\n    end-qos-match-rule\n",
				stanzaName(p), uint16(p.PKey), name, levelName(g.SL))
		}
	}
	if rules.Len() == 0 {
		return ""
	}
	for sl, used := range sls {
		if used {
			fmt.Fprintf(&levels, "    qos-level\n        name: %s\n        sl: %d\n    end-qos-level\n", levelName(ident.SL(sl)), sl)
		}
	}
	return "port-groups\n" + groups.String() + "end-port-groups\nqos-levels\n" + levels.String() + "end-qos-levels\nqos-match-rules\n" + rules.String() + "end-qos-match-rules\n"
}

// checkGroups checks the desired groups.
func (c *composer) checkGroups(p *Partition) {
	if len(p.Groups) == 0 {
		return
	}
	if p.Kept {
		c.problem(CodeTwoSLs, "", 0, "give the tenant a partition of its own",
			"tenant %s needs %s in partition 0x%04x, which is the operator's", p.Tenant, p.levelText(), uint16(p.PKey)).Final = true
	}
	at, members := make(map[ident.GUID]ident.SL), p.ports()
	for i, g := range p.Groups {
		switch {
		case g.SL >= ident.NumSLs:
			c.problem(CodeSLOutOfRange, "", 0, "give it 0 to 15", "tenant %s: SL %d", p.Tenant, g.SL).Final = true
		case g.SL == p.SL || i > 0 && p.Groups[i-1].SL == g.SL:
			c.problem(CodeTwoSLs, "", 0, "put all ports of a service level together", "tenant %s has two groups of ports with SL %d in partition 0x%04x", p.Tenant, g.SL, uint16(p.PKey)).Final = true
		case len(g.Ports) == 0:
			c.problem(CodeNoMembers, "", 0, "attach the tenant to a port, or leave the group out", "tenant %s: no port has SL %d in partition 0x%04x", p.Tenant, g.SL, uint16(p.PKey)).Final = true
		}
		for _, port := range g.Ports {
			first, twice := at[port]
			if twice {
				c.problem(CodeTwoSLs, "", 0, "give each a partition of its own", "port %s needs SL %d and SL %d in partition 0x%04x of tenant %s, but a port has one SL per partition",
					port, first, g.SL, uint16(p.PKey), p.Tenant).Final = true
			}
			at[port] = g.SL
			if !p.All && !members[port] {
				c.problem(CodeNoMembers, "", 0, "make it a member", "tenant %s: port %s has SL %d in partition 0x%04x and is no member", p.Tenant, port, g.SL, uint16(p.PKey)).Final = true
			}
		}
	}
	if !c.next.Policy.Present && c.set.LeavePolicy {
		c.problem(CodeTwoSLs, c.next.Policy.Path, 0, "let Fairlane write the policy, free an SL, or give each part of the tenant a tenant and a partition of its own",
			"tenant %s needs %s in partition 0x%04x: partitions.conf has one for a partition, and there is no QoS policy, which Fairlane must not change", p.Tenant, p.levelText(), uint16(p.PKey)).Final = true
	}
}

// levelText returns "SLs 2, 5".
func (p *Partition) levelText() string {
	text := fmt.Sprintf("SLs %d", p.SL)
	for _, g := range p.Groups {
		text += fmt.Sprintf(", %d", g.SL)
	}
	return text
}
