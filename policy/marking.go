package policy

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

const (
	// referenceQueue is the queue that the sixteen thresholds divide, in bytes: threshold t is taken to
	// mark above referenceQueue·(16-t)/16. IBTA leaves the map to the vendor; this is the
	// 128 KiB input buffer of one port and VL.
	referenceQueue = 128 << 10
	// deepestMark keeps a quarter of the buffer for what arrives before a mark takes effect.
	deepestMark = referenceQueue * 3 / 4
	// roundTripPart is the part of a round trip's bytes that may queue.
	roundTripPart = 7
	// minimumPackets is the least depth, in packets, at which a queue is called congested.
	minimumPackets = 8
	// latestThreshold is the code that marks last of those that mark at all.
	latestThreshold = 1
	// unmarkedSize is the size below which packets are not marked, unit 64 bytes: it exempts
	// acknowledgements and notifications.
	unmarkedSize = 8
)

// depth is the queue above which a link direction is to mark, in bytes, for a round trip in seconds: a
// seventh of what one round trip brings (Alizadeh et al., Data Center TCP, 2010, equation 13, whose
// argument holds for any sources whose steps are small), at least minimumPackets and at most
// deepestMark. It does not grow with the number of queue pairs: sources that pace their packets
// do not queue in step, and a deeper queue only adds delay to the loop, which then swings wider and
// marks the fastest flow out of proportion (measured on the 16-host fat tree with 1 us links: 96 KiB
// instead of 40 KiB raises the worst share error from about 2 to 3 % and costs 0.3 % of the link).
func (m *model) depth(d int32, roundTrip float64) int {
	packet := int(m.packetBits(m.transmitter(d))) / 8
	want := int(m.caps[d] * roundTrip / 8 / roundTripPart)
	return min(deepestMark, max(want, minimumPackets*packet))
}

// threshold is the code whose depth is the nearest not below the wanted one.
func threshold(depth int) uint8 {
	return uint8(min(ibcc.MaxThreshold, max(1, 16-(depth*16+referenceQueue-1)/referenceQueue)))
}

// trip is what a link direction adds to the time, in seconds, that a packet and its answer take over a path with empty queues: its
// delay both ways and one full packet's transmission.
func (m *model) trip(d int32) float64 {
	return float64(2*m.fabric.Links[d/2].Delay.Seconds()) + m.packetBits(m.transmitter(d))/m.caps[d]
}

// longestTrips is, for each link direction, the longest round trip of a flow that crosses it, in seconds.
func (m *model) longestTrips() []float64 {
	l := m.lay()
	if l.longest == nil {
		trips := make([]float64, len(m.caps))
		for d := range trips {
			trips[d] = m.trip(int32(d))
		}
		l.longest = make([]float64, len(m.caps))
		for i := range m.flows {
			sum := 0.0
			for _, d := range m.flows[i].links {
				sum += trips[d]
			}
			for _, d := range m.flows[i].links {
				l.longest[d] = max(l.longest[d], sum)
			}
		}
	}
	return l.longest
}

// switchPlans makes every switch's marking: defaults for all its ports, and overrides where a link
// that limits flows wants other values. A switch none of whose ports wants anything else than in
// the compilation before keeps its plan.
func (s *settings) switchPlans(before []SwitchPlan, was []digest) ([]SwitchPlan, []digest) {
	trips := s.m.longestTrips()
	s.marking = make([]int, len(s.m.caps))
	for i := range s.groups {
		for _, d := range s.groups[i].links {
			s.marking[d] = s.groups[i].marking
		}
	}
	order := slices.SortedFunc(slices.Values(s.m.fabric.Switches()), func(a, b int32) int {
		return cmp.Compare(s.m.fabric.Nodes[a].GUID, s.m.fabric.Nodes[b].GUID)
	})
	fresh := make([]bool, len(order))
	for i, n := range order {
		fresh[i] = s.prev == nil || !s.marksAsBefore(n)
	}
	return renew(before, was, fresh, func(i int) SwitchPlan { return s.switchPlan(order[i], trips) })
}

// marksAsBefore reports whether all ports of a switch mark as they did in the compilation before.
func (s *settings) marksAsBefore(n int32) bool {
	for p := range s.m.fabric.Nodes[n].Ports {
		ref := subnet.PortRef{Node: n, Port: ident.PortNum(p)}
		if _, ok := s.m.fabric.Peer(ref); !ok {
			continue
		}
		if d := direction(s.m.fabric, ref); s.marking[d] != s.prev.marking[d] {
			return false
		}
	}
	return true
}

func (s *settings) switchPlan(n int32, trips []float64) SwitchPlan {
	node := &s.m.fabric.Nodes[n]
	sp := SwitchPlan{Node: node.GUID, Name: node.Name, Ports: make([]ibcc.PortMarking, len(node.Ports))}
	fastest := int32(-1)
	for p := range node.Ports {
		ref := subnet.PortRef{Node: n, Port: ident.PortNum(p)}
		peer, ok := s.m.fabric.Peer(ref)
		if !ok {
			continue
		}
		d := direction(s.m.fabric, ref)
		if fastest < 0 || s.m.caps[d] > s.m.caps[fastest] {
			fastest = d
		}
		if s.m.fabric.Nodes[peer.Node].Kind == subnet.KindCA {
			sp.Defaults.VictimMask.Set(ref.Port)
		}
	}
	sp.Defaults.MarkingRate, sp.Defaults.PacketSize = defaultMarking, unmarkedSize
	if fastest >= 0 {
		sp.Defaults.PacketSize = s.m.unmarked(fastest)
	}
	sp.Defaults.Threshold = latestThreshold
	sp.Reasons = defaultReasons(&sp)
	for p := range node.Ports {
		ref := subnet.PortRef{Node: n, Port: ident.PortNum(p)}
		if _, ok := s.m.fabric.Peer(ref); !ok {
			continue
		}
		if d := direction(s.m.fabric, ref); s.marking[d] > 0 {
			s.override(&sp, p, d, trips[d])
		}
	}
	return sp
}

// unmarked is the packet size below which a link does not mark: unmarkedSize, or half of a small MTU.
func (m *model) unmarked(d int32) uint8 {
	packet := int(m.packetBits(m.transmitter(d))) / 8
	return uint8(min(unmarkedSize, (packet-packetHeader)/128))
}

func defaultReasons(sp *SwitchPlan) []Reason {
	d := &sp.Defaults
	return []Reason{
		{Field: "threshold", Value: fmt.Sprint(d.Threshold), Range: "0..15", Rule: RuleMarkingLate,
			Formula: "a port that limits no flow of this plan marks as late as it can: a link near its capacity queues bursts, and marks there would slow only the flows that cross it"},
		{Field: "marking_rate", Value: fmt.Sprint(d.MarkingRate), Unit: "packets a mark", Range: "0..65535", Rule: RuleMarkingRate,
			Formula: "every 32nd packet: rare enough for fine timers, often enough to settle in time"},
		{Field: "packet_size", Value: fmt.Sprint(d.PacketSize), Unit: "64 B", Range: "0..255", Rule: RuleUnmarkedSize,
			Formula: fmt.Sprintf("packets under %d B, such as acknowledgements, are not marked", int(d.PacketSize)*64)},
		{Field: "victim_mask", Value: d.VictimMask.String(), Range: "ports 0..254", Rule: RuleRoots,
			Formula: "ports with a channel adapter behind them mark even without credits, since nothing beyond them can be the root (annex A10)"},
		{Field: "credit_mask", Value: d.CreditMask.String(), Range: "ports 0..254", Rule: RuleNoStarvation,
			Formula: "weights are enforced at the sources, so no port withholds credits"},
	}
}

// override gives a port with a limiting link its own marking where that differs from the defaults.
func (s *settings) override(sp *SwitchPlan, p int, d int32, trip float64) {
	marking := s.marking[d]
	depth := s.m.depth(d, trip)
	t := threshold(depth)
	if t == sp.Defaults.Threshold && marking == int(sp.Defaults.MarkingRate) {
		return
	}
	sp.Ports[p] = ibcc.PortMarking{Valid: true, Threshold: t, PacketSize: s.m.unmarked(d), MarkingRate: uint16(marking)}
	field := fmt.Sprintf("ports[%d].", p)
	sp.Reasons = append(sp.Reasons,
		Reason{Field: field + "threshold", Value: fmt.Sprint(t), Range: "0..15", Rule: RuleMarkingDepth,
			Formula: fmt.Sprintf("%s · round trip %s / 7, at least %d packets and at most 3/4 of %d B = %d B; 16 - ceil(16·%d/%d) = %d",
				quantity.BitRate(s.m.caps[d]), seconds(trip), minimumPackets, referenceQueue, depth, depth, referenceQueue, t)},
		Reason{Field: field + "marking_rate", Value: fmt.Sprint(marking), Unit: "packets a mark", Range: "0..65535", Rule: RuleMarkingRate,
			Formula: "the packets per mark at which the timers of all flows over this link are fine enough and settle in time"})
}
