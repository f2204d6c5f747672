package placement

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/joined"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/saquery"
)

// verifyOnly is the port to a subnet manager that Fairlane does not configure. On a simulated fabric in this process it
// sets the service levels of partitions directly. Elsewhere it only verifies, by PathRecord queries, that subnet
// administration returns the planned ones.
type verifyOnly struct {
	transport mad.Transport
	topology  *subnet.Fabric
	set       func(ident.PKey, ident.SL) int // nil where only the subnet manager can set them
}

var _ Port = (*verifyOnly)(nil)

// simulatedSM names the subnet manager of a simulated fabric in messages.
const simulatedSM = "the simulated subnet manager"

// Check requires that placements that cannot be changed from here are in force already.
func (p *verifyOnly) Check(ctx context.Context, plan, _ *policy.Plan) error {
	if p.set == nil {
		return p.Verify(ctx, plan)
	}
	_, err := onePerPartition(plan.Placements, simulatedSM)
	return err
}

// Place, with clear, sets partitions that only the plan before needed to service level 0, their level before the first
// placement.
func (p *verifyOnly) Place(_ context.Context, plan, before *policy.Plan, clear bool) error {
	if p.set == nil {
		return nil
	}
	each, err := onePerPartition(plan.Placements, simulatedSM)
	if err != nil {
		return err
	}
	for _, e := range each {
		p.set(e.PKey, e.SL)
	}
	if !clear || before == nil {
		return nil
	}
	for _, e := range before.Placements {
		if !slices.ContainsFunc(each, func(o policy.Placement) bool { return basePKey(o) == basePKey(e) }) {
			p.set(e.PKey, 0)
		}
	}
	return nil
}

// Verify queries subnet administration for a path of each partition and compares its service level.
func (p *verifyOnly) Verify(ctx context.Context, plan *policy.Plan) error {
	each, err := distinct(plan.Placements)
	if err != nil || len(each) == 0 {
		return err
	}
	sa, err := saquery.MasterLID(ctx, p.transport)
	if err != nil {
		return err
	}
	var wrong joined.Errors
	for _, e := range each {
		lid, err := p.lid(e)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		got, err := saquery.PathSL(ctx, p.transport, sa, lid, lid, e.PKey)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("path of tenant %s in partition %s: %w", e.Tenant, e.PKey, err))
		case got != e.SL:
			advice := fmt.Sprintf("set sl=%d for the partition in the subnet manager's partitions.conf", e.SL)
			if slices.ContainsFunc(each, func(o policy.Placement) bool { return basePKey(o) == basePKey(e) && o.SL != e.SL }) {
				advice = "other ports of the partition need another one, so let the subnet manager choose by port, in OpenSM by a QoS policy"
			}
			wrong = append(wrong, fmt.Errorf("tenant %s: subnet administration returns SL %d in partition %s, the plan needs SL %d: %s", e.Tenant, got, e.PKey, e.SL, advice))
		}
	}
	return wrong.OrNil()
}

// lid returns the LID of a placement's port.
func (p *verifyOnly) lid(e policy.Placement) (ident.LID, error) {
	ref, ok := p.topology.PortByID(e.Port)
	if !ok {
		return 0, fmt.Errorf("placement of tenant %s: port %s is not on the fabric", e.Tenant, e.Port)
	}
	return p.topology.Port(ref).LID, nil
}

// distinct returns one placement for each partition and service level in it, because subnet administration knows
// partitions and ports but not tenants. It fails if a plan needs two service levels for a port in one partition, which
// no subnet manager can assign.
func distinct(ps []policy.Placement) ([]policy.Placement, error) {
	type place struct {
		base ident.PKey
		port ident.PortID
	}
	at, reported := map[place]policy.Placement{}, map[ident.PKey]bool{}
	seen := map[ident.PKey][]ident.SL{}
	var out []policy.Placement
	var wrong joined.Errors
	for _, e := range ps {
		base := basePKey(e)
		if !slices.Contains(seen[base], e.SL) {
			seen[base] = append(seen[base], e.SL)
			out = append(out, e)
		}
		switch first, dup := at[place{base, e.Port}]; {
		case !dup:
			at[place{base, e.Port}] = e
		case first.SL != e.SL && !reported[base]:
			reported[base] = true
			wrong = append(wrong, fmt.Errorf("partition %s: tenant %s needs SL %d and tenant %s needs SL %d on one port, but a port has one in a partition: give each tenant a partition of its own",
				base, first.Tenant, first.SL, e.Tenant, e.SL))
		}
	}
	return out, wrong.OrNil()
}

// basePKey returns the partition of a placement.
func basePKey(e policy.Placement) ident.PKey {
	if base := e.PKey.Base(); base != 0 {
		return base
	}
	return ident.DefaultPKey.Base() // no P_Key given
}

// onePerPartition is distinct for managers with one service level for each partition, whatever the port. who names the
// manager.
func onePerPartition(ps []policy.Placement, who string) ([]policy.Placement, error) {
	out, err := distinct(ps)
	if err != nil {
		return nil, err
	}
	seen := map[ident.PKey]policy.Placement{}
	var wrong joined.Errors
	for _, e := range out {
		base := basePKey(e)
		first, dup := seen[base]
		if !dup {
			seen[base] = e
			continue
		}
		needs := fmt.Sprintf("tenant %s needs SL %d and tenant %s needs SL %d", first.Tenant, first.SL, e.Tenant, e.SL)
		if first.Tenant == e.Tenant {
			needs = fmt.Sprintf("tenant %s needs SL %d on some ports and SL %d on others", e.Tenant, first.SL, e.SL)
		}
		wrong = append(wrong, fmt.Errorf("partition %s: %s, and %s has one service level for a partition: free SLs, or give each part a tenant and a partition of its own", base, needs, who))
	}
	return out, wrong.OrNil()
}
