package site

import (
	"errors"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibmad"
	"fairlane/policy"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

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
		return driver.Device{ID: n.Topology().PortID(subnet.PortRef{Node: node, Port: 1}), LID: lid, Name: n.Topology().Nodes[node].Name, Kind: subnet.KindCA, Plane: policy.PlaneIB}
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

	// A node that hides its identity still answers congestion-control requests.
	if err := dev.GuardSM(hosts[2], 7, 2, 0); err != nil {
		t.Fatal(err)
	}
	silent := sure()
	if err := othersAmong(wrong, silent.others(t.Context(), wrong)); err != nil {
		t.Errorf("a silent node: %v", err)
	}
	if _, err := d.Read(t.Context(), wrong[0]); err != nil {
		t.Fatalf("the node does not answer at all, so the test is void: %v", err)
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
		t.Errorf("apply: %v, want an error that says that nothing was sent", applyErr)
	}
	if _, err := silent.Read(t.Context(), right[0]); err != nil {
		t.Errorf("the device that is meant: %v", err)
	}
}
