package topofile

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// WriteYAML writes the fabric in Fairlane's own format, without loss: reading the text gives an equal fabric. The same
// fabric gives the same bytes.
func WriteYAML(w io.Writer, f *subnet.Fabric) error {
	y := yamlWriter{bufio.NewWriterSize(w, 64<<10), f}
	fmt.Fprintf(y, "version: %d\nname: %s\nnodes:\n", yamlVersion, quote(f.Name))
	for i := range f.Nodes {
		y.node(&f.Nodes[i])
	}
	if len(f.Nodes) == 0 {
		fmt.Fprintf(y, "  []\n")
	}
	if len(f.Links) > 0 {
		fmt.Fprintf(y, "links:\n")
	}
	for i := range f.Links {
		y.link(&f.Links[i])
	}
	y.lids()
	y.lfts()
	if err := y.Flush(); err != nil {
		return fmt.Errorf("write fabric %s: %w", f.Name, err)
	}
	return nil
}

type yamlWriter struct {
	*bufio.Writer
	f *subnet.Fabric
}

func (y yamlWriter) node(n *subnet.Node) {
	sep := "  - "
	put := func(key, value string) {
		fmt.Fprintf(y, "%s%s: %s\n", sep, key, value)
		sep = "    "
	}
	if n.Name != "" {
		put("name", quote(n.Name))
	}
	put("kind", kindWord(n.Kind))
	put("guid", n.GUID.String())
	if n.SystemGUID != n.GUID {
		put("system_guid", n.SystemGUID.String())
	}
	if n.VendorID != 0 {
		put("vendor_id", fmt.Sprintf("0x%x", n.VendorID))
	}
	if n.DeviceID != 0 {
		put("device_id", fmt.Sprintf("0x%x", n.DeviceID))
	}
	if n.Revision != 0 {
		put("revision", fmt.Sprintf("0x%x", n.Revision))
	}
	if n.Domain != "" {
		put("domain", quote(n.Domain))
	}
	put("ports", fmt.Sprint(len(n.Ports)-1))
	y.nodePorts(n, put)
}

// nodePorts writes the settings of most ports, then the ports that differ.
func (y yamlWriter) nodePorts(n *subnet.Node, put func(key, value string)) {
	ports := n.Ports[firstPort(n):]
	mtu := mostCommon(ports, func(p *subnet.Port) uint16 { return p.MTU })
	vls := mostCommon(ports, func(p *subnet.Port) uint8 { return p.VLCap })
	state := mostCommon(ports, func(p *subnet.Port) subnet.PortState { return p.State })
	if mtu != 0 {
		put("mtu", fmt.Sprint(mtu))
	}
	if vls != 0 {
		put("vls", fmt.Sprint(vls))
	}
	if state != 0 {
		put("state", state.String())
	}
	def := subnet.Node{GUID: n.GUID, Kind: n.Kind, Ports: make([]subnet.Port, len(n.Ports))}
	fillPortGUIDs(&def)
	first := true
	for i := firstPort(n); i < len(n.Ports); i++ {
		p := &n.Ports[i]
		var own []string
		if p.GUID != def.Ports[i].GUID {
			own = append(own, "guid: "+p.GUID.String())
		}
		if p.MTU != mtu {
			own = append(own, fmt.Sprintf("mtu: %d", p.MTU))
		}
		if p.VLCap != vls {
			own = append(own, fmt.Sprintf("vls: %d", p.VLCap))
		}
		if p.State != state {
			own = append(own, "state: "+p.State.String())
		}
		if len(own) == 0 {
			continue
		}
		if first {
			fmt.Fprintf(y, "    port:\n")
			first = false
		}
		fmt.Fprintf(y, "      %d: {%s}\n", i, strings.Join(own, ", "))
	}
}

// mostCommon returns the value of most ports, the first in a tie.
func mostCommon[T comparable](ports []subnet.Port, get func(*subnet.Port) T) T {
	counts := make(map[T]int)
	var best T
	for i := range ports {
		counts[get(&ports[i])]++
	}
	for i := range ports {
		if v := get(&ports[i]); counts[v] > counts[best] {
			best = v
		}
	}
	return best
}

func (y yamlWriter) link(l *subnet.Link) {
	fmt.Fprintf(y, "  - {a: %s, b: %s", quote(y.ref(l.A)), quote(y.ref(l.B)))
	w, s, _ := subnet.WidthSpeedFor(l.Rate)
	if l.Rate == 0 || w != l.Width || s != l.Speed {
		fmt.Fprintf(y, ", width: %s, speed: %s", orUnknown(l.Width, l.Width.String()), orUnknown(l.Speed, l.Speed.String()))
	}
	if l.Rate != 0 {
		fmt.Fprintf(y, ", rate: %s", exactRate(l.Rate))
	}
	if l.Delay != 0 {
		fmt.Fprintf(y, ", delay: %s", exactDelay(l.Delay))
	}
	fmt.Fprintf(y, "}\n")
}

func orUnknown[T comparable](v T, text string) string {
	var zero T
	if v == zero {
		return unknownWord
	}
	return text
}

// exactRate formats a rate with a unit where that is exact, else in bit/s.
func exactRate(r quantity.BitRate) string {
	if v, err := quantity.ParseBitRate(r.String()); err == nil && v == r {
		return r.String()
	}
	return fmt.Sprintf("%d bit/s", int64(r))
}

func exactDelay(p quantity.Picoseconds) string {
	if v, err := quantity.ParsePicoseconds(p.String()); err == nil && v == p {
		return p.String()
	}
	return fmt.Sprintf("%d ps", int64(p))
}

func (y yamlWriter) lids() {
	first := true
	for i := range y.f.Nodes {
		for p := range y.f.Nodes[i].Ports {
			port := &y.f.Nodes[i].Ports[p]
			if port.LID == 0 {
				continue
			}
			if first {
				fmt.Fprintf(y, "lids:\n")
				first = false
			}
			fmt.Fprintf(y, "  - {port: %s, lid: %d", quote(y.ref(subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)})), port.LID)
			if port.LMC != 0 {
				fmt.Fprintf(y, ", lmc: %d", port.LMC)
			}
			fmt.Fprintf(y, "}\n")
		}
	}
}

func (y yamlWriter) lfts() {
	first := true
	for i, row := range y.f.LFTs {
		if row == nil {
			continue
		}
		if first {
			fmt.Fprintf(y, "lfts:\n")
			first = false
		}
		fmt.Fprintf(y, "  - switch: %s\n    routes:\n", quote(y.nodeRef(int32(i))))
		for _, line := range routeLines(row) {
			fmt.Fprintf(y, "      - %s\n", quote(line))
		}
	}
}

func (y yamlWriter) ref(r subnet.PortRef) string {
	return fmt.Sprintf("%s:%d", y.nodeRef(r.Node), r.Port)
}

// nodeRef returns a reference that the reader's nodeRef resolves to the node: its name when that is unique and not taken
// as a GUID, else its GUID.
func (y yamlWriter) nodeRef(i int32) string {
	n := &y.f.Nodes[i]
	if n.Name == "" || isGUIDRef(n.Name) || len(y.f.NodesByName(n.Name)) != 1 {
		return n.GUID.String()
	}
	return n.Name
}

// quote formats a text as a YAML scalar: plain when every YAML reader reads it as that text, else in double quotes
// with special characters escaped.
func quote(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r > 0xffff && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plain reports whether a text needs no quotes: it starts with a letter, has only harmless characters, and is not a
// reserved word of YAML.
func plain(s string) bool {
	if s == "" || !(s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z') {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '-' || c == '_' || c == '.' || c == '/' || c == ':' && i+1 < len(s)) {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		return false
	}
	return true
}
