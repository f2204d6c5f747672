package policy

import (
	"fmt"
	"slices"
	"strings"
)

// advise completes findings that other findings or the predicted shares explain: what tenants that share an SL are
// predicted to get, and whose advice removes the cause of a share that is out of reach.
func (m *model) advise(fs []Finding, p *Plan) []Finding {
	out := withShares(fs, p.Tenants)
	for i := range out {
		if f := &out[i]; f.Code == CodeWeightUnreachable && m.plane == PlaneIB {
			f.Fix = m.unreachableFix(f, fs, p)
		}
	}
	return out
}

// unreachableFix names the findings of a tenant that misses its share; without any, those of the tenants that it
// meets on the links where it misses it, since what they take it lacks.
func (m *model) unreachableFix(f *Finding, fs []Finding, p *Plan) string {
	if m.in.Options.Mode == ModeTheorem1 {
		return "use mode product: whole numbers of CCTI_Increase alone cannot have every ratio"
	}
	if codes := causes(fs, f.Tenants); len(codes) > 0 {
		return fmt.Sprintf("follow the advice of %s for tenant %s", strings.Join(codes, ", "), f.Tenants[0])
	}
	var met []string
	for _, l := range p.Links {
		if !slices.ContainsFunc(l.Tenants, func(t LinkTenant) bool { return t.Tenant == f.Tenants[0] }) {
			continue
		}
		for _, t := range l.Tenants {
			if t.Tenant != f.Tenants[0] && len(causes(fs, []string{t.Tenant})) > 0 && !slices.Contains(met, t.Tenant) {
				met = append(met, t.Tenant)
			}
		}
	}
	if len(met) > 0 {
		slices.Sort(met)
		return fmt.Sprintf("follow the advice of %s for %s, which meet it", strings.Join(causes(fs, met), ", "), strings.Join(bounded(met), ", "))
	}
	return "no setting is at fault: flows meet on more than one limiting link, where their weights cannot all be met; let those that meet on one meet on no other, and see by simulation what is delivered"
}

// causes lists the codes of findings about any of the tenants that can explain a missed share, once each.
func causes(fs []Finding, tenants []string) []string {
	var out []string
	for i := range fs {
		switch fs[i].Code {
		case CodeWeightUnreachable, CodeLanesNeedSM, CodeSLSplit, CodeSlowConvergence, CodeMarkingSparse:
			continue
		}
		if !slices.Contains(out, fs[i].Code) && slices.ContainsFunc(fs[i].Tenants, func(t string) bool { return slices.Contains(tenants, t) }) {
			out = append(out, fs[i].Code)
		}
	}
	slices.Sort(out)
	return out
}
