package gnmi_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi"
	"fairlane/internal/quantity"
	"fairlane/sim/gnmidev"
)

func TestPreflightOfLosslessTraffic(t *testing.T) {
	t.Parallel()
	type fields = map[string]string
	for name, c := range map[string]struct {
		change   func(s *fakeSwitch, c tables)
		x        gnmi.Expectation
		codes    string
		wantText string
	}{
		"a small profile": {func(_ *fakeSwitch, c tables) {
			c["BUFFER_PROFILE"]["small"] = fields{"pool": "ingress_lossless_pool", "size": "0", "xoff": "18000"}
			c["BUFFER_PG"]["Ethernet4|3"] = fields{"profile": "small"}
		}, roce, "headroom-short Ethernet4", "headroom of 18000 bytes by profile small, and at least 18896 arrive"},
		"a long cable of one port": {func(_ *fakeSwitch, c tables) { c["CABLE_LENGTH"]["AZURE"]["Ethernet4"] = "2000m" }, roce,
			"headroom-short Ethernet4", "at least 270790 arrive after a pause at 100 Gbit/s with 2000 m of cable"},
		"one faster port": {func(_ *fakeSwitch, c tables) {
			c["PORT"]["Ethernet0"]["speed"] = "800000"
			c["CABLE_LENGTH"]["AZURE"]["Ethernet0"], c["CABLE_LENGTH"]["AZURE"]["Ethernet4"] = "300m", "300m"
		}, roce, "headroom-short Ethernet0", "800 Gbit/s with 300 m"},
		"an oversubscribed pool": {func(_ *fakeSwitch, c tables) { c["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "100000" }, roce,
			"headroom-short Ethernet0,Ethernet4", "2 lossless priority groups may need 331776 bytes of headroom together and share the 100000 of pool ingress_lossless_pool: 3.3 times as much, want at most 3.0"},
		"an oversubscribed pool within the stated ratio": {func(_ *fakeSwitch, c tables) { c["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "120000" }, roce, "", ""},
		"groups with memory of their own":                {func(_ *fakeSwitch, c tables) { delete(c["BUFFER_POOL"]["ingress_lossless_pool"], "xoff") }, roce, "", ""},
		"no row of a group":                              {func(_ *fakeSwitch, c tables) { delete(c["BUFFER_PG"], "Ethernet4|3") }, roce, "headroom-short Ethernet4", "no row in BUFFER_PG"},
		"a lossy profile": {func(_ *fakeSwitch, c tables) {
			c["BUFFER_PROFILE"]["lossy"] = fields{"pool": "ingress_lossless_pool", "size": "0"}
			c["BUFFER_PG"]["Ethernet0|3"] = fields{"profile": "[BUFFER_PROFILE|lossy]"}
		}, roce, "headroom-short Ethernet0", "profile lossy, which has no xoff"},
		"a missing profile": {func(_ *fakeSwitch, c tables) { c["BUFFER_PG"]["Ethernet0|3"] = fields{"profile": "gone"} }, roce, "reference-missing Ethernet0", "BUFFER_PROFILE does not have"},
		"another group":     {func(_ *fakeSwitch, c tables) { c["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["3"] = "0" }, roce, "group-other Ethernet0,Ethernet4", "class 3 is in priority group 0"},
		"no buffers at all": {func(_ *fakeSwitch, c tables) { delete(c, "BUFFER_PG") }, roce, "headroom-unknown Ethernet0,Ethernet4", "not known"},
		"no buffers, and lossy": {func(_ *fakeSwitch, c tables) {
			delete(c, "BUFFER_PG")
			for _, port := range []string{"Ethernet0", "Ethernet4"} {
				c["PORT_QOS_MAP"][port]["pfc_enable"] = ""
			}
		}, gnmi.Expectation{DSCP: 26, Queue: 3, Lossy: true}, "", ""},
		"pause of a lossy class": {nil, gnmi.Expectation{DSCP: 26, Queue: 3, Lossy: true}, "pfc-on Ethernet0,Ethernet4", "pause is on for queue 3 by priority 3"},
		"a row without pfc_enable": {func(_ *fakeSwitch, c tables) { delete(c["PORT_QOS_MAP"]["Ethernet0"], "pfc_enable") }, roce,
			"pfc-off Ethernet0", "has no pfc_enable, with which SONiC turns pause off"},
		"the row of all ports has no pause": {func(_ *fakeSwitch, c tables) {
			delete(c["PORT_QOS_MAP"]["Ethernet0"], "pfc_enable")
			c["PORT_QOS_MAP"]["global"] = fields{"pfc_enable": "3"}
		}, roce, "pfc-off Ethernet0", "no pfc_enable"},
		"an egress buffer that drops": {func(_ *fakeSwitch, c tables) {
			c["BUFFER_PROFILE"]["out"] = fields{"pool": "egress_lossy_pool", "size": "0"}
			c["BUFFER_QUEUE"] = map[string]map[string]string{"Ethernet0|2-4": {"profile": "out"}}
		}, roce, "queue-lossy Ethernet0", "profile out of pool egress_lossy_pool"},
		"the DSCP of others": {func(_ *fakeSwitch, c tables) {
			c["DSCP_TO_TC_MAP"]["AZURE"]["24"], c["DSCP_TO_TC_MAP"]["AZURE"]["3"] = "3", "3"
		}, roce, "dscp-shared Ethernet0,Ethernet4", "DSCP 3, 24 into queue 3"},
		"mixed trust": {func(_ *fakeSwitch, c tables) {
			c["DOT1P_TO_TC_MAP"] = map[string]map[string]string{"P": {"3": "3"}}
			c["PORT_QOS_MAP"]["Ethernet4"]["dot1p_to_tc_map"] = "P"
		}, roce, "trust-mixed Ethernet4", "both dscp_to_tc_map AZURE and dot1p_to_tc_map P"},
		"a limit of the ASIC": {func(s *fakeSwitch, _ tables) {
			s.dbs["STATE_DB"] = tables{"BUFFER_MAX_PARAM_TABLE": {"Ethernet0": {"max_headroom_size": "18000"}, "Ethernet4": {"max_headroom_size": "19000"}}}
		}, roce, "headroom-short Ethernet0", "take 18432 bytes of headroom and the ASIC permits 18000"},
		"computed profiles, of which one was refused": {func(s *fakeSwitch, c tables) {
			c["BUFFER_PG"]["Ethernet0|3"], c["BUFFER_PG"]["Ethernet4|3"] = fields{"profile": "NULL"}, fields{"profile": "NULL"}
			s.dbs["APPL_DB"] = tables{
				"BUFFER_PG_TABLE":      {"Ethernet0:3-4": {"profile": "[BUFFER_PROFILE_TABLE:pg_lossless_100000_5m_profile]"}},
				"BUFFER_PROFILE_TABLE": {"pg_lossless_100000_5m_profile": {"pool": "ingress_lossless_pool", "xoff": "40000", "size": "20000"}},
			}
		}, roce, "headroom-short Ethernet4", "applied no profile to priority group 3"},
	} {
		_, _, d, dev := oneSwitch(t, c.change)
		found, err := d.Preflight(t.Context(), dev, c.x)
		if got := findingLines(t, name, found); err != nil || got != c.codes {
			t.Errorf("%s: findings %q, want %q: %v", name, got, c.codes, err)
		} else if c.wantText != "" && !strings.Contains(found[0].Text, c.wantText) {
			t.Errorf("%s: %q, want %q", name, found[0].Text, c.wantText)
		}
	}
}

func TestOversubscriptionIsStated(t *testing.T) {
	t.Parallel()
	r, s := newRig(t), roceSwitch(2)
	r.add(t, "leaf-1", s)
	s.config(func(c tables) { c["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "300000" })
	for ratio, want := range map[float64]string{1: "headroom-short Ethernet0,Ethernet4", 1.2: "", 0: ""} {
		d := r.driver(t, gnmi.SONiC, func(o *gnmi.Options) { o.Oversubscription = ratio })
		found, err := d.Preflight(t.Context(), switchDevice("leaf-1", 2), roce)
		if got := findingLines(t, fmt.Sprint(ratio), found); err != nil || got != want {
			t.Errorf("%g: findings %q, want %q: %v", ratio, got, want, err)
		}
	}
	for _, ratio := range []float64{0.5, -1, 101} {
		if _, err := gnmi.New(gnmi.Options{Target: func(driver.Device) (gnmi.Target, error) { return gnmi.Target{}, nil }, Oversubscription: ratio}); err == nil {
			t.Errorf("oversubscription %g was accepted", ratio)
		}
	}
}

// TestHeadroomOfASimulatedSwitch reads a switch with links of several rates.
func TestHeadroomOfASimulatedSwitch(t *testing.T) {
	t.Parallel()
	s, r := simulatedDevices(t)
	w := addSwitch(t, s, "leaf-1", gnmidev.SwitchOptions{})
	d, dev := r.driver(t, gnmi.SONiC), switchDevice("leaf-1", 4)
	got, err := d.Headroom(t.Context(), dev)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Ports) != 4 || len(got.Groups) != 4 || len(got.Pools) != 1 || got.Pools[0].Demand != 4*165888 {
		t.Errorf("%+v", got)
	}
	p := got.Ports[1]
	if p.Port != "Ethernet4" || p.Link.Rate != 100*quantity.Gbps || p.Link.Metres != 5 || p.Link.MTU != 9100 || !slices.Equal(p.Priorities, []uint8{3}) || !slices.Equal(p.Groups, []uint8{3}) || p.Reserved != 18432 {
		t.Errorf("port %+v", p)
	}
	w.Edit("CABLE_LENGTH", "AZURE", map[string]string{"Ethernet0": "5m", "Ethernet4": "40m", "Ethernet8": "2000m"})
	w.Edit("PORT_QOS_MAP", "Ethernet12", map[string]string{"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE", "pfc_to_queue_map": "AZURE"})
	found, err := d.Preflight(t.Context(), dev, roce)
	if got := findingLines(t, "simulated", found); err != nil || got != "pfc-off Ethernet12; headroom-short Ethernet8" {
		t.Errorf("findings %q: %v", got, err)
	}
	if got, err = d.Headroom(t.Context(), dev); err != nil || len(got.Ports[3].Priorities) != 0 {
		t.Errorf("a lossy port has %v: %v", got.Ports[3].Priorities, err)
	}
	addSwitch(t, s, "leaf-2", gnmidev.SwitchOptions{Dialect: gnmidev.OpenConfig})
	if _, err := r.driver(t, gnmi.OpenConfig).Headroom(t.Context(), switchDevice("leaf-2", 4)); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("OpenConfig: %v", err)
	}
}

// TestSwitchesWithAnyNumberOfLosslessClasses counts the lossless queues of switches with 0 to 6.
func TestSwitchesWithAnyNumberOfLosslessClasses(t *testing.T) {
	t.Parallel()
	for n := range 7 {
		_, _, d, dev := oneSwitch(t, func(_ *fakeSwitch, c tables) {
			var list []string
			for p := range n {
				list = append(list, fmt.Sprint(p))
				for _, port := range []string{"Ethernet0", "Ethernet4"} {
					c["BUFFER_PG"][fmt.Sprintf("%s|%d", port, p)] = map[string]string{"profile": "pg_lossless"}
				}
			}
			for _, port := range []string{"Ethernet0", "Ethernet4"} {
				if n <= 3 {
					delete(c["BUFFER_PG"], port+"|3")
				}
				c["PORT_QOS_MAP"][port]["pfc_enable"] = strings.Join(list, ",")
			}
		})
		got, err := d.Headroom(t.Context(), dev)
		if err != nil || len(got.Ports[0].Groups) != n || len(got.Ports[0].Priorities) != n || len(got.Groups) != 2*n {
			t.Errorf("%d lossless classes: %+v: %v", n, got, err)
		}
	}
}
