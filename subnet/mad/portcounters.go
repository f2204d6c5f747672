package mad

import "fairlane/subnet/ident"

// Lengths of the counter attributes in bytes.
const (
	PortCountersSize         = 44
	PortCountersExtendedSize = 72
	PortSLCountersSize       = 68
	PortVLXmitTimeCongSize   = 64
	PortRcvConCtrlSize       = 12
	PortXmitConCtrlSize      = 8
)

// AllPorts as PortSelect selects all ports, if the agent has PerfCapAllPortSelect.
const AllPorts ident.PortNum = 255

// PortCounters are the counters that every port has (IBTA vol. 1, 16.1.3.5). They saturate; a Set with the counter's bit
// in CounterSelect sets it to the value sent. Data counters are in units of 4 octets.
type PortCounters struct {
	PortSelect         ident.PortNum
	CounterSelect      uint16 // only in a Set
	SymbolErrors       uint16
	LinkErrorRecovery  uint8
	LinkDowned         uint8
	RcvErrors          uint16
	RcvRemotePhysical  uint16
	RcvSwitchRelay     uint16
	XmitDiscards       uint16
	XmitConstraint     uint8
	RcvConstraint      uint8
	CounterSelect2     uint8 // only in a Set
	LocalLinkIntegrity uint8 // 4 bits
	BufferOverrun      uint8 // 4 bits
	QP1Dropped         uint16
	VL15Dropped        uint16
	XmitData           uint32 // 4 octets
	RcvData            uint32 // 4 octets
	XmitPkts           uint32
	RcvPkts            uint32
	XmitWait           uint32 // ticks with data to send and no credit
}

func (a *PortCounters) fields(c *coder) {
	field(c, "port select", 8, 8, &a.PortSelect)
	field(c, "counter select", 16, 16, &a.CounterSelect)
	field(c, "symbol errors", 32, 16, &a.SymbolErrors)
	field(c, "link error recovery", 48, 8, &a.LinkErrorRecovery)
	field(c, "link downed", 56, 8, &a.LinkDowned)
	field(c, "receive errors", 64, 16, &a.RcvErrors)
	field(c, "remote physical errors", 80, 16, &a.RcvRemotePhysical)
	field(c, "switch relay errors", 96, 16, &a.RcvSwitchRelay)
	field(c, "transmit discards", 112, 16, &a.XmitDiscards)
	field(c, "transmit constraint errors", 128, 8, &a.XmitConstraint)
	field(c, "receive constraint errors", 136, 8, &a.RcvConstraint)
	field(c, "counter select 2", 144, 8, &a.CounterSelect2)
	field(c, "local link integrity errors", 152, 4, &a.LocalLinkIntegrity)
	field(c, "buffer overrun errors", 156, 4, &a.BufferOverrun)
	field(c, "QP1 dropped", 160, 16, &a.QP1Dropped)
	field(c, "VL15 dropped", 176, 16, &a.VL15Dropped)
	field(c, "transmit data", 192, 32, &a.XmitData)
	field(c, "receive data", 224, 32, &a.RcvData)
	field(c, "transmit packets", 256, 32, &a.XmitPkts)
	field(c, "receive packets", 288, 32, &a.RcvPkts)
	field(c, "transmit wait", 320, 32, &a.XmitWait)
}

var _ Attribute = (*PortCounters)(nil)

func (a *PortCounters) Encode(dst []byte) error {
	c := encoding("PortCounters", dst, PortCountersSize)
	a.fields(&c)
	return c.err
}

func (a *PortCounters) Decode(src []byte) error {
	c := decoding("PortCounters", src, PortCountersSize)
	a.fields(&c)
	return c.err
}

// PortCountersExtended are 64-bit data and packet counters (IBTA vol. 1, 16.1.4.11). They
// wrap; data counters are in units of 4 octets.
type PortCountersExtended struct {
	PortSelect    ident.PortNum
	CounterSelect uint16 // only in a Set
	XmitData      uint64 // 4 octets
	RcvData       uint64 // 4 octets
	XmitPkts      uint64
	RcvPkts       uint64
	UnicastXmit   uint64 // packets
	UnicastRcv    uint64
	MulticastXmit uint64
	MulticastRcv  uint64
}

func (a *PortCountersExtended) fields(c *coder) {
	field(c, "port select", 8, 8, &a.PortSelect)
	field(c, "counter select", 16, 16, &a.CounterSelect)
	field(c, "transmit data", 64, 64, &a.XmitData)
	field(c, "receive data", 128, 64, &a.RcvData)
	field(c, "transmit packets", 192, 64, &a.XmitPkts)
	field(c, "receive packets", 256, 64, &a.RcvPkts)
	field(c, "unicast transmit packets", 320, 64, &a.UnicastXmit)
	field(c, "unicast receive packets", 384, 64, &a.UnicastRcv)
	field(c, "multicast transmit packets", 448, 64, &a.MulticastXmit)
	field(c, "multicast receive packets", 512, 64, &a.MulticastRcv)
}

var _ Attribute = (*PortCountersExtended)(nil)

func (a *PortCountersExtended) Encode(dst []byte) error {
	c := encoding("PortCountersExtended", dst, PortCountersExtendedSize)
	a.fields(&c)
	return c.err
}

func (a *PortCountersExtended) Decode(src []byte) error {
	c := decoding("PortCountersExtended", src, PortCountersExtendedSize)
	a.fields(&c)
	return c.err
}

// PortSLCounters is the common layout of the per-SL attributes: PortXmitDataSL and PortRcvDataSL (units of 4 octets, IBTA
// vol. 1, 16.1.4), PortSLRcvFECN and PortSLRcvBECN (packets, annex A10). Devices differ in whether they wrap or saturate.
type PortSLCounters struct {
	PortSelect    ident.PortNum
	CounterSelect uint16 // bit s selects the counter of SL s in a Set
	SL            [ident.NumSLs]uint32
}

func (a *PortSLCounters) fields(c *coder) {
	field(c, "port select", 8, 8, &a.PortSelect)
	field(c, "counter select", 16, 16, &a.CounterSelect)
	fieldArrayAt(c, "counter", 32, 32, a.SL[:])
}

var _ Attribute = (*PortSLCounters)(nil)

func (a *PortSLCounters) Encode(dst []byte) error {
	c := encoding("per-SL counters", dst, PortSLCountersSize)
	a.fields(&c)
	return c.err
}

func (a *PortSLCounters) Decode(src []byte) error {
	c := decoding("per-SL counters", src, PortSLCountersSize)
	a.fields(&c)
	return c.err
}

// PortVLXmitTimeCong counts, for each data VL, the ticks that packets waited on a congested
// port (IBTA annex A10).
type PortVLXmitTimeCong struct {
	PortSelect    ident.PortNum
	CounterSelect uint16
	VL            [15]uint32 // VL 0 to 14
}

func (a *PortVLXmitTimeCong) fields(c *coder) {
	field(c, "port select", 8, 8, &a.PortSelect)
	field(c, "counter select", 16, 16, &a.CounterSelect)
	fieldArrayAt(c, "counter", 32, 32, a.VL[:])
}

var _ Attribute = (*PortVLXmitTimeCong)(nil)

func (a *PortVLXmitTimeCong) Encode(dst []byte) error {
	c := encoding("PortVLXmitTimeCong", dst, PortVLXmitTimeCongSize)
	a.fields(&c)
	return c.err
}

func (a *PortVLXmitTimeCong) Decode(src []byte) error {
	c := decoding("PortVLXmitTimeCong", src, PortVLXmitTimeCongSize)
	a.fields(&c)
	return c.err
}

// PortRcvConCtrl counts the packets a port received with FECN and with BECN (IBTA annex
// A10).
type PortRcvConCtrl struct {
	PortSelect    ident.PortNum
	CounterSelect uint16
	PktRcvFECN    uint32
	PktRcvBECN    uint32
}

func (a *PortRcvConCtrl) fields(c *coder) {
	field(c, "port select", 8, 8, &a.PortSelect)
	field(c, "counter select", 16, 16, &a.CounterSelect)
	field(c, "FECN packets", 32, 32, &a.PktRcvFECN)
	field(c, "BECN packets", 64, 32, &a.PktRcvBECN)
}

var _ Attribute = (*PortRcvConCtrl)(nil)

func (a *PortRcvConCtrl) Encode(dst []byte) error {
	c := encoding("PortRcvConCtrl", dst, PortRcvConCtrlSize)
	a.fields(&c)
	return c.err
}

func (a *PortRcvConCtrl) Decode(src []byte) error {
	c := decoding("PortRcvConCtrl", src, PortRcvConCtrlSize)
	a.fields(&c)
	return c.err
}

// PortXmitConCtrl counts the ticks that a port was congested while sending (IBTA annex A10).
type PortXmitConCtrl struct {
	PortSelect    ident.PortNum
	CounterSelect uint16
	XmitTimeCong  uint32
}

func (a *PortXmitConCtrl) fields(c *coder) {
	field(c, "port select", 8, 8, &a.PortSelect)
	field(c, "counter select", 16, 16, &a.CounterSelect)
	field(c, "congested time", 32, 32, &a.XmitTimeCong)
}

var _ Attribute = (*PortXmitConCtrl)(nil)

func (a *PortXmitConCtrl) Encode(dst []byte) error {
	c := encoding("PortXmitConCtrl", dst, PortXmitConCtrlSize)
	a.fields(&c)
	return c.err
}

func (a *PortXmitConCtrl) Decode(src []byte) error {
	c := decoding("PortXmitConCtrl", src, PortXmitConCtrlSize)
	a.fields(&c)
	return c.err
}
