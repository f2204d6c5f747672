// Package mad is the wire codec of InfiniBand management datagrams: the common header,
// the management classes that Fairlane uses, and one file per attribute. It does no I/O. Layouts follow IBTA vol. 1,
// chapters 13-16 and annex A10.
package mad

import (
	"context"
	"errors"
	"fmt"

	"fairlane/subnet/ident"
)

// Size is the length of a MAD in bytes.
const Size = 256

// Packet is one management datagram in wire format.
type Packet [Size]byte

// Class is a management class code.
type Class uint8

// Management classes.
const (
	ClassSubnLID    Class = 0x01 // subnet management, LID routed
	ClassSubnAdm    Class = 0x03 // subnet administration
	ClassPerf       Class = 0x04 // performance management
	ClassCongestion Class = 0x21 // congestion control, IBTA annex A10
	ClassSubnDR     Class = 0x81 // subnet management, directed route
)

// Method is a method code, including the response bit: GetResp is 0x81.
type Method uint8

// Methods.
const (
	MethodGet          Method = 0x01
	MethodSet          Method = 0x02
	MethodSend         Method = 0x03
	MethodTrap         Method = 0x05
	MethodReport       Method = 0x06
	MethodTrapRepress  Method = 0x07
	MethodGetTable     Method = 0x12
	MethodGetResp      Method = 0x81
	MethodGetTableResp Method = 0x92
)

// Status is the 15-bit status of a response; zero is success.
type Status uint16

// Status codes (IBTA vol. 1, 13.4.7).
const (
	StatusOK               Status = 0
	StatusBusy             Status = 0x0001
	StatusRedirect         Status = 0x0002
	StatusBadVersion       Status = 0x0004
	StatusBadMethod        Status = 0x0008
	StatusBadMethodAttr    Status = 0x000c
	StatusInvalidAttrValue Status = 0x001c
)

// Target addresses the agent of a request. When LID is zero the request is a directed-route SMP that leaves by
// Path[0], then Path[1], and so on; an empty path is the local node.
type Target struct {
	LID  ident.LID
	SL   ident.SL
	Path []ident.PortNum // at most 63 hops
}

// String returns the target as "LID 12" or "DR path 0,1,3".
func (t Target) String() string {
	if t.LID != 0 {
		return fmt.Sprintf("LID %d", t.LID)
	}
	s := "DR path 0"
	for _, p := range t.Path {
		s += fmt.Sprintf(",%d", p)
	}
	return s
}

// Transport exchanges one request for its response. Implementations are safe for concurrent use, retry lost requests,
// bound the requests in flight, own the transaction ID and the directed-route envelope (hop pointer, hop count, path),
// and return ErrTimeout when no response arrived. A response with a non-zero status is not an error of Exchange: callers
// check it with Packet.Status.
type Transport interface {
	Exchange(ctx context.Context, to Target, request *Packet) (response Packet, err error)
}

// ErrTimeout is wrapped by Transport errors when no response arrived within all retries.
var ErrTimeout = errors.New("no response")

// StatusError reports a response with a non-zero status.
type StatusError struct {
	Status Status
	Class  Class // names Attr; 0 when unknown
	Attr   uint16
	Target Target
}
