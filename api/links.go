package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// maxTierNames bounds the names that a tier lists.
const maxTierNames = 100

func (s *Server) GetTiers(ctx context.Context, r server.GetTiersRequestObject) (server.GetTiersResponseObject, error) {
	snap, f, err := s.control.Topology(ctx, r.Fabric, deref(r.Params.Snapshot))
	if err != nil {
		return nil, err
	}
	return server.GetTiers200JSONResponse(tiersOut(snap.SHA256, f)), nil
}

func tiersOut(sha string, f *subnet.Fabric) gen.Tiers {
	heights := f.Tiers()
	out := gen.Tiers{Snapshot: sha, Tiers: []gen.Tier{}, Bundles: []gen.Bundle{}}
	if len(heights) > 0 {
		out.Tiers = make([]gen.Tier, slices.Max(heights)+1)
	}
	for i := range out.Tiers {
		out.Tiers[i].Tier = i
	}
	for i, h := range heights {
		t := &out.Tiers[h]
		if f.Nodes[i].Kind != subnet.KindSwitch {
			t.Hosts++
			continue
		}
		if t.Switches++; len(t.Names) < maxTierNames {
			t.Names = append(t.Names, f.Nodes[i].Name)
		}
	}
	type pair struct{ lower, upper int }
	bundles := map[pair]*gen.Bundle{}
	for _, l := range f.Links {
		a, b := heights[l.A.Node], heights[l.B.Node]
		out.Tiers[a].Ports++
		out.Tiers[b].Ports++
		p := pair{min(a, b), max(a, b)}
		if bundles[p] == nil {
			bundles[p] = &gen.Bundle{Lower: p.lower, Upper: p.upper}
		}
		bundles[p].Links++
		bundles[p].CapacityBps += int64(l.Rate)
	}
	for _, b := range bundles {
		out.Bundles = append(out.Bundles, *b)
	}
	slices.SortFunc(out.Bundles, func(a, b gen.Bundle) int { return cmp.Or(a.Lower-b.Lower, a.Upper-b.Upper) })
	return out
}

func (s *Server) ListLinks(ctx context.Context, r server.ListLinksRequestObject) (server.ListLinksResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	snap, f, err := s.control.Topology(ctx, r.Fabric, deref(r.Params.Snapshot))
	if err != nil {
		return nil, err
	}
	use, err := s.linkUse(ctx, r.Fabric, deref(r.Params.Plan))
	if err != nil {
		return nil, err
	}
	heights := f.Tiers()
	var chosen []subnet.Link
	for _, l := range f.Links {
		if t := r.Params.Tier; t != nil && heights[l.A.Node] != *t && heights[l.B.Node] != *t {
			continue
		}
		if n := r.Params.Node; n != nil && !isNode(f, l.A.Node, *n) && !isNode(f, l.B.Node, *n) {
			continue
		}
		chosen = append(chosen, l)
	}
	rows, next, err := control.SlicePage(chosen, p)
	if err != nil {
		return nil, err
	}
	return server.ListLinks200JSONResponse{
		Snapshot: snap.SHA256, Plan: optional(use.plan), MeasuredAt: instant(use.measured.MeasuredAt), NextCursor: cursor(next),
		Items: mapped(rows, func(l subnet.Link) gen.Link {
			a, b := f.PortID(l.A), f.PortID(l.B)
			return gen.Link{
				A: a.String(), B: b.String(), AName: f.PortName(l.A), BName: f.PortName(l.B), ATier: heights[l.A.Node], BTier: heights[l.B.Node],
				RateBps: int64(l.Rate), DelayPs: int64(l.Delay), Directions: append(use.of(a), use.of(b)...),
			}
		}),
	}, nil
}

func isNode(f *subnet.Fabric, node int32, text string) bool {
	n := &f.Nodes[node]
	return n.Name == text || strings.EqualFold(n.GUID.String(), text)
}

// linkUse holds the predicted and measured use of links, by the transmitting port.
type linkUse struct {
	plan      string
	predicted map[ident.PortID]predictedUse
	measured  control.Shares
	links     map[ident.PortID]control.LinkUse
}

type predictedUse struct{ rate, capacity int64 }

// linkUse loads the predictions of a plan, "" for the one in force, and the latest measurement. Both are optional, unless
// the plan was named.
func (s *Server) linkUse(ctx context.Context, fabric, plan string) (linkUse, error) {
	u := linkUse{predicted: map[ident.PortID]predictedUse{}, links: map[ident.PortID]control.LinkUse{}}
	p, err := s.control.PlanOrInForce(ctx, fabric, plan)
	switch {
	case plan == "" && errors.Is(err, control.ErrConflict):
	case err != nil:
		return u, err
	default:
		u.plan = p.Plan.Name
		for _, l := range p.Plan.Links {
			x := predictedUse{capacity: int64(l.Capacity)}
			for _, t := range l.Tenants {
				x.rate += int64(t.Predicted)
			}
			u.predicted[l.Port] = x
		}
	}
	u.measured, err = s.control.LatestShares(ctx, fabric)
	if err != nil && !errors.Is(err, control.ErrNotFound) {
		return u, err
	}
	for _, l := range u.measured.Links {
		if l.Delivered != nil {
			u.links[l.Port] = l
		}
	}
	return u, nil
}

// of returns the use of the direction on which a port transmits; nil when nothing is known.
func (u *linkUse) of(port ident.PortID) []gen.LinkDirection {
	p, predicted := u.predicted[port]
	m, measured := u.links[port]
	if !predicted && !measured {
		return []gen.LinkDirection{}
	}
	d := gen.LinkDirection{Port: port.String()}
	if predicted {
		d.PredictedBps = &p.rate
		if p.capacity > 0 {
			d.PredictedUse = new(float64(p.rate) / float64(p.capacity))
		}
	}
	if measured {
		d.DeliveredBps, d.Use = (*int64)(m.Delivered), m.Use
	}
	return []gen.LinkDirection{d}
}
