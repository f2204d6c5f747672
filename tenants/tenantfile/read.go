package tenantfile

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/hostset"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/yamltree"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Read reads tenants and their flows from r; name is the file's name for messages. Names resolve to channel-adapter
// ports of the fabric. A tenant without attachments is returned without any: tenants.Attach derives them from its
// flows. The result passes tenants.Validate. The error joins up to fifty *ParseError.
func Read(name string, r io.Reader, fabric *subnet.Fabric) ([]tenants.Tenant, []tenants.Flow, error) {
	p := &parser{faults: faults{file: name}, fabric: fabric, fields: map[string]map[string]int{}, written: map[string]string{}}
	root, err := p.document(r, "version", "tenants")
	if err != nil {
		return nil, nil, err
	}
	p.file(root)
	if len(p.errs) == 0 {
		p.validate()
	}
	if err := p.err(); err != nil {
		return nil, nil, err
	}
	return p.tenants, p.flows, nil
}

// ReadFlows reads a file with only a list of flows, each with its tenant's name, for tenants that are already known.
// The errors are those of Read.
func ReadFlows(name string, r io.Reader, fabric *subnet.Fabric, known []tenants.Tenant) ([]tenants.Flow, error) {
	p := &parser{faults: faults{file: name}, fabric: fabric, fields: map[string]map[string]int{}, written: map[string]string{}, tenants: known}
	root, err := p.document(r, "version", "flows")
	if err != nil {
		return nil, err
	}
	m := p.mapping(root, theFile, "version", "groups", "flows")
	p.version(root, m)
	p.groups(m["groups"])
	p.flowList(m["flows"], "")
	if len(p.errs) == 0 {
		p.validate()
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return p.flows, nil
}

// parser walks the nodes itself instead of using yamltree.Decoder: hosts, host sets and groups denote ports of the
// fabric, groups have user-defined names as keys, and faults of the model are mapped to the lines of tenants and flows
// by name.
type parser struct {
	faults
	fabric  *subnet.Fabric
	tenants []tenants.Tenant
	flows   []tenants.Flow
	lines   []int                     // of flows
	fields  map[string]map[string]int // line of each tenant's fields; "" is the tenant itself
	written map[string]string         // the file's text for a port, by the port's identifier
	names   hostset.Names
}

// document reads the only document of a file; keys lists the allowed ones, for the message.
func (p *parser) document(r io.Reader, keys ...string) (*yaml.Node, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.faults.file, err)
	}
	if len(b) > MaxBytes {
		return nil, p.fault(0, theSize, phrase.Of("tenantfile.too-large", "max", "16 MiB"), phrase.Of("want.most", "max", "16 MiB"))
	}
	root, err := yamltree.Only(b)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad):
		return nil, p.fault(bad.Line, theSyntax, quoted(bad.Text), phrase.Of("want.yaml"))
	case errors.As(err, &second):
		return nil, p.fault(second.Line, theDocument, phrase.Of("tenantfile.second-document"), phrase.Of("tenantfile.want-one-document"))
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", p.faults.file, err)
	case root == nil:
		return nil, p.fault(0, theFile, phrase.Of("tenantfile.empty"), phrase.Of("tenantfile.want-mapping", "keys", keys))
	}
	if n := yamltree.FirstAlias(root); n != nil {
		return nil, p.fault(n.Line, theAlias, quoted(n.Value+n.Anchor), phrase.Of("tenantfile.want-written-out"))
	}
	return root, nil
}

// mapping returns the values of a mapping by key and reports unknown and repeated keys.
func (p *parser) mapping(n *yaml.Node, what subject, keys ...string) map[string]*yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		line := 0
		if n != nil {
			line = n.Line
		}
		p.add(line, what, describe(n), phrase.Of("tenantfile.want-mapping", "keys", keys))
		return nil
	}
	out := make(map[string]*yaml.Node, len(keys))
	for e := range yamltree.Entries(n, keys) {
		switch {
		case e.Index < 0:
			p.add(e.Key.Line, what, phrase.Of("tenantfile.has-key", "key", quote(e.Key.Value)), phrase.Of("tenantfile.want-keys", "keys", keys))
		case e.Earlier > 0:
			p.add(e.Key.Line, what, phrase.Of("tenantfile.key-twice", "key", quote(e.Key.Value)), phrase.Of("tenantfile.want-key-once"))
		default:
			out[e.Key.Value] = e.Value
		}
	}
	return out
}

func describe(n *yaml.Node) phrase.Text {
	switch {
	case n == nil:
		return phrase.Of("tenantfile.missing")
	case n.Kind == yaml.MappingNode:
		return phrase.Of("tenantfile.is-mapping")
	case n.Kind == yaml.SequenceNode:
		return phrase.Of("tenantfile.is-list")
	}
	return quoted(n.Value)
}

// list returns the items of a list; a missing list is empty.
func (p *parser) list(n *yaml.Node, what subject) []*yaml.Node {
	if n == nil || yamltree.IsNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.add(n.Line, what, describe(n), wantList)
		return nil
	}
	return n.Content
}

// text returns a scalar's text; if there is none, it reports a fault and returns false.
func (p *parser) text(n *yaml.Node, line int, what subject, allowed phrase.Text) (string, bool) {
	if n == nil {
		p.add(line, what, describe(nil), allowed)
		return "", false
	}
	if n.Kind != yaml.ScalarNode || yamltree.IsNull(n) {
		p.add(n.Line, what, describe(n), allowed)
		return "", false
	}
	return n.Value, true
}

func (p *parser) version(root *yaml.Node, m map[string]*yaml.Node) {
	if m == nil {
		return
	}
	if v, ok := p.text(m["version"], root.Line, "version", wantVersion); ok && v != strconv.Itoa(fileFormat) {
		p.add(m["version"].Line, "version", quoted(v), wantVersion)
	}
}

func (p *parser) file(root *yaml.Node) {
	m := p.mapping(root, theFile, "version", "groups", "tenants", "flows")
	p.version(root, m)
	if m == nil {
		return
	}
	p.groups(m["groups"])
	if m["tenants"] == nil {
		p.add(root.Line, "tenants", describe(nil), phrase.Of("tenantfile.want-tenants"))
	}
	items := p.list(m["tenants"], "tenants")
	if len(items) > tenants.MaxTenants {
		p.add(m["tenants"].Line, "tenants", phrase.Verbatim(strconv.Itoa(len(items))), phrase.Of("want.most", "max", tenants.MaxTenants))
		return
	}
	for _, n := range items {
		p.tenant(n)
	}
	p.flowList(m["flows"], "")
}

func (p *parser) tenant(n *yaml.Node) {
	m := p.mapping(n, theTenant, "name", "weight", "guarantee", "cap", "pkey", "classes", "attachments", "flows")
	if m == nil {
		return
	}
	var t tenants.Tenant
	t.Name, _ = p.text(m["name"], n.Line, "name", wantName)
	if p.fields[t.Name] != nil {
		p.add(n.Line, theTenant, quoted(t.Name), phrase.Of("tenantfile.want-own-name", "line", p.fields[t.Name][""]))
		return
	}
	lines := map[string]int{"": n.Line}
	for k, v := range m {
		lines[k] = v.Line
	}
	p.fields[t.Name] = lines
	t.Weight = p.weight(m["weight"], n.Line, true)
	t.Guarantee = p.rate(m["guarantee"], "guarantee", wantGuarantee)
	t.Cap = p.rate(m["cap"], "cap", wantCap)
	if m["pkey"] != nil {
		if s, ok := p.text(m["pkey"], n.Line, "pkey", wantPKey); ok {
			k, err := ident.ParsePKey(s)
			if err != nil || k == 0 { // to use the default partition, a file omits the key
				p.add(m["pkey"].Line, "pkey", quoted(s), wantPKey)
			}
			t.PKey = k
		}
	}
	for i, c := range p.list(m["classes"], "classes") {
		cm := p.mapping(c, theClass, "name", "weight")
		if cm == nil {
			continue
		}
		name, _ := p.text(cm["name"], c.Line, theClassName, wantName)
		t.Classes = append(t.Classes, tenants.Class{Name: name, Weight: p.weight(cm["weight"], c.Line, false)})
		lines[fmt.Sprintf("classes[%d]", i)] = c.Line
	}
	seen := origins{}
	for _, a := range p.list(m["attachments"], "attachments") {
		p.attachment(&t, seen, a, lines)
	}
	p.tenants = append(p.tenants, t)
	p.flowList(m["flows"], t.Name)
}

// weight reads a weight; if it is absent, that is a fault when required, and otherwise the weight is one.
func (p *parser) weight(n *yaml.Node, line int, required bool) quantity.Weight {
	if n == nil && !required {
		return quantity.WeightOne
	}
	s, ok := p.text(n, line, "weight", wantWeight)
	if !ok {
		return quantity.WeightOne
	}
	w, err := quantity.ParseWeight(s)
	if err != nil {
		p.add(n.Line, "weight", quoted(s), wantWeight)
		return quantity.WeightOne
	}
	return w
}

// attachment reads ports, or a mapping of ports and their pinned SL.
func (p *parser) attachment(t *tenants.Tenant, seen origins, n *yaml.Node, lines map[string]int) {
	port, what := n, theAttachment
	var sl *ident.SL
	if n.Kind == yaml.MappingNode {
		m := p.mapping(n, theAttachment, "port", "sl")
		port, what = m["port"], theAttachmentPort
		sl = p.pinned(m["sl"])
	}
	s := p.ports(port, n.Line, what)
	if s == nil || !p.apart(seen, s, n, what) {
		return
	}
	if len(t.Attachments)+len(s.ports) > tenants.MaxAttachments {
		p.add(n.Line, "attachments", phrase.Ports.Of(len(t.Attachments)+len(s.ports)), phrase.Of("want.most", "max", tenants.MaxAttachments))
		return
	}
	for _, id := range s.ports {
		lines[fmt.Sprintf("attachments[%d]", len(t.Attachments))] = n.Line
		t.Attachments = append(t.Attachments, tenants.Attachment{Port: id, SL: sl})
	}
}

// pinned reads a service level; nil lets the compiler choose.
func (p *parser) pinned(n *yaml.Node) *ident.SL {
	if n == nil {
		return nil
	}
	s, ok := p.text(n, n.Line, "sl", wantSL)
	if !ok {
		return nil
	}
	v, err := strconv.ParseUint(s, 10, 8)
	if err != nil || v >= ident.NumSLs {
		p.add(n.Line, "sl", quoted(s), wantSL)
		return nil
	}
	return new(ident.SL(v))
}
