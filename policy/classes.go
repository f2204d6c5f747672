package policy

import (
	"cmp"
	"slices"

	"fairlane/policy/plan"
	"fairlane/tenants"
)

// classShares sums both allocations by class, for the tenants that have classes, by tenant and by the name of
// the class.
func (m *model) classShares(target, predicted *allocation) []plan.ClassShare {
	first := make([]int, len(m.tenants)) // of a tenant's classes in out
	var out []plan.ClassShare
	for t := range m.tenants {
		first[t] = len(out)
		for _, c := range m.tenants[t].Classes {
			out = append(out, plan.ClassShare{Tenant: m.tenants[t].Name, Class: c.Name, Weight: c.Weight})
		}
	}
	if len(out) == 0 {
		return nil
	}
	entitled, expected, qps := make([]float64, len(out)), make([]float64, len(out)), make([]float64, len(out))
	for i := range m.flows {
		f := &m.flows[i]
		if len(m.tenants[f.tenant].Classes) == 0 {
			continue
		}
		k := first[f.tenant] + int(f.class)
		entitled[k] += target.rates[i]
		expected[k] += predicted.rates[i]
		qps[k] += f.qps
	}
	for k := range out {
		out[k].QPs, out[k].Entitled, out[k].Predicted = whole(qps[k]), rate(entitled[k]), rate(expected[k])
	}
	return out
}

// sortClasses puts the classes of every tenant in the order of their names, so that the order in which they are
// written does not matter.
func sortClasses(ts []tenants.Tenant) {
	for i := range ts {
		ts[i].Classes = slices.SortedStableFunc(slices.Values(ts[i].Classes), func(a, b tenants.Class) int { return cmp.Compare(a.Name, b.Name) })
	}
}
