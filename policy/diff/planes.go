package diff

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/qos"
	"fairlane/policy/plan"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// infiniBand compares the InfiniBand plane. Parameters of an SL are compared by tenant, not by SL number, so that a tenant that moves to
// another SL and keeps its parameters is reported as moved only.
func (x *differ) infiniBand(before, after *plan.Plan) {
	type key struct {
		tenant string
		port   ident.PortID
	}
	names := map[ident.PortID]string{}
	for _, p := range []*plan.Plan{before, after} {
		for i := range p.CAs {
			names[p.CAs[i].Port] = p.CAs[i].Name
		}
	}
	match(before.Placements, after.Placements, func(p *plan.Placement) key { return key{p.Tenant, p.Port} }, func(a, b *plan.Placement) {
		p := first(a, b)
		both := a != nil && b != nil
		x.parts(plan.KindPort, cmp.Or(names[p.Port], p.Port.String()), p.Tenant, placementParts(a, both), placementParts(b, both))
	})
	was, is := byPort(before.Placements), byPort(after.Placements)
	match(before.CAs, after.CAs, func(c *plan.CAPlan) ident.PortID { return c.Port }, func(a, b *plan.CAPlan) {
		if a == nil || b == nil {
			x.device(plan.KindPort, first(a, b).Name, a == nil)
			return
		}
		x.ca(a, b, was[a.Port], is[a.Port])
	})
	match(before.Switches, after.Switches, func(s *plan.SwitchPlan) ident.GUID { return s.Node }, func(a, b *plan.SwitchPlan) {
		if a == nil || b == nil {
			x.device(plan.KindSwitch, first(a, b).Name, a == nil)
			return
		}
		x.compareFields(plan.KindSwitch, b.Name, "", a.Defaults, b.Defaults)
		for i := range max(len(a.Ports), len(b.Ports)) {
			before, after := markingParts(a, b, i)
			x.parts(plan.KindSwitchPort, fmt.Sprintf("%s/P%d", b.Name, i), "", before, after)
		}
		u, v := *a, *b
		for _, s := range []*plan.SwitchPlan{&u, &v} {
			s.Defaults, s.Ports, s.Reasons, s.Profile = ibcc.SwitchSettings{}, nil, nil, ""
		}
		x.compareFields(plan.KindSwitch, b.Name, "", u, v)
	})
}

// placementParts omits the partition of a tenant that is new on a port or removed from it: it is the tenant's, not the port's.
func placementParts(p *plan.Placement, withKey bool) []part {
	if p == nil {
		return nil
	}
	out := []part{{"sl", number(float64(p.SL))}}
	if withKey {
		out = append(out, part{"pkey", value{text: p.PKey.String()}})
	}
	return out
}

// Fields of switch ports that start or stop marking: one line reports the whole rule.
const (
	fieldMarks     = "marks"
	fieldMarkedNot = "marked"
)

// markingParts returns the fields of a switch port's element in two plans. If only one of them is valid, the other's fields have no meaning;
// if the switch does not mark by default either, the port starts or stops marking.
func markingParts(a, b *plan.SwitchPlan, i int) (before, after []part) {
	of := func(s *plan.SwitchPlan) (m ibcc.PortMarking) {
		if i < len(s.Ports) {
			m = s.Ports[i]
		}
		return m
	}
	p, q := of(a), of(b)
	switch {
	case i < len(a.Ports) && i < len(b.Ports) && p.Valid == q.Valid:
		return partsOf(p), partsOf(q)
	case q.Valid && a.Defaults.Threshold == 0:
		return nil, []part{{fieldMarks, value{text: markingText(q)}}}
	case p.Valid && b.Defaults.Threshold == 0:
		return []part{{fieldMarkedNot, value{text: markingText(p)}}}, nil
	}
	parts := func(s *plan.SwitchPlan, m ibcc.PortMarking) []part {
		switch {
		case i >= len(s.Ports):
			return nil
		case !m.Valid:
			return []part{{"rule", value{text: "the switch's"}}}
		}
		return []part{{"rule", value{text: "its own: " + markingText(m)}}}
	}
	return parts(a, p), parts(b, q)
}

// markingText prints a port's rule.
func markingText(m ibcc.PortMarking) string {
	out := fmt.Sprintf("threshold %d, one packet in %d", m.Threshold, max(1, m.MarkingRate))
	if m.CreditStarvation {
		out = fmt.Sprintf("credit starvation, one packet in %d", max(1, m.MarkingRate))
	}
	if m.PacketSize > 0 {
		out += fmt.Sprintf(", of %d bytes or more", 64*int(m.PacketSize))
	}
	return out
}

func byPort(ps []plan.Placement) map[ident.PortID][]plan.Placement {
	out := map[ident.PortID][]plan.Placement{}
	for _, p := range ps {
		out[p.Port] = append(out[p.Port], p)
	}
	return out
}

// ca compares a channel-adapter port. SLs without a tenant here, before and after, are compared by number.
func (x *differ) ca(a, b *plan.CAPlan, was, is []plan.Placement) {
	params := func(tenant, prefix string, before, after ibcc.SLParams) {
		if before != after {
			x.parts(plan.KindPort, b.Name, tenant, slParts(a, prefix, before), slParts(b, prefix, after))
		}
	}
	if a.Settings.SLs != b.Settings.SLs || !slices.Equal(was, is) {
		var used [ident.NumSLs]bool
		for _, p := range slices.Concat(was, is) {
			used[p.SL%ident.NumSLs] = true
		}
		for _, p := range was {
			if i := slices.IndexFunc(is, func(q plan.Placement) bool { return q.Tenant == p.Tenant }); i >= 0 {
				params(p.Tenant, "", a.Settings.SLs[p.SL%ident.NumSLs], b.Settings.SLs[is[i].SL%ident.NumSLs])
			}
		}
		for sl, u := range used {
			if !u {
				params("", "unassigned sl ", a.Settings.SLs[sl], b.Settings.SLs[sl])
			}
		}
	}
	u, v := *a, *b
	for _, c := range []*plan.CAPlan{&u, &v} {
		c.Settings.SLs, c.Reasons, c.Profile, c.TimerUnit = [ident.NumSLs]ibcc.SLParams{}, nil, "", 0
	}
	x.compareFields(plan.KindPort, b.Name, "", u, v)
}

// lanes compares the division of ports among virtual lanes.
func (x *differ) lanes(before, after []plan.LanePlan) {
	match(before, after, func(l *plan.LanePlan) ident.PortID { return l.Port }, func(a, b *plan.LanePlan) {
		if a == nil || b == nil || !reflect.DeepEqual(a, b) {
			same := a == nil || b == nil || a.Name == b.Name
			x.parts(plan.KindPort, first(a, b).Name, "", laneParts(a, same), laneParts(b, same))
		}
	})
}

func laneParts(l *plan.LanePlan, sameName bool) []part {
	var out []part
	for _, p := range pointerParts(l, "port", "reasons") {
		if p.path == "high" || p.path == "low" {
			p.path = "vl arbitration " + p.path
		}
		if (p.path != "name" || !sameName) && p.value.text != emptyList {
			out = append(out, p)
		}
	}
	return out
}

// slParts lists the parameters of an SL, with the timer in microseconds.
func slParts(c *plan.CAPlan, prefix string, s ibcc.SLParams) []part {
	timer := number(float64(c.TimerPeriod(s.Timer)) / 1e6)
	timer.text, timer.unit = strconv.FormatFloat(math.Round(float64(timer.num*10))/10, 'f', -1, 64), "us"
	return []part{{prefix + "timer", timer}, {prefix + "increase", number(float64(s.Increase))},
		{prefix + "trigger", number(float64(s.Trigger))}, {prefix + "min", number(float64(s.Min))}}
}

// roce compares the RoCE plane. A NIC port's settings belong to its tenant if it has only one.
func (x *differ) roce(before, after *plan.RoCEPlan) {
	type key struct {
		tenant string
		port   ident.PortID
	}
	owners, names := map[ident.PortID][]string{}, map[ident.PortID]string{}
	for _, p := range []*plan.RoCEPlan{before, after} {
		for i := range p.NICs {
			names[p.NICs[i].Port] = p.NICs[i].Name
		}
		for _, t := range p.Traffic {
			if !slices.Contains(owners[t.Port], t.Tenant) {
				owners[t.Port] = append(owners[t.Port], t.Tenant)
			}
		}
	}
	match(before.Traffic, after.Traffic, func(t *plan.RoCEPlacement) key { return key{t.Tenant, t.Port} }, func(a, b *plan.RoCEPlacement) {
		p := first(a, b)
		x.parts(plan.KindPort, cmp.Or(names[p.Port], p.Port.String()), p.Tenant, pointerParts(a, "tenant", "port"), pointerParts(b, "tenant", "port"))
	})
	match(before.NICs, after.NICs, func(n *plan.NICPlan) ident.PortID { return n.Port }, func(a, b *plan.NICPlan) {
		if a == nil || b == nil {
			x.device(plan.KindPort, first(a, b).Name, a == nil)
			return
		}
		ts := owners[a.Port]
		slices.Sort(ts)
		units := unitsOf(a.Reasons, b.Reasons)
		match(a.Shares, b.Shares, func(s *qos.ClassShare) uint8 { return s.Class }, func(p, q *qos.ClassShare) {
			x.parts(plan.KindPort, fmt.Sprintf("%s class %d", b.Name, first(p, q).Class), "", pointerParts(p, "class"), pointerParts(q, "class"))
		})
		u, v := *a, *b
		u.Reasons, v.Reasons, u.Shares, v.Shares = nil, nil, nil, nil
		x.withUnits(units).compareFields(plan.KindPort, b.Name, strings.Join(ts, ", "), u, v)
	})
	match(before.Switches, after.Switches, func(s *plan.ECNPlan) ident.GUID { return s.Node }, func(a, b *plan.ECNPlan) {
		if a == nil || b == nil {
			x.device(plan.KindSwitch, first(a, b).Name, a == nil)
			return
		}
		x.queues(a, b)
	})
}

func (x *differ) queues(a, b *plan.ECNPlan) {
	type key struct {
		port  ident.PortNum
		queue uint8
	}
	match(a.Queues, b.Queues, func(q *ecn.QueueMarking) key { return key{q.Port, q.Queue} }, func(p, q *ecn.QueueMarking) {
		at := first(p, q)
		x.parts(plan.KindQueue, fmt.Sprintf("%s/P%d queue %d", b.Name, at.Port, at.Queue), "", pointerParts(p, "port", "queue"), pointerParts(q, "port", "queue"))
	})
	match(a.Weights, b.Weights, func(w *qos.QueueWeight) key { return key{w.Port, w.Queue} }, func(p, q *qos.QueueWeight) {
		at := first(p, q)
		x.parts(plan.KindQueue, fmt.Sprintf("%s/P%d queue %d", b.Name, at.Port, at.Queue), "", pointerParts(p, "port", "queue"), pointerParts(q, "port", "queue"))
	})
	u, v := *a, *b
	u.Queues, v.Queues, u.Weights, v.Weights, u.Reasons, v.Reasons = nil, nil, nil, nil, nil, nil
	x.compareFields(plan.KindSwitch, b.Name, "", u, v)
}

// wrcc compares the WRCC plane.
func (x *differ) wrcc(before, after *plan.WRCCPlan) {
	match(flatPorts(before), flatPorts(after), func(p *wrccPort) ident.PortID { return p.port }, func(a, b *wrccPort) {
		if a == nil || b == nil {
			x.device(plan.KindSwitchPort, first(a, b).name, a == nil)
			return
		}
		x.compareFields(plan.KindSwitchPort, b.name, "", a.settings, b.settings)
	})
	match(before.Domains, after.Domains, func(d *plan.WRCCDomainPlan) string { return d.Domain }, func(a, b *plan.WRCCDomainPlan) {
		if a == nil || b == nil {
			x.device(plan.KindDomain, plan.DomainName(first(a, b).Domain), a == nil)
			return
		}
		u, v := *a, *b
		u.Reasons, v.Reasons = nil, nil
		x.compareFields(plan.KindDomain, plan.DomainName(b.Domain), "", u, v)
	})
	type key struct {
		port, peer    ident.PortID
		tenant, class string
	}
	var changed [][2]*wrccSender
	match(flatSenders(before), flatSenders(after), func(s *wrccSender) key { return key{s.Port, s.Peer, s.Tenant, s.Class} }, func(a, b *wrccSender) {
		if a == nil || b == nil || *a != *b {
			changed = append(changed, [2]*wrccSender{a, b})
		}
	})
	// Group a port's weights, including those of only one plan: consecutive repetitions of a place count once.
	slices.SortStableFunc(changed, func(p, q [2]*wrccSender) int { return first(p[0], p[1]).Port.Compare(first(q[0], q[1]).Port) })
	for _, c := range changed {
		a, b := c[0], c[1]
		s := first(a, b)
		id := []string{"port", "tenant", "class", "peer", "reasons"}
		if a == nil || b == nil || a.Name == b.Name {
			id = append(id, "name")
		}
		x.parts(plan.KindPort, s.Name, s.Tenant, pointerParts(a, id...), pointerParts(b, id...))
	}
	u, v := *before, *after
	u.Ports, u.Domains, u.Senders = nil, nil, nil
	v.Ports, v.Domains, v.Senders = nil, nil, nil
	x.compareFields(plan.KindFabric, "all", "", u, v)
}

// wrccPort is the settings of one egress port, in any group.
type wrccPort struct {
	port     ident.PortID
	name     string
	settings wrcc.Params
}

func flatPorts(p *plan.WRCCPlan) []wrccPort {
	var out []wrccPort
	for i := range p.Ports {
		for _, n := range p.Ports[i].Ports {
			out = append(out, wrccPort{n.Port, n.Name, p.Ports[i].Settings})
		}
	}
	return out
}

// wrccSender is one weight; the zero peer is all ports but those with one of their own.
type wrccSender struct {
	Port   ident.PortID `json:"port"`
	Name   string       `json:"name"`
	Tenant string       `json:"tenant"`
	Class  string       `json:"class"`
	Peer   ident.PortID `json:"peer"`
	Weight float64      `json:"weight"`
}

func flatSenders(p *plan.WRCCPlan) []wrccSender {
	var out []wrccSender
	for i := range p.Senders {
		s := &p.Senders[i]
		out = append(out, wrccSender{s.Port, s.Name, s.Tenant, s.Class, ident.PortID{}, s.Weight})
		for _, peer := range s.Peers {
			out = append(out, wrccSender{s.Port, s.Name, s.Tenant, s.Class, peer.Port, peer.Weight})
		}
	}
	return out
}
