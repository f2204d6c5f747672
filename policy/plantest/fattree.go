package plantest

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// TreeOptions are the sizes of FatTree.
type TreeOptions struct {
	K              int // ports of a switch, as in topogen.FatTreeOptions
	Hosts          int // number of hosts with tenants: the first ones; at most K³/4
	Tenants, Flows int
	Bare           bool // neither LIDs nor forwarding tables, as in topogen.Wire
	Scattered      bool // one to four random tenants on each host; else a tenant's hosts are neighbours, as schedulers place jobs
	Seed           uint64
}

// FatTree makes a three-level fat tree of 100 Gbit/s, tenants of weights 1 to 8 on its
// hosts and flows of one to four queue pairs between random hosts of one tenant. The same options give the
// same input.
func FatTree(o TreeOptions) (policy.Input, error) {
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: o.K, Wire: topogen.Wire{Rate: 100 * quantity.Gbps, Bare: o.Bare}})
	if err != nil {
		return policy.Input{}, err
	}
	hosts := Hosts(f)
	if o.Hosts > len(hosts) || o.Tenants < 1 || o.Hosts < 2*o.Tenants {
		return policy.Input{}, fmt.Errorf("%d hosts for %d tenants: want at most %d hosts, and two for a tenant", o.Hosts, o.Tenants, len(hosts))
	}
	hosts = hosts[:o.Hosts]
	r := rng(o.Seed)
	in := policy.Input{Fabric: f, Flows: make([]tenants.Flow, 0, o.Flows)}
	members := make([][]ident.PortID, o.Tenants)
	for i, h := range hosts {
		if !o.Scattered {
			t := i * o.Tenants / len(hosts)
			members[t] = append(members[t], h)
			continue
		}
		for range 1 + r.below(4) {
			t := r.below(o.Tenants)
			members[t] = append(members[t], h)
		}
	}
	for t := range o.Tenants {
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: fmt.Sprintf("tenant-%04d", t), Weight: quantity.Weight(1000 * (1 + r.below(8)))})
		for n := o.Flows*(t+1)/o.Tenants - o.Flows*t/o.Tenants; n > 0 && len(members[t]) > 1; {
			src, dst := members[t][r.below(len(members[t]))], members[t][r.below(len(members[t]))]
			if src != dst {
				in.Flows = append(in.Flows, tenants.Flow{Tenant: in.Tenants[t].Name, Src: src, Dst: dst, QPs: 1 + r.below(4)})
				n--
			}
		}
	}
	return in, nil
}
