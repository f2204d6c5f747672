package views

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Bounds of a map.
const (
	maxGroups   = 300
	maxBlocks   = 100 // of pods, when the pods are too many
	maxEdges    = 10_000
	maxMeetings = 200
	maxMeeting  = 64 // tenants of one link
)

// Grouping says what the groups of a map are.
type Grouping string

// Groupings.
const (
	BySwitch Grouping = "switch" // single switches, and the hosts of each leaf
	ByPod    Grouping = "pod"    // switches that are connected below the top tier, and their hosts
	ByBlock  Grouping = "block"  // pods in the order of their names, because they are too many
	ByMember Grouping = "member" // members of a group that was expanded
)

// layout is how a topology is divided into groups. It depends on the cabling alone.
type layout struct {
	sha    string
	fabric *subnet.Fabric
	tiers  []int
	top    int      // the highest tier
	leaf   []int32  // of each node that is no switch: the switch at its first link; -1 without one
	pod    []int32  // of each switch below the top tier, and of the hosts there: the pod's first switch; -1 for others
	pods   []int32  // first switches of the pods, by name
	block  []int32  // of each switch: position of its pod's block
	by     Grouping // of the drawing without expansion
	assign []string // id of each node's group in that drawing
}

func (v *Views) layoutOf(snap control.Snapshot, f *subnet.Fabric) *layout {
	fits := func(l *layout) bool { return l.sha == snap.SHA256 }
	if l, ok := cachedIn(v, &v.drawn, fits); ok {
		return l
	}
	l := newLayout(snap.SHA256, f)
	keepIn(v, &v.drawn, l, fits)
	return l
}

func newLayout(sha string, f *subnet.Fabric) *layout {
	l := &layout{sha: sha, fabric: f, tiers: f.Tiers()}
	for _, s := range f.Switches() {
		l.top = max(l.top, l.tiers[s])
	}
	l.attach()
	l.connect()
	leaves := map[int32]bool{}
	for _, h := range f.Hosts() {
		leaves[l.leaf[h]] = true
	}
	tops := 0
	for _, s := range f.Switches() {
		if l.tiers[s] == l.top {
			tops++
		}
	}
	switch {
	case len(f.Switches())+len(leaves) <= maxGroups:
		l.by = BySwitch
	case 2*len(l.pods)+min(tops, maxGroups/3) <= maxGroups:
		l.by = ByPod
	default:
		l.by = ByBlock
	}
	l.blocks(maxBlocks)
	l.assign = make([]string, len(f.Nodes))
	for i := range f.Nodes {
		l.assign[i] = l.group(int32(i), l.by, tops > maxGroups/3)
	}
	return l
}

// attach finds the leaf of each host.
func (l *layout) attach() {
	f := l.fabric
	l.leaf = make([]int32, len(f.Nodes))
	for i := range l.leaf {
		l.leaf[i] = -1
	}
	for i := range f.Links {
		for _, ends := range [][2]int32{{f.Links[i].A.Node, f.Links[i].B.Node}, {f.Links[i].B.Node, f.Links[i].A.Node}} {
			host, sw := ends[0], ends[1]
			if f.Nodes[host].Kind != subnet.KindSwitch && f.Nodes[sw].Kind == subnet.KindSwitch && l.leaf[host] < 0 {
				l.leaf[host] = sw
			}
		}
	}
}

// connect finds the pods: the components of the switches below the top tier. A component is named by its first switch.
func (l *layout) connect() {
	f := l.fabric
	root := make([]int32, len(f.Nodes))
	for i := range root {
		root[i] = int32(i)
	}
	find := func(i int32) int32 {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	below := func(n int32) bool { return f.Nodes[n].Kind == subnet.KindSwitch && l.tiers[n] < l.top }
	for i := range f.Links {
		if a, b := f.Links[i].A.Node, f.Links[i].B.Node; below(a) && below(b) {
			a, b = find(a), find(b)
			root[max(a, b)] = min(a, b)
		}
	}
	l.pod = make([]int32, len(f.Nodes))
	for i := range f.Nodes {
		n := int32(i)
		if f.Nodes[i].Kind != subnet.KindSwitch {
			n = l.leaf[i]
		}
		l.pod[i] = -1
		if n >= 0 && below(n) {
			l.pod[i] = find(n)
		}
	}
	for _, s := range f.Switches() {
		if l.pod[s] == s {
			l.pods = append(l.pods, s)
		}
	}
	slices.SortFunc(l.pods, func(a, b int32) int { return natural(f.Nodes[a].Label(), f.Nodes[b].Label()) })
}

// blocks divides the pods into at most n blocks of neighbours by name.
func (l *layout) blocks(n int) {
	l.block = make([]int32, len(l.fabric.Nodes))
	size := max((len(l.pods)+n-1)/n, 1)
	for i, p := range l.pods {
		l.block[p] = l.pods[i-i%size]
	}
}

// group returns the id of a node's group. With topped, the switches of the top tier are one group.
func (l *layout) group(n int32, by Grouping, topped bool) string {
	f := l.fabric
	host := f.Nodes[n].Kind != subnet.KindSwitch
	switch {
	case by == BySwitch && host:
		return l.hostsOf(n)
	case by == BySwitch:
		return l.single(n)
	case l.pod[n] < 0 && host: // its leaf is of the top tier, or it has none
		return l.hostsOf(n)
	case l.pod[n] < 0 && topped:
		return "tier:" + strconv.Itoa(l.top)
	case l.pod[n] < 0:
		return l.single(n)
	}
	kind, first := "pod:", l.pod[n]
	if by == ByBlock {
		kind, first = "block:", l.block[first]
	}
	if host {
		kind = "hosts-of-" + kind
	}
	return kind + f.Nodes[first].GUID.String()
}

// single returns the id of a node that is a group of its own.
func (l *layout) single(n int32) string {
	if l.fabric.Nodes[n].Kind == subnet.KindSwitch {
		return "switch:" + l.fabric.Nodes[n].GUID.String()
	}
	return "host:" + l.fabric.Nodes[n].GUID.String()
}

// hostsOf returns the id of the hosts at a host's leaf.
func (l *layout) hostsOf(n int32) string {
	if l.leaf[n] < 0 {
		return "hosts:unlinked"
	}
	return "hosts:" + l.fabric.Nodes[l.leaf[n]].GUID.String()
}

// member returns the id that a node has in the expansion of a group, and whether it is a member.
func (l *layout) member(n int32, group string) (string, bool) {
	if l.assign[n] == group {
		if strings.HasPrefix(group, "hosts-of-") {
			return l.hostsOf(n), true
		}
		return l.single(n), true
	}
	if l.fabric.Nodes[n].Kind != subnet.KindSwitch && l.hostsOf(n) == group { // within a pod or a block
		return l.single(n), true
	}
	return "", false
}

// find locates the node that has a GUID or, alone, a name.
func (l *layout) find(text string) *Place {
	if g, err := ident.ParseGUID(text); err == nil {
		if n, ok := l.fabric.NodeByGUID(g); ok {
			return new(l.place(n))
		}
	}
	if nodes := l.fabric.NodesByName(text); text != "" && len(nodes) == 1 {
		return new(l.place(nodes[0]))
	}
	return nil
}

// place returns the groups of a node.
func (l *layout) place(n int32) Place {
	groups := []string{l.assign[n]}
	if l.fabric.Nodes[n].Kind != subnet.KindSwitch {
		groups = append(groups, l.hostsOf(n))
	}
	groups = append(groups, l.single(n))
	return Place{GUID: l.fabric.Nodes[n].GUID, Name: l.fabric.Nodes[n].Label(), Groups: slices.Compact(groups)}
}

// natural compares names so that leaf2 comes before leaf10.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		i, j := digits(x), digits(y)
		if i > 0 && j > 0 {
			p, q := strings.TrimLeft(x[:i], "0"), strings.TrimLeft(y[:j], "0")
			if c := cmp.Or(len(p)-len(q), strings.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[i:], y[j:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(len(x)-len(y), strings.Compare(a, b))
}

// digits returns the number of decimal digits at the beginning of a text.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
