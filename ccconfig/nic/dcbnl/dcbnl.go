// Package dcbnl is the wire codec of DCB netlink, the Linux interface for a port's traffic classes, pause, application table,
// rate limits and buffers (IEEE 802.1Qaz in the layout of linux/dcbnl.h). It converts between bytes and values; it does not
// open sockets.
//
// A message is a netlink header, four bytes that hold the command, and attributes:
//
//	length u32 · type u16 · flags u16 · sequence u32 · port u32
//	family u8 = 0 · command u8 · two bytes of padding
//	attribute: length u16 (without padding) · type u16 · payload · padding to 4 bytes
//
// The IEEE attribute nests one attribute for each managed object. Numbers are in the byte order of the host.
package dcbnl

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Types of messages (linux/rtnetlink.h, linux/netlink.h).
const (
	TypeError = 2
	TypeGet   = 78
	TypeSet   = 79
)

// Flags of messages.
const (
	FlagRequest = 1
	FlagAck     = 4
)

// Commands.
const (
	CommandIEEESet = 20
	CommandIEEEGet = 21
	CommandGetDCBX = 22
	CommandSetDCBX = 23
	CommandIEEEDel = 27
)

// Attributes of a message, and of the IEEE nest.
const (
	attrIfName = 1
	attrIEEE   = 13
	attrDCBX   = 14

	ieeeETS     = 1
	ieeePFC     = 2
	ieeeApps    = 3
	ieeeMaxRate = 7
	ieeeBuffer  = 10

	appIEEE = 1 // an entry with a selector defined by the standard
	appDCB  = 2 // an entry with a selector defined by Linux, from 255 down
)

// Sizes of payloads in bytes.
const (
	sizeETS     = 3 + 7*8
	sizePFC     = 8 + 8*8 + 8*8
	sizeApp     = 4
	sizeMaxRate = 8 * 8
	sizeBuffer  = 8 + 8*4 + 4
	sizeHeader  = 16
	sizeCommand = 4
	sizeAttr    = 4
)

// Limits of encoding and decoding.
const (
	MaxMessage   = 1 << 17 // bytes
	MaxApps      = 4096    // entries of an application table
	MaxInterface = 15      // bytes of a network device's name
)

// Selectors of application-table entries.
const (
	SelectorEtherType = 1
	SelectorStream    = 2 // TCP and SCTP port
	SelectorDatagram  = 3 // UDP and DCCP port
	SelectorAny       = 4 // port of any of them
	SelectorDSCP      = 5
	SelectorPCP       = 255
)

// Modes of DCBX, as bits.
const (
	DCBXHost       = 1 << 0 // the operating system negotiates, or no one does; otherwise the firmware negotiates
	DCBXLLDManaged = 1 << 1
	DCBXCEE        = 1 << 2
	DCBXIEEE       = 1 << 3
	DCBXStatic     = 1 << 4
)

// ETS is the transmission selection of a port's traffic classes. Arrays with TC in their name are by class, others by priority.
type ETS struct {
	Willing    bool  // accepts the peer's recommendation
	Cap        uint8 // number of traffic classes
	CBS        bool  // supports the credit-based shaper
	TxBW       [8]uint8
	RxBW       [8]uint8
	TSA        [8]uint8 // codes as nicparam's TSAStrict
	PrioTC     [8]uint8
	RecoBW     [8]uint8 // recommended to the peer
	RecoTSA    [8]uint8
	RecoPrioTC [8]uint8
}

// PFC is priority flow control.
type PFC struct {
	Cap         uint8     // largest number of classes with PFC
	Enabled     uint8     // one bit for each priority
	MBC         bool      // MACsec bypass
	Delay       uint16    // the mlx5 driver interprets it as the cable length in m
	Requests    [8]uint64 // pause frames sent
	Indications [8]uint64 // pause frames received
}

// App is one entry of the application table.
type App struct {
	Selector uint8
	Priority uint8
	Protocol uint16 // EtherType, port or DSCP, depending on the selector
}

// Buffer is the receive buffers of a port.
type Buffer struct {
	PrioBuffer [8]uint8
	Size       [8]uint32 // bytes
	Total      uint32    // bytes; read-only
}

// IEEE holds the managed objects of a port. A nil object is not in the message.
type IEEE struct {
	ETS     *ETS
	PFC     *PFC
	Apps    []App
	MaxRate *[8]uint64 // kbit/s by traffic class, as in linux/dcbnl.h; 0 means no limit
	Buffer  *Buffer
}

// Message is one request or reply.
type Message struct {
	Type      uint16
	Flags     uint16
	Sequence  uint32
	Port      uint32 // netlink port of the socket
	Command   uint8
	Interface string
	IEEE      *IEEE
	DCBX      *uint8 // mode
	Status    *uint8 // of a reply to a set or delete; 0 is success
	Ack       bool   // the kernel's acknowledgement without an error; all other fields are empty
}

// KernelError reports that the kernel rejected a request.
type KernelError struct {
	Sequence uint32
	Errno    int32 // as in errno.h, above 0
}

// Error contains the number; the caller can convert it to the system's text.
func (e *KernelError) Error() string {
	return fmt.Sprintf("dcb netlink: request %d refused with error number %d", e.Sequence, e.Errno)
}

// FormatError reports a message that violates the layout.
type FormatError struct {
	Part    string // such as "ETS"
	Found   string
	Allowed string
}

// Error contains the part, the value found and the allowed values.
func (e *FormatError) Error() string {
	return fmt.Sprintf("dcb netlink: %s: found %s, want %s", e.Part, e.Found, e.Allowed)
}

// Codec encodes and decodes in one byte order.
type Codec struct {
	Order binary.ByteOrder
}

// Native returns the codec for this host.
func Native() Codec { return Codec{binary.NativeEndian} }

// Get returns the request for the managed objects of a network device.
func Get(iface string, sequence uint32) Message {
	return Message{Type: TypeGet, Flags: FlagRequest | FlagAck, Sequence: sequence, Command: CommandIEEEGet, Interface: iface}
}

// Set returns the request that sets managed objects of a network device. Entries of the application table are added to the
// existing ones.
func Set(iface string, sequence uint32, ieee *IEEE) Message {
	return Message{Type: TypeSet, Flags: FlagRequest | FlagAck, Sequence: sequence, Command: CommandIEEESet, Interface: iface, IEEE: ieee}
}

// Delete returns the request that deletes entries of the application table.
func Delete(iface string, sequence uint32, apps []App) Message {
	return Message{Type: TypeSet, Flags: FlagRequest | FlagAck, Sequence: sequence, Command: CommandIEEEDel, Interface: iface, IEEE: &IEEE{Apps: apps}}
}

// Count returns the number of priorities with pause.
func (p *PFC) Count() int { return bits.OnesCount8(p.Enabled) }

// statusAttr returns the attribute with the status byte in a reply to a command; false for commands without one.
func statusAttr(command uint8) (attr uint16, ok bool) {
	switch command {
	case CommandIEEESet, CommandIEEEDel:
		return attrIEEE, true
	case CommandSetDCBX:
		return attrDCBX, true
	}
	return 0, false
}
