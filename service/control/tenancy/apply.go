package tenancy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/tenants"
)

// TenantSet is a declared state of tenants and, when Flows is not nil, of flows.
type TenantSet struct {
	Tenants []TenantInput
	Flows   []FlowInput
	Prune   bool // delete the tenants that are not listed
	// Version is the version of tenants and flows that the change is based on, from a TenantSetResult; 0 is any.
	Version int64
}

// TenantSetResult lists the changes of an ApplyTenants, made or, in a dry run, planned; names are sorted.
type TenantSetResult struct {
	Created, Updated, Unchanged, Deleted []string
	FlowsChanged                         bool
	// Version identifies the contents of all tenants and flows: after the change, or, in a dry run, before it. It is not
	// ordered in time.
	Version int64
}

// ApplyTenants applies a declared state of tenants and flows in one transaction. The claims of feeds stay. A dry run does the same and rolls back,
// so that it finds the same errors.
func (s *Tenancy) ApplyTenants(ctx context.Context, fabric string, set TenantSet, dryRun bool) (TenantSetResult, error) {
	var res TenantSetResult
	err := s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) (err error) {
		a, err := s.applyTenants(ctx, r, fabric, set)
		if err != nil {
			return err
		}
		if res = a.res; dryRun {
			return control.ErrDryRun
		}
		if res.Version, _, err = versionOfTenants(ctx, r, fabric); err != nil {
			return err
		}
		return s.revise(ctx, r, fabric, a.change(phrase.Of("event.applied")))
	})
	if errors.Is(err, control.ErrDryRun) {
		err = nil
	}
	return res, err
}

func (s *Tenancy) applyTenants(ctx context.Context, r control.Repos, fabric string, set TenantSet) (*applier, error) {
	a := &applier{s: s, r: r, fabric: fabric, old: map[string]control.Tenant{}, feeds: map[string][]control.Feed{}, wanted: map[string]int{}}
	version, stored, err := versionOfTenants(ctx, r, fabric)
	switch {
	case err != nil:
		return a, err
	case set.Version != 0 && set.Version != version:
		return a, &control.PreconditionError{Kind: "the set of tenants and flows of", Name: fabric, Want: set.Version, Have: version}
	}
	a.res.Version = version
	feeds, err := r.Feeds(ctx, fabric)
	if err != nil {
		return a, err
	}
	for _, f := range feeds {
		a.feeds[f.Tenant] = append(a.feeds[f.Tenant], f)
	}
	for _, t := range stored {
		a.old[t.Name] = t
	}
	if err := a.resolve(ctx, set); err != nil {
		return a, err
	}
	if err := a.check(ctx, set); err != nil {
		return a, err
	}
	if err := a.write(ctx, set); err != nil {
		return a, err
	}
	for _, list := range []*[]string{&a.res.Created, &a.res.Updated, &a.res.Unchanged, &a.res.Deleted} {
		slices.Sort(*list)
	}
	return a, nil
}

// versionOfTenants returns a number above 0 that identifies what operators can change of a fabric's tenants and flows, and
// the tenants. Equal contents have equal numbers: a change of a feed leaves the number.
func versionOfTenants(ctx context.Context, r control.Repos, fabric string) (int64, []control.Tenant, error) {
	list, err := r.AllTenants(ctx, fabric)
	if err != nil {
		return 0, nil, err
	}
	flows, _, err := r.Flows(ctx, fabric)
	if err != nil {
		return 0, nil, err
	}
	all := tenants.OwnOnly(control.Plain(list))
	slices.SortFunc(all, func(a, b tenants.Tenant) int { return strings.Compare(a.Name, b.Name) })
	for i := range all {
		all[i] = normal(all[i])
	}
	text, err := json.Marshal(struct {
		Tenants []tenants.Tenant
		Flows   []tenants.Flow
	}{all, slices.SortedFunc(slices.Values(flows), compareFlows)})
	if err != nil {
		return 0, nil, fmt.Errorf("encode tenants and flows of %s: %w", fabric, err)
	}
	sum := sha256.Sum256(text)
	return int64(binary.BigEndian.Uint64(sum[:])>>2) | 1, list, nil
}

// change returns the changes as a change of the policy.
func (a *applier) change(said phrase.Text) policyChange {
	c := policyChange{said: said, gone: a.res.Deleted}
	for _, t := range a.next {
		if before, had := a.old[t.Name]; !had || !sameTenant(before.Tenant, t) {
			c.put = append(c.put, t)
		}
	}
	if a.res.FlowsChanged {
		c.flows = a.flows
	}
	return c
}

// applier holds the state of one ApplyTenants.
type applier struct {
	s      *Tenancy
	r      control.Repos
	fabric string
	old    map[string]control.Tenant
	feeds  map[string][]control.Feed // by tenant
	next   []tenants.Tenant          // desired tenants, in the order of the request
	wanted map[string]int            // name to index in next
	flows  []tenants.Flow            // desired flows
	res    TenantSetResult
}

func (a *applier) resolve(ctx context.Context, set TenantSet) error {
	var bad control.InvalidError
	for i, in := range set.Tenants {
		base := fmt.Sprintf("/tenants/%d", i)
		if _, dup := a.wanted[in.Name]; dup {
			bad.Add(base+"/name", phrase.Of("problem.tenant-twice", "tenant", in.Name))
			continue
		}
		t, err := a.s.resolveTenant(ctx, a.r, a.fabric, in, claimed(a.feeds[in.Name]), base)
		var inv *control.InvalidError
		switch {
		case errors.As(err, &inv):
			for _, f := range inv.Fields {
				bad.Add(f.Pointer, f.Said)
			}
		case err != nil:
			return err
		}
		a.wanted[in.Name] = i
		a.next = append(a.next, t)
	}
	return bad.OrNil()
}

// check validates the resulting state as a whole.
func (a *applier) check(ctx context.Context, set TenantSet) error {
	old, _, err := a.r.Flows(ctx, a.fabric)
	if err != nil {
		return err
	}
	a.flows = old
	if set.Flows != nil {
		if a.flows, err = a.s.resolveFlows(ctx, a.r, a.fabric, set.Flows); err != nil {
			return err
		}
		a.res.FlowsChanged = !sameFlows(old, a.flows)
	}
	all := slices.Clone(a.next)
	for _, name := range slices.Sorted(maps.Keys(a.old)) { // sorted, so that faults and events have the same order each time
		switch _, listed := a.wanted[name]; {
		case listed:
		case set.Prune:
			a.res.Deleted = append(a.res.Deleted, name)
		default:
			all = append(all, a.old[name].Tenant)
		}
	}
	return control.InvalidModel(tenants.Validate(all, a.flows), func(f *tenants.FieldError) string {
		i, listed := a.wanted[f.Tenant]
		switch {
		case f.Flow >= 0 && set.Flows != nil:
			return flowPointer(f)
		case listed:
			return control.InTenant(fmt.Sprintf("/tenants/%d", i))(f)
		}
		return "/tenants" // the fault is in a stored tenant that conflicts with a listed one
	})
}

// write makes the changes: tenants first, then flows; deletions last because old flows may refer to deleted tenants.
func (a *applier) write(ctx context.Context, set TenantSet) error {
	for _, t := range a.next {
		var err error
		switch before, had := a.old[t.Name]; {
		case !had:
			a.res.Created = append(a.res.Created, t.Name)
			_, err = a.s.createTenant(ctx, a.r, a.fabric, t)
		case sameTenant(before.Tenant, t):
			a.res.Unchanged = append(a.res.Unchanged, t.Name)
		default:
			a.res.Updated = append(a.res.Updated, t.Name)
			_, err = a.s.updateTenant(ctx, a.r, before, 0, t)
		}
		if err != nil {
			return err
		}
	}
	if set.Flows != nil && a.res.FlowsChanged {
		if _, err := a.s.replaceFlows(ctx, a.r, a.fabric, control.AnyVersion, a.flows); err != nil {
			return err
		}
	}
	for _, name := range a.res.Deleted {
		if err := a.s.deleteTenant(ctx, a.r, a.fabric, name, 0); err != nil {
			return err
		}
	}
	return nil
}
