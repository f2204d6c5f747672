package mad

import "fairlane/subnet/ident"

// Lengths in bytes of the table attributes of subnet management; each fills the data area.
const smpTableSize = 64

// LFTBlockSize is the number of LIDs in one LinearForwardingTable block, and MFTBlockSize
// the number of multicast LIDs in one MulticastForwardingTable block.
const (
	LFTBlockSize = 64
	MFTBlockSize = 32
)

// GUIDInfo is a block of eight GUIDs of a port (IBTA vol. 1, 14.2.5.5). The modifier is the
// block.
type GUIDInfo [8]ident.GUID

// PKeyTable is a block of 32 P_Keys (IBTA vol. 1, 14.2.5.7). The modifier is
// PKeyModifier(port, block); 0 as a key is an empty entry.
type PKeyTable [32]ident.PKey

// SLToVLTable maps each SL to a VL (IBTA vol. 1, 14.2.5.8); VL 15 drops the packet. The
// modifier is 0 on a channel adapter and SLToVLModifier on a switch.
type SLToVLTable [ident.NumSLs]ident.VL

// LinearForwardingTable is a block of 64 egress ports (IBTA vol. 1, 14.2.5.10): entry i of
// block b is for LID 64b+i, ident.DropPort drops. The modifier is the block.
type LinearForwardingTable [LFTBlockSize]ident.PortNum

// MulticastForwardingTable is a block of 32 masks of 16 ports (IBTA vol. 1, 14.2.5.12):
// entry i of block b is for multicast LID 0xc000+32b+i, bit n of position p for port 16p+n.
// The modifier is MulticastModifier(position, block).
type MulticastForwardingTable [MFTBlockSize]uint16

// VLArbEntry is one entry of a VL arbitration table.
type VLArbEntry struct {
	VL     ident.VL // 0..14; 4 bits on the wire
	Weight uint8    // units of 64 bytes; 0 skips the entry
}

// VLArbitration is half a VL arbitration table (IBTA vol. 1, 14.2.5.9). The modifier is
// VLArbModifier(half, port).
type VLArbitration [32]VLArbEntry

// Halves of the VL arbitration tables, for VLArbModifier.
const (
	VLArbLowFirst   uint8 = 1 // low priority, entries 0..31
	VLArbLowSecond  uint8 = 2 // low priority, entries 32..63
	VLArbHighFirst  uint8 = 3
	VLArbHighSecond uint8 = 4
)

// PKeyModifier returns the modifier of a P_KeyTable block. A channel adapter requires port 0.
func PKeyModifier(port ident.PortNum, block uint16) uint32 {
	return uint32(port)<<16 | uint32(block)
}

// SLToVLModifier returns the modifier of the SL to VL table of a pair of switch ports.
func SLToVLModifier(in, out ident.PortNum) uint32 { return uint32(in)<<8 | uint32(out) }

// VLArbModifier returns the modifier of half a VL arbitration table of a port.
func VLArbModifier(half uint8, port ident.PortNum) uint32 {
	return uint32(half)<<16 | uint32(port)
}

// MulticastModifier returns the modifier of a multicast forwarding block; position is 0 to 15, block 0 to 511, and higher
// bits of either are dropped.
func MulticastModifier(position uint8, block uint16) uint32 {
	return uint32(position&15)<<28 | uint32(block&0x1ff)
}

var _ Attribute = (*GUIDInfo)(nil)

func (a *GUIDInfo) Encode(dst []byte) error {
	c := encoding("GUIDInfo", dst, smpTableSize)
	fieldArray(&c, "GUID", 64, a[:])
	return c.err
}

func (a *GUIDInfo) Decode(src []byte) error {
	c := decoding("GUIDInfo", src, smpTableSize)
	fieldArray(&c, "GUID", 64, a[:])
	return c.err
}

var _ Attribute = (*PKeyTable)(nil)

func (a *PKeyTable) Encode(dst []byte) error {
	c := encoding("P_KeyTable", dst, smpTableSize)
	fieldArray(&c, "P_Key", 16, a[:])
	return c.err
}

func (a *PKeyTable) Decode(src []byte) error {
	c := decoding("P_KeyTable", src, smpTableSize)
	fieldArray(&c, "P_Key", 16, a[:])
	return c.err
}

var _ Attribute = (*SLToVLTable)(nil)

func (a *SLToVLTable) Encode(dst []byte) error {
	c := encoding("SLtoVLMappingTable", dst, ident.NumSLs/2)
	fieldArray(&c, "VL", 4, a[:])
	return c.err
}

func (a *SLToVLTable) Decode(src []byte) error {
	c := decoding("SLtoVLMappingTable", src, ident.NumSLs/2)
	fieldArray(&c, "VL", 4, a[:])
	return c.err
}

var _ Attribute = (*LinearForwardingTable)(nil)

func (a *LinearForwardingTable) Encode(dst []byte) error {
	c := encoding("LinearForwardingTable", dst, smpTableSize)
	fieldArray(&c, "port", 8, a[:])
	return c.err
}

func (a *LinearForwardingTable) Decode(src []byte) error {
	c := decoding("LinearForwardingTable", src, smpTableSize)
	fieldArray(&c, "port", 8, a[:])
	return c.err
}

var _ Attribute = (*MulticastForwardingTable)(nil)

func (a *MulticastForwardingTable) Encode(dst []byte) error {
	c := encoding("MulticastForwardingTable", dst, smpTableSize)
	fieldArray(&c, "port mask", 16, a[:])
	return c.err
}

func (a *MulticastForwardingTable) Decode(src []byte) error {
	c := decoding("MulticastForwardingTable", src, smpTableSize)
	fieldArray(&c, "port mask", 16, a[:])
	return c.err
}

func (a *VLArbitration) fields(c *coder) {
	for i := range a {
		field(c, "VL", i*16+4, 4, &a[i].VL)
		field(c, "weight", i*16+8, 8, &a[i].Weight)
	}
}

var _ Attribute = (*VLArbitration)(nil)

func (a *VLArbitration) Encode(dst []byte) error {
	c := encoding("VLArbitrationTable", dst, smpTableSize)
	a.fields(&c)
	return c.err
}

func (a *VLArbitration) Decode(src []byte) error {
	c := decoding("VLArbitrationTable", src, smpTableSize)
	a.fields(&c)
	return c.err
}
