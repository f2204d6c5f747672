package adopt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/testkit/zhtest"
)

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func newNIC() *nicparam.Table {
	return nicparam.New(nicparam.Caps{Limits: dcqcn.Limits{}, NewNV: true})
}

func key(port int, name string) nicparam.Key { return nicparam.Key{Port: port, Name: name} }

// wantError checks that an error has a location in a file and contains the parts.
func wantError(t *testing.T, title string, err error, parts ...string) {
	t.Helper()
	var pe *ParseError
	if !errors.As(err, &pe) {
		t.Errorf("%s: error %v, want one with a place", title, err)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %q is not in %q", title, p, err)
		}
	}
	same := pe.Field + " drop forward alert mstconfig ethtool dcb ets show strict cbs vendor"
	if pe.Found.IsVerbatim() { // the text itself, or an error of the JSON decoder
		same += " " + pe.Found.String()
	}
	zhtest.Error(t, title, err, strings.FieldsFunc(same, func(r rune) bool { return r == ' ' || r == '|' || r == ':' })...)
}

func TestMlxconfigShowsDefaultCurrentAndNext(t *testing.T) {
	t.Parallel()
	s, err := Mlxconfig("nic.txt", read(t, "mstconfig.txt"), newNIC())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		port  int
		name  string
		stage Stage
		want  uint64
		known bool
	}{
		{1, "rpg_time_reset", StageDefault, 300, true}, {1, "rpg_time_reset", StageCurrent, 300, true}, {1, "rpg_time_reset", StageNext, 150, true},
		{1, "rpg_ai_rate", StageDefault, 5, true}, {1, "rpg_ai_rate", StageCurrent, 20, true}, {1, "clamp_tgt_rate_after_time_inc", StageNext, 1, true},
		{1, "roce_cc_cnp_moderation", StageCurrent, 0, true}, {0, "user_programmable_cc", StageCurrent, 0, true},
		{2, "roce_cc_prio_mask", StageCurrent, 8, true}, {2, "rpg_ai_rate", StageCurrent, 0, false},
		{1, "min_time_between_cnps", StageDefault, 4, true}, {1, "min_time_between_cnps", StageCurrent, 0, false},
		{1, "rpg_gd", StageCurrent, 12, true}, // not a legal value to write, but one that the register holds
	} {
		got, ok := s.Value(key(c.port, c.name), c.stage)
		if got != c.want || ok != c.known {
			t.Errorf("port %d %s %s: %d, %v; want %d, %v", c.port, c.name, c.stage, got, ok, c.want, c.known)
		}
	}
	unknown := []Unknown{{"MEMIC_BAR_SIZE", "nic.txt", 11}, {"NUM_OF_VFS", "nic.txt", 12}, {"ESWITCH_HAIRPIN_DESCRIPTORS", "nic.txt", 13}}
	if d := cmp.Diff(unknown, s.Unknown); d != "" {
		t.Error(d)
	}
	q, err := ParseQuery("nic.txt", read(t, "mstconfig.txt"))
	if err != nil || len(q) != 1 {
		t.Fatalf("%d devices, error %v", len(q), err)
	}
	if q[0].Type != "ConnectX6DX" || q[0].Device != "0000:3b:00.0" || !q[0].Rows[1].Changed || q[0].Rows[0].Changed {
		t.Errorf("device %q at %q, rows %+v", q[0].Type, q[0].Device, q[0].Rows[:2])
	}
	if _, ok := q[0].Value(&q[0].Rows[0], "other"); ok {
		t.Error("a column that the query lacks has a value")
	}
}

// Older firmware prints one or two columns, and a text may contain several devices.
func TestQueriesOfSeveralDevicesAndFewerColumns(t *testing.T) {
	t.Parallel()
	const text = "Device #1:\n----------\nDevice: 0000:03:00.0\nConfigurations:   Next Boot\n RPG_GD_P1   10\n\nDevice #2:\n----------\nDevice: 0000:04:00.0\n" +
		"-W- Firmware is old\nConfigurations:   Current  Next Boot\r\n*  RPG_GD_P1   10  11\r\n RO  CNP_DSCP_P1 48 48\r\n"
	q, err := ParseQuery("two.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	want := []Query{
		{Number: 1, Device: "0000:03:00.0", Columns: []Stage{StageNext}, Rows: []Row{{Name: "RPG_GD_P1", Values: []string{"10"}, Line: 5}}},
		{Number: 2, Device: "0000:04:00.0", Columns: []Stage{StageCurrent, StageNext}, Rows: []Row{
			{Name: "RPG_GD_P1", Values: []string{"10", "11"}, Changed: true, Line: 12}, {Name: "CNP_DSCP_P1", Values: []string{"48", "48"}, Line: 13}}},
	}
	if d := cmp.Diff(want, q); d != "" {
		t.Error(d)
	}
	_, err = Mlxconfig("two.txt", text, newNIC())
	wantError(t, "two devices as one", err, "two.txt", "2 devices")
}

func TestMlxconfigErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	const head = "Configurations: Default Current Next Boot\n"
	for _, c := range []struct {
		title, text string
		want        []string
	}{
		{"nothing", "", []string{"nic.txt:1", "Configurations:"}},
		{"other text", "bash: mstconfig: command not found\n", []string{"Configurations:"}},
		{"refusal", "\n-E- Failed to open device: permission denied\n", []string{"nic.txt:2", "Failed to open device", "succeeded"}},
		{"refusal in a table", head + "-E- Failed to query\n", []string{"nic.txt:2"}},
		{"device number", "Device #x:\n", []string{"nic.txt:1", "Device #x"}},
		{"column", "Configurations: Default Now\n", []string{"nic.txt:1", "\"Now\"", "Next Boot"}},
		{"no column", "Configurations:\n", []string{"nic.txt:1", "at most once"}},
		{"column twice", "Configurations: Current Current\n", []string{"nic.txt:1", "at most once"}},
		{"columns that change", head + "Configurations: Current\n", []string{"nic.txt:2", "first table"}},
		{"value missing", head + " RPG_GD_P1 11 11\n", []string{"nic.txt:2", "2 values", "3 values"}},
		{"value too many", head + " RPG_GD_P1 11 11 11 11\n", []string{"nic.txt:2", "4 values"}},
		{"name twice", head + " RPG_GD_P1 11 11 11\n RPG_GD_P1 11 11 11\n", []string{"nic.txt:3", "again", "line 2"}},
		{"not a number", head + " RPG_GD_P1 11 x 11\n", []string{"nic.txt:2: RPG_GD_P1", "\"x\"", "10..11"}},
		{"beyond the register", head + " RPG_AI_RATE_P1 5 131072 5\n", []string{"nic.txt:2: RPG_AI_RATE_P1", "131072", "0..131071"}},
		{"too long", strings.Repeat("x", MaxBytes+1), []string{"16777217 bytes"}},
	} {
		_, err := Mlxconfig("nic.txt", c.text, newNIC())
		wantError(t, c.title, err, c.want...)
	}
}

func TestSetArgumentsAreReadBackAsWritten(t *testing.T) {
	t.Parallel()
	set := []nicparam.Setting{{Key: key(1, "rpg_ai_rate"), Value: 20}, {Key: key(2, "clamp_tgt_rate"), Value: 1}, {Key: key(0, "user_programmable_cc"), Value: 0}}
	args, err := SetArgs("0000:3b:00.0", set, newNIC())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Fields("-d 0000:3b:00.0 -y set RPG_AI_RATE_P1=20 CLAMP_TGT_RATE_P2=1 USER_PROGRAMMABLE_CC=0"), args); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(strings.Fields("-d mlx5_0 -e q"), QueryArgs("mlx5_0")); d != "" {
		t.Error(d)
	}
	for _, c := range []struct {
		title, device string
		set           []nicparam.Setting
	}{
		{"option as device", "-y", set}, {"no device", "", set}, {"blank in device", "a b", set}, {"nothing", "mlx5_0", nil},
		{"illegal value", "mlx5_0", []nicparam.Setting{{Key: key(1, "rpg_gd"), Value: 16}}},
		{"no such name", "mlx5_0", []nicparam.Setting{{Key: key(1, "x"), Value: 1}}},
		{"not in NV", "mlx5_0", []nicparam.Setting{{Key: key(1, "pfc"), Value: 1}}},
	} {
		if args, err := SetArgs(c.device, c.set, newNIC()); err == nil {
			t.Errorf("%s: %q", c.title, args)
		}
	}
}

func TestEthtoolReportsUnreadableCountersAsErrors(t *testing.T) {
	t.Parallel()
	s, err := Ethtool("e.txt", read(t, "ethtool.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Counters.Read("rx_prio3_pause"); v != 1<<64-1 || err != nil {
		t.Errorf("%d, error %v", v, err)
	}
	if v, err := s.Counters.Read("tx_prio3_pause"); v != 0 || err != nil {
		t.Errorf("%d, error %v", v, err)
	}
	_, err = s.Counters.Read("module_bad_shorted")
	wantError(t, "a word for a number", err, "e.txt:6", "module_bad_shorted", "\"error\"")
	if _, err := s.Counters.Read("rx_prio4_pause"); !errors.Is(err, niccount.ErrAbsent) {
		t.Errorf("error %v", err)
	}
	if len(s.Counters) != 6 {
		t.Errorf("%d counters", len(s.Counters))
	}
	for _, c := range []struct{ title, text, want string }{
		{"nothing", "", "no statistics"}, {"none available", "no stats available\n", "e.txt:1"}, {"no colon", "NIC statistics:\n rx_packets 5\n", "e.txt:2"},
		{"no name", "NIC statistics:\n : 5\n", "e.txt:2"}, {"twice", "NIC statistics:\n a: 5\n a: 5\n", "e.txt:3"},
	} {
		_, err := Ethtool("e.txt", c.text)
		wantError(t, c.title, err, c.want)
	}
	over, err := Ethtool("e.txt", "NIC statistics:\n a: 18446744073709551616\n b: -1\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if v, err := over.Counters.Read(name); err == nil || over.Counters[name].Value != 0 {
			t.Errorf("%s is %d", name, v)
		}
	}
}

// The text is recorded output of dcb of iproute2 6.1 for a port whose objects are known byte for byte.
func TestDCBReadsToolOutput(t *testing.T) {
	t.Parallel()
	o, unknown, err := DCB("dcb.json", read(t, "dcb.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := &dcbnl.IEEE{
		ETS: &dcbnl.ETS{Willing: true, Cap: 8, TxBW: [8]uint8{10, 20, 0, 70}, TSA: [8]uint8{2, 2, 2, 2, 0, 0, 0, 1}, PrioTC: [8]uint8{1, 0, 2, 3, 4, 5, 6, 7},
			RecoBW: [8]uint8{10, 20, 0, 70}, RecoTSA: [8]uint8{2, 2, 2, 2, 0, 0, 0, 255}, RecoPrioTC: [8]uint8{1, 0, 2, 3, 4, 5, 6, 7}},
		PFC: &dcbnl.PFC{Cap: 8, Enabled: 8, MBC: true, Delay: 100, Requests: [8]uint64{0, 1, 2, 3, 4, 5, 6, 7}, Indications: [8]uint64{10, 11, 12, 13, 14, 15, 16, 17}},
		Apps: []dcbnl.App{{Selector: 1}, {Selector: 1, Priority: 2, Protocol: 35093}, {Selector: 2, Priority: 3, Protocol: 4791}, {Selector: 3, Priority: 3, Protocol: 4791},
			{Selector: 4, Priority: 1, Protocol: 80}, {Selector: 5, Priority: 3, Protocol: 26}, {Selector: 5, Priority: 6, Protocol: 48}},
		MaxRate: &[8]uint64{10000000, 0, 0, 25000000},
		Buffer:  &dcbnl.Buffer{PrioBuffer: [8]uint8{3: 1}, Size: [8]uint32{20480, 40960}, Total: 262144},
	}
	if d := cmp.Diff(want, o); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Unknown{{"host", "dcb.json", 6}, {"ieee", "dcb.json", 6}}, unknown); d != "" {
		t.Error(d)
	}
	s, err := DCBState("dcb.json", read(t, "dcb.json"), 2)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[nicparam.Key]uint64{key(2, "trust"): 1, {Port: 2, Name: "tc_bw", Index: 3}: 70, {Port: 2, Name: "pfc", Index: 3}: 1,
		{Port: 2, Name: "dscp2prio", Index: 48}: 6, key(2, "cable_len"): 100, {Port: 2, Name: "tc_maxrate", Index: 3}: 25000000} {
		if got, ok := s.Value(k, StageCurrent); !ok || got != want {
			t.Errorf("%s is %d (%v), want %d", k, got, ok, want)
		}
	}
}

func TestDCBErrorsNameTheLineAndField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title, text string
		want        []string
	}{
		{"nothing", "", []string{"d.json:1", "JSON"}},
		{"half an object", "{\"delay\":1}\n\n{\"delay\":", []string{"d.json:3"}},
		{"a list", "[1]", []string{"d.json:1", "an object"}},
		{"null", "null", []string{"an object"}},
		{"seven priorities", `{"prio_pfc":[true,true,true,true,true,true,true]}`, []string{"prio_pfc", "7 values", "8"}},
		{"some of ETS", `{"tc_bw":[0,0,0,0,0,0,0,0]}`, []string{"all of them"}},
		{"an algorithm", `{"tc_bw":[0,0,0,0,0,0,0,0],"prio_tc":[0,0,0,0,0,0,0,0],"tc_tsa":["odd","ets","ets","ets","ets","ets","ets","ets"]}`, []string{"tc_tsa[0]", "odd", "strict(0)"}},
		{"bytes for numbers", `{"prio_buffer":"AAAAAAAAAAA=","buffer_size":[0,0,0,0,0,0,0,0]}`, []string{"prio_buffer", "string"}},
		{"a byte too large", `{"prio_buffer":[0,0,0,0,0,0,0,256],"buffer_size":[0,0,0,0,0,0,0,0]}`, []string{"prio_buffer[7]", "256"}},
		{"an invalid class", `{"prio_buffer":[0,0,0,0,0,0,0,8],"buffer_size":[0,0,0,0,0,0,0,0]}`, []string{"prio2buffer[7]", "found 8", "0..7"}},
		{"an invalid DSCP", `{"dscp_prio":[[26,3],[64,3]]}`, []string{"dscp_prio[1]", "64", "0..63"}},
		{"half an entry", `{"dscp_prio":[[26]]}`, []string{"dscp_prio[0]"}},
		{"an invalid priority", `{"default_prio":[8]}`, []string{"default_prio[0]"}},
		{"a word for a number", `{"delay":"far"}`, []string{"delay", "string", "uint16"}},
		{"too large", `{"delay":70000}`, []string{"delay"}},
	} {
		_, err := DCBState("d.json", c.text, 1)
		wantError(t, c.title, err, append(c.want, "d.json")...)
	}
}

func TestSONiCReadsQueuesPortsAndMaps(t *testing.T) {
	t.Parallel()
	s, err := SONiC("config_db.json", read(t, "config_db.json"))
	if err != nil {
		t.Fatal(err)
	}
	lossless, tenant := &ecn.Marking{Min: 250000, Max: 1048576, PMaxPct: 5}, &ecn.Marking{Min: 150000, Max: 1500000, PMaxPct: 10}
	fast := &Scheduler{Name: "scheduler.2", Type: "DWRR", Weight: 50, PIR: 12500000000}
	classes := map[int]int{0: 1, 26: 3, 48: 6}
	want := &Switch{
		File: "config_db.json",
		Queues: []Queue{
			{Port: "Ethernet0", Number: 0, Scheduler: &Scheduler{Name: "scheduler.0", Type: "DWRR", Weight: 14}},
			{Port: "Ethernet0", Number: 3, Scheduler: fast, Profile: "AZURE_LOSSLESS", Marking: lossless},
			{Port: "Ethernet0", Number: 4, Scheduler: fast, Profile: "AZURE_LOSSLESS", Marking: lossless},
			{Port: "Ethernet0", Number: 6, Scheduler: &Scheduler{Name: "scheduler.1", Type: "STRICT"}},
			{Port: "Ethernet4", Number: 3, Profile: "TENANT_A", Marking: tenant},
			{Port: "Ethernet8", Number: 2, Profile: "DROPS"},
			{Port: "Ethernet8", Number: 3, Profile: "TENANT_A", Marking: tenant},
		},
		Ports: []SwitchPort{
			{Name: "Ethernet0", PFC: 1<<3 | 1<<4, PFCKnown: true, DSCPToTC: "AZURE", TCToQueue: "AZURE", Classes: classes,
				Outputs: map[int]int{0: 0, 1: 1, 3: 3, 6: 6}, Watchdog: &Watchdog{Action: "drop", Detection: 200, Restoration: 400}},
			{Name: "Ethernet4", PFCKnown: true},
			{Name: "global", DSCPToTC: "AZURE", Classes: classes},
		},
	}
	if d := cmp.Diff(want, s.Switch, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	empty, err := SONiC("config_db.json", "{}")
	if err != nil || len(empty.Switch.Queues)+len(empty.Switch.Ports) != 0 {
		t.Errorf("%+v, error %v", empty, err)
	}
}

func TestSONiCErrorsNameTheRowAndField(t *testing.T) {
	t.Parallel()
	whole := read(t, "config_db.json")
	for _, c := range []struct {
		title, from, to string
		want            []string
	}{
		{"not JSON", `"QUEUE": {`, `"QUEUE": }`, []string{"c.json:", "JSON"}},
		{"two documents", "\n  }\n}\n", "\n  }\n}\n{}", []string{"after the object"}},
		{"a list for a table", `"SCHEDULER": {`, `"SCHEDULER": [], "X": {`, []string{"SCHEDULER", "an object of rows"}},
		{"a number for a word", `"weight": "14"`, `"weight": 14`, []string{"SCHEDULER|scheduler.0 weight", "a string"}},
		{"a weight", `"weight": "14"`, `"weight": "0"`, []string{"SCHEDULER|scheduler.0 weight", "\"0\"", "1..100"}},
		{"a type", `"type": "STRICT"`, `"type": "FIFO"`, []string{"SCHEDULER|scheduler.1 type", "FIFO", "DWRR"}},
		{"thresholds", `"green_max_threshold": "1048576"`, `"green_max_threshold": "249999"`, []string{"WRED_PROFILE|AZURE_LOSSLESS green_max_threshold", "250000..4294967296"}},
		{"no threshold", `"green_max_threshold": "1048576", `, ``, []string{"WRED_PROFILE|AZURE_LOSSLESS green_max_threshold", "nothing"}},
		{"a probability", `"green_drop_probability": "5"`, `"green_drop_probability": "101"`, []string{"green_drop_probability", "0..100"}},
		{"colours", `"ecn": "ecn_all"`, `"ecn": "all"`, []string{"AZURE_LOSSLESS ecn", "ecn_green"}},
		{"a missing profile", `"wred_profile": "AZURE_LOSSLESS"`, `"wred_profile": "GONE"`, []string{"QUEUE|Ethernet0|3-4 wred_profile", "GONE", "that the file has"}},
		{"a row of another table", `[WRED_PROFILE|TENANT_A]`, `[SCHEDULER|scheduler.0]`, []string{"a row of WRED_PROFILE"}},
		{"a key without a queue", `"Ethernet0|6"`, `"Ethernet0"`, []string{"QUEUE|Ethernet0", "PORT|QUEUE"}},
		{"a queue", `"Ethernet0|6"`, `"Ethernet0|20"`, []string{"QUEUE|Ethernet0|20", "0..19"}},
		{"queues backwards", `"Ethernet0|3-4"`, `"Ethernet0|4-3"`, []string{"4-3", "0..19"}},
		{"a queue twice", `"Ethernet0|6"`, `"Ethernet0|4"`, []string{"QUEUE|Ethernet0|4", "two rows"}},
		{"a priority", `"pfc_enable": "3,4"`, `"pfc_enable": "3,8"`, []string{"PORT_QOS_MAP|Ethernet0 pfc_enable", "3,8"}},
		{"priorities as a span", `"pfc_enable": "3,4"`, `"pfc_enable": "3-4"`, []string{"pfc_enable"}},
		{"a missing map", `"tc_to_queue_map": "AZURE"`, `"tc_to_queue_map": "GONE"`, []string{"tc_to_queue_map", "TC_TO_QUEUE_MAP"}},
		{"a DSCP", `"26": "3"`, `"64": "3"`, []string{"DSCP_TO_TC_MAP|AZURE 64", "0..63"}},
		{"a DSCP twice", `"26": "3"`, `"26": "3", "026": "4"`, []string{"DSCP_TO_TC_MAP|AZURE", "two spellings"}},
		{"a class", `"26": "3"`, `"26": "16"`, []string{"DSCP_TO_TC_MAP|AZURE 26", "0..15"}},
		{"a watchdog's time", `"detection_time": "200"`, `"detection_time": "99"`, []string{"PFC_WD|Ethernet0 detection_time", "100..5000"}},
		{"a watchdog's action", `"action": "drop"`, `"action": "wait"`, []string{"PFC_WD|Ethernet0 action", "forward"}},
	} {
		text := strings.Replace(whole, c.from, c.to, 1)
		if text == whole {
			t.Fatalf("%s: %q is not in the file", c.title, c.from)
		}
		_, err := SONiC("c.json", text)
		wantError(t, c.title, err, append(c.want, "c.json")...)
	}
	_, err := SONiC("c.json", "")
	wantError(t, "nothing", err, "c.json:1")
	_, err = SONiC("c.json", strings.Repeat("[", 100000))
	wantError(t, "deep", err, "c.json:1")
}

func TestMergeAndDrift(t *testing.T) {
	t.Parallel()
	nv, err := Mlxconfig("nic.txt", read(t, "mstconfig.txt"), newNIC())
	if err != nil {
		t.Fatal(err)
	}
	dcb, err := DCBState("dcb.json", read(t, "dcb.json"), 1)
	if err != nil {
		t.Fatal(err)
	}
	counters, err := Ethtool("e.txt", read(t, "ethtool.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sonic, err := SONiC("config_db.json", read(t, "config_db.json"))
	if err != nil {
		t.Fatal(err)
	}
	runtime := &State{Settings: []Found{{Setting: nicparam.Setting{Key: key(1, "rpg_ai_rate"), Value: 40}, Stage: StageCurrent, By: nicparam.Sysfs, File: "sysfs"}}}
	all := &State{}
	for _, s := range []*State{nv, runtime, dcb, counters, sonic} {
		if err := all.Merge(s); err != nil {
			t.Fatal(err)
		}
	}
	if v, _ := all.Value(key(1, "rpg_ai_rate"), StageCurrent); v != 40 {
		t.Errorf("the run-time value is %d, want 40", v)
	}
	if all.Switch == nil || len(all.Counters) != 6 || len(all.Unknown) != 5 {
		t.Errorf("switch %v, %d counters, %d unknown", all.Switch, len(all.Counters), len(all.Unknown))
	}
	got := all.Drift([]nicparam.Setting{{Key: key(1, "rpg_ai_rate"), Value: 5}, {Key: key(1, "rpg_hai_rate"), Value: 50}, {Key: key(2, "rpg_gd"), Value: 11}, {Key: key(1, "rpg_gd"), Value: 11}})
	var text []string
	for _, d := range got {
		text = append(text, d.String())
	}
	want := []string{
		"port 1 rpg_ai_rate: want 5, got 40 (sysfs)",
		"port 2 rpg_gd: want 11, its value is unknown",
		"port 1 rpg_gd: want 11, got 12 (nic.txt:26)",
		"port 1 rpg_time_reset: is 300, becomes 150 at the next firmware reset (nic.txt:20)",
	}
	if d := cmp.Diff(want, text); d != "" {
		t.Error(d)
	}
	if d := all.Drift(all.Start()); len(d) != 1 || d[0].Reason != Pending {
		t.Errorf("the initial settings of a policy drift: %v", d)
	}
	err = all.Merge(&State{Settings: []Found{{Setting: nicparam.Setting{Key: key(1, "rpg_gd"), Value: 10}, Stage: StageCurrent, By: nicparam.NV, File: "other.txt", Line: 3}}})
	wantError(t, "two values", err, "other.txt:3", "port 1 rpg_gd", "found 10", "12, as nic.txt has it")
	wantError(t, "two switches", all.Merge(sonic), "second switch")
}

func FuzzMlxconfig(f *testing.F) {
	f.Add(read(f, "mstconfig.txt"))
	f.Add("Configurations: Next Boot\n RPG_GD_P1 11")
	table := newNIC()
	f.Fuzz(func(t *testing.T, s string) {
		st, err := Mlxconfig("f", s, table)
		if err != nil {
			return
		}
		for _, x := range st.Settings {
			if p, ok := table.Find(x.Name); !ok || !p.Legal(x.Value) && !p.Holds(nicparam.NV, x.Value, table.Caps()) {
				t.Fatalf("%+v", x)
			}
		}
	})
}

func FuzzTexts(f *testing.F) {
	for _, name := range []string{"ethtool.txt", "dcb.json", "config_db.json"} {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, s string) {
		if st, err := Ethtool("f", s); err == nil {
			for _, c := range st.Counters {
				if c.Err != nil && c.Value != 0 {
					t.Fatalf("%+v has an error and a value", c)
				}
			}
		}
		if st, err := DCBState("f", s, 1); err == nil {
			table := nicparam.New(nicparam.Caps{})
			for _, x := range st.Settings {
				if p, ok := table.Find(x.Name); !ok || !p.Legal(x.Value) {
					t.Fatalf("%+v", x)
				}
			}
		}
		if st, err := SONiC("f", s); err == nil {
			for _, q := range st.Switch.Queues {
				if q.Marking != nil && q.Marking.Validate() != nil {
					t.Fatalf("%+v", q)
				}
			}
		}
	})
}

// Port n of a switch is the n-th of its front ports, by the numbers in their names.
func TestFrontPortsAreNumbered(t *testing.T) {
	t.Parallel()
	s, err := SONiC("config_db.json", `{"PORT": {"Ethernet8": {"lanes": ["3"]}, "Ethernet0": {}, "Ethernet12": {}, "Ethernet4": {}, "Management": {}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12", "Management"}, s.Switch.Front); d != "" {
		t.Error(d)
	}
	if a, b := s.Switch.Number("Ethernet12"), s.Switch.Number("Ethernet1"); a != 4 || b != 0 {
		t.Errorf("%d, %d", a, b)
	}
	if _, err := SONiC("config_db.json", `{"PORT": ["Ethernet0"]}`); err == nil || !strings.Contains(err.Error(), "config_db.json") || !strings.Contains(err.Error(), "PORT") {
		t.Error(err)
	}
}

// Values that a text does not contain stay unknown: without an application table the trust mode is unknown.
func TestDCBReportsOnlyPresentObjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		trust bool
		n     int
	}{
		{`{}`, false, 0},
		{`{"prio_pfc":[false,false,false,true,false,false,false,false]}`, false, 9},
		{`{"ethtype_prio":[[35093,3]]}`, true, 1},
		{`{"dscp_prio":[[26,3]]}`, true, 2},
	} {
		s, err := DCBState("dcb.json", c.text, 1)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if _, ok := s.Value(nicparam.Key{Port: 1, Name: "trust"}, StageCurrent); ok != c.trust || len(s.Settings) != c.n {
			t.Errorf("%s: trust known: %t, %d settings", c.text, ok, len(s.Settings))
		}
	}
	var p *ParseError
	if _, err := DCBState("dcb.json", "\n{\"PORT\": {}}", 1); !errors.As(err, &p) || p.Line != 2 {
		t.Errorf("another program's JSON: %v", err)
	}
}
