package remote

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/manifest"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/tenants"
)

// maxDetailed is the maximum number of changed tenants that are compared field by field; beyond it, only names are
// shown.
const maxDetailed = 100

// group is the declared tenants and flows of a fabric. It is applied in one transaction.
type group struct {
	tenants []*manifest.Resource
	flows   *manifest.Resource // nil: flows stay unchanged
	set     gen.TenantSet
}

// collect adds a tenant or the flows of a fabric to its group. The caller adds the resource to its errors by refused.
func collect(groups map[string]*group, r *manifest.Resource) error {
	g := groups[r.Fabric]
	if g == nil {
		g = &group{set: gen.TenantSet{Tenants: []gen.TenantCreate{}}}
		groups[r.Fabric] = g
	}
	switch spec := r.Spec.(type) {
	case *manifest.TenantSpec:
		t, err := declared(r.Name, spec)
		if err != nil {
			return usage.Wrap(err)
		}
		g.tenants = append(g.tenants, r)
		g.set.Tenants = append(g.set.Tenants, t)
	case *manifest.FlowsSpec:
		flows, err := expanded(*spec)
		if err != nil {
			return usage.Wrap(err)
		}
		g.flows, g.set.Flows = r, flows
	}
	return nil
}

func declared(name string, spec *manifest.TenantSpec) (gen.TenantCreate, error) {
	pkey, guarantee, limit := spec.PKey.String(), int64(spec.Guarantee.BitRate), int64(spec.Cap.BitRate)
	t := gen.TenantCreate{Name: name, Weight: spec.Weight.Float(), GuaranteeBps: &guarantee, CapBps: &limit, Pkey: &pkey}
	for _, k := range spec.Classes {
		t.Classes = append(t.Classes, gen.Class{Name: k.Name, Weight: k.Weight.Float()})
	}
	for i, at := range spec.Attachments {
		ports, err := expandPorts([]string{at.Port})
		if err != nil {
			return t, fmt.Errorf("attachments[%d]: %w", i, err)
		}
		for _, port := range ports {
			t.Attachments = append(t.Attachments, gen.Attachment{Port: port, SL: at.SL})
		}
	}
	return t, nil
}

// expanded lists a flow from each source to each other destination. The result is never nil: an empty declaration
// deletes the existing flows.
func expanded(list manifest.FlowsSpec) ([]gen.Flow, error) {
	out := []gen.Flow{}
	for i, f := range list {
		from, err := allPorts(f.From)
		if err != nil {
			return nil, fmt.Errorf("spec[%d]: %w", i, err)
		}
		to, err := allPorts(f.To)
		if err != nil {
			return nil, fmt.Errorf("spec[%d]: %w", i, err)
		}
		if n := len(from) * len(to); n > tenants.MaxFlows-len(out) {
			return nil, &phrase.Error{Text: phrase.Of("apply.too-many-flows", "spec", i, "sources", len(from), "destinations", len(to), "max", tenants.MaxFlows)}
		}
		demand := int64(f.Demand.BitRate)
		for _, src := range from {
			for _, dst := range to {
				if src != dst || len(from)*len(to) == 1 {
					out = append(out, gen.Flow{Tenant: f.Tenant, Class: given(f.Class), Src: src, Dst: dst, QPS: f.QPs, DemandBps: &demand})
				}
			}
		}
	}
	return out, nil
}

// allPorts expands the host sets of a list.
func allPorts(list []string) ([]string, error) {
	var out []string
	for _, text := range list {
		ports, err := expandPorts([]string{text})
		if err != nil {
			return nil, err
		}
		out = append(out, ports...)
	}
	return out, nil
}

// ports reports whether any declaration names ports, which exist only on a discovered fabric.
func (g *group) ports() bool {
	for _, t := range g.set.Tenants {
		if len(t.Attachments) > 0 {
			return true
		}
	}
	return len(g.set.Flows) > 0
}

// at returns the resource that represents the group in messages: its first.
func (g *group) at() *manifest.Resource {
	if len(g.tenants) > 0 {
		return g.tenants[0]
	}
	return g.flows
}

// tenants adds the steps for a fabric's tenants and flows: a discovery if ports are named but none are known, then one
// transaction.
func (a *applying) tenants(fabric string, g *group, p *place) error {
	c, ctx := a.c, a.cmd.Context()
	prune := a.prune && fabric == c.fabricName
	// The service rejects the transaction if tenants or flows have changed since they were shown.
	var seen *string
	apply := func(dry bool, set gen.TenantSet, prune bool) (*gen.TenantSetResult, error) {
		r, err := a.client.ApplyTenantsWithResponse(ctx, fabric, &gen.ApplyTenantsParams{DryRun: &dry, Prune: &prune, IfMatch: seen}, set)
		result, err := found[gen.TenantSetResult](c)(r, err)
		if err == nil {
			tag := r.HTTPResponse.Header.Get("ETag")
			seen = &tag
		}
		return result, a.located(g, err)
	}
	s := step{id: "tenants/" + fabric, at: g.at().At, run: func() error { _, err := apply(false, g.set, prune); return err }}
	if p.isNew || !p.discovered && g.ports() {
		if g.ports() {
			id := "fabric/" + fabric
			a.steps = append(a.steps, step{id: id + " discover", at: g.at().At, later: p.isNew, changes: []change{{Change: "*", Object: id, Field: "discover"}}, run: func() error {
				return c.judge(a.client.DiscoverFabricWithResponse(ctx, fabric, nil))
			}})
		}
		there := map[string]bool{}
		if !p.isNew {
			if _, err := apply(true, gen.TenantSet{Tenants: []gen.TenantCreate{}}, false); err != nil { // changes nothing
				return err
			}
			list, err := allOf(a.cmd, a.client, fabric, c.tenantPage)
			if err != nil {
				return a.refused(g.at(), err)
			}
			for _, t := range list {
				there[t.Name] = true
				if prune && !slices.ContainsFunc(g.tenants, func(r *manifest.Resource) bool { return r.Name == t.Name }) {
					s.changes = append(s.changes, change{Change: "-", Object: "tenant/" + fabric + "/" + t.Name})
				}
			}
		}
		for _, t := range g.tenants {
			if there[t.Name] { // its changes can be shown only once its ports are known
				s.changes = append(s.changes, change{Change: "~", Object: t.ID()})
				continue
			}
			p.made[t.Name] = true
			s.changes = append(s.changes, change{Change: "+", Object: t.ID(), Field: "weight", After: t.Spec.(*manifest.TenantSpec).Weight.Float()})
		}
		if g.flows != nil {
			s.changes = append(s.changes, change{Change: "+", Object: g.flows.ID(), Field: "flows", After: len(g.set.Flows)})
		}
		s.later = true
		a.steps = append(a.steps, s)
		return nil
	}
	result, err := apply(true, g.set, prune)
	if err != nil {
		return err
	}
	return a.tenantChanges(fabric, g, p, result, s)
}

// tenantChanges converts the result of a dry run to lines, and adds the step if there are any.
func (a *applying) tenantChanges(fabric string, g *group, p *place, result *gen.TenantSetResult, s step) error {
	byName := map[string]int{}
	for i, t := range g.tenants {
		byName[t.Name] = i
	}
	for _, name := range result.Created {
		p.made[name] = true
		s.changes = append(s.changes, change{Change: "+", Object: g.tenants[byName[name]].ID(), Field: "weight", After: g.set.Tenants[byName[name]].Weight})
	}
	for i, name := range result.Updated {
		id := g.tenants[byName[name]].ID()
		var fields []change
		if i < maxDetailed {
			var err error
			if fields, err = a.tenantFields(fabric, id, g.set.Tenants[byName[name]]); err != nil {
				return err
			}
		}
		if len(fields) == 0 {
			fields = []change{{Change: "~", Object: id}}
		}
		s.changes = append(s.changes, fields...)
	}
	for _, name := range result.Deleted {
		s.changes = append(s.changes, change{Change: "-", Object: "tenant/" + fabric + "/" + name})
	}
	if result.FlowsChanged {
		now, err := a.c.flows(a.cmd, a.client, fabric)
		if err != nil {
			return err
		}
		s.changes = append(s.changes, change{Change: "~", Object: g.flows.ID(), Field: "flows", Before: len(now.Flows), After: len(g.set.Flows)})
	}
	a.same += len(result.Unchanged)
	if g.flows != nil && !result.FlowsChanged {
		a.same++
	}
	if len(s.changes) > 0 {
		a.steps = append(a.steps, s)
	}
	return nil
}

// tenantFields compares a tenant with the result of applying it. The service has already accepted the whole set. A
// tenant that cannot be changed alone, because its flows change with it, is shown without fields.
func (a *applying) tenantFields(fabric, id string, t gen.TenantCreate) ([]change, error) {
	ctx, c := a.cmd.Context(), a.c
	now, err := found[gen.Tenant](c)(a.client.GetTenantWithResponse(ctx, fabric, t.Name))
	if err != nil {
		return nil, err
	}
	next, err := found[gen.Tenant](c)(a.client.UpdateTenantWithResponse(ctx, fabric, t.Name, &gen.UpdateTenantParams{DryRun: new(true), IfMatch: new("*")}, updateOf(&t)))
	var problem *apiclient.ProblemError
	if errors.As(err, &problem) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return differences(id, now, next), nil
}

// located maps the places in a rejected set to files and lines.
func (a *applying) located(g *group, err error) error {
	var problem *apiclient.ProblemError
	if !errors.As(err, &problem) {
		return err
	}
	var faults []string
	for _, f := range problem.Errors {
		part, rest, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		number, field, _ := strings.Cut(rest, "/")
		i, bad := strconv.Atoi(number)
		var at *manifest.Resource
		switch {
		case bad == nil && part == "tenants" && i < len(g.tenants):
			at = g.tenants[i]
		case part == "flows" && g.flows != nil:
			at = g.flows
			if bad == nil && i < len(g.set.Flows) {
				f := g.set.Flows[i]
				field = a.c.texts.Say(phrase.Of("apply.flow", "tenant", f.Tenant, "source", f.Src, "destination", f.Dst, "field", field))
			}
		default:
			return a.refused(g.at(), err)
		}
		faults = append(faults, fmt.Sprintf("%s: %s: %s: %s", at.At, at.ID(), field, a.c.texts.Either(f.Detail, f.Said)))
	}
	if len(faults) == 0 || !problem.BadInput() {
		return a.refused(g.at(), err)
	}
	return usage.Errorf("%s", strings.Join(faults, "\n"))
}
