// Package rdmanl is a wire codec of the part of RDMA netlink that reports counter sets: their queue pairs and counters. It
// opens no socket.
//
// All numbers are those of the kernel's header include/uapi/rdma/rdma_netlink.h, with the names in the comments. A message is a
// netlink header and attributes; RDMA netlink has no header of its own between them.
package rdmanl

import (
	"encoding/binary"
	"fmt"
)

// Numbers of the header rdma_netlink.h.
const (
	client      = 5  // RDMA_NL_NLDEV
	cmdGet      = 1  // RDMA_NLDEV_CMD_GET
	cmdStatGet  = 17 // RDMA_NLDEV_CMD_STAT_GET
	clientShift = 10 // RDMA_NL_GET_TYPE: the client's number is above the command's

	attrDevIndex  = 1  // RDMA_NLDEV_ATTR_DEV_INDEX, u32
	attrDevName   = 2  // RDMA_NLDEV_ATTR_DEV_NAME, string
	attrPortIndex = 3  // RDMA_NLDEV_ATTR_PORT_INDEX, u32
	attrQP        = 19 // RDMA_NLDEV_ATTR_RES_QP, nest; in a request, the kind of resource
	attrQPEntry   = 20 // RDMA_NLDEV_ATTR_RES_QP_ENTRY, nest
	attrQPNumber  = 21 // RDMA_NLDEV_ATTR_RES_LQPN, u32
	attrPID       = 28 // RDMA_NLDEV_ATTR_RES_PID, u32
	attrKernel    = 29 // RDMA_NLDEV_ATTR_RES_KERN_NAME, string
	attrMode      = 74 // RDMA_NLDEV_ATTR_STAT_MODE, u32
	attrResource  = 75 // RDMA_NLDEV_ATTR_STAT_RES, u32
	attrSets      = 77 // RDMA_NLDEV_ATTR_STAT_COUNTER, nest
	attrSet       = 78 // RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY, nest
	attrSetID     = 79 // RDMA_NLDEV_ATTR_STAT_COUNTER_ID, u32
	attrCounters  = 80 // RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, nest
	attrCounter   = 81 // RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, nest
	attrName      = 82 // RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, string
	attrValue     = 83 // RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, u64
)

// Numbers of the header netlink.h.
const (
	typeError       = 2      // NLMSG_ERROR
	typeDone        = 3      // NLMSG_DONE
	flagRequest     = 0x001  // NLM_F_REQUEST
	flagDump        = 0x300  // NLM_F_DUMP
	flagInterrupted = 0x010  // NLM_F_DUMP_INTR
	attrTypes       = 0x3fff // NLA_TYPE_MASK: without the flags for nests and byte order
	sizeHeader      = 16
	sizeAttr        = 4
)

// Limits of a reply.
const (
	// MaxDevices is the largest number of RDMA devices of a host.
	MaxDevices = 4096
	// MaxSets is the largest number of counter sets in a reply. Devices have a few hundred.
	MaxSets = 4096
	// MaxQPs is the largest number of queue pairs stored for a set; QPCount counts all.
	MaxQPs = 256
	// MaxCounters is the largest number of counters of a set.
	MaxCounters = 512
	// MaxName is the longest name of a device, a counter or a process in bytes.
	MaxName = 64
)

// Mode is the binding mode of a counter set (enum rdma_nl_counter_mode).
type Mode uint32

// The modes.
const (
	ModeNone   Mode = 0 // RDMA_COUNTER_MODE_NONE
	ModeAuto   Mode = 1 // RDMA_COUNTER_MODE_AUTO: bound by the kernel at their creation, by type or process
	ModeManual Mode = 2 // RDMA_COUNTER_MODE_MANUAL: bound one by one by a user
)

// String returns "none", "auto", "manual" or the number.
func (m Mode) String() string {
	switch m {
	case ModeNone:
		return "none"
	case ModeAuto:
		return "auto"
	case ModeManual:
		return "manual"
	}
	return fmt.Sprintf("mode %d", uint32(m))
}

// Device is an RDMA device.
type Device struct {
	Index uint32
	Name  string
}

// Counter is one counter of a set.
type Counter struct {
	Name  string
	Value *uint64 // nil if the kernel sends only the name
}

// CounterSet is a set of counters shared by some queue pairs of a port.
//
// If the device failed to read a set, the kernel returns the values of the last successful reading without reporting the
// failure.
type CounterSet struct {
	ID       uint32
	Port     uint32
	Mode     Mode
	PID      uint32   // process whose queue pairs the kernel binds; 0 if it binds by another criterion
	Kernel   string   // part of the kernel whose queue pairs the kernel binds
	QPs      []uint32 // queue pair numbers, at most MaxQPs
	QPCount  int      // number of all queue pairs
	Counters []Counter
}

// Reply is the kernel's reply so far.
type Reply struct {
	Devices []Device
	Sets    []CounterSet
	// Done is set when the reply is complete.
	Done bool
	// Interrupted is set if the state changed during the reply, so parts may be missing.
	Interrupted bool
}

// FormatError reports an invalid message.
type FormatError struct{ Part, Found, Allowed string }

var _ error = (*FormatError)(nil)

func (e *FormatError) Error() string {
	return fmt.Sprintf("RDMA netlink: %s: found %s, want %s", e.Part, e.Found, e.Allowed)
}

// KernelError reports that the kernel rejected a request, with its error number above 0. For an unknown command it is EINVAL.
type KernelError struct{ Errno int32 }

var _ error = (*KernelError)(nil)

func (e *KernelError) Error() string {
	return fmt.Sprintf("RDMA netlink: the kernel refused: error %d", e.Errno)
}

// Codec encodes and decodes messages in one byte order.
type Codec struct{ Order binary.ByteOrder }

// Native returns the codec for this machine's kernel.
func Native() Codec { return Codec{binary.NativeEndian} }

// Devices returns the request for the list of RDMA devices.
func (c Codec) Devices(sequence uint32) []byte { return c.question(cmdGet, sequence) }

// CounterSets returns the request for the counter sets of a port, to which its queue pairs are bound. The device is identified
// by its index.
func (c Codec) CounterSets(sequence, device, port uint32) []byte {
	return c.question(cmdStatGet, sequence, [2]uint32{attrDevIndex, device}, [2]uint32{attrPortIndex, port}, [2]uint32{attrResource, attrQP})
}

// question encodes a dump request with 32-bit attributes.
func (c Codec) question(command uint16, sequence uint32, attrs ...[2]uint32) []byte {
	b := make([]byte, sizeHeader+len(attrs)*(sizeAttr+4))
	c.Order.PutUint32(b, uint32(len(b))) // a few dozen bytes
	c.Order.PutUint16(b[4:], client<<clientShift|command)
	c.Order.PutUint16(b[6:], flagRequest|flagDump)
	c.Order.PutUint32(b[8:], sequence)
	for i, a := range attrs {
		at := b[sizeHeader+i*(sizeAttr+4):]
		c.Order.PutUint16(at, sizeAttr+4)
		c.Order.PutUint16(at[2:], uint16(a[0])) // numbers of attributes
		c.Order.PutUint32(at[4:], a[1])
	}
	return b
}
