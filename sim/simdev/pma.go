package simdev

import (
	"math"

	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// perfCapXmitWait is the CapabilityMask bit of class 0x04 that announces PortXmitWait in
// PortCounters (IBTA vol. 1, 16.1.3.1).
const perfCapXmitWait uint16 = 0x1000

// wordBytes is the unit of the data counters: one word of 4 octets.
const wordBytes = 4

// counterBase holds the network's counters at the last write of a counter. The network's counters only grow, so the reported
// value is the difference.
type counterBase struct {
	short  fabric.PortCounters // PortCounters and the optional attributes
	long   fabric.PortCounters // PortCountersExtended
	downed uint64
}

// actPM acts as the performance management agent (IBTA vol. 1, chapter 16, and annex A10.5).
func (d *Devices) actPM(to arrival, p *mad.Packet) mad.Status {
	if p.Attr() == mad.AttrClassPortInfo {
		return d.classPortInfo(to, p, perfClassInfo())
	}
	data := p.Data()
	select8 := ident.PortNum(data[1])
	ports, ok := d.selectPorts(to, select8)
	if !ok {
		return mad.StatusInvalidAttrValue
	}
	set := p.Method() == mad.MethodSet
	switch p.Attr() {
	case mad.AttrPortCounters:
		return d.portCounters(ports, select8, data, set)
	case mad.AttrPortCountersExtended:
		return d.portCountersExtended(ports, select8, data, set)
	case mad.AttrPortRcvConCtrl:
		return d.rcvConCtrl(ports, select8, data, set)
	case mad.AttrPortXmitConCtrl:
		return d.xmitConCtrl(ports, select8, data, set)
	case mad.AttrPortVLXmitTimeCong:
		return d.vlXmitTimeCong(ports, select8, data, set)
	case mad.AttrPortSLRcvFECN, mad.AttrPortSLRcvBECN, mad.AttrPortXmitDataSL, mad.AttrPortRcvDataSL:
		return d.slCounters(ports, select8, data, set, p.Attr())
	}
	return mad.StatusBadMethodAttr
}

func perfClassInfo() mad.ClassPortInfo {
	return mad.ClassPortInfo{
		BaseVersion: mad.BaseVersion, ClassVersion: mad.ClassPerf.Version(),
		CapabilityMask: mad.PerfCapAllPortSelect | mad.PerfCapExtendedWidth | perfCapXmitWait,
		RespTimeValue:  16,
	}
}

// classPortInfo answers Get and Set of ClassPortInfo: only the trap address is writable.
func (d *Devices) classPortInfo(to arrival, p *mad.Packet, info mad.ClassPortInfo) mad.Status {
	port := d.port(to.at)
	if p.Method() == mad.MethodSet {
		var want mad.ClassPortInfo
		if err := want.Decode(p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		if port.class == nil {
			port.class = map[mad.Class]*mad.ClassAddress{}
		}
		port.class[p.Class()] = &want.Trap
	}
	if trap := port.class[p.Class()]; trap != nil {
		info.Trap = *trap
	}
	clear(p.Data())
	return done(info.Encode(p.Data()))
}

// portRange is the range of ports in a counter request.
type portRange struct {
	node        int32
	first, last int // port numbers
}

// selectPorts resolves PortSelect: 255 selects all ports of the node, any other value one port.
func (d *Devices) selectPorts(to arrival, sel ident.PortNum) (portRange, bool) {
	last := len(d.nodes[to.at.Node].ports) - 1
	if sel == mad.AllPorts {
		return portRange{to.at.Node, 1, last}, true
	}
	ref := subnet.PortRef{Node: to.at.Node, Port: sel}
	if sel == 0 && d.nodes[ref.Node].sw == nil { // some tools send 0 for the local port
		ref.Port = to.at.Port
	}
	return portRange{ref.Node, int(ref.Port), int(ref.Port)}, d.topo.Valid(ref)
}

// each calls f with every port, its current counters and their base. Without a base, f gets a zero one; if create is true,
// the port stores it.
func (d *Devices) each(r portRange, create bool, f func(p *port, now *fabric.PortCounters, b *counterBase)) {
	none := counterBase{}
	for num := r.first; num <= r.last; num++ {
		now := d.net.Counters(r.node, ident.PortNum(num))
		p := &d.nodes[r.node].ports[num]
		if p.base == nil && create {
			p.base = &counterBase{}
		}
		b := p.base
		if b == nil {
			b = &none
		}
		f(p, &now, b)
	}
}

func (d *Devices) portCounters(r portRange, sel ident.PortNum, data []byte, set bool) mad.Status {
	if set {
		var want mad.PortCounters
		if err := want.Decode(data); err != nil {
			return mad.StatusInvalidAttrValue
		}
		d.each(r, true, func(p *port, now *fabric.PortCounters, b *counterBase) {
			setCounters(&want, p, now, b)
		})
	}
	c := mad.PortCounters{PortSelect: sel}
	var xmit, rcv, xpkts, rpkts, wait, discards, downed uint64
	d.each(r, false, func(p *port, now *fabric.PortCounters, b *counterBase) {
		s := &b.short
		xmit += (now.XmitBytes - s.XmitBytes) / wordBytes
		rcv += (now.RcvBytes - s.RcvBytes) / wordBytes
		xpkts += now.XmitPkts - s.XmitPkts
		rpkts += now.RcvPkts - s.RcvPkts
		wait += now.XmitWait - s.XmitWait
		discards += now.XmitDiscards - s.XmitDiscards
		downed += p.downed - b.downed
	})
	c.XmitData, c.RcvData = saturate32(xmit), saturate32(rcv)
	c.XmitPkts, c.RcvPkts = saturate32(xpkts), saturate32(rpkts)
	c.XmitWait, c.XmitDiscards = saturate32(wait), saturate16(discards)
	c.LinkDowned = uint8(min(downed, math.MaxUint8))
	clear(data)
	return done(c.Encode(data))
}

// setCounters sets the counters selected by CounterSelect to the values of the request.
func setCounters(w *mad.PortCounters, p *port, now *fabric.PortCounters, b *counterBase) {
	s := &b.short
	for _, c := range [...]struct {
		bit   int
		base  *uint64
		total uint64
		value uint64
	}{
		{2, &b.downed, p.downed, uint64(w.LinkDowned)},
		{6, &s.XmitDiscards, now.XmitDiscards, uint64(w.XmitDiscards)},
		{12, &s.XmitBytes, now.XmitBytes, uint64(w.XmitData) * wordBytes},
		{13, &s.RcvBytes, now.RcvBytes, uint64(w.RcvData) * wordBytes},
		{14, &s.XmitPkts, now.XmitPkts, uint64(w.XmitPkts)},
		{15, &s.RcvPkts, now.RcvPkts, uint64(w.RcvPkts)},
	} {
		if w.CounterSelect&(1<<c.bit) != 0 {
			*c.base = c.total - c.value
		}
	}
	if w.CounterSelect2&1 != 0 {
		s.XmitWait = now.XmitWait - uint64(w.XmitWait)
	}
}

func (d *Devices) portCountersExtended(r portRange, sel ident.PortNum, data []byte, set bool) mad.Status {
	if set {
		var want mad.PortCountersExtended
		if err := want.Decode(data); err != nil {
			return mad.StatusInvalidAttrValue
		}
		d.each(r, true, func(_ *port, now *fabric.PortCounters, b *counterBase) {
			setExtended(&want, now, b)
		})
	}
	c := mad.PortCountersExtended{PortSelect: sel}
	d.each(r, false, func(_ *port, now *fabric.PortCounters, b *counterBase) {
		l := &b.long
		c.XmitData += (now.XmitBytes - l.XmitBytes) / wordBytes
		c.RcvData += (now.RcvBytes - l.RcvBytes) / wordBytes
		c.XmitPkts += now.XmitPkts - l.XmitPkts
		c.RcvPkts += now.RcvPkts - l.RcvPkts
	})
	c.UnicastXmit, c.UnicastRcv = c.XmitPkts, c.RcvPkts // all simulated traffic is unicast
	clear(data)
	return done(c.Encode(data))
}

func setExtended(w *mad.PortCountersExtended, now *fabric.PortCounters, b *counterBase) {
	l := &b.long
	if w.CounterSelect&1 != 0 {
		l.XmitBytes = now.XmitBytes - w.XmitData*wordBytes
	}
	if w.CounterSelect&2 != 0 {
		l.RcvBytes = now.RcvBytes - w.RcvData*wordBytes
	}
	if w.CounterSelect&(4|16) != 0 {
		l.XmitPkts = now.XmitPkts - w.XmitPkts
	}
	if w.CounterSelect&(8|32) != 0 {
		l.RcvPkts = now.RcvPkts - w.RcvPkts
	}
}

// slCounters serves the four attributes with one 32-bit counter per SL.
func (d *Devices) slCounters(r portRange, sel ident.PortNum, data []byte, set bool, a mad.AttrID) mad.Status {
	field, unit := slField(a)
	if set {
		var want mad.PortSLCounters
		if err := want.Decode(data); err != nil {
			return mad.StatusInvalidAttrValue
		}
		d.each(r, true, func(_ *port, now *fabric.PortCounters, b *counterBase) {
			total, base := field(now), field(&b.short)
			for sl := range total {
				if want.CounterSelect&(1<<sl) != 0 {
					base[sl] = total[sl] - uint64(want.SL[sl])*unit
				}
			}
		})
	}
	var sum [ident.NumSLs]uint64
	d.each(r, false, func(_ *port, now *fabric.PortCounters, b *counterBase) {
		total, base := field(now), field(&b.short)
		for sl := range sum {
			sum[sl] += (total[sl] - base[sl]) / unit
		}
	})
	c := mad.PortSLCounters{PortSelect: sel}
	for sl, v := range sum {
		c.SL[sl] = saturate32(v)
	}
	clear(data)
	return done(c.Encode(data))
}

// slField returns the counters of an attribute and the bytes or packets per count.
func slField(a mad.AttrID) (field func(*fabric.PortCounters) *[ident.NumSLs]uint64, unit uint64) {
	switch a {
	case mad.AttrPortXmitDataSL:
		return func(c *fabric.PortCounters) *[ident.NumSLs]uint64 { return &c.XmitBytesSL }, wordBytes
	case mad.AttrPortRcvDataSL:
		return func(c *fabric.PortCounters) *[ident.NumSLs]uint64 { return &c.RcvBytesSL }, wordBytes
	case mad.AttrPortSLRcvFECN:
		return func(c *fabric.PortCounters) *[ident.NumSLs]uint64 { return &c.RcvFECNSL }, 1
	default:
		return func(c *fabric.PortCounters) *[ident.NumSLs]uint64 { return &c.RcvBECNSL }, 1
	}
}

func (d *Devices) rcvConCtrl(r portRange, sel ident.PortNum, data []byte, set bool) mad.Status {
	if set {
		var want mad.PortRcvConCtrl
		if err := want.Decode(data); err != nil {
			return mad.StatusInvalidAttrValue
		}
		d.each(r, true, func(_ *port, now *fabric.PortCounters, b *counterBase) {
			if want.CounterSelect&1 != 0 {
				b.short.RcvFECN = now.RcvFECN - uint64(want.PktRcvFECN)
			}
			if want.CounterSelect&2 != 0 {
				b.short.RcvBECN = now.RcvBECN - uint64(want.PktRcvBECN)
			}
		})
	}
	var fecn, becn uint64
	d.each(r, false, func(_ *port, now *fabric.PortCounters, b *counterBase) {
		fecn += now.RcvFECN - b.short.RcvFECN
		becn += now.RcvBECN - b.short.RcvBECN
	})
	c := mad.PortRcvConCtrl{PortSelect: sel, PktRcvFECN: saturate32(fecn), PktRcvBECN: saturate32(becn)}
	clear(data)
	return done(c.Encode(data))
}

// xmitConCtrl returns the congested time of the port, summed over its lanes.
func (d *Devices) xmitConCtrl(r portRange, sel ident.PortNum, data []byte, set bool) mad.Status {
	if set {
		var want mad.PortXmitConCtrl
		if err := want.Decode(data); err != nil {
			return mad.StatusInvalidAttrValue
		}
		d.each(r, true, func(_ *port, now *fabric.PortCounters, b *counterBase) {
			if want.CounterSelect&1 != 0 {
				b.long.XmitTimeCongVL[0] = sumLanes(now) - uint64(want.XmitTimeCong)
			}
		})
	}
	var ticks uint64
	d.each(r, false, func(_ *port, now *fabric.PortCounters, b *counterBase) {
		ticks += sumLanes(now) - b.long.XmitTimeCongVL[0]
	})
	c := mad.PortXmitConCtrl{PortSelect: sel, XmitTimeCong: saturate32(ticks)}
	clear(data)
	return done(c.Encode(data))
}

func sumLanes(c *fabric.PortCounters) uint64 {
	sum := uint64(0)
	for _, v := range c.XmitTimeCongVL {
		sum += v
	}
	return sum
}

func (d *Devices) vlXmitTimeCong(r portRange, sel ident.PortNum, data []byte, set bool) mad.Status {
	if set {
		var want mad.PortVLXmitTimeCong
		if err := want.Decode(data); err != nil {
			return mad.StatusInvalidAttrValue
		}
		d.each(r, true, func(_ *port, now *fabric.PortCounters, b *counterBase) {
			for vl, v := range want.VL {
				if want.CounterSelect&(1<<vl) != 0 {
					b.short.XmitTimeCongVL[vl] = now.XmitTimeCongVL[vl] - uint64(v)
				}
			}
		})
	}
	c := mad.PortVLXmitTimeCong{PortSelect: sel}
	for vl := range c.VL {
		ticks := uint64(0)
		d.each(r, false, func(_ *port, now *fabric.PortCounters, b *counterBase) {
			ticks += now.XmitTimeCongVL[vl] - b.short.XmitTimeCongVL[vl]
		})
		c.VL[vl] = saturate32(ticks)
	}
	clear(data)
	return done(c.Encode(data))
}

// saturate32 and saturate16 saturate at the highest value, as the standard's counters do (IBTA vol. 1, 16.1.3.5).
func saturate32(v uint64) uint32 { return uint32(min(v, math.MaxUint32)) }

func saturate16(v uint64) uint16 { return uint16(min(v, math.MaxUint16)) }
