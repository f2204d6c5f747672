package tenantfile

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Write writes tenants and flows so that Read returns them unchanged, with flows under their tenants. It writes the
// fabric's name of a port if that name resolves to the port again; otherwise, and with a nil fabric, node GUID and port
// number. It fails for input that tenants.Validate rejects.
func Write(w io.Writer, fabric *subnet.Fabric, ts []tenants.Tenant, flows []tenants.Flow) error {
	if err := tenants.Validate(ts, flows); err != nil {
		return fmt.Errorf("write tenant file: %w", err)
	}
	byTenant := make(map[string][]tenants.Flow, len(ts))
	for _, f := range flows {
		byTenant[f.Tenant] = append(byTenant[f.Tenant], f)
	}
	out := writer{fabric: fabric, names: map[ident.PortID]string{}}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range ts {
		list.Content = append(list.Content, out.tenant(&ts[i], byTenant[ts[i].Name]))
	}
	root := mapping("version", scalar(strconv.Itoa(fileFormat)), "tenants", list)
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return fmt.Errorf("write tenant file: %w", err)
	}
	return enc.Close()
}

type writer struct {
	fabric *subnet.Fabric
	names  map[ident.PortID]string
}

func (w *writer) tenant(t *tenants.Tenant, flows []tenants.Flow) *yaml.Node {
	n := mapping("name", text(t.Name), "weight", scalar(t.Weight.String()))
	if t.Guarantee != 0 {
		n.Content = append(n.Content, text("guarantee"), exactRate(t.Guarantee))
	}
	if t.Cap != 0 {
		n.Content = append(n.Content, text("cap"), exactRate(t.Cap))
	}
	if t.PKey != 0 {
		n.Content = append(n.Content, text("pkey"), scalar(t.PKey.String()))
	}
	if len(t.Classes) > 0 {
		l := &yaml.Node{Kind: yaml.SequenceNode}
		for _, c := range t.Classes {
			l.Content = append(l.Content, flow(mapping("name", text(c.Name), "weight", scalar(c.Weight.String()))))
		}
		n.Content = append(n.Content, text("classes"), l)
	}
	if len(t.Attachments) > 0 {
		l := &yaml.Node{Kind: yaml.SequenceNode}
		for _, a := range t.Attachments {
			item := w.port(a.Port)
			if a.SL != nil {
				item = flow(mapping("port", item, "sl", scalar(strconv.Itoa(int(*a.SL)))))
			}
			l.Content = append(l.Content, item)
		}
		n.Content = append(n.Content, text("attachments"), l)
	}
	if len(flows) > 0 {
		l := &yaml.Node{Kind: yaml.SequenceNode}
		for _, f := range flows {
			l.Content = append(l.Content, w.flow(f))
		}
		n.Content = append(n.Content, text("flows"), l)
	}
	return n
}

func (w *writer) flow(f tenants.Flow) *yaml.Node {
	n := mapping("from", w.port(f.Src), "to", w.port(f.Dst), "qps", scalar(strconv.Itoa(f.QPs)))
	if f.Class != "" {
		n.Content = append(n.Content, text("class"), text(f.Class))
	}
	if f.Demand != 0 {
		n.Content = append(n.Content, text("demand"), exactRate(f.Demand))
	}
	return flow(n)
}

func (w *writer) port(id ident.PortID) *yaml.Node {
	name, ok := w.names[id]
	if !ok {
		name = w.nameOf(id)
		w.names[id] = name
	}
	return text(name)
}

func (w *writer) nameOf(id ident.PortID) string {
	if w.fabric != nil {
		if ref, ok := w.fabric.PortByID(id); ok {
			name := w.fabric.PortName(ref)
			if back, err := w.fabric.ResolvePort(name); err == nil && back == ref {
				return name
			}
		}
	}
	return id.String()
}

func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range pairs {
		switch v := p.(type) {
		case string:
			n.Content = append(n.Content, text(v))
		case *yaml.Node:
			n.Content = append(n.Content, v)
		}
	}
	return n
}

func flow(n *yaml.Node) *yaml.Node { n.Style = yaml.FlowStyle; return n }

// text returns a string, quoted if YAML would parse it as another type.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

// exactRate returns a rate with a unit, or in whole bit/s if three decimals before the unit would lose digits.
func exactRate(r quantity.BitRate) *yaml.Node {
	s := strings.ReplaceAll(r.String(), " ", "")
	if back, err := quantity.ParseBitRate(s); err != nil || back != r {
		s = strconv.FormatInt(int64(r), 10)
	}
	return text(s)
}

// scalar returns a number, without quotes.
func scalar(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }
