package umad

import (
	"encoding/binary"
	"fmt"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// headerSize is the length of the header before a MAD in P_Key mode (struct ib_user_mad_hdr).
const headerSize = 64

// messageSize is the minimum size of a read buffer.
const messageSize = headerSize + mad.Size

// shortestMAD is the length of the common header: the kernel returns only this part of a request without a response.
const shortestMAD = 24

// Offsets in the header. Numbers are in the byte order of the host, except those that go to the wire, which are
// big-endian.
const (
	offAgent    = 0
	offStatus   = 4
	offTimeout  = 8
	offRetries  = 12
	offLength   = 16
	offQPN      = 20 // big-endian
	offQKey     = 24 // big-endian
	offLID      = 28 // big-endian
	offSL       = 30
	offPathBits = 31
	offPKey     = 56
)

// qkeyGSI is the Q_Key of QP1 (IBTA vol. 1, 10.2.5).
const qkeyGSI = 0x80010000

// statusTimedOut is ETIMEDOUT in the header of a message: its MAD is the start of a request without a response.
const statusTimedOut = 110

// header holds the destination or source of a MAD. There is no GRH: management stays in its subnet.
type header struct {
	agent     uint32
	status    uint32 // read: 0 or an errno
	timeoutMS uint32 // write: how long the kernel waits for the answer
	retries   uint32 // write: how often the kernel repeats it
	length    uint32 // read: of header and MAD
	qpn       uint32 // of the other side
	qkey      uint32
	lid       ident.LID
	sl        ident.SL
	pathBits  uint8
	pkeyIndex uint16
}

// encode writes the header's 64 bytes, in the byte order of a host.
func (h *header) encode(dst []byte, host binary.ByteOrder) {
	_ = dst[headerSize-1]
	clear(dst[:headerSize])
	host.PutUint32(dst[offAgent:], h.agent)
	host.PutUint32(dst[offStatus:], h.status)
	host.PutUint32(dst[offTimeout:], h.timeoutMS)
	host.PutUint32(dst[offRetries:], h.retries)
	host.PutUint32(dst[offLength:], h.length)
	binary.BigEndian.PutUint32(dst[offQPN:], h.qpn)
	binary.BigEndian.PutUint32(dst[offQKey:], h.qkey)
	binary.BigEndian.PutUint16(dst[offLID:], uint16(h.lid))
	dst[offSL] = byte(h.sl)
	dst[offPathBits] = h.pathBits
	host.PutUint16(dst[offPKey:], h.pkeyIndex)
}

// decodeHeader reads a header, in the byte order of a host.
func decodeHeader(b []byte, host binary.ByteOrder) (header, error) {
	if len(b) < headerSize {
		return header{}, fmt.Errorf("umad header of %d bytes: want %d", len(b), headerSize)
	}
	return header{
		agent:     host.Uint32(b[offAgent:]),
		status:    host.Uint32(b[offStatus:]),
		timeoutMS: host.Uint32(b[offTimeout:]),
		retries:   host.Uint32(b[offRetries:]),
		length:    host.Uint32(b[offLength:]),
		qpn:       binary.BigEndian.Uint32(b[offQPN:]),
		qkey:      binary.BigEndian.Uint32(b[offQKey:]),
		lid:       ident.LID(binary.BigEndian.Uint16(b[offLID:])),
		sl:        ident.SL(b[offSL]),
		pathBits:  b[offPathBits],
		pkeyIndex: host.Uint16(b[offPKey:]),
	}, nil
}

// decodeMessage splits the n bytes that a read put into b, which has at least messageSize, into a header and the first
// 256 bytes of a MAD, which stay part of b and are zero beyond the MAD's end. It rejects less than the common header of a
// MAD and a base version other than 1.
func decodeMessage(b []byte, n int, host binary.ByteOrder) (header, *mad.Packet, error) {
	if n < headerSize+shortestMAD || n > len(b) {
		return header{}, nil, fmt.Errorf("umad message of %d bytes: want %d to %d", n, headerSize+shortestMAD, len(b))
	}
	h, err := decodeHeader(b, host)
	if err != nil {
		return h, nil, err
	}
	if n < messageSize {
		clear(b[n:messageSize])
	}
	p := (*mad.Packet)(b[headerSize:messageSize])
	if v := p.BaseVersion(); v != mad.BaseVersion {
		return h, nil, fmt.Errorf("MAD with base version %d: want %d", v, mad.BaseVersion)
	}
	return h, p, nil
}
