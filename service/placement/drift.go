package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/saquery"
)

func (p *verifyOnly) Drift(ctx context.Context, plan *policy.Plan, ask []ident.PKey) (out []control.Difference, leftover bool, err error) {
	each, err := distinct(plan.Placements)
	if err != nil {
		return nil, false, err
	}
	sa, err := saquery.MasterLID(ctx, p.transport)
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

// spareHosts is how many ports of a partition are queried while those before are down.
const spareHosts = 4

// answer returns subnet administration's answer for a partition, queried for the first port that is up among those with
// the planned service level; "" if none is up.
func (p *verifyOnly) answer(ctx context.Context, sa ident.LID, plan *policy.Plan, want policy.Placement) (string, error) {
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
		_, err = saquery.Path(ctx, p.transport, sa, mad.PathRecord{SLID: lid, DLID: lid}, mad.PathCompSLID|mad.PathCompDLID) // in any partition
		if err == nil {
			return "no path", nil
		}
		if !errors.As(err, new(saquery.NoPathError)) {
			return "", err
		}
	}
	return "", nil
}

func (p *verifyOnly) Refusal(_ context.Context, plan *policy.Plan) error {
	if p.set != nil {
		return nil
	}
	each, err := distinct(plan.Placements)
	if err != nil {
		return err
	}
	if len(each) > len(partitionsOf(plan)) {
		return errors.New("Fairlane does not configure this subnet manager: let it choose by port where a partition has several SLs, in OpenSM by a QoS policy, or name its files in subnet_managers")
	}
	return errors.New("Fairlane does not configure this subnet manager: set sl= for the partition in its partitions.conf, or name its files in subnet_managers")
}
