// Package umadtest is a umad device file without a kernel, for tests: a Device with the documented behaviour of
// Linux, connected to a fabric of the test, and the /sys files that belong to it. It is written from the
// documentation, not from the client's code.
package umadtest

import (
	"encoding/binary"
	"os"
	"sync"
	"syscall"
	"time"

	"fairlane/subnet/mad"
)

// Sent is a datagram that a client wrote, as the fabric receives it.
type Sent struct {
	Agent     uint32
	LID       uint16
	SL        uint8
	QPN, QKey uint32
	PKeyIndex uint16
	Timeout   uint32 // milliseconds
	Retries   uint32
	MAD       mad.Packet // with the kernel's half of the transaction ID
}

// Fabric answers a datagram: the bytes of a MAD, longer than 256 where the kernel would reassemble several packets, or
// nil for no answer. It is called on its own goroutine and may block.
type Fabric func(Sent) []byte

// Agent is a registration.
type Agent struct {
	QPN     uint32
	Class   uint8
	Version uint8
	RMPP    uint8
	Methods [2]uint64
}

// maxAgents is the kernel's IB_UMAD_MAX_AGENTS.
const maxAgents = 32

// Device is an open umad file. It satisfies umad.Device.
type Device struct {
	fabric Fabric
	// Old emulates a kernel without REGISTER_AGENT2. Set it before use.
	Old bool
	// Refuse, when not zero, is the error of every ioctl.
	Refuse syscall.Errno

	mu      sync.Mutex
	wake    sync.Cond
	used    bool // an agent was registered
	pkeys   bool // P_Key mode
	agents  map[uint32]Agent
	pending map[uint64]*time.Timer // by class and low transaction ID
	queue   [][]byte               // header and MAD, to be read
	reads   []int                  // lengths of the buffers that reads had
	removed bool
	closed  bool
	workers sync.WaitGroup
}

// New returns an open file connected to a fabric.
func New(f Fabric) *Device {
	d := &Device{fabric: f, agents: map[uint32]Agent{}, pending: map[uint64]*time.Timer{}}
	d.wake.L = &d.mu
	return d
}

// Agents returns the registrations by id.
func (d *Device) Agents() map[uint32]Agent {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[uint32]Agent, len(d.agents))
	for id, a := range d.agents {
		out[id] = a
	}
	return out
}

// Closed reports whether the client closed the file.
func (d *Device) Closed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// Reads returns the lengths of the buffers that were read into.
func (d *Device) Reads() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]int(nil), d.reads...)
}

// Remove removes the device, like unplugging an adapter.
func (d *Device) Remove() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removed = true
	d.wake.Broadcast()
}

// Requests of ioctl.
const (
	register   = 0xC01C1B01
	unregister = 0x40041B02
	enablePKey = 0x00001B03
	register2  = 0xC0281B04
)

// Ioctl registers agents.
func (d *Device) Ioctl(request uint32, arg []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return os.ErrClosed
	case d.removed:
		return syscall.EPIPE
	case d.Refuse != 0:
		return d.Refuse
	}
	host := binary.NativeEndian
	switch {
	case request == enablePKey && arg == nil:
		if d.used {
			return syscall.EINVAL
		}
		d.pkeys = true
		return nil
	case request == register && len(arg) == 28:
		return d.add(arg, Agent{
			QPN: uint32(arg[20]), Class: arg[21], Version: arg[22], RMPP: arg[26],
			Methods: [2]uint64{host.Uint64(arg[4:]), host.Uint64(arg[12:])},
		})
	case request == register2 && len(arg) == 40 && !d.Old:
		if host.Uint32(arg[12:])&^1 != 0 {
			host.PutUint32(arg[12:], 1)
			return syscall.EINVAL
		}
		if !d.used {
			d.pkeys = true
		}
		return d.add(arg, Agent{
			QPN: host.Uint32(arg[4:]), Class: arg[8], Version: arg[9], RMPP: arg[36],
			Methods: [2]uint64{host.Uint64(arg[16:]), host.Uint64(arg[24:])},
		})
	case request == unregister && len(arg) == 4:
		id := host.Uint32(arg)
		if _, ok := d.agents[id]; !ok {
			return syscall.EINVAL
		}
		delete(d.agents, id)
		return nil
	}
	return syscall.ENOTTY
}

// add adds an agent. Ids start at 5, so that a client that confuses them with indices of its own table fails.
func (d *Device) add(arg []byte, a Agent) error {
	if a.QPN > 1 || (a.QPN == 0) != (a.Class == 0x01 || a.Class == 0x81) {
		return syscall.EINVAL
	}
	for _, other := range d.agents { // both classes of subnet management share their methods
		if other.QPN == a.QPN && (a.QPN == 0 || other.Class == a.Class) &&
			(other.Methods[0]&a.Methods[0] != 0 || other.Methods[1]&a.Methods[1] != 0) {
			return syscall.EINVAL
		}
	}
	for id := uint32(5); id < 5+maxAgents; id++ {
		if _, taken := d.agents[id]; !taken {
			d.agents[id] = a
			d.used = true
			binary.NativeEndian.PutUint32(arg, id)
			return nil
		}
	}
	return syscall.ENOMEM
}

// headerSize returns 64 bytes in P_Key mode and 56 without.
func (d *Device) headerSize() int {
	if d.pkeys {
		return 64
	}
	return 56
}

// Write sends a datagram.
func (d *Device) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := d.headerSize()
	host := binary.NativeEndian
	switch {
	case d.closed:
		return 0, os.ErrClosed
	case d.removed:
		return 0, syscall.EIO
	case len(b) < size+24 || len(b) > size+mad.Size:
		return 0, syscall.EINVAL
	}
	id := host.Uint32(b)
	agent, ok := d.agents[id]
	if !ok || agent.Class != b[size+1] {
		return 0, syscall.EINVAL
	}
	tid := b[size+8 : size+16]
	key := uint64(b[size+1])<<32 | uint64(binary.BigEndian.Uint32(tid[4:]))
	if _, underway := d.pending[key]; underway {
		return 0, syscall.EINVAL
	}
	s := Sent{
		Agent: id, Timeout: host.Uint32(b[8:]), Retries: host.Uint32(b[12:]),
		QPN: binary.BigEndian.Uint32(b[20:]), QKey: binary.BigEndian.Uint32(b[24:]),
		LID: binary.BigEndian.Uint16(b[28:]), SL: b[30],
	}
	if d.pkeys {
		s.PKeyIndex = host.Uint16(b[56:])
	}
	copy(s.MAD[:], b[size:])
	binary.BigEndian.PutUint32(s.MAD[8:], 0xa0000+id) // the agent's half of the transaction ID
	head := append([]byte(nil), b[:size]...)
	if s.Timeout != 0 {
		wait := time.Duration(s.Timeout) * time.Millisecond * time.Duration(s.Retries+1)
		d.pending[key] = time.AfterFunc(wait, func() { d.expire(key, head, s.MAD) })
	}
	d.workers.Go(func() {
		if answer := d.fabric(s); answer != nil {
			d.answer(key, head, answer)
		}
	})
	return len(b), nil
}

// expire returns the first 24 bytes of a request with ETIMEDOUT.
func (d *Device) expire(key uint64, head []byte, p mad.Packet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, underway := d.pending[key]; !underway || d.closed {
		return
	}
	delete(d.pending, key)
	binary.NativeEndian.PutUint32(head[4:], 110)
	d.put(append(head, p[:24]...))
}

// answer queues a response, if its request is still pending.
func (d *Device) answer(key uint64, head, p []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, underway := d.pending[key]
	if !underway || d.closed {
		return
	}
	t.Stop()
	delete(d.pending, key)
	d.put(message(head, p))
}

func message(head, p []byte) []byte {
	b := append(append([]byte(nil), head...), p...)
	binary.NativeEndian.PutUint32(b[4:], 0)
	binary.NativeEndian.PutUint32(b[16:], uint32(len(b)))
	return b
}

// Receive queues an unsolicited datagram for the agent that registered its method. It reports whether there is one.
func (d *Device) Receive(fromLID uint16, p *mad.Packet) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, a := range d.agents {
		m := p[3] & 0x7f
		if a.Class == p[1] && a.Methods[m/64]&(1<<(m%64)) != 0 {
			head := make([]byte, d.headerSize())
			binary.NativeEndian.PutUint32(head, id)
			binary.BigEndian.PutUint16(head[28:], fromLID)
			d.put(message(head, p[:]))
			return true
		}
	}
	return false
}

// Inject queues bytes unchanged.
func (d *Device) Inject(b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(b)
}

func (d *Device) put(b []byte) {
	d.queue = append(d.queue, b)
	d.wake.Broadcast()
}

// Read returns the first message of the queue, or waits for it.
func (d *Device) Read(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.queue) == 0 && !d.removed && !d.closed {
		d.wake.Wait()
	}
	switch {
	case d.closed:
		return 0, os.ErrClosed
	case d.removed:
		return 0, syscall.EIO
	}
	d.reads = append(d.reads, len(b))
	m, one := d.queue[0], d.headerSize()+mad.Size
	switch {
	case len(b) < one:
		return 0, syscall.EINVAL // the message stays in the queue
	case len(m) > len(b):
		copy(b, m[:one])
		return 0, syscall.ENOSPC // the message stays in the queue
	}
	d.queue = d.queue[1:]
	return copy(b, m), nil
}

// Close closes the file and waits for the fabric's pending answers.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return os.ErrClosed
	}
	d.closed = true
	for _, t := range d.pending {
		t.Stop()
	}
	d.wake.Broadcast()
	d.mu.Unlock()
	d.workers.Wait()
	return nil
}
