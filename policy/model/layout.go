package model

import (
	"slices"

	"fairlane/internal/disjoint"
	"fairlane/policy/fill"
	"fairlane/subnet"
)

// Layout is what follows from flows and their ways alone. Models of the same flows share it; its slices are not changed once
// they are made. Parts of it are made when they are first asked for, which two goroutines must not do at once.
type Layout struct {
	// The links of flow i are hops[first[i]:first[i+1]].
	First, Hops  []int32
	QPs, Demand  []float64 // by flow
	Tenant       []int32   // by flow
	Sends        []bool    // by link direction: its transmitter does not mark
	carries      []Carried // by link direction, then tenant: what a tenant has on a link
	FirstPart    []int32   // by link direction, and one more: into carries
	partOf       []int32   // by hop: into carries
	before       []int32   // see linksBefore
	senders      []int32   // see SendersOf
	firstSender  []int32
	ofSender     []int32   // see BySender
	longest      []float64 // see LongestTrips
	allFeedable  []float64 // feedable(nil)
	classOfFlow  []int32   // see classLayout
	firstClasses []int32
	roles        [][]Role // see Model.Roles
}

// Carried is the flows of one tenant on a link direction.
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

// layOut makes the links of all flows one list.
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

// Parts lists who has flows on each link direction.
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

// classLayout numbers the classes of all tenants, one for a tenant without any: by tenant the number of its first, and by
// flow the number of its class.
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

// Loads sums rates, by flow, on each link direction.
func (m *Model) Loads(rates []float64) []float64 {
	l, load := m.Layout(), make([]float64, len(m.Caps))
	for i, r := range rates {
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			load[d] += r
		}
	}
	return load
}

// Squeeze takes off the rates of flows what a search left above capacities. load is by link direction what the rates sum up to.
func (m *Model) Squeeze(flows []int32, caps, load, rates []float64) {
	l := m.Layout()
	for _, i := range flows {
		worst := 1.0
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			worst = max(worst, load[d]/caps[d])
		}
		rates[i] /= worst
	}
}

// ConnectedFlows lists, in order, the flows of a kind and all that share links which can fill, by their capacities, with these, directly or through others: their
// rates depend on no other flow.
func (m *Model) ConnectedFlows(caps []float64, kind func(i int) bool) []int32 {
	l := m.Layout()
	var ports []int32 // of flows of the kind
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

// Feedable is caps, by link direction, nil: all that links carry (found once), but boundless where what feeds a link is never more than
// it carries: all its flows come out of one and the same link that is no faster, or out of sending ports that are together
// no faster. Such a link neither queues nor marks, and only the links before it divide. The result is not to be changed.
func (m *Model) Feedable(caps []float64) []float64 {
	if caps != nil {
		return m.findFeedable(caps)
	}
	l := m.Layout()
	if l.allFeedable == nil {
		l.allFeedable = m.findFeedable(m.Caps)
	}
	return l.allFeedable
}

func (m *Model) findFeedable(caps []float64) []float64 {
	out, senders := slices.Clone(caps), m.senderRates(caps)
	for d, b := range m.linksBefore() {
		if b >= 0 && caps[b] <= caps[d] || senders[d] > 0 && senders[d] <= caps[d] {
			out[d] = fill.Boundless
		}
	}
	return out
}

// DataCaps are the capacities of the link directions without what acknowledgements take of them: those of
// the target's flows, on their ways back. Which of several equal ways an acknowledgement takes is not known; the one that its
// data came counts. share is what they take, as a part of the rate of a queue pair in bit/s.
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

// linksBefore is, for each link direction, the one link from which all its flows come; negative when there are
// several, or flows begin there.
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

// senderRates sums, for each link direction, the given capacities of the ports whose flows cross it, each once; 0 for
// links on which flows begin.
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

// SendersOf lists the sending ports, by the link directions that they drive, whose flows cross each link direction beyond, in order:
// those of direction d are senders[first[d]:first[d+1]].
func (m *Model) SendersOf() (first, senders []int32) {
	l := m.Layout()
	if l.firstSender == nil {
		l.firstSender, l.senders = m.gatherSenders()
	}
	return l.firstSender, l.senders
}

// BySender lists the flows of each sending port one after another.
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

// trip is what a link direction adds to the time, in seconds, that a packet and its answer take over a path with empty queues: its
// delay both ways and one full packet's transmission.
func (m *Model) trip(d int32) float64 {
	return float64(2*m.Fabric.Links[d/2].Delay.Seconds()) + m.PacketBits(m.Transmitter(d))/m.Caps[d]
}

// LongestTrips is, for each link direction, the longest round trip of a flow that crosses it, in seconds.
func (m *Model) LongestTrips() []float64 {
	l := m.Layout()
	if l.longest == nil {
		trips := make([]float64, len(m.Caps))
		for d := range trips {
			trips[d] = m.trip(int32(d))
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
