package control

import (
	"fmt"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// NodeName returns the name of a node of the target's fabric, "" when it has no such node.
func (t *Target) NodeName(g ident.GUID) string {
	if n, ok := t.Topology.NodeByGUID(g); ok {
		return t.Topology.Nodes[n].Name
	}
	return ""
}

// Caps returns the caps of the tenants that have one.
func (t *Target) Caps() map[string]quantity.BitRate {
	caps := map[string]quantity.BitRate{}
	for i := range t.Tenants {
		if c := t.Tenants[i].Cap; c > 0 {
			caps[t.Tenants[i].Name] = c
		}
	}
	return caps
}

// DevicesOf counts the devices that a plan sets; for WRCC, the switches and the sending ports.
func DevicesOf(p *policy.Plan) int {
	n := len(p.CAs) + len(p.Switches)
	if p.RoCE != nil {
		n += len(p.RoCE.NICs) + len(p.RoCE.Switches)
	}
	if p.WRCC != nil {
		seen := make(map[ident.PortID]bool)
		for i := range p.WRCC.Ports {
			for _, port := range p.WRCC.Ports[i].Ports {
				seen[ident.PortID{Node: port.Port.Node}] = true
			}
		}
		for i := range p.WRCC.Senders {
			seen[p.WRCC.Senders[i].Port] = true
		}
		n += len(seen)
	}
	return n
}

// Desired returns the desired state of the target's devices, by device.
func (t *Target) Desired() ([]device.Target, error) {
	list, err := device.Desired(t.Plan, t.Topology)
	if err != nil {
		return nil, &ConflictError{Code: "topology-changed", Said: phrase.Of("problem.plan-misfit", "plan", fmt.Sprintf("%.12s", t.Plan.Name), "reason", err)}
	}
	return list, nil
}

// Present returns a device with its address in a topology; false when the topology has no such port.
func Present(d driver.Device, f *subnet.Fabric) (driver.Device, bool) {
	n, ok := f.NodeByGUID(d.ID.Node)
	if !ok || int(d.ID.Port) >= len(f.Nodes[n].Ports) {
		return d, false
	}
	d.LID = f.Nodes[n].Ports[d.ID.Port].LID
	if d.Plane == policy.PlaneIB && !d.LID.IsUnicast() {
		return d, false
	}
	return d, true
}
