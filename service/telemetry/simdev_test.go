package telemetry

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

// simulated starts the packet simulator on a topology, and returns its management agents, the topology with LIDs, and a transport at the
// first host.
func simulated(t testing.TB, topo *subnet.Fabric) (*simdev.Devices, *subnet.Fabric, mad.Transport) {
	t.Helper()
	n, err := fabric.New(topo, fabric.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	topo = n.Topology()
	dev, err := simdev.New(n, simdev.Options{CCKey: 77})
	if err != nil {
		t.Fatal(err)
	}
	wire, err := dev.Local(subnet.PortRef{Node: topo.Hosts()[0], Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	return dev, topo, wire
}

// TestMeasuredRatesMatchDeliveredPackets measures two tenants that share a link of the packet
// simulator through its management agents, and compares with what the flows delivered.
func TestMeasuredRatesMatchDeliveredPackets(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	dev, topo, wire := simulated(t, topo)
	hosts := make([]subnet.PortRef, 3)
	for i, h := range topo.Hosts() {
		hosts[i] = subnet.PortRef{Node: h, Port: 1}
	}
	flows := make([]fabric.FlowID, 2)
	for i := range flows {
		flows[i], err = dev.AddFlow(fabric.FlowSpec{Tenant: i, Src: hosts[i], Dst: hosts[2], SL: ident.SL(i + 1), QPs: 2 * (i + 1)})
		if err != nil {
			t.Fatal(err)
		}
	}
	out, ok := topo.Peer(hosts[2])
	if !ok {
		t.Fatal("the receiver is not plugged in")
	}
	rate := topo.Links[topo.Port(out).Link].Rate
	plan := &policy.Plan{
		Placements: []policy.Placement{{Tenant: "a", Port: topo.PortID(hosts[0]), SL: 1}, {Tenant: "b", Port: topo.PortID(hosts[1]), SL: 2}},
		Tenants:    []policy.TenantShare{{Tenant: "a", Entitled: rate / 2}, {Tenant: "b", Entitled: rate / 2}},
		Links:      []policy.LinkShare{{Port: topo.PortID(out), Capacity: rate, Tenants: []policy.LinkTenant{{Tenant: "a", Entitled: rate / 2}, {Tenant: "b", Entitled: rate / 2}}}},
	}
	ports, err := PortsOf(plan, topo)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(wire, ports, Options{CCKey: 77})
	if err != nil {
		t.Fatal(err)
	}
	const span = 5 * quantity.Millisecond
	dev.Advance(quantity.Millisecond) // past the start
	delivered := func() (d [2]uint64) {
		dev.With(func(n *fabric.Network) {
			for i, id := range flows {
				d[i] = n.Flow(id).DeliveredBytes
			}
		})
		return d
	}
	before := delivered()
	first, err := c.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dev.Advance(span)
	after := delivered()
	last, err := c.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := Shares(plan, Between(first, last))
	for i, lt := range r.Links[0].Tenants {
		want := quantity.BitRate((after[i] - before[i]) * 8 * uint64(quantity.Second/span))
		near(t, "tenant "+lt.Tenant+" on the link", *lt.Delivered, want, 0.005)
		near(t, "tenant "+lt.Tenant+" at its source", *r.Tenants[i].Delivered, want, 0.02)
	}
	if u := *r.Links[0].Utilisation; u < 0.97 || u > 1.001 {
		t.Errorf("use of the contended link %.4f", u)
	}
}
