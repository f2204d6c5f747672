package demo

import (
	"fmt"
	"strconv"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/usage"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// SampleTenants puts three tenants with weights 4:2:1 and 1, 4 and 16 queue pairs on a fabric without tenants. All send
// to its last host: this is the contention that the demo shows. It needs four connected hosts.
func SampleTenants(f *subnet.Fabric) ([]tenants.Tenant, []tenants.Flow, error) {
	hosts := connectedPorts(f)
	if len(hosts) < 4 {
		return nil, nil, usage.Of(phrase.Of("usage.demo-hosts", "fabric", strconv.Quote(f.Name), "n", len(hosts)))
	}
	dst, senders := hosts[len(hosts)-1], hosts[:len(hosts)-1]
	samples := []struct {
		name   string
		weight quantity.Weight
		qps    int
	}{{"gold", 4 * quantity.WeightOne, 1}, {"silver", 2 * quantity.WeightOne, 4}, {"bronze", quantity.WeightOne, 16}}
	var ts []tenants.Tenant
	var flows []tenants.Flow
	for i, s := range samples {
		ts = append(ts, tenants.Tenant{Name: s.name, Weight: s.weight, PKey: ident.PKey(0x8001 + i)})
		// As many hosts as queue pairs, but at most half of the rest, so that some remain for the next tenants, spread
		// over the fabric.
		want := min(s.qps, max(1, len(senders)/2))
		if i == len(samples)-1 {
			want = min(s.qps, len(senders))
		}
		var mine []ident.PortID
		mine, senders = spread(senders, want)
		for h, src := range mine {
			qps := s.qps / len(mine)
			if h < s.qps%len(mine) {
				qps++
			}
			flows = append(flows, tenants.Flow{Tenant: s.name, Src: src, Dst: dst, QPs: qps})
		}
	}
	ts = tenants.Attach(ts, flows)
	if err := tenants.Validate(ts, flows); err != nil {
		return nil, nil, fmt.Errorf("sample tenants: %w", err)
	}
	return ts, flows, nil
}

// spread takes n of the ports, evenly spaced, and returns them and the rest.
func spread(ports []ident.PortID, n int) (taken, left []ident.PortID) {
	for i, p := range ports {
		// Port i is taken if the number of ports taken at even spacing increases there.
		if (i+1)*n/len(ports) > i*n/len(ports) {
			taken = append(taken, p)
		} else {
			left = append(left, p)
		}
	}
	return taken, left
}

// connectedPorts lists the connected ports of channel adapters in the order of the fabric.
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
