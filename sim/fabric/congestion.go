package fabric

import (
	"math"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// SwitchEvents is the capacity of a switch's congestion log, in marking events (CongestionLog, switch form).
const SwitchEvents = 15

// SwitchEvent is one marked packet in a switch's congestion log.
type SwitchEvent struct {
	SLID, DLID ident.LID
	SL         ident.SL
	At         quantity.Picoseconds
}

// SwitchLog is a switch's congestion log: the number of marked packets, the ports that marked, and the latest events, oldest
// first.
type SwitchLog struct {
	Events uint64
	Ports  ibcc.PortMask
	Last   []SwitchEvent
}

type switchLog struct {
	events uint64
	ports  ibcc.PortMask
	last   [SwitchEvents]SwitchEvent
}

// switchCC holds the marking settings of a switch.
type switchCC struct {
	whole ibcc.SwitchSettings
	ports []ibcc.PortMarking // by port number; nil until a port's marking is set
}

// marking is the effective marking of one output port.
type marking struct {
	minSize  uint16 // bytes; smaller packets are not eligible
	interval int32  // Marking_Rate, at least 1
	victims  bool
}

// SetSwitchCC sets the marking of a whole switch. The initial threshold 0 never marks. Credit starvation settings (Credit_Mask,
// CS_Threshold, CS_ReturnDelay) are stored and can be read back, but do not affect the traffic.
func (n *Network) SetSwitchCC(node int32, settings ibcc.SwitchSettings) {
	if s := n.switchOf(node); s != nil {
		s.settings.whole = n.heldDefaults(node, settings)
		n.armSwitch(s)
	}
}

// SwitchCC returns the settings that SetSwitchCC set.
func (n *Network) SwitchCC(node int32) ibcc.SwitchSettings {
	if s := n.switchOf(node); s != nil {
		return s.settings.whole
	}
	return ibcc.SwitchSettings{}
}

// SetPortMarking sets the marking of one switch port, which overrides the switch's marking while it is Valid. A port in credit
// starvation mode does not mark.
func (n *Network) SetPortMarking(node int32, num ident.PortNum, m ibcc.PortMarking) {
	s := n.switchOf(node)
	if s == nil || int(num) >= s.ports || !n.profiles[node].Switch.PortMarking {
		return
	}
	if s.settings.ports == nil {
		s.settings.ports = make([]ibcc.PortMarking, s.ports)
	}
	s.settings.ports[num] = n.heldMarking(node, m)
	n.armPort(s, n.port(node, num))
}

// PortMarking returns the settings that SetPortMarking set.
func (n *Network) PortMarking(node int32, num ident.PortNum) ibcc.PortMarking {
	if s := n.switchOf(node); s != nil && int(num) < len(s.settings.ports) {
		return s.settings.ports[num]
	}
	return ibcc.PortMarking{}
}

func (n *Network) armSwitch(s *swtch) {
	for i := range int32(s.ports) {
		n.armPort(s, &n.ports[n.first[s.node]+i])
	}
}

// armPort prepares a port's marking from the current settings.
func (n *Network) armPort(s *swtch, p *port) {
	w := s.settings.whole
	m := ibcc.PortMarking{Threshold: w.Threshold, PacketSize: w.PacketSize, MarkingRate: w.MarkingRate}
	if int(p.num) < len(s.settings.ports) && s.settings.ports[p.num].Valid {
		m = s.settings.ports[p.num]
	}
	if m.CreditStarvation {
		m.Threshold = 0
	}
	p.marking = marking{
		minSize:  uint16(m.PacketSize) * CreditBlock,
		interval: max(1, int32(m.MarkingRate)),
		victims:  w.VictimMask.Has(p.num),
	}
	p.threshold = m.Threshold
	n.armUse(p)
	for vl := range p.lanes {
		n.armLane(p, &p.lanes[vl])
	}
}

// armUse creates a utilization meter for a port under MarkByUse, and removes it from other ports. A new meter starts at zero
// utilization.
func (n *Network) armUse(p *port) {
	now := n.eng.Now()
	switch {
	case n.cfg.MarkBy == MarkByUse && p.threshold > 0:
		if p.use == nil {
			p.use = &useMeter{window: n.cfg.UseWindow, last: max(now, p.busyUntil), counted: now}
		}
		p.use.allow(p.threshold, now)
	case p.use != nil:
		for vl := range p.lanes {
			p.lanes[vl].congested += p.use.aboveAt(now)
		}
		p.use = nil
	}
}

// congested reports whether the lane of an output is above its threshold for a packet seen now.
func (n *Network) congested(p *port, l *lane) bool {
	return l.held > l.markAbove || p.use != nil && p.use.over(n.eng.Now())
}

// armLane sets the port's threshold and a first marking interval on a lane.
func (n *Network) armLane(p *port, l *lane) {
	l.markAbove = math.MaxInt32
	if b := n.thresholdBytes(p); b >= 0 && n.cfg.MarkBy == MarkByQueue {
		l.markAbove = int32(b)
	}
	l.countdown = n.markInterval(p)
	now := n.eng.Now()
	if over := l.held > l.markAbove; over && l.congSince < 0 {
		l.congSince = now
	} else if !over && l.congSince >= 0 {
		l.congested += now - l.congSince
		l.congSince = -1
	}
}

// markInterval draws the number of eligible packets until the next mark.
func (n *Network) markInterval(p *port) int32 {
	i := p.marking.interval
	if i <= 1 || n.cfg.Marking == MarkEveryNth {
		return max(1, i)
	}
	return 1 + int32(n.rng.Uint64n(uint64(2*i-1)))
}

// mark counts a packet seen above the threshold, and sets FECN at the end of the marking interval.
func (n *Network) mark(p *port, l *lane, pk int32) {
	k := &n.pool.all[pk]
	if k.flags&flagAck != 0 || k.size < p.marking.minSize || (l.stalled || l.waited) && !p.marking.victims {
		return
	}
	if l.countdown--; l.countdown > 0 {
		return
	}
	l.countdown = n.markInterval(p)
	k.flags |= flagFECN
	n.marks++
	p.tally.marks++
	g := &n.switches[p.sw].log
	g.last[g.events%SwitchEvents] = SwitchEvent{k.slid, k.dlid, k.sl, n.eng.Now()}
	g.events++
	g.ports.Set(p.num)
}

// SwitchLog returns a copy of a switch's congestion log.
func (n *Network) SwitchLog(node int32) SwitchLog {
	s := n.switchOf(node)
	if s == nil {
		return SwitchLog{}
	}
	g := &s.log
	return SwitchLog{g.events, g.ports, lastOf(g.last[:], g.events)}
}

// lastOf returns the entries of a circular log, oldest first; count is the number of entries ever written.
func lastOf[T any](ring []T, count uint64) []T {
	size := uint64(len(ring))
	k := min(count, size)
	out := make([]T, 0, k)
	for i := count - k; i < count; i++ {
		out = append(out, ring[i%size])
	}
	return out
}
