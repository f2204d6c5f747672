package simdev

import (
	"encoding/binary"
	"fmt"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Sizes of the ibsim protocol's messages in bytes.
const (
	datagramSize    = 288 // envelope and MAD
	envelopeSize    = datagramSize - mad.Size
	controlSize     = 80
	controlDataSize = 64
)

// statusTimedOut is the envelope status of an undeliverable message: ETIMEDOUT of Linux, which the client library reports as
// an immediate timeout.
const statusTimedOut = 110

// decodeDatagram decodes a data message. LIDs are 16 bits in network order in the first two bytes of a four-byte field;
// envelope status, padding and the reserved halves are ignored. The length is below 256 in short answers of subnet
// administration. It is above 256 in multi-packet answers, which contain only their first 256 bytes.
func decodeDatagram(b []byte, m *Message) error {
	if len(b) != datagramSize {
		return fmt.Errorf("datagram of %d bytes: want %d", len(b), datagramSize)
	}
	m.Length = int(min(binary.BigEndian.Uint64(b[24:]), mad.Size))
	m.DLID = ident.LID(binary.BigEndian.Uint16(b[0:]))
	m.SLID = ident.LID(binary.BigEndian.Uint16(b[4:]))
	m.DQP = ident.QPN(binary.BigEndian.Uint32(b[8:]))
	m.SQP = ident.QPN(binary.BigEndian.Uint32(b[12:]))
	copy(m.MAD[:], b[envelopeSize:])
	return nil
}

// encodeDatagram encodes a data message with an envelope status into b, which must have datagramSize bytes.
func encodeDatagram(b []byte, m *Message, status uint32) {
	_ = b[datagramSize-1]
	binary.BigEndian.PutUint32(b[0:], uint32(m.DLID)<<16)
	binary.BigEndian.PutUint32(b[4:], uint32(m.SLID)<<16)
	binary.BigEndian.PutUint32(b[8:], uint32(m.DQP))
	binary.BigEndian.PutUint32(b[12:], uint32(m.SQP))
	binary.BigEndian.PutUint32(b[16:], status)
	binary.BigEndian.PutUint32(b[20:], 0)
	length := m.Length
	if length <= 0 || length > mad.Size {
		length = mad.Size
	}
	binary.BigEndian.PutUint64(b[24:], uint64(length))
	copy(b[envelopeSize:], m.MAD[:])
}

// setTIDSlot stores the client's slot in the upper 16 bits of the transaction ID of a forwarded request, to route the response
// back.
func setTIDSlot(p *mad.Packet, slot uint16) {
	p.SetTID(p.TID()&(1<<48-1) | uint64(slot)<<48)
}

func tidSlot(p *mad.Packet) uint16 { return uint16(p.TID() >> 48) }

// controlMagic starts every control message.
const controlMagic = 0xdeadbeef

// controlType is the type of a control message.
type controlType uint32

// Types of control messages.
const (
	ctlError       controlType = 0
	ctlConnect     controlType = 1
	ctlDisconnect  controlType = 2
	ctlGetPort     controlType = 3
	ctlGetVendor   controlType = 4
	ctlGetGID      controlType = 5
	ctlGetGUID     controlType = 6
	ctlGetNodeInfo controlType = 7
	ctlGetPortInfo controlType = 8
	ctlSetIsSM     controlType = 9
	ctlGetPKeys    controlType = 10
)

// control is a message of the control channel. Its integers have little-endian byte order, as the existing client library
// writes them on such hosts.
type control struct {
	client uint32
	kind   controlType
	length uint32 // bytes of data in use
	data   [controlDataSize]byte
}

func decodeControl(b []byte, c *control) error {
	if len(b) != controlSize {
		return fmt.Errorf("control message of %d bytes: want %d", len(b), controlSize)
	}
	if magic := binary.LittleEndian.Uint32(b); magic != controlMagic {
		return fmt.Errorf("control message with magic 0x%08x: want 0x%08x", magic, uint32(controlMagic))
	}
	c.client = binary.LittleEndian.Uint32(b[4:])
	c.kind = controlType(binary.LittleEndian.Uint32(b[8:]))
	c.length = binary.LittleEndian.Uint32(b[12:])
	copy(c.data[:], b[16:])
	return nil
}

func (c *control) encode() [controlSize]byte {
	var b [controlSize]byte
	binary.LittleEndian.PutUint32(b[0:], controlMagic)
	binary.LittleEndian.PutUint32(b[4:], c.client)
	binary.LittleEndian.PutUint32(b[8:], uint32(c.kind))
	binary.LittleEndian.PutUint32(b[12:], c.length)
	copy(b[16:], c.data[:])
	return b
}

// clientInfo is the data of a connect message.
type clientInfo struct {
	id   uint32 // request: the client's number, or its data port with UDP; reply: its slot
	isSM bool
	node string // request: requested node, empty means any; reply: the attached node
}

// nodeIDSize is the size of a node's name in clientInfo, with a closing zero.
const nodeIDSize = 32

const clientInfoSize = 12 + nodeIDSize

func decodeClientInfo(b *[controlDataSize]byte) clientInfo {
	name := b[12:clientInfoSize]
	for i, ch := range name {
		if ch == 0 {
			name = name[:i]
			break
		}
	}
	return clientInfo{
		id:   binary.LittleEndian.Uint32(b[0:]),
		isSM: binary.LittleEndian.Uint32(b[8:]) != 0,
		node: string(name),
	}
}

// encode writes the info into the data of c; a name that is too long is truncated.
func (i clientInfo) encode(c *control) {
	clear(c.data[:])
	binary.LittleEndian.PutUint32(c.data[0:], i.id)
	if i.isSM {
		binary.LittleEndian.PutUint32(c.data[8:], 1)
	}
	copy(c.data[12:clientInfoSize-1], i.node)
	c.length = clientInfoSize
}
