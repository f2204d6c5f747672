package control

import (
	"fmt"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// DevicesOf counts the devices that a plan sets; of a plan for WRCC the switches and the ports with senders.
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

// Desired lists what the target's devices should be, by device.
func (t *Target) Desired() ([]device.Target, error) {
	list, err := device.Desired(t.Plan, t.Topology)
	if err != nil {
		return nil, &ConflictError{Code: "topology-changed", Said: phrase.Of("problem.plan-misfit", "plan", fmt.Sprintf("%.12s", t.Plan.Name), "reason", err)}
	}
	return list, nil
}
