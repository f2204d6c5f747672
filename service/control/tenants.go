package control

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// TenantInput is a tenant as a person writes it: ports by any name that is unique on the fabric.
type TenantInput struct {
	Name        string
	Weight      quantity.Weight
	PKey        ident.PKey
	Guarantee   quantity.BitRate // 0 is none
	Cap         quantity.BitRate // 0 is no bound
	Classes     []tenants.Class
	Attachments []AttachmentInput
}

// AttachmentInput names a port and, when pinned, the service level.
type AttachmentInput struct {
	Port string
	SL   *ident.SL
}

// FlowInput is a flow as a person writes it. QPs 0 is 1.
type FlowInput struct {
	Tenant, Class string
	Src, Dst      string
	QPs           int
	Demand        quantity.BitRate
}

// CreateTenant adds a tenant. Version 1 is its first.
func (s *Service) CreateTenant(ctx context.Context, fabric string, in TenantInput) (Tenant, error) {
	var out Tenant
	err := s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) error {
		t, err := s.resolveTenant(ctx, r, fabric, in, "")
		if err != nil {
			return err
		}
		if err := checkWhole(ctx, r, fabric, t, ""); err != nil {
			return err
		}
		if out, err = s.createTenant(ctx, r, fabric, t); err != nil {
			return err
		}
		return s.revise(ctx, r, fabric, policyChange{said: phrase.Of("event.tenant-added", "tenant", t.Name), put: []tenants.Tenant{t}})
	})
	return out, err
}

func (s *Service) createTenant(ctx context.Context, r Repos, fabric string, t tenants.Tenant) (Tenant, error) {
	out, err := r.CreateTenant(ctx, Tenant{Tenant: t, Fabric: fabric, CreatedAt: s.now()})
	if err != nil {
		return Tenant{}, err
	}
	return out, s.event(ctx, r, Event{Fabric: fabric, Kind: "tenant.created", Subject: t.Name,
		Said: phrase.Of("event.tenant-added-weight", "tenant", t.Name, "weight", t.Weight)}, change{After: t})
}

// Tenant returns a tenant.
func (s *Service) Tenant(ctx context.Context, fabric, name string) (t Tenant, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { t, err = r.Tenant(ctx, fabric, name); return err })
	return t, err
}

// ListTenants returns the tenants that the caller may see, by name.
func (s *Service) ListTenants(ctx context.Context, fabric string, p Page) (list []Tenant, next string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) {
		if names := sight(ctx, fabric); names != nil {
			list, next, err = r.TenantsNamed(ctx, fabric, names, p)
		} else {
			list, next, err = r.ListTenants(ctx, fabric, p)
		}
		return err
	})
	return list, next, err
}

// UpdateTenant replaces everything of a tenant but its name; version 0 means any version.
func (s *Service) UpdateTenant(ctx context.Context, fabric string, version int64, in TenantInput) (Tenant, error) {
	var out Tenant
	err := s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) error {
		before, err := r.Tenant(ctx, fabric, in.Name)
		if err != nil {
			return err
		}
		t, err := s.resolveTenant(ctx, r, fabric, in, "")
		if err != nil {
			return err
		}
		if err := checkWhole(ctx, r, fabric, t, ""); err != nil {
			return err
		}
		if out, err = s.updateTenant(ctx, r, before, version, t); err != nil || sameTenant(before.Tenant, t) {
			return err
		}
		return s.revise(ctx, r, fabric, policyChange{said: phrase.Of("event.tenant-changed", "tenant", t.Name), put: []tenants.Tenant{t}})
	})
	return out, err
}

func (s *Service) updateTenant(ctx context.Context, r Repos, before Tenant, version int64, t tenants.Tenant) (Tenant, error) {
	out, err := r.UpdateTenant(ctx, Tenant{Tenant: t, Fabric: before.Fabric, Version: version, UpdatedAt: s.now()})
	if err != nil {
		return Tenant{}, err
	}
	said := phrase.Of("event.tenant-changed", "tenant", t.Name)
	switch {
	case before.Weight != t.Weight:
		said = phrase.Of("event.weight", "tenant", t.Name, "before", before.Weight, "after", t.Weight)
	case before.Guarantee != t.Guarantee:
		said = phrase.Of("event.guarantee", "tenant", t.Name, "before", before.Guarantee, "after", t.Guarantee)
	case before.Cap != t.Cap:
		said = phrase.Of("event.cap", "tenant", t.Name, "before", before.Cap, "after", t.Cap)
	}
	return out, s.event(ctx, r, Event{Fabric: before.Fabric, Kind: "tenant.updated", Subject: t.Name, Said: said},
		change{Before: before.Tenant, After: t})
}

// DeleteTenant removes a tenant that has no declared flows; version 0 means any version.
func (s *Service) DeleteTenant(ctx context.Context, fabric, name string, version int64) error {
	return s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) error {
		if err := s.deleteTenant(ctx, r, fabric, name, version); err != nil {
			return err
		}
		return s.revise(ctx, r, fabric, policyChange{said: phrase.Of("event.tenant-removed", "tenant", name), gone: []string{name}})
	})
}

func (s *Service) deleteTenant(ctx context.Context, r Repos, fabric, name string, version int64) error {
	before, err := r.Tenant(ctx, fabric, name)
	if err != nil {
		return err
	}
	if err := r.DeleteTenant(ctx, fabric, name, version); err != nil {
		return err
	}
	return s.event(ctx, r, Event{Fabric: fabric, Kind: "tenant.deleted", Subject: name, Said: phrase.Of("event.tenant-removed", "tenant", name)},
		change{Before: before.Tenant})
}

// resolveTenant turns port names into identifiers and checks the tenant by itself. base is the
// JSON pointer of the tenant in its request.
func (s *Service) resolveTenant(ctx context.Context, r Repos, fabric string, in TenantInput, base string) (tenants.Tenant, error) {
	if _, err := r.Fabric(ctx, fabric); err != nil {
		return tenants.Tenant{}, err
	}
	t := tenants.Tenant{Name: in.Name, Weight: in.Weight, PKey: in.PKey, Guarantee: in.Guarantee, Cap: in.Cap, Classes: in.Classes}
	if len(in.Attachments) > 0 {
		_, topo, err := s.latest(ctx, r, fabric)
		if err != nil {
			return tenants.Tenant{}, err
		}
		if t.Attachments, err = resolveAttachments(topo, in.Attachments, base); err != nil {
			return tenants.Tenant{}, err
		}
	}
	if err := tenants.Validate([]tenants.Tenant{t}, nil); err != nil {
		return tenants.Tenant{}, invalidModel(err, inTenant(base))
	}
	return t, nil
}

// resolveAttachments resolves ports by name, reports faults by their place in the request, and
// sorts what it found by port.
func resolveAttachments(topo *subnet.Fabric, in []AttachmentInput, base string) ([]tenants.Attachment, error) {
	out := make([]tenants.Attachment, len(in))
	seen := make(map[ident.PortID]bool, len(in))
	var bad InvalidError
	for i, a := range in {
		ref, err := resolveEndpoint(topo, a.Port)
		if err == nil && seen[topo.PortID(ref)] {
			err = fmt.Errorf("port %q is attached twice: want each port once", a.Port)
		}
		if err != nil {
			bad.addFrom(fmt.Sprintf("%s/attachments/%d/port", base, i), err)
			continue
		}
		out[i] = tenants.Attachment{Port: topo.PortID(ref), SL: a.SL}
		seen[out[i].Port] = true
	}
	slices.SortFunc(out, func(a, b tenants.Attachment) int { return a.Port.Compare(b.Port) })
	return out, bad.orNil()
}

// resolveEndpoint finds a port where a tenant's traffic can begin or end.
func resolveEndpoint(topo *subnet.Fabric, text string) (subnet.PortRef, error) {
	ref, err := topo.ResolvePort(text)
	if err != nil {
		return ref, err
	}
	if n := topo.Nodes[ref.Node]; n.Kind != subnet.KindCA {
		return ref, fmt.Errorf("port %q is on a switch: want a port of a channel adapter", text)
	}
	return ref, nil
}

// inTenant places faults in a body that is a tenant. Those of declared flows come from what the
// tenant no longer has for them: a class or an attachment.
func inTenant(base string) func(*tenants.FieldError) string {
	return func(f *tenants.FieldError) string {
		switch {
		case f.Flow < 0:
			return base + "/" + pointerOf(f.Field)
		case f.Field == "class":
			return base + "/classes"
		}
		return base + "/attachments"
	}
}

// invalidModel turns the faults that tenants.Validate found into an *InvalidError; at gives
// the pointer of the faulty field in the request.
func invalidModel(err error, at func(*tenants.FieldError) string) error {
	if err == nil {
		return nil
	}
	var bad InvalidError
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, e := range list {
		var f *tenants.FieldError
		pointer := ""
		if errors.As(e, &f) {
			pointer = at(f)
		}
		bad.addFrom(pointer, e)
	}
	return bad.orNil()
}

// pointerOf turns "classes[1].name" into "classes/1/name", and the model's field names into the contract's.
func pointerOf(field string) string {
	if field == "demand" || field == "guarantee" || field == "cap" {
		return field + "_bps"
	}
	return strings.NewReplacer("[", "/", "].", "/", "]", "", ".", "/").Replace(field)
}

// sameTenant compares what people can change.
func sameTenant(a, b tenants.Tenant) bool { return reflect.DeepEqual(normal(a), normal(b)) }

// normal is the tenant with its empty lists nil.
func normal(t tenants.Tenant) tenants.Tenant {
	if len(t.Classes) == 0 {
		t.Classes = nil
	}
	if len(t.Attachments) == 0 {
		t.Attachments = nil
	}
	return t
}
