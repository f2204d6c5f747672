package mad

import "fairlane/subnet/ident"

// PortInfoSize is the length of PortInfo in bytes.
const PortInfoSize = 64

// Bits of PortInfo.CapabilityMask (IBTA vol. 1, 14.2.5.6).
const (
	PortCapIsSM              uint32 = 1 << 1
	PortCapNotice            uint32 = 1 << 2
	PortCapTrap              uint32 = 1 << 3
	PortCapSLMapping         uint32 = 1 << 6
	PortCapSystemGUID        uint32 = 1 << 11
	PortCapExtendedSpeeds    uint32 = 1 << 14
	PortCapCapabilityMask2   uint32 = 1 << 15
	PortCapDRNotice          uint32 = 1 << 21
	PortCapCapMaskNotice     uint32 = 1 << 22
	PortCapClientReregister  uint32 = 1 << 25
	PortCapOtherLocalChanges uint32 = 1 << 26
)

// Logical states of PortInfo.State. StateNoChange is only written.
const (
	StateNoChange uint8 = 0
	StateDown     uint8 = 1
	StateInit     uint8 = 2
	StateArmed    uint8 = 3
	StateActive   uint8 = 4
)

// Physical states of PortInfo.PhysState. PhysNoChange is only written.
const (
	PhysNoChange uint8 = 0
	PhysSleep    uint8 = 1
	PhysPolling  uint8 = 2
	PhysDisabled uint8 = 3
	PhysTraining uint8 = 4
	PhysLinkUp   uint8 = 5
	PhysRecovery uint8 = 6
	PhysTest     uint8 = 7
)

// PortInfo holds the state and the capabilities of one port (IBTA vol. 1, 14.2.5.6). The modifier of the request is the
// port number; on a channel adapter 0 means the port that received the request. Codes are those of the standard;
// MTUFromCode, VLsFromCode and package subnet translate them.
type PortInfo struct {
	MKey                 Key
	GIDPrefix            uint64
	LID                  ident.LID
	MasterSMLID          ident.LID
	CapabilityMask       uint32 // PortCap bits
	DiagCode             uint16
	MKeyLeasePeriod      uint16 // seconds; 0 never ends
	LocalPort            ident.PortNum
	LinkWidthEnabled     uint8 // bit mask: 1 1x, 2 4x, 4 8x, 8 12x, 16 2x; 255 = supported
	LinkWidthSupported   uint8
	LinkWidthActive      uint8 // one of the bits
	LinkSpeedSupported   uint8 // 4 bits: 1 2.5, 2 5, 4 10 Gbit/s signalling a lane
	State                uint8 // 4 bits: StateDown to StateActive
	PhysState            uint8 // 4 bits
	LinkDownDefaultState uint8 // 4 bits: PhysSleep or PhysPolling
	MKeyProtect          uint8 // 2 bits
	LMC                  uint8 // 0..7
	LinkSpeedActive      uint8 // 4 bits
	LinkSpeedEnabled     uint8 // 4 bits; 15 = supported
	NeighborMTU          uint8 // code 1..5 for 256..4096 bytes
	MasterSMSL           ident.SL
	VLCap                uint8 // code 1..5 for 1, 2, 4, 8, 15 data VLs
	InitType             uint8 // 4 bits
	VLHighLimit          uint8 // units of 4096 bytes; 255 unlimited, 0 one packet
	VLArbHighCap         uint8 // entries of the high-priority table
	VLArbLowCap          uint8
	InitTypeReply        uint8 // 4 bits
	MTUCap               uint8 // code 1..5
	VLStallCount         uint8 // 3 bits
	HOQLife              uint8 // 5 bits: 4.096 us x 2^n
	OperationalVLs       uint8 // code as VLCap; 0 written means no change
	PartEnforceIn        bool
	PartEnforceOut       bool
	FilterRawIn          bool
	FilterRawOut         bool
	MKeyViolations       uint16
	PKeyViolations       uint16
	QKeyViolations       uint16
	GUIDCap              uint8
	ClientReregister     bool
	McastPKeySuppress    uint8 // 2 bits
	SubnetTimeout        uint8 // 5 bits: 4.096 us x 2^n
	RespTimeValue        uint8 // 5 bits: 4.096 us x 2^n
	LocalPhyErrors       uint8 // 4 bits
	OverrunErrors        uint8 // 4 bits
	MaxCreditHint        uint16
	LinkRoundTrip        uint32 // 24 bits
	CapabilityMask2      uint16
	LinkSpeedExtActive   uint8 // 4 bits: 1 FDR, 2 EDR, 4 HDR, 8 NDR; 0 no extended speed
	LinkSpeedExtSupp     uint8 // 4 bits
	LinkSpeedExtEnabled  uint8 // 5 bits; 31 = supported
}

func (a *PortInfo) fields(c *coder) {
	field(c, "M_Key", 0, 64, &a.MKey)
	field(c, "GID prefix", 64, 64, &a.GIDPrefix)
	field(c, "LID", 128, 16, &a.LID)
	field(c, "master SM LID", 144, 16, &a.MasterSMLID)
	field(c, "capability mask", 160, 32, &a.CapabilityMask)
	field(c, "diagnostic code", 192, 16, &a.DiagCode)
	field(c, "M_Key lease period", 208, 16, &a.MKeyLeasePeriod)
	field(c, "local port", 224, 8, &a.LocalPort)
	a.linkFields(c)
	a.vlFields(c)
	field(c, "M_Key violations", 352, 16, &a.MKeyViolations)
	field(c, "P_Key violations", 368, 16, &a.PKeyViolations)
	field(c, "Q_Key violations", 384, 16, &a.QKeyViolations)
	field(c, "GUID capacity", 400, 8, &a.GUIDCap)
	flag(c, 408, &a.ClientReregister)
	field(c, "multicast P_Key trap suppression", 409, 2, &a.McastPKeySuppress)
	field(c, "subnet timeout", 411, 5, &a.SubnetTimeout)
	field(c, "response time value", 419, 5, &a.RespTimeValue)
	field(c, "local physical errors", 424, 4, &a.LocalPhyErrors)
	field(c, "overrun errors", 428, 4, &a.OverrunErrors)
	field(c, "maximum credit hint", 432, 16, &a.MaxCreditHint)
	field(c, "link round trip latency", 456, 24, &a.LinkRoundTrip)
	field(c, "capability mask 2", 480, 16, &a.CapabilityMask2)
	field(c, "extended link speed active", 496, 4, &a.LinkSpeedExtActive)
	field(c, "extended link speed supported", 500, 4, &a.LinkSpeedExtSupp)
	field(c, "extended link speed enabled", 507, 5, &a.LinkSpeedExtEnabled)
}

func (a *PortInfo) linkFields(c *coder) {
	field(c, "link width enabled", 232, 8, &a.LinkWidthEnabled)
	field(c, "link width supported", 240, 8, &a.LinkWidthSupported)
	field(c, "link width active", 248, 8, &a.LinkWidthActive)
	field(c, "link speed supported", 256, 4, &a.LinkSpeedSupported)
	field(c, "port state", 260, 4, &a.State)
	field(c, "physical state", 264, 4, &a.PhysState)
	field(c, "link down default state", 268, 4, &a.LinkDownDefaultState)
	field(c, "M_Key protect bits", 272, 2, &a.MKeyProtect)
	field(c, "LMC", 277, 3, &a.LMC)
	field(c, "link speed active", 280, 4, &a.LinkSpeedActive)
	field(c, "link speed enabled", 284, 4, &a.LinkSpeedEnabled)
	field(c, "neighbor MTU", 288, 4, &a.NeighborMTU)
	field(c, "master SM SL", 292, 4, &a.MasterSMSL)
}

func (a *PortInfo) vlFields(c *coder) {
	field(c, "VL capability", 296, 4, &a.VLCap)
	field(c, "init type", 300, 4, &a.InitType)
	field(c, "VL high limit", 304, 8, &a.VLHighLimit)
	field(c, "VL arbitration high capacity", 312, 8, &a.VLArbHighCap)
	field(c, "VL arbitration low capacity", 320, 8, &a.VLArbLowCap)
	field(c, "init type reply", 328, 4, &a.InitTypeReply)
	field(c, "MTU capability", 332, 4, &a.MTUCap)
	field(c, "VL stall count", 336, 3, &a.VLStallCount)
	field(c, "head of queue lifetime", 339, 5, &a.HOQLife)
	field(c, "operational VLs", 344, 4, &a.OperationalVLs)
	flag(c, 348, &a.PartEnforceIn)
	flag(c, 349, &a.PartEnforceOut)
	flag(c, 350, &a.FilterRawIn)
	flag(c, 351, &a.FilterRawOut)
}

var _ Attribute = (*PortInfo)(nil)

func (a *PortInfo) Encode(dst []byte) error {
	c := encoding("PortInfo", dst, PortInfoSize)
	a.fields(&c)
	return c.err
}

func (a *PortInfo) Decode(src []byte) error {
	c := decoding("PortInfo", src, PortInfoSize)
	a.fields(&c)
	return c.err
}

// MTUFromCode converts an MTU code to bytes: 1 to 5 are 256 to 4096, any other is 0, "unknown".
func MTUFromCode(code uint8) uint16 {
	if code < 1 || code > 5 {
		return 0
	}
	return 128 << code
}

// MTUCode converts an MTU in bytes to its code, 0 when it is none of 256, 512, 1024, 2048 and 4096.
func MTUCode(bytes uint16) uint8 {
	for code := uint8(1); code <= 5; code++ {
		if MTUFromCode(code) == bytes {
			return code
		}
	}
	return 0
}

// VLsFromCode converts a VLCap or OperationalVLs code to the number of data VLs: 1 to 5 are 1, 2, 4, 8 and 15, any other
// is 0, "unknown".
func VLsFromCode(code uint8) uint8 {
	switch {
	case code >= 1 && code <= 4:
		return 1 << (code - 1)
	case code == 5:
		return 15
	default:
		return 0
	}
}

// VLCode converts a number of data VLs to its code, 0 when it is none of 1, 2, 4, 8 and 15.
func VLCode(vls uint8) uint8 {
	for code := uint8(1); code <= 5; code++ {
		if VLsFromCode(code) == vls {
			return code
		}
	}
	return 0
}
