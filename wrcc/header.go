package wrcc

import (
	"encoding/binary"
	"fmt"
)

// Sizes on the wire, bytes. An FCNP is a mirrored data packet whose INT header is rewritten in place, so both have the same
// size.
const (
	HeaderSize = 12
	FCNPSize   = 12
)

// MaxPSN is the largest packet sequence number of RoCEv2: 24 bits.
const MaxPSN = 1<<24 - 1

// Values of the FBDP field. S0 (section 3.2) says that the field also distinguishes an FCNP from data, but not by which value;
// a data packet of a burst carries 1 (Algorithm 2).
const (
	fbdpNone  = 0
	fbdpBurst = 1
	fbdpFCNP  = 0xffff
)

// Header is the INT header that WRCC adds to data packets and acknowledgements (S0, section 3.3,
// figure 5(a)). On the wire, in network byte order:
//
//	bytes 0-1   Domain ID
//	bytes 2-3   FBDP
//	bytes 4-7   FairRate
//	bytes 8-11  RTTest
type Header struct {
	Domain   uint16 // data centre of the sender; in an acknowledgement, of the receiver
	FBDP     uint16 // burst mark: above 0 until the first acknowledgement, and always for a flow between data centres
	FairRate uint32 // Mbit/s, normalized by the flow's weight
	RTT      uint32 // the sender's estimate, microseconds
}

// Burst reports whether switches of the sender's data centre may answer with an FCNP.
func (h Header) Burst() bool { return h.FBDP > fbdpNone && h.FBDP != fbdpFCNP }

// AppendTo appends the 12 bytes of the header to b.
func (h Header) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, h.Domain)
	b = binary.BigEndian.AppendUint16(b, h.FBDP)
	b = binary.BigEndian.AppendUint32(b, h.FairRate)
	return binary.BigEndian.AppendUint32(b, h.RTT)
}

// DecodeHeader decodes the header at the start of b. It returns an error if b is too short, or holds an FCNP.
func DecodeHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, fmt.Errorf("WRCC header of %d bytes: want at least %d", len(b), HeaderSize)
	}
	h := Header{
		Domain: binary.BigEndian.Uint16(b), FBDP: binary.BigEndian.Uint16(b[2:]),
		FairRate: binary.BigEndian.Uint32(b[4:]), RTT: binary.BigEndian.Uint32(b[8:]),
	}
	if h.FBDP == fbdpFCNP {
		return Header{}, fmt.Errorf("WRCC header with FBDP %#x: that is an FCNP, want a data packet or an acknowledgement", h.FBDP)
	}
	return h, nil
}

// FCNP is a fast congestion notification from a switch to a sender (S0, section 3.3, figure 5(b)). S0 names the fields and
// widths (Domain ID 16, PSN 24 and FairRate 32 bits) and says that FBDP marks the packet; the order is that of the rewritten
// INT header:
//
//	bytes 0-1   Domain ID
//	bytes 2-3   FBDP, 0xffff
//	bytes 4-7   FairRate
//	byte  8     0
//	bytes 9-11  PSN
type FCNP struct {
	Domain   uint16 // data centre of the switch
	PSN      uint32 // of the original data packet, 24 bits
	FairRate uint32 // of the congested port, Mbit/s, normalized
}

// AppendTo appends the 12 bytes of the notification to b. It returns an error if the PSN does not fit.
func (f FCNP) AppendTo(b []byte) ([]byte, error) {
	if f.PSN > MaxPSN {
		return b, fmt.Errorf("FCNP with PSN %d: want at most %d", f.PSN, MaxPSN)
	}
	b = binary.BigEndian.AppendUint16(b, f.Domain)
	b = binary.BigEndian.AppendUint16(b, fbdpFCNP)
	b = binary.BigEndian.AppendUint32(b, f.FairRate)
	return binary.BigEndian.AppendUint32(b, f.PSN), nil
}

// DecodeFCNP decodes the notification at the start of b. It returns an error if b is too short, does not have the mark of an
// FCNP, or has a reserved byte other than 0.
func DecodeFCNP(b []byte) (FCNP, error) {
	if len(b) < FCNPSize {
		return FCNP{}, fmt.Errorf("FCNP of %d bytes: want at least %d", len(b), FCNPSize)
	}
	if v := binary.BigEndian.Uint16(b[2:]); v != fbdpFCNP {
		return FCNP{}, fmt.Errorf("FCNP with FBDP %#x: want %#x", v, fbdpFCNP)
	}
	f := FCNP{
		Domain: binary.BigEndian.Uint16(b), FairRate: binary.BigEndian.Uint32(b[4:]), PSN: binary.BigEndian.Uint32(b[8:]),
	}
	if f.PSN > MaxPSN {
		return FCNP{}, fmt.Errorf("FCNP with reserved byte %#x: want 0", b[8])
	}
	return f, nil
}
