package ibsim

import (
	"encoding/binary"
	"fmt"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Lengths of the two messages in bytes.
const (
	controlSize  = 80
	controlData  = 64
	envelopeSize = 32
	datagramSize = envelopeSize + mad.Size
)

const controlMagic = 0xdeadbeef

// controlType is the kind of a control message. A reply repeats the kind of its request; controlError means that the
// server refused it.
type controlType uint32

const (
	controlError       controlType = 0
	controlConnect     controlType = 1
	controlDisconnect  controlType = 2
	controlGetNodeInfo controlType = 7
	controlGetPortInfo controlType = 8
	controlGetPKeys    controlType = 10
)

func (t controlType) String() string {
	switch t {
	case controlError:
		return "error"
	case controlConnect:
		return "connect"
	case controlDisconnect:
		return "disconnect"
	case controlGetNodeInfo:
		return "get node info"
	case controlGetPortInfo:
		return "get port info"
	case controlGetPKeys:
		return "get P_Keys"
	default:
		return fmt.Sprintf("type %d", uint32(t))
	}
}

// control is a control message: magic, client, type, length of the used data, data.
type control struct {
	client uint32
	kind   controlType
	data   [controlData]byte
}

func (m *control) encode(dst *[controlSize]byte, used int) {
	binary.LittleEndian.PutUint32(dst[0:], controlMagic)
	binary.LittleEndian.PutUint32(dst[4:], m.client)
	binary.LittleEndian.PutUint32(dst[8:], uint32(m.kind))
	binary.LittleEndian.PutUint32(dst[12:], uint32(used))
	copy(dst[16:], m.data[:])
}

func decodeControl(b []byte) (control, error) {
	var m control
	if len(b) != controlSize {
		return m, fmt.Errorf("control message of %d bytes: want %d", len(b), controlSize)
	}
	if magic := binary.LittleEndian.Uint32(b); magic != controlMagic {
		return m, fmt.Errorf("control message with magic 0x%08x: want 0x%08x", magic, uint32(controlMagic))
	}
	m.client = binary.LittleEndian.Uint32(b[4:])
	m.kind = controlType(binary.LittleEndian.Uint32(b[8:]))
	copy(m.data[:], b[16:])
	return m, nil
}

// Offsets of the client info in both directions of CONNECT.
const (
	infoID       = 0 // request: identifies the client's data socket; reply: the slot
	infoIsSM     = 8
	infoNode     = 12
	infoNodeSize = 32
	infoSize     = infoNode + infoNodeSize
)

// permissive in the LID fields of the envelope marks a directed-route packet.
const permissive = uint16(ident.PermissiveLID)

// envelope precedes a MAD on the data socket.
type envelope struct {
	dlid, slid uint16 // slid 0: the server sets the client's
	dqp, sqp   uint32
	// status is not 0 when the packet could not be delivered: no route, a link that is down, or no agent at the
	// target. Servers send 110 (timed out).
	status uint32
}

// encode writes the 32 bytes. The LIDs are 16 bits in network order at the start of fields
// of 32 bits.
func (e *envelope) encode(dst *[datagramSize]byte) {
	clear(dst[:envelopeSize])
	binary.BigEndian.PutUint16(dst[0:], e.dlid)
	binary.BigEndian.PutUint16(dst[4:], e.slid)
	binary.BigEndian.PutUint32(dst[8:], e.dqp)
	binary.BigEndian.PutUint32(dst[12:], e.sqp)
	binary.BigEndian.PutUint32(dst[16:], e.status)
	binary.BigEndian.PutUint64(dst[24:], mad.Size)
}

// shortestMAD is the length of the common header. OpenSM's subnet administration answers a Get with only the bytes of
// the record.
const shortestMAD = 24

// decodeDatagram splits a datagram into its envelope and its MAD, which stays part of b and is zero beyond its sent
// length. It rejects a wrong length and a wrong base version.
func decodeDatagram(b []byte) (envelope, *mad.Packet, error) {
	var e envelope
	if len(b) != datagramSize {
		return e, nil, fmt.Errorf("datagram of %d bytes: want %d", len(b), datagramSize)
	}
	n := binary.BigEndian.Uint64(b[24:])
	if n < shortestMAD || n > mad.Size {
		return e, nil, fmt.Errorf("datagram with a MAD of %d bytes: want %d to %d", n, shortestMAD, mad.Size)
	}
	// The bytes after a shorter MAD are uninitialised memory of the sender.
	clear(b[envelopeSize+n:])
	p := (*mad.Packet)(b[envelopeSize:])
	if v := p.BaseVersion(); v != mad.BaseVersion {
		return e, nil, fmt.Errorf("MAD with base version %d: want %d", v, mad.BaseVersion)
	}
	e.dlid = binary.BigEndian.Uint16(b[0:])
	e.slid = binary.BigEndian.Uint16(b[4:])
	e.dqp = binary.BigEndian.Uint32(b[8:])
	e.sqp = binary.BigEndian.Uint32(b[12:])
	e.status = binary.BigEndian.Uint32(b[16:])
	return e, p, nil
}
