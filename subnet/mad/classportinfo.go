package mad

import "fairlane/subnet/ident"

// ClassPortInfoSize is the length of ClassPortInfo in bytes.
const ClassPortInfoSize = 72

// Bits of ClassPortInfo.CapabilityMask.
const (
	// PerfCapAllPortSelect means that PortSelect 255 of class 0x04 selects all ports (IBTA vol. 1, 16.1.3.1).
	PerfCapAllPortSelect uint16 = 0x0100
	// PerfCapExtendedWidth means that PortCountersExtended is supported, with all counters.
	PerfCapExtendedWidth uint16 = 0x0200
	// PerfCapExtendedNoIETF means that PortCountersExtended is supported without the unicast and multicast counters.
	PerfCapExtendedNoIETF uint16 = 0x0400
	// CCCapEnhancedPort0 means, on a switch, that its enhanced port 0 supports the congestion control of channel adapters
	// (IBTA vol. 1, annex A10).
	CCCapEnhancedPort0 uint16 = 0x0100
)

// ClassAddress is the address to which an agent redirects requests, or sends traps.
type ClassAddress struct {
	GID       GID
	TClass    uint8
	SL        ident.SL
	FlowLabel uint32 // 20 bits
	LID       ident.LID
	PKey      ident.PKey
	QP        ident.QPN // 24 bits
	QKey      uint32
}

// ClassPortInfo describes the capabilities of a management agent (IBTA vol. 1, 13.4.8.1).
type ClassPortInfo struct {
	BaseVersion     uint8
	ClassVersion    uint8
	CapabilityMask  uint16
	CapabilityMask2 uint32 // 27 bits
	RespTimeValue   uint8  // 5 bits: 4.096 us x 2^n
	Redirect        ClassAddress
	Trap            ClassAddress
	TrapHopLimit    uint8
}

func (a *ClassAddress) fields(c *coder, off int) {
	raw(c, off/8, a.GID[:])
	field(c, "traffic class", off+128, 8, &a.TClass)
	field(c, "SL", off+136, 4, &a.SL)
	field(c, "flow label", off+140, 20, &a.FlowLabel)
	field(c, "LID", off+160, 16, &a.LID)
	field(c, "P_Key", off+176, 16, &a.PKey)
	field(c, "QP", off+200, 24, &a.QP)
	field(c, "Q_Key", off+224, 32, &a.QKey)
}

func (a *ClassPortInfo) fields(c *coder) {
	field(c, "base version", 0, 8, &a.BaseVersion)
	field(c, "class version", 8, 8, &a.ClassVersion)
	field(c, "capability mask", 16, 16, &a.CapabilityMask)
	field(c, "capability mask 2", 32, 27, &a.CapabilityMask2)
	field(c, "response time value", 59, 5, &a.RespTimeValue)
	a.Redirect.fields(c, 64)
	a.Trap.fields(c, 320)
	field(c, "trap hop limit", 512, 8, &a.TrapHopLimit)
}

var _ Attribute = (*ClassPortInfo)(nil)

func (a *ClassPortInfo) Encode(dst []byte) error {
	c := encoding("ClassPortInfo", dst, ClassPortInfoSize)
	a.fields(&c)
	return c.err
}

func (a *ClassPortInfo) Decode(src []byte) error {
	c := decoding("ClassPortInfo", src, ClassPortInfoSize)
	a.fields(&c)
	return c.err
}
