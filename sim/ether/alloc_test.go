package ether

import (
	"testing"

	"fairlane/sim/cc"
	"fairlane/subnet/topogen"
)

// Once queues, pools and telemetry have their working size, no congestion control allocates for
// packets, acknowledgements, timers or notifications.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 4, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range cc.Specs() {
		for name, cfg := range map[string]Config{
			"lossless": {}, "coalesced, with CNPs and fair rates": {AckEvery: 4, CNPs: true, CNPGap: 10 * us, FairRate: &FairRate{Period: 10 * us}},
		} {
			cfg.Algorithms = []cc.Algorithm{build(t, s.Name, nil)}
			cfg.ECN = ECN{Min: 5000, Max: 50_000, PMax: 0.2}
			cfg.Buffer = Buffer{Static: 200_000}
			var flows []FlowSpec
			for i := range int32(7) {
				flows = append(flows, FlowSpec{ID: int64(i), Src: i, Dst: 7})
			}
			n, _ := on(t, topo, cfg, flows...)
			n.RunUntil(20 * ms)
			before := n.Stats().DeliveredPackets
			const slices = 20
			if allocs := testing.AllocsPerRun(slices, func() { n.RunUntil(n.Now() + 50*us) }); allocs != 0 {
				t.Errorf("%s, %s: %g allocations in 50 us", s.Name, name, allocs)
			}
			if packets := n.Stats().DeliveredPackets - before; packets < 100 {
				t.Errorf("%s, %s: only %d packets in 1 ms: the test has no traffic", s.Name, name, packets)
			}
		}
	}
}
