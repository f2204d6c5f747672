package telemetry

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Port is a port to measure in its transmit direction.
type Port struct {
	ID   ident.PortID
	Name string
	// LID is the address of the agent with the counters: the port's own LID on a channel adapter, port 0's on a switch.
	LID ident.LID
	// Rate is the data rate of the link, 0 when unknown.
	Rate quantity.BitRate
}

// PortsOf lists the ports that Shares needs for a plan: those from which tenants send, and those that transmit on
// contended links. They are sorted by port, without duplicates. It fails when the plan names a port that is not on the
// fabric, or one without a LID.
func PortsOf(p *policy.Plan, f *subnet.Fabric) ([]Port, error) {
	var ids []ident.PortID
	for _, pl := range p.Placements {
		ids = append(ids, pl.Port)
	}
	for _, l := range p.Links {
		ids = append(ids, l.Port)
	}
	slices.SortFunc(ids, ident.PortID.Compare)
	ids = slices.Compact(ids)
	ports := make([]Port, 0, len(ids))
	for _, id := range ids {
		port, err := portOf(id, f)
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

func portOf(id ident.PortID, f *subnet.Fabric) (Port, error) {
	ref, ok := f.PortByID(id)
	if !ok {
		return Port{}, fmt.Errorf("port %s of the plan: not on fabric %q", id, f.Name)
	}
	node := &f.Nodes[ref.Node]
	p := Port{ID: id, Name: f.PortName(ref), LID: f.Port(ref).LID}
	if node.Kind == subnet.KindSwitch {
		p.LID = node.Ports[0].LID
	}
	if l, i := f.Link(ref); i >= 0 && l != nil {
		p.Rate = l.Rate
	}
	return p, p.validate()
}

func (p *Port) validate() error {
	if !p.LID.IsUnicast() {
		return fmt.Errorf("port %s %q: LID %d, want 1 to %d", p.ID, p.Name, p.LID, ident.MaxUnicastLID)
	}
	if p.Rate < 0 || p.Rate > quantity.MaxBitRate {
		return fmt.Errorf("port %s %q: rate %d bit/s, want 0 to 100 Tbit/s", p.ID, p.Name, int64(p.Rate))
	}
	return nil
}

// sortPorts sorts by agent, then port, so that the ports of one device are consecutive.
func sortPorts(ps []Port) {
	slices.SortFunc(ps, func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.LID, b.LID), a.ID.Compare(b.ID))
	})
}
