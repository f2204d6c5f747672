package topofile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// yamlVersion is the version of the format.
const yamlVersion = 1

// maxLFTEntries bounds the forwarding tables of a file.
const maxLFTEntries = 64 << 20

// yamlReader collects the components of a YAML fabric.
type yamlReader struct {
	yamlDoc
	guids     guidBases
	nodes     []subnet.Node
	nodeLines []int
	links     []subnet.Link
	linkLines []int
	byGUID    map[ident.GUID]int32
	byName    map[string][]int32
	ports     int
}

// The keys of the format, one list for each mapping, in the order of writing; the JSON schema has the same.
func rootKeys() []string { return []string{"version", "name", "nodes", "links", "lids", "lfts"} }
func nodeKeys() []string {
	return []string{"name", "kind", "guid", "system_guid", "vendor_id", "device_id", "revision", "domain", "ports", "mtu", "vls", "state", "port"}
}
func portKeys() []string { return []string{"guid", "mtu", "vls", "state"} }
func linkKeys() []string { return []string{"a", "b", "width", "speed", "rate", "delay"} }
func lidKeys() []string  { return []string{"port", "lid", "lmc"} }
func lftKeys() []string  { return []string{"switch", "routes"} }

func parseYAML(file string, data []byte) (*subnet.Fabric, error) {
	r := &yamlReader{yamlDoc: yamlDoc{file}, guids: newGUIDBases(), byGUID: make(map[ident.GUID]int32), byName: make(map[string][]int32)}
	doc, err := r.parse(data)
	if err != nil {
		return nil, err
	}
	root, err := r.mapping(doc, "file", rootKeys())
	if err != nil {
		return nil, err
	}
	name, err := r.head(doc, root)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		key  string
		read func(*yaml.Node) error
	}{{"nodes", r.node}, {"links", r.link}, {"lids", r.lid}} {
		if err := r.each(root[part.key], part.key, part.read); err != nil {
			return nil, err
		}
	}
	f, err := build(file, name, r.nodes, r.nodeLines, r.links, r.linkLines)
	if err != nil {
		return nil, err
	}
	return r.lfts(f, root["lfts"])
}

// head checks the version and returns the fabric's name.
func (r *yamlReader) head(doc *yaml.Node, root map[string]*yaml.Node) (string, error) {
	version, ok := root["version"]
	if !ok {
		return "", r.fail(doc, "version", none, phrase.Of("topofile.want-version", "version", yamlVersion))
	}
	if _, err := r.number(version, "version", yamlVersion, yamlVersion); err != nil {
		return "", err
	}
	if root["nodes"] == nil {
		return "", r.fail(doc, "nodes", none, phrase.Of("topofile.want-node-list"))
	}
	if n, ok := root["name"]; ok {
		return r.text(n, "name")
	}
	return fabricName(r.file), nil
}

func (r *yamlReader) each(list *yaml.Node, field string, read func(*yaml.Node) error) error {
	items, err := r.sequence(list, field)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := read(item); err != nil {
			return err
		}
	}
	return nil
}

// node reads one entry of nodes.
func (r *yamlReader) node(item *yaml.Node) error {
	m, err := r.mapping(item, "node", nodeKeys())
	if err != nil {
		return err
	}
	n, err := r.newNode(item, m)
	if err != nil {
		return err
	}
	if err := r.identity(&n, m); err != nil {
		return err
	}
	fillPortGUIDs(&n)
	if err := r.allPorts(&n, m); err != nil {
		return err
	}
	if err := r.eachPort(&n, m["port"]); err != nil {
		return err
	}
	at := int32(len(r.nodes))
	if _, dup := r.byGUID[n.GUID]; !dup {
		r.byGUID[n.GUID] = at
	}
	if n.Name != "" {
		r.byName[n.Name] = append(r.byName[n.Name], at)
	}
	r.nodes, r.nodeLines = append(r.nodes, n), append(r.nodeLines, item.Line)
	return nil
}

// newNode reads the required fields of a node: a kind and a number of ports, 1 for a host.
func (r *yamlReader) newNode(item *yaml.Node, m map[string]*yaml.Node) (n subnet.Node, err error) {
	kind, ok := m["kind"]
	if !ok {
		return n, r.fail(item, "kind", none, phrase.Of("topofile.want-kinds"))
	}
	if n.Kind, err = parsed(r.yamlDoc, kind, "kind", phrase.Of("topofile.want-kinds"), parseKind); err != nil {
		return n, err
	}
	ports := uint64(1)
	if p, ok := m["ports"]; ok {
		if ports, err = r.number(p, "ports", 1, subnet.MaxPorts); err != nil {
			return n, err
		}
	} else if n.Kind == subnet.KindSwitch {
		return n, r.fail(item, "ports", none, phrase.Of("topofile.want-switch-ports", "max", subnet.MaxPorts))
	}
	if r.ports += int(ports) + 1; r.ports > subnet.MaxAllPorts || len(r.nodes) == subnet.MaxNodes {
		return n, r.fail(item, "nodes", more, phrase.Of("topofile.want-nodes-max", "nodes", subnet.MaxNodes, "ports", subnet.MaxAllPorts))
	}
	n.Ports = subnet.NewPorts(int(ports))
	return n, nil
}

func parseKind(s string) (subnet.NodeKind, error) {
	for _, k := range []subnet.NodeKind{subnet.KindCA, subnet.KindSwitch, subnet.KindRouter} {
		if s == kindWord(k) {
			return k, nil
		}
	}
	return 0, fmt.Errorf("kind %q", s)
}

func kindWord(k subnet.NodeKind) string {
	if k == subnet.KindCA {
		return "host"
	}
	return k.String()
}

// identity reads a node's names and numbers; a missing GUID is generated.
func (r *yamlReader) identity(n *subnet.Node, m map[string]*yaml.Node) (err error) {
	set := func(key string, read func(*yaml.Node) error) {
		if v, ok := m[key]; ok && err == nil {
			err = read(v)
		}
	}
	number := func(key string, high uint64, store func(uint64)) {
		set(key, func(v *yaml.Node) error {
			x, err := r.number(v, key, 0, high)
			store(x)
			return err
		})
	}
	set("name", func(v *yaml.Node) (err error) { n.Name, err = r.text(v, "name"); return err })
	set("domain", func(v *yaml.Node) (err error) { n.Domain, err = r.text(v, "domain"); return err })
	set("guid", func(v *yaml.Node) (err error) { n.GUID, err = r.guid(v, "guid"); return err })
	number("vendor_id", 0xffffff, func(x uint64) { n.VendorID = uint32(x) })
	number("device_id", 0xffff, func(x uint64) { n.DeviceID = uint16(x) })
	number("revision", 0xffffffff, func(x uint64) { n.Revision = uint32(x) })
	if _, given := m["guid"]; !given {
		n.GUID = r.guids.take(n.Kind, len(n.Ports)-1)
	}
	n.SystemGUID = n.GUID
	set("system_guid", func(v *yaml.Node) (err error) { n.SystemGUID, err = r.guid(v, "system_guid"); return err })
	return err
}

// allPorts reads the common settings of a node's ports.
func (r *yamlReader) allPorts(n *subnet.Node, m map[string]*yaml.Node) error {
	var common subnet.Port
	if err := r.portSettings(&common, m); err != nil {
		return err
	}
	for p := firstPort(n); p < len(n.Ports); p++ {
		port := &n.Ports[p]
		port.MTU, port.VLCap, port.State = common.MTU, common.VLCap, common.State
	}
	return nil
}

// firstPort returns 0 for a switch, 1 for other nodes, which have no port 0.
func firstPort(n *subnet.Node) int {
	if n.Kind == subnet.KindSwitch {
		return 0
	}
	return 1
}

func (r *yamlReader) portSettings(p *subnet.Port, m map[string]*yaml.Node) (err error) {
	if v, ok := m["mtu"]; ok {
		x, err := r.number(v, "mtu", 0, 4096)
		if err != nil {
			return err
		}
		p.MTU = uint16(x)
	}
	if v, ok := m["vls"]; ok {
		x, err := r.number(v, "vls", 0, 15)
		if err != nil {
			return err
		}
		p.VLCap = uint8(x)
	}
	if v, ok := m["state"]; ok {
		p.State, err = parsed(r.yamlDoc, v, "state", phrase.Of("topofile.want-state"), parseState)
	}
	return err
}

func parseState(s string) (subnet.PortState, error) {
	for st := subnet.PortState(0); st <= subnet.PortActive; st++ {
		if s == st.String() {
			return st, nil
		}
	}
	return 0, fmt.Errorf("state %q", s)
}

// eachPort reads the settings of single ports, by number.
func (r *yamlReader) eachPort(n *subnet.Node, item *yaml.Node) error {
	if item == nil {
		return nil
	}
	if item.Kind != yaml.MappingNode {
		return r.fail(item, "port", describe(item), phrase.Of("topofile.want-port-map"))
	}
	seen := make(map[uint64]bool, len(item.Content)/2)
	for i := 0; i+1 < len(item.Content); i += 2 {
		num, err := r.number(item.Content[i], "port number", uint64(firstPort(n)), uint64(len(n.Ports)-1))
		if err != nil {
			return err
		}
		if seen[num] {
			return r.fail(item.Content[i], "repeated port number", Quoted(item.Content[i].Value), phrase.Of("topofile.want-port-once"))
		}
		seen[num] = true
		m, err := r.mapping(item.Content[i+1], "port", portKeys())
		if err != nil {
			return err
		}
		port := &n.Ports[num]
		if err := r.portSettings(port, m); err != nil {
			return err
		}
		if v, ok := m["guid"]; ok {
			if port.GUID, err = r.guid(v, "guid"); err != nil {
				return err
			}
		}
	}
	return nil
}

// link reads one entry of links.
func (r *yamlReader) link(item *yaml.Node) error {
	m, err := r.mapping(item, "link", linkKeys())
	if err != nil {
		return err
	}
	var l subnet.Link
	if l.A, err = r.end(item, m["a"], "a", 1); err != nil {
		return err
	}
	if l.B, err = r.end(item, m["b"], "b", 1); err != nil {
		return err
	}
	if err := r.linkSpeed(&l, item, m); err != nil {
		return err
	}
	if v, ok := m["delay"]; ok {
		if l.Delay, err = parsed(r.yamlDoc, v, "delay", phrase.Of("topofile.want-delay"), quantity.ParsePicoseconds); err != nil {
			return err
		}
	}
	if len(r.links) == subnet.MaxLinks {
		return r.fail(item, "links", more, phrase.Of("topofile.want-links-max", "max", subnet.MaxLinks))
	}
	r.links, r.linkLines = append(r.links, l), append(r.linkLines, item.Line)
	return nil
}

// linkSpeed reads a link's rate, width and speed. One of them is enough: width and speed determine the rate, and a rate
// that exactly matches a width and speed implies them.
func (r *yamlReader) linkSpeed(l *subnet.Link, item *yaml.Node, m map[string]*yaml.Node) (err error) {
	if m["rate"] == nil && m["width"] == nil && m["speed"] == nil {
		return r.fail(item, "rate", none, phrase.Of("topofile.want-rate-or-width"))
	}
	if v, ok := m["rate"]; ok {
		if l.Rate, err = parsed(r.yamlDoc, v, "rate", phrase.Of("topofile.want-rate"), parseRate); err != nil {
			return err
		}
		if m["width"] == nil && m["speed"] == nil {
			l.Width, l.Speed, _ = subnet.WidthSpeedFor(l.Rate)
		}
	}
	if v, ok := m["width"]; ok && v.Value != unknownWord {
		if l.Width, err = parsed(r.yamlDoc, v, "width", phrase.Of("topofile.want-width"), subnet.ParseWidth); err != nil {
			return err
		}
	}
	if v, ok := m["speed"]; ok && v.Value != unknownWord {
		l.Speed, err = parsed(r.yamlDoc, v, "speed", phrase.Of("topofile.want-speed"), subnet.ParseSpeed)
	}
	return err
}

// parseRate parses the rate of a link; it must be above zero.
func parseRate(s string) (quantity.BitRate, error) {
	v, err := quantity.ParseBitRate(s)
	if err == nil && v <= 0 {
		err = fmt.Errorf("rate %s: want more than 0", v)
	}
	return v, err
}

// unknownWord is the text of an unknown width or speed.
const unknownWord = "unknown"

// wantEnd describes the valid forms of a link's end.
func wantEnd() phrase.Text { return phrase.Of("topofile.want-end") }

// end parses NODE:PORT, with PORT at least low.
func (r *yamlReader) end(item, v *yaml.Node, field string, low uint64) (ref subnet.PortRef, err error) {
	if v == nil {
		return ref, r.fail(item, field, none, wantEnd())
	}
	s, err := r.text(v, field)
	if err != nil {
		return ref, err
	}
	node, num, ok := subnet.SplitPort(s)
	if !ok {
		return ref, r.fail(v, field, Quoted(s), wantEnd())
	}
	if ref.Node, err = r.nodeRef(v, field, node); err != nil {
		return ref, err
	}
	high := len(r.nodes[ref.Node].Ports) - 1
	if uint64(num) < low || int(num) > high {
		return ref, r.fail(v, field, Quoted(s), phrase.Of("topofile.want-port-range", "min", low, "max", high))
	}
	ref.Port = num
	return ref, nil
}

// nodeRef resolves a node by name, or by node GUID with 0x.
func (r *yamlReader) nodeRef(v *yaml.Node, field, s string) (int32, error) {
	if isGUIDRef(s) {
		if g, err := ident.ParseGUID(s); err == nil {
			if i, ok := r.byGUID[g]; ok {
				return i, nil
			}
		}
	}
	switch at := r.byName[s]; len(at) {
	case 0:
		return 0, r.fail(v, field, Quoted(v.Value), phrase.Of("topofile.want-known-node"))
	case 1:
		return at[0], nil
	default:
		return 0, r.fail(v, field, Quoted(v.Value), phrase.Of("topofile.want-unique-name", "n", len(at)))
	}
}

// isGUIDRef reports whether a node reference must be tried as a GUID first.
func isGUIDRef(s string) bool { return len(s) > 2 && strings.EqualFold(s[:2], "0x") }

// lid reads one entry of lids.
func (r *yamlReader) lid(item *yaml.Node) error {
	m, err := r.mapping(item, "lids", lidKeys())
	if err != nil {
		return err
	}
	ref, err := r.end(item, m["port"], "port", 0)
	if err != nil {
		return err
	}
	if ref.Port == 0 && r.nodes[ref.Node].Kind != subnet.KindSwitch {
		return r.fail(item, "port", Quoted(m["port"].Value), phrase.Of("topofile.want-port-from-1"))
	}
	port := &r.nodes[ref.Node].Ports[ref.Port]
	if port.LID != 0 {
		return r.fail(item, "port", Quoted(m["port"].Value), phrase.Of("topofile.want-port-once"))
	}
	if m["lid"] == nil {
		return r.fail(item, "lid", none, phrase.Of("topofile.want-range", "min", 1, "max", ident.MaxUnicastLID))
	}
	lid, err := r.number(m["lid"], "lid", 1, uint64(ident.MaxUnicastLID))
	if err != nil {
		return err
	}
	port.LID = ident.LID(lid)
	if v, ok := m["lmc"]; ok {
		lmc, err := r.number(v, "lmc", 0, subnet.MaxLMC)
		if err != nil {
			return err
		}
		port.LMC = uint8(lmc)
	}
	return nil
}

// lfts reads the forwarding tables.
func (r *yamlReader) lfts(f *subnet.Fabric, list *yaml.Node) (*subnet.Fabric, error) {
	items, err := r.sequence(list, "lfts")
	if err != nil || len(items) == 0 {
		return f, err
	}
	rows := make([][]ident.PortNum, len(f.Nodes))
	total := 0
	for _, item := range items {
		m, err := r.mapping(item, "lfts", lftKeys())
		if err != nil {
			return nil, err
		}
		at, err := r.lftSwitch(item, m["switch"])
		if err != nil {
			return nil, err
		}
		if rows[at] != nil {
			return nil, r.fail(item, "switch", Quoted(m["switch"].Value), phrase.Of("topofile.want-switch-once"))
		}
		if rows[at], err = r.routes(item, m["routes"], len(f.Nodes[at].Ports)-1); err != nil {
			return nil, err
		}
		if total += len(rows[at]); total > maxLFTEntries {
			return nil, r.fail(item, "lfts", more, phrase.Of("topofile.want-entries", "max", maxLFTEntries))
		}
	}
	g, err := f.WithLFTs(rows)
	if err != nil {
		return nil, &ParseError{File: r.file, Line: list.Line, Err: err}
	}
	return g, nil
}

func (r *yamlReader) lftSwitch(item, v *yaml.Node) (int32, error) {
	if v == nil {
		return 0, r.fail(item, "switch", none, phrase.Of("topofile.want-a-switch"))
	}
	s, err := r.text(v, "switch")
	if err != nil {
		return 0, err
	}
	at, err := r.nodeRef(v, "switch", s)
	if err == nil && r.nodes[at].Kind != subnet.KindSwitch {
		err = r.fail(v, "switch", Quoted(s), phrase.Of("topofile.want-not-a", "kind", kindWord(r.nodes[at].Kind)))
	}
	return at, err
}
