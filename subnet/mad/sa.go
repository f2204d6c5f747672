package mad

import "encoding/binary"

// Byte offsets of a subnet administration packet (IBTA vol. 1, 15.2.1).
const (
	offRMPP       = 24
	offSMKey      = 36
	offAttrOffset = 44
	offCompMask   = 48
)

// RMPP is the reliable multi-packet header of a subnet administration packet
// (IBTA vol. 1, 13.6.2). A query that fits one packet leaves it zero.
type RMPP struct {
	Version  uint8
	Type     uint8 // 1 data, 2 ACK, 3 STOP, 4 ABORT
	RespTime uint8 // 5 bits
	Flags    uint8 // 3 bits: 1 active, 2 first, 4 last
	Status   uint8
	Data1    uint32 // segment number
	Data2    uint32 // payload length or new window
}

// NewSA builds a subnet administration packet, class 0x03.
func NewSA(m Method, a AttrID, modifier uint32) Packet {
	return newPacket(ClassSubnAdm, m, a, modifier)
}

func (r *RMPP) fields(c *coder) {
	field(c, "version", 0, 8, &r.Version)
	field(c, "type", 8, 8, &r.Type)
	field(c, "response time", 16, 5, &r.RespTime)
	field(c, "flags", 21, 3, &r.Flags)
	field(c, "status", 24, 8, &r.Status)
	field(c, "data1", 32, 32, &r.Data1)
	field(c, "data2", 64, 32, &r.Data2)
}

// RMPP returns the reliable multi-packet header.
func (p *Packet) RMPP() RMPP {
	var r RMPP
	c := decoding("RMPP header", p[offRMPP:offSMKey], 12)
	r.fields(&c)
	return r
}

// SetRMPP replaces the reliable multi-packet header. A field that exceeds its width is an error.
func (p *Packet) SetRMPP(r RMPP) error {
	c := encoding("RMPP header", p[offRMPP:offSMKey], 12)
	r.fields(&c)
	return c.err
}

// SMKey returns the SM_Key of a subnet administration packet.
func (p *Packet) SMKey() Key { return Key(binary.BigEndian.Uint64(p[offSMKey:])) }

// SetSMKey replaces the SM_Key of a subnet administration packet.
func (p *Packet) SetSMKey(k Key) { binary.BigEndian.PutUint64(p[offSMKey:], uint64(k)) }

// AttrOffset returns the spacing of records in a table response, in 8-byte words.
func (p *Packet) AttrOffset() uint16 { return binary.BigEndian.Uint16(p[offAttrOffset:]) }

// SetAttrOffset replaces the spacing of records, in 8-byte words.
func (p *Packet) SetAttrOffset(words uint16) {
	binary.BigEndian.PutUint16(p[offAttrOffset:], words)
}

// ComponentMask returns the mask of the record components that a query names; bit n is
// component n of the record.
func (p *Packet) ComponentMask() uint64 { return binary.BigEndian.Uint64(p[offCompMask:]) }

// SetComponentMask replaces the component mask.
func (p *Packet) SetComponentMask(m uint64) { binary.BigEndian.PutUint64(p[offCompMask:], m) }
