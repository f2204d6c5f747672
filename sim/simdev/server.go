package simdev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fairlane/subnet"
	"fairlane/subnet/mad"
)

// maxClients limits the slots, and with them sockets, goroutines and buffers (about 10 kB per client).
const maxClients = 1024

// reapInterval is the time between searches for clients that ended without disconnecting.
const reapInterval = 2 * time.Second

// idleLimit is the minimum idle time of a client before a new client may take its slot.
const idleLimit = time.Minute

// Server attaches clients of the ibsim protocol to the ports of a simulated fabric, each through a slot with its own data
// socket. Create it with Listen, run it with Serve.
type Server struct {
	dev  *Devices
	at   endpoint
	ctl  net.PacketConn
	late *delayLine

	asked unanswered

	mu      sync.Mutex
	slots   [maxClients]*client
	subnets map[subnet.PortRef]*client // subnet managers, by port
	workers sync.WaitGroup
	closed  bool

	stats serverCounters
}

// ServerStats are the counters of a Server.
type ServerStats struct {
	Datagrams  uint64 // well-formed management datagrams received
	Malformed  uint64 // malformed datagrams and control messages
	Dropped    uint64 // unsent answers: full queue, ended client, or too many delayed
	Unroutable uint64 // datagrams returned as undeliverable
	Refused    uint64 // rejected connects: no slot, unknown node, or a second subnet manager
	Clients    int    // currently attached clients
}

type serverCounters struct {
	datagrams, malformed, dropped, unroutable, refused atomic.Uint64
}

// client is one attached slot. Its fields do not change while it is attached.
type client struct {
	slot int
	id   uint32
	ctl  string // address of its control socket
	node string // node name in the connect reply
	port subnet.PortRef
	in   *batch
	out  *sender
	isSM atomic.Bool
	used atomic.Int64 // wall clock of the last datagram, nanoseconds
}

// Listen opens a server for the devices at addr: "unix:NAME" for abstract unix sockets with that base name, "udp:PORT" (on
// 127.0.0.1) or "udp:HOST:PORT" for UDP. The protocol has no authentication: anyone who reaches the sockets can manage the
// fabric. The server answers after Serve is called.
func Listen(d *Devices, addr string) (*Server, error) {
	e, err := parseAddress(addr)
	if err != nil {
		return nil, err
	}
	ctl, at, err := e.listen()
	if err != nil {
		return nil, err
	}
	return &Server{dev: d, at: at, ctl: ctl, subnets: map[subnet.PortRef]*client{}}, nil
}

// Addr returns the address for clients, in the form that Listen accepts, with the actual UDP port.
func (s *Server) Addr() string { return s.at.String() }

// Stats returns the counts so far.
func (s *Server) Stats() ServerStats {
	st := ServerStats{
		Datagrams: s.stats.datagrams.Load(), Malformed: s.stats.malformed.Load(),
		Dropped: s.stats.dropped.Load(), Unroutable: s.stats.unroutable.Load(),
		Refused: s.stats.refused.Load(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.slots {
		if c != nil {
			st.Clients++
		}
	}
	return st
}

// Close closes the sockets of a server, which ends a running Serve. Serve closes them itself when its context ends; a second
// Close is harmless.
func (s *Server) Close() error {
	s.closeAll()
	if err := s.ctl.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close %s: %w", s.at, err)
	}
	return nil
}

// Serve answers clients until ctx ends or Close is called, then closes all sockets, waits for its goroutines and
// returns nil. It returns an error when the control socket fails. Call it once.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.late = newDelayLine()
	traps := s.dev.subscribe()
	defer s.dev.unsubscribe(traps)

	s.workers.Go(func() { s.late.run(ctx) })
	s.workers.Go(func() { s.sendTraps(ctx, traps) })
	s.workers.Go(func() { s.reap(ctx) })
	stop := context.AfterFunc(ctx, func() { _ = s.ctl.Close() })
	defer stop()

	err := s.serveControl(ctx)
	cancel()
	_ = s.ctl.Close()
	s.closeAll()
	s.workers.Wait()
	return err
}

func (s *Server) serveControl(ctx context.Context) error {
	buf := make([]byte, controlSize+1)
	for {
		n, from, err := s.ctl.ReadFrom(buf)
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil //nolint:nilerr // Serve ends when the socket is closed
		case errors.Is(err, syscall.ECONNREFUSED):
			continue // a UDP client ended before its reply arrived
		case err != nil:
			return fmt.Errorf("read control socket %s: %w", s.at, err)
		}
		var req control
		if err := decodeControl(buf[:n], &req); err != nil || from == nil {
			s.stats.malformed.Add(1)
			continue
		}
		at := replyAddr(from)
		reply := s.answerControl(at, &req)
		out := reply.encode()
		_ = s.ctl.SetWriteDeadline(time.Now().Add(sendTimeout))
		if _, err := s.ctl.WriteTo(out[:], at); err != nil {
			s.stats.dropped.Add(1)
		}
	}
}

// attach assigns a slot to the client and starts serving it.
func (s *Server) attach(from net.Addr, info clientInfo, port subnet.PortRef, node string) (*client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("server is closing")
	}
	for _, c := range s.slots {
		if c != nil && c.ctl == from.String() {
			s.release(c) // the client lost the reply to its connect request, or did not disconnect
		}
	}
	if info.isSM {
		s.vacate(port, nil)
	}
	if info.isSM && s.subnets[port] != nil {
		return nil, errors.New("another subnet manager is attached to the port")
	}
	s.makeRoom(time.Now())
	for slot := range s.slots {
		if s.slots[slot] != nil {
			continue
		}
		conn, err := s.at.slotSocket(slot, from, info.id)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c, err := newClient(slot, conn)
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		c.id, c.ctl, c.node, c.port = info.id, from.String(), node, port
		s.slots[slot] = c
		if info.isSM {
			s.promote(c, true)
		}
		s.workers.Go(func() { s.serveClient(c) })
		return c, nil
	}
	return nil, fmt.Errorf("no free slot: %d clients are attached", maxClients)
}

// makeRoom frees the slot of the client that has been idle longest, if all slots are used and it has been idle for idleLimit.
// This happens only with UDP, because reap detects unix clients that have ended. The caller holds s.mu.
func (s *Server) makeRoom(now time.Time) {
	var oldest *client
	for _, c := range s.slots {
		if c == nil {
			return
		}
		if oldest == nil || c.used.Load() < oldest.used.Load() {
			oldest = c
		}
	}
	if now.Sub(time.Unix(0, oldest.used.Load())) > idleLimit {
		s.release(oldest)
	}
}

func newClient(slot int, conn rawConn) (*client, error) {
	in, err := newBatch(conn)
	if err != nil {
		return nil, err
	}
	c := &client{slot: slot, in: in, out: newSender(conn, in.raw)}
	c.used.Store(time.Now().UnixNano())
	return c, nil
}

// promote makes the client the subnet manager of its port, or ends that role. The caller holds s.mu and has checked that no
// other client has that role.
func (s *Server) promote(c *client, on bool) {
	if on == c.isSM.Load() {
		return
	}
	c.isSM.Store(on)
	if on {
		s.subnets[c.port] = c
	} else {
		delete(s.subnets, c.port)
	}
	s.dev.SetSM(c.port, on)
}

// release frees the client's slot. The caller holds s.mu.
func (s *Server) release(c *client) {
	if s.slots[c.slot] != c {
		return
	}
	s.promote(c, false)
	s.slots[c.slot] = nil
	_ = c.in.conn.Close()
}

func (s *Server) detach(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(c)
}

func (s *Server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, c := range s.slots {
		if c != nil {
			s.release(c)
		}
	}
}

// serveClient processes the slot's datagrams until its socket closes.
func (s *Server) serveClient(c *client) {
	defer s.detach(c)
	w := &work{}
	for {
		if err := c.in.read(); err != nil {
			return // closed by us, or ECONNREFUSED: the client has closed its UDP socket
		}
		c.used.Store(time.Now().UnixNano())
		s.handleBatch(c, w)
		s.flush(c, w)
	}
}

// work holds the buffers of one batch.
type work struct {
	msg     Message
	verdict [batchSize]Verdict
	skip    [batchSize]bool
}

// handleBatch processes the waiting datagrams with one hold of the lock, and leaves the answers in their buffers.
func (s *Server) handleBatch(c *client, w *work) {
	s.dev.mu.Lock()
	defer s.dev.mu.Unlock()
	for i := range c.in.n {
		b := c.in.buf[i][:min(c.in.size[i], datagramSize+1)]
		w.skip[i] = true
		if err := decodeDatagram(b, &w.msg); err != nil {
			s.stats.malformed.Add(1)
			continue
		}
		s.stats.datagrams.Add(1)
		if !w.msg.MAD.IsResponse() {
			setTIDSlot(&w.msg.MAD, uint16(c.slot))
		}
		v := s.dev.handle(c.port, &w.msg, false)
		if v.Outcome == Dropped {
			continue
		}
		status := uint32(0)
		if v.Outcome == Undeliverable {
			status = statusTimedOut
			s.stats.unroutable.Add(1)
		}
		w.skip[i], w.verdict[i] = false, v
		encodeDatagram(b, &w.msg, status)
	}
}

// flush sends the answers of a batch.
func (s *Server) flush(c *client, w *work) {
	for i := range c.in.n {
		if w.skip[i] {
			continue
		}
		b := c.in.buf[i][:datagramSize]
		switch v := w.verdict[i]; {
		case v.Outcome == Forwarded:
			s.forward(c, v, b)
		case v.Delay > 0:
			if !s.late.add(time.Now().Add(v.Delay), c, b) {
				s.stats.dropped.Add(1)
			}
		default:
			s.deliver(c, b)
		}
	}
}

// deliver sends a datagram, frees the slot of a client that has ended, and reports whether it was sent.
func (s *Server) deliver(c *client, b []byte) bool {
	err := c.out.send(b)
	if err == nil {
		return true
	}
	s.stats.dropped.Add(1)
	if errors.Is(err, syscall.ECONNREFUSED) {
		s.detach(c)
	}
	return false
}

// forwardTo returns the client for a forwarded datagram: for a response, the slot in its transaction ID if that client is on
// the destination port; for a request, the subnet manager there. Congestion control is never forwarded; Devices answers it.
func (s *Server) forwardTo(port subnet.PortRef, b []byte) *client {
	p := (*mad.Packet)(b[envelopeSize:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.IsResponse() {
		return s.subnets[port]
	}
	slot := tidSlot(p)
	if int(slot) >= len(s.slots) {
		return nil
	}
	if c := s.slots[slot]; c != nil && c.port == port {
		return c
	}
	return nil
}

// sendTraps delivers the traps of the devices to their subnet managers.
func (s *Server) sendTraps(ctx context.Context, traps <-chan trap) {
	b := make([]byte, datagramSize)
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-traps:
			s.mu.Lock()
			c := s.subnets[t.to]
			s.mu.Unlock()
			if c != nil {
				encodeDatagram(b, &t.msg, 0)
				s.deliver(c, b)
			}
		}
	}
}

// reap frees the slots of clients that ended without disconnecting. A client's unix control socket can be probed without side
// effects: connecting another socket to it fails with ECONNREFUSED after its process has ended. UDP has no such probe; there,
// an ended client is detected by the next datagram sent to it, or by makeRoom. reap also returns requests that a subnet
// manager has not answered.
func (s *Server) reap(ctx context.Context) {
	tick := time.NewTicker(reapInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			s.reapOnce()
			s.returnUnanswered(now.Add(-answerPatience))
		}
	}
}

func (s *Server) reapOnce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.slots {
		if c != nil && s.dead(c) {
			s.release(c)
		}
	}
}

// vacate frees the slot of the port's subnet manager if it has ended without disconnecting. A new subnet manager requests the
// role only once, and would run without it after a rejection. On a real host, the kernel closes the file of a killed process
// before another process can open it. The caller holds s.mu.
func (s *Server) vacate(port subnet.PortRef, but *client) {
	if c := s.subnets[port]; c != nil && c != but && s.dead(c) {
		s.release(c)
	}
}

// dead reports whether a client is known to have ended.
func (s *Server) dead(c *client) bool {
	return s.at.base != "" && gone(fmt.Sprintf("%s:in%d", s.at.base, c.id))
}

// gone reports whether the abstract socket no longer has a process.
func gone(name string) bool {
	c, err := net.DialUnix("unixgram", nil, abstract(name))
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = c.Close()
	return false
}
