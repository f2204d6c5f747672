package opensm

import (
	"context"
	"errors"
	"fmt"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm/osmfile"
	"fairlane/subnet/saquery"
)

// LaneProof is the result of comparing the lane tables of a channel adapter's port with the desired ones.
type LaneProof struct {
	LID     ident.LID `json:"lid"`
	Holds   bool      `json:"holds"`
	Silent  bool      `json:"silent,omitempty"` // no answer, as from a device with an M_Key
	Problem string    `json:"problem,omitempty"`
}

// adapterLanes returns the desired table of adapter ports; nil for none.
func adapterLanes(d osmfile.Desired) *osmfile.Lanes {
	for i := range d.Lanes {
		if d.Lanes[i].Kind == osmfile.AdapterPort {
			return &d.Lanes[i]
		}
	}
	return nil
}

// port compares the tables of a port with the desired ones.
func (p *prover) port(ctx context.Context, lid ident.LID) (LaneProof, error) {
	out := LaneProof{LID: lid, Holds: true}
	problem, err := p.lanesAt(ctx, lid)
	switch {
	case errors.Is(err, mad.ErrTimeout):
		out.Silent, out.Problem = true, fmt.Sprintf("LID %d does not report its tables", lid)
		return out, nil
	case err != nil:
		return out, err
	case problem != "":
		out.Holds, out.Problem = false, fmt.Sprintf("LID %d: %s", lid, problem)
	}
	return out, nil
}

// lanesAt describes the difference at a port; "" for none. OpenSM maps lanes that a link lacks to lanes that it has.
func (p *prover) lanesAt(ctx context.Context, lid ident.LID) (string, error) {
	var info mad.PortInfo
	if err := p.get(ctx, lid, mad.AttrPortInfo, 0, &info); err != nil {
		return "", err
	}
	fold := func(vl ident.VL) ident.VL {
		if vl == ident.ManagementVL || info.OperationalVLs == 0 {
			return vl
		}
		return vl & (1<<(info.OperationalVLs-1) - 1)
	}
	if p.lanes.HighLimit != nil && int(info.VLHighLimit) != *p.lanes.HighLimit {
		return fmt.Sprintf("high limit %d, not %d", info.VLHighLimit, *p.lanes.HighLimit), nil
	}
	if p.lanes.SL2VL != nil {
		var got mad.SLToVLTable
		if err := p.get(ctx, lid, mad.AttrSLToVLTable, 0, &got); err != nil {
			return "", err
		}
		for sl, vl := range p.lanes.SL2VL {
			if got[sl] != fold(vl) {
				return fmt.Sprintf("SL %d is on VL %d, not %d", sl, got[sl], fold(vl)), nil
			}
		}
	}
	if p.lanes.Low != nil {
		var got mad.VLArbitration
		if err := p.get(ctx, lid, mad.AttrVLArbitration, mad.VLArbModifier(mad.VLArbLowFirst, info.LocalPort), &got); err != nil {
			return "", err
		}
		for i := range min(len(p.lanes.Low), len(got), int(info.VLArbLowCap)) {
			want := mad.VLArbEntry{VL: fold(p.lanes.Low[i].VL), Weight: p.lanes.Low[i].Weight}
			if got[i] != want {
				return fmt.Sprintf("entry %d of the low table is VL %d with %d, not VL %d with %d", i, got[i].VL, got[i].Weight, want.VL, want.Weight), nil
			}
		}
	}
	return "", nil
}

// get reads an attribute of subnet management.
func (p *prover) get(ctx context.Context, lid ident.LID, attr mad.AttrID, modifier uint32, into mad.Attribute) error {
	req := mad.NewSMP(mad.MethodGet, attr, modifier)
	return saquery.Read(ctx, p.transport, mad.Target{LID: lid}, &req, into)
}
