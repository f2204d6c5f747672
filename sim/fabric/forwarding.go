package fabric

import "fairlane/subnet/ident"

// lftBlock is the number of entries in one block of a linear forwarding table.
const lftBlock = 64

// SetLID sets a port's base LID and LMC; on a switch, only port 0 has a LID. LID 0 removes the LID: queue pairs from or to such
// a port wait.
func (n *Network) SetLID(node int32, num ident.PortNum, lid ident.LID, lmc uint8) {
	pi := n.portIndex(node, num)
	if pi == none {
		return
	}
	n.lids[pi] = lidRange{lid, min(lmc, 7)}
	n.wakeUnresolved()
}

// LID returns the base LID and LMC of a port.
func (n *Network) LID(node int32, num ident.PortNum) (ident.LID, uint8) {
	pi := n.portIndex(node, num)
	if pi == none {
		return 0, 0
	}
	return n.lids[pi].base, n.lids[pi].lmc
}

// lidRange is the range of 2^lmc LIDs of a port, starting at base.
type lidRange struct {
	base ident.LID
	lmc  uint8
}

func (r lidRange) has(l ident.LID) bool {
	return r.base != 0 && l >= r.base && int(l) < int(r.base)+1<<r.lmc
}

// with returns the LID of a path: the base LID with the path bits that the LMC allows.
func (r lidRange) with(pathBits uint8) ident.LID {
	return r.base + ident.LID(pathBits)&(1<<r.lmc-1)
}

// SetLFTBlock writes the entries for LIDs 64·block to 64·block+63 of a switch's forwarding table. Packets already queued keep
// their output. Blocks of multicast LIDs are ignored.
func (n *Network) SetLFTBlock(node int32, block int, ports [lftBlock]ident.PortNum) {
	s := n.switchOf(node)
	if s == nil || block < 0 || block*lftBlock > int(ident.MaxUnicastLID) {
		return
	}
	for len(s.lft) < (block+1)*lftBlock {
		s.lft = append(s.lft, ident.DropPort)
	}
	copy(s.lft[block*lftBlock:], ports[:])
}

// LFTBlock returns the entries that SetLFTBlock wrote; entries never written drop packets.
func (n *Network) LFTBlock(node int32, block int) [lftBlock]ident.PortNum {
	var b [lftBlock]ident.PortNum
	for i := range b {
		b[i] = ident.DropPort
	}
	if s := n.switchOf(node); s != nil && block >= 0 && block*lftBlock < len(s.lft) {
		copy(b[:], s.lft[block*lftBlock:])
	}
	return b
}

// SetSL2VL writes the lane of each SL for packets that enter through in and leave through out; on a channel adapter, in is 0
// and out is the port (IBTA vol. 1, 7.6.6).
func (n *Network) SetSL2VL(node int32, in, out ident.PortNum, t [ident.NumSLs]ident.VL) {
	m := n.sl2vlSlot(node, in, out)
	if m == nil {
		return
	}
	for sl, vl := range t {
		m[sl] = vl & 15
	}
	n.wakeUnresolved()
}

// SL2VL returns the table that SetSL2VL wrote. Initially every SL uses VL 0.
func (n *Network) SL2VL(node int32, in, out ident.PortNum) [ident.NumSLs]ident.VL {
	pi := n.portIndex(node, out)
	if pi == none || n.portIndex(node, in) == none {
		return [ident.NumSLs]ident.VL{}
	}
	if s := n.switchOf(node); s != nil {
		if s.sl2vl == nil {
			return [ident.NumSLs]ident.VL{}
		}
		return s.sl2vl[int(in)*s.ports+int(out)]
	}
	if h := n.ports[pi].host; h != none {
		return n.hosts[h].sl2vl
	}
	return [ident.NumSLs]ident.VL{}
}

// sl2vlSlot returns the table to write, and creates a switch's tables on the first write.
func (n *Network) sl2vlSlot(node int32, in, out ident.PortNum) *[ident.NumSLs]ident.VL {
	pi := n.portIndex(node, out)
	if pi == none || n.portIndex(node, in) == none {
		return nil
	}
	if s := n.switchOf(node); s != nil {
		if s.sl2vl == nil {
			s.sl2vl = make([][ident.NumSLs]ident.VL, s.ports*s.ports)
		}
		return &s.sl2vl[int(in)*s.ports+int(out)]
	}
	if h := n.ports[pi].host; h != none {
		return &n.hosts[h].sl2vl
	}
	return nil
}

// SetOperationalVLs sets the number of data VLs that the port's transmitter uses: 1, 2, 4, 8 or 15; other values are ignored.
// Higher lanes accept no new packets but still send the queued ones.
func (n *Network) SetOperationalVLs(node int32, num ident.PortNum, vls int) {
	p := n.port(node, num)
	if p == nil || !validVLs(vls) {
		return
	}
	p.opVLs = uint8(vls)
	n.growLanes(p, vls)
	if p.peer != none { // the receiving side of the same lanes
		n.growLanes(&n.ports[p.peer], vls)
	}
	n.wakeUnresolved()
}

// OperationalVLs returns the number of operational data VLs of the port, or 0 if the port does not exist.
func (n *Network) OperationalVLs(node int32, num ident.PortNum) int {
	if p := n.port(node, num); p != nil {
		return int(p.opVLs)
	}
	return 0
}

func (n *Network) growLanes(p *port, vls int) {
	for len(p.lanes) < vls {
		p.lanes = append(p.lanes, newLane(n.creditBlocks))
		n.armLane(p, &p.lanes[len(p.lanes)-1])
	}
}
