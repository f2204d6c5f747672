package simdev

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/subnet"
	"fairlane/subnet/mad"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var clientIDs atomic.Uint32

// served is a rig with a running server.
type served struct {
	*rig
	server *Server
	base   string
}

func serve(t *testing.T, o Options, udp bool) *served {
	t.Helper()
	s := &served{rig: newRig(t, o)}
	s.base = fmt.Sprintf("simdev-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
	addr := "unix:" + s.base
	if udp {
		addr = "udp:0"
	}
	var err error
	if s.server, err = Listen(s.dev, addr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// peer is a client of the protocol. It is written from the protocol's description, independent of the server.
type peer struct {
	t         *testing.T
	ctl, data net.Conn
	slot      uint32
	info      clientInfo
	id        uint32
}

const peerTimeout = 5 * time.Second

// dial opens a client's sockets and connects; an error reply is returned as an error.
func (s *served) dial(node string, isSM bool) (*peer, error) {
	t := s.t.(*testing.T)
	t.Helper()
	p := &peer{t: t, id: clientIDs.Add(1) + uint32(os.Getpid())<<12}
	var data *net.UnixConn
	if s.server.at.base != "" {
		ctl, err := net.DialUnix("unixgram", abstract(fmt.Sprintf("%s:ctl%d", s.base, p.id)), abstract(s.base+":ctl"))
		if err != nil {
			t.Fatal(err)
		}
		p.ctl = ctl
		if data, err = net.ListenUnixgram("unixgram", abstract(fmt.Sprintf("%s:in%d", s.base, p.id))); err != nil {
			t.Fatal(err)
		}
	}
	reply, err := p.connect(clientInfo{id: p.id, isSM: isSM, node: node})
	if err != nil {
		_ = p.ctl.Close()
		_ = data.Close()
		return nil, err
	}
	p.info = decodeClientInfo(&reply.data)
	p.slot = p.info.id
	p.data = &unixPeer{data, abstract(fmt.Sprintf("%s:out%d", s.base, p.slot))}
	t.Cleanup(p.close)
	return p, nil
}

// unixPeer sends from a bound socket to the socket of the slot, as a connected socket does.
type unixPeer struct {
	*net.UnixConn
	to *net.UnixAddr
}

func (u *unixPeer) Write(b []byte) (int, error) { return u.WriteToUnix(b, u.to) }

func (p *peer) close() {
	_ = p.ctl.Close()
	_ = p.data.Close()
}

func (p *peer) connect(info clientInfo) (control, error) {
	c := control{kind: ctlConnect}
	info.encode(&c)
	return p.control(c)
}

// control sends a control message and returns the reply.
func (p *peer) control(c control) (control, error) {
	p.t.Helper()
	b := c.encode()
	if _, err := p.ctl.Write(b[:]); err != nil {
		p.t.Fatal(err)
	}
	var in [controlSize]byte
	_ = p.ctl.SetReadDeadline(time.Now().Add(peerTimeout))
	n, err := p.ctl.Read(in[:])
	if err != nil {
		p.t.Fatal(err)
	}
	var reply control
	if err := decodeControl(in[:n], &reply); err != nil {
		p.t.Fatal(err)
	}
	if reply.kind != c.kind {
		return reply, fmt.Errorf("reply of type %d to %d", reply.kind, c.kind)
	}
	return reply, nil
}

// ask sends a control message of a type and returns the reply.
func (p *peer) ask(kind controlType, data ...byte) control {
	p.t.Helper()
	c := control{client: p.slot, kind: kind, length: uint32(len(data))}
	copy(c.data[:], data)
	reply, err := p.control(c)
	if err != nil {
		p.t.Fatal(err)
	}
	return reply
}

func (p *peer) send(m Message) {
	p.t.Helper()
	var b [datagramSize]byte
	encodeDatagram(b[:], &m, 0)
	if _, err := p.data.Write(b[:]); err != nil {
		p.t.Fatal(err)
	}
}

// receive waits for a datagram and returns it with its envelope status.
func (p *peer) receive() (Message, uint32) {
	p.t.Helper()
	var b [datagramSize + 1]byte
	_ = p.data.SetReadDeadline(time.Now().Add(peerTimeout))
	n, err := p.data.Read(b[:])
	if err != nil {
		p.t.Fatal(err)
	}
	var m Message
	if err := decodeDatagram(b[:n], &m); err != nil {
		p.t.Fatal(err)
	}
	return m, binary.BigEndian.Uint32(b[16:])
}

func mustDial(s *served, node string, isSM bool) *peer {
	s.t.Helper()
	p, err := s.dial(node, isSM)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (p *peer) local(a mad.AttrID, tid uint64) Message {
	m := Message{DLID: 0xffff, SLID: 0xffff, MAD: mad.NewDirected(mad.MethodGet, a, 0)}
	m.MAD.SetTID(tid)
	return m
}

func TestClientsAttachByName(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	for name, want := range map[string]string{
		"": "h1 HCA-1", "h3 HCA-1": "h3 HCA-1", "leaf2": "leaf2", "0x100020": "h3 HCA-1", "H-0000000000100010": "h2 HCA-1",
		"S-0000000000200001": "leaf2", "0x0000000000100032": "h4 HCA-1",
	} {
		p := mustDial(s, name, false)
		if p.info.node != want {
			t.Errorf("%q attached to %q, want %q", name, p.info.node, want)
		}
		p.send(p.local(mad.AttrNodeDescription, 1))
		m, status := p.receive()
		var d mad.NodeDescription
		if err := d.Decode(m.MAD.Data()); err != nil || status != 0 || d.String() != want {
			t.Errorf("%q: NodeDescription %q, status %d, %v", name, d.String(), status, err)
		}
	}
	if _, err := s.dial("no such host", false); err == nil {
		t.Error("the server attached a client to an unknown node")
	}
	if st := s.server.Stats(); st.Refused != 1 || st.Datagrams != 7 || st.Clients != 7 {
		t.Errorf("stats %+v", st)
	}
}

func TestControlRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Vendor: 0x123456, MKey: 5}, false)
	p := mustDial(s, "h4 HCA-1", false)
	lid := uint16(s.lid(host4))
	if r := p.ask(ctlGetPort); binary.LittleEndian.Uint16(r.data[:]) != lid || r.data[2] != mad.StateActive {
		t.Errorf("GET_PORT % x", r.data[:4])
	}
	if r := p.ask(ctlGetVendor); binary.LittleEndian.Uint32(r.data[:]) != 0x123456 || r.length != 24 {
		t.Errorf("GET_VENDOR % x", r.data[:24])
	}
	if r := p.ask(ctlGetGUID); binary.BigEndian.Uint64(r.data[:]) != 0x100030 {
		t.Errorf("GET_GUID % x", r.data[:8])
	}
	if r := p.ask(ctlGetGID); binary.BigEndian.Uint64(r.data[:]) != mad.DefaultGIDPrefix || binary.BigEndian.Uint64(r.data[8:]) != 0x100032 {
		t.Errorf("GET_GID % x", r.data[:16])
	}
	reply := p.ask(ctlGetNodeInfo)
	var n mad.NodeInfo
	if err := n.Decode(reply.data[:]); err != nil || n.NodeGUID != 0x100030 || n.LocalPort != 2 || n.NumPorts != 2 {
		t.Errorf("GET_NODEINFO %+v, %v", n, err)
	}
	var i mad.PortInfo
	for _, port := range []byte{0, 2} {
		reply = p.ask(ctlGetPortInfo, port)
		if err := i.Decode(reply.data[:]); err != nil || uint16(i.LID) != lid {
			t.Errorf("GET_PORTINFO %d: LID %d, %v", port, i.LID, err)
		}
	}
	if r := p.ask(ctlGetPKeys); binary.BigEndian.Uint16(r.data[:]) != 0xffff || r.data[2] != 0 {
		t.Errorf("GET_PKEYS % x", r.data[:4])
	}
	for name, c := range map[string]control{
		"unknown type": {client: p.slot, kind: 99}, "port out of range": {client: p.slot, kind: ctlGetPortInfo, data: [64]byte{3}},
		"slot of another client": {client: p.slot + 1, kind: ctlGetPort}, "slot out of range": {client: 1 << 20, kind: ctlGetPort},
	} {
		if r, err := p.control(c); err == nil || r.kind != ctlError {
			t.Errorf("%s: reply of type %d", name, r.kind)
		}
	}
	p.ask(ctlDisconnect)
	if st := s.server.Stats(); st.Clients != 0 {
		t.Errorf("%d clients after disconnect", st.Clients)
	}
}

func TestPipelinedRequestsAreAllAnswered(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	p := mustDial(s, "", false)
	const total, window = 5000, 8
	seen := make([]bool, total)
	sent := 0
	for done := range total {
		for ; sent < total && sent < done+window; sent++ {
			p.send(p.local(mad.AttrNodeInfo, 0xabcd_0000_0000_0000|uint64(sent)))
		}
		m, status := p.receive()
		tid := m.MAD.TID()
		if status != 0 || tid>>48 != uint64(p.slot) || seen[uint32(tid)] {
			t.Fatalf("response with TID 0x%x, status %d", tid, status)
		}
		seen[uint32(tid)] = true
	}
}

func TestUndeliverableIsReturnedImmediately(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{CCKey: 77}, false)
	p := mustDial(s, "", false)
	for name, m := range map[string]Message{
		"no route":     {DLID: 999, MAD: mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)},
		"wrong key":    {DLID: s.lid(host3), MAD: mad.NewCC(mad.MethodSet, mad.AttrCACongestionSetting, 0, 1)},
		"no SM client": {DLID: s.lid(host3), MAD: mad.NewSMP(mad.MethodGet, mad.AttrSMInfo, 0)},
	} {
		m.MAD.SetTID(42)
		p.send(m)
		got, status := p.receive()
		if status != 110 || got.MAD.IsResponse() || uint32(got.MAD.TID()) != 42 || got.DLID != m.DLID {
			t.Errorf("%s: status %d, %s", name, status, got.MAD.String())
		}
	}
	if st := s.server.Stats(); st.Unroutable != 3 {
		t.Errorf("%d unroutable, want 3", st.Unroutable)
	}
}

func TestMalformedDatagramsAreCountedAndIgnored(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	p := mustDial(s, "", false)
	for _, n := range []int{0, 1, 287, 289, 4000} {
		if _, err := p.data.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.ctl.Write([]byte("garbage")); err != nil {
		t.Fatal(err)
	}
	p.send(p.local(mad.AttrNodeInfo, 1))
	if _, status := p.receive(); status != 0 {
		t.Errorf("status %d after malformed datagrams", status)
	}
	p.ask(ctlGetPort) // the control channel first processes the malformed messages
	if st := s.server.Stats(); st.Malformed != 6 || st.Datagrams != 1 {
		t.Errorf("stats %+v, want 6 malformed", st)
	}
}

func TestSubnetManagerReceivesItsDatagrams(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	sm, other := mustDial(s, "h3 HCA-1", false), mustDial(s, "h1 HCA-1", false)
	sm.ask(ctlSetIsSM, 1, 0, 0, 0)
	otherClient := mustDial(s, "h3 HCA-1", false)
	if r, err := otherClient.control(control{client: otherClient.slot, kind: ctlSetIsSM, data: [64]byte{1}}); err == nil {
		t.Errorf("a second subnet manager on the same port: reply %+v", r.kind)
	}
	if _, err := s.dial("h3 HCA-1", true); err == nil {
		t.Error("a second subnet manager connected to the same port")
	}

	ask := Message{DLID: s.lid(host3), MAD: mad.NewSMP(mad.MethodGet, mad.AttrSMInfo, 0)}
	ask.MAD.SetTID(7)
	other.send(ask)
	got, _ := sm.receive()
	if got.MAD.Attr() != mad.AttrSMInfo || got.SLID != s.lid(host1) || got.MAD.TID() != uint64(other.slot)<<48|7 {
		t.Fatalf("the subnet manager received %s from LID %d", got.MAD.String(), got.SLID)
	}
	answer := Message{DLID: got.SLID, Length: 120, MAD: got.MAD}
	answer.MAD.Respond(mad.StatusOK)
	sm.send(answer)
	back, status := other.receive()
	if status != 0 || back.MAD.Method() != mad.MethodGetResp || uint32(back.MAD.TID()) != 7 || back.Length != 120 {
		t.Errorf("the answer arrived as %s, status %d, length %d", back.MAD.String(), status, back.Length)
	}

	s.dev.port(subnet.PortRef{Node: leaf1}).smLID = s.lid(host3)
	s.dev.SetLink(subnet.PortRef{Node: leaf1, Port: 39}, false)
	if trap, _ := sm.receive(); trap.MAD.Method() != mad.MethodTrap {
		t.Errorf("received %s, want a trap", trap.MAD.String())
	}
	sm.ask(ctlSetIsSM, 0, 0, 0, 0)
	other.send(ask)
	if _, status := other.receive(); status != 110 {
		t.Errorf("status %d after the subnet manager left", status)
	}
}

func TestCongestionControlIsNeverForwarded(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	sm, other := mustDial(s, "h3 HCA-1", true), mustDial(s, "h1 HCA-1", false)
	other.send(Message{DLID: s.lid(host3), MAD: mad.NewCC(mad.MethodGet, mad.AttrCongestionInfo, 0, 0)})
	if m, status := other.receive(); status != 0 || m.MAD.Method() != mad.MethodGetResp {
		t.Errorf("%s, status %d", m.MAD.String(), status)
	}
	sm.send(sm.local(mad.AttrNodeInfo, 1))
	if m, _ := sm.receive(); m.MAD.Class() == mad.ClassCongestion {
		t.Error("the subnet manager received a congestion-control packet")
	}
}

func TestDeadClientsAreReclaimed(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	sm, other := mustDial(s, "h3 HCA-1", true), mustDial(s, "h1 HCA-1", false)
	idle := mustDial(s, "h2 HCA-1", false)
	sm.close()
	other.send(Message{DLID: s.lid(host3), MAD: mad.NewSMP(mad.MethodGet, mad.AttrSMInfo, 0)})
	if _, status := other.receive(); status != 110 {
		t.Errorf("status %d for a request to a subnet manager that has ended", status)
	}
	other.send(other.local(mad.AttrNodeInfo, 1))
	if _, status := other.receive(); status != 0 {
		t.Errorf("status %d", status)
	}
	if st := s.server.Stats(); st.Clients != 2 || st.Dropped != 1 {
		t.Errorf("%d clients, %d dropped after a subnet manager ended", st.Clients, st.Dropped)
	}
	idle.close()
	s.server.reapOnce()
	if st := s.server.Stats(); st.Clients != 1 {
		t.Errorf("%d clients after an idle client ended", st.Clients)
	}
	if p := mustDial(s, "h3 HCA-1", true); p.slot != 0 {
		t.Errorf("the freed slot 0 was not reused: %d", p.slot)
	}
}

func TestTheIdlestClientMakesRoomInAFullServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	s, err := Listen(r.dev, fmt.Sprintf("unix:simdev-room-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	a, b := net.Pipe()
	defer b.Close()
	for i := range s.slots {
		s.slots[i] = &client{slot: i, in: &batch{conn: pipeConn{a}}}
		s.slots[i].used.Store(now.Add(-time.Duration(i) * time.Millisecond).UnixNano())
	}
	s.makeRoom(now)
	if st := s.Stats(); st.Clients != maxClients {
		t.Errorf("%d clients: an active client lost its slot", st.Clients)
	}
	s.slots[77].used.Store(now.Add(-2 * idleLimit).UnixNano())
	s.makeRoom(now)
	if s.slots[77] != nil || s.Stats().Clients != maxClients-1 {
		t.Error("the idle client kept its slot")
	}
	s.makeRoom(now.Add(time.Hour))
	if s.Stats().Clients != maxClients-1 {
		t.Error("a client lost its slot although one is free")
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Serve(t.Context()); err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
}

// pipeConn stands in for a socket on which only Close is called.
type pipeConn struct{ net.Conn }

func (pipeConn) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

func TestConnectingAgainReplacesTheSlot(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	p := mustDial(s, "h3 HCA-1", true)
	if _, err := p.connect(clientInfo{id: p.id, isSM: true, node: "h3 HCA-1"}); err != nil {
		t.Fatal(err)
	}
	if st := s.server.Stats(); st.Clients != 1 {
		t.Errorf("%d clients", st.Clients)
	}
}

func TestHundredsOfClients(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	var peers []*peer
	for i := range 300 {
		peers = append(peers, mustDial(s, fmt.Sprintf("h%d HCA-1", i%4+1), false))
	}
	for _, p := range peers {
		p.send(p.local(mad.AttrNodeInfo, 5))
	}
	for i, p := range peers {
		m, _ := p.receive()
		var n mad.NodeInfo
		if err := n.Decode(m.MAD.Data()); err != nil || uint64(n.NodeGUID) != 0x100000+16*uint64(i%4) {
			t.Errorf("client %d is on %s, %v", i, n.NodeGUID, err)
		}
	}
	if st := s.server.Stats(); st.Clients != 300 {
		t.Errorf("%d clients", st.Clients)
	}
}

func TestDelayedRepliesArriveLate(t *testing.T) {
	t.Parallel()
	const delay = 50 * time.Millisecond
	s := serve(t, Options{Faults: Faults{DelayReply: 1, Delay: delay, Classes: []mad.Class{mad.ClassPerf}}}, false)
	p := mustDial(s, "", false)
	start := time.Now()
	p.send(Message{DLID: s.lid(host3), MAD: mad.NewPerf(mad.MethodGet, mad.AttrClassPortInfo, 0)})
	p.send(p.local(mad.AttrNodeInfo, 1))
	if m, _ := p.receive(); m.MAD.Class() != mad.ClassSubnDR {
		t.Errorf("%s came first", m.MAD.String())
	}
	if m, _ := p.receive(); m.MAD.Class() != mad.ClassPerf || time.Since(start) < delay {
		t.Errorf("%s after %s, want at least %s", m.MAD.String(), time.Since(start), delay)
	}
}

func BenchmarkServerRoundTrips(b *testing.B) {
	n := newRig(b, Options{})
	s, err := Listen(n.dev, fmt.Sprintf("unix:simdev-bench-%d", os.Getpid()))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	defer func() { cancel(); <-done }()
	base := s.at.base
	data, err := net.ListenUnixgram("unixgram", abstract(base+":in1"))
	if err != nil {
		b.Fatal(err)
	}
	defer data.Close()
	ctl, err := net.DialUnix("unixgram", abstract(base+":ctl1"), abstract(base+":ctl"))
	if err != nil {
		b.Fatal(err)
	}
	defer ctl.Close()
	c := control{kind: ctlConnect}
	clientInfo{id: 1}.encode(&c)
	req := c.encode()
	var in [datagramSize]byte
	if _, err := ctl.Write(req[:]); err != nil {
		b.Fatal(err)
	}
	if _, err := ctl.Read(in[:]); err != nil {
		b.Fatal(err)
	}
	m := Message{DLID: 0xffff, SLID: 0xffff, MAD: mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0)}
	var out [datagramSize]byte
	encodeDatagram(out[:], &m, 0)
	slot := abstract(base + ":out0")
	b.ReportAllocs()
	b.ResetTimer()
	const window = 8
	sent := 0
	for i := range b.N {
		for ; sent < b.N && sent < i+window; sent++ {
			if _, err := data.WriteToUnix(out[:], slot); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := data.Read(in[:]); err != nil {
			b.Fatal(err)
		}
	}
}
