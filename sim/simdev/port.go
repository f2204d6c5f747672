package simdev

import (
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Sizes of the tables that devices report.
const (
	pkeysPerBlock      = len(mad.PKeyTable{})
	pkeysPerEndPort    = 4 * pkeysPerBlock
	pkeysPerSwitchPort = pkeysPerBlock
	vlArbCapacity      = 64
	guidCapacity       = len(mad.GUIDInfo{})
)

// Defaults for ports without these values in the topology.
const (
	defaultMTUCode = 5 // 4096 bytes
	defaultVLCode  = 4 // VL0-7
)

// port is the management state of one port. The network holds all state that affects packets.
type port struct {
	key       mkeyState
	gidPrefix uint64
	smLID     ident.LID
	smSL      ident.SL

	state    uint8 // logical state while the link is up
	disabled bool
	apart    bool         // the link is down because its ends have no common enabled width or speed
	downed   uint64       // number of times the link went down
	width    subnet.Width // width of the link, after training
	speed    subnet.Speed

	mtu, highLimit, opVLs          uint8 // wire codes
	stall, hoq                     uint8
	subnetTimeout                  uint8
	widthOn, speedOn, extOn        uint8 // masks of enabled widths and speeds
	downDefault                    uint8
	enforceIn, enforceOut          bool
	filterRawIn, filterRawOut      bool
	mcastSuppress, overrun, phyErr uint8

	pkeys []ident.PKey
	guids mad.GUIDInfo

	cc    ccKeyState // state of the CC_Key; only on end ports
	class map[mad.Class]*mad.ClassAddress
	base  *counterBase
}

// mkeyState protects the subnet management agent (IBTA vol. 1, 14.2.4).
type mkeyState struct {
	key        mad.Key
	protect    uint8
	lease      uint16 // seconds
	violations uint16
	expires    quantity.Picoseconds // end of the running lease; 0 means no lease
}

// initPort sets a port to its state after power-on.
func (d *Devices) initPort(ref subnet.PortRef) {
	topo := &d.topo.Nodes[ref.Node].Ports[ref.Port]
	old := d.port(ref)
	p := port{
		gidPrefix: mad.DefaultGIDPrefix,
		state:     mad.StateInit, downed: old.downed,
		mtu: d.mtuCap(ref), opVLs: 1,
		hoq: 16, subnetTimeout: 18, downDefault: mad.PhysPolling,
		overrun: 8, phyErr: 8,
	}
	if p.width, p.speed = old.width, old.speed; p.width == 0 {
		p.width, p.speed = d.cable(ref)
	}
	p.widthOn, p.speedOn, p.extOn = d.linkSupport(ref)
	if vls := d.net.OperationalVLs(ref.Node, ref.Port); ref.Port > 0 {
		p.opVLs = max(mad.VLCode(uint8(vls)), 1)
	}
	if d.endPort(ref) {
		p.key.key = d.opts.MKey
		p.cc.key = d.opts.CCKey
		p.pkeys = make([]ident.PKey, pkeysPerEndPort)
		p.pkeys[0] = ident.DefaultPKey
		p.guids[0] = d.portGUID(ref)
	}
	if topo.Link < 0 {
		p.state = mad.StateDown
	}
	if d.endPort(ref) && ref.Port == 0 {
		p.state = mad.StateActive
	}
	*old = p
}

func (d *Devices) mtuCap(ref subnet.PortRef) uint8 {
	if code := mad.MTUCode(d.topo.Nodes[ref.Node].Ports[ref.Port].MTU); code != 0 {
		return code
	}
	return defaultMTUCode
}

func (d *Devices) vlCap(ref subnet.PortRef) uint8 {
	if ref.Port == 0 {
		return 1
	}
	if code := mad.VLCode(d.topo.Nodes[ref.Node].Ports[ref.Port].VLCap); code != 0 {
		return code
	}
	return defaultVLCode
}

// portGUID returns the GUID of an end port. A port without a GUID in the topology gets the node's GUID plus its port number.
func (d *Devices) portGUID(ref subnet.PortRef) ident.GUID {
	n := &d.topo.Nodes[ref.Node]
	if g := n.Ports[ref.Port].GUID; g != 0 {
		return g
	}
	return n.GUID + ident.GUID(ref.Port)
}

// defaultLink returns the width and speed for a port without a link, or with an unknown one.
func defaultLink() (subnet.Width, subnet.Speed) { return 4, subnet.EDR }

// cable returns the largest width and speed of a port's link.
func (d *Devices) cable(ref subnet.PortRef) (subnet.Width, subnet.Speed) {
	w, s := defaultLink()
	if l, _ := d.topo.Link(ref); l != nil {
		if l.Width != 0 {
			w = l.Width
		}
		if l.Speed != 0 {
			s = l.Speed
		}
	}
	return w, s
}

// linkSupport returns the masks of the port's supported widths and speeds: all up to those of its link.
func (d *Devices) linkSupport(ref subnet.PortRef) (width, speed, ext uint8) {
	w, s := d.cable(ref)
	width = subnet.Width(1).Code() | w.Code()
	base, e := s.Codes()
	speed = base<<1 - 1
	if e > maxExtCode {
		e = maxExtCode
	}
	if e != 0 {
		ext = e<<1 - 1
	}
	return width, speed & 7, ext & 15
}

// maxExtCode is the code of the fastest speed in the four-bit extended speed field, NDR; XDR links report this code, too.
const maxExtCode = 8

// linkActive returns the codes of the active width and speed; they are zero while the link is down.
func (d *Devices) linkActive(ref subnet.PortRef) (width, speed, ext uint8) {
	if ref.Port == 0 {
		w, s := defaultLink()
		speed, ext = s.Codes()
		return w.Code(), speed, ext
	}
	if !d.net.LinkUp(ref.Node, ref.Port) {
		return 0, 0, 0
	}
	p := d.port(ref)
	speed, ext = p.speed.Codes()
	return p.width.Code(), speed, min(ext, maxExtCode)
}

// stateOf returns the logical and physical state that the port reports.
func (d *Devices) stateOf(ref subnet.PortRef) (logical, physical uint8) {
	p := d.port(ref)
	switch {
	case ref.Port == 0:
		return mad.StateActive, mad.PhysLinkUp
	case d.net.LinkUp(ref.Node, ref.Port):
		return p.state, mad.PhysLinkUp
	case p.disabled:
		return mad.StateDown, mad.PhysDisabled
	default:
		return mad.StateDown, mad.PhysPolling
	}
}

// setState changes the logical state of a port, also in the data path.
func (d *Devices) setState(ref subnet.PortRef, state uint8) {
	d.port(ref).state = state
	d.net.SetPortActive(ref.Node, ref.Port, state == mad.StateActive)
}

// SetLink connects or disconnects the cable of a port, at both ends: the ports go down, or come up in INIT, switches latch
// PortStateChange, and each switch at an end sends trap 128 to its subnet manager. In a Configured fabric without a subnet
// manager, a link that comes up becomes active. A port without a link is ignored.
func (d *Devices) SetLink(ref subnet.PortRef, up bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setLink(ref, up)
	d.change()
}

func (d *Devices) setLink(ref subnet.PortRef, up bool) {
	peer, ok := d.topo.Peer(ref)
	if !ok || d.net.LinkUp(ref.Node, ref.Port) == up || up && !d.train(ref, peer) {
		return
	}
	d.net.SetLinkUp(ref.Node, ref.Port, up)
	state := mad.StateInit
	if up && d.replacesSM() {
		state = mad.StateActive
	}
	for _, end := range [2]subnet.PortRef{ref, peer} {
		p := d.port(end)
		d.setState(end, state)
		if !up {
			p.downed++
		}
		if sw := d.nodes[end.Node].sw; sw != nil {
			sw.change = true
			d.trapLinkChange(end.Node)
		}
	}
}

// replacesSM reports whether a Configured fabric has no subnet manager attached, so that Devices replaces it.
func (d *Devices) replacesSM() bool { return d.opts.SMMode == Configured && len(d.sms) == 0 }

// train sets a link to the largest width and the fastest speed enabled at both ends, and to the corresponding rate. If there
// is no common width or speed, it returns false and the link stays down.
func (d *Devices) train(ref, peer subnet.PortRef) bool {
	a, b := d.port(ref), d.port(peer)
	width := subnet.WidthFromCode(a.widthOn & b.widthOn)
	speed := subnet.SpeedFromCodes(a.speedOn&b.speedOn, a.extOn&b.extOn)
	a.apart = width == 0 || speed == subnet.SpeedUnknown
	b.apart = a.apart
	if a.apart {
		return false
	}
	most, fastest := d.cable(ref)
	base, ext := fastest.Codes()
	if gotBase, gotExt := speed.Codes(); gotBase == base && gotExt == min(ext, maxExtCode) {
		speed = fastest // FDR10 and XDR have no separate codes
	}
	if width == a.width && speed == a.speed {
		return true
	}
	a.width, a.speed, b.width, b.speed = width, speed, width, speed
	if l, _ := d.topo.Link(ref); l != nil {
		share := float64(subnet.LinkRate(width, speed)) / float64(subnet.LinkRate(most, fastest))
		d.net.SetLinkRate(ref.Node, ref.Port, quantity.BitRate(float64(l.Rate)*share))
	}
	return true
}

// retrain returns both ends of a link to INIT, as after LinkDown and training; switches latch PortStateChange.
func (d *Devices) retrain(ref subnet.PortRef) {
	ends := []subnet.PortRef{ref}
	if peer, ok := d.topo.Peer(ref); ok {
		ends = append(ends, peer)
		if d.net.LinkUp(ref.Node, ref.Port) && !d.train(ref, peer) {
			d.setLink(ref, false)
			return
		}
	}
	for _, end := range ends {
		d.setState(end, mad.StateInit)
		if sw := d.nodes[end.Node].sw; sw != nil {
			sw.change = true
		}
	}
}
