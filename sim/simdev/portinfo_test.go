package simdev

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

func TestPortInfoOfAColdPort(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{SMMode: Cold})
	info := r.portInfo(1, 1)
	if info.State != mad.StateInit || info.PhysState != mad.PhysLinkUp || info.LID != 0 {
		t.Errorf("state %d, physical %d, LID %d: want INIT, LinkUp, none", info.State, info.PhysState, info.LID)
	}
	if info.LinkWidthActive != 2 || info.LinkSpeedActive != 4 || info.LinkSpeedExtActive != 2 || info.LinkSpeedExtSupp != 3 {
		t.Errorf("width %d, speed %d, extended %d of %d: want 4x EDR of FDR and EDR",
			info.LinkWidthActive, info.LinkSpeedActive, info.LinkSpeedExtActive, info.LinkSpeedExtSupp)
	}
	if info.CapabilityMask&mad.PortCapExtendedSpeeds == 0 {
		t.Error("extended speeds are not announced")
	}
	if info.MTUCap != 5 || info.VLCap != 4 || info.VLArbHighCap != 64 || info.LocalPort != 1 {
		t.Errorf("MTU %d, VLs %d, arbitration %d, local port %d", info.MTUCap, info.VLCap, info.VLArbHighCap, info.LocalPort)
	}
	if down := r.portInfo(7, 1); down.State != mad.StateDown || down.PhysState != mad.PhysPolling || down.LinkWidthActive != 0 {
		t.Errorf("port without a cable: state %d, physical %d", down.State, down.PhysState)
	}
	if zero := r.portInfo(0, 1); zero.State != mad.StateActive || zero.PhysState != mad.PhysLinkUp || zero.LocalPort != 1 {
		t.Errorf("port 0: state %d, physical %d", zero.State, zero.PhysState)
	}
	r.wantStatus(0, r.directed(mad.MethodGet, mad.AttrPortInfo, 41, 1), mad.StatusInvalidAttrValue)
	r.wantStatus(0, r.directed(mad.MethodGet, mad.AttrPortInfo, 1<<24, 1), mad.StatusInvalidAttrValue)
	r.wantStatus(0, r.directed(mad.MethodGet, mad.AttrPortInfo, 2), mad.StatusInvalidAttrValue)
}

func TestConfiguredFabricIsActive(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	smLID := r.lid(host1)
	for _, path := range [][]ident.PortNum{{}, {1, 2}, {1, 39, 1}} {
		info := r.portInfo(0, path...)
		if info.State != mad.StateActive || info.LID == 0 || info.MasterSMLID != smLID {
			t.Errorf("path %v: state %d, LID %d, SM LID %d", path, info.State, info.LID, info.MasterSMLID)
		}
	}
}

// setPort changes a port by read-modify-write, as a subnet manager does.
func (r *rig) setPort(f func(*mad.PortInfo), want mad.Status, mod uint32, path ...ident.PortNum) mad.PortInfo {
	r.t.Helper()
	info := r.portInfo(mod, path...)
	info.State, info.PhysState = mad.StateNoChange, mad.PhysNoChange
	f(&info)
	m, v := r.send(0, r.with(r.directed(mad.MethodSet, mad.AttrPortInfo, mod, path...), &info))
	if v.Outcome != Replied || m.MAD.Status() != want {
		r.t.Fatalf("Set PortInfo %d over %v: %s with %s, want %s", mod, path, v.Outcome, m.MAD.Status(), want)
	}
	if want == mad.StatusOK {
		r.read(m.MAD, &info)
	}
	return info
}

func state(s uint8) func(*mad.PortInfo) { return func(i *mad.PortInfo) { i.State = s } }

// bringUp activates both ends of host1's link and assigns LID 7 to host1.
func (r *rig) bringUp() {
	r.setPort(func(i *mad.PortInfo) { i.LID, i.MasterSMLID = 7, 7 }, mad.StatusOK, 0)
	for _, s := range []uint8{mad.StateArmed, mad.StateActive} {
		r.setPort(state(s), mad.StatusOK, 0)
		r.setPort(state(s), mad.StatusOK, 1, 1)
	}
}

func TestPortStatesMoveByTheRules(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{SMMode: Cold})
	const init, armed, active = mad.StateInit, mad.StateArmed, mad.StateActive
	steps := []struct {
		set, after uint8
		status     mad.Status
	}{
		{active, init, mad.StatusInvalidAttrValue},
		{init, init, mad.StatusInvalidAttrValue}, // a Set to INIT changes only this port
		{armed, armed, mad.StatusOK},
		{armed, armed, mad.StatusOK},
		{active, active, mad.StatusOK},
		{armed, active, mad.StatusInvalidAttrValue},
		{active, active, mad.StatusOK},
		{mad.StateDown, init, mad.StatusOK},
	}
	for i, s := range steps {
		r.setPort(state(s.set), s.status, 1, 1)
		if got := r.portInfo(1, 1).State; got != s.after {
			t.Errorf("step %d: setting %d resulted in state %d, want %d", i, s.set, got, s.after)
		}
		if on := r.net.PortActive(leaf1, 1); on != (s.after == active) {
			t.Errorf("step %d: the data path has active %t", i, on)
		}
	}
	if got := r.portInfo(0).State; got != init {
		t.Errorf("the other end is in state %d after LinkDown, want INIT", got)
	}
}

func TestWrittenPortInfoIsStoredAndReturned(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{SMMode: Cold})
	got := r.setPort(func(i *mad.PortInfo) {
		i.LID, i.LMC, i.MasterSMLID, i.MasterSMSL, i.GIDPrefix = 8, 1, 4, 3, 0xfec0000000000000
		i.NeighborMTU, i.OperationalVLs, i.VLHighLimit, i.HOQLife, i.SubnetTimeout = 4, 3, 9, 12, 20
		i.LinkWidthEnabled, i.LinkSpeedEnabled, i.LinkSpeedExtEnabled = 2, 15, 0
		i.ClientReregister = true
	}, mad.StatusOK, 0)
	if got.LID != 8 || got.LMC != 1 || got.MasterSMLID != 4 || got.MasterSMSL != 3 || got.GIDPrefix != 0xfec0000000000000 {
		t.Errorf("addresses: %+v", got)
	}
	if got.NeighborMTU != 4 || got.OperationalVLs != 3 || got.VLHighLimit != 9 || got.HOQLife != 12 || got.SubnetTimeout != 20 {
		t.Errorf("limits: %+v", got)
	}
	if got.LinkWidthEnabled != 2 || got.LinkSpeedEnabled != 7 || got.LinkSpeedExtEnabled != 3 || !got.ClientReregister {
		t.Errorf("enabled widths and speeds: %+v", got)
	}
	if lid, lmc := r.net.LID(host1, 1); lid != 8 || lmc != 1 {
		t.Errorf("the data path has LID %d, LMC %d", lid, lmc)
	}
	if n := r.net.OperationalVLs(host1, 1); n != 4 {
		t.Errorf("the data path has %d lanes, want 4", n)
	}
	if n := r.net.VLHighLimit(host1, 1); n != 9 {
		t.Errorf("the data path has high limit %d, want 9", n)
	}
	if r.portInfo(0).ClientReregister {
		t.Error("ClientReregister is still set")
	}
	for name, f := range map[string]func(*mad.PortInfo){
		"multicast LID":   func(i *mad.PortInfo) { i.LID = 0xc000 },
		"LID not aligned": func(i *mad.PortInfo) { i.LID, i.LMC = 9, 1 },
		"MTU":             func(i *mad.PortInfo) { i.NeighborMTU = 6 },
		"VLs":             func(i *mad.PortInfo) { i.OperationalVLs = 5 },
		"physical state":  func(i *mad.PortInfo) { i.PhysState = mad.PhysLinkUp },
	} {
		r.setPort(f, mad.StatusInvalidAttrValue, 0)
		if lid := r.portInfo(0).LID; lid != 8 {
			t.Errorf("%s: refused, but the LID is now %d", name, lid)
		}
	}
}

func TestSwitchPortsHaveNoLID(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{SMMode: Cold})
	if got := r.setPort(func(i *mad.PortInfo) { i.LID, i.MasterSMLID = 9, 9 }, mad.StatusOK, 1, 1); got.LID != 0 || got.MasterSMLID != 0 {
		t.Errorf("external port accepted LID %d, SM LID %d", got.LID, got.MasterSMLID)
	}
	if got := r.setPort(func(i *mad.PortInfo) { i.LID = 9 }, mad.StatusOK, 0, 1); got.LID != 9 {
		t.Errorf("port 0 has LID %d", got.LID)
	}
}

func TestOnlyActiveLinksCarryGeneralManagement(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{SMMode: Cold})
	r.setPort(func(i *mad.PortInfo) { i.LID = 9 }, mad.StatusOK, 0, 1)
	perf := mad.NewPerf(mad.MethodGet, mad.AttrClassPortInfo, 0)
	smp := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
	if _, v := r.send(9, perf); v.Outcome != Undeliverable {
		t.Errorf("class 4 in INIT: %s", v.Outcome)
	}
	if _, v := r.send(9, smp); v.Outcome != Replied {
		t.Errorf("class 1 in INIT: %s", v.Outcome)
	}
	r.bringUp()
	if _, v := r.send(9, perf); v.Outcome != Replied {
		t.Errorf("class 4 when active: %s", v.Outcome)
	}
}

func TestDisableAndEnableALink(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{SMMode: Cold})
	r.bringUp()
	clearChange := mad.SwitchInfo{PortStateChange: true}
	r.ask(0, r.with(r.directed(mad.MethodSet, mad.AttrSwitchInfo, 0, 1), &clearChange))
	got := r.setPort(func(i *mad.PortInfo) { i.PhysState = mad.PhysDisabled }, mad.StatusOK, 39, 1)
	if got.State != mad.StateDown || got.PhysState != mad.PhysDisabled {
		t.Errorf("disabled: state %d, physical %d", got.State, got.PhysState)
	}
	var sw mad.SwitchInfo
	if r.read(r.ask(0, r.directed(mad.MethodGet, mad.AttrSwitchInfo, 0, 1)), &sw); !sw.PortStateChange {
		t.Error("PortStateChange is not set")
	}
	if far := r.portInfo(39, 1, 40); far.State != mad.StateDown || far.PhysState != mad.PhysPolling {
		t.Errorf("other end: state %d, physical %d", far.State, far.PhysState)
	}
	got = r.setPort(func(i *mad.PortInfo) { i.PhysState = mad.PhysPolling }, mad.StatusOK, 39, 1)
	if got.State != mad.StateInit || got.PhysState != mad.PhysLinkUp {
		t.Errorf("enabled again: state %d, physical %d", got.State, got.PhysState)
	}
}

func TestLinkChangeSendsTrap128(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	sm := subnet.PortRef{Node: host1, Port: 1}
	traps := r.dev.subscribe()
	defer r.dev.unsubscribe(traps)
	cable := subnet.PortRef{Node: leaf1, Port: 39}
	r.dev.SetLink(cable, false)
	if len(traps) != 0 {
		t.Error("a trap was sent without a subnet manager")
	}
	r.dev.SetLink(cable, true)
	if got := r.portInfo(39, 1).State; got != mad.StateActive {
		t.Errorf("link state with the built-in stand-in: %d", got)
	}
	r.dev.SetSM(sm, true)
	r.dev.SetLink(cable, false)
	r.dev.SetLink(cable, false) // no change, no trap
	if len(traps) != 2 {
		t.Fatalf("%d traps, want one from each switch", len(traps))
	}
	for _, at := range []int32{leaf1, leaf2} {
		tr := <-traps
		var n mad.Notice
		var detail mad.LinkStateChange
		r.read(tr.msg.MAD, &n)
		if err := detail.Decode(n.Details[:]); err != nil {
			t.Fatal(err)
		}
		if tr.to != sm || n.TrapNumber != 128 || !n.Generic || detail.LID != r.lid(at) || tr.msg.DLID != r.lid(host1) {
			t.Errorf("trap %d of LID %d to %+v", n.TrapNumber, detail.LID, tr.to)
		}
		if tr.msg.MAD.Class() != mad.ClassSubnLID || tr.msg.MAD.Method() != mad.MethodTrap {
			t.Errorf("trap is a %s", tr.msg.MAD.String())
		}
	}
	r.dev.SetLink(cable, true)
	if got := r.portInfo(39, 1).State; got != mad.StateInit {
		t.Errorf("with a subnet manager the link comes up in state %d, want INIT", got)
	}
}

func TestTrafficStopsAndStartsWithTheLink(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	id := r.flow(host1, host2, 0)
	r.dev.Advance(100 * quantity.Microsecond)
	r.dev.SetLink(subnet.PortRef{Node: host2, Port: 1}, false)
	r.dev.Advance(10 * quantity.Microsecond)
	before := r.net.Delivered(id)
	r.dev.Advance(100 * quantity.Microsecond)
	if now := r.net.Delivered(id); before == 0 || now != before {
		t.Errorf("delivered %d bytes, then %d more over a disconnected link", before, now-before)
	}
	r.dev.SetLink(subnet.PortRef{Node: host2, Port: 1}, true)
	r.dev.Advance(100 * quantity.Microsecond)
	if now := r.net.Delivered(id); now == before {
		t.Error("nothing is delivered after the link was connected again")
	}
}

// speedAfter runs the fabric for 200 us, after 50 us of warm-up, and returns the rate of a flow.
func (r *rig) speedAfter(id fabric.FlowID) quantity.BitRate {
	r.dev.Advance(50 * quantity.Microsecond)
	before := r.net.Delivered(id)
	r.dev.Advance(200 * quantity.Microsecond)
	return quantity.BitRate(float64(r.net.Delivered(id)-before) * 8 / 200e-6)
}

// Enabled widths and speeds take effect when the link trains again: in the fields of both ends, and in the rate of the
// traffic.
func TestEnabledWidthAndSpeedActAfterAReset(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	id := r.flow(host1, host2, 0)
	near := func(what string, got, want quantity.BitRate) {
		t.Helper()
		if float64(got) < 0.97*float64(want) || float64(got) > 1.005*float64(want) {
			t.Errorf("%s: %s, want about %s", what, got, want)
		}
	}
	const full, edr = 100 * quantity.Gbps, 2
	near("at first", r.speedAfter(id), full)
	polling := func(i *mad.PortInfo) { i.PhysState = mad.PhysPolling }
	for _, c := range []struct {
		what string
		set  func(*mad.PortInfo)
		// active values after the reset
		width, speed, ext uint8
		rate              quantity.BitRate
	}{
		{"1x", func(i *mad.PortInfo) { i.LinkWidthEnabled = 1 }, 1, 4, edr, 25 * quantity.Gbps},
		{"1x FDR", func(i *mad.PortInfo) { i.LinkSpeedExtEnabled = 1 }, 1, 4, 1, 13_636_363_636},
		{"4x FDR", func(i *mad.PortInfo) { i.LinkWidthEnabled = 3 }, 2, 4, 1, 4 * 13_636_363_636},
		{"4x DDR", func(i *mad.PortInfo) { i.LinkSpeedExtEnabled, i.LinkSpeedEnabled = extSpeedsOff, 3 }, 2, 2, 0, 16 * quantity.Gbps},
		{"all", func(i *mad.PortInfo) { i.LinkSpeedExtEnabled, i.LinkSpeedEnabled, i.LinkWidthEnabled = 31, 15, 255 }, 2, 4, edr, full},
	} {
		before := r.portInfo(2, 1)
		kept := r.setPort(c.set, mad.StatusOK, 2, 1)
		if kept.LinkWidthActive != before.LinkWidthActive || kept.LinkSpeedActive != before.LinkSpeedActive || kept.LinkSpeedExtActive != before.LinkSpeedExtActive {
			t.Errorf("%s takes effect before the reset: %+v", c.what, kept)
		}
		got := r.setPort(polling, mad.StatusOK, 2, 1)
		far := r.portInfo(0, 1, 2)
		for _, i := range []mad.PortInfo{got, far} {
			if i.LinkWidthActive != c.width || i.LinkSpeedActive != c.speed || i.LinkSpeedExtActive != c.ext || i.State != mad.StateActive {
				t.Errorf("%s: width %d, speed %d, extended %d, state %d", c.what, i.LinkWidthActive, i.LinkSpeedActive, i.LinkSpeedExtActive, i.State)
			}
		}
		near(c.what, r.speedAfter(id), c.rate)
	}
}

// Ends without a common speed stay down until a common speed is enabled. A reboot enables all speeds again.
func TestEndsWithoutACommonSpeedStayDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	// The paths are leaf1 through port 1, and leaf2 through ports 1 and 40. Port 39 of both is the same link.
	r.setPort(func(i *mad.PortInfo) { i.LinkSpeedExtEnabled, i.LinkSpeedEnabled = extSpeedsOff, 1 }, mad.StatusOK, 39, 1)
	r.setPort(func(i *mad.PortInfo) { i.LinkSpeedExtEnabled, i.LinkSpeedEnabled = extSpeedsOff, 6 }, mad.StatusOK, 39, 1, 40)
	got := r.setPort(func(i *mad.PortInfo) { i.State = mad.StateDown }, mad.StatusOK, 39, 1)
	if got.State != mad.StateDown || got.PhysState != mad.PhysPolling || got.LinkSpeedActive != 0 {
		t.Fatalf("nothing in common: %+v", got)
	}
	got = r.setPort(func(i *mad.PortInfo) { i.LinkSpeedEnabled, i.PhysState = 3, mad.PhysPolling }, mad.StatusOK, 39, 1)
	if got.State != mad.StateActive || got.LinkSpeedActive != 2 || got.LinkSpeedExtActive != 0 {
		t.Errorf("DDR in common: %+v", got)
	}
	for _, node := range []int32{leaf1, leaf2} {
		if err := r.dev.Reboot(node); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.portInfo(39, 1); got.LinkSpeedExtActive != 2 || got.LinkSpeedExtEnabled != 3 {
		t.Errorf("after a reboot of both: %+v", got)
	}
}
