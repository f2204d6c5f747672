package mad

import "fairlane/subnet/ident"

// SMInfoSize is the length of SMInfo in bytes.
const SMInfoSize = 21

// States of SMInfo.
const (
	SMStateNotActive   uint8 = 0
	SMStateDiscovering uint8 = 1
	SMStateStandby     uint8 = 2
	SMStateMaster      uint8 = 3
)

// SMInfo describes a subnet manager (IBTA vol. 1, 14.2.5.13). The subnet manager's process answers it, not the fabric.
type SMInfo struct {
	GUID     ident.GUID // of the port the subnet manager runs on
	SMKey    Key
	ActCount uint32 // counts up while the subnet manager runs
	Priority uint8  // 4 bits
	State    uint8  // 4 bits
}

func (a *SMInfo) fields(c *coder) {
	field(c, "GUID", 0, 64, &a.GUID)
	field(c, "SM_Key", 64, 64, &a.SMKey)
	field(c, "activity count", 128, 32, &a.ActCount)
	field(c, "priority", 160, 4, &a.Priority)
	field(c, "state", 164, 4, &a.State)
}

var _ Attribute = (*SMInfo)(nil)

func (a *SMInfo) Encode(dst []byte) error {
	c := encoding("SMInfo", dst, SMInfoSize)
	a.fields(&c)
	return c.err
}

func (a *SMInfo) Decode(src []byte) error {
	c := decoding("SMInfo", src, SMInfoSize)
	a.fields(&c)
	return c.err
}
