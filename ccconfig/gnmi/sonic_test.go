package gnmi_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi"
	"fairlane/subnet/ident"
)

// marked returns a rule derived from one number, in thousands of bytes.
func marked(port, queue int, k int64) ecn.QueueMarking {
	return ecn.QueueMarking{Port: ident.PortNum(port), Queue: uint8(queue), Marking: ecn.Marking{Min: 1000 * k, Max: 4000 * k, PMaxPct: 10}}
}

func queues(qs ...ecn.QueueMarking) driver.Settings {
	s := &driver.QueueState{Marking: qs}
	s.Sort()
	return driver.Settings{Queues: s}
}

// oneSwitch is a switch of two ports.
func oneSwitch(t testing.TB, change func(*fakeSwitch, tables)) (*rig, *fakeSwitch, *gnmi.Driver, driver.Device) {
	t.Helper()
	r, s := newRig(t), roceSwitch(2)
	r.add(t, "leaf-1", s)
	if change != nil {
		change(s, s.dbs["CONFIG_DB"])
	}
	return r, s, r.driver(t, gnmi.SONiC), switchDevice("leaf-1", 2)
}

// wellApplied applies want, and fails the test unless the switch then holds it and a second Apply changes nothing.
func wellApplied(t *testing.T, d *gnmi.Driver, dev driver.Device, want driver.Settings) driver.Receipt {
	t.Helper()
	r, err := d.Apply(t.Context(), dev, want)
	if err != nil {
		t.Errorf("apply: %v", err)
		return r
	}
	if got, err := d.Read(t.Context(), dev); err != nil || !want.Equal(got) {
		t.Errorf("read back: %v, %v", want.Diff(got), err)
	}
	if again, err := d.Apply(t.Context(), dev, want); err != nil || len(fields(again, driver.OutcomeUnchanged)) != len(again.Fields) {
		t.Errorf("applied again: %v, %v", again, err)
	}
	return r
}

func TestGuardedSwitchAcceptsOneMarking(t *testing.T) {
	t.Parallel()
	r, s, d, dev := oneSwitch(t, func(s *fakeSwitch, _ tables) { s.guarded = true })
	receipt := wellApplied(t, d, dev, queues(marked(1, 3, 100), marked(2, 3, 100)))
	if got := fields(receipt, driver.OutcomeAcknowledged); !slices.Equal(got, []string{"queues.profiles[AZURE_LOSSLESS]"}) {
		t.Errorf("acknowledged %q", got)
	}
	r.with("leaf-1", func(w *messageFaults) {
		if len(w.lastSet.GetUpdate())+len(w.lastSet.GetDelete()) != 0 || len(w.lastSet.GetReplace()) != 3 {
			t.Errorf("the Set is %v, want three leaves replaced", w.lastSet)
		}
	})
	before := s.dbs["CONFIG_DB"].clone()
	two := queues(marked(1, 3, 100), marked(2, 3, 200))
	for i, wantSets := range []int{2, 2} {
		receipt, err := d.Apply(t.Context(), dev, two)
		refused(t, "two markings", err, driver.ErrUnsupported, "leaf-1", "FAIRLANE_1 with 200000 to 800000 bytes at 10 %", "pre-provision", "AZURE_LOSSLESS")
		if n := r.sets("leaf-1"); n != wantSets {
			t.Errorf("try %d: %d Sets, want %d: a change that the guard rejects is not sent", i, n, wantSets)
		}
		if i == 0 && (len(fields(receipt, driver.OutcomeRefused)) != 2 || len(fields(receipt, driver.OutcomeUnchanged)) != 1) {
			t.Errorf("receipt %v", receipt)
		}
	}
	if got := s.dbs["CONFIG_DB"]; !slices.EqualFunc(slices.Sorted(maps.Keys(got["WRED_PROFILE"])), slices.Sorted(maps.Keys(before["WRED_PROFILE"])), func(a, b string) bool { return a == b }) {
		t.Error("the switch has changed")
	}
	if c, err := d.Capabilities(t.Context(), dev); err != nil || c.Queues.Profiles != 1 || !slices.Equal(c.Queues.Marked, []uint8{3}) {
		t.Errorf("capabilities %+v: %v", c.Queues, err)
	}
	// A pre-provisioned profile is used.
	s.config(func(t tables) {
		t["WRED_PROFILE"]["gold"] = map[string]string{"ecn": "ecn_green", "wred_green_enable": "true", "green_min_threshold": "200000", "green_max_threshold": "800000", "green_drop_probability": "10"}
	})
	receipt = wellApplied(t, d, dev, two)
	if got := fields(receipt, driver.OutcomeAcknowledged); !slices.Equal(got, []string{"queues[2/3]"}) {
		t.Errorf("acknowledged %q", got)
	}
}

func TestGuardedSwitchWhoseStockProfileOthersUse(t *testing.T) {
	t.Parallel()
	_, s, d, dev := oneSwitch(t, func(s *fakeSwitch, c tables) {
		s.guarded = true
		c["QUEUE"]["Ethernet0|4"] = map[string]string{"wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"}
		c["QUEUE"]["CPU|3"] = map[string]string{"wred_profile": "AZURE_LOSSLESS"}
	})
	want := queues(marked(1, 3, 100), marked(2, 3, 100))
	_, err := d.Apply(t.Context(), dev, want)
	refused(t, "shared", err, driver.ErrUnsupported, "have the plan set CPU|3, Ethernet0|4 as well, which share profile AZURE_LOSSLESS")
	s.config(func(c tables) { delete(c["QUEUE"], "CPU|3") })
	wellApplied(t, d, dev, queues(append(want.Queues.Marking, marked(1, 4, 100))...))
}

func TestUnguardedSwitchGetsProfiles(t *testing.T) {
	t.Parallel()
	_, s, d, dev := oneSwitch(t, func(_ *fakeSwitch, c tables) {
		c["QUEUE"]["Ethernet0|5"] = map[string]string{"wred_profile": "AZURE_LOSSLESS"}
	})
	wellApplied(t, d, dev, queues(marked(1, 3, 100), marked(2, 3, 200), marked(2, 5, 300)))
	c := s.dbs["CONFIG_DB"]
	if got := slices.Sorted(maps.Keys(c["WRED_PROFILE"])); !slices.Equal(got, []string{"AZURE_LOSSLESS", "FAIRLANE_1", "FAIRLANE_2", "FAIRLANE_3"}) {
		t.Errorf("profiles %q", got)
	}
	if c["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_max_threshold"] != "1048576" || c["QUEUE"]["Ethernet0|5"]["wred_profile"] != "AZURE_LOSSLESS" {
		t.Error("a queue outside of the plan has changed")
	}
	if q := c["QUEUE"]["Ethernet0|3"]; q["scheduler"] != "scheduler.0" {
		t.Errorf("queue %v has lost its scheduler", q)
	}
	// Changing weights do not accumulate profiles on the switch.
	for k := int64(1); k < 20; k++ {
		wellApplied(t, d, dev, queues(marked(1, 3, 7*k), marked(2, 3, 11*k), marked(2, 5, 13*k)))
	}
	if n := len(c["WRED_PROFILE"]); n != 4 {
		t.Errorf("%d profiles after 20 changes, want 4", n)
	}
}

func TestRowsOfSeveralQueues(t *testing.T) {
	t.Parallel()
	_, s, d, dev := oneSwitch(t, func(_ *fakeSwitch, c tables) {
		delete(c["QUEUE"], "Ethernet0|3")
		delete(c["QUEUE"], "Ethernet4|3")
		c["QUEUE"]["Ethernet0|3-4"] = map[string]string{"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"}
		c["QUEUE"]["Ethernet4|0-2"] = map[string]string{"scheduler": "scheduler.0"}
	})
	rows := func() string {
		var out []string
		for key, f := range s.dbs["CONFIG_DB"]["QUEUE"] {
			if f["wred_profile"] != "" {
				out = append(out, key+"="+f["wred_profile"]+","+f["scheduler"])
			}
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for _, step := range []struct {
		want driver.Settings
		rows string
	}{
		{queues(marked(1, 3, 100), marked(1, 4, 100)), "Ethernet0|3-4=AZURE_LOSSLESS,scheduler.0"},
		{queues(marked(1, 3, 100), marked(1, 4, 200)), "Ethernet0|3=AZURE_LOSSLESS,scheduler.0 Ethernet0|4=FAIRLANE_1,scheduler.0"},
		{queues(marked(2, 1, 100)), "Ethernet0|3=AZURE_LOSSLESS,scheduler.0 Ethernet0|4=FAIRLANE_1,scheduler.0 Ethernet4|1=AZURE_LOSSLESS,scheduler.0"},
		{queues(marked(2, 7, 200)), "Ethernet0|3=AZURE_LOSSLESS,scheduler.0 Ethernet0|4=FAIRLANE_1,scheduler.0 Ethernet4|1=AZURE_LOSSLESS,scheduler.0 Ethernet4|7=FAIRLANE_1,"},
	} {
		wellApplied(t, d, dev, step.want)
		if got := rows(); got != step.rows {
			t.Errorf("rows %s, want %s", got, step.rows)
		}
	}
	if s.dbs["CONFIG_DB"]["QUEUE"]["Ethernet4|0"]["scheduler"] != "scheduler.0" || s.dbs["CONFIG_DB"]["QUEUE"]["Ethernet4|0-2"] != nil {
		t.Error("a split row lost a queue, or still exists")
	}
}

func TestSwitchesThatRefuse(t *testing.T) {
	t.Parallel()
	one := queues(marked(1, 3, 100), marked(2, 3, 100))
	for name, c := range map[string]struct {
		change   func(*fakeSwitch, tables)
		sets     error
		kind     error
		wantText string
		sent     int
	}{
		"native write is off": {func(s *fakeSwitch, _ tables) { s.readOnly = true }, nil, driver.ErrUnsupported, "native write", 1},
		"the model refuses":   {nil, status.Error(codes.Internal, "YANG: must condition"), driver.ErrInvalid, "must condition", 1},
		"it is busy":          {nil, status.Error(codes.ResourceExhausted, "another patch"), driver.ErrBusy, "another patch", 1},
		"another master":      {nil, status.Error(codes.PermissionDenied, "stale election id"), driver.ErrConflict, "stale", 1},
		"no answer":           {nil, errBroken, driver.ErrUnreachable, "broke", 1},
		"too few ports":       {func(_ *fakeSwitch, c tables) { delete(c["PORT"], "Ethernet4") }, nil, driver.ErrInvalid, "1 ports in its table PORT, want the 2", 0},
		"no ports":            {func(_ *fakeSwitch, c tables) { delete(c, "PORT") }, nil, driver.ErrUnsupported, "no table PORT", 0},
		"two rows of a queue": {func(_ *fakeSwitch, c tables) { c["QUEUE"]["Ethernet0|2-3"] = map[string]string{} }, nil, driver.ErrInvalid, "Ethernet0|3", 0},
		"a row of no queue":   {func(_ *fakeSwitch, c tables) { c["QUEUE"]["Ethernet0"] = map[string]string{} }, nil, nil, `row "Ethernet0"`, 0},
		"a row of x":          {func(_ *fakeSwitch, c tables) { c["QUEUE"]["Ethernet0|x"] = map[string]string{} }, nil, nil, `row "Ethernet0|x"`, 0},
	} {
		r, s, d, dev := oneSwitch(t, c.change)
		before := s.dbs["CONFIG_DB"].clone()
		r.with("leaf-1", func(w *messageFaults) { w.failSets = c.sets })
		_, err := d.Apply(t.Context(), dev, one)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.wantText) || !strings.Contains(err.Error(), "leaf-1") {
			t.Errorf("%s: error %v, want %v with %q", name, err, c.kind, c.wantText)
		}
		if n := r.sets("leaf-1"); n != c.sent {
			t.Errorf("%s: %d Sets, want %d", name, n, c.sent)
		}
		if got := s.dbs["CONFIG_DB"]["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_max_threshold"]; got != before["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_max_threshold"] {
			t.Errorf("%s: the switch has %s", name, got)
		}
	}
}

func TestGuardsOfEveryCode(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Internal, codes.Unknown, codes.InvalidArgument, codes.FailedPrecondition, codes.PermissionDenied, codes.Aborted} {
		_, _, d, dev := oneSwitch(t, func(s *fakeSwitch, _ tables) {
			s.guarded, s.refuse = true, status.Error(code, "the operation is not allowed")
		})
		_, err := d.Apply(t.Context(), dev, queues(marked(1, 3, 100), marked(2, 3, 200)))
		refused(t, code.String(), err, driver.ErrUnsupported, "the operation is not allowed", "pre-provision")
	}
}

func TestAnotherMasterIsNoGuard(t *testing.T) {
	t.Parallel()
	r, _, d, dev := oneSwitch(t, nil)
	two := queues(marked(1, 3, 100), marked(2, 3, 200))
	r.with("leaf-1", func(w *messageFaults) { w.failSets = status.Error(codes.PermissionDenied, "stale election id") })
	_, err := d.Apply(t.Context(), dev, two)
	refused(t, "another master", err, driver.ErrConflict, "stale election id")
	r.with("leaf-1", func(w *messageFaults) { w.failSets = nil })
	wellApplied(t, d, dev, two)
}

func TestProfilesAreReadAsTheyMark(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		profile map[string]string
		want    *ecn.Marking // nil: no marking
	}{
		"all colours":      {map[string]string{"ecn": "ecn_all", "green_min_threshold": "1", "green_max_threshold": "2", "green_drop_probability": "3"}, &ecn.Marking{Min: 1, Max: 2, PMaxPct: 3}},
		"no probability":   {map[string]string{"ecn": "ecn_green", "green_min_threshold": "1", "green_max_threshold": "2"}, &ecn.Marking{Min: 1, Max: 2, PMaxPct: 100}},
		"of its own":       {map[string]string{"ecn": "ecn_green_red", "wred_green_enable": "false", "green_min_threshold": "8", "green_max_threshold": "9", "ecn_green_min_threshold": "1", "ecn_green_max_threshold": "2", "ecn_green_mark_probability": "3"}, &ecn.Marking{Min: 1, Max: 2, PMaxPct: 3}},
		"none":             {map[string]string{"ecn": "ecn_none", "green_min_threshold": "1", "green_max_threshold": "2"}, nil},
		"yellow only":      {map[string]string{"ecn": "ecn_yellow_red", "green_min_threshold": "1", "green_max_threshold": "2"}, nil},
		"green is off":     {map[string]string{"ecn": "ecn_all", "wred_green_enable": "false", "green_min_threshold": "1", "green_max_threshold": "2"}, nil},
		"nothing":          {map[string]string{}, nil},
		"no thresholds":    {map[string]string{"ecn": "ecn_all"}, nil},
		"no number":        {map[string]string{"ecn": "ecn_all", "green_min_threshold": "1", "green_max_threshold": "2k"}, nil},
		"upside down":      {map[string]string{"ecn": "ecn_all", "green_min_threshold": "3", "green_max_threshold": "2"}, nil},
		"beyond a percent": {map[string]string{"ecn": "ecn_all", "green_min_threshold": "1", "green_max_threshold": "2", "green_drop_probability": "99999999999"}, nil},
	} {
		_, s, d, dev := oneSwitch(t, func(_ *fakeSwitch, c2 tables) {
			c2["WRED_PROFILE"]["p"] = c.profile
			c2["QUEUE"]["Ethernet0|3"]["wred_profile"] = "p"
		})
		got, err := d.Read(t.Context(), dev)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, ok := got.Queues.Queue(1, 3)
		if ok != (c.want != nil) || ok && m != *c.want {
			t.Errorf("%s: %+v %t, want %+v", name, m, ok, c.want)
		}
		wellApplied(t, d, dev, queues(marked(1, 3, 50)))
		if q := s.dbs["CONFIG_DB"]["QUEUE"]["Ethernet4|3"]["wred_profile"]; q != "AZURE_LOSSLESS" {
			t.Errorf("%s: the other port refers to %s", name, q)
		}
	}
}

func TestBrokenStockProfileIsRepaired(t *testing.T) {
	t.Parallel()
	_, s, d, dev := oneSwitch(t, func(s *fakeSwitch, c tables) {
		s.guarded = true
		c["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_min_threshold"] = "9999999"
	})
	found, err := d.Preflight(t.Context(), dev, gnmi.Expectation{DSCP: 26, Queue: 3})
	if err != nil || !slices.ContainsFunc(found, func(f gnmi.Finding) bool { return f.Code == gnmi.FindingBroken }) {
		t.Errorf("findings %+v: %v", found, err)
	}
	wellApplied(t, d, dev, queues(marked(1, 3, 100), marked(2, 3, 100)))
	if p := s.dbs["CONFIG_DB"]["WRED_PROFILE"]["AZURE_LOSSLESS"]; p["green_min_threshold"] != "100000" {
		t.Errorf("profile %v", p)
	}
}

func TestPortsAreCountedByTheNumbersInTheirNames(t *testing.T) {
	t.Parallel()
	r, s := newRig(t), roceSwitch(12)
	r.add(t, "leaf-1", s)
	d := r.driver(t, gnmi.SONiC)
	wellApplied(t, d, switchDevice("leaf-1", 12), queues(marked(2, 3, 100), marked(12, 3, 100)))
	c := s.dbs["CONFIG_DB"]["QUEUE"]
	if p := c["Ethernet4|3"]["wred_profile"]; p != "FAIRLANE_1" || c["Ethernet44|3"]["wred_profile"] != p || c["Ethernet40|3"]["wred_profile"] == p {
		t.Errorf("rows %v", c)
	}
}

func TestPreflightOfSONiC(t *testing.T) {
	t.Parallel()
	roce := gnmi.Expectation{DSCP: 26, Queue: 3, Lossless: true}
	for name, c := range map[string]struct {
		change func(*fakeSwitch, tables)
		x      gnmi.Expectation
		codes  string
	}{
		"as it should be": {nil, roce, ""},
		"another queue":   {nil, gnmi.Expectation{DSCP: 48, Queue: 3, Lossless: true}, "dscp-other-queue Ethernet0,Ethernet4; pfc-off Ethernet0,Ethernet4"},
		"not mapped":      {nil, gnmi.Expectation{DSCP: 10, Queue: 3}, "dscp-unmapped Ethernet0,Ethernet4"},
		"unmarked":        {nil, gnmi.Expectation{DSCP: 48, Queue: 6}, "ecn-off Ethernet0,Ethernet4"},
		"unmarked without a link": {func(s *fakeSwitch, _ tables) {
			s.dbs["APPL_DB"] = tables{"PORT_TABLE": {"Ethernet0": {"oper_status": "up"}, "Ethernet4": {"oper_status": "down"}}}
		}, gnmi.Expectation{DSCP: 48, Queue: 6}, "ecn-off Ethernet0"},
		"unmarked and turned off": {func(_ *fakeSwitch, c tables) { c["PORT"]["Ethernet4"]["admin_status"] = "down" }, gnmi.Expectation{DSCP: 48, Queue: 6}, "ecn-off Ethernet0"},
		"no map of a port":        {func(_ *fakeSwitch, c tables) { delete(c["PORT_QOS_MAP"], "Ethernet4") }, roce, "port-map-missing Ethernet4"},
		"pause is off":            {func(_ *fakeSwitch, c tables) { c["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "" }, roce, "pfc-off Ethernet0"},
		"pause on others":         {func(_ *fakeSwitch, c tables) { c["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "2, 4" }, roce, "pfc-off Ethernet0"},
		"pause on several":        {func(_ *fakeSwitch, c tables) { c["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "2, 3" }, roce, ""},
		"a map of all ports": {func(_ *fakeSwitch, c tables) {
			c["PORT_QOS_MAP"]["global"] = map[string]string{"dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]"}
			delete(c["PORT_QOS_MAP"]["Ethernet0"], "dscp_to_tc_map")
		}, roce, ""},
		"classes are queues": {func(_ *fakeSwitch, c tables) { delete(c["PORT_QOS_MAP"]["Ethernet0"], "tc_to_queue_map") }, roce, ""},
	} {
		_, _, d, dev := oneSwitch(t, c.change)
		found, err := d.Preflight(t.Context(), dev, c.x)
		var texts []string
		for _, f := range found {
			texts = append(texts, strings.TrimSpace(f.Code+" "+strings.Join(f.Ports, ",")))
			if f.Text == "" {
				t.Errorf("%s: finding %s has no text", name, f.Code)
			}
		}
		if s := strings.Join(texts, "; "); err != nil || s != c.codes {
			t.Errorf("%s: findings %q, want %q: %v", name, s, c.codes, err)
		}
	}
	_, _, d, dev := oneSwitch(t, func(s *fakeSwitch, _ tables) { s.guarded = true })
	_, err := d.Apply(t.Context(), dev, queues(marked(1, 3, 100), marked(2, 3, 200)))
	refused(t, "guarded", err, driver.ErrUnsupported)
	if found, err := d.Preflight(t.Context(), dev, roce); err != nil || len(found) != 1 || found[0].Code != gnmi.FindingGuarded {
		t.Errorf("findings %+v: %v", found, err)
	}
	for _, x := range []gnmi.Expectation{{DSCP: 64}, {DSCP: -1}, {Queue: 8}} {
		_, err := d.Preflight(t.Context(), dev, x)
		refused(t, "out of range", err, driver.ErrInvalid)
	}
}

func TestQueueCountersOfSONiC(t *testing.T) {
	t.Parallel()
	r, s, d, dev := oneSwitch(t, nil)
	count := func(fields map[string]string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		maps.Copy(s.dbs["COUNTERS_DB"]["COUNTERS"]["oid:0x15000000000001"], fields)
	}
	read := func() []gnmi.QueueReading {
		t.Helper()
		got, err := d.QueueCounters(t.Context(), dev, 3, 5)
		if err != nil || len(got) != 2 || got[0].Port != 1 || got[1].Port != 2 || got[1].Queue != 3 {
			t.Fatalf("counters %+v: %v", got, err)
		}
		return got
	}
	first := read()
	if q := first[1]; *q.Octets != 1000 || *q.Packets != 10 || *q.Drops != 0 || q.Marked != nil || q.Stale || q.At.IsZero() {
		t.Errorf("reading %+v", q)
	}
	if again := read(); !again[0].Stale || !again[1].Stale || again[1].Every.Seconds() != 10 {
		t.Errorf("the same again within 10 s is not stale: %+v", again)
	}
	count(map[string]string{"SAI_QUEUE_STAT_BYTES": "2000", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "4"})
	if again := read(); !again[0].Stale || again[1].Stale || *again[1].Octets != 2000 || *again[1].Marked != 4 {
		t.Errorf("a change: %+v", again)
	}
	if one, err := d.PortQueueCounters(t.Context(), dev, 2, 3, 5); err != nil || len(one) != 1 || one[0].Port != 2 || *one[0].Octets != 2000 {
		t.Errorf("port 2 alone: %+v, %v", one, err)
	}
	// The switch restarts: its objects have other numbers.
	s.mu.Lock()
	c := s.dbs["COUNTERS_DB"]
	c["COUNTERS"]["oid:0x2"] = map[string]string{"SAI_QUEUE_STAT_BYTES": "5"}
	delete(c["COUNTERS"], "oid:0x15000000000001")
	c["COUNTERS_QUEUE_NAME_MAP"][""]["Ethernet4:3"] = "oid:0x2"
	s.mu.Unlock()
	if again := read(); *again[1].Octets != 5 || again[1].Packets != nil {
		t.Errorf("after a restart: %+v", again)
	}
	s.mu.Lock()
	c["COUNTERS"]["oid:0x2"]["SAI_QUEUE_STAT_BYTES"] = "many"
	s.mu.Unlock()
	if _, err := d.QueueCounters(t.Context(), dev, 3); err == nil || !strings.Contains(err.Error(), "many") {
		t.Errorf("no number: %v", err)
	}
	if n := r.sets("leaf-1"); n != 0 {
		t.Errorf("reading counters wrote %d times", n)
	}
	_, s, d, dev = oneSwitch(t, func(_ *fakeSwitch, c tables) { c["FLEX_COUNTER_TABLE"]["QUEUE"]["FLEX_COUNTER_STATUS"] = "disable" })
	_, err := d.QueueCounters(t.Context(), dev, 3)
	refused(t, "turned off", err, driver.ErrUnsupported, "counterpoll queue enable")
	s.config(func(c tables) { delete(c, "FLEX_COUNTER_TABLE") })
	delete(s.dbs["COUNTERS_DB"], "COUNTERS_QUEUE_NAME_MAP")
	_, err = d.QueueCounters(t.Context(), dev, 3)
	refused(t, "no map", err, driver.ErrUnsupported, "no counters of queues")
	if _, err := d.ReadCounters(t.Context(), dev); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("counters of a NIC: %v", err)
	}
}

func TestSwitchesServeSwitches(t *testing.T) {
	t.Parallel()
	_, _, d, dev := oneSwitch(t, nil)
	nic := nicDevice(driver.PlaneRoCE, ident.PortID{Node: 1, Port: 1}, "leaf-1")
	_, err := d.Read(t.Context(), nic)
	refused(t, "a NIC", err, driver.ErrInvalid, "the target is a switch")
	dev.Plane = driver.PlaneWRCC
	_, err = d.Read(t.Context(), dev)
	refused(t, "another plane", err, driver.ErrInvalid, `plane "wrcc"`)
}
