package opensm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// PlanOptions say what a plan leaves open.
type PlanOptions struct {
	// IPoIB makes each tenant's partition usable for IPoIB, by which rdma_cm finds the partition.
	IPoIB bool
	// AllMembers makes every port a member of every partition, instead of those that the tenant is attached to.
	AllMembers bool
}

// FromPlan is what OpenSM's files have to say for a plan: a partition with its service level for each tenant's P_Key, its
// members where the tenant is attached, and the tables of lanes. Tenants without a P_Key are in the default
// partition, which is the operator's: it is proven, not written. What OpenSM cannot do for the plan is
// among the problems; lanes that it cannot hold are left out.
func FromPlan(p *policy.Plan, f *subnet.Fabric, o PlanOptions) (osmfile.Desired, []osmfile.Problem) {
	var d osmfile.Desired
	var problems []osmfile.Problem
	type part struct {
		key ident.PKey
		sl  ident.SL
	}
	at, names := map[part]int{}, map[part][]string{}
	for _, pl := range p.Placements {
		ref, ok := f.PortByID(pl.Port)
		if !ok {
			problems = append(problems, osmfile.Problem{
				Code: osmfile.CodeNoMembers, Final: true, Text: fmt.Sprintf("tenant %s: port %s is not on the fabric", pl.Tenant, pl.Port),
				Remedy: "discover the fabric and compile again",
			})
			continue
		}
		k := part{pl.PKey.Base(), pl.SL}
		if k.key == 0 {
			k.key = ident.DefaultPKey.Base()
		}
		i, known := at[k]
		if !known {
			i = len(d.Partitions)
			at[k] = i
			kept := k.key == ident.DefaultPKey.Base()
			d.Partitions = append(d.Partitions, osmfile.Partition{PKey: k.key, SL: k.sl, Kept: kept, IPoIB: o.IPoIB && !kept, All: o.AllMembers && !kept})
		}
		d.Partitions[i].Members = append(d.Partitions[i].Members, osmfile.Member{PortGUID: f.Port(ref).GUID, Full: true})
		if !slices.Contains(names[k], pl.Tenant) {
			names[k] = append(names[k], pl.Tenant)
		}
	}
	for k, i := range at {
		d.Partitions[i].Tenant = strings.Join(names[k], ", ")
	}
	slices.SortStableFunc(d.Partitions, func(a, b osmfile.Partition) int { return cmp.Or(cmp.Compare(a.PKey, b.PKey), cmp.Compare(a.SL, b.SL)) })
	lanes, problem := planLanes(p, f)
	if problem != nil {
		problems = append(problems, *problem)
	}
	d.Lanes = lanes
	return d, problems
}

// dataVLs is the number of data lanes of a port that does not say how many it has, as the compiler takes it.
const dataVLs = 8

// planLanes is the one table for all adapter ports, when the plan has one.
func planLanes(p *policy.Plan, f *subnet.Fabric) ([]osmfile.Lanes, *osmfile.Problem) {
	if len(p.Lanes) == 0 {
		return nil, nil
	}
	first := &p.Lanes[0]
	vls := 0
	for i := range p.Lanes {
		l := &p.Lanes[i]
		if l.SL2VL != first.SL2VL || !slices.Equal(l.High, first.High) || !slices.Equal(l.Low, first.Low) {
			return nil, &osmfile.Problem{
				Code:   osmfile.CodeLanesDiffer,
				Text:   fmt.Sprintf("the plan divides %s and %s by different tables of lanes, and OpenSM has one for all adapter ports", first.Name, l.Name),
				Remedy: "give the ports the same tenants with the same weights, or plan without lanes",
			}
		}
		if n := portVLs(f, l.Port); vls == 0 || n < vls {
			vls = n
		}
	}
	limit, sl2vl := 0, first.SL2VL
	out := osmfile.Lanes{Kind: osmfile.AdapterPort, MaxVLs: vls, HighLimit: &limit, SL2VL: &sl2vl, Low: entries(first.Low), High: entries(first.High)}
	if len(out.High) == 0 {
		out.High = []osmfile.VLWeight{{}} // weight 0: the table serves nobody
	}
	return []osmfile.Lanes{out}, nil
}

// portVLs is the number of data lanes that both ends of a port's link have.
func portVLs(f *subnet.Fabric, id ident.PortID) int {
	ref, ok := f.PortByID(id)
	if !ok {
		return dataVLs
	}
	n := int(f.Port(ref).VLCap)
	if peer, ok := f.Peer(ref); ok {
		if v := int(f.Port(peer).VLCap); v > 0 && (n == 0 || v < n) {
			n = v
		}
	}
	if n == 0 {
		return dataVLs
	}
	return n
}

func entries(ws []policy.VLWeight) []osmfile.VLWeight {
	out := make([]osmfile.VLWeight, len(ws))
	for i, w := range ws {
		out[i] = osmfile.VLWeight{VL: w.VL, Weight: w.Weight}
	}
	return out
}
