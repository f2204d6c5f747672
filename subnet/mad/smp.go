package mad

import (
	"encoding/binary"
	"fmt"

	"fairlane/subnet/ident"
)

// Byte offsets of a subnet management packet (IBTA vol. 1, 14.2.1).
const (
	offHopPointer = 6
	offHopCount   = 7
	offMKey       = 24
	offDrSLID     = 32
	offDrDLID     = 34
	offInitial    = 128
	offReturn     = 192
	pathBytes     = 64
)

// MaxHops is the longest directed route.
const MaxHops = 63

// drDirection is the direction bit in the status of a directed-route packet: set in packets to the requester.
const drDirection Status = 0x8000

// NewSMP builds a LID-routed subnet management packet, class 0x01.
func NewSMP(m Method, a AttrID, modifier uint32) Packet {
	return newPacket(ClassSubnLID, m, a, modifier)
}

// NewDirected builds a directed-route subnet management packet, class 0x81, for the local node. Transports set the route
// of the Target; SetRoute does it explicitly.
func NewDirected(m Method, a AttrID, modifier uint32) Packet {
	p := newPacket(ClassSubnDR, m, a, modifier)
	p.SetDrLIDs(ident.PermissiveLID, ident.PermissiveLID)
	return p
}

// SetRoute makes the packet a request along the path: hop pointer 0, hop count, initial path, cleared return path and
// permissive LIDs. A path longer than MaxHops is an error.
func (p *Packet) SetRoute(path []ident.PortNum) error {
	if len(path) > MaxHops {
		return fmt.Errorf("directed route of %d hops: want at most %d", len(path), MaxHops)
	}
	p[offHopPointer], p[offHopCount] = 0, byte(len(path))
	p.SetDirection(false)
	p.SetDrLIDs(ident.PermissiveLID, ident.PermissiveLID)
	clear(p[offInitial:])
	for i, port := range path {
		p[offInitial+1+i] = byte(port)
	}
	return nil
}

// Direction reports the direction bit: true in packets to the requester.
func (p *Packet) Direction() bool { return p[offStatus]&0x80 != 0 }

// SetDirection sets or clears the direction bit.
func (p *Packet) SetDirection(back bool) {
	p[offStatus] &^= 0x80
	if back {
		p[offStatus] |= 0x80
	}
}

// HopPointer returns the index of the packet's current hop.
func (p *Packet) HopPointer() uint8 { return p[offHopPointer] }

// SetHopPointer replaces the hop pointer.
func (p *Packet) SetHopPointer(n uint8) { p[offHopPointer] = n }

// HopCount returns the number of hops of the directed route; a legal one is at most MaxHops.
func (p *Packet) HopCount() uint8 { return p[offHopCount] }

// SetHopCount replaces the hop count.
func (p *Packet) SetHopCount(n uint8) { p[offHopCount] = n }

// DrSLID and DrDLID return the LIDs at the ends of the directed part; both are
// ident.PermissiveLID in a pure directed route.
func (p *Packet) DrSLID() ident.LID { return ident.LID(binary.BigEndian.Uint16(p[offDrSLID:])) }

// DrDLID returns the LID at the far end of the directed part.
func (p *Packet) DrDLID() ident.LID { return ident.LID(binary.BigEndian.Uint16(p[offDrDLID:])) }

// SetDrLIDs replaces both LIDs of the directed part.
func (p *Packet) SetDrLIDs(slid, dlid ident.LID) {
	binary.BigEndian.PutUint16(p[offDrSLID:], uint16(slid))
	binary.BigEndian.PutUint16(p[offDrDLID:], uint16(dlid))
}

// InitialPath returns the 64 bytes of the initial path as a slice of the packet: byte i is
// the egress port at hop i, byte 0 is not used.
func (p *Packet) InitialPath() []byte { return p[offInitial : offInitial+pathBytes] }

// ReturnPath returns the 64 bytes of the return path as a slice of the packet: byte i is
// the port through which the packet entered at hop i.
func (p *Packet) ReturnPath() []byte { return p[offReturn : offReturn+pathBytes] }

// MKey returns the M_Key of a subnet management packet.
func (p *Packet) MKey() Key { return Key(binary.BigEndian.Uint64(p[offMKey:])) }

// SetMKey replaces the M_Key of a subnet management packet.
func (p *Packet) SetMKey(k Key) { binary.BigEndian.PutUint64(p[offMKey:], uint64(k)) }
