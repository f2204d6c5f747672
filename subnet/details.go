package subnet

import "fairlane/subnet/ident"

// Answer is the result of a query to a device. Without an answer the value is unknown, not zero.
type Answer uint8

// Answers.
const (
	NotAsked Answer = iota
	Answered
	Refused // answered with an error status: the device does not have it
	Silent  // no answer to any attempt
)

// String returns "not asked", "answered", "refused" or "silent".
func (a Answer) String() string {
	switch a {
	case Answered:
		return "answered"
	case Refused:
		return "refused"
	case Silent:
		return "silent"
	default:
		return "not asked"
	}
}

// MarshalText returns the answer as String does.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Details are the properties of a fabric's devices beyond the model: the capabilities of their ports, and the tables of
// lanes and partitions. A sweep fills them; a fabric that was read from a file has none.
type Details struct {
	// Nodes is indexed as Fabric.Nodes.
	Nodes []NodeDetails
	// SM is the LID of the master subnet manager, as known to the port that the sweep started from; 0 for none.
	SM ident.LID
}

// NodeDetails are the details of one node.
type NodeDetails struct {
	// CC reports whether the congestion-control agent answered (class 0x21, CongestionInfo; IBTA vol. 1, annex A10).
	CC       Answer
	CCInfo   uint16 // valid when answered; bit 0: a switch supports credit starvation
	CCTables uint8  // valid when answered: blocks of 64 entries of a channel adapter's congestion control table
	// Ports is indexed by port number.
	Ports []PortDetails
}

// PortDetails are the details of one port. The fields down to HighLimit are of PortInfo (IBTA vol. 1, 14.2.5.6) and valid
// when Info is Answered.
type PortDetails struct {
	Info            Answer
	Phys            uint8 // physical state: 2 polling, 3 disabled, 4 training, 5 link up, 6 recovery
	Width           Width // active on this end; 0 when unknown
	Speed           Speed
	WidthsSupported uint8 // codes of Width.Code, or-ed
	WidthsEnabled   uint8
	SpeedsSupported SpeedSet
	SpeedsEnabled   SpeedSet
	MTUCap          uint16 // bytes; 0 when unknown
	OperVLs         uint8  // data VLs in operation: 1, 2, 4, 8 or 15; 0 when unknown
	KeyProtect      uint8  // M_Key protection, 0 to 3; from 2 on a request without the key gets no answer
	IsSM            bool   // a subnet manager runs here
	SMLID           ident.LID
	HighLimit       uint8 // of the high-priority table: units of 4096 bytes, 255 without a limit

	// Arb reports whether both arbitration tables were read (IBTA vol. 1, 14.2.5.9).
	Arb     Answer
	ArbLow  []VLShare
	ArbHigh []VLShare

	// Keys reports whether the partition table was read (IBTA vol. 1, 14.2.5.7); PKeys lists its non-empty entries.
	// For a switch it is the table of port 0.
	Keys  Answer
	PKeys []ident.PKey

	// Lanes are the SL to VL tables of this port as the transmitting one (IBTA vol. 1, 14.2.5.8): entry 0 for a
	// channel adapter, one entry for each port of entry for a switch. Nil when not queried.
	Lanes []SLToVL
}

// SLToVL is one SL to VL table; VL is valid when Read is Answered. VL 15 drops the packet.
type SLToVL struct {
	Read Answer
	VL   [ident.NumSLs]ident.VL
}

// VLShare is one entry of an arbitration table. The weight is in units of 64 bytes; an entry of weight 0 is skipped.
type VLShare struct {
	VL     ident.VL
	Weight uint8
}

// SpeedSet is a set of lane speeds as in PortInfo: the four bits of the base speed, and above them those of the
// extended speed.
type SpeedSet uint16

// SpeedsFromCodes combines the base and the extended code of a field of PortInfo.
func SpeedsFromCodes(base, ext uint8) SpeedSet { return SpeedSet(base&15) | SpeedSet(ext&31)<<4 }

// Best returns the fastest speed of the set; SpeedUnknown for an empty one.
func (s SpeedSet) Best() Speed { return SpeedFromCodes(uint8(s&15), uint8(s>>4)) }

// Port returns the details of a port; nil when unknown.
func (d *Details) Port(r PortRef) *PortDetails {
	if d == nil || r.Node < 0 || int(r.Node) >= len(d.Nodes) || int(r.Port) >= len(d.Nodes[r.Node].Ports) {
		return nil
	}
	return &d.Nodes[r.Node].Ports[r.Port]
}

// Lane returns the VL of a packet of the SL that enters through port in and leaves through port out, by the device's
// table. in is 0 for packets that a channel adapter sends itself. A port with one lane has no table. False means
// unknown.
func (d *Details) Lane(out PortRef, in ident.PortNum, sl ident.SL) (ident.VL, bool) {
	p := d.Port(out)
	switch {
	case p == nil || sl >= ident.NumSLs:
		return 0, false
	case int(in) < len(p.Lanes) && p.Lanes[in].Read == Answered:
		return p.Lanes[in].VL[sl], true
	case p.Info == Answered && p.OperVLs == 1 && p.Lanes == nil:
		return 0, true
	default:
		return 0, false
	}
}
