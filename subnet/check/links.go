package check

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// sweep adds the sweep's notes as findings.
func (c *checker) sweep() {
	t := c.tally[GroupSweep]
	t.Of = len(c.f.Nodes)
	bad := make(map[ident.GUID]bool)
	for _, n := range c.x.Notes {
		code := n.Code
		if !Known(code) {
			code = CodeInvalid
		}
		if code == CodeMismatch && c.endsDiffer(ident.PortID{Node: n.Node, Port: n.Port}) {
			continue // the link's own finding covers it
		}
		p := places{n: 1, ports: []ident.PortID{{Node: n.Node, Port: n.Port}}}
		c.add(code, p, n.Said)
		bad[n.Node] = true
	}
	t.Bad = min(len(bad), t.Of)
}

// endsDiffer reports whether the ends of the port's link disagree on width or speed.
func (c *checker) endsDiffer(id ident.PortID) bool {
	ref, ok := c.f.PortByID(id)
	if !ok {
		return false
	}
	far, ok := c.f.Peer(ref)
	a, b := c.x.Details.Port(ref), c.x.Details.Port(far)
	return ok && known(a) && known(b) && (a.Width != b.Width || a.Speed != b.Speed)
}

// links checks every link, and the ports without one.
func (c *checker) links() {
	t := c.tally[GroupLinks]
	t.Of = len(c.f.Links)
	usual := c.usualRates()
	for i := range c.f.Links {
		before := len(c.out)
		l := &c.f.Links[i]
		a, b := c.x.Details.Port(l.A), c.x.Details.Port(l.B)
		c.linkState(l)
		if known(a) && known(b) {
			c.linkEnds(l, a, b)
		} else {
			if c.x.Details != nil {
				t.Unread++
			}
			c.linkUnlike(l, usual)
		}
		c.linkMTU(l, a, b)
		for _, f := range c.out[before:] {
			if f.Severity >= Warning {
				t.Bad++
				break
			}
		}
	}
	c.idlePorts()
}

func known(p *subnet.PortDetails) bool { return p != nil && p.Info == subnet.Answered }

func (c *checker) linkState(l *subnet.Link) {
	a, b := c.f.Port(l.A).State, c.f.Port(l.B).State
	switch {
	case a == 0 || b == 0:
	case a != b:
		c.add(CodeLinkHalfUp, c.atPorts(l.A, l.B), phrase.Of("check.state-differs", "port", c.f.PortName(l.A), "state", a, "peer", c.f.PortName(l.B), "peer_state", b))
	case a == subnet.PortDown:
		c.add(CodeLinkDown, c.atPorts(l.A, l.B), phrase.Of("check.down", "port", c.f.PortName(l.A), "peer", c.f.PortName(l.B)))
	case a != subnet.PortActive:
		c.add(CodeLinkInactive, c.atPorts(l.A, l.B), phrase.Of("check.stuck", "port", c.f.PortName(l.A), "peer", c.f.PortName(l.B), "state", a))
	}
}

// Values of the enabled fields that mean "all that is supported" (IBTA vol. 1, 14.2.5.6).
const (
	everyWidth = 0xff
	everyBase  = 0x0f
	everyExt   = 0x1f
)

func enabledWidths(p *subnet.PortDetails) uint8 {
	if p.WidthsEnabled == everyWidth {
		return p.WidthsSupported
	}
	return p.WidthsEnabled & p.WidthsSupported
}

func enabledSpeeds(p *subnet.PortDetails) subnet.SpeedSet {
	on := p.SpeedsEnabled
	if on&everyBase == everyBase {
		on |= p.SpeedsSupported & everyBase
	}
	if on>>4 == everyExt {
		on |= p.SpeedsSupported &^ everyBase
	}
	return on & p.SpeedsSupported
}

// linkEnds compares a link's width and speed with what both ends support and have enabled.
func (c *checker) linkEnds(l *subnet.Link, a, b *subnet.PortDetails) {
	near, far := c.f.PortName(l.A), c.f.PortName(l.B)
	if a.Width != b.Width || a.Speed != b.Speed {
		c.add(CodeLinkDiffers, c.atPorts(l.A, l.B), phrase.Of("check.speed-differs",
			"port", near, "speed", subnet.FormatWidthSpeed(a.Width, a.Speed), "peer", far, "peer_speed", subnet.FormatWidthSpeed(b.Width, b.Speed)))
		return
	}
	can := subnet.WidthFromCode(a.WidthsSupported & b.WidthsSupported)
	enabled := subnet.WidthFromCode(enabledWidths(a) & enabledWidths(b))
	switch {
	case a.Width == 0 || a.Width >= can:
	case enabled != 0 && enabled <= a.Width:
		c.linkLimited(l, a.Width, subnet.WidthFromCode(enabledWidths(a)) <= a.Width, enabled, can)
	default:
		c.add(CodeLinkNarrow, c.atPorts(l.A, l.B), phrase.Of("check.slow", "port", near, "peer", far, "speed", a.Width, "both", can))
	}
	fast, set := (a.SpeedsSupported & b.SpeedsSupported).Best(), (enabledSpeeds(a) & enabledSpeeds(b)).Best()
	switch {
	case a.Speed == subnet.SpeedUnknown || a.Speed >= fast:
	case set != subnet.SpeedUnknown && set <= a.Speed:
		c.linkLimited(l, a.Speed, enabledSpeeds(a).Best() <= a.Speed, set, fast)
	default:
		c.add(CodeLinkSlow, c.atPorts(l.A, l.B), phrase.Of("check.slow", "port", near, "peer", far, "speed", a.Speed, "both", fast))
	}
	if a.OperVLs != b.OperVLs && a.OperVLs != 0 && b.OperVLs != 0 {
		c.add(CodeVLsDiffer, c.atPorts(l.A, l.B), phrase.Of("check.vls-differ", "port", near, "vls", a.OperVLs, "peer", far, "peer_vls", b.OperVLs))
	}
}

// linkLimited reports a link that a setting of one end keeps below the width or speed that both ends support. first
// selects the end.
func (c *checker) linkLimited(l *subnet.Link, runs any, first bool, enabled, can any) {
	limiter := l.B
	if first {
		limiter = l.A
	}
	c.add(CodeLinkLimited, c.atPorts(l.A, l.B), phrase.Of("check.limited",
		"port", c.f.PortName(l.A), "peer", c.f.PortName(l.B), "speed", runs, "limiter", c.f.PortName(limiter), "enabled", enabled, "both", can))
}

func (c *checker) linkMTU(l *subnet.Link, a, b *subnet.PortDetails) {
	pa, pb := c.f.Port(l.A).MTU, c.f.Port(l.B).MTU
	switch {
	case pa == 0 || pb == 0:
	case pa != pb:
		c.add(CodeMTUDiffers, c.atPorts(l.A, l.B), phrase.Of("check.mtu-differs",
			"port", c.f.PortName(l.A), "mtu", pa, "peer", c.f.PortName(l.B), "peer_mtu", pb))
	case known(a) && known(b) && pa < min(a.MTUCap, b.MTUCap):
		c.add(CodeMTULow, c.atPorts(l.A, l.B), phrase.Of("check.mtu-small",
			"port", c.f.PortName(l.A), "peer", c.f.PortName(l.B), "mtu", pa, "both", min(a.MTUCap, b.MTUCap)))
	}
}

// level is a pair of tiers that links join.
type level struct{ low, high int }

func (c *checker) levelOf(l *subnet.Link) level {
	a, b := c.tiers[l.A.Node], c.tiers[l.B.Node]
	return level{min(a, b), max(a, b)}
}

// The usual rate of the links between two tiers is the rate of at least four of five links, with at least five links.
const (
	usualOf    = 5
	usualShare = 4
)

// usualRates finds the rate that nearly all links between two tiers have.
func (c *checker) usualRates() map[level]quantity.BitRate {
	rates := make(map[level][]quantity.BitRate)
	for i := range c.f.Links {
		l := &c.f.Links[i]
		rates[c.levelOf(l)] = append(rates[c.levelOf(l)], l.Rate)
	}
	usual := make(map[level]quantity.BitRate)
	for k, all := range rates {
		slices.Sort(all)
		mid := all[len(all)/2]
		first, _ := slices.BinarySearch(all, mid)
		last, _ := slices.BinarySearch(all, mid+1)
		if len(all) >= usualOf && (last-first)*usualOf >= len(all)*usualShare {
			usual[k] = mid
		}
	}
	return usual
}

// linkUnlike compares a link whose ends were not read with the usual rate of its tiers.
func (c *checker) linkUnlike(l *subnet.Link, usual map[level]quantity.BitRate) {
	if l.Rate == 0 {
		return
	}
	if want := usual[c.levelOf(l)]; l.Rate < want {
		c.add(CodeLinkUnlike, c.atPorts(l.A, l.B), phrase.Of("check.slow-for-tier",
			"port", c.f.PortName(l.A), "peer", c.f.PortName(l.B), "rate", l.Rate, "want", want))
	}
}

// Physical states (IBTA vol. 1, 14.2.5.6).
const (
	physDisabled = 3
	physTraining = 4
	physRecovery = 6
)

// idlePorts checks ports without a link.
func (c *checker) idlePorts() {
	if c.x.Details == nil {
		return
	}
	var off places
	for i := range c.f.Nodes {
		n := &c.f.Nodes[i]
		for p := 1; p < len(n.Ports); p++ {
			ref := subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}
			d := c.x.Details.Port(ref)
			if !known(d) || n.Ports[p].Link >= 0 {
				continue
			}
			switch d.Phys {
			case physTraining, physRecovery:
				c.add(CodePortTraining, c.atPorts(ref), phrase.Of("check.training", "port", c.f.PortName(ref)))
			case physDisabled:
				off.port(c.f, ref)
			}
		}
	}
	if off.n > 0 {
		c.add(CodePortsDisabled, off, phrase.Of("check.disabled", "ports", phrase.Ports.Of(off.n), "some", off.some()))
	}
}
