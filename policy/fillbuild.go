package policy

// sharing says how a link direction divides its capacity: which group and class a flow belongs to
// there, and their weights. Groups and classes must not decrease in the order of the flows.
type sharing struct {
	group       func(f int32) int32
	class       func(f int32) int32
	groupWeight func(f, direction int32) float64
	classWeight func(f int32) float64
}

// newFiller builds the trees of every link direction that a flow crosses. caps may be lower than the
// links' capacities; it is indexed by link direction.
func (m *model) newFiller(s sharing, caps []float64) *filler {
	x := &filler{caps: caps, flows: make([]fillFlow, len(m.flows)), shares: make([]float64, len(m.flows))}
	count, total := m.countMembers(), int32(0)
	at := make([]int32, len(m.caps)) // link direction to position in x.links
	next := make([]int32, 0, len(count))
	for d, n := range count {
		if n == 0 {
			continue
		}
		at[d] = int32(len(x.links))
		x.links = append(x.links, fillLink{id: int32(d), open: n})
		next = append(next, total)
		total += n
	}
	starts := append([]int32(nil), next...)
	x.members = make([]fillMember, total)
	x.refs = make([]int32, 0, total)
	x.open = make([]int32, len(m.flows))
	for i := range m.flows {
		f := &m.flows[i]
		x.open[i] = int32(i)
		first := int32(len(x.refs))
		for _, d := range f.links {
			l := at[d]
			x.members[next[l]] = fillMember{flow: int32(i), link: l, units: f.qps}
			x.refs = append(x.refs, next[l])
			next[l]++
		}
		x.flows[i] = fillFlow{first: first, last: int32(len(x.refs)), demand: f.demand, bottleneck: -1}
	}
	for l := range x.links {
		x.grow(s, &x.links[l], starts[l], next[l])
	}
	return x
}

// countMembers counts the flows that cross each link direction.
func (m *model) countMembers() []int32 {
	count := make([]int32, len(m.caps))
	for i := range m.flows {
		for _, d := range m.flows[i].links {
			count[d]++
		}
	}
	return count
}

// grow makes the groups and classes of one link over its members first..last.
func (x *filler) grow(s sharing, l *fillLink, first, last int32) {
	l.first = int32(len(x.groups))
	for i := first; i < last; i++ {
		f := x.members[i].flow
		newGroup := i == first || s.group(f) != s.group(x.members[i-1].flow)
		if newGroup {
			x.groups = append(x.groups, fillGroup{weight: s.groupWeight(f, l.id), first: int32(len(x.classes))})
		}
		if newGroup || s.class(f) != s.class(x.members[i-1].flow) {
			x.classes = append(x.classes, fillClass{weight: s.classWeight(f), first: i})
		}
		x.members[i].class = int32(len(x.classes) - 1)
		x.classes[len(x.classes)-1].last = i + 1
		x.groups[len(x.groups)-1].last = int32(len(x.classes))
	}
	l.last = int32(len(x.groups))
}
