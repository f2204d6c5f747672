package simdev

import (
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// portCaps are the capabilities of every simulated port.
const portCaps = mad.PortCapTrap | mad.PortCapSLMapping | mad.PortCapSystemGUID |
	mad.PortCapExtendedSpeeds | mad.PortCapClientReregister

// smKnowsExtendedSpeeds is the bit in PortInfo's modifier with which a subnet manager announces support of the extended speed
// fields; it does not change the response here.
const smKnowsExtendedSpeeds uint32 = 1 << 31

// portInfo answers Get and Set of PortInfo (IBTA vol. 1, 14.2.5.6). The response to a Set contains the new state, which
// subnet managers check.
func (d *Devices) portInfo(r smRequest) mad.Status {
	at, mod := r.at, r.p.Modifier()&^smKnowsExtendedSpeeds
	if mod > 0xff {
		return mad.StatusInvalidAttrValue
	}
	if d.nodes[at.Node].sw != nil || mod != 0 {
		at.Port = ident.PortNum(mod)
	}
	if !d.topo.Valid(at) {
		return mad.StatusInvalidAttrValue
	}
	reregister := false
	if r.set {
		var want mad.PortInfo
		if err := want.Decode(r.p.Data()); err != nil || !d.legalPortInfo(at, &want) {
			return mad.StatusInvalidAttrValue
		}
		d.setPortInfo(at, &want)
		reregister = want.ClientReregister
	}
	info := d.portInfoOf(at, r)
	info.ClientReregister = reregister
	return done(info.Encode(r.p.Data()))
}

// portInfoOf builds a port's attribute with the fields that the requester may see.
func (d *Devices) portInfoOf(at subnet.PortRef, r smRequest) mad.PortInfo {
	p := d.port(at)
	lid, lmc := d.net.LID(at.Node, at.Port)
	info := mad.PortInfo{
		GIDPrefix: p.gidPrefix, LID: lid, LMC: lmc, MasterSMLID: p.smLID, MasterSMSL: p.smSL,
		CapabilityMask: portCaps, LocalPort: r.in,
		LinkWidthEnabled: p.widthOn, LinkSpeedEnabled: p.speedOn, LinkSpeedExtEnabled: p.extOn,
		LinkDownDefaultState: p.downDefault,
		NeighborMTU:          p.mtu, MTUCap: d.mtuCap(at),
		VLCap: d.vlCap(at), OperationalVLs: p.opVLs, VLHighLimit: p.highLimit,
		VLStallCount: p.stall, HOQLife: p.hoq,
		PartEnforceIn: p.enforceIn, PartEnforceOut: p.enforceOut,
		FilterRawIn: p.filterRawIn, FilterRawOut: p.filterRawOut,
		McastPKeySuppress: p.mcastSuppress, SubnetTimeout: p.subnetTimeout, RespTimeValue: 16,
		LocalPhyErrors: p.phyErr, OverrunErrors: p.overrun,
	}
	info.State, info.PhysState = d.stateOf(at)
	info.LinkWidthActive, info.LinkSpeedActive, info.LinkSpeedExtActive = d.linkActive(at)
	info.LinkWidthSupported, info.LinkSpeedSupported, info.LinkSpeedExtSupp = d.linkSupport(at)
	if at.Port != 0 {
		info.VLArbHighCap, info.VLArbLowCap = vlArbCapacity, vlArbCapacity
	}
	if d.sms[at] {
		info.CapabilityMask |= mad.PortCapIsSM
	}
	k := &d.port(d.manager(at)).key
	info.MKeyProtect, info.MKeyLeasePeriod, info.MKeyViolations = k.protect, k.lease, k.violations
	if k.protect == 0 || r.key == k.key {
		info.MKey = k.key
	}
	if d.endPort(at) {
		info.GUIDCap = uint8(guidCapacity)
	}
	return info
}

// legalPortInfo validates the writable fields of a Set.
func (d *Devices) legalPortInfo(at subnet.PortRef, w *mad.PortInfo) bool {
	if w.OperationalVLs > d.vlCap(at) || w.NeighborMTU > d.mtuCap(at) {
		return false
	}
	if d.endPort(at) && w.LID != 0 {
		if !w.LID.IsUnicast() || int(w.LID)+1<<w.LMC-1 > int(ident.MaxUnicastLID) || w.LID&(1<<w.LMC-1) != 0 {
			return false
		}
	}
	now, _ := d.stateOf(at)
	switch w.State {
	case mad.StateNoChange, mad.StateDown:
	case mad.StateArmed:
		if now != mad.StateInit && now != mad.StateArmed {
			return false
		}
	case mad.StateActive:
		if now != mad.StateArmed && now != mad.StateActive {
			return false
		}
	default:
		return false
	}
	return w.PhysState <= mad.PhysDisabled
}

func (d *Devices) setPortInfo(at subnet.PortRef, w *mad.PortInfo) {
	p := d.port(at)
	if d.endPort(at) {
		d.setEndPort(at, w)
	}
	if w.NeighborMTU != 0 {
		p.mtu = w.NeighborMTU
	}
	p.stall, p.hoq = w.VLStallCount, w.HOQLife
	p.enforceIn, p.enforceOut = w.PartEnforceIn, w.PartEnforceOut
	p.filterRawIn, p.filterRawOut = w.FilterRawIn, w.FilterRawOut
	p.overrun, p.phyErr = w.OverrunErrors, w.LocalPhyErrors
	if w.LinkDownDefaultState != 0 {
		p.downDefault = w.LinkDownDefaultState
	}
	if at.Port == 0 {
		return
	}
	d.setLanes(at, w)
	width, speed, ext := d.linkSupport(at)
	enable(&p.widthOn, w.LinkWidthEnabled, width, 0xff)
	enable(&p.speedOn, w.LinkSpeedEnabled, speed, 0xf)
	if w.LinkSpeedExtEnabled == extSpeedsOff {
		p.extOn = 0
	} else {
		enable(&p.extOn, w.LinkSpeedExtEnabled, ext, 0x1f)
	}
	d.setPhysical(at, w)
	switch w.State {
	case mad.StateDown:
		d.retrain(at)
	case mad.StateArmed, mad.StateActive:
		d.setState(at, w.State)
	}
}

// setEndPort writes the fields that exist only on ports with a LID.
func (d *Devices) setEndPort(at subnet.PortRef, w *mad.PortInfo) {
	p := d.port(at)
	p.gidPrefix, p.smLID, p.smSL = w.GIDPrefix, w.MasterSMLID, w.MasterSMSL
	p.key.key, p.key.protect, p.key.lease = w.MKey, w.MKeyProtect, w.MKeyLeasePeriod
	if w.MKeyViolations == 0 {
		p.key.violations = 0
	}
	p.mcastSuppress, p.subnetTimeout = w.McastPKeySuppress, w.SubnetTimeout
	if lid, lmc := d.net.LID(at.Node, at.Port); lid != w.LID || lmc != w.LMC {
		d.net.SetLID(at.Node, at.Port, w.LID, w.LMC)
	}
}

// setLanes applies the operational VLs and the high limit to the data path.
func (d *Devices) setLanes(at subnet.PortRef, w *mad.PortInfo) {
	p := d.port(at)
	if w.OperationalVLs != 0 && w.OperationalVLs != p.opVLs {
		p.opVLs = w.OperationalVLs
		d.nodes[at.Node].wiped = false
		d.net.SetOperationalVLs(at.Node, at.Port, int(mad.VLsFromCode(p.opVLs)))
	}
	if w.VLHighLimit != p.highLimit {
		p.highLimit = w.VLHighLimit
		d.nodes[at.Node].wiped = false
		d.net.SetVLHighLimit(at.Node, at.Port, p.highLimit)
	}
}

// extSpeedsOff is the value of LinkSpeedExtEnabled that disables all speeds above QDR.
const extSpeedsOff = 30

// enable applies a mask of enabled widths or speeds: 0 means no change, all ones means everything supported, and a mask without
// supported bits is ignored.
func enable(have *uint8, want, supported, all uint8) {
	switch {
	case want == 0:
	case want == all:
		*have = supported
	case want&supported != 0:
		*have = want & supported
	}
}

// setPhysical executes the physical states that a Set can request: disabled disconnects the link, polling retrains it. A
// disconnected cable stays disconnected.
func (d *Devices) setPhysical(at subnet.PortRef, w *mad.PortInfo) {
	p := d.port(at)
	switch w.PhysState {
	case mad.PhysDisabled:
		p.disabled = true
		d.setLink(at, false)
	case mad.PhysPolling:
		again := p.disabled || p.apart || d.net.LinkUp(at.Node, at.Port)
		p.disabled = false
		if peer, ok := d.topo.Peer(at); ok && again && !d.port(peer).disabled {
			d.setLink(at, false)
			d.setLink(at, true)
		}
	}
}
