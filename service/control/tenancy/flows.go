package tenancy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Flows returns the declared flows and their version. A caller limited to its own tenants gets their flows, and version
// 0, since the version counts the changes of all tenants.
func (s *Tenancy) Flows(ctx context.Context, fabric string) (flows []tenants.Flow, version int64, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		if names := control.VisibleTenants(ctx, fabric); names != nil {
			flows, err = r.FlowsOf(ctx, fabric, names)
		} else {
			flows, version, err = r.Flows(ctx, fabric)
		}
		return err
	})
	return flows, version, err
}

// PortNames returns a function that maps ports to their names in the latest topology of a fabric, or to "" for unknown
// ports.
func (s *Tenancy) PortNames(ctx context.Context, fabric string) (func(ident.PortID) string, error) {
	var topo *subnet.Fabric
	err := s.Store.View(ctx, func(r control.Repos) (err error) { _, topo, err = s.Latest(ctx, r, fabric); return err })
	if notYet := (*control.ConflictError)(nil); errors.As(err, &notYet) {
		return func(ident.PortID) string { return "" }, nil
	}
	if err != nil {
		return nil, err
	}
	known := map[ident.PortID]string{}
	return func(id ident.PortID) string {
		name, ok := known[id]
		if ok {
			return name
		}
		if ref, ok := topo.PortByID(id); ok {
			name = topo.PortName(ref)
		}
		known[id] = name
		return name
	}, nil
}

// PutFlows replaces all declared flows at version, or at AnyVersion.
func (s *Tenancy) PutFlows(ctx context.Context, fabric string, version int64, in []FlowInput) (flows []tenants.Flow, next int64, err error) {
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		if flows, err = s.resolveFlows(ctx, r, fabric, in); err != nil {
			return err
		}
		stored, err := r.AllTenants(ctx, fabric)
		if err != nil {
			return err
		}
		if err := control.InvalidModel(tenants.Validate(control.Plain(stored), flows), flowPointer); err != nil {
			return err
		}
		if next, err = s.replaceFlows(ctx, r, fabric, version, flows); err != nil {
			return err
		}
		return s.revise(ctx, r, fabric, policyChange{said: phrase.Of("event.flows", "n", len(flows)), flows: flows})
	})
	return flows, next, err
}

func (s *Tenancy) replaceFlows(ctx context.Context, r control.Repos, fabric string, version int64, flows []tenants.Flow) (int64, error) {
	next, err := r.ReplaceFlows(ctx, fabric, version, flows)
	if err != nil {
		return 0, err
	}
	return next, s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: "flows.replaced", Subject: fabric,
		Said: phrase.Of("event.flows", "n", len(flows))}, map[string]any{"flows": len(flows), "version": next})
}

// flowPointer maps a fault to its place in a body that holds the flows under "flows".
func flowPointer(f *tenants.FieldError) string {
	if f.Flow < 0 {
		return ""
	}
	return fmt.Sprintf("/flows/%d/%s", f.Flow, control.PointerOf(f.Field))
}

func (s *Tenancy) resolveFlows(ctx context.Context, r control.Repos, fabric string, in []FlowInput) ([]tenants.Flow, error) {
	if len(in) == 0 {
		_, err := r.Fabric(ctx, fabric)
		return []tenants.Flow{}, err
	}
	_, topo, err := s.Latest(ctx, r, fabric)
	if err != nil {
		return nil, err
	}
	out := make([]tenants.Flow, len(in))
	var bad control.InvalidError
	resolve := portCache(topo)
	for i, f := range in {
		fl := tenants.Flow{Tenant: f.Tenant, Class: f.Class, QPs: max(f.QPs, 1), Demand: f.Demand}
		for _, end := range []struct {
			name, text string
			to         *ident.PortID
		}{{"src", f.Src, &fl.Src}, {"dst", f.Dst, &fl.Dst}} {
			ref, err := resolve(end.text)
			if err != nil {
				bad.AddFrom(fmt.Sprintf("/flows/%d/%s", i, end.name), err)
				continue
			}
			*end.to = topo.PortID(ref)
		}
		out[i] = fl
	}
	return out, bad.OrNil()
}

// portCache resolves each distinct text once: flow sets name few ports many times.
func portCache(topo *subnet.Fabric) func(string) (subnet.PortRef, error) {
	known := make(map[string]subnet.PortRef)
	return func(text string) (subnet.PortRef, error) {
		if ref, ok := known[text]; ok {
			return ref, nil
		}
		ref, err := resolveEndpoint(topo, text)
		if err == nil {
			known[text] = ref
		}
		return ref, err
	}
}

// sameFlows compares flow sets, whose order is irrelevant.
func sameFlows(a, b []tenants.Flow) bool {
	return slices.Equal(slices.SortedFunc(slices.Values(a), compareFlows), slices.SortedFunc(slices.Values(b), compareFlows))
}

func compareFlows(a, b tenants.Flow) int {
	return cmp.Or(
		strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Class, b.Class), a.Src.Compare(b.Src), a.Dst.Compare(b.Dst),
		cmp.Compare(a.QPs, b.QPs), cmp.Compare(a.Demand, b.Demand),
	)
}
