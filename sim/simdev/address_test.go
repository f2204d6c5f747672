package simdev

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"fairlane/subnet/mad"
)

func TestUDP(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, true)
	addr, ok := strings.CutPrefix(s.server.Addr(), "udp:")
	if !ok || !strings.HasPrefix(addr, "127.0.0.1:") {
		t.Fatalf("address %q, want the loopback", s.server.Addr())
	}
	data, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ctl, err := net.Dial("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, ctl: ctl, id: uint32(data.LocalAddr().(*net.UDPAddr).Port)}
	reply, err := p.connect(clientInfo{id: p.id, node: "leaf2"})
	if err != nil {
		t.Fatal(err)
	}
	p.slot = decodeClientInfo(&reply.data).id
	to := *s.server.at.udp
	to.Port += 1 + int(p.slot)
	p.data = &udpPeer{data, &to}
	defer p.close()
	p.send(p.local(mad.AttrNodeDescription, 9))
	m, status := p.receive()
	var d mad.NodeDescription
	if err := d.Decode(m.MAD.Data()); err != nil || status != 0 || d.String() != "leaf2" {
		t.Errorf("NodeDescription %q, status %d, %v", d.String(), status, err)
	}
	if _, err := p.connect(clientInfo{id: 0, node: "leaf2"}); err == nil {
		t.Error("data port 0 was accepted")
	}
}

type udpPeer struct {
	*net.UDPConn
	to *net.UDPAddr
}

func (u *udpPeer) Write(b []byte) (int, error) { return u.WriteToUDP(b, u.to) }

func TestAddresses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"unix:x": "unix:x", "udp:7070": "udp:127.0.0.1:7070", "udp:localhost:1": "udp:127.0.0.1:1", "udp:0.0.0.0:9": "udp:0.0.0.0:9", "udp:[::1]:9": "udp:[::1]:9",
	} {
		e, err := parseAddress(in)
		if err != nil || e.String() != want {
			t.Errorf("%q: %v, %v, want %s", in, e, err, want)
		}
	}
	for _, in := range []string{"", "x", "unix:", "unix:a/b", "unix:" + strings.Repeat("x", 81), "udp:", "udp:65536", "udp:host.example:1", "tcp:1"} {
		if e, err := parseAddress(in); err == nil {
			t.Errorf("%q was read as %s", in, e)
		}
	}
	s := serve(t, Options{}, false)
	if _, err := Listen(s.dev, s.server.Addr()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("error of a second server on the same address: %v", err)
	}
}
