package interop

import (
	"fmt"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func TestSmpquery(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1})
	leaf, ca := l.lid(0), l.lid(4)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"nodeinfo", "-D", "0"}, []string{`NodeType:\.+Channel Adapter$`, `^Guid:\.+0x0000000000100000$`, `LocalPort:\.+1$`}},
		{[]string{"nodeinfo", "-D", "0,1,11"}, []string{`NodeType:\.+Switch$`, `^Guid:\.+0x0000000000200001$`, `NumPorts:\.+12$`, `LocalPort:\.+11$`}},
		{[]string{"nodeinfo", ca}, []string{`PortGuid:\.+0x0000000000100021$`, `PartCap:\.+128$`}},
		{[]string{"nodedesc", leaf}, []string{`Node Description:\.+leaf1$`}},
		{[]string{"switchinfo", leaf}, []string{`LinearFdbCap:\.+49152$`, `LinearFdbTop:\.+6$`, `PartEnforceCap:\.+32$`}},
		{[]string{"portinfo", ca, "1"}, []string{
			`^Lid:\.+` + ca + `$`, `SMLid:\.+` + l.lid(2) + `$`, `LinkState:\.+Active$`, `IsExtendedSpeedsSupported`,
			`LinkSpeedExtActive:\.+25.78125 Gbps$`, `NeighborMTU:\.+4096$`, `VLCap:\.+VL0-7$`,
		}},
		{[]string{"portinfo", "-D", "0,1", "11"}, []string{`LinkWidthActive:\.+4X$`, `PhysLinkState:\.+LinkUp$`}},
		{[]string{"pkeys", ca}, []string{`0: 0xffff 0x0000`}},
		{[]string{"sl2vl", ca}, []string{`ports: in  0, out  0: \| 0\| 0\|`}},
		{[]string{"vlarb", leaf, "1"}, []string{`VL    : \|0x0 \|0x1 \|0x2 \|`}},
		{[]string{"guidinfo", ca}, []string{`0x0000000000100021`}},
	} {
		wantMatch(t, l.run(host(1), "smpquery", tt.args...), tt.want...)
	}
}

// Routes by LID to a switch and from there by ports, with the requests that the tool sends.
func TestSmpqueryOverCombinedRoutes(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1})
	wantMatch(t, l.run(host(1), "smpquery", "-c", "nodeinfo", l.lid(0), "0,11"), `NodeType:\.+Switch$`, `^Guid:\.+0x0000000000200001$`, `LocalPort:\.+11$`)
	wantMatch(t, l.run(host(1), "smpquery", "-c", "nodedesc", l.lid(1), "0,11,1"), `Node Description:\.+h1 `)
}

// ibportstate's settings take effect on the link after a reset.
func TestIbportstateSetsWidthAndSpeed(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1})
	leaf := l.lid(0)
	l.run(host(1), "ibportstate", leaf, "11", "width", "1")
	l.run(host(1), "ibportstate", leaf, "11", "espeed", "1")
	l.run(host(1), "ibportstate", leaf, "11", "reset")
	wantMatch(t, l.run(host(1), "ibportstate", leaf, "11", "query"), `LinkWidthEnabled:\.+1X$`, `LinkWidthActive:\.+1X$`, `LinkSpeedExtActive:\.+14.0625 Gbps$`,
		`LinkState:\.+Active$`)
	wantMatch(t, l.run(host(1), "smpquery", "portinfo", l.lid(1), "11"), `LinkWidthActive:\.+1X$`)
}

// send runs a flow for 100 us of simulated time and stops it.
func (l *lab) send(src, dst int32, sl ident.SL) {
	l.t.Helper()
	l.dev.With(func(n *fabric.Network) {
		id, err := n.AddFlow(fabric.FlowSpec{
			Name: "counted", Src: subnet.PortRef{Node: src, Port: 1}, Dst: subnet.PortRef{Node: dst, Port: 1}, SL: sl, QPs: 1,
		})
		if err != nil {
			l.t.Fatal(err)
		}
		n.RunUntil(n.Now() + 100*quantity.Microsecond)
		n.StopFlow(id)
		n.RunUntil(n.Now() + 100*quantity.Microsecond)
	})
}

func (l *lab) counters(node int32, port ident.PortNum) (c fabric.PortCounters) {
	l.dev.With(func(n *fabric.Network) { c = n.Counters(node, port) })
	return c
}

// Every counter that the tools print matches the packets. The observed port is h2's end of its link: the only
// management packets that pass it are requests of the client on h1 to h2 itself.
func TestPerfquery(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1})
	leaf := l.lid(0)
	l.send(2, 3, 3) // h1 to h2 on SL 3: they leave leaf1 through port 2
	truth := l.counters(0, 2)
	if truth.XmitPkts < 100 {
		t.Fatalf("only %d packets were sent", truth.XmitPkts)
	}
	wantMatch(t, l.run(host(1), "perfquery", leaf, "2"),
		fmt.Sprintf(`PortXmitData:\.+%d$`, truth.XmitBytes/4), fmt.Sprintf(`PortXmitPkts:\.+%d$`, truth.XmitPkts),
		fmt.Sprintf(`PortRcvPkts:\.+%d$`, truth.RcvPkts), fmt.Sprintf(`PortXmitWait:\.+%d$`, truth.XmitWait))
	wantMatch(t, l.run(host(1), "perfquery", "-x", leaf, "2"),
		fmt.Sprintf(`PortXmitData:\.+%d$`, truth.XmitBytes/4), fmt.Sprintf(`PortUnicastXmitPkts:\.+%d$`, truth.XmitPkts))
	wantMatch(t, l.run(host(1), "perfquery", "-X", leaf, "2"),
		fmt.Sprintf(`XmtDataSL3:\.+%d$`, truth.XmitBytesSL[3]/4), `XmtDataSL2:\.+0$`)
	wantMatch(t, l.run(host(1), "perfquery", "-S", leaf, "2"),
		fmt.Sprintf(`RcvDataSL3:\.+%d$`, truth.RcvBytesSL[3]/4))
	wantMatch(t, l.run(host(1), "perfquery", "-a", leaf), `PortSelect:\.+255$`)
	wantMatch(t, l.run(host(1), "perfquery", "-l", leaf, "1-2"), `PortSelect:\.+1$`, `PortSelect:\.+2$`)

	l.run(host(1), "perfquery", "-R", leaf, "2")
	l.run(host(1), "perfquery", "-x", "-R", leaf, "2")
	wantMatch(t, l.run(host(1), "perfquery", leaf, "2"), `PortXmitData:\.+0$`, `PortXmitPkts:\.+0$`)
	wantMatch(t, l.run(host(1), "perfquery", "-x", leaf, "2"), `PortXmitData:\.+0$`, `PortRcvPkts:\.+0$`)
	if now := l.counters(0, 2); now.XmitBytesSL != truth.XmitBytesSL {
		t.Error("clearing by the tool changed the network's own counters")
	}
}

func TestPerfqueryOfCongestionCounters(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1})
	leaf := l.lid(0)
	l.run(host(1), "ibccconfig", "SS", leaf, "0x1F", "0", "0", "12", "8", "0", "0:0", "4")
	l.run(host(1), "ibccconfig", "CT", l.lid(2), "3", "0", "0:0", "0:1", "0:2", "0:3")
	l.run(host(1), "ibccconfig", "CS", l.lid(2), "0", "0xffff", "100", "1", "0", "0")
	l.dev.With(func(n *fabric.Network) {
		var flows []fabric.FlowID
		for _, src := range []int32{2, 4, 5} {
			id, err := n.AddFlow(fabric.FlowSpec{
				Name: "incast", Src: subnet.PortRef{Node: src, Port: 1}, Dst: subnet.PortRef{Node: 3, Port: 1}, SL: 2, QPs: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			flows = append(flows, id)
		}
		n.RunUntil(n.Now() + quantity.Millisecond)
		for _, id := range flows {
			n.StopFlow(id)
		}
		n.RunUntil(n.Now() + quantity.Millisecond)
	})
	to, from, sw := l.counters(3, 1), l.counters(2, 1), l.counters(0, 2)
	if to.RcvFECN == 0 || from.RcvBECN == 0 || sw.XmitTimeCongVL[0] == 0 {
		t.Fatalf("FECN %d, BECN %d, congested %d: want all above zero", to.RcvFECN, from.RcvBECN, sw.XmitTimeCongVL[0])
	}
	wantMatch(t, l.run(host(1), "perfquery", "--rcvcc", l.lid(3), "1"), fmt.Sprintf(`PortPktRcvFECN:\.+%d$`, to.RcvFECN), `PortPktRcvBECN:\.+0$`)
	wantMatch(t, l.run(host(1), "perfquery", "--slrcvfecn", l.lid(3), "1"), fmt.Sprintf(`PortSLRcvFECN2:\.+%d$`, to.RcvFECN))
	wantMatch(t, l.run(host(1), "perfquery", "--slrcvbecn", l.lid(2), "1"), fmt.Sprintf(`PortSLRcvBECN2:\.+%d$`, from.RcvBECN))
	wantMatch(t, l.run(host(1), "perfquery", "--xmitcc", leaf, "2"), fmt.Sprintf(`PortXmitTimeCong:\.+%d$`, sw.XmitTimeCongVL[0]))
	wantMatch(t, l.run(host(1), "perfquery", "--vlxmittimecc", leaf, "2"), fmt.Sprintf(`PortVLXmitTimeCong0:\.+%d$`, sw.XmitTimeCongVL[0]))
}

func TestSminfoAndSaqueryReachTheSubnetManager(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1})
	l.startOpenSM(host(2), "")
	wantMatch(t, l.run(host(3), "sminfo"), `sm lid `+l.lid(3)+` sm guid 0x100011, activity count \d+ priority 0 state 3 SMINFO_MASTER`)
	wantMatch(t, l.run(host(3), "saquery"), `NodeRecord dump`, `node_type\.+Channel Adapter`)
	pair := l.lid(2) + ":" + l.lid(5)
	wantMatch(t, l.run(host(3), "saquery", "PR", "--src-to-dst", pair), `dlid\.+`+l.lid(5)+`$`, `slid\.+`+l.lid(2)+`$`, `rate\.+0x90$`)
}

func TestSaqueryOfSimulatedSubnetAdministration(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{TimeScale: 1})
	l.dev.SetPartitionSL(0x8010, 6)
	wantMatch(t, l.run(host(3), "saquery", "PR", "--slid", l.lid(2), "--dlid", l.lid(5), "--pkey", "0x8010"),
		`sl\.+0x6$`, `pkey\.+0x8010$`, `dgid\.+fe80::10:31$`, `mtu\.+0x85$`, `rate\.+0x90$`)
	wantMatch(t, l.run(host(3), "saquery", "-c"), `SA ClassPortInfo`, `Class version\.+2$`)
}
