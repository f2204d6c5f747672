package topofile

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// record is one node's paragraph: its header line and its port lines.
type record struct {
	line  int
	id    string
	node  subnet.Node
	ends  []end
	bare  bool      // id and GUID differ from the form of ibnetdiscover
	taken [4]uint64 // port numbers that have a line
}

// ibnetParser reads the text line by line into records; join links them.
type ibnetParser struct {
	file    string
	line    int
	records []record
	byID    map[string]int
	aliases map[string]alias
	ports   int // of all nodes, including port 0

	// Values from lines before a header. Vendor, device and prefix stay until they are set again, as in ibsim.
	guids          guidBases
	guidGiven      [subnet.KindRouter + 1]bool
	portGUID       ident.GUID
	systemGUID     ident.GUID
	vendor         uint32
	device         uint16
	prefix         string
	widths, speeds uint8 // masks of codes, for links without their own
}

type alias struct {
	record int
	port   ident.PortNum
}

func parseIbnet(file string, data []byte) (*subnet.Fabric, error) {
	p := &ibnetParser{
		file: file, byID: make(map[string]int), aliases: make(map[string]alias), guids: newGUIDBases(),
		widths: defaultWidths, speeds: defaultSpeeds,
	}
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, MaxLine+2)
	for s.Scan() {
		p.line++
		if err := p.parseLine(strings.TrimSpace(s.Text())); err != nil {
			return nil, err
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if len(p.records) == 0 {
		return nil, &ParseError{File: file, Line: max(p.line, 1), Field: "file", Found: phrase.Of("topofile.no-node"),
			Allowed: phrase.Of("topofile.want-a-node")}
	}
	return p.join()
}

// fail returns an error of the current line.
func (p *ibnetParser) fail(field string, found, allowed phrase.Text) error {
	return &ParseError{File: p.file, Line: p.line, Field: field, Found: found, Allowed: allowed}
}

// parseLine dispatches on the start of a line.
func (p *ibnetParser) parseLine(s string) error {
	switch {
	case s == "", s[0] == '#':
		return nil
	case s[0] == '[':
		return p.parsePort(s, false)
	case strings.HasPrefix(s, "@["):
		return p.parsePort(s[1:], true)
	}
	word := s[:len(s)-len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
	switch word {
	case "Switch":
		return p.parseHeader(subnet.KindSwitch, s[len(word):])
	case "Ca", "Hca":
		return p.parseHeader(subnet.KindCA, s[len(word):])
	case "Rt":
		return p.parseHeader(subnet.KindRouter, s[len(word):])
	case "include", "do":
		return p.fail("line", Quoted(s), phrase.Of("topofile.want-no-command"))
	case "Chassis", "Hostname", "DR", "ibwarn", "pdebug":
		return nil // headings of ibnetdiscover -g, progress of -s, warnings, ibsim's debugging
	}
	return p.parseAssignment(word, s)
}

// parseAssignment parses a line such as "vendid=0x2c9" or "switchguid=0x2c9(2c8)".
func (p *ibnetParser) parseAssignment(word, line string) error {
	rest, _, _ := strings.Cut(line[len(word):], "#")
	rest = strings.TrimSpace(rest)
	if rest == "" || rest[0] != '=' && rest[0] != '+' {
		return p.fail("line", Quoted(line), phrase.Of("topofile.want-line"))
	}
	relative, value := rest[0] == '+', strings.TrimSpace(rest[1:])
	switch word {
	case "switchguid":
		return p.parseGUIDBase(subnet.KindSwitch, word, value, relative)
	case "caguid", "hcaguids", "hcaguid":
		return p.parseGUIDBase(subnet.KindCA, word, value, relative)
	case "rtguid":
		return p.parseGUIDBase(subnet.KindRouter, word, value, relative)
	}
	if relative {
		return p.fail(word, Quoted(line), phrase.Of("topofile.want-equals"))
	}
	var err error
	var v uint64
	switch word {
	case "vendid":
		v, err = p.number(word, value, 0, 0xffffff)
		p.vendor = uint32(v)
	case "devid":
		v, err = p.number(word, value, 0, 0xffff)
		p.device = uint16(v)
	case "sysimgguid":
		p.systemGUID, err = p.guid(word, value)
	case "width":
		v, err = p.number(word, value, 1, 15)
		p.widths = uint8(v)
	case "speed":
		v, err = p.number(word, value, 1, 7)
		p.speeds = uint8(v)
	case "module":
		id, _, ok := quoted(value)
		if !ok || len(id) > 32 {
			return p.fail(word, Quoted(value), phrase.Of("topofile.want-prefix"))
		}
		p.prefix = id
	default:
		return p.fail("line", Quoted(line), phrase.Of("topofile.want-assignments"))
	}
	return err
}

func (p *ibnetParser) parseGUIDBase(kind subnet.NodeKind, field, value string, relative bool) error {
	node, port, hasPort := strings.Cut(value, "(")
	g, err := p.guid(field, node)
	if err != nil {
		return err
	}
	p.portGUID = 0
	if hasPort {
		if p.portGUID, err = p.guid("port GUID", strings.TrimSuffix(port, ")")); err != nil {
			return err
		}
	}
	p.guids.set(kind, g, relative)
	p.guidGiven[kind] = true
	return nil
}

// parseHeader opens a node's record: PORTS "id" # "description" and, for a switch, its LID.
func (p *ibnetParser) parseHeader(kind subnet.NodeKind, rest string) error {
	count, rest, ok := strings.Cut(rest, `"`)
	if !ok {
		return p.fail("node", Quoted(strings.TrimSpace(count)), phrase.Of("topofile.want-node-head"))
	}
	ports, err := p.number("number of ports", strings.TrimSpace(count), 1, subnet.MaxPorts)
	if err != nil {
		return err
	}
	base, rest, ok := strings.Cut(rest, `"`)
	if !ok || base == "" || strings.ContainsAny(base, "#@") {
		return p.fail("node id", Quoted(base), phrase.Of("topofile.want-quoted-name"))
	}
	rest = strings.TrimSpace(rest)
	if rest != "" && rest[0] != '#' {
		return p.fail("node", Quoted(rest), phrase.Of("topofile.want-after-id"))
	}
	id := p.fullID(base)
	if at, dup := p.byID[id]; dup {
		return p.fail("node id", Quoted(id), phrase.Of("topofile.want-unique-id", "line", p.records[at].line))
	}
	if p.ports += int(ports) + 1; p.ports > subnet.MaxAllPorts || len(p.records) == subnet.MaxNodes {
		return p.fail("node", Quoted(id), phrase.Of("topofile.want-nodes-max", "nodes", subnet.MaxNodes, "ports", subnet.MaxAllPorts))
	}
	r := record{line: p.line, id: id, node: p.newNode(kind, base, int(ports))}
	r.bare = base != nodeID(&r.node)
	name, tail := splitComment(strings.TrimPrefix(rest, "#"))
	if rest == "" {
		name = id
	}
	r.node.Name = strings.ToValidUTF8(name, "?")
	if kind == subnet.KindSwitch {
		if err := p.parseLID(&r.node.Ports[0], tail); err != nil {
			return err
		}
	}
	p.byID[id] = len(p.records)
	p.records = append(p.records, r)
	return nil
}

// newNode returns a node with the values of the lines before its header. Its GUID comes from its line, else from an id in
// the form of ibnetdiscover, else it is the next generated one.
func (p *ibnetParser) newNode(kind subnet.NodeKind, id string, ports int) subnet.Node {
	n := subnet.Node{Kind: kind, VendorID: p.vendor, DeviceID: p.device, SystemGUID: p.systemGUID, Ports: subnet.NewPorts(ports)}
	given := p.guidGiven[kind]
	n.GUID = p.guids.next[kind]
	if g, ok := guidOfID(kind, id); ok && !given {
		n.GUID, given = g, true
	} else {
		p.guids.take(kind, ports)
	}
	if !given {
		n.SystemGUID = n.GUID
	}
	if kind == subnet.KindSwitch {
		n.Ports[0].GUID = p.portGUID
	}
	p.guidGiven[kind], p.portGUID, p.systemGUID = false, 0, 0
	return n
}

// fullID adds the module's prefix to an id that has none.
func (p *ibnetParser) fullID(base string) string {
	if p.prefix == "" || strings.Contains(base, "#") {
		return base
	}
	return p.prefix + "#" + base
}

// parseLID parses "lid 5" and "lmc 0" in a comment into the port. LID 0 means none.
func (p *ibnetParser) parseLID(port *subnet.Port, comment string) error {
	words := strings.Fields(comment)
	for i := 0; i+1 < len(words); i++ {
		switch words[i] {
		case "lid":
			v, err := p.number("lid", words[i+1], 0, uint64(ident.MaxUnicastLID))
			if err != nil {
				return err
			}
			port.LID = ident.LID(v)
		case "lmc":
			v, err := p.number("lmc", words[i+1], 0, subnet.MaxLMC)
			if err != nil {
				return err
			}
			port.LMC = uint8(v)
		}
	}
	return nil
}

func (p *ibnetParser) number(field, s string, low, high uint64) (uint64, error) {
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil || v < low || v > high {
		return 0, p.fail(field, Quoted(s), phrase.Of("topofile.want-number", "min", low, "max", high))
	}
	return v, nil
}

func (p *ibnetParser) guid(field, s string) (ident.GUID, error) {
	g, err := ident.ParseGUID(s)
	if err != nil {
		return 0, p.fail(field, Quoted(s), phrase.Of("topofile.want-hex"))
	}
	return g, nil
}

// nodeID returns ibnetdiscover's id of a node: S-, H- or R- and the GUID's 16 digits.
func nodeID(n *subnet.Node) string {
	return fmt.Sprintf("%c-%016x", idLetter(n.Kind), uint64(n.GUID))
}

func idLetter(k subnet.NodeKind) byte {
	switch k {
	case subnet.KindSwitch:
		return 'S'
	case subnet.KindRouter:
		return 'R'
	default:
		return 'H'
	}
}

func guidOfID(k subnet.NodeKind, id string) (ident.GUID, bool) {
	if len(id) != 18 || id[0] != idLetter(k) || id[1] != '-' {
		return 0, false
	}
	v, err := strconv.ParseUint(id[2:], 16, 64)
	return ident.GUID(v), err == nil
}

// quoted returns the text between the first two double quotes and the text after them.
func quoted(s string) (text, rest string, ok bool) {
	_, s, ok = strings.Cut(s, `"`)
	if !ok {
		return "", "", false
	}
	return strings.Cut(s, `"`)
}

// splitComment extracts the description from a header's comment: the text between its first and its last double quote
// (a description may contain quotes), or, unquoted, everything up to the words before a switch's LID.
func splitComment(s string) (name, tail string) {
	s = strings.TrimSpace(s)
	if i, j := strings.IndexByte(s, '"'), strings.LastIndexByte(s, '"'); i == 0 && j > 0 {
		return s[1:j], s[j+1:]
	}
	cut := len(s)
	for _, word := range []string{" enhanced port ", " base port ", " lid ", " lmc "} {
		if i := strings.Index(s, word); i >= 0 {
			cut = min(cut, i)
		}
	}
	return strings.TrimSpace(s[:cut]), s[cut:]
}
