package tenantfile

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/hostset"
	"fairlane/internal/quantity"
	"fairlane/internal/yamltree"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Read reads tenants and their flows from r; name is the file's, for messages. Ports are resolved on the
// fabric, and must be channel-adapter ports of it. A tenant without attachments comes back with
// none: tenants.Attach derives them from its flows. The result passes tenants.Validate. The error joins
// up to fifty *ParseError.
func Read(name string, r io.Reader, fabric *subnet.Fabric) ([]tenants.Tenant, []tenants.Flow, error) {
	p := &parser{faults: faults{file: name}, fabric: fabric, fields: map[string]map[string]int{}, written: map[string]string{}}
	root, err := p.document(r, "version and tenants")
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

// ReadFlows reads a file that has only a list of flows, each naming its tenant, for tenants that are known
// already. The errors are those of Read.
func ReadFlows(name string, r io.Reader, fabric *subnet.Fabric, known []tenants.Tenant) ([]tenants.Flow, error) {
	p := &parser{faults: faults{file: name}, fabric: fabric, fields: map[string]map[string]int{}, written: map[string]string{}, tenants: known}
	root, err := p.document(r, "version and flows")
	if err != nil {
		return nil, err
	}
	m := p.mapping(root, "file", "version", "groups", "flows")
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

// parser walks the nodes itself rather than by yamltree.Decoder: hosts, host sets and groups stand for ports of the fabric, groups
// have names of their own choice as keys, and faults of the model come back to the lines of tenants and flows by name.
type parser struct {
	faults
	fabric  *subnet.Fabric
	tenants []tenants.Tenant
	flows   []tenants.Flow
	lines   []int                     // of flows
	fields  map[string]map[string]int // line of each tenant's fields; "" is the tenant itself
	written map[string]string         // what the file calls a port, by its identifier
	names   hostset.Names
}

// document reads the one document of a file; keys are those that it wants, for the message.
func (p *parser) document(r io.Reader, keys string) (*yaml.Node, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.faults.file, err)
	}
	if len(b) > MaxBytes {
		return nil, &ParseError{p.faults.file, 0, "size", "over 16 MiB", "at most 16 MiB"}
	}
	root, err := yamltree.Only(b)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad):
		return nil, &ParseError{p.faults.file, bad.Line, "syntax", quote(bad.Text), "valid YAML"}
	case errors.As(err, &second):
		return nil, &ParseError{p.faults.file, second.Line, "document", "a second one", "one document in a file"}
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", p.faults.file, err)
	case root == nil:
		return nil, &ParseError{p.faults.file, 0, "file", "empty", "a mapping with the keys " + keys}
	}
	if n := yamltree.FirstAlias(root); n != nil {
		return nil, &ParseError{p.faults.file, n.Line, "anchor or alias", quote(n.Value + n.Anchor), "values written out"}
	}
	return root, nil
}

// mapping returns the values of a mapping by key and reports unknown and repeated keys.
func (p *parser) mapping(n *yaml.Node, what string, keys ...string) map[string]*yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		line := 0
		if n != nil {
			line = n.Line
		}
		p.add(line, what, describe(n), "a mapping with the keys "+strings.Join(keys, ", "))
		return nil
	}
	out := make(map[string]*yaml.Node, len(keys))
	for e := range yamltree.Entries(n, keys) {
		switch {
		case e.Index < 0:
			p.add(e.Key.Line, what, "has the key "+quote(e.Key.Value), "only "+strings.Join(keys, ", "))
		case e.Earlier > 0:
			p.add(e.Key.Line, what, "has the key "+quote(e.Key.Value)+" twice", "each key once")
		default:
			out[e.Key.Value] = e.Value
		}
	}
	return out
}

func describe(n *yaml.Node) string {
	switch {
	case n == nil:
		return "missing"
	case n.Kind == yaml.MappingNode:
		return "is a mapping"
	case n.Kind == yaml.SequenceNode:
		return "is a list"
	}
	return quote(n.Value)
}

// list returns the items of a list; a missing list is empty.
func (p *parser) list(n *yaml.Node, what string) []*yaml.Node {
	if n == nil || yamltree.IsNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.add(n.Line, what, describe(n), "a list")
		return nil
	}
	return n.Content
}

// text returns a scalar's text; false, with a fault, when there is none.
func (p *parser) text(n *yaml.Node, line int, what, allowed string) (string, bool) {
	if n == nil {
		p.add(line, what, "missing", allowed)
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
	if v, ok := p.text(m["version"], root.Line, "version", "1"); ok && v != strconv.Itoa(fileFormat) {
		p.add(m["version"].Line, "version", quote(v), "1")
	}
}

func (p *parser) file(root *yaml.Node) {
	m := p.mapping(root, "file", "version", "groups", "tenants", "flows")
	p.version(root, m)
	if m == nil {
		return
	}
	p.groups(m["groups"])
	if m["tenants"] == nil {
		p.add(root.Line, "tenants", "missing", "a list of tenants")
	}
	items := p.list(m["tenants"], "tenants")
	if len(items) > tenants.MaxTenants {
		p.add(m["tenants"].Line, "tenants", strconv.Itoa(len(items)), fmt.Sprintf("at most %d", tenants.MaxTenants))
		return
	}
	for _, n := range items {
		p.tenant(n)
	}
	p.flowList(m["flows"], "")
}

func (p *parser) tenant(n *yaml.Node) {
	m := p.mapping(n, "tenant", "name", "weight", "guarantee", "cap", "pkey", "classes", "attachments", "flows")
	if m == nil {
		return
	}
	var t tenants.Tenant
	t.Name, _ = p.text(m["name"], n.Line, "name", "a name of a-z, 0-9 and -")
	if p.fields[t.Name] != nil {
		p.add(n.Line, "tenant", quote(t.Name), fmt.Sprintf("a name that no other tenant has; line %d has it", p.fields[t.Name][""]))
		return
	}
	lines := map[string]int{"": n.Line}
	for k, v := range m {
		lines[k] = v.Line
	}
	p.fields[t.Name] = lines
	t.Weight = p.weight(m["weight"], n.Line, true)
	t.Guarantee = p.rate(m["guarantee"], "guarantee", "none")
	t.Cap = p.rate(m["cap"], "cap", "no bound")
	if m["pkey"] != nil {
		if s, ok := p.text(m["pkey"], n.Line, "pkey", "0x0001 to 0xffff"); ok {
			k, err := ident.ParsePKey(s)
			if err != nil || k == 0 { // a file without the key says so by leaving it out
				p.add(m["pkey"].Line, "pkey", quote(s), "0x0001 to 0xffff")
			}
			t.PKey = k
		}
	}
	for i, c := range p.list(m["classes"], "classes") {
		cm := p.mapping(c, "class", "name", "weight")
		if cm == nil {
			continue
		}
		name, _ := p.text(cm["name"], c.Line, "class name", "a name of a-z, 0-9 and -")
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

// weight reads a weight; a missing one is a fault when required, otherwise one.
func (p *parser) weight(n *yaml.Node, line int, required bool) quantity.Weight {
	const allowed = "a number from 0.001 to 1000000 with at most three decimals"
	if n == nil && !required {
		return quantity.WeightOne
	}
	s, ok := p.text(n, line, "weight", allowed)
	if !ok {
		return quantity.WeightOne
	}
	w, err := quantity.ParseWeight(s)
	if err != nil {
		p.add(n.Line, "weight", quote(s), allowed)
		return quantity.WeightOne
	}
	return w
}

// attachment reads ports, or a mapping of ports and their pinned SL.
func (p *parser) attachment(t *tenants.Tenant, seen origins, n *yaml.Node, lines map[string]int) {
	port, what := n, "attachment"
	var sl *ident.SL
	if n.Kind == yaml.MappingNode {
		m := p.mapping(n, "attachment", "port", "sl")
		port, what = m["port"], "attachment port"
		sl = p.pinned(m["sl"])
	}
	s := p.ports(port, n.Line, what)
	if s == nil || !p.apart(seen, s, n, what) {
		return
	}
	if len(t.Attachments)+len(s.ports) > tenants.MaxAttachments {
		p.add(n.Line, "attachments", fmt.Sprintf("%d ports", len(t.Attachments)+len(s.ports)), fmt.Sprintf("at most %d", tenants.MaxAttachments))
		return
	}
	for _, id := range s.ports {
		lines[fmt.Sprintf("attachments[%d]", len(t.Attachments))] = n.Line
		t.Attachments = append(t.Attachments, tenants.Attachment{Port: id, SL: sl})
	}
}

// pinned reads a service level; nil is one that the compiler chooses.
func (p *parser) pinned(n *yaml.Node) *ident.SL {
	if n == nil {
		return nil
	}
	s, ok := p.text(n, n.Line, "sl", "0 to 15")
	if !ok {
		return nil
	}
	v, err := strconv.ParseUint(s, 10, 8)
	if err != nil || v >= ident.NumSLs {
		p.add(n.Line, "sl", quote(s), "0 to 15")
		return nil
	}
	return new(ident.SL(v))
}
