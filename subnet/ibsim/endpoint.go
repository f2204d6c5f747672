package ibsim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// DefaultUDPPort is the control port of a server in UDP mode.
const DefaultUDPPort = 7070

// maxBaseName keeps "BASE:out4294967295" within the 107 bytes of a Unix socket name.
const maxBaseName = 80

// endpoint is the address of a server: a socket base name, or a UDP control address.
type endpoint struct {
	base string // abstract Unix sockets
	host string // UDP
	port int
}

// parseAddr parses "unix:NAME", "udp:HOST:PORT", "udp:HOST" or "udp:PORT".
func parseAddr(addr string) (endpoint, error) {
	scheme, rest, _ := strings.Cut(addr, ":")
	switch scheme {
	case "unix":
		if rest == "" || len(rest) > maxBaseName || strings.ContainsAny(rest, "\x00") {
			return endpoint{}, fmt.Errorf("address %q: want unix:NAME with a name of 1 to %d bytes", addr, maxBaseName)
		}
		return endpoint{base: rest}, nil
	case "udp":
		e, err := parseUDP(rest)
		if err != nil {
			return endpoint{}, fmt.Errorf("address %q: %w", addr, err)
		}
		return e, nil
	default:
		return endpoint{}, fmt.Errorf("address %q: want unix:NAME or udp:HOST:PORT", addr)
	}
}

func parseUDP(rest string) (endpoint, error) {
	e := endpoint{host: "127.0.0.1", port: DefaultUDPPort}
	if n, err := strconv.Atoi(rest); err == nil {
		e.port = n
	} else if host, port, err := net.SplitHostPort(rest); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil {
			return e, fmt.Errorf("port %q: want 1 to 65534", port)
		}
		e.host, e.port = host, n
	} else {
		e.host = rest
	}
	if e.host == "" {
		return e, errors.New("want a host after udp:")
	}
	if e.port < 1 || e.port > 65534 {
		return e, fmt.Errorf("port %d: want 1 to 65534", e.port)
	}
	return e, nil
}

// String returns the address in the form of Dial.
func (e endpoint) String() string {
	if e.base != "" {
		return "unix:" + e.base
	}
	return "udp:" + net.JoinHostPort(e.host, strconv.Itoa(e.port))
}

// sockets are a client's two sockets. The data socket is connected to its peer once the slot is known.
type sockets struct {
	endpoint
	id      uint32 // identifies the client: part of its socket names, or its data port in UDP mode
	control net.Conn
	data    net.Conn
	// Unix mode needs the data socket bound before CONNECT, because the server connects back
	// to it while it handles CONNECT.
	unbound net.PacketConn
}

// bindTries bounds the search for a client id that no other client uses.
const bindTries = 16

// open binds the client's sockets and connects the control socket.
func (e endpoint) open(ctx context.Context) (*sockets, error) {
	if e.base == "" {
		return e.openUDP(ctx)
	}
	var err error
	for range bindTries {
		var s *sockets
		if s, err = e.openUnix(rand.Uint32N(1 << 30)); err == nil {
			return s, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, err
}

// unixAddr returns the address of an abstract socket. The name includes a final NUL: the C programs on the other side
// count the terminator of their string.
func (e endpoint) unixAddr(suffix string) *net.UnixAddr {
	return &net.UnixAddr{Name: "@" + e.base + ":" + suffix + "\x00", Net: "unixgram"}
}

func (e endpoint) openUnix(id uint32) (*sockets, error) {
	name := strconv.FormatUint(uint64(id), 10)
	data, err := net.ListenUnixgram("unixgram", e.unixAddr("in"+name))
	if err != nil {
		return nil, fmt.Errorf("bind the data socket: %w", err)
	}
	ctl, err := net.DialUnix("unixgram", e.unixAddr("ctl"+name), e.unixAddr("ctl"))
	if err != nil {
		_ = data.Close()
		return nil, fmt.Errorf("reach the server's control socket: %w", err)
	}
	return &sockets{endpoint: e, id: id, control: ctl, unbound: data}, nil
}

func (e endpoint) openUDP(ctx context.Context) (*sockets, error) {
	var d net.Dialer
	ctl, err := d.DialContext(ctx, "udp", net.JoinHostPort(e.host, strconv.Itoa(e.port)))
	if err != nil {
		return nil, fmt.Errorf("reach the server's control port: %w", err)
	}
	data, err := net.ListenUDP("udp", &net.UDPAddr{IP: ctl.LocalAddr().(*net.UDPAddr).IP})
	if err != nil {
		_ = ctl.Close()
		return nil, fmt.Errorf("bind the data socket: %w", err)
	}
	return &sockets{endpoint: e, id: uint32(data.LocalAddr().(*net.UDPAddr).Port), control: ctl, unbound: data}, nil
}

// attach connects the data socket to the slot's socket, so that it accepts packets from no other.
func (s *sockets) attach(slot uint32) error {
	raw, err := s.unbound.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	peer, err := s.peer(slot)
	if err != nil {
		return err
	}
	var connectErr error
	if err := raw.Control(func(fd uintptr) { connectErr = syscall.Connect(int(fd), peer) }); err != nil {
		return err
	}
	if connectErr != nil {
		return fmt.Errorf("connect to the socket of slot %d: %w", slot, connectErr)
	}
	s.data = s.unbound.(net.Conn)
	return nil
}

// maxSlot bounds the slot number in a server's reply.
const maxSlot = 1 << 16

func (s *sockets) peer(slot uint32) (syscall.Sockaddr, error) {
	if slot >= maxSlot {
		return nil, fmt.Errorf("slot %d: want 0 to %d", slot, maxSlot-1)
	}
	if s.base != "" {
		return &syscall.SockaddrUnix{Name: s.unixAddr("out" + strconv.FormatUint(uint64(slot), 10)).Name}, nil
	}
	host := s.control.RemoteAddr().(*net.UDPAddr)
	port := host.Port + 1 + int(slot)
	if port > 65535 {
		return nil, fmt.Errorf("slot %d: its port %d is over 65535", slot, port)
	}
	if ip := host.IP.To4(); ip != nil {
		sa := &syscall.SockaddrInet4{Port: port}
		copy(sa.Addr[:], ip)
		return sa, nil
	}
	sa := &syscall.SockaddrInet6{Port: port}
	copy(sa.Addr[:], host.IP.To16())
	return sa, nil
}

func (s *sockets) close() error {
	return errors.Join(s.control.Close(), s.unbound.Close())
}

// dialError reports a failed attempt to attach to a fabric.
type dialError struct {
	to  endpoint
	err error
}

// Error omits the NUL at the end of socket names, which is not printable.
func (e *dialError) Error() string {
	what := strings.ReplaceAll(e.err.Error(), "\x00", "")
	if errors.Is(e.err, syscall.ECONNREFUSED) || errors.Is(e.err, syscall.ENOENT) {
		what = "no simulator listens there: " + what
	}
	return fmt.Sprintf("dial %s: %s", e.to, what)
}

// Unwrap returns the cause.
func (e *dialError) Unwrap() error { return e.err }
