package ib

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

const (
	// roundTripPart is the divisor of the bytes of a round trip that gives the queue depth.
	roundTripPart = 7
	// minimumPackets is the least depth, in packets, at which a queue counts as congested.
	minimumPackets = 8
	// latestThreshold is the code that marks last among those that mark at all.
	latestThreshold = 1
	// unmarkedSize is the size below which packets are not marked, in units of 64 bytes: it exempts acknowledgements and notifications.
	unmarkedSize = 8
)

// queueDepth returns the queue, in bytes, above which a link direction marks, for a round trip in seconds: a seventh of the data of one round
// trip (Alizadeh et al., Data Center TCP, 2010, equation 13, whose argument holds for any sources whose steps are small), at least
// minimumPackets, at most three quarters of the switch's queue. The last quarter is for data that arrives before a mark takes effect.
// The depth does not grow with the number of queue pairs: sources that pace their packets do not queue in step. A deeper queue only adds delay
// to the loop, which then oscillates more and marks the fastest flow out of proportion (measured on the 16-host fat tree with 1 us links: 96
// KiB instead of 40 KiB raises the worst share error from about 2 to 3 % and costs 0.3 % of the link).
func queueDepth(m *model.Model, d int32, roundTrip float64) int {
	packet := int(m.PacketBits(m.Transmitter(d))) / 8
	want := int(m.Caps[d] * roundTrip / 8 / roundTripPart)
	return min(m.Profiles[m.Transmitter(d).Node].Switch.QueueBytes*3/4, max(want, minimumPackets*packet))
}

// switchPlans builds every switch's marking: defaults for all its ports, and overrides where a link that limits flows needs other values. A
// switch whose ports are unchanged since the previous compilation keeps its plan.
func (s *Settings) switchPlans(before []plan.SwitchPlan, was []plan.Digest) ([]plan.SwitchPlan, []plan.Digest) {
	trips := s.m.LongestRoundTrips()
	s.marking = make([]int, len(s.m.Caps))
	for i := range s.groups {
		for _, d := range s.groups[i].links {
			s.marking[d] = s.groups[i].marking
		}
	}
	order := slices.SortedFunc(slices.Values(s.m.Fabric.Switches()), func(a, b int32) int {
		return cmp.Compare(s.m.Fabric.Nodes[a].GUID, s.m.Fabric.Nodes[b].GUID)
	})
	fresh := make([]bool, len(order))
	for i, n := range order {
		fresh[i] = s.prev == nil || !s.sameMarking(n)
	}
	return plan.Renew(before, was, fresh, func(i int) plan.SwitchPlan { return s.switchPlan(order[i], trips) })
}

// sameMarking reports whether all ports of a switch mark as in the previous compilation.
func (s *Settings) sameMarking(n int32) bool {
	for p := range s.m.Fabric.Nodes[n].Ports {
		ref := subnet.PortRef{Node: n, Port: ident.PortNum(p)}
		if _, ok := s.m.Fabric.Peer(ref); !ok {
			continue
		}
		if d := model.Direction(s.m.Fabric, ref); s.marking[d] != s.prev.marking[d] {
			return false
		}
	}
	return true
}

func (s *Settings) switchPlan(n int32, trips []float64) plan.SwitchPlan {
	node := &s.m.Fabric.Nodes[n]
	profile := s.m.Profiles[n]
	sp := plan.SwitchPlan{Node: node.GUID, Name: node.Name, Profile: profileName(profile), Ports: make([]ibcc.PortMarking, len(node.Ports))}
	fastest := int32(-1)
	for p := range node.Ports {
		ref := subnet.PortRef{Node: n, Port: ident.PortNum(p)}
		peer, ok := s.m.Fabric.Peer(ref)
		if !ok {
			continue
		}
		d := model.Direction(s.m.Fabric, ref)
		if fastest < 0 || s.m.Caps[d] > s.m.Caps[fastest] {
			fastest = d
		}
		if s.m.Fabric.Nodes[peer.Node].Kind == subnet.KindCA {
			sp.Defaults.VictimMask.Set(ref.Port)
		}
	}
	sp.Defaults.MarkingRate, sp.Defaults.PacketSize = profile.Switch.Marking(defaultMarking), min(unmarkedSize, profile.Switch.MaxPacketSize)
	if fastest >= 0 {
		sp.Defaults.PacketSize = unmarked(s.m, fastest)
	}
	sp.Defaults.Threshold = latestThreshold
	sp.Reasons = defaultReasons(&sp)
	if !profile.Switch.PortMarking {
		s.oneMarking(&sp, n, trips)
		return sp
	}
	for p := range node.Ports {
		ref := subnet.PortRef{Node: n, Port: ident.PortNum(p)}
		if _, ok := s.m.Fabric.Peer(ref); !ok {
			continue
		}
		if d := model.Direction(s.m.Fabric, ref); s.marking[d] > 0 {
			s.override(&sp, p, d, trips[d])
		}
	}
	return sp
}

// unmarked returns the packet size below which a link does not mark: unmarkedSize, or half of a small MTU.
func unmarked(m *model.Model, d int32) uint8 {
	from := m.Transmitter(d)
	packet := int(m.PacketBits(from)) / 8
	return min(uint8(min(unmarkedSize, (packet-model.PacketHeader)/128)), m.Profiles[from.Node].Switch.MaxPacketSize)
}

func defaultReasons(sp *plan.SwitchPlan) []plan.Reason {
	d, ports := &sp.Defaults, phrase.Write("reason.range.ports", "first", "0", "last", "254")
	return []plan.Reason{
		{Field: "threshold", Value: fmt.Sprint(d.Threshold), Range: "0..15", Rule: plan.RuleMarkingLate,
			Formula: phrase.Write("reason.formula.marking-late")},
		{Field: "marking_rate", Value: fmt.Sprint(d.MarkingRate), Unit: phrase.Write("reason.unit.mark"), Range: "0..65535", Rule: plan.RuleMarkingRate,
			Formula: phrase.Write("reason.formula.marking-default", "packets", strconv.Itoa(int(d.MarkingRate)))},
		{Field: "packet_size", Value: fmt.Sprint(d.PacketSize), Unit: "64 B", Range: "0..255", Rule: plan.RuleUnmarkedSize,
			Formula: phrase.Write("reason.formula.unmarked", "bytes", strconv.Itoa(int(d.PacketSize)*64))},
		{Field: "victim_mask", Value: maskText(d.VictimMask), Range: ports, Rule: plan.RuleRoots, Formula: phrase.Write("reason.formula.victims")},
		{Field: "credit_mask", Value: maskText(d.CreditMask), Range: ports, Rule: plan.RuleNoStarvation, Formula: phrase.Write("reason.formula.credits")},
	}
}

// maskText prints the ports of a mask.
func maskText(m ibcc.PortMask) string {
	if m == (ibcc.PortMask{}) {
		return phrase.Write("reason.value.none")
	}
	return m.String()
}

// override gives a port with a limiting link its own marking where that differs from the defaults.
func (s *Settings) override(sp *plan.SwitchPlan, p int, d int32, trip float64) {
	own, reasons := s.portMarking(fmt.Sprintf("ports[%d].", p), d, trip)
	if own.Threshold == sp.Defaults.Threshold && own.MarkingRate == sp.Defaults.MarkingRate {
		return
	}
	sp.Ports[p] = own
	sp.Reasons = append(sp.Reasons, reasons...)
}

// oneMarking gives a switch without per-port marking that of its first port with a limiting link.
func (s *Settings) oneMarking(sp *plan.SwitchPlan, n int32, trips []float64) {
	for p := range s.m.Fabric.Nodes[n].Ports {
		ref := subnet.PortRef{Node: n, Port: ident.PortNum(p)}
		if _, ok := s.m.Fabric.Peer(ref); !ok {
			continue
		}
		if d := model.Direction(s.m.Fabric, ref); s.marking[d] > 0 {
			own, reasons := s.portMarking("", d, trips[d])
			sp.Defaults.Threshold, sp.Defaults.MarkingRate, sp.Defaults.PacketSize = own.Threshold, own.MarkingRate, own.PacketSize
			sp.Reasons = append(reasons, slices.DeleteFunc(defaultReasons(sp), func(r plan.Reason) bool { return r.Field == "threshold" || r.Field == "marking_rate" })...)
			return
		}
	}
}

// portMarking returns the marking of a port that sends on a limiting link, with the reasons; field is the prefix of their fields.
func (s *Settings) portMarking(field string, d int32, trip float64) (ibcc.PortMarking, []plan.Reason) {
	profile := s.m.Profiles[s.m.Transmitter(d).Node]
	depth := queueDepth(s.m, d, trip)
	code, every := profile.Switch.Code(depth), profile.Switch.Marking(s.marking[d])
	why := plan.Reason{Field: field + "marking_rate", Value: fmt.Sprint(every), Unit: phrase.Write("reason.unit.mark"), Range: "0..65535", Rule: plan.RuleMarkingRate,
		Formula: phrase.Write("reason.formula.marking-flows")}
	if !profile.Generic() {
		why.Range = fmt.Sprintf("%d..%d", profile.Switch.MinMarkingRate, profile.Switch.MaxMarkingRate)
	}
	return ibcc.PortMarking{Valid: true, Threshold: code, PacketSize: unmarked(s.m, d), MarkingRate: every}, []plan.Reason{
		{Field: field + "threshold", Value: fmt.Sprint(code), Range: "0..15", Rule: plan.RuleMarkingDepth, Formula: thresholdReason(s.m, profile, d, trip, depth, code)},
		why,
	}
}
