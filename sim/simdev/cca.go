package simdev

import (
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Bits of SwitchCongestionSetting's Control_Map, with the victim mask at bit 0.
const (
	applyVictimMask = 1 << iota
	applyCreditMask
	applyThreshold // Threshold and Packet_Size
	applyStarvation
	applyMarkingRate
	controlMapBits = 5
)

// ccRequest is a congestion-control request at its destination.
type ccRequest struct {
	at   subnet.PortRef
	p    *mad.Packet
	set  bool
	from ident.LID // LID of the requester
}

// actCC acts as the congestion-control agent (IBTA annex A10.4). silent means no response.
func (d *Devices) actCC(to arrival, m *Message) (s mad.Status, silent bool) {
	p := &m.MAD
	switch d.fault.ccSupport(to.at.Node) {
	case CCNoAttribute:
		return mad.StatusBadMethodAttr, false
	case CCNoClass:
		return mad.StatusBadVersion, false
	case CCSilent:
		return 0, true
	}
	r := ccRequest{at: to.at, p: p, set: p.Method() == mad.MethodSet, from: m.SLID}
	if !d.ccKeyAllows(r) {
		return 0, true
	}
	sw := d.nodes[to.at.Node].sw != nil
	switch a := p.Attr(); {
	case a == mad.AttrClassPortInfo:
		return d.classPortInfo(to, p, mad.ClassPortInfo{
			BaseVersion: mad.BaseVersion, ClassVersion: mad.ClassCongestion.Version(), RespTimeValue: 16,
		}), false
	case a == mad.AttrNotice:
		return d.ccNotice(r), false
	case a == mad.AttrCongestionInfo && !r.set:
		return d.congestionInfo(r), false
	case a == mad.AttrCongestionKeyInfo:
		return d.congestionKeyInfo(r), false
	case a == mad.AttrCongestionLog && !r.set:
		return d.congestionLog(r), false
	case a == mad.AttrSwitchCongestionSetting && sw:
		return d.switchSetting(r), false
	case a == mad.AttrSwitchPortCongestionSetting && sw && d.net.Profile(to.at.Node).Switch.PortMarking:
		return d.switchPortSetting(r), false
	case a == mad.AttrCACongestionSetting && !sw:
		return d.caSetting(r), false
	case a == mad.AttrCongestionControlTable && !sw:
		return d.controlTable(r), false
	case a == mad.AttrTimeStamp && !r.set:
		stamp := mad.TimeStamp(timeStamp(d.net.Now()))
		clear(p.Data())
		return done(stamp.Encode(p.Data())), false
	}
	return mad.StatusBadMethodAttr, false
}

// layout returns a node's layout of the attributes on which congestion-control documents disagree.
func (d *Devices) layout(node int32) mad.CCLayout {
	if p := d.net.Profile(node); !p.Generic() {
		return mad.CCLayout(p.Layout)
	}
	return d.opts.Layout
}

// timeStamp returns the class's free-running clock, in units of 1.024 us of simulated time.
func timeStamp(t quantity.Picoseconds) uint32 { return uint32(t / ibcc.TimerUnitPicoseconds) }

func (d *Devices) congestionInfo(r ccRequest) mad.Status {
	var info mad.CongestionInfo
	if d.nodes[r.at.Node].sw == nil {
		info.ControlTableCap = uint8(d.net.CCTBlocks(r.at.Node))
	}
	clear(r.p.Data())
	return done(info.Encode(r.p.Data()))
}

func (d *Devices) congestionLog(r ccRequest) mad.Status {
	lease := d.port(r.at).cc.expires != 0
	now := timeStamp(d.net.Now())
	if d.nodes[r.at.Node].sw != nil {
		l := d.net.SwitchLog(r.at.Node)
		out := mad.CongestionLogSwitch{
			LogType: mad.LogTypeSwitch, LeaseActive: lease,
			EventsCounter: saturate16(l.Events), CurrentTime: now, PortMap: mad.PortMask(l.Ports),
		}
		for i, e := range l.Last[:min(len(l.Last), len(out.Events))] {
			out.Events[i] = mad.SwitchLogEvent{SLID: e.SLID, DLID: e.DLID, SL: e.SL, TimeStamp: eventStamp(e.At)}
		}
		return done(out.Encode(r.p.Data()))
	}
	l := d.net.CALog(r.at.Node, r.at.Port)
	out := mad.CongestionLogCA{
		LogType: mad.LogTypeCA, LeaseActive: lease,
		EventsCounter: saturate16(l.Events), EventMap: l.SLs, CurrentTime: now,
	}
	lid, _ := d.net.LID(r.at.Node, r.at.Port)
	for i, e := range l.Last[:min(len(l.Last), len(out.Events))] {
		out.Events[i] = mad.CALogEvent{
			LocalQP: e.LocalQP, RemoteQP: e.RemoteQP, SL: e.SL, Service: e.Service,
			LocalLID: lid, RemoteLID: e.RemoteLID, TimeStamp: eventStamp(e.At),
		}
	}
	return done(d.layout(r.at.Node).CALog(&out).Encode(r.p.Data()))
}

// eventStamp returns the time stamp of an event; zero would mark an unused entry.
func eventStamp(at quantity.Picoseconds) uint32 { return max(timeStamp(at), 1) }

func (d *Devices) switchSetting(r ccRequest) mad.Status {
	have := d.net.SwitchCC(r.at.Node)
	applied := uint32(0)
	if r.set {
		var want mad.SwitchCongestionSetting
		if err := want.Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		applied = want.ControlMap
		d.applySwitch(&have, &want)
		d.net.SetSwitchCC(r.at.Node, have)
	}
	out := mad.SwitchCongestionSetting{
		ControlMap: applied,
		VictimMask: mad.PortMask(have.VictimMask), CreditMask: mad.PortMask(have.CreditMask),
		Threshold: have.Threshold, PacketSize: have.PacketSize,
		CSThreshold: have.CSThreshold, CSReturnDelay: mad.CCTEntry(have.CSReturnDelay),
		MarkingRate: have.MarkingRate,
	}
	clear(r.p.Data())
	return done(out.Encode(r.p.Data()))
}

// applySwitch applies the fields selected by Control_Map.
func (d *Devices) applySwitch(have *ibcc.SwitchSettings, w *mad.SwitchCongestionSetting) {
	m := w.ControlMap
	if d.opts.ReversedControlMap {
		m = 0
		for bit := range controlMapBits {
			m |= w.ControlMap >> bit & 1 << (controlMapBits - 1 - bit)
		}
	}
	if m&applyVictimMask != 0 {
		have.VictimMask = ibcc.PortMask(w.VictimMask)
	}
	if m&applyCreditMask != 0 {
		have.CreditMask = ibcc.PortMask(w.CreditMask)
	}
	if m&applyThreshold != 0 {
		have.Threshold, have.PacketSize = w.Threshold, w.PacketSize
	}
	if m&applyStarvation != 0 {
		have.CSThreshold, have.CSReturnDelay = w.CSThreshold, ibcc.Entry(w.CSReturnDelay)
	}
	if m&applyMarkingRate != 0 {
		have.MarkingRate = w.MarkingRate
	}
}

// switchPortSetting serves blocks of ports. A Set with Valid 0 returns the port to the switch's defaults, or leaves the port
// unchanged on devices with that fault.
func (d *Devices) switchPortSetting(r ccRequest) mad.Status {
	ports := len(d.nodes[r.at.Node].ports)
	layout := d.layout(r.at.Node)
	block, per := r.p.Modifier(), layout.PortsPerBlock()
	if int64(block)*int64(per) >= int64(ports) {
		return mad.StatusInvalidAttrValue
	}
	first := int(block) * per
	last := min(first+per, ports)
	if r.set {
		want := make([]mad.SwitchPortElement, per)
		if err := layout.SwitchPorts(want).Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		keep := d.fault.IgnoreInvalidElements && d.fault.affects(r.at.Node)
		for port := first; port < last; port++ {
			e := want[port-first]
			switch {
			case e.Valid:
				d.net.SetPortMarking(r.at.Node, ident.PortNum(port), ibcc.PortMarking(e))
			case !keep:
				d.net.SetPortMarking(r.at.Node, ident.PortNum(port), ibcc.PortMarking{})
			}
		}
	}
	out := make([]mad.SwitchPortElement, per)
	for port := first; port < last; port++ {
		out[port-first] = mad.SwitchPortElement(d.net.PortMarking(r.at.Node, ident.PortNum(port)))
	}
	clear(r.p.Data())
	return done(layout.SwitchPorts(out).Encode(r.p.Data()))
}

func (d *Devices) caSetting(r ccRequest) mad.Status {
	perSL, params := d.net.CAParams(r.at.Node, r.at.Port)
	applied := uint16(0)
	if r.set {
		var want mad.CACongestionSetting
		if err := d.layout(r.at.Node).CASetting(&want).Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		perSL, applied = want.PortControl&mad.PortControlSL != 0, want.ControlMap
		d.applyCA(r.at, &params, &want)
		d.net.SetCAParams(r.at.Node, r.at.Port, perSL, params)
	}
	out := mad.CACongestionSetting{ControlMap: applied}
	if perSL {
		out.PortControl = mad.PortControlSL
	}
	for sl, p := range params {
		out.Entries[sl] = mad.CACongestionEntry(p)
	}
	clear(r.p.Data())
	return done(d.layout(r.at.Node).CASetting(&out).Encode(r.p.Data()))
}

// applyCA applies the entries selected by Control_Map, with the faults of the device.
func (d *Devices) applyCA(at subnet.PortRef, params *[ident.NumSLs]ibcc.SLParams, w *mad.CACongestionSetting) {
	f, bad := d.fault, d.fault.affects(at.Node)
	for sl, e := range w.Entries {
		if w.ControlMap&(1<<sl) == 0 && !(bad && f.IgnoreControlMap) {
			continue
		}
		p := ibcc.SLParams(e)
		if bad && f.ClampTimer != 0 {
			p.Timer = min(p.Timer, f.ClampTimer)
		}
		if bad && f.ClampIncrease != 0 {
			p.Increase = min(p.Increase, f.ClampIncrease)
		}
		params[sl] = p
	}
}

// controlTable serves blocks of 64 entries; blocks and limits beyond the capacity are invalid.
func (d *Devices) controlTable(r ccRequest) mad.Status {
	block, blocks := r.p.Modifier(), d.net.CCTBlocks(r.at.Node)
	if int64(block) >= int64(blocks) {
		return mad.StatusInvalidAttrValue
	}
	if r.set {
		var want mad.CongestionControlTable
		if err := want.Decode(r.p.Data()); err != nil || int(want.Limit) >= d.net.CCTEntries(r.at.Node) {
			return mad.StatusInvalidAttrValue
		}
		var entries [ibcc.BlockEntries]ibcc.Entry
		for i, e := range want.Entries {
			entries[i] = ibcc.Entry(e)
		}
		d.net.SetCCTBlock(r.at.Node, r.at.Port, want.Limit, int(block), entries)
	}
	out := mad.CongestionControlTable{Limit: d.net.CCTILimit(r.at.Node, r.at.Port)}
	for i, e := range d.net.CCTBlock(r.at.Node, r.at.Port, int(block)) {
		out.Entries[i] = mad.CCTEntry(e)
	}
	clear(r.p.Data())
	return done(out.Encode(r.p.Data()))
}
