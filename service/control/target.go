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

// Down returns the tenants that send from a port which has no link in the latest topology.
func (t *Target) Down() map[string]bool {
	down := map[string]bool{}
	if t.Latest == nil {
		return down
	}
	for i := range t.Flows {
		f := &t.Flows[i]
		ref, ok := t.Topology.PortByID(f.Src)
		if !ok {
			continue
		}
		if peer, ok := t.Topology.Peer(ref); ok && !Linked(t.Latest, f.Src, t.Topology.PortID(peer)) {
			down[f.Tenant] = true
		}
	}
	return down
}

// Linked reports whether a topology has the link between two ports, with both ends up.
func Linked(f *subnet.Fabric, id, peer ident.PortID) bool {
	ref, ok := f.PortByID(id)
	if !ok {
		return false
	}
	at, ok := f.Peer(ref)
	return ok && f.PortID(at) == peer && f.Port(ref).State != subnet.PortDown && f.Port(at).State != subnet.PortDown
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
