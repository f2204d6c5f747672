package topofile

import (
	"fmt"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Default of links in a hand-written file: 4x SDR, as in ibsim, as masks of the codes of LinkWidthEnabled and
// LinkSpeedEnabled.
const (
	defaultWidths = 2
	defaultSpeeds = 1
)

// end is one port line.
type end struct {
	line       int
	port       ident.PortNum
	remote     string // node id, or, with byAlias, an alias
	byAlias    bool
	remotePort int
	remoteGUID ident.GUID

	// The link as in the line's comment or, without one, the masks of what is enabled.
	reported       bool
	width          subnet.Width
	speed          subnet.Speed
	widths, speeds uint8
}

// parsePort parses a port line:
//
//	[1](guid) "remote"[2](guid) w=4 s=1  # lid 5 lmc 0 "description" lid 4 4xEDR
//
// ibnetdiscover omits the options and a switch's GUIDs and LID; hand-written files omit nearly everything. A line that
// declares an alias has the alias's name in place of the remote.
func (p *ibnetParser) parsePort(s string, isAlias bool) error {
	if len(p.records) == 0 {
		return p.fail("port", Quoted(s), phrase.Of("topofile.want-node-first"))
	}
	r := &p.records[len(p.records)-1]
	body, comment := stripComment(s)
	num, body, ok := strings.Cut(body[1:], "]")
	if !ok {
		return p.fail("port", Quoted(s), phrase.Of("topofile.want-port-line"))
	}
	v, err := p.number("port number", num, 1, uint64(len(r.node.Ports)-1))
	if err != nil {
		return err
	}
	e := end{line: p.line, port: ident.PortNum(v), remotePort: 1, widths: p.widths, speeds: p.speeds}
	port := &r.node.Ports[e.port]
	if bit := uint64(1) << (v % 64); r.taken[v/64]&bit == 0 {
		r.taken[v/64] |= bit
	} else {
		return p.fail("port number", Quoted(num), phrase.Of("topofile.want-line-per-port"))
	}
	if body, err = p.parseParens(body, &port.GUID); err != nil {
		return err
	}
	e.remote, body, ok = quoted(body)
	if !ok || e.remote == "" {
		return p.fail("remote node", Quoted(s), phrase.Of("topofile.want-remote"))
	}
	if err := p.parseRemote(&e, body); err != nil {
		return err
	}
	if err := p.parseLinkComment(r, port, &e, comment); err != nil {
		return err
	}
	if isAlias {
		return p.addAlias(e)
	}
	e.byAlias = strings.Contains(e.remote, "@")
	switch {
	case strings.HasPrefix(e.remote, "@"):
		e.remote = p.prefix + e.remote
	case !e.byAlias:
		e.remote = p.fullID(e.remote)
	}
	r.ends = append(r.ends, e)
	return nil
}

// stripComment splits a port line at the first # outside of the remote's quotes.
func stripComment(s string) (body, comment string) {
	in := false
	for i := range len(s) {
		switch s[i] {
		case '"':
			in = !in
		case '#':
			if !in {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// parseParens parses any of "[ext 5]" and "(guid)" at the start of s.
func (p *ibnetParser) parseParens(s string, g *ident.GUID) (rest string, err error) {
	for {
		s = strings.TrimSpace(s)
		switch {
		case strings.HasPrefix(s, "[ext "):
			_, after, ok := strings.Cut(s, "]")
			if !ok {
				return "", p.fail("port", Quoted(s), phrase.Of("topofile.want-ext"))
			}
			s = after
		case strings.HasPrefix(s, "("):
			text, after, ok := strings.Cut(s[1:], ")")
			if !ok {
				return "", p.fail("port GUID", Quoted(s), phrase.Of("topofile.want-paren"))
			}
			if *g, err = p.guid("port GUID", text); err != nil {
				return "", err
			}
			s = after
		default:
			return s, nil
		}
	}
}

// parseRemote parses the text after the remote's id: its port, GUID and the link's options.
func (p *ibnetParser) parseRemote(e *end, s string) (err error) {
	if s = strings.TrimSpace(s); strings.HasPrefix(s, "[") && !strings.HasPrefix(s, "[ext ") {
		num, rest, ok := strings.Cut(s[1:], "]")
		if !ok {
			return p.fail("remote port", Quoted(s), phrase.Of("topofile.want-bracket-port"))
		}
		v, err := p.number("remote port", strings.TrimSpace(num), 1, subnet.MaxPorts)
		if err != nil {
			return err
		}
		e.remotePort, s = int(v), rest
	}
	if s, err = p.parseParens(s, &e.remoteGUID); err != nil {
		return err
	}
	for _, word := range strings.Fields(s) {
		name, value, ok := strings.Cut(word, "=")
		var v uint64
		switch {
		case ok && name == "w":
			v, err = p.number("w (enabled widths)", value, 1, 15)
			e.widths = uint8(v)
		case ok && name == "s":
			v, err = p.number("s (enabled speeds)", value, 1, 7)
			e.speeds = uint8(v)
		default:
			return p.fail("link option", Quoted(word), phrase.Of("topofile.want-options"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseLinkComment parses a port line's comment in the form of ibnetdiscover: the LID and LMC of a channel adapter's port
// before the peer's description; after it the peer's LID, width and speed, and with ibnetdiscover -f the VL code.
func (p *ibnetParser) parseLinkComment(r *record, port *subnet.Port, e *end, comment string) error {
	before, after := comment, ""
	if i, j := strings.IndexByte(comment, '"'), strings.LastIndexByte(comment, '"'); i >= 0 && j > i {
		before, after = comment[:i], comment[j+1:]
	}
	if r.node.Kind != subnet.KindSwitch {
		if err := p.parseLID(port, before); err != nil {
			return err
		}
	}
	words := strings.Fields(after)
	if len(words) < 2 || words[0] != "lid" {
		return nil
	}
	if _, err := p.number("remote lid", words[1], 0, 0xffff); err != nil {
		return err
	}
	if len(words) < 3 {
		return nil
	}
	w, s, err := subnet.ParseWidthSpeed(words[2])
	if err != nil {
		return p.fail("link width and speed", Quoted(words[2]), phrase.Of("topofile.want-width-speed"))
	}
	e.reported, e.width, e.speed = true, w, s
	for _, word := range words[3:] {
		if value, ok := strings.CutPrefix(word, "v="); ok {
			v, err := p.number("v (VL code)", value, 0, 5)
			if err != nil {
				return err
			}
			port.VLCap = [6]uint8{0, 1, 2, 4, 8, 15}[v]
		}
	}
	return nil
}

func (p *ibnetParser) addAlias(e end) error {
	name := p.prefix + "@" + e.remote
	if strings.ContainsAny(e.remote, "#@") {
		return p.fail("alias", Quoted(e.remote), phrase.Of("topofile.want-name"))
	}
	if _, dup := p.aliases[name]; dup {
		return p.fail("alias", Quoted(name), phrase.Of("topofile.want-unique-aliases"))
	}
	p.aliases[name] = alias{len(p.records) - 1, e.port}
	return nil
}

// join builds the nodes and links of all records.
func (p *ibnetParser) join() (*subnet.Fabric, error) {
	nodes, nodeLines := make([]subnet.Node, len(p.records)), make([]int, len(p.records))
	var links []subnet.Link
	var linkLines []int
	peers := p.peers()
	for i := range p.records {
		r := &p.records[i]
		for j := range r.ends {
			e := &r.ends[j]
			p.line = e.line
			l, again, err := p.link(int32(i), e, peers)
			if err != nil {
				return nil, err
			}
			if !again {
				links, linkLines = append(links, l), append(linkLines, e.line)
			}
		}
	}
	for i := range p.records {
		r := &p.records[i]
		if r.bare && !hasPortGUID(&r.node) {
			fillPortGUIDs(&r.node)
		}
		nodes[i], nodeLines[i] = r.node, r.line
	}
	return build(p.file, fabricName(p.file), nodes, nodeLines, links, linkLines)
}

// peers indexes the port lines by their ports.
func (p *ibnetParser) peers() map[subnet.PortRef]*end {
	m := make(map[subnet.PortRef]*end)
	for i := range p.records {
		for j := range p.records[i].ends {
			e := &p.records[i].ends[j]
			m[subnet.PortRef{Node: int32(i), Port: e.port}] = e
		}
	}
	return m
}

// link returns the link of one port line; again is true for the line of its other end, which comes later in the file
// and only has to agree.
func (p *ibnetParser) link(node int32, e *end, peers map[subnet.PortRef]*end) (l subnet.Link, again bool, err error) {
	here := subnet.PortRef{Node: node, Port: e.port}
	there, err := p.remoteOf(e)
	if err != nil {
		return l, false, err
	}
	remote := &p.records[there.Node]
	back, ok := peers[there]
	switch {
	case e.byAlias && !ok:
		back = e // an alias's owner has no port line of its own
	case !ok:
		return l, false, p.fail("link", Quoted(p.linkText(here, there)), phrase.Of("topofile.want-link-in-record", "node", strconv.Quote(remote.id), "line", remote.line))
	default:
		if other, err := p.remoteOf(back); err != nil || other != here {
			return l, false, p.fail("link", Quoted(p.linkText(here, there)), phrase.Of("topofile.want-same-link", "line", back.line, "remote", strconv.Quote(back.remote), "port", back.remotePort))
		}
	}
	port := &remote.node.Ports[there.Port]
	if e.remoteGUID != 0 && remote.node.Kind != subnet.KindSwitch {
		if port.GUID == 0 {
			port.GUID = e.remoteGUID
		} else if port.GUID != e.remoteGUID {
			return l, false, p.fail("port GUID of the remote", Quoted(e.remoteGUID.String()), phrase.Of("topofile.want-own-guid", "guid", port.GUID.String()))
		}
	}
	l = subnet.Link{A: here, B: there}
	if l.Width, l.Speed, err = p.widthSpeed(e, back); err != nil {
		return l, false, err
	}
	again = back != e && (there.Node < here.Node || there.Node == here.Node && there.Port < here.Port)
	return l, again, nil
}

func (p *ibnetParser) linkText(a, b subnet.PortRef) string {
	return fmt.Sprintf("%s[%d] - %s[%d]", p.records[a.Node].id, a.Port, p.records[b.Node].id, b.Port)
}

// remoteOf returns the port that a port line leads to.
func (p *ibnetParser) remoteOf(e *end) (subnet.PortRef, error) {
	if e.byAlias {
		a, ok := p.aliases[e.remote]
		if !ok {
			return subnet.PortRef{}, p.fail("remote alias", Quoted(e.remote), phrase.Of("topofile.want-alias"))
		}
		return subnet.PortRef{Node: int32(a.record), Port: a.port}, nil
	}
	i, ok := p.byID[e.remote]
	if !ok {
		return subnet.PortRef{}, p.fail("remote node", Quoted(e.remote), phrase.Of("topofile.want-known-id"))
	}
	if high := len(p.records[i].node.Ports) - 1; e.remotePort > high {
		return subnet.PortRef{}, p.fail("remote port", Quoted(fmt.Sprint(e.remotePort)), phrase.Of("topofile.want-ports-of", "max", high, "node", strconv.Quote(e.remote)))
	}
	return subnet.PortRef{Node: int32(i), Port: ident.PortNum(e.remotePort)}, nil
}

// widthSpeed combines the two lines of a link. A comment takes precedence over the enabled values, of which it
// selects the widest and fastest common one.
func (p *ibnetParser) widthSpeed(a, b *end) (subnet.Width, subnet.Speed, error) {
	if !a.reported && !b.reported {
		w, s := subnet.WidthFromCode(a.widths&b.widths), subnet.SpeedFromCodes(a.speeds&b.speeds, 0)
		if w == 0 || s == 0 {
			return 0, 0, p.fail("link options", Quoted(fmt.Sprintf("w=%d s=%d", a.widths, a.speeds)), phrase.Of("topofile.want-common", "widths", b.widths, "speeds", b.speeds, "line", b.line))
		}
		return w, s, nil
	}
	w, s := a.width, a.speed
	if !a.reported || w == 0 && b.reported {
		w = b.width
	}
	if !a.reported || s == 0 && b.reported {
		s = b.speed
	}
	if b.reported && (b.width != 0 && b.width != w || b.speed != 0 && b.speed != s) {
		return 0, 0, p.fail("link width and speed", Quoted(subnet.FormatWidthSpeed(w, s)), phrase.Of("topofile.want-same-speed", "line", b.line, "speed", subnet.FormatWidthSpeed(b.width, b.speed)))
	}
	return w, s, nil
}

func hasPortGUID(n *subnet.Node) bool {
	for p := range n.Ports {
		if n.Ports[p].GUID != 0 {
			return true
		}
	}
	return false
}
