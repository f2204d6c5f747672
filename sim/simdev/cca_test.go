package simdev

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

func ccGet(a mad.AttrID, mod uint32) mad.Packet { return mad.NewCC(mad.MethodGet, a, mod, 0) }
func ccSet(a mad.AttrID, mod uint32) mad.Packet { return mad.NewCC(mad.MethodSet, a, mod, 0) }

// golden returns a request as ibccconfig 44.0 sent it: bytes 0-7, 16-31 and the data.
func golden(t *testing.T, attr, key, data string, pad int) mad.Packet {
	t.Helper()
	var p mad.Packet
	for at, text := range map[int]string{0: "0121020200000000", 16: attr + "000000000000", 24: key, 64 + pad: data} {
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		copy(p[at:], b)
	}
	return p
}

const noKey = "0000000000000000"

func TestGoldenCACongestionSetting(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{CCKey: 0x1122334455667788})
	r.ask(r.lid(host3), golden(t, "0016", "1122334455667788", "00 01 00 03 00 96 02 09 01 00 00 00 00 96 02 09 01", 0))
	perSL, params := r.net.CAParams(host3, 1)
	want := [ident.NumSLs]ibcc.SLParams{{Timer: 150, Increase: 2, Trigger: 9, Min: 1}, {Timer: 150, Increase: 2, Trigger: 9, Min: 1}}
	if !perSL || params != want {
		t.Errorf("per SL %t, %s", perSL, cmp.Diff(want, params))
	}
}

func TestGoldenCongestionControlTable(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	resp := r.ask(r.lid(host3), golden(t, "0017", noKey, "00 03 00 00 00 00 40 02 80 03 ff ff", 0))
	want := [ibcc.BlockEntries]ibcc.Entry{{}, {Shift: 1, Multiplier: 2}, {Shift: 2, Multiplier: 3}, {Shift: 3, Multiplier: 16383}}
	if got := r.net.CCTBlock(host3, 1, 0); got != want || r.net.CCTILimit(host3, 1) != 3 {
		t.Errorf("limit %d, %s", r.net.CCTILimit(host3, 1), cmp.Diff(want, got))
	}
	if got := hex.EncodeToString(resp.Data()[:12]); got != "00030000000040028003ffff" {
		t.Errorf("the response echoes %s", got)
	}
}

func TestGoldenSwitchCongestionSetting(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	p := golden(t, "0014", noKey, "00 00 00 1f", 0)
	p[64+35] = 6
	copy(p[64+68:], []byte{0xc0, 0x08, 0x50, 0x00, 0x40, 0x07, 0x00, 0x64})
	r.ask(r.lid(leaf1), p)
	want := ibcc.SwitchSettings{
		VictimMask: ibcc.PortMask{6}, Threshold: 12, PacketSize: 8, CSThreshold: 5,
		CSReturnDelay: ibcc.Entry{Shift: 1, Multiplier: 7}, MarkingRate: 100,
	}
	if diff := cmp.Diff(want, r.net.SwitchCC(leaf1)); diff != "" {
		t.Error(diff)
	}
}

func TestGoldenSwitchPortElement(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.ask(r.lid(leaf1), golden(t, "0015", noKey, "8f 08 00 64", 52))
	want := ibcc.PortMarking{Valid: true, Threshold: 15, PacketSize: 8, MarkingRate: 100}
	if got := r.net.PortMarking(leaf1, 13); got != want {
		t.Errorf("port 13: %+v", got)
	}
}

func TestGoldenCongestionKeyInfo(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.ask(r.lid(host3), golden(t, "0012", noKey, "00 00 00 00 00 00 aa bb 80 00 00 1e 00 01", 0))
	if k := r.dev.port(subnet.PortRef{Node: host3, Port: 1}).cc; k.key != 0xaabb || !k.protect || k.lease != 30 {
		t.Errorf("key %x, protect %t, lease %d", uint64(k.key), k.protect, k.lease)
	}
}

func TestControlMapOfSwitchSettingInBothOrders(t *testing.T) {
	t.Parallel()
	want := mad.SwitchCongestionSetting{
		VictimMask: mad.PortMask{2}, CreditMask: mad.PortMask{4}, Threshold: 3, PacketSize: 4,
		CSThreshold: 5, CSReturnDelay: mad.CCTEntry{Multiplier: 6}, MarkingRate: 7,
	}
	for _, reversed := range []bool{false, true} {
		for bit, only := range []ibcc.SwitchSettings{
			{VictimMask: ibcc.PortMask{2}}, {CreditMask: ibcc.PortMask{4}}, {Threshold: 3, PacketSize: 4},
			{CSThreshold: 5, CSReturnDelay: ibcc.Entry{Multiplier: 6}}, {MarkingRate: 7},
		} {
			r := newRig(t, Options{ReversedControlMap: reversed})
			w := want
			w.ControlMap = 1 << bit
			if reversed {
				w.ControlMap = 1 << (4 - bit)
			}
			r.ask(r.lid(leaf1), r.with(ccSet(mad.AttrSwitchCongestionSetting, 0), &w))
			if got := r.net.SwitchCC(leaf1); got != only {
				t.Errorf("reversed %t, map 0x%x: %+v", reversed, w.ControlMap, got)
			}
		}
	}
}

func TestSwitchPortBlocks(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	e := mad.SwitchPortElement{Valid: true, Threshold: 7, PacketSize: 2, MarkingRate: 9}
	block := mad.SwitchPortCongestionSetting{39 - 32: e, 31: e} // element 31 is port 63, which does not exist
	var got mad.SwitchPortCongestionSetting
	r.read(r.ask(r.lid(leaf1), r.with(ccSet(mad.AttrSwitchPortCongestionSetting, 1), &block)), &got)
	if r.net.PortMarking(leaf1, 39) != ibcc.PortMarking(e) || r.net.PortMarking(leaf1, 7).Valid {
		t.Errorf("port 39: %+v, port 7: %+v", r.net.PortMarking(leaf1, 39), r.net.PortMarking(leaf1, 7))
	}
	if want := (mad.SwitchPortCongestionSetting{39 - 32: e}); got != want {
		t.Errorf("read back %+v", got)
	}
	for _, mod := range []uint32{2, 1 << 31} {
		r.wantStatus(r.lid(leaf1), ccGet(mad.AttrSwitchPortCongestionSetting, mod), mad.StatusInvalidAttrValue)
	}

	empty := mad.SwitchPortCongestionSetting{}
	r.dev.SetFaults(Faults{IgnoreInvalidElements: true})
	r.ask(r.lid(leaf1), r.with(ccSet(mad.AttrSwitchPortCongestionSetting, 1), &empty))
	if !r.net.PortMarking(leaf1, 39).Valid {
		t.Error("a device that ignores invalid elements changed one")
	}
	r.dev.SetFaults(Faults{})
	r.ask(r.lid(leaf1), r.with(ccSet(mad.AttrSwitchPortCongestionSetting, 1), &empty))
	if r.net.PortMarking(leaf1, 39).Valid {
		t.Error("an invalid element does not return the port to the defaults")
	}
}

func TestControlMapOfCASetting(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	s := mad.CACongestionSetting{ControlMap: 1 << 2}
	for sl := range s.Entries {
		s.Entries[sl] = mad.CACongestionEntry{Timer: 100, Increase: uint8(sl + 1)}
	}
	lid := r.lid(host3)
	r.ask(lid, r.with(ccSet(mad.AttrCACongestionSetting, 0), &s))
	if _, p := r.net.CAParams(host3, 1); p != ([ident.NumSLs]ibcc.SLParams{2: {Timer: 100, Increase: 3}}) {
		t.Errorf("map 0x4: %v", p)
	}
	r.dev.SetFaults(Faults{IgnoreControlMap: true, ClampTimer: 50, ClampIncrease: 8})
	var got mad.CACongestionSetting
	r.read(r.ask(lid, r.with(ccSet(mad.AttrCACongestionSetting, 0), &s)), &got)
	for sl, e := range got.Entries {
		if e.Timer != 50 || int(e.Increase) != min(sl+1, 8) {
			t.Errorf("sloppy device, SL %d: %+v", sl, e)
		}
	}
}

func TestControlTableBlocks(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	lid := r.lid(host4)
	var info mad.CongestionInfo
	r.read(r.ask(lid, ccGet(mad.AttrCongestionInfo, 0)), &info)
	if info.ControlTableCap != 2 {
		t.Fatalf("capacity %d blocks, want 2", info.ControlTableCap)
	}
	block := mad.CongestionControlTable{Limit: 127, Entries: [64]mad.CCTEntry{63: {Shift: 3, Multiplier: 9}}}
	r.ask(lid, r.with(ccSet(mad.AttrCongestionControlTable, 1), &block))
	if got := r.net.CCTBlock(host4, 2, 1)[63]; got != (ibcc.Entry{Shift: 3, Multiplier: 9}) {
		t.Errorf("entry 127 of port 2: %+v", got)
	}
	var first mad.CongestionControlTable
	r.read(r.ask(lid, ccGet(mad.AttrCongestionControlTable, 0)), &first)
	if first.Limit != 127 {
		t.Errorf("block 0 reports limit %d, want 127, the limit of the whole table", first.Limit)
	}
	r.wantStatus(lid, ccGet(mad.AttrCongestionControlTable, 2), mad.StatusInvalidAttrValue)
	block.Limit = 128
	r.wantStatus(lid, r.with(ccSet(mad.AttrCongestionControlTable, 1), &block), mad.StatusInvalidAttrValue)
}

func TestAttributesOfTheOtherKindOfNode(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	for _, a := range []mad.AttrID{mad.AttrSwitchCongestionSetting, mad.AttrSwitchPortCongestionSetting} {
		r.wantStatus(r.lid(host3), ccGet(a, 0), mad.StatusBadMethodAttr)
	}
	for _, a := range []mad.AttrID{mad.AttrCACongestionSetting, mad.AttrCongestionControlTable, 0x19} {
		r.wantStatus(r.lid(leaf1), ccGet(a, 0), mad.StatusBadMethodAttr)
	}
	for _, a := range []mad.AttrID{mad.AttrCongestionInfo, mad.AttrCongestionLog, mad.AttrTimeStamp} {
		r.wantStatus(r.lid(host3), ccSet(a, 0), mad.StatusBadMethodAttr)
	}
	var info mad.CongestionInfo
	if r.read(r.ask(r.lid(leaf1), ccGet(mad.AttrCongestionInfo, 0)), &info); info.ControlTableCap != 0 {
		t.Errorf("a switch reports %d table blocks", info.ControlTableCap)
	}
}

func TestCCKeyGuardsTheAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{CCKey: 0xabc})
	lid := r.lid(host3)
	keyed := func(p mad.Packet) mad.Packet { p.SetCCKey(0xabc); return p }
	keyInfo := func(p mad.Packet) mad.CongestionKeyInfo {
		var k mad.CongestionKeyInfo
		r.read(r.ask(lid, p), &k)
		return k
	}
	silent := func(what string, p mad.Packet) {
		if _, v := r.send(lid, p); v.Outcome != Undeliverable {
			t.Errorf("%s: %s, want silence", what, v.Outcome)
		}
	}
	s := mad.CACongestionSetting{ControlMap: 0xffff, Entries: [16]mad.CACongestionEntry{{Timer: 1}}}
	silent("Set without the key", r.with(ccSet(mad.AttrCACongestionSetting, 0), &s))
	if _, p := r.net.CAParams(host3, 1); p[0].Timer != 0 {
		t.Error("a Set without the key took effect")
	}
	if k := keyInfo(ccGet(mad.AttrCongestionKeyInfo, 0)); k.CCKey != 0xabc || k.Violations != 1 {
		t.Errorf("unprotected Get: %d violations", k.Violations)
	}

	protect := mad.CongestionKeyInfo{CCKey: 0xabc, Protect: true, LeasePeriod: 5, Violations: 1}
	if k := keyInfo(keyed(r.with(ccSet(mad.AttrCongestionKeyInfo, 0), &protect))); k.Violations != 1 {
		t.Errorf("writing a non-zero count left %d violations, want 1", k.Violations)
	}
	silent("protected Get without the key", ccGet(mad.AttrCongestionKeyInfo, 0))
	var log mad.CongestionLogCA
	if r.read(r.ask(lid, keyed(ccGet(mad.AttrCongestionLog, 0))), &log); log.LeaseActive {
		t.Error("the correct key did not stop the lease")
	}
	silent("again", ccGet(mad.AttrTimeStamp, 0))
	r.dev.Advance(4 * quantity.Second)
	silent("within the lease", ccGet(mad.AttrTimeStamp, 0))
	r.dev.Advance(2 * quantity.Second)
	if k := keyInfo(ccGet(mad.AttrCongestionKeyInfo, 0)); k.Protect || k.CCKey != 0xabc || k.Violations != 4 {
		t.Errorf("after the lease: protect %t, %d violations", k.Protect, k.Violations)
	}
	protect.Violations = 0
	if k := keyInfo(keyed(r.with(ccSet(mad.AttrCongestionKeyInfo, 0), &protect))); k.Violations != 0 {
		t.Errorf("writing zero left %d violations", k.Violations)
	}
}

func TestTimeStampIsSimulatedTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.dev.Advance(1_024 * quantity.Microsecond)
	var stamp mad.TimeStamp
	if r.read(r.ask(r.lid(leaf2), ccGet(mad.AttrTimeStamp, 0)), &stamp); stamp != 1000 {
		t.Errorf("after 1024 us the time stamp is %d, want 1000", stamp)
	}
	r.dev.Advance(quantity.Picoseconds(1<<32) * ibcc.TimerUnitPicoseconds)
	if r.read(r.ask(r.lid(leaf2), ccGet(mad.AttrTimeStamp, 0)), &stamp); stamp != 1000 {
		t.Errorf("after another 2^32 units the time stamp is %d, want 1000", stamp)
	}
}

func TestClassPortInfoKeepsTheTrapAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	for _, c := range []mad.Class{mad.ClassCongestion, mad.ClassPerf} {
		p := ccGet(mad.AttrClassPortInfo, 0)
		if c == mad.ClassPerf {
			p = mad.NewPerf(mad.MethodGet, mad.AttrClassPortInfo, 0)
		}
		var got mad.ClassPortInfo
		r.read(r.ask(r.lid(host3), p), &got)
		if got.ClassVersion != c.Version() || got.BaseVersion != 1 || got.Trap.LID != 0 {
			t.Errorf("%s: %+v", c, got)
		}
		got.Trap.LID, got.CapabilityMask = 5, 0xffff
		want := got.Trap
		p.SetMethod(mad.MethodSet)
		r.read(r.ask(r.lid(host3), r.with(p, &got)), &got)
		if got.Trap != want || got.CapabilityMask == 0xffff {
			t.Errorf("%s after Set: %+v", c, got)
		}
	}
}

// congest enables marking and the reaction of sources by management datagrams, and starts flows from three hosts to host2.
func (r *rig) congest() {
	sw := mad.SwitchCongestionSetting{ControlMap: mad.ControlMapAll, Threshold: 12, MarkingRate: 4}
	table := mad.CongestionControlTable{Limit: 63}
	for i := range table.Entries {
		table.Entries[i].Multiplier = uint16(i)
	}
	ca := mad.CACongestionSetting{ControlMap: 0xffff}
	for sl := range ca.Entries {
		ca.Entries[sl] = mad.CACongestionEntry{Timer: 50, Increase: 1, Trigger: 2}
	}
	r.ask(r.lid(leaf1), r.with(ccSet(mad.AttrSwitchCongestionSetting, 0), &sw))
	for _, h := range []int32{host1, host3, host4} {
		r.ask(r.lid(h), r.with(ccSet(mad.AttrCongestionControlTable, 0), &table))
		r.ask(r.lid(h), r.with(ccSet(mad.AttrCACongestionSetting, 0), &ca))
		r.flow(h, host2, 3)
	}
}

func TestCongestionLogsRecordEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.congest()
	r.dev.Advance(3 * quantity.Millisecond)
	var sw mad.CongestionLogSwitch
	r.read(r.ask(r.lid(leaf1), ccGet(mad.AttrCongestionLog, 0)), &sw)
	if sw.LogType != mad.LogTypeSwitch || sw.EventsCounter == 0 || sw.CurrentTime == 0 {
		t.Errorf("switch log %+v", sw)
	}
	if sw.PortMap != (mad.PortMask{1 << 2}) {
		t.Errorf("ports that marked: %v, want port 2", sw.PortMap)
	}
	for i, e := range sw.Events {
		if e.DLID != r.lid(host2) || e.SL != 3 || e.TimeStamp == 0 {
			t.Errorf("switch event %d: %+v", i, e)
		}
	}
	var ca mad.CongestionLogCA
	r.read(r.ask(r.lid(host3), ccGet(mad.AttrCongestionLog, 0)), &ca)
	if ca.LogType != mad.LogTypeCA || ca.EventsCounter == 0 || ca.EventMap != 1<<3 {
		t.Errorf("channel adapter log %+v", ca)
	}
	if e := ca.Events[0]; e.SL != 3 || e.RemoteLID != r.lid(host2) || e.TimeStamp == 0 || e.LocalQP == 0 {
		t.Errorf("channel adapter event %+v", e)
	}
}

// With a table entry for line rate / (1 + multiplier), CCTI_Min limits a flow to that rate.
func TestCCTIMinCapsAFlow(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	id := r.flow(host1, host2, 1)
	rate := func() float64 {
		before := r.net.Delivered(id)
		r.dev.Advance(quantity.Millisecond)
		return float64(r.net.Delivered(id)-before) * 8 / 1e-3 / 1e9
	}
	r.dev.Advance(quantity.Millisecond)
	free := rate()
	table := mad.CongestionControlTable{Limit: 1, Entries: [64]mad.CCTEntry{1: {Multiplier: 3}}}
	ca := mad.CACongestionSetting{ControlMap: 2, Entries: [16]mad.CACongestionEntry{1: {Min: 1}}}
	r.ask(r.lid(host1), r.with(ccSet(mad.AttrCongestionControlTable, 0), &table))
	r.ask(r.lid(host1), r.with(ccSet(mad.AttrCACongestionSetting, 0), &ca))
	r.dev.Advance(quantity.Millisecond)
	capped := rate()
	if free < 95 || capped < 24 || capped > 26 {
		t.Errorf("unlimited %.1f Gbit/s, limited %.1f Gbit/s: want about 100 and 25", free, capped)
	}
}

func TestDevicesWithoutCongestionControl(t *testing.T) {
	t.Parallel()
	for cc, want := range map[CCSupport]string{
		CCSupported: "replied 0x0", CCNoAttribute: "replied 0xc", CCNoClass: "replied 0x4", CCSilent: "undeliverable 0x0",
	} {
		r := newRig(t, Options{Faults: Faults{CC: cc, Nodes: []int32{host3}}})
		m, v := r.send(r.lid(host3), ccGet(mad.AttrCongestionInfo, 0))
		if got := fmt.Sprintf("%s 0x%x", v.Outcome, uint16(m.MAD.Status())); got != want {
			t.Errorf("kind %d: %s, want %s", cc, got, want)
		}
		r.ask(r.lid(host2), ccGet(mad.AttrCongestionInfo, 0)) // other nodes are not affected
	}
}
