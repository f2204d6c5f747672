package manifest

import (
	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/yamltree"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Weight is a tenant's or a class's weight.
type Weight struct{ quantity.Weight }

// UnmarshalText parses the text of a scalar.
func (w *Weight) UnmarshalText(text []byte) (err error) {
	w.Weight, err = quantity.ParseWeight(string(text))
	return err
}

// Rate is a bit rate; 0 means none.
type Rate struct{ quantity.BitRate }

// UnmarshalText parses the text of a scalar.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	r.BitRate, err = quantity.ParseBitRate(string(text))
	return err
}

// PKey is a partition key; 0 means the default partition.
type PKey struct{ ident.PKey }

// UnmarshalText parses the text of a scalar.
func (k *PKey) UnmarshalText(text []byte) (err error) {
	k.PKey, err = ident.ParsePKey(string(text))
	return err
}

// Grant is a role in a domain, such as tenant-admin@lab/red.
type Grant struct{ tenants.Grant }

// UnmarshalText parses the text of a scalar.
func (g *Grant) UnmarshalText(text []byte) (err error) {
	g.Grant, err = tenants.ParseGrant(string(text))
	return err
}

// Ports are one or more ports.
type Ports []string

// DecodeNode reads a port, or a list of ports.
func (p *Ports) DecodeNode(d *yamltree.Decoder, n *yaml.Node, field string) {
	var list []string
	if n.Kind == yaml.SequenceNode {
		d.Value(n, &list, field)
	} else {
		list = []string{""}
		d.Value(n, &list[0], field)
	}
	if len(list) == 0 {
		d.Fault(n.Line, field, phrase.Of("manifest.no-port"))
	}
	*p = list
}

// DecodeNode reads the name of a port, or a mapping.
func (a *Attachment) DecodeNode(d *yamltree.Decoder, n *yaml.Node, field string) {
	if n.Kind == yaml.ScalarNode {
		d.Value(n, &a.Port, field)
		return
	}
	type long Attachment
	d.Value(n, (*long)(a), field)
}
