package model

import (
	"slices"

	"fairlane/internal/disjoint"
	"fairlane/policy/fill"
	"fairlane/subnet"
)

// Layout holds what depends only on flows and their routes. Models of the same flows share it, and its slices are immutable. Parts are built
// on first use, which is not safe for concurrent use.
type Layout struct {
	// The links of flow i are Hops[First[i]:First[i+1]].
	First, Hops  []int32
	QPs, Demand  []float64 // by flow
	Tenant       []int32   // by flow
	Sends        []bool    // by link direction: its transmitter is an adapter, which does not mark
	carries      []Carried // by link direction, then tenant
	FirstPart    []int32   // by link direction, plus one: into carries
	partOf       []int32   // by hop: into carries
	before       []int32   // see linksBefore
	senders      []int32   // see SendersOf
	firstSender  []int32
	ofSender     []int32   // see BySender
	longest      []float64 // see LongestRoundTrips
	allQueueing  []float64 // QueueingCaps(nil)
	classOfFlow  []int32   // see classLayout
	firstClasses []int32
	roles        [][]Role // see Model.Roles
}

// Carried describes the flows of one tenant on a link direction.
type Carried struct {
	tenant int32
	qps    float64
}

// Layout returns the layout of the model's flows.
func (m *Model) Layout() *Layout {
	if m.layout == nil {
		m.layout = &Layout{}
		m.layOut()
	}
	return m.layout
}

// layOut concatenates the links of all flows.
func (m *Model) layOut() {
	hops, l := 0, m.layout
	for i := range m.Flows {
		hops += len(m.Flows[i].Links)
	}
	n := len(m.Flows)
	l.First, l.Hops = make([]int32, 1, n+1), make([]int32, 0, hops)
	l.QPs, l.Demand, l.Tenant = make([]float64, n), make([]float64, n), make([]int32, n)
	for i := range m.Flows {
		f := &m.Flows[i]
		l.Hops = append(l.Hops, f.Links...)
		l.First = append(l.First, int32(len(l.Hops)))
		l.QPs[i], l.Demand[i], l.Tenant[i] = f.QPs, f.demand, f.Tenant
	}
	l.Sends = make([]bool, len(m.Caps))
	for d := range l.Sends {
		l.Sends[d] = m.Fabric.Nodes[m.Transmitter(int32(d)).Node].Kind != subnet.KindSwitch
	}
}

// Parts lists the tenants with flows on each link direction.
func (m *Model) Parts() *Layout {
	l := m.Layout()
	if l.partOf != nil {
		return l
	}
	last, count := slices.Repeat([]int32{-1}, len(m.Caps)), make([]int32, len(m.Caps)+1)
	l.partOf = make([]int32, len(l.Hops))
	for i := range m.Flows {
		for h := l.First[i]; h < l.First[i+1]; h++ {
			d := l.Hops[h]
			if t := l.Tenant[i]; last[d] != t { // tenants ascend
				last[d] = t
				count[d+1]++
			}
			l.partOf[h] = count[d+1] - 1
		}
	}
	for d := range m.Caps {
		count[d+1] += count[d]
	}
	l.FirstPart, l.carries = count, make([]Carried, count[len(m.Caps)])
	for i := range m.Flows {
		for h := l.First[i]; h < l.First[i+1]; h++ {
			l.partOf[h] += count[l.Hops[h]]
			p := &l.carries[l.partOf[h]]
			p.tenant = l.Tenant[i]
			p.qps += l.QPs[i]
		}
	}
	return l
}

// classLayout numbers the classes of all tenants; a tenant without classes counts as one. first is the number of each tenant's first class, of
// the class of each flow.
func (m *Model) classLayout() (first, of []int32) {
	l := m.Layout()
	if l.classOfFlow == nil {
		l.firstClasses, _ = m.firstClasses()
		l.classOfFlow = make([]int32, len(m.Flows))
		for i := range m.Flows {
			l.classOfFlow[i] = l.firstClasses[m.Flows[i].Tenant] + m.Flows[i].Class
		}
	}
	return l.firstClasses, l.classOfFlow
}

// Loads sums the rates of flows on each link direction.
func (m *Model) Loads(rates []float64) []float64 {
	l, load := m.Layout(), make([]float64, len(m.Caps))
	for i, r := range rates {
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			load[d] += r
		}
	}
	return load
}

// ScaleToCapacity lowers the rates of flows where a search left loads above capacities. load is the sum of the rates by link direction.
func (m *Model) ScaleToCapacity(flows []int32, caps, load, rates []float64) {
	l := m.Layout()
	for _, i := range flows {
		worst := 1.0
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			worst = max(worst, load[d]/caps[d])
		}
		rates[i] /= worst
	}
}

// ConnectedFlows lists, in order, the flows that kind selects and all flows that share links with them, directly or through others. Only links
// that can fill by caps count. The rates of the result depend on no other flow.
func (m *Model) ConnectedFlows(caps []float64, kind func(i int) bool) []int32 {
	l := m.Layout()
	var ports []int32 // of the selected flows
	for i := range m.Flows {
		if kind(i) {
			ports = append(ports, l.Hops[l.First[i]])
		}
	}
	if ports == nil {
		return nil
	}
	sets, of := disjoint.New(len(m.Caps)), make([]bool, len(m.Caps))
	for i := range m.Flows {
		hops := l.Hops[l.First[i]:l.First[i+1]]
		for _, d := range hops[1:] {
			if caps[d] < fill.Boundless {
				sets.Join(hops[0], d)
			}
		}
	}
	for _, d := range ports {
		of[sets.Find(d)] = true
	}
	var out []int32
	for i := range m.Flows {
		if of[sets.Find(l.Hops[l.First[i]])] {
			out = append(out, int32(i))
		}
	}
	return out
}

// QueueingCaps returns caps by link direction, with Boundless for links that never carry more than they can: all their flows come from one link
// that is no faster, or from sending ports that are together no faster. Such a link neither queues nor marks; only the links before it divide.
// caps nil means the full capacities, whose result is cached. Callers must not change the result.
func (m *Model) QueueingCaps(caps []float64) []float64 {
	if caps != nil {
		return m.findQueueingCaps(caps)
	}
	l := m.Layout()
	if l.allQueueing == nil {
		l.allQueueing = m.findQueueingCaps(m.Caps)
	}
	return l.allQueueing
}

func (m *Model) findQueueingCaps(caps []float64) []float64 {
	out, senders := slices.Clone(caps), m.senderRates(caps)
	for d, b := range m.linksBefore() {
		if b >= 0 && caps[b] <= caps[d] || senders[d] > 0 && senders[d] <= caps[d] {
			out[d] = fill.Boundless
		}
	}
	return out
}

// DataCaps returns the capacities of the link directions without the part that acknowledgements of the target's flows take on their return
// path. Which of several equal paths an acknowledgement takes is unknown; the reverse of the data's path is assumed. share is the
// acknowledgements' part of the rate of a queue pair, given in bit/s.
func (m *Model) DataCaps(target *Allocation, share func(rate float64) float64) []float64 {
	caps, l := slices.Clone(m.Caps), m.Layout()
	for i, r := range target.Rates {
		acks := float64(r * share(r/l.QPs[i]))
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			caps[d^1] -= acks
		}
	}
	return caps
}

// linksBefore returns, for each link direction, the only link from which its flows come; negative when there are several, or flows begin
// there.
func (m *Model) linksBefore() []int32 {
	const none, many = -1, -2
	l := m.Layout()
	if l.before != nil {
		return l.before
	}
	l.before = slices.Repeat([]int32{none}, len(m.Caps))
	for i := range m.Flows {
		links := m.Flows[i].Links
		for k, d := range links {
			switch {
			case k == 0:
				l.before[d] = many
			case l.before[d] == none:
				l.before[d] = links[k-1]
			case l.before[d] != links[k-1]:
				l.before[d] = many
			}
		}
	}
	return l.before
}

// senderRates sums, for each link direction, the given capacities of the ports whose flows cross it, each once; 0 for links on which flows
// begin.
func (m *Model) senderRates(caps []float64) []float64 {
	first, senders := m.SendersOf()
	sum := make([]float64, len(m.Caps))
	for d := range sum {
		for _, s := range senders[first[d]:first[d+1]] {
			sum[d] += caps[s]
		}
	}
	return sum
}

// SendersOf lists, for each link direction, the sending ports whose flows cross it, by the link directions that they drive, in order: those of
// direction d are senders[first[d]:first[d+1]].
func (m *Model) SendersOf() (first, senders []int32) {
	l := m.Layout()
	if l.firstSender == nil {
		l.firstSender, l.senders = m.gatherSenders()
	}
	return l.firstSender, l.senders
}

// BySender orders the flows by sending port.
func (m *Model) BySender() []int32 {
	l := m.Layout()
	if l.ofSender == nil {
		l.ofSender = sortedBy(Indices(len(m.Flows)), len(m.Caps), func(i int32) int32 { return m.Flows[i].Links[0] })
	}
	return l.ofSender
}

func (m *Model) gatherSenders() (first, senders []int32) {
	order := m.BySender()
	type feed struct{ link, sender int32 }
	var feeds []feed
	last := slices.Repeat([]int32{-1}, len(m.Caps))
	first = make([]int32, len(m.Caps)+1)
	for _, i := range order {
		sender := m.Flows[i].Links[0]
		for _, d := range m.Flows[i].Links[1:] {
			if last[d] != sender {
				last[d] = sender
				feeds = append(feeds, feed{d, sender})
				first[d+1]++
			}
		}
	}
	for d := range m.Caps {
		first[d+1] += first[d]
	}
	senders = make([]int32, len(feeds))
	next := slices.Clone(first)
	for _, f := range feeds {
		senders[next[f.link]] = f.sender
		next[f.link]++
	}
	return first, senders
}

// roundTrip returns the time, in seconds, that a link direction adds to an unloaded round trip: its delay in both directions and the transmission
// of one full packet.
func (m *Model) roundTrip(d int32) float64 {
	return float64(2*m.Fabric.Links[d/2].Delay.Seconds()) + m.PacketBits(m.Transmitter(d))/m.Caps[d]
}

// LongestRoundTrips returns, for each link direction, the longest round trip of a flow that crosses it, in seconds.
func (m *Model) LongestRoundTrips() []float64 {
	l := m.Layout()
	if l.longest == nil {
		trips := make([]float64, len(m.Caps))
		for d := range trips {
			trips[d] = m.roundTrip(int32(d))
		}
		l.longest = make([]float64, len(m.Caps))
		for i := range m.Flows {
			sum := 0.0
			for _, d := range m.Flows[i].Links {
				sum += trips[d]
			}
			for _, d := range m.Flows[i].Links {
				l.longest[d] = max(l.longest[d], sum)
			}
		}
	}
	return l.longest
}
