package mad

import "fairlane/subnet/ident"

// SwitchInfoSize is the length of SwitchInfo in bytes.
const SwitchInfoSize = 20

// SwitchInfo holds the properties of a switch as a whole (IBTA vol. 1, 14.2.5.4).
type SwitchInfo struct {
	LinearFDBCap       uint16 // entries of the linear forwarding table
	RandomFDBCap       uint16
	MulticastFDBCap    uint16
	LinearFDBTop       uint16        // highest LID in the linear table; writable
	DefaultPort        ident.PortNum // writable
	DefaultMcastPri    ident.PortNum // writable
	DefaultMcastNotPri ident.PortNum // writable
	LifeTimeValue      uint8         // 5 bits: 4.096 us x 2^n in the queues; writable
	PortStateChange    bool          // a port changed state; writing true clears it
	OptimizedSLtoVL    uint8         // 2 bits
	LIDsPerPort        uint16
	PartEnforceCap     uint16 // P_Key entries per external port
	InboundEnforceCap  bool
	OutboundEnforceCap bool
	FilterRawInCap     bool
	FilterRawOutCap    bool
	EnhancedPort0      bool
	MulticastFDBTop    ident.LID // writable
}

func (a *SwitchInfo) fields(c *coder) {
	field(c, "linear FDB capacity", 0, 16, &a.LinearFDBCap)
	field(c, "random FDB capacity", 16, 16, &a.RandomFDBCap)
	field(c, "multicast FDB capacity", 32, 16, &a.MulticastFDBCap)
	field(c, "linear FDB top", 48, 16, &a.LinearFDBTop)
	field(c, "default port", 64, 8, &a.DefaultPort)
	field(c, "default multicast primary port", 72, 8, &a.DefaultMcastPri)
	field(c, "default multicast not primary port", 80, 8, &a.DefaultMcastNotPri)
	field(c, "lifetime value", 88, 5, &a.LifeTimeValue)
	flag(c, 93, &a.PortStateChange)
	field(c, "optimized SL to VL mapping", 94, 2, &a.OptimizedSLtoVL)
	field(c, "LIDs per port", 96, 16, &a.LIDsPerPort)
	field(c, "partition enforcement capacity", 112, 16, &a.PartEnforceCap)
	flag(c, 128, &a.InboundEnforceCap)
	flag(c, 129, &a.OutboundEnforceCap)
	flag(c, 130, &a.FilterRawInCap)
	flag(c, 131, &a.FilterRawOutCap)
	flag(c, 132, &a.EnhancedPort0)
	field(c, "multicast FDB top", 144, 16, &a.MulticastFDBTop)
}

var _ Attribute = (*SwitchInfo)(nil)

func (a *SwitchInfo) Encode(dst []byte) error {
	c := encoding("SwitchInfo", dst, SwitchInfoSize)
	a.fields(&c)
	return c.err
}

func (a *SwitchInfo) Decode(src []byte) error {
	c := decoding("SwitchInfo", src, SwitchInfoSize)
	a.fields(&c)
	return c.err
}
