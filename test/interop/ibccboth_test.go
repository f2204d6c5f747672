package interop

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

const ccKey mad.Key = 0x1122334455667788

// ours returns Fairlane's driver on the lab's fabric, with two devices: a leaf and a host.
func (l *lab) ours() (d *ibmad.Driver, wire mad.Transport, leaf, ca driver.Device) {
	l.t.Helper()
	wire, err := l.dev.Local(subnet.PortRef{Node: 2, Port: 1})
	if err != nil {
		l.t.Fatal(err)
	}
	if d, err = ibmad.New(wire, ibmad.Options{CCKey: ccKey}); err != nil {
		l.t.Fatal(err)
	}
	device := func(node int32, port ident.PortNum) driver.Device {
		n := &l.topo.Nodes[node]
		lid, err := strconv.Atoi(l.lid(node))
		if err != nil {
			l.t.Fatal(err)
		}
		v := driver.Device{Plane: "ib", ID: ident.PortID{Node: n.GUID, Port: port}, Name: n.Name, Kind: n.Kind, LID: ident.LID(lid)}
		if port == 0 {
			v.Ports = len(n.Ports) - 1
		}
		return v
	}
	return d, wire, device(0, 0), device(4, 1)
}

// line is one line of ibccquery's output.
type line struct{ name, value string }

var dotted = regexp.MustCompile(`(?m)^(\w+):\.*(\S*)$`)

func dump(text string) (out []line) {
	for _, m := range dotted.FindAllStringSubmatch(text, -1) {
		out = append(out, line{m[1], m[2]})
	}
	return out
}

// number parses "12", "0x0c" or, for return delays and masks, longer hexadecimal.
func number(t *testing.T, text string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		t.Fatalf("%q is no number", text)
	}
	return v
}

// Fairlane's Read returns what each operation of ibccconfig writes.
func TestOurReadAgreesWithEveryIbccconfig(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1, CCKey: ccKey})
	d, _, leaf, ca := l.ours()
	config := func(op string, args ...string) {
		t.Helper()
		l.run(host(1), "ibccconfig", append([]string{"-c", fmt.Sprintf("%#x", uint64(ccKey)), op}, args...)...)
	}
	first, second := []string{l.lid(4), "63", "0"}, []string{l.lid(4), "127", "64"}
	want := driver.Settings{CA: &ibcc.CASettings{PerSL: true, Limit: 127, Table: make([]ibcc.Entry, 128)}}
	for i := range want.CA.Table {
		e := ibcc.Entry{Shift: uint8(i % 4), Multiplier: uint16(i * 127)}
		want.CA.Table[i] = e
		text := fmt.Sprintf("%d:%d", e.Shift, e.Multiplier)
		if i < 64 {
			first = append(first, text)
		} else {
			second = append(second, text)
		}
	}
	second[2] = "1" // the number of the block, not the index, contrary to the help text
	config("CongestionControlTable", first...)
	config("CongestionControlTable", second...)
	config("CACongestionSetting", l.lid(4), "1", "0xffff", "65535", "255", "9", "127")
	for sl := range want.CA.SLs {
		want.CA.SLs[sl] = ibcc.SLParams{Timer: 65535, Increase: 255, Trigger: 9, Min: 127}
	}
	if got, err := d.Read(t.Context(), ca); err != nil || !want.Equal(got) {
		t.Errorf("adapter: %v\n%s", err, cmp.Diff(want, got))
	}

	config("SwitchCongestionSetting", l.lid(0), "0x1F", "0x1806", "0x802", "12", "8", "5", "1:7", "100")
	config("SwitchPortCongestionSetting", l.lid(0), "11", "1", "0", "15", "8", "77")
	config("SwitchPortCongestionSetting", l.lid(0), "12", "1", "1", "3", "0", "0")
	marks := driver.Settings{Switch: &driver.SwitchState{Ports: make([]ibcc.PortMarking, 13), Defaults: ibcc.SwitchSettings{
		VictimMask: ibcc.PortMask{0x1806}, CreditMask: ibcc.PortMask{0x802}, Threshold: 12, PacketSize: 8,
		CSThreshold: 5, CSReturnDelay: ibcc.Entry{Shift: 1, Multiplier: 7}, MarkingRate: 100,
	}}}
	marks.Switch.Ports[11] = ibcc.PortMarking{Valid: true, Threshold: 15, PacketSize: 8, MarkingRate: 77}
	marks.Switch.Ports[12] = ibcc.PortMarking{Valid: true, CreditStarvation: true, Threshold: 3}
	if got, err := d.Read(t.Context(), leaf); err != nil || !marks.Equal(got) {
		t.Errorf("switch: %v\n%s", err, cmp.Diff(marks, got))
	}

	config("CongestionKeyInfo", l.lid(4), "0xAABB", "1", "30", "1")
	states, err := d.ReadKeys(t.Context(), []driver.Device{ca, leaf}, ibmad.KeyRead{Keys: []mad.Key{ccKey, 0xaabb}})
	if err != nil {
		t.Fatal(err)
	}
	if s := states[0]; s.Holder != ibmad.KeyKnown || s.Known != 1 || !s.Protect || s.LeaseSeconds != 30 {
		t.Errorf("the key that ibccconfig wrote: %v (%v)", s, s.Err)
	}
	if s := states[1]; s.Known != 0 || s.Protect {
		t.Errorf("the key of the other device: %v (%v)", s, s.Err)
	}
}

// ibccquery shows what Fairlane's driver writes, field by field.
func TestIbccqueryAgreesWithOurApply(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1, CCKey: ccKey})
	d, _, leaf, ca := l.ours()
	query := func(op string, args ...string) []line {
		t.Helper()
		return dump(l.run(host(1), "ibccquery", append([]string{"-c", fmt.Sprintf("%#x", uint64(ccKey)), op}, args...)...))
	}
	want := ibcc.CASettings{PerSL: true, Limit: 127, Table: make([]ibcc.Entry, 128)}
	for i := range want.Table {
		want.Table[i] = ibcc.Entry{Shift: uint8(i % 4), Multiplier: uint16(i * 127)}
	}
	for sl := range want.SLs {
		want.SLs[sl] = ibcc.SLParams{Timer: uint16(65535 - sl), Increase: uint8(sl + 1), Trigger: uint8(255 - sl), Min: uint8(sl)}
	}
	if _, err := d.Apply(t.Context(), ca, driver.Settings{CA: &want}); err != nil {
		t.Fatal(err)
	}
	got := l.adapter(l.lid(4), "-c", fmt.Sprintf("%#x", uint64(ccKey)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("adapter, ours and ibccquery's:\n%s", diff)
	}

	marks := driver.SwitchState{Ports: make([]ibcc.PortMarking, 13), Defaults: ibcc.SwitchSettings{
		VictimMask: ibcc.PortMask{0x1806}, Threshold: 12, PacketSize: 8,
		CSThreshold: 5, CSReturnDelay: ibcc.Entry{Shift: 1, Multiplier: 7}, MarkingRate: 100,
	}}
	for p := 1; p <= 12; p += 2 {
		marks.Ports[p] = ibcc.PortMarking{Valid: true, Threshold: uint8(p), PacketSize: uint8(10 * p), MarkingRate: uint16(1000 * p)}
	}
	if _, err := d.Apply(t.Context(), leaf, driver.Settings{Switch: &marks}); err != nil {
		t.Fatal(err)
	}
	for _, x := range query("SwitchCongestionSetting", l.lid(0)) {
		want, ok := map[string]string{
			"Victim_Mask": fmt.Sprintf("%064x", 0x1806), "Credit_Mask": fmt.Sprintf("%064x", 0), "Threshold": "0x0c", "Packet_Size": "8",
			"CS_Threshold": "0x05", "CS_ReturnDelay": "0x4007", "Marking_Rate": "100", "Control_Map": "0x00000000",
		}[x.name]
		if !ok || x.value != want {
			t.Errorf("switch: ibccquery says %s %s, want %q", x.name, x.value, want)
		}
	}
	for p := 1; p <= 12; p++ {
		m := ibcc.PortMarking{}
		for _, x := range query("SwitchPortCongestionSetting", l.lid(0), strconv.Itoa(p)) {
			switch v := x.value; x.name {
			case "Valid":
				m.Valid = number(t, v) != 0
			case "Control_Type":
				m.CreditStarvation = number(t, v) != 0
			case "Threshold":
				m.Threshold = uint8(number(t, v))
			case "Packet_Size":
				m.PacketSize = uint8(number(t, v))
			case "Cong_Parm_Marking_Rate":
				m.MarkingRate = uint16(number(t, v))
			}
		}
		if m != marks.Ports[p] {
			t.Errorf("port %d: ibccquery says %+v, want %+v", p, m, marks.Ports[p])
		}
	}
	caps, err := d.Capabilities(t.Context(), ca)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range query("CongestionInfo", l.lid(4)) {
		if x.name == "ControlTableCap" && int(number(t, x.value))*ibcc.BlockEntries != caps.TableEntries {
			t.Errorf("ibccquery says %s blocks of the table, Capabilities %d entries", x.value, caps.TableEntries)
		}
	}
}

// ibccquery needs, and shows, the keys that ChangeKeys sets.
func TestIbccqueryAgreesWithOurKeys(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1e-6, CCKey: ccKey})
	d, _, leaf, ca := l.ours()
	r, err := d.ChangeKeys(t.Context(), []driver.Device{leaf, ca}, ibmad.KeyChange{From: []mad.Key{ccKey}, Forever: true, Protect: true})
	if err == nil {
		t.Fatalf("protection without a key: %+v", r)
	}
	to := uint64(0xfeedfacecafe)
	if _, err := d.ChangeKeys(t.Context(), []driver.Device{leaf, ca}, takeKey(mad.Key(to))); err != nil {
		t.Fatal(err)
	}
	for _, lid := range []string{l.lid(0), l.lid(4)} {
		out := l.run(host(1), "ibccquery", "-c", fmt.Sprintf("%#x", to), "CongestionKeyInfo", lid)
		wantMatch(t, out, `CC_Key:\.+0x0000feedfacecafe$`, `CC_KeyProtectBit:\.+1$`, `CC_KeyLeasePeriod:\.+600$`)
		if out, err := l.try(host(1), "ibccquery", "-c", fmt.Sprintf("%#x", uint64(ccKey)), "CongestionKeyInfo", lid); err == nil {
			t.Errorf("the old key was answered:\n%s", out)
		}
	}
}

// The layout of events in an adapter's log is disputed: ibccquery uses that of libibmad. Fairlane does so for devices
// that are configured accordingly, and otherwise uses that of the annex.
func TestIbccqueryAgreesWithOurLogs(t *testing.T) {
	t.Parallel()
	layout := mad.CCLayout{LibibmadLog: true}
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1e-6, Layout: layout})
	_, wire, _, _ := l.ours()
	l.dev.With(func(n *fabric.Network) {
		n.SetSwitchCC(0, ibcc.SwitchSettings{Threshold: 12, MarkingRate: 4})
		var table [ibcc.BlockEntries]ibcc.Entry
		for i := range table {
			table[i].Multiplier = uint16(i)
		}
		var params [ident.NumSLs]ibcc.SLParams
		for sl := range params {
			params[sl] = ibcc.SLParams{Timer: 50, Increase: 1, Trigger: 2}
		}
		for _, h := range []int32{2, 4, 5} {
			n.SetCCTBlock(h, 1, 63, 0, table)
			n.SetCAParams(h, 1, false, params)
			if _, err := n.AddFlow(fabric.FlowSpec{Name: "flow", Src: subnet.PortRef{Node: h, Port: 1}, Dst: subnet.PortRef{Node: 3, Port: 1}, SL: 3, QPs: 1}); err != nil {
				t.Fatal(err)
			}
		}
		n.RunUntil(3 * quantity.Millisecond)
		for _, h := range []int32{2, 4, 5} { // no events are logged from here on
			n.SetCAParams(h, 1, false, [ident.NumSLs]ibcc.SLParams{})
		}
		n.SetSwitchCC(0, ibcc.SwitchSettings{})
	})
	lid, err := strconv.Atoi(l.lid(4))
	if err != nil {
		t.Fatal(err)
	}
	req := mad.NewCC(mad.MethodGet, mad.AttrCongestionLog, 0, 0)
	resp, err := mad.Call(t.Context(), wire, mad.Target{LID: ident.LID(lid)}, &req)
	if err != nil {
		t.Fatal(err)
	}
	var log mad.CongestionLogCA
	if err := layout.CALog(&log).Decode(resp.Data()); err != nil {
		t.Fatal(err)
	}
	var got []mad.CALogEvent
	head := map[string]string{}
	for _, x := range dump(l.run(host(1), "ibccquery", "CongestionLog", l.lid(4))) {
		if strings.HasPrefix(x.name, "Local_QP") {
			got = append(got, mad.CALogEvent{})
		}
		if len(got) == 0 {
			head[x.name] = x.value
			continue
		}
		e := &got[len(got)-1]
		switch v := x.value; {
		case strings.HasPrefix(x.name, "Local_QP"):
			e.LocalQP = ident.QPN(number(t, v))
		case strings.HasPrefix(x.name, "SL_"):
			e.SL = ident.SL(number(t, v))
		case strings.HasPrefix(x.name, "Service_Type"):
			e.Service = uint8(number(t, v))
		case strings.HasPrefix(x.name, "Remote_QP"):
			e.RemoteQP = ident.QPN(number(t, v))
		case strings.HasPrefix(x.name, "Local_LID"):
			e.LocalLID = ident.LID(number(t, v))
		case strings.HasPrefix(x.name, "Remote_LID"):
			e.RemoteLID = ident.LID(number(t, v))
		case strings.HasPrefix(x.name, "Timestamp"):
			e.TimeStamp = uint32(number(t, v))
		}
	}
	const whole = 9 // number of events in a complete message: the preload library truncates messages to 200 bytes
	if len(got) < whole || log.Events[2].LocalQP == 0 || log.Events[2].RemoteLID == 0 || log.Events[2].LocalLID != ident.LID(lid) {
		t.Fatalf("%d events, the third %+v: %v", len(got), log.Events[2], head)
	}
	for i := range whole {
		if got[i] != log.Events[i] {
			t.Errorf("event %d: ibccquery says %+v, we say %+v", i, got[i], log.Events[i])
		}
	}
}

// takeKey returns a change from the lab's key to another, with protection.
func takeKey(to mad.Key) ibmad.KeyChange {
	return ibmad.KeyChange{
		From: []mad.Key{ccKey}, To: to, Protect: true, LeaseSeconds: 600,
		Stored: func(context.Context) error { return nil },
	}
}
