package policy

import (
	"math"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/wrcc"
)

// unreachedFrom is the predicted error from which weight-unreachable names a tenant: 5 %, less the uncertainty of the prediction itself.
const unreachedFrom = 0.045

// shareFindings reports where the prediction misses the target.
func shareFindings(m *model.Model, p *plan.Plan) []plan.Finding {
	var out []plan.Finding
	missed := missedBy(p)
	for _, t := range p.Tenants {
		x := missed[t.Tenant]
		var statement phrase.Text
		switch {
		case t.PredictedError > unreachedFrom:
			statement = phrase.Of("plan.weight-unreachable", "tenant", t.Tenant, "entitled", t.Entitled, "predicted", t.Predicted)
		case x != nil && len(x.parts) > 0:
			statement = phrase.Of("plan.parts-unreachable", "tenant", t.Tenant, "parts", x.texts())
		default:
			continue
		}
		var links []string
		if x != nil {
			links = x.links
		}
		out = append(out, plan.NewFinding(plan.CodeWeightUnreachable, []string{t.Tenant}, links, statement, missAdvice(m, &t)))
	}
	for _, l := range p.Links {
		if !slices.ContainsFunc(l.Tenants, misses) || inProportion(l.Tenants) {
			continue
		}
		ref, _ := m.Fabric.PortByID(l.Port)
		if m.Fabric.Nodes[ref.Node].Kind != subnet.KindCA {
			continue
		}
		var names []string
		for _, t := range l.Tenants {
			names = append(names, t.Tenant)
		}
		how := phrase.Of("plan.turns")
		if m.Plane == subnet.PlaneRoCE {
			how = phrase.Of("plan.vf-turns")
		}
		out = append(out, plan.NewFinding(plan.CodeSourcePort, names, []string{l.Name},
			phrase.Of("plan.source-port-contended", "port", m.Fabric.PortName(ref), "how", how, "parts", predictedList(l.Tenants)), seeOthers))
	}
	return out
}

// missed lists where a tenant is predicted to get too much or too little: the first contended links with an error above 1 %, and the first
// classes and links, in words, with an error above 5 %, with the number of further ones.
type missed struct {
	links []string
	parts []phrase.Text
	more  int
}

// part adds a part, in words while there are few: printing thousands would be slow.
func (x *missed) part(words func() phrase.Text) {
	if len(x.parts) == plan.MaxNames {
		x.more++
		return
	}
	x.parts = append(x.parts, words())
}

// texts returns the parts, with the number of further ones.
func (x *missed) texts() []phrase.Text {
	if x.more == 0 {
		return x.parts
	}
	return append(slices.Clip(x.parts), phrase.Of("list.and-more", "n", x.more))
}

// missedBy lists by tenant what it misses.
func missedBy(p *plan.Plan) map[string]*missed {
	off := func(predicted, entitled quantity.BitRate) bool {
		return math.Abs(float64(predicted-entitled)) > float64(0.05*float64(entitled))+1 // the rates are rounded
	}
	out := make(map[string]*missed)
	of := func(tenant string) *missed {
		x := out[tenant]
		if x == nil {
			x = &missed{}
			out[tenant] = x
		}
		return x
	}
	for _, c := range p.Classes {
		if off(c.Predicted, c.Entitled) {
			of(c.Tenant).part(func() phrase.Text {
				return phrase.Of("plan.class-part", "class", c.Class, "predicted", c.Predicted, "entitled", c.Entitled)
			})
		}
	}
	for i := range p.Links {
		l := &p.Links[i]
		for k := range l.Tenants {
			t := &l.Tenants[k]
			if misses(*t) {
				if x := of(t.Tenant); len(x.links) < plan.MaxNames {
					x.links = append(x.links, l.Name)
				}
			}
			if off(t.Predicted, t.Entitled) {
				of(t.Tenant).part(func() phrase.Text {
					return phrase.Of("plan.link-part", "link", l.Name, "predicted", t.Predicted, "entitled", t.Entitled)
				})
			}
		}
	}
	return out
}

func misses(t plan.LinkTenant) bool {
	d := t.Predicted - t.Entitled
	return d*100 > t.Entitled || -d*100 > t.Entitled
}

// inProportion reports whether the predicted parts of tenants are in proportion to their entitlements, to 1 %. If so, the cause of their
// misses is elsewhere, since turns of queue pairs would favour a tenant.
func inProportion(ts []plan.LinkTenant) bool {
	least, most := math.Inf(1), 0.0
	for _, t := range ts {
		if t.Entitled > 0 {
			x := float64(t.Predicted) / float64(t.Entitled)
			least, most = min(least, x), max(most, x)
		} else if t.Predicted > 0 {
			return false
		}
	}
	return most <= least*1.01
}

// missAdvice returns the advice for a tenant that misses its share: that of other findings, unless the miss is the part that acknowledgements
// of slow queue pairs take of links that are full in both directions.
func missAdvice(m *model.Model, t *plan.TenantShare) phrase.Text {
	slow, fast := wrcc.MaxAckShare, wrcc.AckShare(wrcc.AckRate)
	if missed := 1 - float64(t.Predicted)/float64(t.Entitled); m.Plane != subnet.PlaneWRCC || !(math.Abs(missed-slow) <= 0.002) {
		return seeOthers
	}
	return phrase.Of("plan.ack-load.fix",
		"rate", quantity.BitRate(wrcc.AckRate), "packets", wrcc.AckEvery, "fast", phrase.PercentOf(fast, 1), "slow", phrase.PercentOf(slow, 1))
}

func predictedList(ts []plan.LinkTenant) []phrase.Text {
	parts := make([]phrase.Text, len(ts))
	for i, t := range ts {
		parts[i] = plan.InsteadOf(t.Tenant, t.Predicted, t.Entitled)
	}
	return parts
}
