package interop

import (
	"strings"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
)

func TestEveryIbccquery(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1})
	leaf, ca := l.lid(0), l.lid(4)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"ClassPortInfo", ca}, []string{`BaseVersion:\.+1$`, `ClassVersion:\.+2$`}},
		{[]string{"CongestionInfo", ca}, []string{`CongestionInfo:\.+0x0000$`, `ControlTableCap:\.+2$`}},
		{[]string{"CongestionInfo", leaf}, []string{`ControlTableCap:\.+0$`}},
		{[]string{"CongestionKeyInfo", ca}, []string{`CC_Key:\.+0x0000000000000000$`, `CC_KeyViolations:\.+0$`}},
		{[]string{"CongestionLog", ca}, []string{`LogType:\.+2$`, `ThresholdEventCounter:\.+0$`, `CurrentTimeStamp:\.+\d+$`}},
		{[]string{"CongestionLog", leaf}, []string{`LogType:\.+1$`, `LogEventsCounter:\.+0$`}},
		{[]string{"SwitchCongestionSetting", leaf}, []string{`Threshold:\.+0x00$`, `Marking_Rate:\.+0$`}},
		{[]string{"SwitchPortCongestionSetting", leaf, "11"}, []string{`Valid:\.+0$`}},
		{[]string{"CACongestionSetting", ca}, []string{`Port_Control:\.+0x0000$`, `CCTI_Timer:\.+0$`}},
		{[]string{"CongestionControlTable", ca}, []string{`CCTI_Limit:\.+0$`}},
		{[]string{"Timestamp", ca}, []string{`Timestamp:\.+\d+$`}},
	} {
		wantMatch(t, l.run(host(1), "ibccquery", tt.args...), tt.want...)
	}
	if out, err := l.try(host(1), "ibccquery", "CACongestionSetting", leaf); err == nil {
		t.Errorf("a switch answered for a channel adapter:\n%s", out)
	}
}

func TestEveryIbccconfigIsSeenInTheNetworkAndReadBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1})
	leaf, ca := l.lid(0), l.lid(4)
	query := func(want []string, args ...string) {
		t.Helper()
		wantMatch(t, l.run(host(1), "ibccquery", args...), want...)
	}
	see := func(what string, f func(n *fabric.Network) bool) {
		t.Helper()
		l.dev.With(func(n *fabric.Network) {
			if !f(n) {
				t.Errorf("%s is not what the network has", what)
			}
		})
	}

	l.run(host(1), "ibccconfig", "CACongestionSetting", ca, "1", "0x3", "150", "2", "9", "1")
	query([]string{`Port_Control:\.+0x0001$`, `(?s)SL:\.+1\n.*?CCTI_Timer:\.+150\n.*?CCTI_Increase:\.+2\n.*?Trigger_Threshold:\.+9\n.*?CCTI_Min:\.+1\n`},
		"CACongestionSetting", ca)
	see("CACongestionSetting", func(n *fabric.Network) bool {
		perSL, p := n.CAParams(4, 1)
		want := ibcc.SLParams{Timer: 150, Increase: 2, Trigger: 9, Min: 1}
		return perSL && p[0] == want && p[1] == want && p[2] == ibcc.SLParams{}
	})

	l.run(host(1), "ibccconfig", "CongestionControlTable", ca, "3", "0", "0:0", "1:2", "2:3", "3:16383")
	query([]string{`CCTI_Limit:\.+3$`, `(?s)Entry:\.+3\n.*?CCT_Shift:\.+3\n.*?CCT_Multiplier:\.+16383\n`}, "CongestionControlTable", ca)
	see("CongestionControlTable", func(n *fabric.Network) bool {
		b := n.CCTBlock(4, 1, 0)
		return n.CCTILimit(4, 1) == 3 && b[1] == ibcc.Entry{Shift: 1, Multiplier: 2} && b[3] == ibcc.Entry{Shift: 3, Multiplier: 16383}
	})

	l.run(host(1), "ibccconfig", "SwitchCongestionSetting", leaf, "0x1F", "0x6", "0x800", "12", "8", "5", "1:7", "100")
	query([]string{`Victim_Mask:\.+0{63}6$`, `Credit_Mask:\.+0{61}800$`, `Threshold:\.+0x0c$`, `Packet_Size:\.+8$`, `CS_ReturnDelay:\.+0x4007$`, `Marking_Rate:\.+100$`},
		"SwitchCongestionSetting", leaf)
	see("SwitchCongestionSetting", func(n *fabric.Network) bool {
		return n.SwitchCC(0) == ibcc.SwitchSettings{
			VictimMask: ibcc.PortMask{6}, CreditMask: ibcc.PortMask{0x800}, Threshold: 12, PacketSize: 8,
			CSThreshold: 5, CSReturnDelay: ibcc.Entry{Shift: 1, Multiplier: 7}, MarkingRate: 100,
		}
	})

	l.run(host(1), "ibccconfig", "SwitchPortCongestionSetting", leaf, "11", "1", "0", "15", "8", "77")
	query([]string{`Valid:\.+1$`, `Control_Type:\.+0$`, `Threshold:\.+0x0f$`, `Cong_Parm_Marking_Rate:\.+77$`}, "SwitchPortCongestionSetting", leaf, "11")
	see("SwitchPortCongestionSetting", func(n *fabric.Network) bool {
		return n.PortMarking(0, 11) == ibcc.PortMarking{Valid: true, Threshold: 15, PacketSize: 8, MarkingRate: 77} && !n.PortMarking(0, 12).Valid
	})

	l.run(host(1), "ibccconfig", "CongestionKeyInfo", ca, "0xAABB", "1", "30", "1")
	query([]string{`CC_Key:\.+0x000000000000aabb$`, `CC_KeyProtectBit:\.+1$`, `CC_KeyLeasePeriod:\.+30$`}, "-c", "0xAABB", "CongestionKeyInfo", ca)
	if out, err := l.try(host(1), "ibccquery", "CongestionKeyInfo", ca); err == nil {
		t.Errorf("a query without the key was answered:\n%s", out)
	}
	query([]string{`CC_KeyViolations:\.+[1-9]\d*$`}, "-c", "0xAABB", "CongestionKeyInfo", ca)
}

// The settings of ibccconfig affect packets: CCTI_Min 1 with a table entry of 1/4 of the line rate.
func TestIbccconfigCapsTraffic(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1e-4})
	var id fabric.FlowID
	l.dev.With(func(n *fabric.Network) {
		var err error
		id, err = n.AddFlow(fabric.FlowSpec{
			Name: "capped", Src: subnet.PortRef{Node: 2, Port: 1}, Dst: subnet.PortRef{Node: 5, Port: 1}, SL: 1, QPs: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	rate := func() (gbit float64) {
		l.dev.With(func(n *fabric.Network) {
			n.RunUntil(n.Now() + 200*quantity.Microsecond) // until packets in flight have arrived
			before, since := n.Delivered(id), n.Now()
			n.RunUntil(since + quantity.Millisecond)
			gbit = float64(n.Delivered(id)-before) * 8 / (n.Now() - since).Seconds() / 1e9
		})
		return gbit
	}
	if free := rate(); free < 97 || free > 100.1 {
		t.Errorf("%.2f Gbit/s before, want about 100", free)
	}
	l.run(host(3), "ibccconfig", "CongestionControlTable", l.lid(2), "1", "0", "0:0", "0:3")
	l.run(host(3), "ibccconfig", "CACongestionSetting", l.lid(2), "0", "0x2", "0", "0", "0", "1")
	if capped := rate(); capped < 24.5 || capped > 25.5 {
		t.Errorf("%.2f Gbit/s with CCTI_Min 1 and entry 0:3, want 25", capped)
	}
	l.run(host(3), "ibccconfig", "CACongestionSetting", l.lid(2), "0", "0x2", "1", "0", "0", "0") // the timer lets the CCTI decrease again
	if free := rate(); free < 97 {
		t.Errorf("%.2f Gbit/s after, want about 100", free)
	}
}

func TestIbccqueryOfDevicesWithoutCongestionControl(t *testing.T) {
	t.Parallel()
	for name, cc := range map[string]simdev.CCSupport{"status 0x0c": simdev.CCNoAttribute, "status 0x04": simdev.CCNoClass, "silence": simdev.CCSilent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1, Faults: simdev.Faults{CC: cc, Nodes: []int32{4}}})
			if out, err := l.try(host(1), "ibccquery", "CongestionInfo", l.lid(4)); err == nil || !strings.Contains(out, "failed") {
				t.Errorf("%v:\n%s", err, out)
			}
			l.run(host(1), "ibccquery", "CongestionInfo", l.lid(5))
		})
	}
}
