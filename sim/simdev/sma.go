package simdev

import (
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// mellanox is the vendor whose devices are expected to support attrExtendedPortInfo; OpenSM and the diagnostic tools query it.
const (
	mellanox             = 0x0002c9
	attrExtendedPortInfo = mad.AttrID(0xff90)
)

// smRequest is a subnet management request at its destination.
type smRequest struct {
	arrival
	p   *mad.Packet
	set bool
	key mad.Key // M_Key of the request
}

// actSM acts as the subnet management agent (IBTA vol. 1, 14.2.5).
func (d *Devices) actSM(to arrival, p *mad.Packet) (s mad.Status, silent bool) {
	r := smRequest{arrival: to, p: p, set: p.Method() == mad.MethodSet, key: p.MKey()}
	if !d.mkeyAllows(r) {
		return 0, true
	}
	sw := d.nodes[to.at.Node].sw != nil
	switch a := p.Attr(); {
	case a == mad.AttrNodeDescription:
		return d.nodeDescription(r), false
	case a == mad.AttrNodeInfo && !r.set:
		return d.nodeInfo(r), false
	case a == mad.AttrSwitchInfo && sw:
		return d.switchInfo(r), false
	case a == mad.AttrGUIDInfo:
		return d.guidInfo(r), false
	case a == mad.AttrPortInfo:
		return d.portInfo(r), false
	case a == mad.AttrPKeyTable:
		return d.pkeyTable(r), false
	case a == mad.AttrSLToVLTable:
		return d.slToVL(r), false
	case a == mad.AttrVLArbitration:
		return d.vlArbitration(r), false
	case a == mad.AttrLinearForwardingTable && sw:
		return d.linearTable(r), false
	case a == mad.AttrMulticastForwardingTable && sw:
		return d.multicastTable(r), false
	case a == attrExtendedPortInfo && d.nodes[to.at.Node].vendor == mellanox && !r.set:
		return d.extendedPortInfo(r), false
	}
	return mad.StatusBadMethodAttr, false
}

// mkeyAllows checks the M_Key (IBTA vol. 1, 14.2.4): Sets always require it, Gets from protection level 2 on. A violation
// increments the counter and starts the lease; the correct key stops the lease.
func (d *Devices) mkeyAllows(r smRequest) bool {
	k := &d.port(r.at).key
	now := d.net.Now()
	if k.expires != 0 && now >= k.expires {
		k.protect, k.expires = 0, 0
	}
	if k.key == 0 || r.key == k.key {
		k.expires = 0
		return true
	}
	if !r.set && k.protect < 2 {
		return true
	}
	k.violations = saturate16(uint64(k.violations) + 1)
	if k.lease != 0 && k.expires == 0 {
		k.expires = now + quantity.Picoseconds(k.lease)*quantity.Second
	}
	return false
}

func (d *Devices) nodeDescription(r smRequest) mad.Status {
	nd := &d.nodes[r.at.Node]
	if r.set {
		if nd.sw != nil {
			return mad.StatusBadMethodAttr
		}
		if err := nd.desc.Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
	}
	return done(nd.desc.Encode(r.p.Data()))
}

func (d *Devices) nodeInfo(r smRequest) mad.Status {
	nd := &d.nodes[r.at.Node]
	info := mad.NodeInfo{
		BaseVersion: mad.BaseVersion, ClassVersion: mad.ClassSubnLID.Version(),
		NodeType: uint8(nd.info.Kind), NumPorts: uint8(len(nd.ports) - 1),
		SystemGUID: nd.info.SystemGUID, NodeGUID: nd.info.GUID, PortGUID: d.portGUID(r.at),
		PartitionCap: uint16(pkeysPerEndPort), DeviceID: nd.info.DeviceID, Revision: nd.info.Revision,
		LocalPort: r.in, VendorID: nd.vendor,
	}
	if g, ok := d.fault.NodeGUIDs[r.at.Node]; ok {
		info.NodeGUID = g
	}
	if info.SystemGUID == 0 {
		info.SystemGUID = info.NodeGUID
	}
	clear(r.p.Data())
	return done(info.Encode(r.p.Data()))
}

func (d *Devices) switchInfo(r smRequest) mad.Status {
	sw := d.nodes[r.at.Node].sw
	if r.set {
		var want mad.SwitchInfo
		if err := want.Decode(r.p.Data()); err != nil || int(want.LinearFDBTop) >= int(sw.info.LinearFDBCap) {
			return mad.StatusInvalidAttrValue
		}
		sw.info.LinearFDBTop = want.LinearFDBTop
		sw.info.MulticastFDBTop = want.MulticastFDBTop
		sw.info.DefaultPort = want.DefaultPort
		sw.info.DefaultMcastPri, sw.info.DefaultMcastNotPri = want.DefaultMcastPri, want.DefaultMcastNotPri
		sw.info.LifeTimeValue = want.LifeTimeValue
		if want.PortStateChange {
			sw.change = false
		}
	}
	info := sw.info
	info.PortStateChange = sw.change
	clear(r.p.Data())
	return done(info.Encode(r.p.Data()))
}

func (d *Devices) guidInfo(r smRequest) mad.Status {
	p := d.port(r.at)
	if r.p.Modifier() != 0 {
		return mad.StatusInvalidAttrValue
	}
	if r.set {
		var want mad.GUIDInfo
		if err := want.Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		want[0] = p.guids[0] // the port's own GUID is read-only
		p.guids = want
	}
	return done(p.guids.Encode(r.p.Data()))
}

// pkeyTable serves the partition tables of end ports and, on switches, those of external ports, which the modifier selects.
func (d *Devices) pkeyTable(r smRequest) mad.Status {
	at, mod := r.at, r.p.Modifier()
	if d.nodes[at.Node].sw != nil {
		at.Port = ident.PortNum(min(mod>>16, 255))
		if !d.topo.Valid(at) {
			return mad.StatusInvalidAttrValue
		}
	}
	p, capacity := d.port(at), pkeysPerEndPort
	if !d.endPort(at) {
		capacity = pkeysPerSwitchPort
	}
	block := int(mod & 0xffff)
	if block >= capacity/pkeysPerBlock {
		return mad.StatusInvalidAttrValue
	}
	var t mad.PKeyTable
	if r.set {
		if err := t.Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		if p.pkeys == nil {
			p.pkeys = make([]ident.PKey, capacity)
		}
		copy(p.pkeys[block*pkeysPerBlock:], t[:])
	}
	t = mad.PKeyTable{}
	if p.pkeys != nil {
		copy(t[:], p.pkeys[block*pkeysPerBlock:])
	} else if block == 0 {
		t[0] = ident.DefaultPKey
	}
	return done(t.Encode(r.p.Data()))
}

func (d *Devices) slToVL(r smRequest) mad.Status {
	in, out := ident.PortNum(0), r.at.Port
	if d.nodes[r.at.Node].sw != nil {
		mod := r.p.Modifier()
		in, out = ident.PortNum(mod>>8), ident.PortNum(mod)
		if mod > 0xffff || !d.topo.Valid(subnet.PortRef{Node: r.at.Node, Port: in}) ||
			!d.topo.Valid(subnet.PortRef{Node: r.at.Node, Port: out}) {
			return mad.StatusInvalidAttrValue
		}
	}
	var t mad.SLToVLTable
	if r.set {
		if err := t.Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		d.nodes[r.at.Node].wiped = false
		d.net.SetSL2VL(r.at.Node, in, out, t)
	}
	t = d.net.SL2VL(r.at.Node, in, out)
	clear(r.p.Data())
	return done(t.Encode(r.p.Data()))
}

func (d *Devices) vlArbitration(r smRequest) mad.Status {
	at, mod := r.at, r.p.Modifier()
	if d.nodes[at.Node].sw != nil {
		at.Port = ident.PortNum(mod)
	}
	half := mod >> 16
	if half < uint32(mad.VLArbLowFirst) || half > uint32(mad.VLArbHighSecond) || at.Port == 0 || !d.topo.Valid(at) {
		return mad.StatusInvalidAttrValue
	}
	high := half >= uint32(mad.VLArbHighFirst)
	var t mad.VLArbitration
	offset := int(half-1) % 2 * len(t)
	if r.set {
		if err := t.Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		d.nodes[at.Node].wiped = false
		d.net.SetVLArb(at.Node, at.Port, high, offset, weights(&t))
	}
	t = mad.VLArbitration{}
	all := d.net.VLArb(at.Node, at.Port, high)
	for i := range t {
		if offset+i < len(all) {
			t[i] = mad.VLArbEntry{VL: all[offset+i].VL, Weight: all[offset+i].Weight}
		}
	}
	return done(t.Encode(r.p.Data()))
}

func weights(t *mad.VLArbitration) []fabric.VLWeight {
	w := make([]fabric.VLWeight, len(t))
	for i, e := range t {
		w[i] = fabric.VLWeight{VL: e.VL, Weight: e.Weight}
	}
	return w
}

func (d *Devices) linearTable(r smRequest) mad.Status {
	block := r.p.Modifier()
	if block > uint32(ident.MaxUnicastLID)/mad.LFTBlockSize {
		return mad.StatusInvalidAttrValue
	}
	var t mad.LinearForwardingTable
	if r.set {
		if err := t.Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		d.net.SetLFTBlock(r.at.Node, int(block), t)
		sw := d.nodes[r.at.Node].sw
		sw.blocks = max(sw.blocks, int(block)+1)
	}
	t = d.net.LFTBlock(r.at.Node, int(block))
	return done(t.Encode(r.p.Data()))
}

// multicastTable stores the blocks that a subnet manager writes. The simulated traffic is unicast.
func (d *Devices) multicastTable(r smRequest) mad.Status {
	sw := d.nodes[r.at.Node].sw
	mod := r.p.Modifier()
	block, position := mod&0x1ff, mod>>28
	if int(block) >= int(sw.info.MulticastFDBCap)/mad.MFTBlockSize || int(position)*16 >= len(d.nodes[r.at.Node].ports) {
		return mad.StatusInvalidAttrValue
	}
	slot := position<<28 | block
	if r.set {
		var t mad.MulticastForwardingTable
		if err := t.Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		if sw.mcast == nil {
			sw.mcast = map[uint32]mad.MulticastForwardingTable{}
		}
		sw.mcast[slot] = t
	}
	t := sw.mcast[slot]
	return done(t.Encode(r.p.Data()))
}

// extendedPortInfo is Mellanox's vendor attribute for FDR10. Bytes 7, 11 and 15 hold bit 0 for FDR10 supported, enabled and
// active.
func (d *Devices) extendedPortInfo(r smRequest) mad.Status {
	at := r.at
	if mod := r.p.Modifier() & 0xff; mod != 0 || d.nodes[at.Node].sw != nil {
		at.Port = ident.PortNum(mod)
	}
	if !d.topo.Valid(at) {
		return mad.StatusInvalidAttrValue
	}
	data := r.p.Data()
	clear(data)
	if l, _ := d.topo.Link(at); l != nil && l.Speed == subnet.FDR10 {
		data[7], data[11], data[15] = 1, 1, 1
	}
	return mad.StatusOK
}
