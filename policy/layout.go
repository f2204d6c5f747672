package policy

import (
	"slices"

	"fairlane/internal/disjoint"
	"fairlane/policy/fill"
	"fairlane/subnet"
)

// layout is what follows from flows and their ways alone. Models of the same flows share it; its slices are not changed once
// they are made. Parts of it are made when they are first asked for, which two goroutines must not do at once.
type layout struct {
	// The links of flow i are hops[first[i]:first[i+1]].
	first, hops  []int32
	qps, demand  []float64 // by flow
	tenant       []int32   // by flow
	sends        []bool    // by link direction: its transmitter does not mark
	carries      []carried // by link direction, then tenant: what a tenant has on a link
	firstPart    []int32   // by link direction, and one more: into carries
	partOf       []int32   // by hop: into carries
	before       []int32   // see linksBefore
	senders      []int32   // see sendersOf
	firstSender  []int32
	ofSender     []int32   // see bySender
	longest      []float64 // see longestTrips
	allFeedable  []float64 // feedable(nil)
	classOfFlow  []int32   // see classLayout
	firstClasses []int32
	roles        [][]role // see model.roles
}

// carried is the flows of one tenant on a link direction.
type carried struct {
	tenant int32
	qps    float64
}

// lay returns the layout of the model's flows.
func (m *model) lay() *layout {
	if m.layout == nil {
		m.layout = &layout{}
		m.layOut()
	}
	return m.layout
}

// layOut makes the links of all flows one list.
func (m *model) layOut() {
	hops, l := 0, m.layout
	for i := range m.flows {
		hops += len(m.flows[i].links)
	}
	n := len(m.flows)
	l.first, l.hops = make([]int32, 1, n+1), make([]int32, 0, hops)
	l.qps, l.demand, l.tenant = make([]float64, n), make([]float64, n), make([]int32, n)
	for i := range m.flows {
		f := &m.flows[i]
		l.hops = append(l.hops, f.links...)
		l.first = append(l.first, int32(len(l.hops)))
		l.qps[i], l.demand[i], l.tenant[i] = f.qps, f.demand, f.tenant
	}
	l.sends = make([]bool, len(m.caps))
	for d := range l.sends {
		l.sends[d] = m.fabric.Nodes[m.transmitter(int32(d)).Node].Kind != subnet.KindSwitch
	}
}

// parts lists who has flows on each link direction.
func (m *model) parts() *layout {
	l := m.lay()
	if l.partOf != nil {
		return l
	}
	last, count := slices.Repeat([]int32{-1}, len(m.caps)), make([]int32, len(m.caps)+1)
	l.partOf = make([]int32, len(l.hops))
	for i := range m.flows {
		for h := l.first[i]; h < l.first[i+1]; h++ {
			d := l.hops[h]
			if t := l.tenant[i]; last[d] != t { // tenants ascend
				last[d] = t
				count[d+1]++
			}
			l.partOf[h] = count[d+1] - 1
		}
	}
	for d := range m.caps {
		count[d+1] += count[d]
	}
	l.firstPart, l.carries = count, make([]carried, count[len(m.caps)])
	for i := range m.flows {
		for h := l.first[i]; h < l.first[i+1]; h++ {
			l.partOf[h] += count[l.hops[h]]
			p := &l.carries[l.partOf[h]]
			p.tenant = l.tenant[i]
			p.qps += l.qps[i]
		}
	}
	return l
}

// classLayout numbers the classes of all tenants, one for a tenant without any: by tenant the number of its first, and by
// flow the number of its class.
func (m *model) classLayout() (first, of []int32) {
	l := m.lay()
	if l.classOfFlow == nil {
		l.firstClasses, _ = m.firstClasses()
		l.classOfFlow = make([]int32, len(m.flows))
		for i := range m.flows {
			l.classOfFlow[i] = l.firstClasses[m.flows[i].tenant] + m.flows[i].class
		}
	}
	return l.firstClasses, l.classOfFlow
}

// loads sums rates, by flow, on each link direction.
func (m *model) loads(rates []float64) []float64 {
	l, load := m.lay(), make([]float64, len(m.caps))
	for i, r := range rates {
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			load[d] += r
		}
	}
	return load
}

// squeeze takes off the rates of flows what a search left above capacities. load is by link direction what the rates sum up to.
func (m *model) squeeze(flows []int32, caps, load, rates []float64) {
	l := m.lay()
	for _, i := range flows {
		worst := 1.0
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			worst = max(worst, load[d]/caps[d])
		}
		rates[i] /= worst
	}
}

// joined lists, in order, the flows of a kind and all that share links which can fill, by their capacities, with these, directly or through others: their
// rates depend on no other flow.
func (m *model) joined(caps []float64, kind func(i int) bool) []int32 {
	l := m.lay()
	var ports []int32 // of flows of the kind
	for i := range m.flows {
		if kind(i) {
			ports = append(ports, l.hops[l.first[i]])
		}
	}
	if ports == nil {
		return nil
	}
	sets, of := disjoint.New(len(m.caps)), make([]bool, len(m.caps))
	for i := range m.flows {
		hops := l.hops[l.first[i]:l.first[i+1]]
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
	for i := range m.flows {
		if of[sets.Find(l.hops[l.first[i]])] {
			out = append(out, int32(i))
		}
	}
	return out
}

// feedable is caps, by link direction, nil: all that links carry (found once), but boundless where what feeds a link is never more than
// it carries: all its flows come out of one and the same link that is no faster, or out of sending ports that are together
// no faster. Such a link neither queues nor marks, and only the links before it divide. The result is not to be changed.
func (m *model) feedable(caps []float64) []float64 {
	if caps != nil {
		return m.findFeedable(caps)
	}
	l := m.lay()
	if l.allFeedable == nil {
		l.allFeedable = m.findFeedable(m.caps)
	}
	return l.allFeedable
}

func (m *model) findFeedable(caps []float64) []float64 {
	out, senders := slices.Clone(caps), m.senderRates(caps)
	for d, b := range m.linksBefore() {
		if b >= 0 && caps[b] <= caps[d] || senders[d] > 0 && senders[d] <= caps[d] {
			out[d] = fill.Boundless
		}
	}
	return out
}

// dataCaps are the capacities of the link directions without what acknowledgements take of them: those of
// the target's flows, on their ways back. Which of several equal ways an acknowledgement takes is not known; the one that its
// data came counts. share is what they take, as a part of the rate of a queue pair in bit/s.
func (m *model) dataCaps(target *allocation, share func(rate float64) float64) []float64 {
	caps, l := slices.Clone(m.caps), m.lay()
	for i, r := range target.rates {
		acks := float64(r * share(r/l.qps[i]))
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			caps[d^1] -= acks
		}
	}
	return caps
}

// linksBefore is, for each link direction, the one link from which all its flows come; negative when there are
// several, or flows begin there.
func (m *model) linksBefore() []int32 {
	const none, many = -1, -2
	l := m.lay()
	if l.before != nil {
		return l.before
	}
	l.before = slices.Repeat([]int32{none}, len(m.caps))
	for i := range m.flows {
		links := m.flows[i].links
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
func (m *model) senderRates(caps []float64) []float64 {
	first, senders := m.sendersOf()
	sum := make([]float64, len(m.caps))
	for d := range sum {
		for _, s := range senders[first[d]:first[d+1]] {
			sum[d] += caps[s]
		}
	}
	return sum
}

// sendersOf lists the sending ports, by the link directions that they drive, whose flows cross each link direction beyond, in order:
// those of direction d are senders[first[d]:first[d+1]].
func (m *model) sendersOf() (first, senders []int32) {
	l := m.lay()
	if l.firstSender == nil {
		l.firstSender, l.senders = m.gatherSenders()
	}
	return l.firstSender, l.senders
}

// bySender lists the flows of each sending port one after another.
func (m *model) bySender() []int32 {
	l := m.lay()
	if l.ofSender == nil {
		l.ofSender = sortedBy(numbered(len(m.flows)), len(m.caps), func(i int32) int32 { return m.flows[i].links[0] })
	}
	return l.ofSender
}

func (m *model) gatherSenders() (first, senders []int32) {
	order := m.bySender()
	type feed struct{ link, sender int32 }
	var feeds []feed
	last := slices.Repeat([]int32{-1}, len(m.caps))
	first = make([]int32, len(m.caps)+1)
	for _, i := range order {
		sender := m.flows[i].links[0]
		for _, d := range m.flows[i].links[1:] {
			if last[d] != sender {
				last[d] = sender
				feeds = append(feeds, feed{d, sender})
				first[d+1]++
			}
		}
	}
	for d := range m.caps {
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
