// Package subnet is the pure model of a fabric: nodes, ports, links, identifiers and routes. Values are built once,
// checked, and then only read; indices into the slices are stable for the lifetime of a Fabric.
package subnet

import (
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// NodeKind is the type of a node, with the codes of NodeInfo (IBTA vol. 1, 14.2.5.3).
type NodeKind uint8

// Node kinds.
const (
	KindCA     NodeKind = 1 // channel adapter: a host's HCA
	KindSwitch NodeKind = 2
	KindRouter NodeKind = 3
)

// Width is a link width in lanes: 1, 2, 4, 8 or 12; 0 is unknown.
type Width uint8

// Speed is the signalling generation of a lane; 0 is unknown.
type Speed uint8

// Lane speeds in the order of their generation, with the data rate of one lane.
const (
	SpeedUnknown Speed = iota
	SDR                // 2 Gbit/s
	DDR                // 4 Gbit/s
	QDR                // 8 Gbit/s
	FDR10              // 10 Gbit/s
	FDR                // 13.64 Gbit/s
	EDR                // 25 Gbit/s
	HDR                // 50 Gbit/s
	NDR                // 100 Gbit/s
	XDR                // 200 Gbit/s
)

// PortState is the logical state of a port, with the codes of PortInfo.
type PortState uint8

// Logical port states.
const (
	PortDown   PortState = 1
	PortInit   PortState = 2
	PortArmed  PortState = 3
	PortActive PortState = 4
)

// Port is one port of a node.
type Port struct {
	Num   ident.PortNum
	GUID  ident.GUID // a CA's port GUID; a switch's external ports have none
	LID   ident.LID  // base LID; on a switch only port 0 has one
	LMC   uint8      // 0..7: the port owns 2^LMC LIDs from LID on
	State PortState  // 0 when unknown
	MTU   uint16     // NeighborMTU in bytes: 256..4096; 0 when unknown
	VLCap uint8      // data VLs implemented: 1, 2, 4, 8 or 15; 0 when unknown
	Link  int32      // index into Fabric.Links, or -1 when nothing is plugged in
}

// Node is a switch, a router or a host's channel adapter.
type Node struct {
	GUID       ident.GUID
	SystemGUID ident.GUID
	Kind       NodeKind
	Name       string // NodeDescription, up to 64 bytes of UTF-8
	VendorID   uint32 // 24 bits
	DeviceID   uint16
	Revision   uint32
	Domain     string // data centre; empty is the one default domain
	// Ports is indexed by port number. Ports[0] is a switch's management port; on a CA
	// it is an unused zero entry with Link -1.
	Ports []Port
}

// PortRef addresses a port by position: node index in Fabric.Nodes and port number.
type PortRef struct {
	Node int32
	Port ident.PortNum
}

// Link joins two ports, full duplex, each direction with the full rate.
type Link struct {
	A, B  PortRef // A is the end with the lower (node index, port)
	Width Width
	Speed Speed
	Rate  quantity.BitRate     // data rate of one direction; from Width and Speed unless a file gives it
	Delay quantity.Picoseconds // one-way propagation
}

// Fabric is one InfiniBand subnet or one RoCE domain. Build it with New, which checks
// and indexes it; treat it as immutable afterwards.
type Fabric struct {
	Name  string
	Nodes []Node
	Links []Link
	// LFTs holds each switch's linear forwarding table: LFTs[node][lid] is the egress port, ident.DropPort for no route.
	// A nil entry, or a nil slice, means "not given".
	LFTs [][]ident.PortNum

	index index
}
