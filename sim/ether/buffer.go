package ether

import (
	"fairlane/internal/quantity"
)

// swtch is one switch: its shared packet memory.
type swtch struct {
	node      int32
	edge      int32 // DCI switch, or none
	domain    uint8
	salt      uint32 // of the path hash
	shared    int64  // size of the shared part
	used      int64  // of it
	reserve   int64
	resume    int64
	static    int64 // fixed threshold, or 0
	egressNum int64 // alpha of lossy queues, in 1024ths
}

// bound is the most that a lossy queue may hold now.
func (s *swtch) bound() int64 { return (s.shared - s.used) * s.egressNum >> 10 }

// ingress is the account of one (ingress port, class) of a switch.
type ingress struct {
	used     int64 // bytes in reserve and shared memory
	headroom int64 // bytes in headroom
	room     int64 // size of the headroom
	alphaNum int64 // in 1024ths
	paused   bool  // the far end was told to stop
	// PFC frames that asked for a pause: sent by this port, and received.
	asked, obeyed uint64
	drops         uint64 // packets that found no room after arriving here
}

// threshold is what one ingress account may hold of the shared memory now.
func (s *swtch) threshold(in *ingress) int64 {
	if s.static != 0 {
		return s.static
	}
	return (s.shared - s.used) * in.alphaNum >> 10
}

// take accounts for bytes that arrive in a lossless class. It returns false when not even the
// headroom has room, which a headroom of the right size makes impossible.
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

// give returns the bytes of a packet that leaves: headroom first, then shared, then reserve.
func (s *swtch) give(in *ingress, bytes int64) {
	fromHeadroom := min(in.headroom, bytes)
	in.headroom -= fromHeadroom
	rest := bytes - fromHeadroom
	fromShared := min(rest, max(0, in.used-s.reserve))
	in.used -= rest
	s.used -= fromShared
}

// over reports whether the far end must stop.
func (s *swtch) over(in *ingress) bool {
	return in.headroom > 0 || in.used > s.reserve && in.used-s.reserve >= s.threshold(in)
}

// clear reports whether a paused far end may go on.
func (s *swtch) clear(in *ingress) bool {
	if in.headroom > 0 {
		return false
	}
	over := in.used - s.reserve
	return over <= 0 || over+s.resume <= s.threshold(in)
}

// flowControl obeys a PFC frame: pause is a state that lasts until the resume.
func (n *Network) flowControl(pi int32, p *port, pk int32) {
	k := n.pool.at(pk)
	kind, cls := k.kind, k.cls
	n.pool.put(pk)
	bit := uint8(1) << cls
	if p.pfc&bit == 0 {
		return
	}
	if kind == kindPause {
		n.ingress[int(pi)*n.classes+int(cls)].obeyed++
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

// paused reports the begin or the end of a pause.
func (n *Network) paused(pi int32, cls uint8, begin bool) {
	if n.cfg.OnPause != nil {
		n.cfg.OnPause(Pause{n.eng.Now(), n.ref(pi), cls, begin})
	}
}

// tell sends a PFC frame out of a port.
func (n *Network) tell(pi int32, cls, kind uint8) {
	pk := n.pool.get()
	*n.pool.at(pk) = packet{kind: kind, cls: cls, wire: uint16(n.cfg.Headers.Pause), flow: none, tel: none, in: none}
	p := &n.ports[pi]
	if kind == kindPause {
		p.stats.Pauses++
		n.ingress[int(pi)*n.classes+int(cls)].asked++
	}
	p.frames++
	p.control.push(&n.pool, pk)
	n.kick(pi, p)
}

// pausedFor returns how long classes of a port have been paused until now, all together.
func (p *port) pausedFor(now quantity.Picoseconds) (t quantity.Picoseconds) {
	for c := range p.held {
		t += p.classPausedFor(c, now)
	}
	return t
}

// classPausedFor is pausedFor of one class. A link that is cut pauses nothing.
func (p *port) classPausedFor(cls int, now quantity.Picoseconds) quantity.Picoseconds {
	if p.down || p.paused>>cls&1 == 0 {
		return p.held[cls]
	}
	return p.held[cls] + now - p.stopped[cls]
}
