package telemetry

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// BenchmarkRoundOf10000Ports is what a round reads of 10,000 sending ports and the switch ports of 250 contended links: counters before and
// after a window, and the notifications between. The simulated agents answer in the same process, so the time is that of both sides.
func BenchmarkRoundOf10000Ports(b *testing.B) {
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 250, Spines: 1, HostsPerLeaf: 40})
	if err != nil {
		b.Fatal(err)
	}
	dev, topo, wire := simulated(b, topo)
	plan := &policy.Plan{Plane: policy.PlaneIB}
	for i, h := range topo.Hosts() {
		ref := subnet.PortRef{Node: h, Port: 1}
		plan.Placements = append(plan.Placements, policy.Placement{Tenant: string(rune('a' + i%3)), Port: topo.PortID(ref), SL: ident.SL(1 + i%3)})
		if i%40 == 0 {
			out, _ := topo.Peer(ref)
			plan.Links = append(plan.Links, policy.LinkShare{Port: topo.PortID(out), Peer: topo.PortID(ref), Capacity: 100e9})
		}
	}
	plan.Tenants = []policy.TenantShare{{Tenant: "a"}, {Tenant: "b"}, {Tenant: "c"}}
	ctx, o := b.Context(), Options{CCKey: 77, Parallel: 1}
	b.ReportAllocs()
	for b.Loop() {
		ports, err := PortsOf(plan, topo)
		if err != nil {
			b.Fatal(err)
		}
		c, err := New(wire, ports, o)
		if err != nil {
			b.Fatal(err)
		}
		w, err := NewCongestionWatch(wire, plan, topo, CongestionOptions{Options: o})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.Read(ctx); err != nil {
			b.Fatal(err)
		}
		first, err := c.Sample(ctx)
		if err != nil {
			b.Fatal(err)
		}
		dev.Advance(quantity.Millisecond)
		last, err := c.Sample(ctx)
		if err != nil {
			b.Fatal(err)
		}
		events, err := w.Read(ctx)
		if err != nil {
			b.Fatal(err)
		}
		window := Between(first, last)
		r := Shares(plan, window)
		JudgeBECNs(plan, &window, events, &Traffic{}, &r)
		if len(r.Ports) != 10_250 || r.Ports[0].Sent == nil {
			b.Fatalf("%d ports, the first %+v", len(r.Ports), r.Ports[0])
		}
	}
}
