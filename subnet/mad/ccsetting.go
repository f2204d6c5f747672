package mad

import "fairlane/subnet/ident"

// Lengths of the congestion-control settings in bytes (IBTA vol. 1, annex A10).
const (
	CongestionInfoSize              = 3
	CongestionKeyInfoSize           = 14
	SwitchCongestionSettingSize     = 76
	SwitchPortCongestionSettingSize = 128
	CACongestionSettingSize         = 132
	CongestionControlTableSize      = 132
	TimeStampSize                   = 4
)

// CCTBlockEntries is the number of entries in one CongestionControlTable block, and
// SwitchPortBlock the number of ports in one SwitchPortCongestionSetting block.
const (
	CCTBlockEntries = 64
	SwitchPortBlock = 32
)

// CongestionInfo describes the congestion-control capabilities of a device.
type CongestionInfo struct {
	Info            uint16 // bit 0: a switch supports credit starvation; other bits are disputed
	ControlTableCap uint8  // CA: number of CCT blocks of 64 entries
}

func (a *CongestionInfo) fields(c *coder) {
	field(c, "congestion info", 0, 16, &a.Info)
	field(c, "control table capacity", 16, 8, &a.ControlTableCap)
}

var _ Attribute = (*CongestionInfo)(nil)

func (a *CongestionInfo) Encode(dst []byte) error {
	c := encoding("CongestionInfo", dst, CongestionInfoSize)
	a.fields(&c)
	return c.err
}

func (a *CongestionInfo) Decode(src []byte) error {
	c := decoding("CongestionInfo", src, CongestionInfoSize)
	a.fields(&c)
	return c.err
}

// CongestionKeyInfo is the key that protects the congestion-control agent. A request with a wrong key is dropped without
// an answer.
type CongestionKeyInfo struct {
	CCKey       Key    // 0: no checking
	Protect     bool   // Gets need the key too
	LeasePeriod uint16 // seconds before Protect drops; 0 never
	Violations  uint16 // writing 0 clears
}

func (a *CongestionKeyInfo) fields(c *coder) {
	field(c, "CC_Key", 0, 64, &a.CCKey)
	flag(c, 64, &a.Protect)
	field(c, "lease period", 80, 16, &a.LeasePeriod)
	field(c, "violations", 96, 16, &a.Violations)
}

var _ Attribute = (*CongestionKeyInfo)(nil)

func (a *CongestionKeyInfo) Encode(dst []byte) error {
	c := encoding("CongestionKeyInfo", dst, CongestionKeyInfoSize)
	a.fields(&c)
	return c.err
}

func (a *CongestionKeyInfo) Decode(src []byte) error {
	c := decoding("CongestionKeyInfo", src, CongestionKeyInfoSize)
	a.fields(&c)
	return c.err
}

// PortMask is a set of port numbers: bit n for port n, word 0 holds ports 0 to 63. On the
// wire it is one big-endian integer of 256 bits. It converts to ibcc.PortMask.
type PortMask [4]uint64

func (m *PortMask) fields(c *coder, off int) {
	for i := range m {
		field(c, "port mask", off+(3-i)*64, 64, &m[i])
	}
}

// ControlMapAll applies every field of SwitchCongestionSetting. The order of its bits is
// disputed, so settings are always written whole.
const ControlMapAll uint32 = 0x1f

// SwitchCongestionSetting is the marking configuration of a whole switch.
type SwitchCongestionSetting struct {
	ControlMap    uint32   // which fields to apply; ControlMapAll
	VictimMask    PortMask // ports that mark packets even as victims of congestion
	CreditMask    PortMask // ports that apply credit starvation
	Threshold     uint8    // 0 never marks .. 15 most aggressive
	PacketSize    uint8    // smaller packets are not marked, unit 64 bytes
	CSThreshold   uint8    // 0..15
	CSReturnDelay CCTEntry
	MarkingRate   uint16 // mean number of eligible packets between marks
}

func (a *SwitchCongestionSetting) fields(c *coder) {
	field(c, "control map", 0, 32, &a.ControlMap)
	a.VictimMask.fields(c, 32)
	a.CreditMask.fields(c, 288)
	field(c, "threshold", 544, 4, &a.Threshold)
	field(c, "packet size", 552, 8, &a.PacketSize)
	field(c, "credit starvation threshold", 560, 4, &a.CSThreshold)
	a.CSReturnDelay.fields(c, 576)
	field(c, "marking rate", 592, 16, &a.MarkingRate)
}

var _ Attribute = (*SwitchCongestionSetting)(nil)

func (a *SwitchCongestionSetting) Encode(dst []byte) error {
	c := encoding("SwitchCongestionSetting", dst, SwitchCongestionSettingSize)
	a.fields(&c)
	return c.err
}

func (a *SwitchCongestionSetting) Decode(src []byte) error {
	c := decoding("SwitchCongestionSetting", src, SwitchCongestionSettingSize)
	a.fields(&c)
	return c.err
}

// SwitchPortElement is the marking configuration of one switch port. It converts to ibcc.PortMarking.
type SwitchPortElement struct {
	Valid            bool  // overrides the switch-wide setting
	CreditStarvation bool  // Control_Type: Threshold is CS_Threshold and the rest reserved
	Threshold        uint8 // 0..15
	PacketSize       uint8 // unit 64 bytes
	MarkingRate      uint16
}

// SwitchPortCongestionSetting holds the elements of 32 ports: block b covers ports 32b to
// 32b+31, port 0 included. The modifier is the block.
type SwitchPortCongestionSetting [SwitchPortBlock]SwitchPortElement

func (a *SwitchPortCongestionSetting) fields(c *coder) { portElements(c, a[:]) }

func portElements(c *coder, elements []SwitchPortElement) {
	for i := range elements {
		e, off := &elements[i], i*32
		flag(c, off, &e.Valid)
		flag(c, off+1, &e.CreditStarvation)
		field(c, "threshold", off+4, 4, &e.Threshold)
		field(c, "packet size", off+8, 8, &e.PacketSize)
		field(c, "marking rate", off+16, 16, &e.MarkingRate)
	}
}

var _ Attribute = (*SwitchPortCongestionSetting)(nil)

func (a *SwitchPortCongestionSetting) Encode(dst []byte) error {
	c := encoding("SwitchPortCongestionSetting", dst, SwitchPortCongestionSettingSize)
	a.fields(&c)
	return c.err
}

func (a *SwitchPortCongestionSetting) Decode(src []byte) error {
	c := decoding("SwitchPortCongestionSetting", src, SwitchPortCongestionSettingSize)
	a.fields(&c)
	return c.err
}

// CACongestionEntry is the reaction of one SL on a channel-adapter port. It converts to
// ibcc.SLParams.
type CACongestionEntry struct {
	Timer    uint16 // CCTI_Timer, units of 1.024 us
	Increase uint8  // CCTI_Increase
	Trigger  uint8  // Trigger_Threshold
	Min      uint8  // CCTI_Min
}

// PortControlSL in CACongestionSetting.PortControl keeps one CCTI per SL; without it there
// is one per QP.
const PortControlSL uint16 = 1

// CACongestionSetting is the reaction of a channel-adapter port to BECN, by SL.
type CACongestionSetting struct {
	PortControl uint16
	ControlMap  uint16 // bit s: apply the entry of SL s
	Entries     [ident.NumSLs]CACongestionEntry
}

// head lays out the fields before the entries.
func (a *CACongestionSetting) head(c *coder) {
	field(c, "port control", 0, 16, &a.PortControl)
	field(c, "control map", 16, 16, &a.ControlMap)
}

func (a *CACongestionSetting) fields(c *coder) {
	a.head(c)
	for i := range a.Entries {
		e, off := &a.Entries[i], 32+i*64
		field(c, "CCTI timer", off, 16, &e.Timer)
		field(c, "CCTI increase", off+16, 8, &e.Increase)
		field(c, "trigger threshold", off+24, 8, &e.Trigger)
		field(c, "CCTI minimum", off+32, 8, &e.Min)
	}
}

var _ Attribute = (*CACongestionSetting)(nil)

func (a *CACongestionSetting) Encode(dst []byte) error {
	c := encoding("CACongestionSetting", dst, CACongestionSettingSize)
	a.fields(&c)
	return c.err
}

func (a *CACongestionSetting) Decode(src []byte) error {
	c := decoding("CACongestionSetting", src, CACongestionSettingSize)
	a.fields(&c)
	return c.err
}

// CCTEntry is an injection delay of Multiplier / 2^Shift packet times. It converts to
// ibcc.Entry.
type CCTEntry struct {
	Shift      uint8  // 0..3
	Multiplier uint16 // 0..16383
}

func (e *CCTEntry) fields(c *coder, off int) {
	field(c, "CCT shift", off, 2, &e.Shift)
	field(c, "CCT multiplier", off+2, 14, &e.Multiplier)
}

// CongestionControlTable is a block of 64 entries; entry k of block b is CCT[64b+k]. The
// modifier is the block.
type CongestionControlTable struct {
	Limit   uint16 // CCTI_Limit: highest valid index of the whole table, the same in each block
	Entries [CCTBlockEntries]CCTEntry
}

func (a *CongestionControlTable) fields(c *coder) {
	field(c, "CCTI limit", 0, 16, &a.Limit)
	for i := range a.Entries {
		a.Entries[i].fields(c, 32+i*16)
	}
}

var _ Attribute = (*CongestionControlTable)(nil)

func (a *CongestionControlTable) Encode(dst []byte) error {
	c := encoding("CongestionControlTable", dst, CongestionControlTableSize)
	a.fields(&c)
	return c.err
}

func (a *CongestionControlTable) Decode(src []byte) error {
	c := decoding("CongestionControlTable", src, CongestionControlTableSize)
	a.fields(&c)
	return c.err
}

// TimeStamp is a free-running clock in units of 1.024 us, which wraps in about 73 minutes.
type TimeStamp uint32

var _ Attribute = (*TimeStamp)(nil)

func (a *TimeStamp) Encode(dst []byte) error {
	c := encoding("TimeStamp", dst, TimeStampSize)
	field(&c, "time stamp", 0, 32, a)
	return c.err
}

func (a *TimeStamp) Decode(src []byte) error {
	c := decoding("TimeStamp", src, TimeStampSize)
	field(&c, "time stamp", 0, 32, a)
	return c.err
}
