package placement

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/fieldwise"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/subnet/ufm"
)

// byUFM places tenants through UFM, and verifies by path queries that its subnet manager assigns the planned service
// levels.
type byUFM struct {
	*verifyOnly
	client *ufm.Client
	force  bool // service levels that another writer set are replaced, too
}

var _ Port = (*byUFM)(nil)

func (p *byUFM) Check(ctx context.Context, plan, before *policy.Plan) error {
	o, err := p.placement(plan, before)
	if err != nil {
		return err
	}
	have, err := p.client.Partitions(ctx)
	if err != nil {
		return err
	}
	_, err = ufm.Plan(have, o)
	return err
}

// Place removes stale entries last, because UFM has no two-phase placement.
func (p *byUFM) Place(ctx context.Context, plan, before *policy.Plan, _ bool) error {
	o, err := p.placement(plan, before)
	if err != nil {
		return err
	}
	_, err = p.client.Place(ctx, o)
	return err
}

// placement returns the content of UFM for a plan, while entries of the plan before it remain.
func (p *byUFM) placement(plan, before *policy.Plan) (o ufm.Placement, err error) {
	o.Force = p.force
	if o.Want, err = p.partitions(plan); err == nil && before != nil {
		there := *before // partitions fails for ports that have left the fabric, and they need no removal
		there.Placements = slices.DeleteFunc(slices.Clone(before.Placements), func(e policy.Placement) bool {
			_, ok := p.topology.PortByID(e.Port)
			return !ok
		})
		if o.Before, err = p.partitions(&there); err != nil {
			err = fmt.Errorf("plan before: %w", err)
		}
	}
	return o, err
}

func (p *byUFM) Verify(ctx context.Context, plan *policy.Plan) error {
	if err := p.verifyOnly.Verify(ctx, plan); err != nil {
		return fmt.Errorf("%w; UFM has the partitions of the plan: a changed service level may need a restart of its subnet manager", err)
	}
	return nil
}

// partitions returns the partitions of a plan, with its tenants' ports as members.
func (p *byUFM) partitions(plan *policy.Plan) ([]ufm.Partition, error) {
	each, err := onePerPartition(plan.Placements, "UFM")
	if err != nil {
		return nil, err
	}
	var out []ufm.Partition
	at := map[ident.PKey]int{}
	for _, e := range each {
		if e.PKey.Base() == 0 || e.PKey.Base() == ident.DefaultPKey.Base() {
			return nil, fmt.Errorf("tenant %s is in the default partition, which UFM keeps for itself: give it a partition of its own (pkey)", e.Tenant)
		}
		at[e.PKey.Base()] = len(out)
		out = append(out, ufm.Partition{PKey: e.PKey.Base(), SL: e.SL, IPoIB: true})
	}
	seen := map[policy.Placement]bool{}
	for _, e := range plan.Placements {
		one := policy.Placement{PKey: e.PKey.Base(), Port: e.Port}
		ref, ok := p.topology.PortByID(e.Port)
		if !ok {
			return nil, fmt.Errorf("placement of tenant %s: port %s is not on the fabric", e.Tenant, e.Port)
		}
		if seen[one] {
			continue
		}
		seen[one] = true
		to := &out[at[one.PKey]]
		to.Members = append(to.Members, ufm.Member{Port: p.topology.Port(ref).GUID, Full: true})
	}
	return out, nil
}

func (p *byUFM) Refusal(ctx context.Context, plan *policy.Plan) error {
	return p.Check(ctx, plan, plan)
}

func (p *byUFM) Drift(ctx context.Context, plan *policy.Plan, ask []ident.PKey) (out []control.Difference, leftover bool, err error) {
	o, err := p.placement(plan, nil)
	if err != nil {
		return nil, false, err
	}
	have, err := p.client.Partitions(ctx)
	if err != nil {
		return nil, false, err
	}
	changes, err := ufm.Plan(have, o)
	if err != nil {
		return nil, false, err
	}
	for _, c := range changes {
		field := "partition " + c.PKey.String() + " in UFM"
		switch c.Kind {
		case ufm.Create:
			out = append(out, control.Difference{Field: field, Desired: fmt.Sprintf("SL %d", c.After), Observed: fieldwise.Absent})
		case ufm.SetSL:
			if c.Before != c.After {
				out = append(out, control.Difference{Field: field, Desired: fmt.Sprintf("SL %d", c.After), Observed: fmt.Sprintf("SL %d", c.Before)})
			}
		default:
			out = append(out, control.Difference{Field: field, Desired: fmt.Sprintf("%d ports more", len(c.Members)), Observed: "without them"})
		}
	}
	answers, _, err := p.verifyOnly.Drift(ctx, plan, ask)
	return append(out, answers...), false, err
}
