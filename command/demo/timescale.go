package demo

import (
	"fairlane/sim/tenantnet"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// simulatorCost estimates the cost of simulating packets: hops for each packet, and time for each hop.
type simulatorCost struct {
	packet float64 // bytes
	hops   float64
	hop    float64 // seconds of processor time
	busy   float64 // target load of one core, as a fraction
	least  float64 // minimum time scale
}

// infiniBandCost leaves a core idle about half of the time, so that management datagrams are answered promptly and a
// device's clock and counters are read at nearly the same time.
func infiniBandCost() simulatorCost {
	return simulatorCost{packet: 4096, hops: 4, hop: 150e-9, busy: 0.45, least: 0.001}
}

// ethernetCost is for smaller packets and longer paths.
func ethernetCost() simulatorCost {
	return simulatorCost{packet: tenantnet.Payload + tenantnet.Headers, hops: 6, hop: 60e-9, busy: 0.8, least: 0.0001}
}

// maxTimeScale is the maximum time scale, for fabrics with little traffic.
const maxTimeScale = 2

// timeScale returns the simulated seconds per second at which the traffic of a fabric produces the target load. No
// receiver gets more than its line rate.
func (c simulatorCost) timeScale(f *subnet.Fabric, flows []tenants.Flow) float64 {
	load := 0.0 // seconds of processor time for a second of fabric time
	seen := map[ident.PortID]bool{}
	for _, fl := range flows {
		ref, ok := f.PortByID(fl.Dst)
		if !ok || seen[fl.Dst] {
			continue
		}
		seen[fl.Dst] = true
		if l, _ := f.Link(ref); l != nil {
			load += float64(l.Rate) / 8 / c.packet * c.hops * c.hop
		}
	}
	return min(max(c.busy/max(load, 1e-3), c.least), maxTimeScale)
}
