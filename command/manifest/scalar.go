package manifest

import (
	"go.yaml.in/yaml/v3"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// texter is a value that is written as one scalar of a form of its own. The error says what is allowed.
type texter interface{ setText(text string) error }

// Weight is a tenant's or a class's weight.
type Weight struct{ quantity.Weight }

func (w *Weight) setText(text string) (err error) {
	w.Weight, err = quantity.ParseWeight(text)
	return err
}

// Rate is a bit rate; 0 is none.
type Rate struct{ quantity.BitRate }

func (r *Rate) setText(text string) (err error) {
	r.BitRate, err = quantity.ParseBitRate(text)
	return err
}

// PKey is a partition key; 0 is the default partition.
type PKey struct{ ident.PKey }

func (k *PKey) setText(text string) (err error) {
	k.PKey, err = ident.ParsePKey(text)
	return err
}

// Grant is a role in a domain, such as tenant-admin@lab/red.
type Grant struct{ tenants.Grant }

func (g *Grant) setText(text string) (err error) {
	g.Grant, err = tenants.ParseGrant(text)
	return err
}

// Ports are one or more ports.
type Ports []string

// noder is a value that has a short form beside its long one.
type noder interface {
	setNode(d *decoder, n *yaml.Node, field string)
}

func (p *Ports) setNode(d *decoder, n *yaml.Node, field string) {
	var list []string
	if n.Kind == yaml.SequenceNode {
		d.value(n, &list, field)
	} else {
		list = []string{""}
		d.value(n, &list[0], field)
	}
	if len(list) == 0 {
		d.fault(n.Line, field, "found no port; want one or more")
	}
	*p = list
}

func (a *Attachment) setNode(d *decoder, n *yaml.Node, field string) {
	if n.Kind == yaml.ScalarNode {
		d.value(n, &a.Port, field)
		return
	}
	type long Attachment
	d.value(n, (*long)(a), field)
}
