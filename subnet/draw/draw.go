// Package draw makes pictures of fabrics: text for Graphviz, and SVG that needs no other program. Switches are in
// rows by tier, the top tier first. The hosts of each leaf are listed below it, so that a fabric of 2,000 nodes stays
// readable. The package is pure: the same fabric gives the same bytes.
package draw

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// MaxNodes bounds a drawing: more nodes are not readable.
const MaxNodes = 20_000

// Mark highlights a node or a link.
type Mark uint8

// Marks; the worst is the highest.
const (
	Plain Mark = iota
	Info
	Warning
	Error
)

// word returns the text that accompanies the colour of a mark.
func (m Mark) word() string {
	return [...]string{"", "info", "warning", "error"}[min(m, Error)]
}

// Options select what to highlight; the zero value marks nothing.
type Options struct {
	Title string // "" is the fabric's name
	Nodes map[ident.GUID]Mark
	// Ports mark links: a link has the worst mark of its two ends.
	Ports map[ident.PortID]Mark
}

// picture is a fabric in rows.
type picture struct {
	f        *subnet.Fabric
	o        Options
	tiers    []int
	rows     [][]int32         // switches of tier 1 and up, left to right; rows[0] is tier 1
	detached []int32           // nodes without a leaf in a row: hosts without a switch, switches without hosts
	hosts    map[int32][]int32 // by leaf: its hosts in the order of its ports
	home     map[int32]int32   // by host: its leaf
	ports    map[int32]subnet.PortRef
}

func newPicture(f *subnet.Fabric, o Options) (*picture, error) {
	if len(f.Nodes) > MaxNodes {
		return nil, fmt.Errorf("draw: %d nodes: want at most %d", len(f.Nodes), MaxNodes)
	}
	p := &picture{f: f, o: o, tiers: f.Tiers(), hosts: make(map[int32][]int32), home: make(map[int32]int32), ports: make(map[int32]subnet.PortRef)}
	for _, s := range f.Switches() {
		t := p.tiers[s]
		if t == 0 {
			p.detached = append(p.detached, s)
			continue
		}
		for len(p.rows) < t {
			p.rows = append(p.rows, nil)
		}
		p.rows[t-1] = append(p.rows[t-1], s)
		for port := range f.Nodes[s].Ports {
			ref := subnet.PortRef{Node: s, Port: ident.PortNum(port)}
			peer, ok := f.Peer(ref)
			if !ok || f.Nodes[peer.Node].Kind == subnet.KindSwitch {
				continue
			}
			if _, taken := p.home[peer.Node]; !taken {
				p.home[peer.Node], p.ports[peer.Node] = s, peer
				p.hosts[s] = append(p.hosts[s], peer.Node)
			}
		}
	}
	for _, h := range f.Hosts() {
		if _, ok := p.home[h]; !ok {
			p.detached = append(p.detached, h)
		}
	}
	p.sortRows()
	return p, nil
}

// sortRows orders each row's switches by the mean position of the nodes below them; ties keep the order of the
// fabric.
func (p *picture) sortRows() {
	place := make(map[int32]float64)
	for r, row := range p.rows {
		if r > 0 {
			mean := make(map[int32]float64, len(row))
			for _, s := range row {
				mean[s] = p.meanBelow(s, place)
			}
			slices.SortStableFunc(row, func(a, b int32) int { return cmp.Compare(mean[a], mean[b]) })
		}
		for i, s := range row {
			place[s] = (float64(i) + 0.5) / float64(len(row))
		}
	}
}

func (p *picture) meanBelow(s int32, place map[int32]float64) float64 {
	sum, n := 0.0, 0
	for port := range p.f.Nodes[s].Ports {
		peer, ok := p.f.Peer(subnet.PortRef{Node: s, Port: ident.PortNum(port)})
		if ok && p.tiers[peer.Node] == p.tiers[s]-1 && p.tiers[peer.Node] > 0 {
			sum += place[peer.Node]
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// bundle holds all links between two nodes.
type bundle struct {
	a, b  int32
	n     int
	links []int32 // positions in Fabric.Links
	mark  Mark
}

// bundles groups parallel links, in the order of the fabric, without those between hosts and their own leaf.
func (p *picture) bundles() []bundle {
	var out []bundle
	at := make(map[[2]int32]int)
	for i := range p.f.Links {
		l := &p.f.Links[i]
		if p.isHostLink(l) {
			continue
		}
		key := [2]int32{l.A.Node, l.B.Node}
		k, ok := at[key]
		if !ok {
			k = len(out)
			at[key] = k
			out = append(out, bundle{a: l.A.Node, b: l.B.Node})
		}
		b := &out[k]
		b.n++
		b.links = append(b.links, int32(i))
		b.mark = max(b.mark, p.linkMark(l))
	}
	return out
}

// isHostLink reports whether the link joins a host and its leaf.
func (p *picture) isHostLink(l *subnet.Link) bool {
	for _, end := range [2]subnet.PortRef{l.A, l.B} {
		if ref, ok := p.ports[end.Node]; ok && ref == end {
			return true
		}
	}
	return false
}

func (p *picture) linkMark(l *subnet.Link) Mark {
	return max(p.o.Ports[p.f.PortID(l.A)], p.o.Ports[p.f.PortID(l.B)])
}

// hostMark returns the worse mark of a host and of the link to its leaf.
func (p *picture) hostMark(h int32) Mark {
	m := p.o.Nodes[p.f.Nodes[h].GUID]
	if l, _ := p.f.Link(p.ports[h]); l != nil {
		m = max(m, p.linkMark(l))
	}
	return m
}

func (p *picture) name(n int32) string { return p.f.Nodes[n].Label() }

// lid returns the LID of the node's first port that has one, 0 for none.
func (p *picture) lid(n int32) ident.LID {
	for i := range p.f.Nodes[n].Ports {
		if l := p.f.Nodes[n].Ports[i].LID; l != 0 {
			return l
		}
	}
	return 0
}

func (p *picture) title() string {
	return cmp.Or(p.o.Title, p.f.Name, "fabric")
}

// summary returns the counts of the picture.
func (p *picture) summary() string {
	return fmt.Sprintf("%d switches, %d hosts, %d links", len(p.f.Switches()), len(p.f.Hosts()), len(p.f.Links))
}

// rates prints the widths and speeds of a bundle: "4xEDR", "3 x 4xEDR", "4xEDR, 1xEDR".
func (p *picture) rates(b *bundle) string {
	var kinds []string
	for _, i := range b.links {
		l := &p.f.Links[i]
		k := subnet.FormatWidthSpeed(l.Width, l.Speed)
		if l.Width == 0 || l.Speed == subnet.SpeedUnknown {
			k = l.Rate.String()
		}
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	text := kinds[0]
	for _, k := range kinds[1:] {
		text += ", " + k
	}
	if b.n > 1 {
		text = fmt.Sprintf("%d x %s", b.n, text)
	}
	return text
}
