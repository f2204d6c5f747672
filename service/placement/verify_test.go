package placement

import (
	"context"
	"strings"
	"testing"

	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/subnettest"
	"fairlane/subnet/topogen"
)

// fakeSA answers the placer's two queries.
type fakeSA struct {
	smLID uint16
	sl    map[ident.PKey]ident.SL
}

func (f fakeSA) Exchange(_ context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	resp := *req
	if to.LID == 0 {
		resp.Data()[18], resp.Data()[19] = byte(f.smLID>>8), byte(f.smLID)
		return resp, nil
	}
	var rec mad.PathRecord
	if err := rec.Decode(req.Data()); err != nil {
		return resp, err
	}
	sl, ok := f.sl[rec.PKey]
	if !ok {
		return resp, mad.ErrTimeout
	}
	rec.SL = sl
	return resp, rec.Encode(resp.Data())
}

func TestPlacer(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(2, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	ports := subnettest.HostPorts(topo)
	ps := []policy.Placement{
		{Tenant: "red", PKey: 0x8001, Port: ports[0], SL: 2}, {Tenant: "red", PKey: 0x8001, Port: ports[1], SL: 2},
		{Tenant: "blue", PKey: 0x8002, Port: ports[1], SL: 3},
	}
	for name, c := range map[string]struct {
		sa   fakeSA
		want []string // empty: in force
	}{
		"in force":  {fakeSA{1, map[ident.PKey]ident.SL{0x8001: 2, 0x8002: 3}}, nil},
		"wrong SLs": {fakeSA{1, map[ident.PKey]ident.SL{0x8001: 0, 0x8002: 1}}, []string{"tenant red: subnet administration returns SL 0", "; tenant blue", "set sl=3", "partitions.conf"}},
		"silence":   {fakeSA{1, nil}, []string{"path of tenant red"}},
		"no SA":     {fakeSA{}, []string{"no subnet manager"}},
	} {
		p := &verifyOnly{transport: c.sa, topology: topo}
		err := p.Verify(t.Context(), &policy.Plan{Placements: ps})
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, w := range c.want {
			if err != nil && (!strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: %q, want %q in one line", name, err, w)
			}
		}
	}
	set := map[ident.PKey]ident.SL{}
	p := &verifyOnly{set: func(k ident.PKey, sl ident.SL) int { set[k] = sl; return 1 }}
	if err := p.Place(t.Context(), &policy.Plan{Placements: ps}, nil, false); err != nil || len(set) != 2 || set[0x8001] != 2 || set[0x8002] != 3 {
		t.Errorf("placed %v, %v", set, err)
	}
}

func TestAPartitionCannotHaveTwoServiceLevels(t *testing.T) {
	t.Parallel()
	at := func(n ident.GUID) ident.PortID { return ident.PortID{Node: n, Port: 1} }
	same := []policy.Placement{{Tenant: "a", PKey: 0x8001, Port: at(1), SL: 2}, {Tenant: "a", PKey: 0x8001, Port: at(2), SL: 2}}
	if got, err := distinct(same); err != nil || len(got) != 1 {
		t.Errorf("one partition on one SL: %v, %v", got, err)
	}
	for _, c := range [][2]ident.PKey{{0x8001, 0x8001}, {0x8001, 0x0001}, {0, 0}, {0, ident.DefaultPKey}} {
		apart := []policy.Placement{{Tenant: "a", PKey: c[0], Port: at(1), SL: 2}, {Tenant: "b", PKey: c[1], Port: at(2), SL: 3}}
		_, err := onePerPartition(apart, "UFM")
		if err == nil || !strings.Contains(err.Error(), "tenant b needs SL 3, and UFM has one service level for a partition") {
			t.Errorf("partitions %s and %s on SLs 2 and 3: %v", c[0], c[1], err)
		}
		if got, err := distinct(apart); err != nil || len(got) != 2 {
			t.Errorf("by port: %v, %v", got, err)
		}
		apart[1].Port = at(1)
		if _, err = distinct(apart); err == nil || !strings.Contains(err.Error(), "tenant b needs SL 3 on one port") {
			t.Errorf("partitions %s and %s on SLs 2 and 3 of a port: %v", c[0], c[1], err)
		}
	}
	split := []policy.Placement{{Tenant: "a", PKey: 1, Port: at(1), SL: 2}, {Tenant: "a", PKey: 1, Port: at(2), SL: 3}}
	if _, err := onePerPartition(split, "UFM"); err == nil || !strings.Contains(err.Error(), "tenant a needs SL 2 on some ports and SL 3 on others, and UFM") {
		t.Errorf("a split tenant: %v", err)
	}
}

// bySource is subnet administration whose answer depends on the first port of a path.
type bySource map[ident.LID]ident.SL

func (f bySource) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	var rec mad.PathRecord
	if err := rec.Decode(req.Data()); err != nil {
		return mad.Packet{}, err
	}
	return fakeSA{1, map[ident.PKey]ident.SL{rec.PKey: f[rec.SLID]}}.Exchange(ctx, to, req)
}

// A subnet manager that Fairlane does not configure is queried for the service level of each part of a tenant.
func TestEachPartOfATenantIsQueried(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(4, topogen.Wire{})
	if err == nil {
		topo, err = subnet.AssignLIDs(topo, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	plan, sa := &policy.Plan{}, bySource{}
	for i, at := range subnettest.HostPorts(topo) {
		ref, _ := topo.PortByID(at)
		sl := ident.SL(2 + 3*(i/2))
		plan.Placements = append(plan.Placements, policy.Placement{Tenant: "red", PKey: 1, Port: at, SL: sl})
		sa[topo.Port(ref).LID] = sl
	}
	p := &verifyOnly{transport: sa, topology: topo}
	if err := p.Check(t.Context(), plan, nil); err != nil {
		t.Error(err)
	}
	if found, _, err := p.Drift(t.Context(), plan, nil); err != nil || len(found) > 0 {
		t.Errorf("drift %v, %v", found, err)
	}
	for lid := range sa {
		sa[lid] = 2
	}
	if err := p.Check(t.Context(), plan, nil); err == nil || err.Error() != "tenant red: subnet administration returns SL 2 in partition 0x0001, the plan needs SL 5: "+
		"other ports of the partition need another one, so let the subnet manager choose by port, in OpenSM by a QoS policy" {
		t.Errorf("one service level for both: %v", err)
	}
	if found, _, err := p.Drift(t.Context(), plan, nil); err != nil || len(found) != 1 {
		t.Errorf("drift %v, %v", found, err)
	}
	if err := p.Refusal(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "QoS policy") || strings.Contains(err.Error(), "sl=") {
		t.Errorf("what can be done about it: %v", err)
	}
	plan.Placements = plan.Placements[:1]
	if err := p.Refusal(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "sl=") {
		t.Errorf("what can be done where one is enough: %v", err)
	}
}
