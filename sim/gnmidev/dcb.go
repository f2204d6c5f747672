package gnmidev

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"syscall"

	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/sim/plane"
)

// wire returns the codec for the byte order of the simulated hosts, the byte order of the local machine.
func wire() dcbnl.Codec { return dcbnl.Native() }

// defaultDCB returns the initial DCB state of hosts in a RoCE fabric: trust DSCP, DSCP 26 to priority 3 and 48 to 6, pause on
// priority 3, bandwidth shared by priority 3 and class 0, strict priority for 6.
func defaultDCB() *dcbnl.IEEE {
	return &dcbnl.IEEE{
		ETS: &dcbnl.ETS{
			Cap: plane.Priorities, PrioTC: [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}, TxBW: [8]uint8{50, 0, 0, 50},
			TSA: [8]uint8{nicparam.TSAETS, nicparam.TSAETS, nicparam.TSAETS, nicparam.TSAETS, nicparam.TSAETS, nicparam.TSAETS, nicparam.TSAStrict, nicparam.TSAETS},
		},
		PFC: &dcbnl.PFC{Cap: plane.Priorities, Enabled: 1 << plane.RoCEPriority, Delay: 5},
		Apps: []dcbnl.App{
			{Selector: dcbnl.SelectorDSCP, Priority: plane.RoCEPriority, Protocol: 26}, {Selector: dcbnl.SelectorDSCP, Priority: 6, Protocol: 48},
		},
		MaxRate: &[8]uint64{},
		Buffer:  &dcbnl.Buffer{PrioBuffer: [8]uint8{0, 0, 0, 1}, Size: [8]uint32{32768, 229120}, Total: 261888},
	}
}

// socket is the DCB interface of a host's kernel.
type socket struct{ host *Host }

var _ nicfiles.Socket = (*socket)(nil)

func (s socket) Exchange(ctx context.Context, request []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := wire().Decode(request)
	if err != nil {
		return nil, fmt.Errorf("DCB netlink: %w", err)
	}
	p := s.port(m.Interface)
	if p == nil {
		return refusal(m.Sequence, syscall.ENODEV), nil
	}
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	if p.card.virtual {
		return refusal(m.Sequence, syscall.EOPNOTSUPP), nil // a virtual function has no DCB operations
	}
	reply, errno := p.exchange(m)
	if errno != 0 {
		return refusal(m.Sequence, errno), nil
	}
	out, err := wire().Encode(reply)
	if err != nil {
		return nil, fmt.Errorf("DCB netlink: %w", err)
	}
	ack, err := wire().Encode(&dcbnl.Message{Type: dcbnl.TypeError, Sequence: m.Sequence, Ack: true})
	return append(out, ack...), err
}

func (s socket) port(netdev string) *port {
	for _, c := range s.host.cards {
		for _, p := range c.ports {
			if p.netdev == netdev {
				return p
			}
		}
	}
	return nil
}

// refusal returns the kernel's error message for a request (struct nlmsgerr and the header of the request).
func refusal(sequence uint32, errno syscall.Errno) []byte {
	const size = 36
	b := make([]byte, size)
	order := binary.NativeEndian
	order.PutUint32(b, size)
	order.PutUint16(b[4:], dcbnl.TypeError)
	order.PutUint32(b[8:], sequence)
	order.PutUint32(b[16:], -uint32(errno)) // error numbers are small, so the conversion cannot overflow
	return b
}

// exchange answers a request for a port. The caller holds the card's lock.
func (p *port) exchange(m *dcbnl.Message) (*dcbnl.Message, syscall.Errno) {
	reply := &dcbnl.Message{Type: m.Type, Sequence: m.Sequence, Command: m.Command, Interface: m.Interface}
	switch {
	case p.faults.Dead:
		return nil, syscall.EIO
	case m.Command == dcbnl.CommandIEEEGet:
		reply.IEEE = p.counted()
		return reply, 0
	case m.IEEE == nil || m.Command != dcbnl.CommandIEEESet && m.Command != dcbnl.CommandIEEEDel:
		return nil, syscall.EOPNOTSUPP
	}
	status := uint8(0)
	if err := p.change(m); err != 0 {
		status = uint8(-int8(err)) // the kernel stores a negative error number in one byte
	}
	reply.Status = &status
	p.configure()
	p.card.written()
	return reply, 0
}

// counted returns the port's DCB objects with their counters.
func (p *port) counted() *dcbnl.IEEE {
	o := *p.ieee()
	pfc, c := *o.PFC, p.plane.Measure()
	pfc.Requests, pfc.Indications = c.PausesSent, c.PausesReceived
	o.PFC = &pfc
	return &o
}

// change executes a request, unless a fault prevents it.
func (p *port) change(m *dcbnl.Message) syscall.Errno {
	skip, err := p.faults.writable("dcb")
	if err != nil {
		return syscall.EIO
	}
	if skip {
		return 0
	}
	return p.alter(m)
}

// alter changes the objects in the kernel's order. It stops at the first object that the kernel rejects.
func (p *port) alter(m *dcbnl.Message) syscall.Errno {
	o := cloneIEEE(p.ieee())
	defer func() { p.dcb = o }()
	if m.Command == dcbnl.CommandIEEEDel {
		for _, a := range m.IEEE.Apps {
			if !slices.Contains(o.Apps, a) {
				return syscall.ENOENT
			}
			o.Apps = slices.DeleteFunc(o.Apps, func(b dcbnl.App) bool { return a == b })
		}
		return 0
	}
	return p.set(o, m.IEEE)
}

// set sets new values of objects (dcb_ieee_setets, …maxrate, …setpfc, app table, …setbuffer of the mlx5 driver).
func (p *port) set(o, want *dcbnl.IEEE) syscall.Errno {
	if e := want.ETS; e != nil {
		if !legalETS(e) || p.refuses("prio2tc", "tsa", "tc_bw") {
			return syscall.EINVAL
		}
		e.Cap = o.ETS.Cap
		o.ETS = e
	}
	if want.MaxRate != nil {
		if p.refuses("tc_maxrate") {
			return syscall.EINVAL
		}
		o.MaxRate = want.MaxRate
	}
	if f := want.PFC; f != nil {
		if p.refuses("pfc", "cable_len") {
			return syscall.EINVAL
		}
		o.PFC.Enabled, o.PFC.Delay, o.PFC.MBC = f.Enabled, f.Delay, f.MBC
	}
	for _, a := range want.Apps {
		if a.Priority >= plane.Priorities || a.Selector != dcbnl.SelectorDSCP || a.Protocol > 63 || p.refuses("trust", "dscp2prio") {
			return syscall.EINVAL
		}
		// The driver stores one priority per DSCP, so the new entry replaces the old one.
		o.Apps = slices.DeleteFunc(o.Apps, func(b dcbnl.App) bool { return b.Protocol == a.Protocol })
		o.Apps = append(o.Apps, a)
	}
	if b := want.Buffer; b != nil {
		if !legalBuffer(b, o) || p.refuses("prio2buffer", "buffer_size") {
			return syscall.EINVAL
		}
		b.Total = o.Buffer.Total
		o.Buffer = b
	}
	return 0
}

// refuses reports whether a fault rejects one of the parameters.
func (p *port) refuses(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(p.faults.Refused, n) })
}

// legalETS applies the driver's check: the percentages of ETS classes sum to 100 if there are any, and are 0 for all other
// classes.
func legalETS(e *dcbnl.ETS) bool {
	sum, any := 0, false
	for i, tsa := range e.TSA {
		switch {
		case e.PrioTC[i] >= plane.Priorities:
			return false
		case tsa == nicparam.TSAETS:
			any = true
			sum += int(e.TxBW[i])
		case e.TxBW[i] != 0 || tsa != nicparam.TSAStrict && tsa != nicparam.TSAVendor:
			return false
		}
	}
	return !any || sum == 100
}

// legalBuffer applies the driver's check: the buffers fit into the memory of the port, and a buffer of a priority with pause
// has a size above 0.
func legalBuffer(b *dcbnl.Buffer, o *dcbnl.IEEE) bool {
	sum := uint64(0)
	for i := range plane.Priorities {
		sum += uint64(b.Size[i])
		to := b.PrioBuffer[i]
		if to >= plane.Priorities || o.PFC.Enabled>>i&1 == 1 && b.Size[to] == 0 {
			return false
		}
	}
	return sum <= uint64(o.Buffer.Total)
}

// cloneIEEE copies the objects that may be changed.
func cloneIEEE(o *dcbnl.IEEE) *dcbnl.IEEE {
	out := *o
	ets, pfc, buffer, rate := *o.ETS, *o.PFC, *o.Buffer, *o.MaxRate
	out.ETS, out.PFC, out.Buffer, out.MaxRate = &ets, &pfc, &buffer, &rate
	out.Apps = slices.Clone(o.Apps)
	return &out
}
