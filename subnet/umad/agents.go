package umad

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"fairlane/subnet/mad"
)

// Requests of the device's ioctl (Linux, include/uapi/rdma/ib_user_ioctl_cmds.h: magic 0x1B).
const (
	ioctlRegister   = 0xC01C1B01 // struct ib_user_mad_reg_req, in and out
	ioctlUnregister = 0x40041B02 // agent's id
	ioctlEnablePKey = 0x00001B03 // no argument; before any registration
	ioctlRegister2  = 0xC0281B04 // struct ib_user_mad_reg_req2, in and out
)

// Lengths of the two registrations in bytes.
const (
	registrationSize  = 28
	registration2Size = 40
)

// registration describes an agent: the requests of one class, and their answers.
type registration struct {
	class mad.Class
	rmpp  uint8 // 1: the kernel reassembles the packets of a long answer
	// methods are those whose requests the agent accepts, bit n for method n; zero for an agent that only sends requests.
	methods [2]uint64
}

// encode writes struct ib_user_mad_reg_req. The mask is an array of the host's long.
func (r *registration) encode(dst *[registrationSize]byte, host binary.ByteOrder) {
	clear(dst[:])
	host.PutUint64(dst[4:], r.methods[0])
	host.PutUint64(dst[12:], r.methods[1])
	dst[20] = byte(r.class.QPN())
	dst[21] = byte(r.class)
	dst[22] = r.class.Version()
	dst[26] = r.rmpp
}

// encode2 writes struct ib_user_mad_reg_req2.
func (r *registration) encode2(dst *[registration2Size]byte, host binary.ByteOrder) {
	clear(dst[:])
	host.PutUint32(dst[4:], r.class.QPN())
	dst[8] = byte(r.class)
	dst[9] = r.class.Version()
	host.PutUint64(dst[16:], r.methods[0])
	host.PutUint64(dst[24:], r.methods[1])
	dst[36] = r.rmpp
}

// classes are the classes of a client, in the order of its agents.
var classes = [...]mad.Class{mad.ClassSubnLID, mad.ClassSubnDR, mad.ClassSubnAdm, mad.ClassPerf, mad.ClassCongestion}

// agents are the ids of a file's agents, in the order of classes.
type agents [len(classes)]uint32

// of returns the agent of a class.
func (a *agents) of(c mad.Class) (uint32, error) {
	for i, known := range classes {
		if c == known {
			return a[i], nil
		}
	}
	return 0, fmt.Errorf("%s: no agent for it: want one of the classes %v", c, classes)
}

// register registers the agents. A kernel that rejects the first registration of the new form is an old one, where
// P_Key mode must be enabled separately.
func register(d Device, host binary.ByteOrder, traps bool) (agents, error) {
	var ids agents
	old := false
	for i, class := range classes {
		r := registration{class: class}
		if class == mad.ClassSubnAdm {
			r.rmpp = 1
		}
		if traps && class == mad.ClassSubnLID {
			r.methods[0] = 1 << mad.MethodTrap
		}
		var err error
		if !old {
			ids[i], err = r.ask2(d, host)
			if i == 0 && (errors.Is(err, syscall.ENOTTY) || errors.Is(err, syscall.EINVAL)) {
				if err = d.Ioctl(ioctlEnablePKey, nil); err != nil {
					return ids, fmt.Errorf("switch the file to P_Key mode: %w", err)
				}
				old = true
			}
		}
		if old {
			ids[i], err = r.ask(d, host)
		}
		if err != nil {
			return ids, fmt.Errorf("register an agent for %s: %w", class, err)
		}
	}
	return ids, nil
}

func (r *registration) ask(d Device, host binary.ByteOrder) (uint32, error) {
	var b [registrationSize]byte
	r.encode(&b, host)
	if err := d.Ioctl(ioctlRegister, b[:]); err != nil {
		return 0, err
	}
	return host.Uint32(b[:]), nil
}

func (r *registration) ask2(d Device, host binary.ByteOrder) (uint32, error) {
	var b [registration2Size]byte
	r.encode2(&b, host)
	if err := d.Ioctl(ioctlRegister2, b[:]); err != nil {
		return 0, err
	}
	return host.Uint32(b[:]), nil
}
