package policy

import (
	"fmt"

	"fairlane/internal/phrase"
)

// uncertainFrom is the bound above which a finding names the tenant.
const uncertainFrom = 0.10

// uncertainFinding names the tenants on contended links whose prediction has a wide bound, with the rates between which each is expected.
func (m *model) uncertainFinding(p *Plan) []Finding {
	on := make(map[string]bool)
	for i := range p.Links {
		for _, t := range p.Links[i].Tenants {
			on[t.Tenant] = true
		}
	}
	var names []string
	var said []phrase.Text
	for i := range p.Tenants {
		t := &p.Tenants[i]
		if !on[t.Tenant] || t.Bound <= uncertainFrom {
			continue
		}
		names = append(names, t.Tenant)
		if len(said) < maxNames {
			low, high := float64(float64(t.Predicted)*(1-t.Bound)), float64(float64(t.Predicted)*(1+t.Bound))
			said = append(said, phrase.Of("{}: {} to {}, entitled to {}", t.Tenant, rate(low), rate(high), t.Entitled))
		}
	}
	if len(names) == 0 {
		return nil
	}
	if more := len(names) - len(said); more > 0 {
		said = append(said, phrase.Of("and {} more", more))
	}
	advice := phrase.Of("give tenants that contend for a sending port ports of their own, or measure the shares before relying on them")
	if m.plane == PlaneRoCE {
		advice = phrase.Of("bring the rates of queue pairs that meet at a link nearer together (open more queue pairs of fast tenants and fewer of slow ones), or measure the shares before relying on them")
	}
	return []Finding{finding(CodeShareUncertain, names, nil,
		phrase.Of("the prediction is not sure to {} % for {}: {}", fmt.Sprintf("%.0f", float64(100*uncertainFrom)), counted(len(names), kindTenant), said), advice)}
}
