package app

import (
	"path/filepath"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
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
		_, err := distinct([]policy.Placement{{Tenant: "a", PKey: c[0], Port: at(1), SL: 2}, {Tenant: "b", PKey: c[1], Port: at(2), SL: 3}})
		if err == nil || !strings.Contains(err.Error(), "tenant b needs SL 3") {
			t.Errorf("partitions %s and %s on SLs 2 and 3: %v", c[0], c[1], err)
		}
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
		return driver.Device{ID: n.Topology().PortID(subnet.PortRef{Node: node, Port: 1}), LID: lid, Name: n.Topology().Nodes[node].Name}
	}
	right := []driver.Device{target(hosts[1], hosts[1]), target(hosts[2], hosts[2])}
	if err := othersAmong(right, identities(t.Context(), tr, right)); err != nil {
		t.Errorf("right LIDs: %v", err)
	}
	wrong := []driver.Device{target(hosts[1], hosts[2])}
	err = othersAmong(wrong, identities(t.Context(), tr, wrong))
	if err == nil || !strings.Contains(err.Error(), "discover the fabric again") {
		t.Errorf("LID of another node: %v", err)
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
