package opensm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
	"fairlane/subnet/topogen"
)

func star(t *testing.T) (*subnet.Fabric, []ident.PortID) {
	t.Helper()
	f, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []ident.PortID
	for _, h := range f.Hosts() {
		ids = append(ids, f.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	return f, ids
}

func TestFromPlanMakesPartitionsOfPlacements(t *testing.T) {
	t.Parallel()
	f, ids := star(t)
	guid := func(i int) ident.GUID {
		ref, _ := f.PortByID(ids[i])
		return f.Port(ref).GUID
	}
	plan := &Plan{Placements: []Placement{
		{Tenant: "bronze", PKey: 0, Port: ids[0], SL: 0},
		{Tenant: "gold", PKey: 0x8002, Port: ids[0], SL: 3},
		{Tenant: "gold", PKey: 0x8002, Port: ids[1], SL: 3},
		{Tenant: "silver", PKey: 2, Port: ids[2], SL: 3},
	}}
	d, problems := FromPlan(plan, f, PlanOptions{IPoIB: true})
	want := []osmfile.Partition{
		{Tenant: "gold, silver", PKey: 2, SL: 3, IPoIB: true, Members: []osmfile.Member{{PortGUID: guid(0), Full: true}, {PortGUID: guid(1), Full: true}, {PortGUID: guid(2), Full: true}}},
		{Tenant: "bronze", PKey: 0x7fff, Kept: true, Members: []osmfile.Member{{PortGUID: guid(0), Full: true}}},
	}
	if diff := cmp.Diff(want, d.Partitions); diff != "" || len(problems) > 0 {
		t.Errorf("%s, problems %v", diff, problems)
	}
	// Ports with another service level form a group; the partition has the level of most.
	plan.Placements[3].SL = 1
	d, problems = FromPlan(plan, f, PlanOptions{AllMembers: true})
	got := osmfile.Compose(osmfile.Texts{}, d, osmfile.Settings{OneLane: true}).Problems
	groups := []osmfile.Group{{SL: 1, Ports: []ident.GUID{guid(2)}}}
	if len(got) != 0 || len(problems) != 0 || !d.Partitions[0].All || d.Partitions[0].SL != 3 || !cmp.Equal(d.Partitions[0].Groups, groups) {
		t.Errorf("problems %v, %v, partition %+v", got, problems, d.Partitions[0])
	}
	// OpenSM cannot give a port two service levels in one partition, nor split the operator's partitions.
	plan.Placements = append(plan.Placements, Placement{Tenant: "silver", PKey: 2, Port: ids[0], SL: 1}, Placement{Tenant: "bronze", Port: ids[1], SL: 5})
	d, problems = FromPlan(plan, f, PlanOptions{})
	got = osmfile.Compose(osmfile.Texts{}, d, osmfile.Settings{OneLane: true}).Problems
	if len(problems) != 1 || problems[0].Code != osmfile.CodeTwoSLs || !problems[0].Final ||
		problems[0].Text != "port "+name(f, ids[0])+" needs SL 3 and SL 1 in partition 0x0002 of tenants gold, silver: a port has one SL per partition" {
		t.Errorf("problems %v", problems)
	}
	if len(got) == 0 || got[0].Code != osmfile.CodeTwoSLs || got[0].Text != "tenant bronze needs SLs 0, 5 in partition 0x7fff, which is the operator's" {
		t.Errorf("problems %v", got)
	}
	plan.Placements = plan.Placements[:4]
	plan.Placements[0].Port = ident.PortID{}
	if _, problems = FromPlan(plan, f, PlanOptions{}); len(problems) != 1 || !problems[0].Final {
		t.Errorf("problems %v", problems)
	}
}

func name(f *subnet.Fabric, id ident.PortID) string {
	ref, _ := f.PortByID(id)
	return f.PortName(ref)
}

func TestFromPlanMakesOneTableOfLanes(t *testing.T) {
	t.Parallel()
	f, ids := star(t)
	lane := func(i int) PortLanes {
		return PortLanes{Port: ids[i], SL2VL: [ident.NumSLs]ident.VL{0, 1, 2}, Low: []osmfile.VLWeight{{VL: 1, Weight: 65}, {VL: 0, Weight: 65}}}
	}
	plan := &Plan{Lanes: []PortLanes{lane(0), lane(1)}}
	d, problems := FromPlan(plan, f, PlanOptions{})
	limit := 0
	m := [ident.NumSLs]ident.VL{0, 1, 2}
	want := []osmfile.Lanes{{
		Kind: osmfile.AdapterPort, MaxVLs: 8, HighLimit: &limit, SL2VL: &m, High: []osmfile.VLWeight{{}},
		Low: []osmfile.VLWeight{{VL: 1, Weight: 65}, {VL: 0, Weight: 65}},
	}}
	if diff := cmp.Diff(want, d.Lanes, cmpopts.EquateEmpty()); diff != "" || len(problems) > 0 {
		t.Errorf("%s, problems %v", diff, problems)
	}
	plan.Lanes[1].Low[0].Weight = 130
	if _, problems = FromPlan(plan, f, PlanOptions{}); len(problems) != 1 || problems[0].Code != osmfile.CodeLanesDiffer {
		t.Errorf("problems %v", problems)
	}
}
