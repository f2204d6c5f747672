package topofile

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// LinksHeader is the first line of a table of links.
const LinksHeader = "node_a,kind_a,port_a,node_b,kind_b,port_b,rate_bps,delay_ns"

// Bounds of a table of links.
const (
	maxLinkNode  = 65_535 // number of a node
	maxLinkRate  = 100_000 * quantity.Gbps
	maxLinkDelay = quantity.Second
)

// GUIDs of the nodes of a table: in the locally administered range, so that they cannot equal a real device's.
const (
	linkHosts    ident.GUID = 0x0200_0000_0001_0000
	linkSwitches ident.GUID = 0x0200_0001_0001_0000
	linkGUIDStep            = 0x100
)

// ReadLinks reads a fabric from a CSV table with one duplex link in a line:
//
//	node_a,kind_a,port_a,node_b,kind_b,port_b,rate_bps,delay_ns
//	0,host,1,21,switch,1,100000000000,1000
//
// Nodes are numbered from 0 to 65535 in any order, hosts and switches together; a node's name is its number. Kinds are host
// and switch. Ports are 1 to 254, each with one link; a host has one link. Rates are whole bit/s
// up to 100 Tbit/s, delays ns of one direction up to a second with at most three decimals. There are no
// spaces, quotes or signs. Nodes come in the order of their numbers, hosts first. A fault is
// a *ParseError with line and column.
func ReadLinks(name string, r io.Reader) (*subnet.Fabric, error) {
	data, err := readAll(name, r)
	if err != nil {
		return nil, err
	}
	t := linkTable{file: name, nodes: make(map[int]*linkNode)}
	for text := range strings.Lines(string(data)) {
		t.line++
		text = strings.TrimRight(text, "\r\n")
		switch {
		case t.line == 1 && text != LinksHeader:
			return nil, t.fail("header", Quoted(text), phrase.Of("topofile.want-header", "header", LinksHeader))
		case t.line > 1:
			if err := t.add(text); err != nil {
				return nil, err
			}
		}
	}
	if len(t.links) == 0 {
		t.line = max(1, t.line)
		return nil, t.fail("links", none, phrase.Of("topofile.want-a-link", "header", LinksHeader))
	}
	return t.build()
}

// linkTable is the state of reading a table.
type linkTable struct {
	file  string
	line  int
	nodes map[int]*linkNode
	links []tableLink
	ports int // of all nodes, including port 0
}

type linkNode struct {
	host   bool
	ports  int // highest number
	used   [subnet.MaxPorts + 1]bool
	linked bool
	at     int32 // index in the fabric
}

type tableLink struct {
	node  [2]int
	port  [2]int
	rate  quantity.BitRate
	delay quantity.Picoseconds
}

func (t *linkTable) fail(column string, found, allowed phrase.Text) error {
	return &ParseError{File: t.file, Line: t.line, Field: column, Found: found, Allowed: allowed}
}

// add reads one line.
func (t *linkTable) add(text string) error {
	cells := strings.Split(text, ",")
	columns := strings.Split(LinksHeader, ",")
	if len(cells) != len(columns) {
		return t.fail("line", Quoted(text), phrase.Of("topofile.want-columns", "n", len(columns), "header", LinksHeader))
	}
	if len(t.links) == subnet.MaxLinks {
		return t.fail("links", more, phrase.Of("topofile.want-most", "max", subnet.MaxLinks))
	}
	var l tableLink
	for end := range 2 {
		if err := t.end(&l, end, cells[3*end:], columns[3*end:]); err != nil {
			return err
		}
	}
	if l.node[0] == l.node[1] {
		return t.fail("column node_b", Quoted(cells[3]), phrase.Of("topofile.want-other-node"))
	}
	rate, err := strconv.ParseUint(cells[6], 10, 63)
	if err != nil || rate < 1 || rate > uint64(maxLinkRate) {
		return t.fail("column rate_bps", Quoted(cells[6]), phrase.Of("topofile.want-whole", "min", 1, "max", int64(maxLinkRate)))
	}
	delay, ok := nanoseconds(cells[7])
	if !ok {
		return t.fail("column delay_ns", Quoted(cells[7]), phrase.Of("topofile.want-decimals", "max", int64(maxLinkDelay/quantity.Nanosecond)))
	}
	l.rate, l.delay = quantity.BitRate(rate), delay
	t.links = append(t.links, l)
	return nil
}

// end parses one end of a link.
func (t *linkTable) end(l *tableLink, end int, cells, columns []string) error {
	number, err := strconv.ParseUint(cells[0], 10, 32)
	if err != nil || number > maxLinkNode {
		return t.fail("column "+columns[0], Quoted(cells[0]), phrase.Of("topofile.want-whole", "min", 0, "max", maxLinkNode))
	}
	if cells[1] != "host" && cells[1] != "switch" {
		return t.fail("column "+columns[1], Quoted(cells[1]), phrase.Of("topofile.want-host-switch"))
	}
	port, err := strconv.ParseUint(cells[2], 10, 32)
	if err != nil || port < 1 || port > subnet.MaxPorts {
		return t.fail("column "+columns[2], Quoted(cells[2]), phrase.Of("topofile.want-whole", "min", 1, "max", subnet.MaxPorts))
	}
	id, host := int(number), cells[1] == "host"
	n := t.nodes[id]
	if n == nil {
		n = &linkNode{host: host}
		t.nodes[id] = n
		t.ports++
	}
	switch {
	case n.host != host:
		return t.fail("column "+columns[1], Quoted(cells[1]), phrase.Of("topofile.want-same-kind", "node", id))
	case n.used[port]:
		return t.fail("column "+columns[2], Quoted(cells[2]), phrase.Of("topofile.want-free-port", "node", id))
	case host && n.linked:
		return t.fail("column "+columns[0], Quoted(cells[0]), phrase.Of("topofile.want-host-once"))
	}
	n.used[port], n.linked = true, true
	if more := int(port) - n.ports; more > 0 {
		n.ports += more
		t.ports += more
	}
	if len(t.nodes) > subnet.MaxNodes || t.ports > subnet.MaxAllPorts {
		return t.fail("nodes", more, phrase.Of("topofile.want-nodes-max", "nodes", subnet.MaxNodes, "ports", subnet.MaxAllPorts))
	}
	l.node[end], l.port[end] = id, int(port)
	return nil
}

// nanoseconds parses a number with at most three decimals.
func nanoseconds(cell string) (quantity.Picoseconds, bool) {
	whole, frac, found := strings.Cut(cell, ".")
	if found && (frac == "" || len(frac) > 3) {
		return 0, false
	}
	ns, err := strconv.ParseUint(whole, 10, 32)
	if err != nil {
		return 0, false
	}
	ps, err := strconv.ParseUint((frac + "000")[:3], 10, 16)
	d := quantity.Picoseconds(ns)*quantity.Nanosecond + quantity.Picoseconds(ps)
	return d, err == nil && d <= maxLinkDelay
}

// build builds the fabric.
func (t *linkTable) build() (*subnet.Fabric, error) {
	ids := make([]int, 0, len(t.nodes))
	for id := range t.nodes {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int) int {
		if ha, hb := t.nodes[a].host, t.nodes[b].host; ha != hb {
			if ha {
				return -1
			}
			return 1
		}
		return a - b
	})
	nodes := make([]subnet.Node, len(ids))
	for i, id := range ids {
		n := t.nodes[id]
		n.at = int32(i)
		kind, guid := subnet.KindSwitch, linkSwitches+ident.GUID(id)*linkGUIDStep
		if n.host {
			kind, guid = subnet.KindCA, linkHosts+ident.GUID(id)*linkGUIDStep
		}
		nodes[i] = subnet.Node{GUID: guid, SystemGUID: guid, Kind: kind, Name: strconv.Itoa(id), Ports: subnet.NewPorts(n.ports)}
		for p := range nodes[i].Ports {
			port := &nodes[i].Ports[p]
			if n.used[p] {
				port.State = subnet.PortActive
			}
			if n.host == (p > 0) {
				port.GUID = guid + ident.GUID(p)
			}
		}
	}
	links := make([]subnet.Link, len(t.links))
	for i := range t.links {
		l := &t.links[i]
		width, speed, _ := subnet.WidthSpeedFor(l.rate)
		links[i] = subnet.Link{Width: width, Speed: speed, Rate: l.rate, Delay: l.delay}
		for end, ref := range []*subnet.PortRef{&links[i].A, &links[i].B} {
			*ref = subnet.PortRef{Node: t.nodes[l.node[end]].at, Port: ident.PortNum(l.port[end])}
		}
	}
	f, err := subnet.New(fabricName(t.file), nodes, links)
	if err != nil {
		return nil, &ParseError{File: t.file, Err: err}
	}
	return f, nil
}
