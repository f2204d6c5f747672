package app

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibmad"
	"fairlane/policy"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

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

// bySource is subnet administration that chooses by the port where a path begins.
type bySource map[ident.LID]ident.SL

func (f bySource) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	var rec mad.PathRecord
	if err := rec.Decode(req.Data()); err != nil {
		return mad.Packet{}, err
	}
	return fakeSA{1, map[ident.PKey]ident.SL{rec.PKey: f[rec.SLID]}}.Exchange(ctx, to, req)
}

// Where the subnet manager is not ours to tell, it is asked whether each part of a tenant has its service level.
func TestEachPartOfATenantIsAskedAbout(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(4, topogen.Wire{})
	if err == nil {
		topo, err = subnet.AssignLIDs(topo, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	plan, sa := &policy.Plan{}, bySource{}
	for i, at := range connectedPorts(topo) {
		ref, _ := topo.PortByID(at)
		sl := ident.SL(2 + 3*(i/2))
		plan.Placements = append(plan.Placements, policy.Placement{Tenant: "red", PKey: 1, Port: at, SL: sl})
		sa[topo.Port(ref).LID] = sl
	}
	p := &placer{transport: sa, topology: topo}
	if err := p.Check(t.Context(), plan, nil); err != nil {
		t.Error(err)
	}
	if found, _, err := p.drift(t.Context(), plan, nil); err != nil || len(found) > 0 {
		t.Errorf("drift %v, %v", found, err)
	}
	for lid := range sa {
		sa[lid] = 2
	}
	if err := p.Check(t.Context(), plan, nil); err == nil || err.Error() != "tenant red: subnet administration hands out SL 2 in partition 0x0001, the plan needs SL 5: "+
		"other ports of the partition need another one, so let the subnet manager choose by port, in OpenSM by a QoS policy" {
		t.Errorf("one service level for both: %v", err)
	}
	if found, _, err := p.drift(t.Context(), plan, nil); err != nil || len(found) != 1 {
		t.Errorf("drift %v, %v", found, err)
	}
	if err := p.refusal(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "QoS policy") || strings.Contains(err.Error(), "sl=") {
		t.Errorf("what can be done about it: %v", err)
	}
	plan.Placements = plan.Placements[:1]
	if err := p.refusal(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "sl=") {
		t.Errorf("what can be done where one is enough: %v", err)
	}
}

func TestSettingsDoNotReachANodeThatTookOverALID(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := fabric.New(topo, fabric.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := simdev.New(n, simdev.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hosts := n.Topology().Hosts()
	here := subnet.PortRef{Node: hosts[0], Port: 1}
	tr, err := dev.Local(here)
	if err != nil {
		t.Fatal(err)
	}
	target := func(node, lidOf int32) driver.Device {
		lid, _ := n.LID(lidOf, 1)
		return driver.Device{ID: n.Topology().PortID(subnet.PortRef{Node: node, Port: 1}), LID: lid, Name: n.Topology().Nodes[node].Name, Kind: subnet.KindCA, Plane: string(policy.PlaneIB)}
	}
	right := []driver.Device{target(hosts[1], hosts[1]), target(hosts[2], hosts[2])}
	d, err := ibmad.New(tr, ibmad.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sure := func() *identityGuard { return &identityGuard{Driver: d, transport: tr, known: map[ident.PortID]bool{}} }
	if err := othersAmong(right, sure().others(t.Context(), right)); err != nil {
		t.Errorf("right LIDs: %v", err)
	}
	wrong := []driver.Device{target(hosts[1], hosts[2])}
	err = othersAmong(wrong, sure().others(t.Context(), wrong))
	if err == nil || !strings.Contains(err.Error(), "discover the fabric again") {
		t.Errorf("LID of another node: %v", err)
	}

	// A node that does not say who it is answers questions about congestion control all the same.
	if err := dev.GuardSM(hosts[2], 7, 2, 0); err != nil {
		t.Fatal(err)
	}
	silent := sure()
	if err := othersAmong(wrong, silent.others(t.Context(), wrong)); err != nil {
		t.Errorf("a silent node: %v", err)
	}
	if _, err := d.Read(t.Context(), wrong[0]); err != nil {
		t.Fatalf("the node is silent altogether, which tests nothing: %v", err)
	}
	_, capErr := silent.Capabilities(t.Context(), wrong[0])
	_, readErr := silent.Read(t.Context(), wrong[0])
	_, applyErr := silent.Apply(t.Context(), wrong[0], driver.Settings{})
	for what, err := range map[string]error{"capabilities": capErr, "read": readErr, "apply": applyErr} {
		if !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), "does not say whether it is") {
			t.Errorf("%s of a node that does not say who it is: %v", what, err)
		}
	}
	if !errors.Is(applyErr, driver.ErrUnsent) {
		t.Errorf("apply: %v: want it to say that nothing was sent", applyErr)
	}
	if _, err := silent.Read(t.Context(), right[0]); err != nil {
		t.Errorf("the device that is meant: %v", err)
	}
}

func TestADatabaseHasOneManager(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fairlane.db")
	first, err := openManager(t.Context(), path, &ports{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openManager(t.Context(), path, &ports{}); err == nil || !strings.Contains(err.Error(), "in use by another manager") {
		t.Errorf("second manager: %v", err)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openManager(t.Context(), path, &ports{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}
