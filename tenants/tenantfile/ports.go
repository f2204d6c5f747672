package tenantfile

import (
	"cmp"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// maxUnknown is the maximum number of a set's unknown names in an error.
const maxUnknown = 5

// groups reads the named host sets of the file.
func (p *parser) groups(n *yaml.Node) {
	if n == nil || yamltree.IsNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		p.add(n.Line, "groups", describe(n), phrase.Of("tenantfile.want-groups"))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		p.group(n.Content[i], n.Content[i+1])
	}
}

func (p *parser) group(key, n *yaml.Node) {
	what := subject("groups." + key.Value)
	if p.fabric != nil && len(p.fabric.NodesByName(key.Value)) > 0 {
		p.add(key.Line, "groups", quoted(key.Value), phrase.Of("tenantfile.want-no-host"))
		return
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	var members []string
	for _, item := range items {
		s, ok := p.text(item, item.Line, what, wantGroup)
		if !ok || p.members(item, s, what) == nil {
			return
		}
		members = append(members, s)
	}
	if err := p.names.Define(key.Value, members); err != nil {
		p.add(key.Line, what, phrase.OfError(err), phrase.Text{})
	}
}

// set is the ports denoted by one text of the file.
type set struct {
	text  string
	ports []ident.PortID
	many  bool // a host set or a group, not the name of one host
}

// ports resolves a text to channel-adapter ports: a name, a host set or a group. It returns nil and reports a fault on
// failure.
func (p *parser) ports(n *yaml.Node, line int, what subject) *set {
	s, ok := p.text(n, line, what, wantPort)
	if !ok {
		return nil
	}
	return p.members(n, s, what)
}

func (p *parser) members(n *yaml.Node, text string, what subject) *set {
	if len(p.errs) >= maxErrors {
		return nil // no more faults are reported, and searching similar names takes time
	}
	names := []string{text}
	if p.fabric == nil || len(p.fabric.NodesByName(text)) == 0 { // a host name may contain any characters, including brackets
		var err error
		if names, err = p.names.Expand(text); err != nil {
			p.add(n.Line, what, phrase.OfError(err), phrase.Text{})
			return nil
		}
	}
	out := &set{text, make([]ident.PortID, 0, len(names)), len(names) > 1 || names[0] != text}
	var unknown []string
	var want phrase.Text
	for _, name := range names {
		id, allowed := p.port(name)
		switch {
		case allowed.ID == "":
			out.ports = append(out.ports, id)
		case len(unknown) == 0:
			unknown, want = append(unknown, name), allowed
		default:
			unknown = append(unknown, name)
		}
		if len(unknown) > maxUnknown {
			break
		}
	}
	if len(unknown) == 0 {
		return out
	}
	found := quoted(text)
	if out.many {
		found = phrase.Of("tenantfile.has", "set", quote(text), "names", list(unknown))
	} else if groups := p.names.Groups(); len(groups) > 0 {
		want = phrase.Of("tenantfile.or-group", "want", want, "groups", list(groups))
	}
	p.add(n.Line, what, found, want)
	return nil
}

// list quotes the first names of a list.
func list(names []string) []string {
	var out []string
	for _, name := range names[:min(len(names), maxUnknown)] {
		out = append(out, quote(name))
	}
	if len(names) > maxUnknown {
		out = append(out, "...")
	}
	return out
}

// port resolves one name, or returns the allowed values.
func (p *parser) port(name string) (id ident.PortID, allowed phrase.Text) {
	if p.fabric == nil {
		id, err := ident.ParsePortID(name)
		if err != nil {
			return id, phrase.Of("tenantfile.want-guid-port")
		}
		return id, allowed
	}
	ref, err := p.fabric.ResolvePort(name)
	switch {
	case err != nil:
		return id, phrase.Of("joined", "first", wantPort, "second", err)
	case p.fabric.Nodes[ref.Node].Kind != subnet.KindCA:
		return id, phrase.Of("tenantfile.want-adapter-port")
	}
	id = p.fabric.PortID(ref)
	p.written[id.String()] = name
	return id, allowed
}

// portList resolves one text or a list of texts. It is a fault if a host set or group contains a port that another text
// of the list also contains.
func (p *parser) portList(n *yaml.Node, line int, what subject) []ident.PortID {
	if n == nil || n.Kind != yaml.SequenceNode {
		if s := p.ports(n, line, what); s != nil {
			return s.ports
		}
		return nil
	}
	if len(n.Content) == 0 || len(n.Content) > maxPorts {
		p.add(n.Line, what, phrase.Ports.Of(len(n.Content)), phrase.Of("tenantfile.want-ports", "max", maxPorts))
		return nil
	}
	var out []ident.PortID
	seen := origins{}
	for _, c := range n.Content {
		if s := p.ports(c, n.Line, what); s != nil && p.apart(seen, s, c, what) {
			out = append(out, s.ports...)
		}
	}
	return out
}

// origins maps ports to the sets that contain them.
type origins map[ident.PortID]*set

// apart records the ports of a set. It reports a fault if an earlier text contains one of them and either of the two is
// a set.
func (p *parser) apart(seen origins, s *set, n *yaml.Node, what subject) bool {
	for _, id := range s.ports {
		if other := seen[id]; other != nil && (other.many || s.many) {
			p.add(n.Line, what, phrase.Of("tenantfile.both-have", "first", quote(other.text), "second", quote(s.text), "host", quote(cmp.Or(p.written[id.String()], id.String()))),
				phrase.Of("tenantfile.want-host-once"))
			return false
		}
		seen[id] = s
	}
	return true
}
