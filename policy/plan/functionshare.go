package plan

import (
	"cmp"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// NodeFunction stands for the functions that the port's host gives to the workloads of a tenant: they divide the tenant's share,
// which the host's agent sets.
const NodeFunction = -1

// FunctionShare is the share of a port that a plan gives to a virtual function, which belongs to one of the tenants there.
type FunctionShare struct {
	Tenant      string
	Function    int // from 0
	Thousandths int // of the port, 1 to 1000
}

// Mbps returns the share of a port of the given line rate, in Mbit/s. It is at least 1, since 0 would be no share at all.
func (s FunctionShare) Mbps(line quantity.BitRate) uint64 {
	return max(1, uint64(line/quantity.Mbps)*uint64(s.Thousandths)/1000)
}

// Functions returns the shares of virtual functions by port, by function, without those that a host gives to functions of its
// choice. Ports from which at most one tenant sends are not divided.
func (p *RoCEPlan) Functions() map[ident.PortID][]FunctionShare {
	out := make(map[ident.PortID][]FunctionShare)
	for i := range p.Traffic {
		if t := &p.Traffic[i]; t.VFShare > 0 && t.Function != NodeFunction {
			out[t.Port] = append(out[t.Port], FunctionShare{t.Tenant, t.Function, t.VFShare})
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b FunctionShare) int { return cmp.Compare(a.Function, b.Function) })
	}
	return out
}
