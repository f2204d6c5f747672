// Package livetest runs live fabrics for tests.
package livetest

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// SlowCase returns a case with few packets, and so little cost: three tenants on links of 100 Mbit/s, two of them on one port.
func SlowCase(t testing.TB, p policy.Plane) *live.Case {
	t.Helper()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Wire: topogen.Wire{Rate: 100 * quantity.Mbps, Delay: quantity.Microsecond}})
	if err != nil {
		t.Fatal(err)
	}
	var ids []ident.PortID
	for _, ref := range scenario.Hosts(topo) {
		ids = append(ids, topo.PortID(ref))
	}
	c := &live.Case{Name: "slow", Plane: p, Fabric: topo, Seed: 1, Flows: []tenants.Flow{
		{Tenant: "gold", Src: ids[0], Dst: ids[3], QPs: 1}, {Tenant: "silver", Src: ids[1], Dst: ids[3], QPs: 1}, {Tenant: "bronze", Src: ids[1], Dst: ids[3], QPs: 1},
	}}
	c.Tenants = tenants.Attach([]tenants.Tenant{
		{Name: "gold", Weight: 4 * quantity.WeightOne}, {Name: "silver", Weight: 2 * quantity.WeightOne}, {Name: "bronze", Weight: quantity.WeightOne},
	}, c.Flows)
	return c
}

// Ethernet runs a live fabric until the test ends.
func Ethernet(t testing.TB, c *live.Case, o live.EthernetOptions) *live.Ethernet {
	t.Helper()
	l, err := live.StartEthernet(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// PauseOff disables pause on one port of the switch leaf1.
func PauseOff(t testing.TB, addr string) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	path := gnmitree.PathOf("CONFIG_DB", "localhost", "PORT_QOS_MAP", "Ethernet0", "pfc_enable")
	path.Origin = "sonic-db"
	_, err = gpb.NewGNMIClient(conn).Set(t.Context(), &gpb.SetRequest{
		Prefix:  &gpb.Path{Target: "leaf1"},
		Replace: []*gpb.Update{{Path: path.Proto(), Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`"6"`)}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

var fabrics atomic.Int64 // names of abstract sockets are shared by the whole machine

// InfiniBand runs a scenario until the test ends.
func InfiniBand(t testing.TB, s *scenario.Scenario, o simdev.Options) *live.InfiniBand {
	t.Helper()
	l, err := live.StartInfiniBand(t.Context(), s, fmt.Sprintf("unix:fairlane-livetest-%d-%d", os.Getpid(), fabrics.Add(1)), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
