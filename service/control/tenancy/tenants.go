package tenancy

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// TenantInput is the input for a tenant: ports have any name that is unique on the fabric.
type TenantInput struct {
	Name        string
	Weight      quantity.Weight
	PKey        ident.PKey
	Guarantee   quantity.BitRate // 0 is none
	Cap         quantity.BitRate // 0 means no cap
	Classes     []tenants.Class
	Attachments []AttachmentInput
}

// AttachmentInput names a port and, when pinned, the service level. An input with FeedOnly repeats what an answer says
// about an attachment of feeds: it is ignored, so that a tenant that was read can be written back.
type AttachmentInput struct {
	Port     string
	SL       *ident.SL
	FeedOnly bool
}

// FlowInput is the input for a flow. QPs 0 means 1.
type FlowInput struct {
	Tenant, Class string
	Src, Dst      string
	QPs           int
	Demand        quantity.BitRate
}

// CreateTenant adds a tenant, at version 1.
func (s *Tenancy) CreateTenant(ctx context.Context, fabric string, in TenantInput) (control.Tenant, error) {
	var out control.Tenant
	err := s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		t, err := s.resolveTenant(ctx, r, fabric, in, nil, "")
		if err != nil {
			return err
		}
		if err := control.CheckWhole(ctx, r, fabric, t, control.InTenant("")); err != nil {
			return err
		}
		if out, err = s.createTenant(ctx, r, fabric, t); err != nil {
			return err
		}
		return s.revise(ctx, r, fabric, policyChange{said: phrase.Of("event.tenant-added", "tenant", t.Name), put: []tenants.Tenant{t}})
	})
	return out, err
}

func (s *Tenancy) createTenant(ctx context.Context, r control.Repos, fabric string, t tenants.Tenant) (control.Tenant, error) {
	out, err := r.CreateTenant(ctx, control.Tenant{Tenant: t, Fabric: fabric, CreatedAt: s.Now()})
	if err != nil {
		return control.Tenant{}, err
	}
	return out, s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: "tenant.created", Subject: t.Name,
		Said: phrase.Of("event.tenant-added-weight", "tenant", t.Name, "weight", t.Weight)}, control.Change{After: t})
}

// Tenant returns a tenant.
func (s *Tenancy) Tenant(ctx context.Context, fabric, name string) (t control.Tenant, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { t, err = r.Tenant(ctx, fabric, name); return err })
	return t, err
}

// ListTenants returns the tenants that the caller may see, by name.
func (s *Tenancy) ListTenants(ctx context.Context, fabric string, p control.Page) (list []control.Tenant, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		if names := control.VisibleTenants(ctx, fabric); names != nil {
			list, next, err = r.TenantsNamed(ctx, fabric, names, p)
		} else {
			list, next, err = r.ListTenants(ctx, fabric, p)
		}
		return err
	})
	return list, next, err
}

// CountFlows returns the number of declared flows of each of the named tenants that has any and that the caller may see.
func (s *Tenancy) CountFlows(ctx context.Context, fabric string, names []string) (counts map[string]int, err error) {
	if visible := control.VisibleTenants(ctx, fabric); visible != nil {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(visible, name) })
	}
	err = s.Store.View(ctx, func(r control.Repos) (err error) { counts, err = r.CountFlows(ctx, fabric, names); return err })
	return counts, err
}

// UpdateTenant replaces everything of a tenant except its name and the claims of feeds; version 0 means any version. When
// nothing differs, the tenant keeps its version.
func (s *Tenancy) UpdateTenant(ctx context.Context, fabric string, version int64, in TenantInput) (control.Tenant, error) {
	var out control.Tenant
	err := s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		before, err := r.Tenant(ctx, fabric, in.Name)
		if err != nil {
			return err
		}
		feeds, err := r.Feeds(ctx, fabric, in.Name)
		if err != nil {
			return err
		}
		t, err := s.resolveTenant(ctx, r, fabric, in, claimed(feeds), "")
		if err != nil {
			return err
		}
		if err := control.CheckWhole(ctx, r, fabric, t, control.InTenant("")); err != nil {
			return err
		}
		if sameTenant(before.Tenant, t) && (version == 0 || version == before.Version) {
			out = before
			return nil
		}
		if out, err = s.updateTenant(ctx, r, before, version, t); err != nil {
			return err
		}
		return s.revise(ctx, r, fabric, policyChange{said: phrase.Of("event.tenant-changed", "tenant", t.Name), put: []tenants.Tenant{t}})
	})
	return out, err
}

func (s *Tenancy) updateTenant(ctx context.Context, r control.Repos, before control.Tenant, version int64, t tenants.Tenant) (control.Tenant, error) {
	out, err := r.UpdateTenant(ctx, control.Tenant{Tenant: t, Fabric: before.Fabric, Version: version, UpdatedAt: s.Now()})
	if err != nil {
		return control.Tenant{}, err
	}
	said := phrase.Of("event.tenant-changed", "tenant", t.Name)
	switch {
	case before.Weight != t.Weight:
		said = phrase.Of("event.weight", "tenant", t.Name, "before", before.Weight, "after", t.Weight)
	case before.Guarantee != t.Guarantee:
		said = phrase.Of("event.guarantee", "tenant", t.Name, "before", limit(before.Guarantee), "after", limit(t.Guarantee))
	case before.Cap != t.Cap:
		said = phrase.Of("event.cap", "tenant", t.Name, "before", limit(before.Cap), "after", limit(t.Cap))
	}
	return out, s.AddEvent(ctx, r, control.Event{Fabric: before.Fabric, Kind: "tenant.updated", Subject: t.Name, Said: said},
		control.Change{Before: before.Tenant, After: t})
}

// limit is a guarantee or a cap as a parameter of a sentence: 0 is none.
func limit(rate quantity.BitRate) any {
	if rate == 0 {
		return phrase.Of("none")
	}
	return rate
}

// DeleteTenant removes a tenant that has no declared flows, with its feeds; version 0 means any version.
func (s *Tenancy) DeleteTenant(ctx context.Context, fabric, name string, version int64) error {
	return s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		if err := s.deleteTenant(ctx, r, fabric, name, version); err != nil {
			return err
		}
		return s.revise(ctx, r, fabric, policyChange{said: phrase.Of("event.tenant-removed", "tenant", name), gone: []string{name}})
	})
}

func (s *Tenancy) deleteTenant(ctx context.Context, r control.Repos, fabric, name string, version int64) error {
	before, err := r.Tenant(ctx, fabric, name)
	if err != nil {
		return err
	}
	if err := r.DeleteTenant(ctx, fabric, name, version); err != nil {
		return err
	}
	return s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: "tenant.deleted", Subject: name, Said: phrase.Of("event.tenant-removed", "tenant", name)},
		control.Change{Before: before.Tenant})
}

// resolveTenant converts port names into identifiers, adds the ports that feeds claim, and validates the tenant by itself.
// base is the JSON pointer of the tenant in its request.
func (s *Tenancy) resolveTenant(ctx context.Context, r control.Repos, fabric string, in TenantInput, feeds []tenants.Attachment, base string) (tenants.Tenant, error) {
	if _, err := r.Fabric(ctx, fabric); err != nil {
		return tenants.Tenant{}, err
	}
	t := tenants.Tenant{Name: in.Name, Weight: in.Weight, PKey: in.PKey, Guarantee: in.Guarantee, Cap: in.Cap, Classes: in.Classes}
	if len(in.Attachments) > 0 {
		_, topo, err := s.Latest(ctx, r, fabric)
		if err != nil {
			return tenants.Tenant{}, err
		}
		if t.Attachments, err = resolveAttachments(topo, in.Attachments, base); err != nil {
			return tenants.Tenant{}, err
		}
	}
	t.Attachments = withClaims(t.Attachments, feeds)
	if err := tenants.Validate([]tenants.Tenant{t}, nil); err != nil {
		return tenants.Tenant{}, control.InvalidModel(err, control.InTenant(base))
	}
	return t, nil
}

// resolveAttachments resolves ports by name, reports faults by their place in the request, and sorts the result by port.
func resolveAttachments(topo *subnet.Fabric, in []AttachmentInput, base string) ([]tenants.Attachment, error) {
	var out []tenants.Attachment
	seen := make(map[ident.PortID]bool, len(in))
	var bad control.InvalidError
	for i, a := range in {
		if a.FeedOnly {
			if a.SL != nil {
				bad.Add(fmt.Sprintf("%s/attachments/%d/sl", base, i), phrase.Of("problem.feed-only-sl", "port", control.Clipped(a.Port)))
			}
			continue
		}
		id, err := resolveOnce(topo, a.Port, seen)
		if err != nil {
			bad.AddFrom(fmt.Sprintf("%s/attachments/%d/port", base, i), err)
			continue
		}
		out = append(out, tenants.Attachment{Port: id, SL: a.SL})
	}
	slices.SortFunc(out, func(a, b tenants.Attachment) int { return a.Port.Compare(b.Port) })
	return out, bad.OrNil()
}

// resolveOnce finds a port where a tenant's traffic can start or end, and adds it to those seen. A port seen before is an
// error.
func resolveOnce(topo *subnet.Fabric, text string, seen map[ident.PortID]bool) (ident.PortID, error) {
	ref, err := resolveEndpoint(topo, text)
	if err != nil {
		return ident.PortID{}, err
	}
	id := topo.PortID(ref)
	if seen[id] {
		return id, &phrase.Error{Text: phrase.Of("problem.port-twice", "port", control.Clipped(text))}
	}
	seen[id] = true
	return id, nil
}

// resolveEndpoint finds a port where a tenant's traffic can start or end.
func resolveEndpoint(topo *subnet.Fabric, text string) (subnet.PortRef, error) {
	ref, err := topo.ResolvePort(text)
	if err != nil {
		return ref, err
	}
	if n := topo.Nodes[ref.Node]; n.Kind != subnet.KindCA {
		return ref, &phrase.Error{Text: phrase.Of("problem.switch-port", "port", text)}
	}
	return ref, nil
}

// sameTenant compares the changeable properties.
func sameTenant(a, b tenants.Tenant) bool { return reflect.DeepEqual(normal(a), normal(b)) }

// normal returns the tenant with its empty lists set to nil.
func normal(t tenants.Tenant) tenants.Tenant {
	if len(t.Classes) == 0 {
		t.Classes = nil
	}
	if len(t.Attachments) == 0 {
		t.Attachments = nil
	}
	return t
}
