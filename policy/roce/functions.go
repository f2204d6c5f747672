package roce

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet/ident"
)

// shareRegister divides a NIC port among the tenants on it: the guaranteed rate of a virtual function, in Mbit/s, 0 for none. The other
// functions use what one function leaves.
const shareRegister = "vf_tx_share"

// maxFunctions bounds the numbers of virtual functions taken over from a plan in force.
const maxFunctions = 4096

// maxShareRate is the largest value of the register, in Mbit/s.
const maxShareRate = 1<<32 - 1

// assign gives the tenants of ports their functions: the function of the plan in force, since the tenant's workload already uses it; to the
// others, by name, the lowest free ones. A tenant that is alone on a port keeps its number for when others join. A tenant whose functions the
// port's host chooses has no number.
func (s *Settings) assign() {
	inForce := make(map[ident.PortID][]*plan.RoCEPlacement)
	if old := s.m.Input.InForce; old != nil && old.RoCE != nil {
		for i := range old.RoCE.Traffic {
			t := &old.RoCE.Traffic[i]
			inForce[t.Port] = append(inForce[t.Port], t)
		}
	}
	s.functions = make(map[model.TenantPort]int)
	for i := range s.ports {
		s.assignAt(&s.ports[i], inForce[s.ports[i].id])
	}
}

// assignAt gives the tenants of one port their functions.
func (s *Settings) assignAt(p *nicPort, inForce []*plan.RoCEPlacement) {
	taken := make(map[int]bool)
	for _, t := range p.tenants {
		if k, ok := model.Attachment(s.m, t, p.id); ok && s.m.Tenants[t].Attachments[k].NodeFunctions {
			s.functions[model.TenantPort{Tenant: t, Port: p.id}] = plan.NodeFunction
		}
	}
	for _, old := range inForce {
		k := slices.IndexFunc(p.tenants, func(t int32) bool { return s.m.Tenants[t].Name == old.Tenant })
		if k < 0 || taken[old.Function] || old.Function < 0 || old.Function >= maxFunctions {
			continue
		}
		if at := (model.TenantPort{Tenant: p.tenants[k], Port: p.id}); !has(s.functions, at) {
			s.functions[at], taken[old.Function] = old.Function, true
		}
	}
	next := 0
	for _, t := range slices.Sorted(slices.Values(p.tenants)) { // ordered by name
		at := model.TenantPort{Tenant: t, Port: p.id}
		if has(s.functions, at) {
			continue
		}
		for taken[next] {
			next++
		}
		s.functions[at], taken[next] = next, true
	}
}

func has[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}

// shareReasons explains the shares of a port's functions, and that other functions have none from the plan.
func (s *Settings) shareReasons(p *nicPort) []plan.Reason {
	legal := fmt.Sprintf("0..%d", int64(maxShareRate))
	line := quantity.BitRate(p.line)
	var out []plan.Reason
	shares := make([]plan.FunctionShare, 0, len(p.tenants))
	for _, t := range p.tenants {
		if share := s.shares[model.TenantPort{Tenant: t, Port: p.id}]; share > 0 {
			shares = append(shares, plan.FunctionShare{Tenant: s.m.Tenants[t].Name, Function: s.functions[model.TenantPort{Tenant: t, Port: p.id}], Thousandths: share})
		}
	}
	slices.SortFunc(shares, func(a, b plan.FunctionShare) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Tenant, b.Tenant))
	})
	chosen := false
	for _, share := range shares {
		part, tenants := strconv.Itoa(share.Thousandths), strconv.Itoa(len(shares))
		reason := plan.Reason{
			Field: shareRegister, Value: strconv.FormatUint(share.Mbps(line), 10), Unit: "Mbit/s", Range: legal, Tenant: share.Tenant, Rule: plan.RuleShareByWeight,
			Formula: phrase.Write("reason.formula.function-share", "part", part, "line", line.String(), "tenants", tenants, "function", strconv.Itoa(share.Function)),
		}
		switch {
		case share.Function == plan.NodeFunction:
			chosen = true
			reason.Field = phrase.Write("reason.field.assigned-functions", "field", shareRegister)
			reason.Formula = phrase.Write("reason.formula.function-share-assigned", "part", part, "line", line.String(), "tenants", tenants)
		case share.Function > 0:
			reason.Field = fmt.Sprintf("%s[%d]", shareRegister, share.Function)
		}
		out = append(out, reason)
	}
	formula := phrase.Write("reason.formula.function-whole")
	switch {
	case len(out) == 0 && len(p.tenants) > 1 && len(p.sharers) == 0:
		formula = phrase.Write("reason.formula.function-receivers")
	case len(out) == 0 && len(p.tenants) > 1:
		formula = phrase.Write("reason.formula.function-sender")
	case chosen:
		formula = phrase.Write("reason.formula.function-assigned")
	case len(out) > 0:
		formula = phrase.Write("reason.formula.function-free")
	}
	return append(out, plan.Reason{Field: phrase.Write("reason.field.other-functions", "field", shareRegister), Value: "0", Unit: "Mbit/s", Range: legal, Rule: plan.RuleNoTenant, Formula: formula})
}
