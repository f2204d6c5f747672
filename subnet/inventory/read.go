package inventory

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/yamltree"
	"fairlane/subnet/topofile"
)

// Read reads an inventory. name is the file's, for messages. A fault in the file is a *topofile.ParseError that names
// its line; the first one ends the reading.
func Read(name string, r io.Reader) (*Inventory, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(b) > MaxSize {
		return nil, fault(name, 0, "size", "", fmt.Sprintf("at most %d MiB", MaxSize>>20))
	}
	root, err := document(name, b)
	if err != nil {
		return nil, err
	}
	p := parser{name: name}
	v := p.file(root)
	if p.err != nil {
		return nil, p.err
	}
	return v, nil
}

func document(name string, b []byte) (*yaml.Node, error) {
	root, err := yamltree.Only(b)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad):
		return nil, fault(name, bad.Line, "syntax", bad.Text, "valid YAML")
	case errors.As(err, &second):
		return nil, fault(name, second.Line, "document", "a second one", "one document in a file")
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case root == nil:
		return nil, fault(name, 0, "file", "nothing", "a mapping with the keys "+strings.Join(rootKeys(), ", "))
	}
	if n := yamltree.FirstAlias(root); n != nil {
		return nil, fault(name, n.Line, "anchor or alias", n.Value+n.Anchor, "values written out")
	}
	return root, nil
}

func fault(file string, line int, field, found, allowed string) error {
	return &topofile.ParseError{File: file, Line: line, Field: field, Found: clip(found), Allowed: allowed}
}

// clip bounds what a message repeats of a file.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Keys of the mappings, in the order of the documentation.
func rootKeys() []string {
	return []string{"version", "fabric", "tls", "insecure", "agents", "switches", "protocol", "devices"}
}
func tlsKeys() []string { return []string{"ca", "certificate", "key", "server_name"} }
func deviceKeys() []string {
	return []string{"node", "address", "protocol", "target", "device_id", "hostname"}
}

// parser notes the first fault and goes on with what it has.
type parser struct {
	name string
	err  error
}

func (p *parser) fail(line int, field, found, allowed string) {
	if p.err == nil {
		p.err = fault(p.name, line, field, found, allowed)
	}
}

func (p *parser) file(root *yaml.Node) *Inventory {
	v := &Inventory{Protocol: SONiC}
	m := p.mapping(root, "file", rootKeys())
	if version := p.required(m, root, "version", "1"); version != "1" {
		p.fail(line(m["version"], root), "version", version, "1")
	}
	v.Fabric = p.required(m, root, "fabric", "the path of the fabric file")
	insecure := p.flag(m["insecure"], "insecure")
	switch {
	case m["tls"] != nil && insecure:
		p.fail(m["insecure"].Line, "insecure", "true", "false, or no tls")
	case m["tls"] != nil:
		v.TLS = p.tls(m["tls"])
	case !insecure:
		p.fail(root.Line, "tls", "nothing", "ca, and certificate with key where devices ask for one; or insecure: true when all devices are on this machine")
	}
	v.Agents = p.address(m["agents"], "agents", insecure)
	v.Switches = p.address(m["switches"], "switches", insecure)
	if m["protocol"] != nil {
		v.Protocol = p.protocol(m["protocol"], switchProtocols())
	}
	v.Devices = p.devices(m["devices"], insecure)
	return v
}

func (p *parser) tls(n *yaml.Node) *TLS {
	m := p.mapping(n, "tls", tlsKeys())
	t := &TLS{
		CA: p.required(m, n, "ca", "the path of a file with certificates"), Certificate: p.text(m["certificate"], "certificate"),
		Key: p.text(m["key"], "key"), ServerName: p.text(m["server_name"], "server_name"),
	}
	if (t.Certificate == "") != (t.Key == "") {
		p.fail(n.Line, "tls", "one of certificate and key", "both or none")
	}
	return t
}

func (p *parser) devices(n *yaml.Node, insecure bool) []Device {
	if n == nil || yamltree.IsNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > MaxDevices {
		p.fail(n.Line, "devices", describe(n), fmt.Sprintf("a list of at most %d devices", MaxDevices))
		return nil
	}
	out := make([]Device, 0, len(n.Content))
	for _, c := range n.Content {
		m := p.mapping(c, "device", deviceKeys())
		d := Device{line: c.Line, Node: p.required(m, c, "node", "the name or node GUID of a node"), Target: p.text(m["target"], "target"), Hostname: p.text(m["hostname"], "hostname")}
		d.Address = p.address(m["address"], "address", insecure)
		if m["address"] == nil {
			p.fail(c.Line, "address", "nothing", addressRule)
		}
		if m["protocol"] != nil {
			d.Protocol = p.protocol(m["protocol"], append([]Protocol{Agent}, switchProtocols()...))
		}
		if id := m["device_id"]; id != nil {
			num, err := strconv.ParseUint(p.text(id, "device_id"), 0, 64)
			if err != nil || num == 0 {
				p.fail(id.Line, "device_id", id.Value, "1 to 18446744073709551615")
			}
			d.DeviceID = num
		}
		if p.err != nil {
			return nil
		}
		out = append(out, d)
	}
	return out
}

// mapping returns the values of a mapping by key.
func (p *parser) mapping(n *yaml.Node, what string, keys []string) map[string]*yaml.Node {
	out := make(map[string]*yaml.Node, len(keys))
	if n.Kind != yaml.MappingNode {
		p.fail(n.Line, what, describe(n), "a mapping with the keys "+strings.Join(keys, ", "))
		return out
	}
	for e := range yamltree.Entries(n, keys) {
		switch {
		case e.Index < 0:
			p.fail(e.Key.Line, what, describe(e.Key), "only the keys "+strings.Join(keys, ", "))
		case e.Earlier > 0:
			p.fail(e.Key.Line, what, describe(e.Key)+" twice", "each key once")
		default:
			out[e.Key.Value] = e.Value
		}
	}
	return out
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return fmt.Sprintf("a list of %d", len(n.Content))
	}
	return n.Value
}

// line is that of a value, or of what should have had it.
func line(n, around *yaml.Node) int {
	if n == nil {
		return around.Line
	}
	return n.Line
}

func (p *parser) required(m map[string]*yaml.Node, around *yaml.Node, key, allowed string) string {
	n := m[key]
	if n == nil || yamltree.IsNull(n) || n.Kind == yaml.ScalarNode && n.Value == "" {
		p.fail(line(n, around), key, "nothing", allowed)
		return ""
	}
	return p.text(n, key)
}

// text returns a scalar's text; a value that is left out is "".
func (p *parser) text(n *yaml.Node, field string) string {
	switch {
	case n == nil || yamltree.IsNull(n):
		return ""
	case n.Kind != yaml.ScalarNode:
		p.fail(n.Line, field, describe(n), "a text")
	case len(n.Value) > MaxText || strings.ContainsFunc(n.Value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		p.fail(n.Line, field, n.Value, fmt.Sprintf("at most %d bytes without control characters", MaxText))
	default:
		return n.Value
	}
	return ""
}

func (p *parser) flag(n *yaml.Node, field string) bool {
	if n == nil {
		return false
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" && (n.Value == "true" || n.Value == "false") {
		return n.Value == "true"
	}
	p.fail(n.Line, field, describe(n), "true or false")
	return false
}

func (p *parser) protocol(n *yaml.Node, allowed []Protocol) Protocol {
	got := Protocol(p.text(n, "protocol"))
	if !slices.Contains(allowed, got) {
		p.fail(n.Line, "protocol", describe(n), list(allowed))
	}
	return got
}

const addressRule = "host:port, such as 10.0.0.7:9339 or [2001:db8::7]:9339"

func (p *parser) address(n *yaml.Node, field string, insecure bool) string {
	s := p.text(n, field)
	if s == "" {
		if n != nil {
			p.fail(n.Line, field, describe(n), addressRule)
		}
		return ""
	}
	host, ok := hostOf(s)
	if !ok {
		p.fail(n.Line, field, s, addressRule)
		return ""
	}
	if insecure && !loopback(host) {
		p.fail(n.Line, field, s, "a loopback address: others need tls in place of insecure")
	}
	return s
}

// hostOf takes the host out of host:port; false when there is no host or no port from 1 to 65535.
func hostOf(s string) (string, bool) {
	at := strings.LastIndexByte(s, ':')
	if at < 1 {
		return "", false
	}
	host := s[:at]
	if num, err := strconv.ParseUint(s[at+1:], 10, 16); err != nil || num == 0 {
		return "", false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return inner, ok && err == nil && ip.Is6()
	}
	return host, !strings.ContainsAny(host, ":/[] ")
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
