package app

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// sampleTenants puts three tenants with weights 4:2:1 and 1, 4 and 16 queue pairs on a fabric,
// all sending to its last host: the contention that the demo shows, on a fabric that came
// without tenants. It needs four hosts that are plugged in.
func sampleTenants(f *subnet.Fabric) ([]tenants.Tenant, []tenants.Flow, error) {
	hosts := connectedPorts(f)
	if len(hosts) < 4 {
		return nil, nil, usagef("fabric %q has %d connected host ports: want at least 4, or name tenants with --tenants", f.Name, len(hosts))
	}
	dst, senders := hosts[len(hosts)-1], hosts[:len(hosts)-1]
	samples := []struct {
		name   string
		weight quantity.Weight
		qps    int
	}{{"gold", 4 * quantity.WeightOne, 1}, {"silver", 2 * quantity.WeightOne, 4}, {"bronze", quantity.WeightOne, 16}}
	var ts []tenants.Tenant
	var flows []tenants.Flow
	next := 0
	for i, s := range samples {
		ts = append(ts, tenants.Tenant{Name: s.name, Weight: s.weight, PKey: ident.PKey(0x8001 + i)})
		// Each tenant gets as many hosts as it has queue pairs, while there are hosts left.
		spread := min(s.qps, max(1, (len(senders)-next)/(len(samples)-i)))
		if i == len(samples)-1 {
			spread = min(s.qps, len(senders)-next)
		}
		for h := range spread {
			qps := s.qps / spread
			if h < s.qps%spread {
				qps++
			}
			flows = append(flows, tenants.Flow{Tenant: s.name, Src: senders[next+h], Dst: dst, QPs: qps})
		}
		next += spread
	}
	ts = tenants.Attach(ts, flows)
	if err := tenants.Validate(ts, flows); err != nil {
		return nil, nil, fmt.Errorf("sample tenants: %w", err)
	}
	return ts, flows, nil
}

// connectedPorts lists the plugged-in ports of channel adapters in the order of the fabric.
func connectedPorts(f *subnet.Fabric) []ident.PortID {
	var out []ident.PortID
	for _, h := range f.Hosts() {
		for p := range f.Nodes[h].Ports {
			ref := subnet.PortRef{Node: h, Port: ident.PortNum(p)}
			if _, ok := f.Peer(ref); ok {
				out = append(out, f.PortID(ref))
			}
		}
	}
	return out
}
