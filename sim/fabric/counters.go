package fabric

import (
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// tickBytes defines the tick of XmitWait and XmitTimeCong: the time of 4 bytes on the port's link, 320 ps at 100 Gbit/s.
const tickBytes = 4

// PortCounters are the 64-bit counters of one port; they only grow. Byte counts are whole packets with headers. The totals
// include management packets (VL15); the per-SL counters do not.
type PortCounters struct {
	XmitBytes, RcvBytes uint64
	XmitPkts, RcvPkts   uint64
	// XmitWait is the time, in ticks of 4 byte times of the link, in which the port was idle with packets to send because it
	// had no credits.
	XmitWait uint64
	// XmitDiscards counts packets lost at this port: the link was down or not active, the SL2VL table mapped to no operational
	// lane, or, at the input port, the DLID had no route.
	XmitDiscards uint64

	XmitBytesSL, RcvBytesSL [ident.NumSLs]uint64
	XmitPktsSL, RcvPktsSL   [ident.NumSLs]uint64

	// RcvFECN counts data packets received by a channel adapter with FECN; RcvBECN counts acknowledgements and CNPs received
	// with BECN.
	RcvFECN, RcvBECN     uint64
	RcvFECNSL, RcvBECNSL [ident.NumSLs]uint64
	// XmitFECN counts the packets that this switch port marked.
	XmitFECN uint64
	// XmitTimeCongVL is the time, in ticks of 4 byte times, in which the (port, VL) was above its marking threshold.
	XmitTimeCongVL [ident.NumVLs]uint64
	// XmitMADs and RcvMADs are the management packets included in the totals.
	XmitMADs, RcvMADs uint64
}

// volume keeps bytes and packets together, for cache locality.
type volume struct{ bytes, pkts uint64 }

// tally is the hot part of the counters; totals are summed on reading.
type tally struct {
	xmit, rcv       [ident.NumSLs]volume
	fecn, becn      [ident.NumSLs]uint64
	marks           uint64
	discards        uint64
	waited          quantity.Picoseconds
	waitSince       quantity.Picoseconds // start of the current wait for credits; -1 when the port has credits
	madXmit, madRcv uint64
	peakQueued      int32 // largest number of bytes ever queued for one lane of this output
}

// Counters returns a copy of the port's counters; all are zero for a port that does not exist.
func (n *Network) Counters(node int32, num ident.PortNum) PortCounters {
	p := n.port(node, num)
	if p == nil {
		return PortCounters{}
	}
	now, t := n.eng.Now(), &p.tally
	c := PortCounters{
		XmitDiscards: t.discards, XmitFECN: t.marks, XmitMADs: t.madXmit, RcvMADs: t.madRcv,
		XmitBytes: t.madXmit * MADSize, RcvBytes: t.madRcv * MADSize, XmitPkts: t.madXmit, RcvPkts: t.madRcv,
		RcvFECNSL: t.fecn, RcvBECNSL: t.becn,
	}
	for sl := range ident.NumSLs {
		x, r := t.xmit[sl], t.rcv[sl]
		c.XmitBytesSL[sl], c.XmitPktsSL[sl] = x.bytes, x.pkts
		c.RcvBytesSL[sl], c.RcvPktsSL[sl] = r.bytes, r.pkts
		c.XmitBytes, c.XmitPkts = c.XmitBytes+x.bytes, c.XmitPkts+x.pkts
		c.RcvBytes, c.RcvPkts = c.RcvBytes+r.bytes, c.RcvPkts+r.pkts
		c.RcvFECN, c.RcvBECN = c.RcvFECN+t.fecn[sl], c.RcvBECN+t.becn[sl]
	}
	if p.peer < 0 {
		return c
	}
	tick := max(1, p.txTime(tickBytes)) // a tick would round to 0 ps above 32 Tbit/s
	waited := t.waited
	if t.waitSince >= 0 {
		waited += now - t.waitSince
	}
	c.XmitWait = uint64(waited / tick)
	for vl := range p.lanes {
		l := &p.lanes[vl]
		cong := l.congested
		if l.congSince >= 0 {
			cong += now - l.congSince
		}
		if p.use != nil {
			cong += p.use.aboveAt(now)
		}
		c.XmitTimeCongVL[vl] = uint64(cong / tick)
	}
	return c
}

// CountMAD counts one management packet of MADSize bytes on VL15, received or transmitted by the port. Such packets bypass the
// data path.
func (n *Network) CountMAD(node int32, num ident.PortNum, rcv bool) {
	p := n.port(node, num)
	switch {
	case p == nil:
	case rcv:
		p.tally.madRcv++
	default:
		p.tally.madXmit++
	}
}

// QueuedBytes returns the bytes queued now for the output (port, VL), and the largest number ever queued for one VL of that
// port.
func (n *Network) QueuedBytes(node int32, num ident.PortNum, vl ident.VL) (now, peak int) {
	p := n.port(node, num)
	if p == nil || int(vl) >= len(p.lanes) {
		return 0, 0
	}
	return int(p.lanes[vl].held), int(p.tally.peakQueued)
}
