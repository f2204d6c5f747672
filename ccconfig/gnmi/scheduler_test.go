package gnmi_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/quantity"
	"fairlane/sim/gnmidev"
	"fairlane/subnet/ident"
)

var roce = gnmi.Expectation{DSCP: 26, Queue: 3, Lossless: true}

// findingLines lists findings as codes and ports, and fails the test on a finding without a text.
func findingLines(t *testing.T, name string, found []gnmi.Finding) string {
	t.Helper()
	var out []string
	for _, f := range found {
		out = append(out, strings.TrimSpace(f.Code+" "+strings.Join(f.Ports, ",")))
		if len(f.Text) < 20 {
			t.Errorf("%s: finding %s has the text %q", name, f.Code, f.Text)
		}
		if len(f.Ports) == 1 && !strings.HasPrefix(f.Text, "on "+f.Ports[0]+" ") {
			t.Errorf("%s: finding %s has no location: %q", name, f.Code, f.Text)
		}
	}
	return strings.Join(out, "; ")
}

func TestPreflightOfSchedulersOfSONiC(t *testing.T) {
	t.Parallel()
	// first gives a queue of the first port a scheduler of its own.
	first := func(c tables, queue int, fields map[string]string) {
		name := fmt.Sprint("s", queue)
		c["SCHEDULER"][name] = fields
		key := fmt.Sprint("Ethernet0|", queue)
		if c["QUEUE"][key] == nil {
			c["QUEUE"][key] = map[string]string{}
		}
		c["QUEUE"][key]["scheduler"] = name
	}
	type fields = map[string]string
	for name, c := range map[string]struct {
		change   func(c tables)
		codes    string
		wantText string
	}{
		"half of an equal share": {func(c tables) { first(c, 3, fields{"type": "DWRR", "weight": "5"}) }, "", ""}, // the other queue has 14
		"a small weight": {func(c tables) { first(c, 3, fields{"type": "DWRR", "weight": "4"}) }, "weight-small Ethernet0",
			"weight 4 by scheduler s3, of 18 in 2 queues of its port: while the others send it gets 22 % of the link, less than half of an equal share: refer it to a scheduler of weight 5 or more"},
		"no weight is one":        {func(c tables) { first(c, 3, fields{}) }, "weight-small Ethernet0", "weight 1 by"},
		"CNPs may be strict":      {func(c tables) { first(c, 6, fields{"type": "STRICT"}) }, "", ""},
		"a strict queue precedes": {func(c tables) { first(c, 5, fields{"type": "STRICT"}) }, "strict-above Ethernet0", "queue 5, served strictly before queue 3, can take the whole link"},
		"both are strict": {func(c tables) {
			first(c, 3, fields{"type": "STRICT"})
			first(c, 2, fields{"type": "STRICT"})
		}, "", ""},
		"both are strict, and the queue is the lower one": {func(c tables) {
			first(c, 3, fields{"type": "STRICT"})
			first(c, 7, fields{"type": "STRICT"})
		}, "strict-above Ethernet0", "queue 7, served strictly"},
		"strict with limits": {func(c tables) { first(c, 5, fields{"type": "STRICT", "pir": "1000000000"}) }, "", ""}, // 8 of 100 Gbit/s
		"strict, and the limits are the link": {func(c tables) {
			first(c, 5, fields{"type": "STRICT", "pir": "6000000000"})
			first(c, 7, fields{"type": "STRICT", "pir": "6500000000"})
		}, "strict-above Ethernet0", "queues 5, 7, served strictly"},
		"bytes a second, not bits": {func(c tables) { first(c, 3, fields{"type": "DWRR", "weight": "14", "pir": "12500000000"}) }, "", ""},
		"a limit of the queue":     {func(c tables) { first(c, 3, fields{"type": "DWRR", "weight": "14", "pir": "12000000000"}) }, "peak-rate Ethernet0", "queue 3 is limited to 96 Gbit/s by scheduler s3, and its link has 100 Gbit/s"},
		"just below the link":      {func(c tables) { first(c, 3, fields{"type": "DWRR", "weight": "14", "pir": "12499999999"}) }, "peak-rate Ethernet0", ""},
		"a limit of another queue": {func(c tables) { first(c, 4, fields{"type": "DWRR", "weight": "14", "pir": "1"}) }, "", ""},
		"a limit of the port": {func(c tables) {
			c["SCHEDULER"]["half"] = fields{"type": "STRICT", "pir": "6250000000", "meter_type": "bytes"}
			c["PORT_QOS_MAP"]["Ethernet4"]["scheduler"] = "half"
		}, "peak-rate Ethernet4", "the port is limited to 50 Gbit/s by scheduler half, and its link has 100 Gbit/s"},
		"a link of no rate": {func(c tables) {
			first(c, 3, fields{"type": "DWRR", "weight": "14", "pir": "12500000000"})
			delete(c["PORT"]["Ethernet0"], "speed")
		}, "peak-rate Ethernet0", "does not report the link's rate"},
		"packets a second": {func(c tables) {
			first(c, 3, fields{"type": "DWRR", "weight": "14", "pir": "12500000000", "meter_type": "packets"})
		}, "peak-rate Ethernet0", "12500000000 packets/s by scheduler s3, which is not a rate in bit/s"},
		"no scheduler of the queue": {func(c tables) { delete(c["QUEUE"]["Ethernet0|3"], "scheduler") }, "scheduler-none Ethernet0", "queue 3 refers to no scheduler"},
		"no schedulers at all": {func(c tables) {
			delete(c, "SCHEDULER")
			for _, q := range c["QUEUE"] {
				delete(q, "scheduler")
			}
		}, "", ""},
		"a missing scheduler":    {func(c tables) { c["QUEUE"]["Ethernet0|3"]["scheduler"] = "gone" }, "reference-missing Ethernet0", "scheduler of table QUEUE names gone, which table SCHEDULER does not have: make it there"},
		"older references":       {func(c tables) { c["QUEUE"]["Ethernet0|3"]["scheduler"] = "[SCHEDULER|scheduler.0]" }, "", ""},
		"no table of schedulers": {func(c tables) { delete(c, "SCHEDULER") }, "reference-missing Ethernet0,Ethernet4", "on all ports scheduler of table QUEUE"},
		"a missing scheduler of a port": {func(c tables) { c["PORT_QOS_MAP"]["Ethernet4"]["scheduler"] = "gone" }, "reference-missing Ethernet4",
			"scheduler of table PORT_QOS_MAP names gone"},
		"a missing profile": {func(c tables) { c["QUEUE"]["Ethernet4|6"]["wred_profile"] = "gone" }, "reference-missing Ethernet4", "wred_profile of table QUEUE names gone, which table WRED_PROFILE"},
		"a missing map":     {func(c tables) { c["PORT_QOS_MAP"]["Ethernet0"]["tc_to_pg_map"] = "gone" }, "reference-missing Ethernet0", "tc_to_pg_map of table PORT_QOS_MAP names gone, which table TC_TO_PRIORITY_GROUP_MAP"},
		"an existing map": {func(c tables) {
			c["PORT_QOS_MAP"]["Ethernet0"]["tc_to_pg_map"] = "AZURE"
			c["TC_TO_PRIORITY_GROUP_MAP"] = map[string]map[string]string{"AZURE": {"3": "3"}}
		}, "", ""},
		"missing ports": {func(c tables) {
			c["QUEUE"]["Ethernet5|3"] = fields{"scheduler": "scheduler.0"}
			c["QUEUE"]["CPU|0"], c["QUEUE"]["lc-1|asic0|Ethernet5|3"] = fields{}, fields{}
		}, "reference-missing Ethernet5", "table QUEUE has rows of ports that table PORT does not have"},
		"two rows of a queue": {func(c tables) {
			c["QUEUE"]["Ethernet0|2-4"] = fields{"scheduler": "scheduler.0"}
		}, "queue-twice Ethernet0", `rows "Ethernet0|2-4" and "Ethernet0|3" of QUEUE are both about the same queue: delete one of them`},
		"two ranges": {func(c tables) {
			c["QUEUE"]["Ethernet0|0-1"] = fields{"scheduler": "scheduler.0"}
			c["QUEUE"]["Ethernet0|1-2"] = fields{"scheduler": "scheduler.0"}
		}, "queue-twice Ethernet0", `rows "Ethernet0|0-1" and "Ethernet0|1-2"`},
		"a row that cannot be read":   {func(c tables) { c["QUEUE"]["Ethernet0|x"] = fields{} }, "queue-row-broken", `row "Ethernet0|x"`},
		"an unknown type":             {func(c tables) { first(c, 3, fields{"type": "FAIR"}) }, "scheduler-broken Ethernet0", `type "FAIR", want DWRR, WRR or STRICT`},
		"a weight of 0":               {func(c tables) { first(c, 3, fields{"weight": "0"}) }, "scheduler-broken Ethernet0", `weight "0", want 1 to 100`},
		"a weight of 101":             {func(c tables) { first(c, 6, fields{"weight": "101"}) }, "scheduler-broken Ethernet0", "want 1 to 100"},
		"a priority of 10":            {func(c tables) { first(c, 3, fields{"priority": "10"}) }, "scheduler-broken Ethernet0", "want 0 to 9"},
		"a rate beyond bits a second": {func(c tables) { first(c, 3, fields{"pir": "1152921504606846976"}) }, "scheduler-broken Ethernet0", "want bytes/s up to 1152921504606846975"},
		"a rate of words":             {func(c tables) { first(c, 3, fields{"cir": "1G"}) }, "scheduler-broken Ethernet0", `cir "1G"`},
		"peak below committed":        {func(c tables) { first(c, 3, fields{"cir": "2", "pir": "1"}) }, "scheduler-broken Ethernet0", "pir 1 below cir 2"},
		"an unknown meter type":       {func(c tables) { first(c, 3, fields{"meter_type": "cells"}) }, "scheduler-broken Ethernet0", `meter_type "cells"`},
	} {
		_, s, d, dev := oneSwitch(t, func(_ *fakeSwitch, db tables) { c.change(db) })
		before := s.dbs["CONFIG_DB"].clone()
		found, err := d.Preflight(t.Context(), dev, roce)
		if got := findingLines(t, name, found); err != nil || got != c.codes {
			t.Errorf("%s: findings %q, want %q: %v", name, got, c.codes, err)
			continue
		}
		if len(found) > 0 && !strings.Contains(found[0].Text, c.wantText) {
			t.Errorf("%s: %q does not contain %q", name, found[0].Text, c.wantText)
		}
		if fmt.Sprint(before) != fmt.Sprint(s.dbs["CONFIG_DB"]) {
			t.Errorf("%s: the switch was changed", name)
		}
		if _, err := d.Scheduling(t.Context(), dev); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := d.Capabilities(t.Context(), dev); err != nil {
			t.Errorf("%s: capabilities: %v", name, err)
		}
	}
}

func TestPortsWithoutALinkNeedNoMaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state, admin, codes string
	}{
		"up": {"up", "up", "port-map-missing Ethernet4"}, "down": {"down", "up", ""}, "turned off": {"", "down", ""}, "not reported": {"", "", "port-map-missing Ethernet4"},
	} {
		_, _, d, dev := oneSwitch(t, func(s *fakeSwitch, db tables) {
			delete(db["PORT_QOS_MAP"], "Ethernet4")
			db["PORT"]["Ethernet4"]["admin_status"] = c.admin
			if c.state != "" {
				s.dbs["APPL_DB"] = tables{"PORT_TABLE": {"Ethernet4": {"oper_status": c.state}}}
			}
		})
		found, err := d.Preflight(t.Context(), dev, roce)
		if got := findingLines(t, name, found); err != nil || got != c.codes {
			t.Errorf("%s: findings %q, want %q: %v", name, got, c.codes, err)
		}
	}
}

func TestSchedulingOfSONiC(t *testing.T) {
	t.Parallel()
	_, s, d, dev := oneSwitch(t, func(_ *fakeSwitch, c tables) {
		c["SCHEDULER"]["fast"] = map[string]string{"type": "STRICT", "priority": "7", "cir": "125", "pir": "1250000000"}
		c["QUEUE"]["Ethernet0|4-5"] = map[string]string{"scheduler": "fast"}
		c["PORT_QOS_MAP"]["Ethernet4"]["scheduler"] = "fast"
		c["QUEUE"]["Ethernet4|7"] = map[string]string{"scheduler": "gone"}
	})
	got, err := d.Scheduling(t.Context(), dev)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v: %v", got, err)
	}
	fast := gnmi.Scheduler{Type: gnmi.Strict, Priority: 7, Assured: 1000, Peak: 10 * quantity.Gbps}
	for _, q := range []uint8{4, 5} {
		if e := got[0].Find(q); e == nil || e.Name != "fast" || *e.Scheduler != fast || e.Rank != uint64(q) {
			t.Errorf("queue %d: %+v", q, e)
		}
	}
	if e := got[0].Find(3); e == nil || *e.Scheduler != (gnmi.Scheduler{Type: gnmi.DWRR, Weight: 14, Priority: gnmi.NoPriority}) {
		t.Errorf("queue 3: %+v", e)
	}
	if got[0].Find(2) != nil || got[0].Scheduler != nil || got[0].Name != "" || got[0].Link != 100*quantity.Gbps {
		t.Errorf("port 1: %+v", got[0])
	}
	if p := got[1]; p.Port != 2 || p.Label != "Ethernet4" || p.Scheduler == nil || *p.Scheduler != fast {
		t.Errorf("port 2: %+v", p)
	}
	if e := got[1].Find(7); e == nil || e.Name != "gone" || e.Scheduler != nil || e.Fault != gnmi.FindingDangling || e.Problem == "" {
		t.Errorf("a reference that leads nowhere: %+v", e)
	}
	s.config(func(c tables) { c["QUEUE"]["Ethernet0|5-6"] = map[string]string{"scheduler": "fast"} })
	if got, err = d.Scheduling(t.Context(), dev); err != nil || got[0].Find(5).Fault != gnmi.FindingTwice || got[0].Find(5).Scheduler != nil || got[0].Find(6).Fault != gnmi.FindingTwice || got[0].Find(4).Fault != "" {
		t.Errorf("two rows of a queue: %+v, %v", got, err)
	}
	_, err = d.Read(t.Context(), dev)
	refused(t, "read", err, driver.ErrInvalid, "delete one of them")
	_, err = d.Scheduling(t.Context(), nicDevice(driver.PlaneRoCE, ident.PortID{Node: 1, Port: 1}, "leaf-1"))
	refused(t, "a NIC", err, driver.ErrInvalid)
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	_, _, d, dev := oneSwitch(t, func(_ *fakeSwitch, c tables) {
		for i := range 5000 {
			c["QUEUE"][fmt.Sprintf("Ethernet0|%d-x", i)] = map[string]string{}
		}
	})
	found, err := d.Preflight(t.Context(), dev, roce)
	if err != nil || len(found) != 257 || found[256].Code != gnmi.FindingMore {
		t.Errorf("%d findings, the last %+v: %v", len(found), found[len(found)-1], err)
	}
}

const (
	ocPolicies = "/qos/scheduler-policies/scheduler-policy[name=p]/schedulers/"
	ocEthernet = "/interfaces/interface[name=Ethernet0]/ethernet/state/port-speed"
)

func TestPreflightOfSchedulersOfOpenConfig(t *testing.T) {
	t.Parallel()
	type leaves = map[string]gnmitree.Value
	at := func(sequence int, path string) string {
		return fmt.Sprintf("%sscheduler[sequence=%d]/%s", ocPolicies, sequence, path)
	}
	input := func(sequence, queue int, path string) string {
		return at(sequence, fmt.Sprintf("inputs/input[id=%d]/config/%s", queue, path))
	}
	// weighted is one scheduler of two queues.
	weighted := func(own uint64, more leaves) leaves {
		out := leaves{
			input(9, 3, "queue"): gnmitree.String("3"), input(9, 3, "weight"): gnmitree.Uint(own), input(9, 6, "queue"): gnmitree.String("6"), input(9, 6, "weight"): gnmitree.Uint(140),
		}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	strict := func(sequence, queue int, more leaves) leaves {
		out := leaves{at(sequence, "config/priority"): gnmitree.String("STRICT"), input(sequence, queue, "queue"): gnmitree.String(fmt.Sprint("Ethernet0:", queue))}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	// strictly is two strict queues with limits in percent; 0 is none.
	strictly := func(first, second uint32, more leaves) leaves {
		out := strict(1, 7, strict(2, 5, more))
		for sequence, percent := range map[int]uint32{1: first, 2: second} {
			if percent > 0 {
				out[at(sequence, "two-rate-three-color/config/pir-pct")] = gnmitree.Uint32(percent)
			}
		}
		return out
	}
	speed := func(word string, more leaves) leaves {
		more[ocEthernet] = gnmitree.String(word)
		return more
	}
	cnps := leaves{
		"/qos/interfaces/interface[interface-id=Ethernet0]/input/classifiers/classifier[type=IPV4]/config/name": gnmitree.String("c"),
		"/qos/classifiers/classifier[name=c]/terms/term[id=1]/conditions/ipv4/config/dscp":                      gnmitree.Uint32(48),
		"/qos/classifiers/classifier[name=c]/terms/term[id=1]/actions/config/target-group":                      gnmitree.String("cnp"),
		"/qos/forwarding-groups/forwarding-group[name=cnp]/config/output-queue":                                 gnmitree.String("7"),
	}
	for name, c := range map[string]struct {
		leaves   leaves
		codes    string
		wantText string
	}{
		"as it should be":          {weighted(140, nil), "", ""},
		"a small weight":           {weighted(46, nil), "weight-small Ethernet0", "weight 46 by scheduler p sequence 9"},
		"a strict queue":           {weighted(140, strict(1, 7, nil)), "strict-above Ethernet0", "queue 7, served strictly"},
		"CNPs may be strict":       {weighted(140, strict(1, 7, cnps)), "", ""},
		"strict with a limit":      {weighted(140, strict(1, 7, speed("openconfig-if-ethernet:SPEED_100GB", leaves{at(1, "two-rate-three-color/config/pir"): gnmitree.Uint(1e9)}))), "", ""},
		"strict in percent":        {weighted(140, strict(1, 7, leaves{at(1, "two-rate-three-color/config/pir-pct"): gnmitree.Uint32(90)})), "", ""},
		"strict in percents":       {weighted(140, strictly(60, 50, nil)), "strict-above Ethernet0", "queues 5, 7, served strictly"},
		"percents of a link":       {weighted(140, strictly(60, 39, speed("SPEED_100GB", leaves{}))), "", ""},
		"percents and a rate":      {weighted(140, strictly(60, 0, speed("SPEED_100GB", leaves{at(2, "two-rate-three-color/config/pir"): gnmitree.Uint(4e10)}))), "strict-above Ethernet0", "queues 5, 7, served strictly"},
		"a limit in percent":       {weighted(140, leaves{at(9, "two-rate-three-color/config/pir-pct"): gnmitree.Uint32(50)}), "peak-rate Ethernet0", "limited to 50 % of its link"},
		"bits a second":            {weighted(140, speed("SPEED_100GB", leaves{at(9, "two-rate-three-color/config/pir"): gnmitree.Uint(1e11)})), "", ""},
		"below the link":           {weighted(140, speed("SPEED_100GB", leaves{at(9, "two-rate-three-color/config/pir"): gnmitree.Uint(1e10)})), "peak-rate Ethernet0", "queue 3 is limited to 10 Gbit/s by scheduler p sequence 9, and its link has 100 Gbit/s"},
		"one rate":                 {weighted(140, speed("SPEED_25GB", leaves{at(9, "one-rate-two-color/config/cir"): gnmitree.Uint(1e10)})), "peak-rate Ethernet0", "and its link has 25 Gbit/s"},
		"a link of no rate":        {weighted(140, leaves{at(9, "two-rate-three-color/config/pir"): gnmitree.Uint(1e10)}), "peak-rate Ethernet0", "does not report the link's rate"},
		"a limit of the port":      {weighted(140, leaves{at(99, "two-rate-three-color/config/pir"): gnmitree.Uint(1e10)}), "peak-rate Ethernet0", "the port is limited to 10 Gbit/s by scheduler p sequence 99"},
		"a queue twice":            {weighted(140, leaves{input(2, 3, "queue"): gnmitree.String("3")}), "queue-twice Ethernet0", "both have queue 3 as an input"},
		"another queue only":       {leaves{input(2, 5, "queue"): gnmitree.String("5")}, "scheduler-none Ethernet0", ""},
		"another kind of priority": {weighted(140, leaves{at(9, "config/priority"): gnmitree.String("DWRR")}), "scheduler-broken Ethernet0", `priority "DWRR"`},
		"a weight of 0":            {weighted(0, nil), "scheduler-broken Ethernet0", "weight 0"},
		"beyond bits":              {weighted(140, leaves{at(9, "two-rate-three-color/config/pir"): gnmitree.Uint(1 << 63)}), "scheduler-broken Ethernet0", "want up to 9223372036854775807"},
	} {
		_, s, d, dev := oneOpenConfig(t)
		s.put("/qos/interfaces/interface[interface-id=Ethernet0]/output/scheduler-policy/config/name", gnmitree.String("p"), gnmitree.ClassConfig)
		for path, v := range c.leaves {
			class := gnmitree.ClassConfig
			if path == ocEthernet {
				class = gnmitree.ClassOperational
			}
			s.put(path, v, class)
		}
		found, err := d.Preflight(t.Context(), dev, gnmi.Expectation{DSCP: 26, Queue: 3})
		if got := findingLines(t, name, found); err != nil || got != c.codes {
			t.Errorf("%s: findings %q, want %q: %v", name, got, c.codes, err)
			continue
		}
		if len(found) > 0 && !strings.Contains(found[0].Text, c.wantText) {
			t.Errorf("%s: %q does not contain %q", name, found[0].Text, c.wantText)
		}
	}
	_, s, d, dev := oneOpenConfig(t)
	s.put("/qos/interfaces/interface[interface-id=Ethernet4]/output/scheduler-policy/config/name", gnmitree.String("gone"), gnmitree.ClassConfig)
	s.put(ocQueue(1, "6")+"/config/queue-management-profile", gnmitree.String("gone"), gnmitree.ClassConfig)
	found, err := d.Preflight(t.Context(), dev, gnmi.Expectation{DSCP: 26, Queue: 3})
	if got := findingLines(t, "gone", found); err != nil || got != "reference-missing Ethernet0; reference-missing Ethernet4" {
		t.Errorf("findings %q: %v", got, err)
	}
}

// TestPreflightOfSimulatedSwitches checks that switches in their initial state have no findings, and that both kinds
// report a fault equally.
func TestPreflightOfSimulatedSwitches(t *testing.T) {
	t.Parallel()
	for dialect, options := range map[gnmi.Dialect]gnmidev.SwitchOptions{gnmi.SONiC: {}, gnmi.OpenConfig: {Dialect: gnmidev.OpenConfig}} {
		s, r := simulatedDevices(t)
		w := addSwitch(t, s, "leaf-1", options)
		d, dev := r.driver(t, dialect), switchDevice("leaf-1", 4)
		x := roce
		x.Lossless = dialect == gnmi.SONiC
		look := func(want string) {
			t.Helper()
			found, err := d.Preflight(t.Context(), dev, x)
			if got := findingLines(t, string(dialect), found); err != nil || got != want {
				t.Errorf("%s: findings %q, want %q: %v", dialect, got, want, err)
			}
		}
		look("")
		w.Edit("SCHEDULER", "slow", map[string]string{"type": "DWRR", "weight": "1", "pir": "1250000000"})
		w.Edit("QUEUE", "Ethernet4|3", map[string]string{"scheduler": "slow", "wred_profile": "AZURE_LOSSLESS"})
		look("peak-rate Ethernet4; weight-small Ethernet4")
		got, err := d.Scheduling(t.Context(), dev)
		if err != nil || len(got) != 4 || got[1].Find(3) == nil || got[1].Find(3).Scheduler.Peak != 10*quantity.Gbps || got[1].Find(3).Scheduler.Weight != 1 {
			t.Fatalf("%s: %+v: %v", dialect, got, err)
		}
		w.Edit("QUEUE", "Ethernet4|3", map[string]string{"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"})
		w.Edit("QUEUE", "Ethernet8|5", map[string]string{"scheduler": "scheduler.2"})
		look("strict-above Ethernet8")
		w.Edit("QUEUE", "Ethernet8|5", map[string]string{"scheduler": "scheduler.0"})
		qos := map[string]string{"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE", "pfc_to_queue_map": "AZURE", "pfc_enable": "3", "scheduler": "slow"}
		w.Edit("PORT_QOS_MAP", "Ethernet0", qos)
		look("peak-rate Ethernet0")
		if got, err = d.Scheduling(t.Context(), dev); err != nil || got[0].Scheduler == nil || got[0].Scheduler.Peak != 10*quantity.Gbps || got[0].Link != 100*quantity.Gbps {
			t.Errorf("%s: port %+v: %v", dialect, got[0], err)
		}
	}
	s, r := simulatedDevices(t)
	w := addSwitch(t, s, "leaf-1", gnmidev.SwitchOptions{})
	w.Edit("PORT_QOS_MAP", "Ethernet12", nil)
	w.Edit("QUEUE", "Ethernet0|3-4", map[string]string{"scheduler": "gone"})
	d, dev := r.driver(t, gnmi.SONiC), switchDevice("leaf-1", 4)
	found, err := d.Preflight(t.Context(), dev, roce)
	if got := findingLines(t, "sonic", found); err != nil || got != "port-map-missing Ethernet12; queue-twice Ethernet0; queue-twice Ethernet0; reference-missing Ethernet0" {
		t.Errorf("findings %q: %v", got, err)
	}
}

// TestFindingsAreDocumented checks that the page of Ethernet devices lists every code.
func TestFindingsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/roce.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("findings.go")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for line := range strings.SplitSeq(string(source), "\n") {
		if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[0], "Finding") && f[1] == "=" {
			codes = append(codes, strings.Trim(f[2], `"`))
		}
	}
	if len(codes) < 17 || !slices.Contains(codes, gnmi.FindingMore) {
		t.Fatalf("codes %q", codes)
	}
	for _, code := range codes {
		if !strings.Contains(string(page), "| `"+code+"` |") {
			t.Errorf("the page does not have %s", code)
		}
	}
}
