package ibsim_test

import (
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/mad"
)

// server is a small server of the wire protocol, written from its documentation, not from the client's code. answer
// returns the response datagrams for each datagram.
type server struct {
	t      testing.TB
	base   string
	ctl    *net.UnixConn
	slot   *net.UnixConn
	answer func(datagram []byte) [][]byte

	refuse            map[uint32]bool // control types to refuse
	mute              map[uint32]bool // control types to ignore
	withoutAllocating bool            // after the first datagram echo without allocating
	stale             bool            // precede each control reply by one of another kind

	mu      sync.Mutex
	seen    []uint32 // control types
	node    string   // requested by the client
	issm    uint32
	workers sync.WaitGroup
}

const slotNumber = 7

func abstract(name string) *net.UnixAddr {
	return &net.UnixAddr{Name: "@" + name + "\x00", Net: "unixgram"}
}

// serve starts a server that ends with the test. echo answers every request with itself as a good response.
func serve(t testing.TB, answer func(datagram []byte) [][]byte) *server {
	t.Helper()
	s := &server{t: t, base: ibsimtest.SockName(t), answer: answer, refuse: map[uint32]bool{}, mute: map[uint32]bool{}}
	var err error
	if s.ctl, err = net.ListenUnixgram("unixgram", abstract(s.base+":ctl")); err != nil {
		t.Fatal(err)
	}
	if s.slot, err = net.ListenUnixgram("unixgram", abstract(s.base+":out"+strconv.Itoa(slotNumber))); err != nil {
		t.Fatal(err)
	}
	s.workers.Go(s.control)
	s.workers.Go(s.data)
	t.Cleanup(func() {
		s.stop()
		s.workers.Wait()
	})
	return s
}

func (s *server) addr() string { return "unix:" + s.base }

// set changes the server's faults.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// stop closes the sockets, as a crash of the server would.
func (s *server) stop() {
	_ = s.ctl.Close()
	_ = s.slot.Close()
}

// back sends to a peer whose name, as read, lacks its trailing NUL.
func (s *server) back(c *net.UnixConn, b []byte, to *net.UnixAddr) {
	to = &net.UnixAddr{Name: strings.TrimRight(to.Name, "\x00") + "\x00", Net: "unixgram"}
	if _, err := c.WriteToUnix(b, to); err != nil && !errors.Is(err, net.ErrClosed) {
		s.t.Logf("fake server: %v", err) // the client may have disconnected
	}
}

func (s *server) control() {
	buf := make([]byte, 200)
	for {
		n, from, err := s.ctl.ReadFromUnix(buf)
		if err != nil {
			return
		}
		b := buf[:n]
		if n != 80 || binary.LittleEndian.Uint32(b) != 0xdeadbeef {
			s.t.Errorf("control message %x: want 80 bytes that start with the magic", b)
			continue
		}
		kind := binary.LittleEndian.Uint32(b[8:])
		s.mu.Lock()
		s.seen = append(s.seen, kind)
		mute, refuse, stale := s.mute[kind], s.refuse[kind], s.stale
		s.mu.Unlock()
		if mute {
			continue
		}
		if stale {
			old := make([]byte, 80)
			copy(old, b[:8])
			old[8] = 99
			s.back(s.ctl, old, from)
		}
		if refuse {
			binary.LittleEndian.PutUint32(b[8:], 0)
		} else {
			s.fill(kind, b[16:])
		}
		s.back(s.ctl, b, from)
	}
}

func (s *server) fill(kind uint32, data []byte) {
	switch kind {
	case 1:
		s.mu.Lock()
		s.node = strings.TrimRight(string(data[12:44]), "\x00")
		s.issm = binary.LittleEndian.Uint32(data[8:])
		s.mu.Unlock()
		binary.LittleEndian.PutUint32(data, slotNumber)
		copy(data[12:44], "host-1\x00")
	case 7:
		data[2], data[3] = 1, 2 // CA with two ports
		binary.BigEndian.PutUint64(data[12:], 0xabcd)
	case 8:
		binary.BigEndian.PutUint16(data[16:], 42)
	case 10:
		binary.BigEndian.PutUint16(data, 0xffff)
		binary.BigEndian.PutUint16(data[4:], 0x8010)
	}
}

func (s *server) data() {
	buf := make([]byte, 400)
	for {
		n, from, err := s.slot.ReadFromUnix(buf)
		if err != nil {
			return
		}
		for _, out := range s.answer(buf[:n]) {
			s.back(s.slot, out, from)
		}
		s.mu.Lock()
		withoutAllocating := s.withoutAllocating
		s.mu.Unlock()
		if withoutAllocating {
			if err := connect(s.slot, from); err != nil {
				s.t.Error(err)
			}
			s.echoWithoutAllocating(buf)
			return
		}
	}
}

// echo returns the good response to a datagram: the request with a response method, the slot number in the upper half of
// the transaction ID, LIDs swapped, garbage in the padding.
func echo(datagram []byte) []byte {
	b := make([]byte, len(datagram))
	copy(b, datagram)
	copy(b[0:4], datagram[4:8])
	copy(b[4:8], datagram[0:4])
	copy(b[20:24], "junk")
	p := (*mad.Packet)(b[32:])
	p.Respond(mad.StatusOK)
	p.SetTID(p.TID() | slotNumber<<48 | 3<<32)
	return b
}

func echoAll(datagram []byte) [][]byte { return [][]byte{echo(datagram)} }
