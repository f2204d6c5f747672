package simdev

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// maxBaseName keeps BASE:out<slot> within the 108 bytes of a socket address.
const maxBaseName = 80

// endpoint is a parsed server address: either the base name of abstract unix sockets, or the
// address of the UDP control socket.
type endpoint struct {
	base string       // unix; empty for UDP
	udp  *net.UDPAddr // slot i uses the port udp.Port+1+i
}

// parseAddress parses "unix:NAME", "udp:PORT" (on 127.0.0.1) or "udp:HOST:PORT". Port 0 selects any free port.
func parseAddress(s string) (endpoint, error) {
	if name, ok := strings.CutPrefix(s, "unix:"); ok {
		if name == "" || len(name) > maxBaseName || strings.ContainsAny(name, "\x00/") {
			return endpoint{}, fmt.Errorf("address %q: want unix:NAME with 1 to %d bytes without slashes", s, maxBaseName)
		}
		return endpoint{base: name}, nil
	}
	rest, ok := strings.CutPrefix(s, "udp:")
	if !ok {
		return endpoint{}, fmt.Errorf("address %q: want unix:NAME, udp:PORT or udp:HOST:PORT", s)
	}
	host, port := "127.0.0.1", rest
	if strings.Contains(rest, ":") {
		var err error
		if host, port, err = net.SplitHostPort(rest); err != nil {
			return endpoint{}, fmt.Errorf("address %q: %w", s, err)
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return endpoint{}, fmt.Errorf("address %q: port %q: want 0 to 65535", s, port)
	}
	ip := net.ParseIP(host)
	if host == "localhost" {
		ip = net.IPv4(127, 0, 0, 1)
	}
	if ip == nil {
		return endpoint{}, fmt.Errorf("address %q: host %q: want an IP address or localhost", s, host)
	}
	return endpoint{udp: &net.UDPAddr{IP: ip, Port: int(n)}}, nil
}

// String formats the address for parseAddress.
func (e endpoint) String() string {
	if e.base != "" {
		return "unix:" + e.base
	}
	return "udp:" + e.udp.String()
}

// abstract returns the address of an abstract unix socket. Existing C clients count the closing zero byte as part of the name,
// so it is included here too.
func abstract(name string) *net.UnixAddr {
	return &net.UnixAddr{Name: "@" + name + "\x00", Net: "unixgram"}
}

// listen opens the control socket and returns the endpoint with its actual port.
func (e endpoint) listen() (net.PacketConn, endpoint, error) {
	if e.base != "" {
		c, err := net.ListenUnixgram("unixgram", abstract(e.base+":ctl"))
		if err != nil {
			return nil, e, fmt.Errorf("listen on %s: %w", e, err)
		}
		return c, e, nil
	}
	c, err := net.ListenUDP("udp", e.udp)
	if err != nil {
		return nil, e, fmt.Errorf("listen on %s: %w", e, err)
	}
	at, ok := c.LocalAddr().(*net.UDPAddr)
	if !ok {
		return nil, e, errors.Join(fmt.Errorf("listen on %s: no UDP address", e), c.Close())
	}
	e.udp = at
	return c, e, nil
}

// rawConn is a connected datagram socket that gives access to its descriptor.
type rawConn interface {
	net.Conn
	syscallConn
}

// slotSocket opens the data socket of a slot, connected to the client, so that it exchanges datagrams with this client only. id
// is the client's number, which is its data port with UDP.
func (e endpoint) slotSocket(slot int, from net.Addr, id uint32) (rawConn, error) {
	if e.base != "" {
		return net.DialUnix("unixgram",
			abstract(fmt.Sprintf("%s:out%d", e.base, slot)), abstract(fmt.Sprintf("%s:in%d", e.base, id)))
	}
	peer, ok := from.(*net.UDPAddr)
	if !ok || id == 0 || id > 0xffff {
		return nil, fmt.Errorf("client %s: data port %d: want 1 to 65535", from, id)
	}
	local := *e.udp
	local.Port += 1 + slot
	if local.Port > 0xffff {
		return nil, fmt.Errorf("slot %d: no port left above %d", slot, e.udp.Port)
	}
	return net.DialUDP("udp", &local, &net.UDPAddr{IP: peer.IP, Port: int(id), Zone: peer.Zone})
}

// replyAddr returns the address for the reply to a control message. The net package truncates an abstract name at its first
// zero byte, so the closing one is added again.
func replyAddr(from net.Addr) net.Addr {
	if u, ok := from.(*net.UnixAddr); ok {
		return &net.UnixAddr{Name: u.Name + "\x00", Net: u.Net}
	}
	return from
}
