package views

import (
	"context"
	"errors"
	"time"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/subnet/ident"
)

// planDigest is what views show of a plan, without its settings. Plans never change, so it is computed once.
type planDigest struct {
	fabric, name string
	policy       int64
	created      time.Time
	links        map[string]*planLink // by name
	roce         bool
	functions    map[functionOf]bool // virtual functions that the plan itself gives to tenants
}

// functionOf is a tenant with a virtual function of a port.
type functionOf struct {
	tenant string
	port   ident.PortID
}

// planLink is a link direction that the plan names: one that its tenants contend for.
type planLink struct {
	name       string
	port, peer ident.PortID
	tenants    []linkTenant // by name
}

// linkTenant is a tenant on a link direction with its entitlement there.
type linkTenant struct {
	tenant   string
	entitled quantity.BitRate
}

// inForce returns the digest of the plan in force; nil without one.
func (v *Views) inForce(ctx context.Context, r control.Repos, fabric string) (*planDigest, error) {
	name, err := control.InForceName(ctx, r, fabric)
	switch {
	case errors.Is(err, control.ErrConflict):
		return nil, nil
	case err != nil:
		return nil, err
	}
	fits := func(d *planDigest) bool { return d.fabric == fabric && d.name == name }
	if d, ok := cachedIn(v, &v.plans, fits); ok {
		return d, nil
	}
	p, err := r.Plan(ctx, fabric, name)
	if err != nil {
		return nil, err
	}
	d := digest(fabric, &p)
	keepIn(v, &v.plans, d, fits)
	return d, nil
}

func digest(fabric string, p *control.Plan) *planDigest {
	d := &planDigest{fabric: fabric, name: p.Plan.Name, policy: p.Input.Policy, created: p.CreatedAt, links: make(map[string]*planLink, len(p.Plan.Links))}
	for i := range p.Plan.Links {
		l := &p.Plan.Links[i]
		x := &planLink{name: l.Name, port: l.Port, peer: l.Peer}
		for _, t := range l.Tenants {
			x.tenants = append(x.tenants, linkTenant{t.Tenant, t.Entitled})
		}
		d.links[l.Name] = x
	}
	if p.Plan.RoCE != nil {
		d.roce, d.functions = true, map[functionOf]bool{}
		for i := range p.Plan.RoCE.Traffic {
			if t := &p.Plan.RoCE.Traffic[i]; t.Function != policy.NodeFunction {
				d.functions[functionOf{t.Tenant, t.Port}] = true
			}
		}
	}
	return d
}
