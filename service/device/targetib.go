package device

import (
	"maps"
	"slices"

	"fairlane/ccconfig/prereq"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// serviceLevels holds the SLs of tenants, by tenant and by channel-adapter port.
type serviceLevels struct {
	tenants map[string]map[uint8]bool
	ports   map[ident.PortID]map[uint8]bool
}

func serviceLevelsOf(p *policy.Plan) serviceLevels {
	s := serviceLevels{tenants: map[string]map[uint8]bool{}, ports: map[ident.PortID]map[uint8]bool{}}
	for i := range p.Placements {
		x := &p.Placements[i]
		note(s.tenants, x.Tenant, uint8(x.SL))
		note(s.ports, x.Port, uint8(x.SL))
	}
	return s
}

func note[K comparable](sets map[K]map[uint8]bool, k K, sl uint8) {
	if sets[k] == nil {
		sets[k] = map[uint8]bool{}
	}
	sets[k][sl] = true
}

// infiniBandNeeds sets the prerequisites of each target of an InfiniBand plan. For a switch they concern the ports at
// which tenants contend.
func infiniBandNeeds(p *policy.Plan, f *subnet.Fabric, targets []Target) {
	levels := serviceLevelsOf(p)
	lanes := map[ident.GUID][]prereq.Lane{}
	for i := range p.Links {
		if l, ok := contendedLane(p, &p.Links[i], f, levels); ok {
			lanes[p.Links[i].Port.Node] = append(lanes[p.Links[i].Port.Node], l)
		}
	}
	for i := range targets {
		t := &targets[i]
		switch {
		case t.Device.Plane != policy.PlaneIB:
		case t.Want.CA != nil:
			t.Needs = &prereq.Needs{InfiniBand: &prereq.InfiniBand{TableEntries: len(t.Want.CA.Table)}}
			if sls := levels.ports[t.Device.ID]; len(sls) > 0 {
				t.Needs.InfiniBand.Lanes = []prereq.Lane{{Out: uint8(t.Device.ID.Port), SLs: slices.Sorted(maps.Keys(sls))}}
			}
		default:
			t.Needs = &prereq.Needs{InfiniBand: &prereq.InfiniBand{Lanes: lanes[t.Device.ID.Node]}}
		}
	}
}

// contendedLane returns the switch port at which tenants contend; false for a port of a channel adapter.
func contendedLane(p *policy.Plan, link *policy.LinkShare, f *subnet.Fabric, levels serviceLevels) (l prereq.Lane, ok bool) {
	ref, ok := f.PortByID(link.Port)
	if !ok || f.Nodes[ref.Node].Kind != subnet.KindSwitch {
		return l, false
	}
	sls := map[uint8]bool{}
	for i := range link.Tenants {
		maps.Copy(sls, levels.tenants[link.Tenants[i].Tenant])
	}
	for in := 1; in < len(f.Nodes[ref.Node].Ports); in++ {
		if _, linked := f.Peer(subnet.PortRef{Node: ref.Node, Port: ident.PortNum(in)}); linked && ident.PortNum(in) != ref.Port {
			l.In = append(l.In, uint8(in))
		}
	}
	l.Out, l.SLs = uint8(ref.Port), slices.Sorted(maps.Keys(sls))
	l.Meet = len(sls) > 1 && len(p.Lanes) == 0 // with its own lanes the plan divides links by arbitration
	return l, len(sls) > 0
}

// WithoutLanes removes the lane prerequisites of targets, for a plan whose placement will set the lanes.
func WithoutLanes(targets []Target) {
	for i := range targets {
		if n := targets[i].Needs; n != nil && n.InfiniBand != nil {
			targets[i].Needs = &prereq.Needs{InfiniBand: &prereq.InfiniBand{TableEntries: n.InfiniBand.TableEntries}}
		}
	}
}
