package mad

import "fairlane/subnet/ident"

// PathRecordSize is the length of PathRecord in bytes.
const PathRecordSize = 64

// Component-mask bits of PathRecord (IBTA vol. 1, 15.2.5.16).
const (
	PathCompServiceID  uint64 = 3 // two components of 32 bits
	PathCompDGID       uint64 = 1 << 2
	PathCompSGID       uint64 = 1 << 3
	PathCompDLID       uint64 = 1 << 4
	PathCompSLID       uint64 = 1 << 5
	PathCompRaw        uint64 = 1 << 6
	PathCompFlowLabel  uint64 = 1 << 8
	PathCompHopLimit   uint64 = 1 << 9
	PathCompTClass     uint64 = 1 << 10
	PathCompReversible uint64 = 1 << 11
	PathCompNumbPath   uint64 = 1 << 12
	PathCompPKey       uint64 = 1 << 13
	PathCompQoSClass   uint64 = 1 << 14
	PathCompSL         uint64 = 1 << 15
	PathCompMTUSel     uint64 = 1 << 16
	PathCompMTU        uint64 = 1 << 17
	PathCompRateSel    uint64 = 1 << 18
	PathCompRate       uint64 = 1 << 19
	PathCompLifeSel    uint64 = 1 << 20
	PathCompLife       uint64 = 1 << 21
)

// Selectors of MTU, rate and packet lifetime in a query.
const (
	SelectGreater uint8 = 0
	SelectLess    uint8 = 1
	SelectExactly uint8 = 2
	SelectLargest uint8 = 3
)

// PathRecord describes a path between two ports (IBTA vol. 1, 15.2.5.16).
type PathRecord struct {
	ServiceID    uint64
	DGID, SGID   GID
	DLID, SLID   ident.LID
	RawTraffic   bool
	FlowLabel    uint32 // 20 bits
	HopLimit     uint8
	TClass       uint8
	Reversible   bool
	NumbPath     uint8 // 7 bits
	PKey         ident.PKey
	QoSClass     uint16 // 12 bits
	SL           ident.SL
	MTUSelector  uint8 // 2 bits
	MTU          uint8 // code 1..5; 6 bits
	RateSelector uint8 // 2 bits
	Rate         uint8 // code; 6 bits
	LifeSelector uint8 // 2 bits
	PacketLife   uint8 // 4.096 us x 2^n; 6 bits
	Preference   uint8
}

func (a *PathRecord) fields(c *coder) {
	field(c, "service ID", 0, 64, &a.ServiceID)
	raw(c, 8, a.DGID[:])
	raw(c, 24, a.SGID[:])
	field(c, "DLID", 320, 16, &a.DLID)
	field(c, "SLID", 336, 16, &a.SLID)
	flag(c, 352, &a.RawTraffic)
	field(c, "flow label", 356, 20, &a.FlowLabel)
	field(c, "hop limit", 376, 8, &a.HopLimit)
	field(c, "traffic class", 384, 8, &a.TClass)
	flag(c, 392, &a.Reversible)
	field(c, "number of paths", 393, 7, &a.NumbPath)
	field(c, "P_Key", 400, 16, &a.PKey)
	field(c, "QoS class", 416, 12, &a.QoSClass)
	field(c, "SL", 428, 4, &a.SL)
	field(c, "MTU selector", 432, 2, &a.MTUSelector)
	field(c, "MTU", 434, 6, &a.MTU)
	field(c, "rate selector", 440, 2, &a.RateSelector)
	field(c, "rate", 442, 6, &a.Rate)
	field(c, "packet lifetime selector", 448, 2, &a.LifeSelector)
	field(c, "packet lifetime", 450, 6, &a.PacketLife)
	field(c, "preference", 456, 8, &a.Preference)
}

var _ Attribute = (*PathRecord)(nil)

func (a *PathRecord) Encode(dst []byte) error {
	c := encoding("PathRecord", dst, PathRecordSize)
	a.fields(&c)
	return c.err
}

func (a *PathRecord) Decode(src []byte) error {
	c := decoding("PathRecord", src, PathRecordSize)
	a.fields(&c)
	return c.err
}
