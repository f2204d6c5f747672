package simdev

import (
	"math"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// pm requests counters of a port and decodes the response into a.
func (r *rig) pm(m mad.Method, attr mad.AttrID, lid ident.LID, a mad.Attribute) {
	r.t.Helper()
	p := r.with(mad.NewPerf(m, attr, 0), a)
	r.read(r.ask(lid, p), a)
}

func TestClassPortInfoOfPerformance(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	var info mad.ClassPortInfo
	r.pm(mad.MethodGet, mad.AttrClassPortInfo, r.lid(leaf1), &info)
	if info.CapabilityMask != mad.PerfCapAllPortSelect|mad.PerfCapExtendedWidth|perfCapXmitWait {
		t.Errorf("capability mask 0x%04x", info.CapabilityMask)
	}
}

func TestPortCountersFollowTraffic(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.flow(host1, host2, 3)
	r.dev.Advance(quantity.Millisecond)
	truth := r.net.Counters(leaf1, 2)
	c := mad.PortCounters{PortSelect: 2}
	r.pm(mad.MethodGet, mad.AttrPortCounters, r.lid(leaf1), &c)
	// The request itself passed port 1 but not port 2.
	if c.PortSelect != 2 || uint64(c.XmitData) != truth.XmitBytes/4 || uint64(c.RcvPkts) != truth.RcvPkts || c.XmitData < 1e6 {
		t.Errorf("got %+v, want %d words", c, truth.XmitBytes/4)
	}
	x := mad.PortCountersExtended{PortSelect: 2}
	r.pm(mad.MethodGet, mad.AttrPortCountersExtended, r.lid(leaf1), &x)
	if x.XmitData != truth.XmitBytes/4 || x.UnicastXmit != truth.XmitPkts || x.RcvData != truth.RcvBytes/4 || x.MulticastRcv != 0 {
		t.Errorf("extended: %+v", x)
	}
	sl := mad.PortSLCounters{PortSelect: 2}
	r.pm(mad.MethodGet, mad.AttrPortXmitDataSL, r.lid(leaf1), &sl)
	for i, v := range sl.SL {
		if want := truth.XmitBytesSL[i] / 4; uint64(v) != want || (i == 3) != (v > 0) {
			t.Errorf("SL %d: %d words sent, want %d", i, v, want)
		}
	}
	sl = mad.PortSLCounters{PortSelect: 1}
	r.pm(mad.MethodGet, mad.AttrPortRcvDataSL, r.lid(host2), &sl)
	if want := r.net.Counters(host2, 1).RcvBytesSL[3] / 4; uint64(sl.SL[3]) != want || want == 0 {
		t.Errorf("host2 received %d words on SL 3, want %d", sl.SL[3], want)
	}
}

func TestAllPortsAreSummed(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.flow(host1, host2, 0)
	r.dev.Advance(100 * quantity.Microsecond)
	want := uint64(0)
	for p := range ident.PortNum(41) {
		want += r.net.Counters(leaf1, p).XmitPktsSL[0]
	}
	// The request itself is counted at the ingress port, so only transmitted words of the flow are compared.
	sl := mad.PortSLCounters{PortSelect: mad.AllPorts}
	r.pm(mad.MethodGet, mad.AttrPortXmitDataSL, r.lid(leaf1), &sl)
	bytes := r.net.Counters(leaf1, 1).XmitBytesSL[0] + r.net.Counters(leaf1, 2).XmitBytesSL[0]
	if d := int64(bytes/4) - int64(sl.SL[0]); want == 0 || d < 0 || d > 1 {
		t.Errorf("all ports sent %d words, want %d", sl.SL[0], bytes/4)
	}
}

func TestPortSelect(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	for _, tt := range []struct {
		node int32
		port ident.PortNum
		want mad.Status
	}{
		{leaf1, 0, mad.StatusOK}, {leaf1, 40, mad.StatusOK}, {leaf1, 41, mad.StatusInvalidAttrValue}, {leaf1, 255, mad.StatusOK},
		{host1, 0, mad.StatusOK}, {host1, 1, mad.StatusOK}, {host1, 2, mad.StatusInvalidAttrValue}, {host1, 255, mad.StatusOK},
	} {
		p := r.with(mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, 0), &mad.PortCounters{PortSelect: tt.port})
		r.wantStatus(r.lid(tt.node), p, tt.want)
	}
}

func TestCounterSelectSetsOnlySelectedCounters(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	id := r.flow(host1, host2, 3)
	r.dev.Advance(quantity.Millisecond)
	r.net.StopFlow(id)
	r.dev.Advance(quantity.Millisecond)
	lid, before := r.lid(leaf1), mad.PortCounters{PortSelect: 2}
	r.pm(mad.MethodGet, mad.AttrPortCounters, lid, &before)
	set := mad.PortCounters{PortSelect: 2, CounterSelect: 1<<12 | 1<<15, XmitData: 0, RcvPkts: 77, RcvData: 5}
	r.pm(mad.MethodSet, mad.AttrPortCounters, lid, &set)
	if set.XmitData != 0 || set.RcvPkts != 77 || set.RcvData != before.RcvData || set.XmitPkts != before.XmitPkts || before.XmitData == 0 {
		t.Errorf("after Set %+v, before %+v", set, before)
	}
	x := mad.PortCountersExtended{PortSelect: 2}
	r.pm(mad.MethodGet, mad.AttrPortCountersExtended, lid, &x)
	if x.XmitData != uint64(before.XmitData) {
		t.Errorf("after the short counter was cleared, the long one is %d, want %d", x.XmitData, before.XmitData)
	}
	setX := mad.PortCountersExtended{PortSelect: 2, CounterSelect: 0xf}
	r.pm(mad.MethodSet, mad.AttrPortCountersExtended, lid, &setX)
	if setX.XmitData|setX.RcvData|setX.XmitPkts|setX.RcvPkts|setX.UnicastXmit != 0 {
		t.Errorf("long counters after clearing: %+v", setX)
	}
	sl := mad.PortSLCounters{PortSelect: 2, CounterSelect: 1 << 2}
	r.pm(mad.MethodSet, mad.AttrPortXmitDataSL, lid, &sl)
	if sl.SL[3] == 0 {
		t.Error("clearing SL 2 cleared SL 3")
	}
	sl = mad.PortSLCounters{PortSelect: mad.AllPorts, CounterSelect: 0xffff}
	r.pm(mad.MethodSet, mad.AttrPortXmitDataSL, lid, &sl)
	if sl.SL[3] != 0 {
		t.Error("clearing all SLs of all ports did not clear SL 3")
	}
}

func TestShortCountersStick(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	lid := r.lid(leaf1)
	p := r.dev.port(subnet.PortRef{Node: leaf1, Port: 2})
	now := r.net.Counters(leaf1, 2)
	p.base = &counterBase{short: fabric.PortCounters{
		XmitBytes: now.XmitBytes - 1<<40, XmitWait: now.XmitWait - 1<<40, XmitDiscards: now.XmitDiscards - 1<<20, XmitPkts: now.XmitPkts - 9,
	}}
	p.base.short.XmitBytesSL[0] = now.XmitBytesSL[0] - 1<<40
	p.downed = 300
	c := mad.PortCounters{PortSelect: 2}
	r.pm(mad.MethodGet, mad.AttrPortCounters, lid, &c)
	if c.XmitData != math.MaxUint32 || c.XmitWait != math.MaxUint32 || c.XmitDiscards != math.MaxUint16 || c.LinkDowned != 255 || c.XmitPkts != 9 {
		t.Errorf("got %+v", c)
	}
	sl := mad.PortSLCounters{PortSelect: 2}
	r.pm(mad.MethodGet, mad.AttrPortXmitDataSL, lid, &sl)
	if sl.SL[0] != math.MaxUint32 {
		t.Errorf("SL 0: %d", sl.SL[0])
	}
}

func TestCongestionCounters(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.congest()
	r.dev.Advance(3 * quantity.Millisecond)
	rcv := mad.PortRcvConCtrl{PortSelect: 1}
	r.pm(mad.MethodGet, mad.AttrPortRcvConCtrl, r.lid(host2), &rcv)
	fecn := mad.PortSLCounters{PortSelect: 1}
	r.pm(mad.MethodGet, mad.AttrPortSLRcvFECN, r.lid(host2), &fecn)
	if rcv.PktRcvFECN == 0 || rcv.PktRcvBECN != 0 || fecn.SL[3] != rcv.PktRcvFECN || fecn.SL[0] != 0 {
		t.Errorf("receiver: %+v, by SL %v", rcv, fecn.SL)
	}
	becn := mad.PortSLCounters{PortSelect: 1}
	r.pm(mad.MethodGet, mad.AttrPortSLRcvBECN, r.lid(host1), &becn)
	if becn.SL[3] == 0 || uint64(becn.SL[3]) != r.net.Counters(host1, 1).RcvBECN {
		t.Errorf("sender: BECN by SL %v", becn.SL)
	}
	xmit, vl := mad.PortXmitConCtrl{PortSelect: 2}, mad.PortVLXmitTimeCong{PortSelect: 2}
	r.pm(mad.MethodGet, mad.AttrPortXmitConCtrl, r.lid(leaf1), &xmit)
	r.pm(mad.MethodGet, mad.AttrPortVLXmitTimeCong, r.lid(leaf1), &vl)
	if xmit.XmitTimeCong == 0 || vl.VL[0] != xmit.XmitTimeCong || vl.VL[1] != 0 {
		t.Errorf("switch: congested %d ticks, by VL %v", xmit.XmitTimeCong, vl.VL)
	}

	for _, set := range []struct {
		attr mad.AttrID
		lid  ident.LID
		a    mad.Attribute
	}{
		{mad.AttrPortRcvConCtrl, r.lid(host2), &mad.PortRcvConCtrl{PortSelect: 1, CounterSelect: 3}},
		{mad.AttrPortXmitConCtrl, r.lid(leaf1), &mad.PortXmitConCtrl{PortSelect: 2, CounterSelect: 1}},
		{mad.AttrPortVLXmitTimeCong, r.lid(leaf1), &mad.PortVLXmitTimeCong{PortSelect: 2, CounterSelect: 0x7fff}},
	} {
		resp := r.ask(set.lid, r.with(mad.NewPerf(mad.MethodSet, set.attr, 0), set.a))
		for i, b := range resp.Data()[4:64] {
			if b != 0 {
				t.Errorf("%s: byte %d is %d after clearing", mad.AttrName(mad.ClassPerf, set.attr), i, b)
				break
			}
		}
	}
}

func TestLinkDownedCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	for range 3 {
		r.dev.SetLink(subnet.PortRef{Node: leaf1, Port: 40}, false)
		r.dev.SetLink(subnet.PortRef{Node: leaf1, Port: 40}, true)
	}
	c := mad.PortCounters{PortSelect: 40}
	r.pm(mad.MethodGet, mad.AttrPortCounters, r.lid(leaf1), &c)
	if c.LinkDowned != 3 {
		t.Errorf("link downed %d times, want 3", c.LinkDowned)
	}
}

func TestManagementPacketsAreCountedBothWays(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	before := r.net.Counters(leaf1, 1)
	for range 5 {
		r.portInfo(1, 1)
	}
	after := r.net.Counters(leaf1, 1)
	if in, out := after.RcvMADs-before.RcvMADs, after.XmitMADs-before.XmitMADs; in != 5 || out != 5 {
		t.Errorf("5 exchanges: %d received, %d sent", in, out)
	}
}
