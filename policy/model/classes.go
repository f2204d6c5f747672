package model

import (
	"cmp"
	"slices"

	"fairlane/policy/plan"
	"fairlane/tenants"
)

// ClassShares sums both allocations by class, for tenants that have classes. The result is ordered by tenant, then class name.
func (m *Model) ClassShares(target, predicted *Allocation) []plan.ClassShare {
	first := make([]int, len(m.Tenants)) // index of each tenant's first class in out
	var out []plan.ClassShare
	for t := range m.Tenants {
		first[t] = len(out)
		for _, c := range m.Tenants[t].Classes {
			out = append(out, plan.ClassShare{Tenant: m.Tenants[t].Name, Class: c.Name, Weight: c.Weight})
		}
	}
	if len(out) == 0 {
		return nil
	}
	entitled, expected, qps := make([]float64, len(out)), make([]float64, len(out)), make([]float64, len(out))
	for i := range m.Flows {
		f := &m.Flows[i]
		if len(m.Tenants[f.Tenant].Classes) == 0 {
			continue
		}
		k := first[f.Tenant] + int(f.Class)
		entitled[k] += target.Rates[i]
		expected[k] += predicted.Rates[i]
		qps[k] += f.QPs
	}
	for k := range out {
		out[k].QPs, out[k].Entitled, out[k].Predicted = RoundQPs(qps[k]), Rate(entitled[k]), Rate(expected[k])
	}
	return out
}

// SortClasses sorts the classes of each tenant by name, so that their order in the input has no effect.
func SortClasses(ts []tenants.Tenant) {
	for i := range ts {
		ts[i].Classes = slices.SortedStableFunc(slices.Values(ts[i].Classes), func(a, b tenants.Class) int { return cmp.Compare(a.Name, b.Name) })
	}
}
