package fabric

import (
	"runtime"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet/topogen"
)

// Memory budget: 320 hosts with 30,000 flows use less than 40 MB more than the idle process while the traffic runs.
func TestMemoryOfALargeFabric(t *testing.T) {
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 20, HostsPerLeaf: 16, Spines: 8})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	n := build(t, f, Config{Seed: 1})
	managed(n)
	const hosts, flows = 320, 30_000
	for i := range flows {
		src := i % hosts
		dst := (src + 1 + i/hosts*7%(hosts-1)) % hosts
		addFlow(t, n, FlowSpec{Src: hostPort(f, src), Dst: hostPort(f, dst), Demand: quantity.Gbps})
	}
	n.RunUntil(3 * ms)
	after := heap()
	if mb := float64(after-before) / 1e6; mb > 40 {
		t.Errorf("%.1f MB, want less than 40", mb)
	} else {
		t.Logf("%.1f MB, %+v", mb, n.Stats())
	}
	runtime.KeepAlive(n)
}
