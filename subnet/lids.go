package subnet

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// AssignLIDs assigns a LID to every switch and to every plugged-in port of a channel adapter or router that has none:
// switches first, then the others, each in order of position and port number, from LID 1 up. Channel adapter ports
// get 2^lmc LIDs, aligned as IBTA vol. 1, 4.1.3 requires; switches get one. Existing LIDs and their LMCs stay. The
// result shares no changed data with f. It has no forwarding tables when a LID was added, because the old tables lack
// that LID. AssignLIDs fails when lmc is over 7 or the 49,151 unicast LIDs do not suffice.
func AssignLIDs(f *Fabric, lmc uint8) (*Fabric, error) {
	if lmc > MaxLMC {
		return nil, fault(phrase.Of("subnet.lmc", "lmc", lmc, "max", MaxLMC))
	}
	nodes := slices.Clone(f.Nodes)
	a := lidAllocator{f: f, next: 1}
	changed := false
	give := func(i int32, p ident.PortNum, lmc uint8) error {
		if nodes[i].Ports[p].LID != 0 {
			return nil
		}
		lid, ok := a.take(lmc)
		if !ok {
			return fault(phrase.Of("subnet.lids-used-up", "port", f.PortName(PortRef{i, p}), "max", ident.MaxUnicastLID))
		}
		if &nodes[i].Ports[0] == &f.Nodes[i].Ports[0] {
			nodes[i].Ports = slices.Clone(nodes[i].Ports)
		}
		nodes[i].Ports[p].LID, nodes[i].Ports[p].LMC = lid, lmc
		changed = true
		return nil
	}
	for _, i := range f.Switches() {
		if err := give(i, 0, 0); err != nil {
			return nil, err
		}
	}
	for _, i := range f.Hosts() {
		for p := 1; p < len(nodes[i].Ports); p++ {
			if nodes[i].Ports[p].Link < 0 {
				continue
			}
			if err := give(i, ident.PortNum(p), lmc); err != nil {
				return nil, err
			}
		}
	}
	g := *f
	if changed {
		g.Nodes, g.LFTs = nodes, nil
		g.index = newIndex(nodes)
	}
	return &g, nil
}

// lidAllocator allocates free aligned LID ranges in ascending order.
type lidAllocator struct {
	f    *Fabric
	next int
}

func (a *lidAllocator) take(lmc uint8) (ident.LID, bool) {
	size := 1 << lmc
	for at := (a.next + size - 1) &^ (size - 1); at+size-1 <= int(ident.MaxUnicastLID); at += size {
		if a.free(at, size) {
			a.next = at + size
			return ident.LID(at), true
		}
	}
	return 0, false
}

func (a *lidAllocator) free(at, size int) bool {
	for l := at; l < at+size; l++ {
		if _, taken := a.f.PortByLID(ident.LID(l)); taken {
			return false
		}
	}
	return true
}
