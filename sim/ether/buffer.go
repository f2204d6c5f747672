package ether

import (
	"fairlane/internal/quantity"
)

// swtch is one switch with its shared packet buffer.
type swtch struct {
	node      int32
	edge      int32 // DCI switch, or none
	domain    uint8
	salt      uint32 // salt of the path hash
	shared    int64  // size of the shared part
	used      int64  // used part of shared
	reserve   int64
	resume    int64
	static    int64 // fixed threshold, or 0
	egressNum int64 // alpha of lossy queues, in 1024ths
}

// bound returns the number of bytes that a lossy queue may hold at the current use of the buffer.
func (s *swtch) bound() int64 { return (s.shared - s.used) * s.egressNum >> 10 }

// ingress accounts for the bytes of one (ingress port, class) of a switch.
type ingress struct {
	used     int64 // bytes in reserve and shared memory
	headroom int64 // bytes in headroom
	room     int64 // size of the headroom
	alphaNum int64 // alpha of the dynamic threshold, in 1024ths
	paused   bool  // the far end is paused
	// PFC pause frames sent by this port, and received by it.
	pausesSent, pausesReceived uint64
	drops                      uint64 // packets received here and dropped for lack of buffer
}

// threshold returns the bytes of shared buffer that one ingress account may hold now.
func (s *swtch) threshold(in *ingress) int64 {
	if s.static != 0 {
		return s.static
	}
	return (s.shared - s.used) * in.alphaNum >> 10
}

// take accounts for received bytes of a lossless class. It returns false when the headroom is full too, which cannot happen
// with a headroom of the correct size.
func (s *swtch) take(in *ingress, bytes int64) bool {
	if in.used+bytes <= s.reserve {
		in.used += bytes
		return true
	}
	share := min(bytes, in.used+bytes-s.reserve)
	switch {
	case in.used+bytes-s.reserve <= s.threshold(in) && s.used+share <= s.shared:
		s.used += share
		in.used += bytes
	case in.headroom+bytes <= in.room:
		in.headroom += bytes
	default:
		return false
	}
	return true
}

// give frees the bytes of a departing packet: headroom first, then shared buffer, then reserve.
func (s *swtch) give(in *ingress, bytes int64) {
	fromHeadroom := min(in.headroom, bytes)
	in.headroom -= fromHeadroom
	rest := bytes - fromHeadroom
	fromShared := min(rest, max(0, in.used-s.reserve))
	in.used -= rest
	s.used -= fromShared
}

// over reports whether the far end must pause.
func (s *swtch) over(in *ingress) bool {
	return in.headroom > 0 || in.used > s.reserve && in.used-s.reserve >= s.threshold(in)
}

// clear reports whether a paused far end may resume.
func (s *swtch) clear(in *ingress) bool {
	if in.headroom > 0 {
		return false
	}
	over := in.used - s.reserve
	return over <= 0 || over+s.resume <= s.threshold(in)
}

// flowControl applies a received PFC frame. A pause lasts until the resume frame.
func (n *Network) flowControl(pi int32, p *port, pk int32) {
	k := n.pool.at(pk)
	kind, cls := k.kind, k.cls
	n.pool.put(pk)
	bit := uint8(1) << cls
	if p.pfc&bit == 0 {
		return
	}
	if kind == kindPause {
		n.ingress[int(pi)*n.classes+int(cls)].pausesReceived++
		if p.paused&bit == 0 {
			p.paused |= bit
			p.stopped[cls] = n.eng.Now()
			n.paused(pi, cls, true)
		}
		return
	}
	if p.release(cls, n.eng.Now()) {
		n.paused(pi, cls, false)
		n.kick(pi, p)
	}
}

// paused reports the start or the end of a pause to Config.OnPause.
func (n *Network) paused(pi int32, cls uint8, begin bool) {
	if n.cfg.OnPause != nil {
		n.cfg.OnPause(Pause{n.eng.Now(), n.ref(pi), cls, begin})
	}
}

// sendPFC sends a PFC frame from a port.
func (n *Network) sendPFC(pi int32, cls, kind uint8) {
	pk := n.pool.get()
	*n.pool.at(pk) = packet{kind: kind, cls: cls, wire: uint16(n.cfg.Headers.Pause), flow: none, tel: none, in: none}
	p := &n.ports[pi]
	if kind == kindPause {
		p.stats.Pauses++
		n.ingress[int(pi)*n.classes+int(cls)].pausesSent++
	}
	p.frames++
	p.control.push(&n.pool, pk)
	n.kick(pi, p)
}

// pausedFor returns the total paused time of a port, summed over its classes.
func (p *port) pausedFor(now quantity.Picoseconds) (t quantity.Picoseconds) {
	for c := range p.held {
		t += p.classPausedFor(c, now)
	}
	return t
}

// classPausedFor returns the paused time of one class. The time of a disconnected link does not count.
func (p *port) classPausedFor(cls int, now quantity.Picoseconds) quantity.Picoseconds {
	if p.down || p.paused>>cls&1 == 0 {
		return p.held[cls]
	}
	return p.held[cls] + now - p.stopped[cls]
}
