package opensm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// Plan is the part of a fabric's plan that OpenSM applies.
type Plan struct {
	Placements []Placement
	Lanes      []PortLanes
}

// Placement is a tenant's service level at a port, in its partition.
type Placement struct {
	Tenant string
	PKey   ident.PKey
	Port   ident.PortID
	SL     ident.SL
}

// PortLanes are the lane tables of an adapter port in the plan.
type PortLanes struct {
	Port      ident.PortID
	Name      string
	SL2VL     [ident.NumSLs]ident.VL
	High, Low []osmfile.VLWeight
}

// PlanOptions complete a plan.
type PlanOptions struct {
	// IPoIB enables each tenant's partition for IPoIB, through which rdma_cm finds the partition.
	IPoIB bool
	// AllMembers makes every port a member of every partition, instead of those that the tenant is attached to.
	AllMembers bool
}

// FromPlan returns the content of OpenSM's files for a plan: a partition for each tenant's P_Key, with its service
// level, its attached ports as members and groups of those with another level, and the lane tables. Tenants without a
// P_Key are in the default partition, which is the operator's: it is proven, not written. The problems list the parts
// of the plan that OpenSM cannot apply; lanes that it cannot hold are omitted.
func FromPlan(p *Plan, f *subnet.Fabric, o PlanOptions) (osmfile.Desired, []osmfile.Problem) {
	var d osmfile.Desired
	var problems []osmfile.Problem
	at := map[ident.PKey]*placed{}
	for _, pl := range p.Placements {
		ref, ok := f.PortByID(pl.Port)
		if !ok {
			problems = append(problems, osmfile.Problem{
				Code: osmfile.CodeNoMembers, Final: true, Text: fmt.Sprintf("tenant %s: port %s is not on the fabric", pl.Tenant, pl.Port),
				Remedy: "discover the fabric and compile again",
			})
			continue
		}
		k := pl.PKey.Base()
		if k == 0 {
			k = ident.DefaultPKey.Base()
		}
		if at[k] == nil {
			at[k] = &placed{levels: map[ident.GUID]ident.SL{}}
		}
		if first, both := at[k].add(pl.Tenant, f.Port(ref).GUID, pl.SL); both {
			problems = append(problems, osmfile.Problem{
				Code: osmfile.CodeTwoSLs, Final: true,
				Text:   fmt.Sprintf("port %s needs SL %d and SL %d in partition 0x%04x of tenants %s: a port has one SL per partition", f.PortName(ref), first, pl.SL, uint16(k), at[k].tenant()),
				Remedy: "give each tenant a partition of its own",
			})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(at)) {
		d.Partitions = append(d.Partitions, at[k].partition(k, o))
	}
	lanes, problem := planLanes(p, f)
	if problem != nil {
		problems = append(problems, *problem)
	}
	d.Lanes = lanes
	return d, problems
}

// placed holds the placements in a partition.
type placed struct {
	tenants []string
	ports   []ident.GUID // in the order of the plan
	levels  map[ident.GUID]ident.SL
}

func (p *placed) tenant() string { return strings.Join(p.tenants, ", ") }

// add adds a port. It reports the port's existing level when that differs.
func (p *placed) add(tenant string, port ident.GUID, sl ident.SL) (first ident.SL, both bool) {
	if !slices.Contains(p.tenants, tenant) {
		p.tenants = append(p.tenants, tenant)
	}
	first, known := p.levels[port]
	if !known {
		p.ports, p.levels[port] = append(p.ports, port), sl
	}
	return first, known && first != sl
}

// partition returns the partition with the level of most ports (in a tie the lowest) and groups for the other ports.
// Traffic outside of groups, such as IPoIB's broadcasts, gets the partition's level.
func (p *placed) partition(k ident.PKey, o PlanOptions) osmfile.Partition {
	kept := k == ident.DefaultPKey.Base()
	out := osmfile.Partition{Tenant: p.tenant(), PKey: k, Kept: kept, IPoIB: o.IPoIB && !kept, All: o.AllMembers && !kept}
	ports := map[ident.SL][]ident.GUID{}
	for _, port := range p.ports {
		out.Members = append(out.Members, osmfile.Member{PortGUID: port, Full: true})
		ports[p.levels[port]] = append(ports[p.levels[port]], port)
	}
	sls := slices.SortedFunc(maps.Keys(ports), func(a, b ident.SL) int { return cmp.Or(cmp.Compare(len(ports[b]), len(ports[a])), cmp.Compare(a, b)) })
	out.SL = sls[0]
	for _, sl := range sls[1:] {
		out.Groups = append(out.Groups, osmfile.Group{SL: sl, Ports: ports[sl]})
	}
	return out
}

// dataVLs is the assumed number of data lanes of a port that does not report it, as in the compiler.
const dataVLs = 8

// planLanes returns the common table of all adapter ports, if the plan has one.
func planLanes(p *Plan, f *subnet.Fabric) ([]osmfile.Lanes, *osmfile.Problem) {
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
	out := osmfile.Lanes{Kind: osmfile.AdapterPort, MaxVLs: vls, HighLimit: &limit, SL2VL: &sl2vl, Low: slices.Clone(first.Low), High: slices.Clone(first.High)}
	if len(out.High) == 0 {
		out.High = []osmfile.VLWeight{{}} // weight 0: the table serves no lane
	}
	return []osmfile.Lanes{out}, nil
}

// portVLs returns the number of data lanes that both ends of a port's link have.
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
