package subnet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Bounds of a fabric. They are far above the LID space (49,151 ports of one subnet), and above Ethernet fabrics of
// 100,000 hosts, and keep hostile input from exhausting memory.
const (
	MaxNodes = 130_000
	MaxLinks = 1_000_000
	MaxPorts = 254 // port numbers 0 to 254; 255 means "drop" in forwarding tables
	// MaxAllPorts bounds the ports of all nodes together, including port 0 of each.
	MaxAllPorts = 2_000_000
	MaxNameLen  = 64 // bytes of a NodeDescription (IBTA vol. 1, 14.2.5.2)
	MaxDomain   = 64 // bytes of the name of a domain or a fabric
	MaxLMC      = 7
)

// BuildError names the invalid node or link among New's arguments, so that a file reader can report the line that
// defines it.
type BuildError struct {
	Node int // index into nodes, or -1
	Link int // index into links, or -1
	Err  error
}

// Error returns the fault with the name of the node or of the link's ends.
func (e *BuildError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *BuildError) Unwrap() error { return e.Err }

// New checks and indexes a fabric. It keeps no reference to its arguments.
//
// It sets Port.Num and Port.Link, orders the ends of each link, and derives Rate from Width and Speed where Rate is 0
// (Rate stays 0 when these are also unknown). It sorts the links by their ends, so that the order of discovery does
// not change the result. It rejects: too many nodes, links or ports; an unknown kind, width, speed, MTU or VL count;
// a name that is too long or is not UTF-8; a zero or duplicate node GUID; a duplicate port GUID; a LID that is not
// unicast, not aligned to its LMC, or taken; a link with an end that does not exist or is taken, or from a port to
// itself. The error is a *BuildError.
func New(name string, nodes []Node, links []Link) (*Fabric, error) {
	if len(nodes) > MaxNodes {
		return nil, buildErr(-1, phrase.Of("subnet.nodes-max", "n", len(nodes), "max", MaxNodes))
	}
	if len(links) > MaxLinks {
		return nil, buildErr(-1, phrase.Of("subnet.links-max", "n", len(links), "max", MaxLinks))
	}
	if len(name) > MaxDomain || !utf8.ValidString(name) {
		return nil, buildErr(-1, phrase.Of("subnet.fabric-name", "name", strconv.Quote(name), "max", MaxDomain))
	}
	ports := 0
	for i := range nodes {
		if ports += len(nodes[i].Ports); ports > MaxAllPorts {
			return nil, buildErr(i, phrase.Of("subnet.ports-max", "max", MaxAllPorts))
		}
	}
	f := &Fabric{Name: name, Nodes: slices.Clone(nodes), Links: slices.Clone(links)}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		n.Ports = slices.Clone(n.Ports)
		if err := checkNode(n); err != nil {
			return nil, &BuildError{Node: i, Link: -1, Err: phrase.Because(err, phrase.Of("subnet.at-node", "node", nodeLabel(n), "reason", err))}
		}
		for p := range n.Ports {
			n.Ports[p].Num = ident.PortNum(p)
			n.Ports[p].Link = -1
		}
	}
	if err := checkUnique(f.Nodes); err != nil {
		return nil, err
	}
	for i := range f.Links {
		if err := f.plug(int32(i)); err != nil {
			return nil, &BuildError{Node: -1, Link: i, Err: err}
		}
	}
	f.sortLinks()
	f.index = newIndex(f.Nodes)
	return f, nil
}

func (f *Fabric) sortLinks() {
	slices.SortFunc(f.Links, func(a, b Link) int { return comparePortRefs(a.A, b.A) })
	for i := range f.Links {
		l := &f.Links[i]
		f.Nodes[l.A.Node].Ports[l.A.Port].Link = int32(i)
		f.Nodes[l.B.Node].Ports[l.B.Port].Link = int32(i)
	}
}

// NewPorts returns the port slice of a node with n external ports, numbered and unplugged. n is limited to 0..MaxPorts.
func NewPorts(n int) []Port {
	ports := make([]Port, min(max(n, 0), MaxPorts)+1)
	for i := range ports {
		ports[i] = Port{Num: ident.PortNum(i), Link: -1}
	}
	return ports
}

func buildErr(node int, said phrase.Text) error {
	return &BuildError{Node: node, Link: -1, Err: fault(said)}
}

// fault returns the error of an invalid fabric or path.
func fault(said phrase.Text) error { return &phrase.Error{Text: said} }

// nodeLabel returns the display name of a node: its NodeDescription, or its GUID when it has none.
func nodeLabel(n *Node) string {
	if n.Name != "" {
		return fmt.Sprintf("%q", n.Name)
	}
	return n.GUID.String()
}

func checkNode(n *Node) error {
	switch {
	case n.GUID == 0:
		return fault(phrase.Of("subnet.guid-zero"))
	case n.Kind < KindCA || n.Kind > KindRouter:
		return fault(phrase.Of("subnet.kind", "kind", int(n.Kind)))
	case len(n.Name) > MaxNameLen:
		return fault(phrase.Of("subnet.name-length", "n", len(n.Name), "max", MaxNameLen))
	case !utf8.ValidString(n.Name):
		return fault(phrase.Of("subnet.name-not-utf8"))
	case len(n.Domain) > MaxDomain || !utf8.ValidString(n.Domain):
		return fault(phrase.Of("subnet.domain", "domain", strconv.Quote(n.Domain), "max", MaxDomain))
	case n.VendorID > 0xffffff:
		return fault(phrase.Of("subnet.vendor", "id", fmt.Sprintf("%#x", n.VendorID)))
	case len(n.Ports) < 2 || len(n.Ports) > MaxPorts+1:
		return fault(phrase.Of("subnet.ports", "n", max(len(n.Ports)-1, 0), "max", MaxPorts))
	}
	for i := range n.Ports {
		if err := checkPort(n, i); err != nil {
			return phrase.Because(err, phrase.Of("subnet.at-port", "port", i, "reason", err))
		}
	}
	return nil
}

func checkPort(n *Node, i int) error {
	p := &n.Ports[i]
	if i == 0 && n.Kind != KindSwitch {
		if p.GUID != 0 || p.LID != 0 || p.LMC != 0 {
			return fault(phrase.Of("subnet.no-port-zero", "kind", kindText(n.Kind)))
		}
		return nil
	}
	if p.State > PortActive {
		return fault(phrase.Of("subnet.state", "state", int(p.State)))
	}
	switch p.MTU {
	case 0, 256, 512, 1024, 2048, 4096:
	default:
		return fault(phrase.Of("subnet.mtu", "mtu", p.MTU))
	}
	switch p.VLCap {
	case 0, 1, 2, 4, 8, 15:
	default:
		return fault(phrase.Of("subnet.vls", "n", p.VLCap))
	}
	return checkLID(n, i)
}

func checkLID(n *Node, i int) error {
	p := &n.Ports[i]
	switch {
	case p.LMC > MaxLMC:
		return fault(phrase.Of("subnet.lmc", "lmc", p.LMC, "max", MaxLMC))
	case p.LID == 0:
		return nil
	case i != 0 && n.Kind == KindSwitch:
		return fault(phrase.Of("subnet.lid-external", "lid", p.LID))
	case int(p.LID)+1<<p.LMC-1 > int(ident.MaxUnicastLID):
		return fault(phrase.Of("subnet.lid-range", "lid", p.LID, "lmc", p.LMC, "max", ident.MaxUnicastLID))
	case p.LID&(1<<p.LMC-1) != 0:
		return fault(phrase.Of("subnet.lid-multiple", "lid", p.LID, "lmc", p.LMC, "step", 1<<p.LMC))
	}
	return nil
}

// checkUnique rejects GUIDs and LIDs of more than one node or port.
func checkUnique(nodes []Node) error {
	byGUID := make(map[ident.GUID]int, len(nodes))
	byPort := make(map[ident.GUID]PortRef, len(nodes))
	var lids []PortRef
	for i := range nodes {
		n := &nodes[i]
		if j, dup := byGUID[n.GUID]; dup {
			return buildErr(i, phrase.Of("subnet.guid-twice", "node", nodeLabel(n), "guid", n.GUID.String(), "other", nodeLabel(&nodes[j])))
		}
		byGUID[n.GUID] = i
		for p := range n.Ports {
			port, ref := &n.Ports[p], PortRef{int32(i), ident.PortNum(p)}
			if port.GUID != 0 {
				if q, dup := byPort[port.GUID]; dup {
					return buildErr(i, phrase.Of("subnet.port-guid-twice", "node", nodeLabel(n), "port", p, "guid", port.GUID.String(), "other_port", q.Port, "other", nodeLabel(&nodes[q.Node])))
				}
				byPort[port.GUID] = ref
			}
			if port.LID == 0 {
				continue
			}
			for l := int(port.LID); l < int(port.LID)+1<<port.LMC; l++ {
				if l >= len(lids) {
					lids = append(lids, slices.Repeat([]PortRef{noPort}, l+1-len(lids))...)
				}
				if q := lids[l]; q.Node >= 0 {
					return buildErr(i, phrase.Of("subnet.lid-twice", "node", nodeLabel(n), "port", p, "lid", l, "other_port", q.Port, "other", nodeLabel(&nodes[q.Node])))
				}
				lids[l] = ref
			}
		}
	}
	return nil
}

// plug checks link i, orders its ends and enters it into both ports.
func (f *Fabric) plug(i int32) error {
	l := &f.Links[i]
	for _, end := range [2]PortRef{l.A, l.B} {
		if err := f.checkEnd(end); err != nil {
			return err
		}
	}
	if comparePortRefs(l.A, l.B) > 0 {
		l.A, l.B = l.B, l.A
	}
	switch {
	case l.A == l.B:
		return fault(phrase.Of("subnet.link-self", "port", f.PortName(l.A)))
	case l.Width != 0 && l.Width.Code() == 0:
		return f.linkErr(l, phrase.Of("subnet.link-width", "width", int(l.Width)))
	case l.Speed > XDR:
		return f.linkErr(l, phrase.Of("subnet.link-speed", "speed", int(l.Speed), "max", int(XDR)))
	case l.Rate < 0 || l.Rate > quantity.MaxBitRate:
		return f.linkErr(l, phrase.Of("subnet.link-rate", "rate", int64(l.Rate), "max", quantity.MaxBitRate))
	case l.Delay < 0 || l.Delay > quantity.Second:
		return f.linkErr(l, phrase.Of("subnet.link-delay", "delay", l.Delay))
	}
	if l.Rate == 0 {
		l.Rate = LinkRate(l.Width, l.Speed)
	}
	f.Nodes[l.A.Node].Ports[l.A.Port].Link = i
	f.Nodes[l.B.Node].Ports[l.B.Port].Link = i
	return nil
}

func (f *Fabric) checkEnd(end PortRef) error {
	if end.Node < 0 || int(end.Node) >= len(f.Nodes) {
		return fault(phrase.Of("subnet.link-node", "node", end.Node, "max", len(f.Nodes)-1))
	}
	n := &f.Nodes[end.Node]
	if end.Port == 0 || int(end.Port) >= len(n.Ports) {
		return fault(phrase.Of("subnet.link-port", "port", end.Port, "node", nodeLabel(n), "max", len(n.Ports)-1))
	}
	if other := n.Ports[end.Port].Link; other >= 0 {
		l := &f.Links[other]
		return fault(phrase.Of("subnet.port-taken", "port", f.PortName(end), "a", f.PortName(l.A), "b", f.PortName(l.B)))
	}
	return nil
}

func (f *Fabric) linkErr(l *Link, said phrase.Text) error {
	return fault(phrase.Of("subnet.at-link", "a", f.PortName(l.A), "b", f.PortName(l.B), "reason", said))
}

// comparePortRefs sorts ports by node position, then number.
func comparePortRefs(a, b PortRef) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port))
}

// WithLFTs returns a copy of the fabric with these linear forwarding tables; the copy shares nodes and links with f.
// lfts is nil or has one table for each node: nil for all but switches, and at most 0xc000 entries for a switch. Each
// entry is a port number of the switch or ident.DropPort. WithLFTs keeps no reference to lfts. It drops the entries
// after a table's last route; a LID beyond the end has no route. When no table has an entry, the copy's LFTs are nil.
func (f *Fabric) WithLFTs(lfts [][]ident.PortNum) (*Fabric, error) {
	g := *f
	g.LFTs = nil
	if lfts == nil {
		return &g, nil
	}
	if len(lfts) != len(f.Nodes) {
		return nil, fault(phrase.Of("subnet.tables", "n", len(lfts), "want", len(f.Nodes)))
	}
	for i, row := range lfts {
		if len(row) == 0 {
			continue
		}
		if g.LFTs == nil {
			g.LFTs = make([][]ident.PortNum, len(lfts))
		}
		if err := checkLFT(&f.Nodes[i], row); err != nil {
			return nil, phrase.Because(err, phrase.Of("subnet.table-of", "node", nodeLabel(&f.Nodes[i]), "reason", err))
		}
		end := len(row)
		for end > 1 && row[end-1] == ident.DropPort {
			end--
		}
		g.LFTs[i] = slices.Clone(row[:end])
	}
	return &g, nil
}

func checkLFT(n *Node, row []ident.PortNum) error {
	if n.Kind != KindSwitch {
		return fault(phrase.Of("subnet.table-none", "kind", kindText(n.Kind)))
	}
	if len(row) > int(ident.MaxUnicastLID)+1 {
		return fault(phrase.Of("subnet.table-entries", "n", len(row), "max", int(ident.MaxUnicastLID)+1))
	}
	for lid, p := range row {
		if p != ident.DropPort && int(p) >= len(n.Ports) {
			return fault(phrase.Of("subnet.table-port", "lid", lid, "port", p, "max", len(n.Ports)-1, "drop", ident.DropPort))
		}
	}
	return nil
}
