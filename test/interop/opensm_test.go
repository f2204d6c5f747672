package interop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/ccconfig/ibcc"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// qosConf is the configuration with which OpenSM spreads SLs over eight lanes.
const qosConf = "qos TRUE\nqos_max_vls 8\nqos_high_limit 5\nqos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\n" +
	"qos_vlarb_high 0:64,1:32\nqos_vlarb_low 0:64,1:64\n"

// noErrors fails if OpenSM logged an error, which would mean that a device gave an invalid answer.
func noErrors(t *testing.T, s *ibsimtest.SM) {
	t.Helper()
	for line := range strings.Lines(s.Log()) {
		if strings.Contains(line, " ERR ") {
			t.Errorf("opensm logged %s", line)
		}
	}
}

func TestOpenSMBringsUpAColdFabric(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]simdev.Options{
		"plain":     {SMMode: simdev.Cold, TimeScale: 1},
		"mellanox":  {SMMode: simdev.Cold, TimeScale: 1, Vendor: 0x0002c9},
		"with keys": {SMMode: simdev.Cold, TimeScale: 1, CCKey: 99},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, twoSwitches(t), fabric.Config{}, o)
			start := time.Now()
			s := l.startOpenSM(host(1), "")
			t.Logf("SUBNET UP %s after the start of the process", time.Since(start))
			noErrors(t, s)
			var flow fabric.FlowID
			l.dev.With(func(n *fabric.Network) {
				for i := range l.topo.Nodes {
					port := ident.PortNum(1)
					if l.topo.Nodes[i].Kind == subnet.KindSwitch {
						port = 0
					}
					if lid, _ := n.LID(int32(i), port); lid == 0 {
						t.Errorf("node %d has no LID", i)
					}
				}
				for i := range l.topo.Links {
					for _, end := range []subnet.PortRef{l.topo.Links[i].A, l.topo.Links[i].B} {
						if !n.PortActive(end.Node, end.Port) {
							t.Errorf("%s is not active", l.topo.PortName(end))
						}
					}
				}
				var err error
				flow, err = n.AddFlow(fabric.FlowSpec{
					Name: "h1 to h4", Src: subnet.PortRef{Node: 2, Port: 1}, Dst: subnet.PortRef{Node: 5, Port: 1}, QPs: 1,
				})
				if err != nil {
					t.Fatal(err)
				}
				n.RunUntil(n.Now() + 1e8) // 100 us
				if n.Delivered(flow) < 1e6 {
					t.Errorf("h1 to h4: %d bytes in 100 us on OpenSM's routes", n.Delivered(flow))
				}
				n.StopFlow(flow)
			})
		})
	}
}

func TestOpenSMProgramsPartitionsAndLanes(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1})
	partitions := filepath.Join(l.dir, "partitions.conf")
	text := "Default=0x7fff,ipoib:ALL=full;\nTenantA=0x10,sl=1,defmember=full:ALL=full;\n"
	if err := os.WriteFile(partitions, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := l.startOpenSM(host(1), qosConf+"partition_config_file "+partitions+"\n")
	noErrors(t, s)
	leaf, ca := l.lid(0), l.lid(4)
	wantMatch(t, l.run(host(3), "smpquery", "sl2vl", leaf, "11"),
		`ports: in  1, out 11: \| 0\| 1\| 2\| 3\| 4\| 5\| 6\| 7\| 0\| 1\| 2\|`)
	wantMatch(t, l.run(host(3), "smpquery", "vlarb", leaf, "11"),
		`LowCap 64 HighCap 64`, `(?s)High priority.*?VL    : \|0x0 \|0x1 \|.*?WEIGHT: \|0x40\|0x20\|0x0 \|`)
	wantMatch(t, l.run(host(3), "smpquery", "pkeys", ca), `0: 0xffff 0x8010 0x0000`, `128 pkeys capacity`)
	wantMatch(t, l.run(host(3), "smpquery", "pkeys", leaf, "1"), `0: 0xffff 0x8010 0x0000`, `32 pkeys capacity`)
	wantMatch(t, l.run(host(3), "smpquery", "portinfo", leaf, "11"), `VLHighLimit:\.+5$`, `OperVLs:\.+VL0-7$`)
	wantMatch(t, l.run(host(3), "saquery", "PR", "--slid", l.lid(2), "--dlid", ca, "--pkey", "0x8010"),
		`sl\.+0x1$`, `pkey\.+0x8010$`, `mtu\.+0x85$`)
	l.dev.With(func(n *fabric.Network) {
		if got := n.SL2VL(0, 1, 11)[9]; got != 1 {
			t.Errorf("in the data path SL 9 is on VL %d, want 1", got)
		}
		if got := n.VLArb(0, 11, true)[1]; got != (fabric.VLWeight{VL: 1, Weight: 32}) {
			t.Errorf("in the data path the second high entry is %+v", got)
		}
		if got := n.VLHighLimit(0, 11); got != 5 {
			t.Errorf("in the data path the high limit is %d, want 5", got)
		}
	})
}

// Fairlane's client queries OpenSM's subnet administration for the service level of a partition, as a rollout does to
// verify its placements. OpenSM's answer is shorter than a MAD.
func TestOpenSMReturnsThePartitionsServiceLevel(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1})
	partitions := filepath.Join(l.dir, "partitions.conf")
	text := "Default=0x7fff,ipoib:ALL=full;\nTenantA=0x10,sl=2,defmember=full:ALL=full;\n"
	if err := os.WriteFile(partitions, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.startOpenSM(host(1), qosConf+"partition_config_file "+partitions+"\n")
	c, err := ibsim.Dial(t.Context(), l.server.Addr(), ibsim.Options{NodeID: host(3)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // the fabric ends with the test
	var sm ident.LID
	l.dev.With(func(n *fabric.Network) { sm, _ = n.LID(2, 1) })
	for pkey, want := range map[ident.PKey]ident.SL{0x8010: 2, ident.DefaultPKey: 0} {
		req := mad.NewSA(mad.MethodGet, mad.AttrPathRecord, 0)
		req.SetComponentMask(mad.PathCompSLID | mad.PathCompDLID | mad.PathCompPKey | mad.PathCompNumbPath)
		q := mad.PathRecord{SLID: c.LID(), DLID: c.LID(), PKey: pkey, NumbPath: 1}
		if err := q.Encode(req.Data()); err != nil {
			t.Fatal(err)
		}
		resp, err := c.Exchange(t.Context(), mad.Target{LID: sm}, &req)
		if err != nil || resp.Status() != mad.StatusOK {
			t.Fatalf("path in partition %s: status %v, error %v", pkey, resp.Status(), err)
		}
		var got mad.PathRecord
		if err := got.Decode(resp.Data()); err != nil || got.SL != want || got.PKey != pkey {
			t.Errorf("path in partition %s: SL %d, P_Key %s, error %v; want SL %d", pkey, got.SL, got.PKey, err, want)
		}
	}
}

func TestOpenSMSweepsAgainWhenALinkChanges(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1})
	s := l.startOpenSM(host(1), "")
	trunk := subnet.PortRef{Node: 0, Port: 11}
	l.dev.SetLink(trunk, false)
	// Without the trap, the next light sweep would be 10 s later.
	s.WaitFor("SUBNET UP", 2, subnetDeadline/6)
	wantMatch(t, l.run(host(3), "smpquery", "portinfo", l.lid(0), "11"), `LinkState:\.+Down$`)
	l.dev.With(func(n *fabric.Network) {
		lid, _ := n.LID(4, 1)
		if out := n.LFTBlock(0, int(lid)/64)[lid%64]; out != 12 {
			t.Errorf("h3 is routed by port %d, want 12", out)
		}
	})
	l.dev.SetLink(trunk, true)
	s.WaitFor("SUBNET UP", 3, subnetDeadline/6)
	wantMatch(t, l.run(host(3), "smpquery", "portinfo", l.lid(0), "11"), `LinkState:\.+Active$`)
}

func TestOpenSMTakesOverAConfiguredFabric(t *testing.T) {
	t.Parallel()
	topo := twoSwitches(t)
	l := newLab(t, topo, fabric.Config{}, simdev.Options{TimeScale: 1})
	before := l.lid(4)
	s := l.startOpenSM(host(1), "")
	noErrors(t, s)
	if after := l.lid(4); after != before {
		t.Errorf("h3 had LID %s and now has %s", before, after)
	}
}

// OpenSM's own congestion-control manager writes to Fairlane's devices, which then drift.
func TestOpenSMsCongestionControlManagerWrites(t *testing.T) {
	t.Parallel()
	l := newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1})
	l.startOpenSM(host(1), "congestion_control TRUE\n"+
		"cc_sw_cong_setting_control_map 0x1f\ncc_sw_cong_setting_threshold 9\ncc_sw_cong_setting_marking_rate 44\n"+
		"cc_ca_cong_setting_control_map 0x2\ncc_ca_cong_setting_ccti_timer 1 150\ncc_ca_cong_setting_ccti_increase 1 3\n"+
		"cc_cct 0:0,1:2,2:3\n")
	check := func() (sw ibcc.SwitchSettings, sl ibcc.SLParams, limit uint16) {
		l.dev.With(func(n *fabric.Network) {
			_, params := n.CAParams(4, 1)
			sw, sl, limit = n.SwitchCC(1), params[1], n.CCTILimit(4, 1)
		})
		return sw, sl, limit
	}
	if err := eventually(func() bool { _, sl, limit := check(); return sl.Timer != 0 && limit != 0 }); err != nil {
		t.Fatal(err)
	}
	sw, sl, limit := check()
	if sw.Threshold != 9 || sw.MarkingRate != 44 || sl != (ibcc.SLParams{Timer: 150, Increase: 3}) || limit != 2 {
		t.Errorf("switch %+v, SL 1 %+v, limit %d", sw, sl, limit)
	}
}
