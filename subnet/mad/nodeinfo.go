package mad

import "fairlane/subnet/ident"

// NodeInfoSize is the length of NodeInfo in bytes.
const NodeInfoSize = 40

// Node types of NodeInfo.
const (
	NodeTypeCA     uint8 = 1
	NodeTypeSwitch uint8 = 2
	NodeTypeRouter uint8 = 3
)

// NodeInfo describes a node and the port that received the request
// (IBTA vol. 1, 14.2.5.3). It is read-only.
type NodeInfo struct {
	BaseVersion  uint8
	ClassVersion uint8
	NodeType     uint8 // NodeTypeCA, NodeTypeSwitch, NodeTypeRouter
	NumPorts     uint8 // physical ports, port 0 of a switch not counted
	SystemGUID   ident.GUID
	NodeGUID     ident.GUID
	PortGUID     ident.GUID // of the port that received the request; of port 0 on a switch
	PartitionCap uint16     // entries of the P_Key table of a CA port or of switch port 0
	DeviceID     uint16
	Revision     uint32
	LocalPort    ident.PortNum // the port that received the request
	VendorID     uint32        // 24 bits
}

func (a *NodeInfo) fields(c *coder) {
	field(c, "base version", 0, 8, &a.BaseVersion)
	field(c, "class version", 8, 8, &a.ClassVersion)
	field(c, "node type", 16, 8, &a.NodeType)
	field(c, "number of ports", 24, 8, &a.NumPorts)
	field(c, "system GUID", 32, 64, &a.SystemGUID)
	field(c, "node GUID", 96, 64, &a.NodeGUID)
	field(c, "port GUID", 160, 64, &a.PortGUID)
	field(c, "partition capacity", 224, 16, &a.PartitionCap)
	field(c, "device ID", 240, 16, &a.DeviceID)
	field(c, "revision", 256, 32, &a.Revision)
	field(c, "local port", 288, 8, &a.LocalPort)
	field(c, "vendor ID", 296, 24, &a.VendorID)
}

var _ Attribute = (*NodeInfo)(nil)

func (a *NodeInfo) Encode(dst []byte) error {
	c := encoding("NodeInfo", dst, NodeInfoSize)
	a.fields(&c)
	return c.err
}

func (a *NodeInfo) Decode(src []byte) error {
	c := decoding("NodeInfo", src, NodeInfoSize)
	a.fields(&c)
	return c.err
}
