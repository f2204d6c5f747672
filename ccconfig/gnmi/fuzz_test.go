package gnmi_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi"
	"fairlane/subnet/ident"
)

// legal fails the test unless the decoded settings are valid and in order.
func legal(t *testing.T, s driver.Settings, d driver.Device) {
	t.Helper()
	if err := s.ValidateRanges(d); err != nil {
		t.Errorf("decoded illegal settings: %v", err)
	}
	if !s.Equal(s.Clone()) {
		t.Error("decoded settings that differ from themselves")
	}
}

func FuzzDecodePort(f *testing.F) {
	f.Add([]byte(`{"fairlane-nic:params":{"param":[{"name":"rpg_gd","index":"0","config":{"value":"11"}}]}}`), []byte(`"1"`))
	f.Add([]byte(`{"params":{"param":[{"name":"b","index":3,"config":{"value":1}},{"name":"a"}]},"wrcc":{"config":{"domain":1,"t1-us":24,"min-rate-mbps":1,"increase":"ask"},"senders":{"sender":[{"name":"x","config":{"multiplier":1,"shift":0}}]}}}`), []byte(`3`))
	f.Add([]byte(`{}`), []byte(`null`))
	f.Fuzz(func(t *testing.T, port, card []byte) {
		s, err := gnmi.DecodePort(port, card)
		if err == nil {
			legal(t, s, nicDevice(driver.PlaneRoCE, ident.PortID{Node: 1, Port: 1}, "host"))
		}
	})
}

// FuzzScanPort checks that the scanner decodes every text that it accepts exactly as nicyang does.
func FuzzScanPort(f *testing.F) {
	f.Add([]byte(`{"fairlane-nic:number":"1","fairlane-nic:params":{"param":[{"index":"0","name":"rpg_gd","config":{"value":"11"}},{"name":"prio_tc","index":"3","config":{"value":"18446744073709551615"}}]}}`))
	f.Add([]byte(`{"fairlane-nic:params":{"param":[]}}`))
	f.Add([]byte(`{"fairlane-nic:params":{"param":[{"index":"0","index":"1","config":{"value":"1"}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		fast, slow, ok, err := gnmi.ScanPort(text)
		if !ok || err != nil && !strings.HasPrefix(err.Error(), "scanned") {
			return // the whole text is no legal one
		}
		if err != nil || !slices.Equal(fast.NIC.Params, slow.NIC.Params) || !reflect.DeepEqual(fast.NIC.WRCC, slow.NIC.WRCC) {
			t.Errorf("scanned as %+v, want %+v: %v", fast.NIC.Params, slow.NIC, err)
		}
	})
}

func TestScannerAcceptsAgentOutput(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"fairlane-nic:number":"1","fairlane-nic:params":{"param":[{"index":"0","name":"rpg_gd","config":{"value":"11"}},{"index":"2","name":"b","config":{"value":"0"}}]}}`: true,
		`{"fairlane-nic:params":{"param":[{"name":"rpg_gd","index":"0","config":{"value":"11"}}]}}`:                                                                           true,
		`{"fairlane-nic:params":{"param":[{"name":"rpg_gd","index":0,"config":{"value":"11"}}]}}`:                                                                             false,
		`{"fairlane-nic:params": {"param":[]}}`:                                                                      false,
		`{"fairlane-nic:params":{"param":[{"name":"a\u0062","index":"0","config":{"value":"11"}}]}}`:                 false,
		`{"fairlane-nic:params":{"param":[{"name":"a","index":"0","config":{"value":"01"}}]}}`:                       false,
		`{"fairlane-nic:params":{"param":[{"name":"a","index":"0","config":{"value":"99999999999999999999"}}]}}`:     false,
		`{"fairlane-nic:params":{"param":[{"name":"a","index":"4294967296","config":{"value":"1"}}]}}`:               false,
		`{"fairlane-nic:params":{"param":[{"name":"a","index":"0","config":{"value":"1"}},]}}`:                       false,
		`{"fairlane-nic:params":{"param":[{"name":"a","index":"0","config":{"value":"1"}}]},"fairlane-nic:wrcc":{}}`: true,
		`{"fairlane-nic:params":{"param":[{"name":"a","index":"0","config":{"value":"1"}}`:                           false,
	} {
		if _, _, ok, _ := gnmi.ScanPort([]byte(text)); ok != want {
			t.Errorf("%s: %t", text, ok)
		}
	}
}

func FuzzDecodeTables(f *testing.F) {
	ports := []byte(`{"Ethernet0":{"index":"1"},"Ethernet4":{}}`)
	f.Add(ports, []byte(`{"Ethernet0|3-4":{"wred_profile":"A"},"Ethernet4|7":{"wred_profile":"[WRED_PROFILE|A]"}}`), []byte(`{"A":{"ecn":"ecn_all","green_min_threshold":"1","green_max_threshold":"2"}}`))
	f.Add(ports, []byte(`{"CPU|0-47":{},"Ethernet0,Ethernet4|200":{"x@":["a"]}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, ports, queues, profiles []byte) {
		s, err := gnmi.DecodeMarking(ports, queues, profiles, 2)
		if err == nil {
			legal(t, s, switchDevice("leaf-1", 2))
		}
	})
}

func FuzzDecodeOpenConfig(f *testing.F) {
	f.Add([]byte(`{"openconfig-qos:interface":[{"interface-id":"Ethernet0","output":{"queues":{"queue":[{"name":"3","config":{"queue-management-profile":"p"}}]}}}]}`),
		[]byte(`{"queue-management-profile":[{"name":"p","wred":{"uniform":{"config":{"min-threshold":"5","max-threshold":9,"enable-ecn":true,"max-drop-probability-percent":7}}}}]}`))
	f.Add([]byte(`{}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, interfaces, profiles []byte) {
		s, err := gnmi.DecodeOpenConfig(interfaces, profiles, 1)
		if err == nil {
			legal(t, s, switchDevice("spine-1", 1))
		}
	})
}

func TestNamesAreOrderedByTheirNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"Ethernet4", "Ethernet40"}, {"Ethernet9", "Ethernet10"}, {"Ethernet", "Ethernet0"}, {"Eth1/9", "Eth1/10"}, {"a", "b"}, {"a1", "a01"}} {
		if a, b := gnmi.CompareNames(c[0], c[1]), gnmi.CompareNames(c[1], c[0]); (a < 0) == (b < 0) || c[0] != "a1" && a > 0 {
			t.Errorf("%q and %q compare as %d and %d", c[0], c[1], a, b)
		}
	}
}

func TestKeysOfQueues(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]struct {
		ports     int
		low, high int
	}{
		"Ethernet0|3": {1, 3, 3}, "Ethernet0|3-4": {1, 3, 4}, "Ethernet0,Ethernet4|0": {2, 0, 0}, "host-1|asic0|Ethernet0|7": {1, 7, 7},
		"Ethernet0": {}, "|3": {}, "Ethernet0|": {}, "Ethernet0|4-3": {}, "Ethernet0|-1": {}, "Ethernet0|3-": {}, "Ethernet0|256": {},
	} {
		ports, low, high, err := gnmi.ParseQueueKey(key)
		if len(ports) != want.ports || low != want.low || high != want.high || (err == nil) != (want.ports > 0) {
			t.Errorf("%s: %q %d to %d, %v", key, ports, low, high, err)
		}
	}
	if _, err := gnmi.ParseTable([]byte(`{"a":[1]}`)); err == nil {
		t.Error("a row that is a list was accepted")
	}
}

// checkSchedules fails the test on schedules without order, on values out of range and on findings without a text.
func checkSchedules(t *testing.T, ports []gnmi.PortSchedule, found []gnmi.Finding) {
	t.Helper()
	check := func(n gnmi.NamedScheduler) {
		s := n.Scheduler
		switch {
		case (n.Fault == "") != (n.Problem == ""), n.Fault != "" && s != nil:
			t.Errorf("a contradictory fault: %+v", n)
		case s != nil && (s.Peak < 0 || s.Assured < 0 || s.Peak > 0 && s.Peak < s.Assured || s.PeakPercent < 0 || s.PeakPercent > 100 || s.Type == gnmi.Strict && s.Weight != 0):
			t.Errorf("out of range: %+v", s)
		}
	}
	for _, p := range ports {
		check(p.NamedScheduler)
		for i, q := range p.Queues {
			check(q.NamedScheduler)
			if i > 0 && p.Queues[i-1].Queue >= q.Queue {
				t.Errorf("queue %d after %d", q.Queue, p.Queues[i-1].Queue)
			}
		}
	}
	for _, f := range found {
		if f.Code == "" || f.Text == "" || strings.Contains(f.Text, "NaN") || strings.Contains(f.Text, "%!") {
			t.Errorf("finding %+v", f)
		}
	}
}

func FuzzJudgeTables(f *testing.F) {
	ports := []byte(`{"Ethernet0":{"speed":"100000"},"Ethernet4":{"speed":"x"}}`)
	f.Add(ports, []byte(`{"Ethernet0|3-4":{"scheduler":"A"},"Ethernet0|4-5":{"scheduler":"[SCHEDULER|B]"},"Ethernet4|7":{"scheduler":"C"},"Ethernet4":{}}`),
		[]byte(`{"A":{"type":"DWRR","weight":"1","cir":"1","pir":"9"},"B":{"type":"STRICT","priority":"3","meter_type":"packets","pir":"7"}}`),
		[]byte(`{"Ethernet0":{"scheduler":"A","pfc_enable":"3","dscp_to_tc_map":"x"},"global":{"dscp_to_tc_map":"y"}}`))
	f.Add(ports, []byte(`{"Ethernet0|3":{"scheduler":"A"},"Ethernet0|5":{"scheduler":"B"}}`), []byte(`{"A":{"weight":"3","pir":"1152921504606846975"},"B":{"weight":"100"}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, ports, queues, schedulers, portMaps []byte) {
		s, found, err := gnmi.JudgeTables(ports, queues, schedulers, portMaps, 2)
		if err == nil {
			checkSchedules(t, s, found)
		}
	})
}

func FuzzJudgeOpenConfig(f *testing.F) {
	f.Add([]byte(`{"interface":[{"interface-id":"Ethernet0","output":{"scheduler-policy":{"config":{"name":"p"}}},"input":{"classifiers":{"classifier":[{"config":{"name":"c"}}]}}}]}`),
		[]byte(`{"scheduler-policy":[{"name":"p","schedulers":{"scheduler":[{"sequence":1,"config":{"priority":"STRICT"},"inputs":{"input":[{"id":"5","config":{"queue":"5"}}]}},{"sequence":"2","inputs":{"input":[{"id":"3","config":{"queue":"3","weight":"5"}}]},"two-rate-three-color":{"config":{"cir":"5","pir":"9"}}},{"sequence":3,"one-rate-two-color":{"config":{"cir-pct":50}}}]}}]}`),
		[]byte(`{"classifier":[{"name":"c","terms":{"term":[{"conditions":{"ipv4":{"config":{"dscp":48,"dscp-set":[48,49]}}},"actions":{"config":{"target-group":"g"}}}]}}]}`))
	f.Add([]byte(`{"interface":[{"interface-id":"x"}]}`), []byte(`{}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, interfaces, policies, classifiers []byte) {
		s, found, err := gnmi.JudgeOpenConfig(interfaces, policies, classifiers, 1)
		if err == nil {
			checkSchedules(t, s, found)
		}
	})
}

// FuzzNameIn checks that a name is either read or rejected, and that a different name never compares equal.
func FuzzNameIn(f *testing.F) {
	f.Add(false, []byte(`{"hostname":"leaf-1","hwsku":"x"}`))
	f.Add(true, []byte(`"leaf-1"`))
	f.Add(false, []byte(`{"hostname":{"a":"leaf-1"}}`))
	f.Fuzz(func(t *testing.T, openConfig bool, text []byte) {
		dialect := gnmi.SONiC
		if openConfig {
			dialect = gnmi.OpenConfig
		}
		name, err := gnmi.NameIn(dialect, &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}})
		if err != nil && name != "" {
			t.Errorf("%q of an invalid answer: %v", name, err)
		}
		dev := switchDevice("leaf-1", 1)
		if err := driver.CheckName(dev, "targets", dev.Name, name); err == nil && name != "" && !strings.HasPrefix(strings.ToLower(name), "leaf-1") {
			t.Errorf("%q matches leaf-1", name)
		}
	})
}
