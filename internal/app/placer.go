package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// placer brings tenants' traffic onto service levels where no subnet manager is ours to tell. Who hands out service levels
// is subnet administration, by partition: a simulated fabric in this process is told directly, any other
// is only asked, by PathRecord, whether it hands out what the plan needs.
type placer struct {
	transport mad.Transport
	topology  *subnet.Fabric
	set       func(ident.PKey, ident.SL) int // nil where only the subnet manager can
}

// Check implements reconcile.Placer: what nobody here can change must be in force already.
func (p *placer) Check(ctx context.Context, plan, _ *policy.Plan) error {
	if p.set == nil {
		return p.Verify(ctx, plan)
	}
	_, err := distinct(plan.Placements)
	return err
}

// Place implements reconcile.Placer.
func (p *placer) Place(_ context.Context, plan, _ *policy.Plan, _ bool) error {
	if p.set == nil {
		return nil
	}
	each, err := distinct(plan.Placements)
	if err != nil {
		return err
	}
	for _, e := range each {
		p.set(e.PKey, e.SL)
	}
	return nil
}

// Verify implements reconcile.Placer: it asks subnet administration for a path of each partition
// and compares the service level it hands out.
func (p *placer) Verify(ctx context.Context, plan *policy.Plan) error {
	each, err := distinct(plan.Placements)
	if err != nil || len(each) == 0 {
		return err
	}
	sa, err := p.administration(ctx)
	if err != nil {
		return err
	}
	var wrong faults
	for _, e := range each {
		ref, ok := p.topology.PortByID(e.Port)
		if !ok {
			wrong = append(wrong, fmt.Errorf("placement of tenant %s: port %s is not on the fabric", e.Tenant, e.Port))
			continue
		}
		lid := p.topology.Port(ref).LID
		got, err := pathSL(ctx, p.transport, sa, lid, lid, e.PKey)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("path of tenant %s in partition %s: %w", e.Tenant, e.PKey, err))
		case got != e.SL:
			wrong = append(wrong, fmt.Errorf("tenant %s: subnet administration hands out SL %d in partition %s, the plan needs SL %d: "+
				"set sl=%d for the partition in the subnet manager's partitions.conf", e.Tenant, got, e.PKey, e.SL, e.SL))
		}
	}
	return wrong.err()
}

// faults are several errors told in one line, as tables and events show them.
type faults []error

func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Error joins the texts by semicolons.
func (f faults) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (f faults) Unwrap() []error { return f }

// administration finds the LID of subnet administration: the master SM's, as our own port knows it.
func (p *placer) administration(ctx context.Context) (ident.LID, error) {
	info, err := ownPort(ctx, p.transport)
	if err != nil {
		return 0, fmt.Errorf("read own PortInfo: %w", err)
	}
	if !info.MasterSMLID.IsUnicast() {
		return 0, errors.New("no subnet administration: the port's master SM LID is not set")
	}
	return info.MasterSMLID, nil
}

// saNoRecords is the class-specific half of a status of subnet administration (IBTA vol. 1, 15.2.3).
const saNoRecords = 3

// pathSL asks subnet administration for a path between two ports in a partition and returns its service level.
func pathSL(ctx context.Context, t mad.Transport, sa, from, to ident.LID, pkey ident.PKey) (ident.SL, error) {
	req := mad.NewSA(mad.MethodGet, mad.AttrPathRecord, 0)
	req.SetComponentMask(mad.PathCompSLID | mad.PathCompDLID | mad.PathCompPKey | mad.PathCompNumbPath)
	query := mad.PathRecord{SLID: from, DLID: to, PKey: pkey, NumbPath: 1}
	if err := query.Encode(req.Data()); err != nil {
		return 0, err
	}
	resp, err := t.Exchange(ctx, mad.Target{LID: sa}, &req)
	if err != nil {
		return 0, err
	}
	if s := resp.Status(); s>>8 == saNoRecords {
		return 0, fmt.Errorf("subnet administration knows no path: partition %s is not in the subnet manager's partitions.conf, or the port is not a member", pkey)
	} else if s != mad.StatusOK {
		return 0, fmt.Errorf("subnet administration answers status 0x%04x", uint16(s))
	}
	var rec mad.PathRecord
	if err := rec.Decode(resp.Data()); err != nil {
		return 0, err
	}
	return rec.SL, nil
}

// distinct is one placement for each partition: subnet administration knows partitions, not tenants. It
// fails when a plan wants two service levels for one, which no subnet manager can hand out.
func distinct(ps []policy.Placement) ([]policy.Placement, error) {
	seen, told := map[ident.PKey]policy.Placement{}, map[ident.PKey]bool{}
	var out []policy.Placement
	var wrong faults
	for _, e := range ps {
		base := e.PKey.Base()
		if base == 0 {
			base = ident.DefaultPKey.Base() // none given
		}
		switch first, dup := seen[base]; {
		case !dup:
			seen[base] = e
			out = append(out, e)
		case first.SL != e.SL && !told[base]:
			told[base] = true
			wrong = append(wrong, fmt.Errorf("partition %s: tenant %s needs SL %d and tenant %s needs SL %d, but a partition has one: give each tenant a partition of its own",
				base, first.Tenant, first.SL, e.Tenant, e.SL))
		}
	}
	return out, wrong.err()
}
