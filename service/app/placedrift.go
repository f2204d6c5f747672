package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/reconcile"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/saquery"
	"fairlane/subnet/ufm"
)

// askedPartitions bounds the partitions that subnet administration is asked about in one look for drift: of a plan with more,
// the next look takes the next ones.
const askedPartitions = 32

// maxDeviations bounds what is kept of a subnet manager that is nothing like wanted.
const maxDeviations = 64

// placing is a Placer that can also be looked at.
type placing interface {
	reconcile.Placer
	// drift lists the deviations from a plan's placements. It queries subnet administration about the partitions of ask, by
	// their base P_Keys; nil is all. It changes nothing. leftover reports that an earlier plan placed all that it found.
	drift(ctx context.Context, p *policy.Plan, ask []ident.PKey) (found []control.Difference, leftover bool, err error)
	// refusal is why a repair of what drifted would be refused; nil when it would not.
	refusal(ctx context.Context, p *policy.Plan) error
}

// observe looks at the subnet manager of a target's fabric by its port, at all of its answers or at a sample that is another one
// each time.
func (p *placements) observe(ctx context.Context, t control.Target, port placing, all bool) control.DeviceReport {
	r := control.DeviceReport{Device: reconcile.Manager(), State: string(reconcile.InSync)}
	var ask []ident.PKey
	if !all {
		ask = sampled(partitionsOf(t.Plan), p.watch.turn(t.Fabric.Name))
	}
	found, leftover, err := port.drift(ctx, t.Plan, ask)
	switch {
	case err != nil:
		r.State, r.Error = string(reconcile.Failed), err.Error()
	case len(found) > 0:
		r.State, r.Differences = string(reconcile.Drifted), found[:min(len(found), maxDeviations)]
		r.Leftover = leftover
		if err := port.refusal(ctx, t.Plan); err != nil {
			r.Refused, r.Error = true, err.Error()
		}
	}
	return r
}

// partitionsOf are the base P_Keys of a plan in ascending order.
func partitionsOf(p *policy.Plan) (out []ident.PKey) {
	for i := range p.Placements {
		out = append(out, basePKey(p.Placements[i]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sampled takes at most askedPartitions of a list: those of a turn, counted from 0. As many turns as it takes see all.
func sampled(list []ident.PKey, turn int) []ident.PKey {
	if len(list) <= askedPartitions {
		return list
	}
	from := turn % ((len(list) + askedPartitions - 1) / askedPartitions) * askedPartitions
	return list[from:min(from+askedPartitions, len(list))]
}

// drift implements placing.
func (p *placer) drift(ctx context.Context, plan *policy.Plan, ask []ident.PKey) (out []control.Difference, leftover bool, err error) {
	each, err := distinct(plan.Placements)
	if err != nil {
		return nil, false, err
	}
	sa, err := p.administration(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, e := range each {
		if ask != nil && !slices.Contains(ask, basePKey(e)) {
			continue
		}
		got, err := p.answer(ctx, sa, plan, e)
		if err != nil {
			return nil, false, fmt.Errorf("path of tenant %s in partition %s: %w", e.Tenant, e.PKey, err)
		}
		if want := fmt.Sprintf("SL %d", e.SL); got != "" && got != want {
			out = append(out, control.Difference{Field: fmt.Sprintf("path of %s in partition %s", e.Tenant, e.PKey), Desired: want, Observed: got})
		}
	}
	return out, false, nil
}

// spareHosts is how many ports of a partition are asked about when the first ones are down.
const spareHosts = 4

// answer is what subnet administration says of a partition, asked about the first of the ports with the service level wanted that is
// up; "" when none is.
func (p *placer) answer(ctx context.Context, sa ident.LID, plan *policy.Plan, want policy.Placement) (string, error) {
	tried := 0
	for _, e := range plan.Placements {
		if basePKey(e) != basePKey(want) || e.SL != want.SL {
			continue
		}
		if tried++; tried > spareHosts {
			break
		}
		lid, err := p.lid(e)
		if err != nil {
			return "", err
		}
		sl, err := saquery.PathSL(ctx, p.transport, sa, lid, lid, e.PKey)
		if err == nil {
			return fmt.Sprintf("SL %d", sl), nil
		}
		if !errors.As(err, new(saquery.NoPathError)) {
			return "", err
		}
		_, err = saquery.Path(ctx, p.transport, sa, mad.PathRecord{SLID: lid, DLID: lid}, 0) // in whatever partition
		if err == nil {
			return "no path", nil
		}
		if !errors.As(err, new(saquery.NoPathError)) {
			return "", err
		}
	}
	return "", nil
}

// refusal implements placing.
func (p *placer) refusal(_ context.Context, plan *policy.Plan) error {
	if p.set != nil {
		return nil
	}
	each, err := distinct(plan.Placements)
	if err != nil {
		return err
	}
	if len(each) > len(partitionsOf(plan)) {
		return errors.New("this subnet manager is not ours to tell: let it choose by port where a partition has several SLs, in OpenSM by a QoS policy, or name its files in subnet_managers")
	}
	return errors.New("this subnet manager is not ours to tell: set sl= for the partition in its partitions.conf, or name its files in subnet_managers")
}

// refusal implements placing.
func (p osmPlacer) refusal(ctx context.Context, plan *policy.Plan) error {
	return p.Check(ctx, plan, plan)
}

// refusal implements placing.
func (p *ufmPlacer) refusal(ctx context.Context, plan *policy.Plan) error {
	return p.Check(ctx, plan, plan)
}

// drift implements placing.
func (p osmPlacer) drift(ctx context.Context, plan *policy.Plan, ask []ident.PKey) (out []control.Difference, leftover bool, err error) {
	found, err := p.Drift(ctx, plan, ask)
	leftover = len(found) > 0
	for _, d := range found {
		out = append(out, managerDifference(d))
		leftover = leftover && d.Left
	}
	return out, leftover, err
}

// drift implements placing.
func (p *ufmPlacer) drift(ctx context.Context, plan *policy.Plan, ask []ident.PKey) (out []control.Difference, leftover bool, err error) {
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
			out = append(out, control.Difference{Field: field, Desired: fmt.Sprintf("SL %d", c.After), Observed: ibcc.Absent})
		case ufm.SetSL:
			if c.Before != c.After {
				out = append(out, control.Difference{Field: field, Desired: fmt.Sprintf("SL %d", c.After), Observed: fmt.Sprintf("SL %d", c.Before)})
			}
		default:
			out = append(out, control.Difference{Field: field, Desired: fmt.Sprintf("%d ports more", len(c.Members)), Observed: "without them"})
		}
	}
	answers, _, err := p.placer.drift(ctx, plan, ask)
	return append(out, answers...), false, err
}
