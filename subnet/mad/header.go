package mad

import (
	"encoding/binary"
	"fmt"
)

// Byte offsets of the common header (IBTA vol. 1, 13.4.2).
const (
	offBaseVersion  = 0
	offClass        = 1
	offClassVersion = 2
	offMethod       = 3
	offStatus       = 4
	offTID          = 8
	offAttr         = 16
	offModifier     = 20
	offCCKey        = 24
)

// Byte offsets and lengths of the attribute data areas.
const (
	offSMPData = 64 // to the initial path
	endSMPData = 128
	offSAData  = 56
	offGMPData = 64
	offLogData = 32 // CongestionLog alone uses one area from here on (annex A10)
)

// BaseVersion is the MAD format version of every packet.
const BaseVersion = 1

// methodResponse is the response bit of a method code.
const methodResponse Method = 0x80

func newPacket(c Class, m Method, a AttrID, modifier uint32) Packet {
	var p Packet
	p[offBaseVersion] = BaseVersion
	p[offClass] = byte(c)
	p[offClassVersion] = c.Version()
	p[offMethod] = byte(m)
	binary.BigEndian.PutUint16(p[offAttr:], uint16(a))
	binary.BigEndian.PutUint32(p[offModifier:], modifier)
	return p
}

// NewPerf builds a performance management packet, class 0x04.
func NewPerf(m Method, a AttrID, modifier uint32) Packet {
	return newPacket(ClassPerf, m, a, modifier)
}

// NewCC builds a congestion control packet, class 0x21, that carries the CC_Key.
func NewCC(m Method, a AttrID, modifier uint32, key Key) Packet {
	p := newPacket(ClassCongestion, m, a, modifier)
	p.SetCCKey(key)
	return p
}

// BaseVersion returns the MAD format version; only 1 exists.
func (p *Packet) BaseVersion() uint8 { return p[offBaseVersion] }

// Class returns the management class.
func (p *Packet) Class() Class { return Class(p[offClass]) }

// ClassVersion returns the version of the class.
func (p *Packet) ClassVersion() uint8 { return p[offClassVersion] }

// Method returns the method with the response bit in place.
func (p *Packet) Method() Method { return Method(p[offMethod]) }

// SetMethod replaces the method, response bit included.
func (p *Packet) SetMethod(m Method) { p[offMethod] = byte(m) }

// IsResponse reports whether the packet answers a request: the response bit is set, or the
// method is TrapRepress, which answers a Trap.
func (p *Packet) IsResponse() bool {
	return p.Method()&methodResponse != 0 || p.Method() == MethodTrapRepress
}

// Status returns the status; in a directed-route packet without the direction bit.
func (p *Packet) Status() Status {
	s := Status(binary.BigEndian.Uint16(p[offStatus:]))
	if p.Class() == ClassSubnDR {
		s &^= drDirection
	}
	return s
}

// SetStatus replaces the status and keeps the direction bit of a directed-route packet.
func (p *Packet) SetStatus(s Status) {
	if p.Class() == ClassSubnDR {
		s = s&^drDirection | Status(binary.BigEndian.Uint16(p[offStatus:]))&drDirection
	}
	binary.BigEndian.PutUint16(p[offStatus:], uint16(s))
}

// TID returns the transaction ID. Only its low 32 bits belong to the requester: kernels
// and simulators use the upper half for their own bookkeeping.
func (p *Packet) TID() uint64 { return binary.BigEndian.Uint64(p[offTID:]) }

// SetTID replaces the transaction ID.
func (p *Packet) SetTID(tid uint64) { binary.BigEndian.PutUint64(p[offTID:], tid) }

// Attr returns the attribute ID.
func (p *Packet) Attr() AttrID { return AttrID(binary.BigEndian.Uint16(p[offAttr:])) }

// SetAttr replaces the attribute ID.
func (p *Packet) SetAttr(a AttrID) { binary.BigEndian.PutUint16(p[offAttr:], uint16(a)) }

// Modifier returns the attribute modifier; the attribute defines its meaning: a block, a port, or both.
func (p *Packet) Modifier() uint32 { return binary.BigEndian.Uint32(p[offModifier:]) }

// SetModifier replaces the attribute modifier.
func (p *Packet) SetModifier(m uint32) { binary.BigEndian.PutUint32(p[offModifier:], m) }

// CCKey returns the CC_Key of a congestion control packet (class 0x21).
func (p *Packet) CCKey() Key { return Key(binary.BigEndian.Uint64(p[offCCKey:])) }

// SetCCKey replaces the CC_Key of a congestion control packet.
func (p *Packet) SetCCKey(k Key) { binary.BigEndian.PutUint64(p[offCCKey:], uint64(k)) }

// Data returns the attribute data area of the packet, as a slice of the packet: 64 bytes
// for subnet management, 200 for subnet administration, 224 for the CongestionLog of class
// 0x21, 192 for everything else.
func (p *Packet) Data() []byte {
	switch c := p.Class(); {
	case c.IsSMP():
		return p[offSMPData:endSMPData]
	case c == ClassSubnAdm:
		return p[offSAData:]
	case c == ClassCongestion && p.Attr() == AttrCongestionLog:
		return p[offLogData:]
	default:
		return p[offGMPData:]
	}
}

// Respond turns the packet into its response: response method, the given status, and the direction bit of a directed
// route. Keys, path and data stay.
func (p *Packet) Respond(s Status) {
	p.SetMethod(p.Method().Response())
	if p.Class() == ClassSubnDR {
		p.SetDirection(true)
	}
	p.SetStatus(s)
}

// Response returns the method that answers this one: GetResp for Get and Set, TrapRepress
// for Trap, and otherwise the method with the response bit.
func (m Method) Response() Method {
	switch m {
	case MethodGet, MethodSet:
		return MethodGetResp
	case MethodTrap:
		return MethodTrapRepress
	default:
		return m | methodResponse
	}
}

// String returns the name of the method: "Get", or "method 0x42" when it is unknown.
func (m Method) String() string {
	switch m {
	case MethodGet:
		return "Get"
	case MethodSet:
		return "Set"
	case MethodSend:
		return "Send"
	case MethodTrap:
		return "Trap"
	case MethodReport:
		return "Report"
	case MethodTrapRepress:
		return "TrapRepress"
	case MethodGetTable:
		return "GetTable"
	case MethodGetResp:
		return "GetResp"
	case MethodGetTableResp:
		return "GetTableResp"
	default:
		return fmt.Sprintf("method 0x%02x", uint8(m))
	}
}

// String describes the packet in one line, without keys: "Get PortInfo modifier 0x1 tid 0x2a".
func (p *Packet) String() string {
	return fmt.Sprintf("%s %s modifier 0x%x tid 0x%x status %s",
		p.Method(), AttrName(p.Class(), p.Attr()), p.Modifier(), p.TID(), p.Status())
}
