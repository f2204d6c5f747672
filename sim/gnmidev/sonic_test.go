package gnmidev

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/ecn"
	"fairlane/sim/plane"
	"fairlane/subnet/ident"
)

const config = "sonic-db:/CONFIG_DB/localhost"

func TestNewSwitchHasRoCEDefaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := &StillSwitch{}
	r.sonic(t, func(o *SwitchOptions) { o.Plane = p })
	for path, want := range map[string]string{
		config + "/QUEUE/Ethernet4|3":                                                                    `{"scheduler":"scheduler.1","wred_profile":"AZURE_LOSSLESS"}`,
		config + "/QUEUE/Ethernet4|3/wred_profile":                                                       `"AZURE_LOSSLESS"`,
		config + "/DSCP_TO_TC_MAP/AZURE/26":                                                              `"3"`,
		config + "/TC_TO_QUEUE_MAP/AZURE/3":                                                              `"3"`,
		config + "/PORT_QOS_MAP/Ethernet12/pfc_enable":                                                   `"3"`,
		config + "/PFC_WD/GLOBAL":                                                                        `{"POLL_INTERVAL":"200"}`,
		config + "/BUFFER_PG/Ethernet0|3":                                                                `{"profile":"pg_lossless"}`,
		config + "/PORT/Ethernet0/speed":                                                                 `"100000"`,
		config + "/WRED_PROFILE[x=y]/AZURE_LOSSLESS/ecn":                                                 `"ecn_all"`, // keys in paths are ignored
		"sonic-db:/APPL_DB/localhost/BUFFER_QUEUE_TABLE/Ethernet0:4-7/profile":                           `"egress_lossy_profile"`,
		"sonic-db:/STATE_DB/localhost/PORT_TABLE/Ethernet0/netdev_oper_status":                           `"up"`,
		"sonic-db:/STATE_DB/localhost/QUEUE_COUNTER_CAPABILITIES/WRED_ECN_QUEUE_ECN_MARKED_PKT_COUNTER":  `{"isSupported":"true"}`,
		"sonic-db:/STATE_DB/localhost/QUEUE_COUNTER_CAPABILITIES/WRED_ECN_QUEUE_ECN_MARKED_BYTE_COUNTER": `{"isSupported":"false"}`,
		"sonic-db:/COUNTERS_DB/localhost/COUNTERS_QUEUE_NAME_MAP/Ethernet4:3":                            `"oid:0x1500000000000c"`,
		"sonic-db:/COUNTERS_DB/localhost/COUNTERS/oid:0x1500000000000c/SAI_QUEUE_STAT_DROPPED_PACKETS":   `"0"`,
		"sonic-db:/COUNTERS_DB/localhost/PERIODIC_WATERMARKS/Ethernet0/Queues/Ethernet0:3:periodic":      `{"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES":"0"}`,
		"sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet0/Pfcwd/Ethernet0:3/PFC_WD_STATUS":             `"operational"`,
	} {
		if got := r.must(t, "leaf-1", path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	want := []ecn.QueueMarking{}
	for port := range ident.PortNum(4) {
		want = append(want, ecn.QueueMarking{Port: port + 1, Queue: plane.RoCEPriority, Marking: stockMarking})
	}
	if got := p.Queues(); !slices.Equal(got, want) {
		t.Errorf("the data plane marks %+v, want %+v", got, want)
	}
}

func TestNativePathsFailAsTheServerDoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sonic(t, nil)
	for path, code := range map[string]codes.Code{
		"sonic-db:/CONFIG_DB":                                        codes.Unimplemented,
		"sonic_yang:/CONFIG_DB/localhost/QUEUE":                      codes.Unimplemented,
		"/CONFIG_DB/localhost/QUEUE":                                 codes.Unimplemented, // OpenConfig's translation does not include QoS
		"/qos/interfaces":                                            codes.Unimplemented,
		"sonic-db:/LOGLEVEL_DB/localhost/X":                          codes.Unimplemented,
		"sonic-db:/CONFIG_DB/asic0/QUEUE":                            codes.NotFound,
		config + "/QUEUE/Ethernet0|9":                                codes.NotFound,
		config + "/QUEUE/Ethernet0|3/none":                           codes.NotFound,
		config + "/NO_TABLE":                                         codes.NotFound,
		"sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet0/VoQs":    codes.NotFound,
		"sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet99/Queues": codes.NotFound,
	} {
		_, err := r.get(t, "leaf-1", path)
		wantCode(t, path, err, code)
	}
	for name, q := range map[string]*gnmi.GetRequest{
		"a type of data":  {Type: gnmi.GetRequest_CONFIG, Path: []*gnmi.Path{wirePath(t, config+"/QUEUE")}},
		"ASCII":           {Encoding: gnmi.Encoding_ASCII, Path: []*gnmi.Path{wirePath(t, config+"/QUEUE")}},
		"mixed databases": {Path: []*gnmi.Path{wirePath(t, config+"/QUEUE"), wirePath(t, "sonic-db:/STATE_DB/localhost/PORT_TABLE")}},
		"mixed origins":   {Path: []*gnmi.Path{wirePath(t, config+"/QUEUE"), wirePath(t, "openconfig:/qos")}},
	} {
		q.Prefix = &gnmi.Path{Target: "leaf-1"}
		_, err := r.client.Get(t.Context(), q)
		wantCode(t, name, err, codes.Unimplemented)
	}
	_, err := r.get(t, "nobody", config)
	wantCode(t, "an unknown target", err, codes.NotFound)
}

func TestASetIsOnePatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title    string
		set      []string
		code     codes.Code
		wantText string
		then     map[string]string // values after a successful Set
	}{
		{title: "another profile for a queue", set: []string{
			`update ` + config + `/SCHEDULER/scheduler.9 {"type":"DWRR","weight":"20"}`, `replace ` + config + `/QUEUE/Ethernet0|3/scheduler "scheduler.9"`,
		}, then: map[string]string{"/QUEUE/Ethernet0|3": `{"scheduler":"scheduler.9","wred_profile":"AZURE_LOSSLESS"}`}},
		{title: "an added entry replaces another", set: []string{`update ` + config + `/QUEUE/Ethernet0|3 {"wred_profile":"AZURE_LOSSLESS"}`},
			then: map[string]string{"/QUEUE/Ethernet0|3": `{"wred_profile":"AZURE_LOSSLESS"}`}},
		{title: "deletes come first", set: []string{`update ` + config + `/QUEUE/Ethernet0|3-4 {"scheduler":"scheduler.0"}`, `delete ` + config + `/QUEUE/Ethernet0|3`, `delete ` + config + `/QUEUE/Ethernet0|4`},
			then: map[string]string{"/QUEUE/Ethernet0|3-4": `{"scheduler":"scheduler.0"}`}},
		{title: "a map is edited", set: []string{`replace ` + config + `/DSCP_TO_TC_MAP/AZURE/26 "4"`}, then: map[string]string{"/DSCP_TO_TC_MAP/AZURE/26": `"4"`}},
		{title: "replacing by an empty object removes", set: []string{`replace ` + config + `/PFC_WD/Ethernet0 {}`}, then: map[string]string{}},
		{title: "pause off", set: []string{`replace ` + config + `/PORT_QOS_MAP/Ethernet0/pfc_enable ""`}, then: map[string]string{"/PORT_QOS_MAP/Ethernet0/pfc_enable": `""`}},
		{title: "tables that are not modelled", set: []string{`update ` + config + `/NTP_SERVER {"10.0.0.1":{"iburst":"on"}}`}, then: map[string]string{"/NTP_SERVER/10.0.0.1/iburst": `"on"`}},
		{title: "one invalid operation of two", set: []string{`replace ` + config + `/QUEUE/Ethernet0|3/scheduler "scheduler.2"`, `replace ` + config + `/QUEUE/Ethernet0|4/scheduler "none"`}, code: codes.InvalidArgument, wantText: "an entry of SCHEDULER"},
		{title: "a number for a string", set: []string{`replace ` + config + `/DSCP_TO_TC_MAP/AZURE/26 4`}, code: codes.InvalidArgument, wantText: "want a string"},
		{title: "replace without a target", set: []string{`replace ` + config + `/QUEUE/Ethernet0|11/scheduler "scheduler.0"`}, code: codes.NotFound},
		{title: "delete without a target", set: []string{`delete ` + config + `/QUEUE/Ethernet0|11`}, code: codes.NotFound},
		{title: "a field of no entry", set: []string{`update ` + config + `/QUEUE/Ethernet0|11/scheduler "scheduler.0"`}, code: codes.NotFound, wantText: "update the whole entry"},
		{title: "another database", set: []string{`update sonic-db:/STATE_DB/localhost/PORT_TABLE/Ethernet0/state "x"`}, code: codes.Unimplemented},
		{title: "too deep", set: []string{`update ` + config + `/QUEUE/Ethernet0|3/scheduler/x "1"`}, code: codes.InvalidArgument},
		{title: "only the root", set: []string{`delete ` + config}, code: codes.InvalidArgument, wantText: "delete the root and update it"},
		{title: "the weight of an existing scheduler", set: []string{`replace ` + config + `/SCHEDULER/scheduler.0/weight "20"`}, code: codes.PermissionDenied, wantText: "SCHEDULER table is illegal"},
		{title: "the type of an existing scheduler", set: []string{`replace ` + config + `/SCHEDULER/scheduler.0/type "WRR"`}, code: codes.PermissionDenied, wantText: "SCHEDULER table is illegal"},
		{title: "a scheduler in use", set: []string{`delete ` + config + `/SCHEDULER/scheduler.2`}, code: codes.InvalidArgument, wantText: "SCHEDULER"},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			w := r.sonic(t, nil)
			before := string(w.Config())
			err := r.set(t, "leaf-1", c.set...)
			wantCode(t, "set", err, c.code, c.wantText)
			if c.then == nil && string(w.Config()) != before {
				t.Error("a failed Set changed the configuration")
			}
			for path, want := range c.then {
				if got := r.must(t, "leaf-1", config+path); got != want {
					t.Errorf("%s is %s, want %s", path, got, want)
				}
			}
		})
	}
}

func TestGuardAllowsOnlyThresholdsOfTheStockProfile(t *testing.T) {
	t.Parallel()
	const stock, pool = config + "/WRED_PROFILE/AZURE_LOSSLESS", config + "/BUFFER_POOL/ingress_lossless_pool"
	for _, c := range []struct {
		set string
		ok  bool
	}{
		{`replace ` + stock + `/green_min_threshold "100000"`, true},
		{`replace ` + stock + `/green_max_threshold "3000000"`, true},
		{`replace ` + stock + `/green_drop_probability "1"`, true},
		{`update ` + stock + `/green_min_threshold "100000"`, false},
		{`delete ` + stock + `/green_min_threshold`, false},
		{`replace ` + stock + `/yellow_min_threshold "100000"`, false},
		{`replace ` + stock + `/ecn "ecn_none"`, false},
		{`replace ` + stock + ` {"ecn":"ecn_all","green_min_threshold":"1","green_max_threshold":"2"}`, false},
		{`update ` + config + `/WRED_PROFILE/TENANT_1 {"ecn":"ecn_all","green_min_threshold":"1","green_max_threshold":"2"}`, false},
		{`update ` + config + `/WRED_PROFILE {"TENANT_1":{"ecn":"ecn_all"}}`, false},
		{`replace ` + config + `/BUFFER_PROFILE/pg_lossless/dynamic_th "-1"`, true},
		{`replace ` + config + `/BUFFER_PROFILE/pg_lossless/xoff "170000"`, true},
		{`replace ` + config + `/BUFFER_PROFILE/pg_lossless/xon "10000"`, false},
		{`replace ` + pool + `/size "100000000"`, true},
		{`replace ` + pool + `/mode "static"`, false},
		{`replace ` + config + `/BUFFER_POOL/egress_lossless_pool/size "1"`, false},
		{`replace ` + config + `/PFC_WD/Ethernet0/action "forward"`, true},
		{`update ` + config + `/PFC_WD/Ethernet0/detection_time "400"`, true},
		{`delete ` + config + `/PFC_WD/Ethernet0`, true},
		{`update ` + config + `/PFC_WD/Ethernet0/pfc_stat_history "enable"`, false},
		{`replace ` + config + `/QUEUE/Ethernet0|0/scheduler "scheduler.1"`, true}, // the guard does not protect this table
	} {
		for kind, change := range map[string]func(*SwitchOptions){
			"guarded": nil, "unguarded": func(o *SwitchOptions) { o.Unguarded = true }, "an old image": func(o *SwitchOptions) { o.Build = 20220100 }, "unlisted": func(o *SwitchOptions) { o.ASIC = "td2" },
		} {
			r := newRig(t)
			w := r.sonic(t, change)
			before := string(w.Config())
			err := r.set(t, "leaf-1", c.set)
			listed := c.ok && kind == "guarded" || strings.Contains(c.set, "/QUEUE/")
			switch {
			case kind == "unguarded" && strings.Contains(c.set, `/mode`):
				wantCode(t, kind+" "+c.set, err, codes.InvalidArgument, "threshold of the wrong kind")
			case kind == "unguarded" && strings.Contains(c.set, `WRED_PROFILE {`): // adding the table would remove the profile to which queues refer
				wantCode(t, kind+" "+c.set, err, codes.InvalidArgument, "AZURE_LOSSLESS")
			case listed || kind == "unguarded":
				wantCode(t, kind+" "+c.set, err, codes.OK)
			default:
				wantCode(t, kind+" "+c.set, err, codes.PermissionDenied, "rdma_config_update_validator")
				if string(w.Config()) != before {
					t.Errorf("%s: %s changed the configuration", kind, c.set)
				}
			}
		}
	}
}

func TestModelChecksRangesAndReferences(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.sonic(t, func(o *SwitchOptions) { o.Unguarded = true })
	for _, c := range []struct {
		set string
		ok  bool
	}{
		{`update ` + config + `/WRED_PROFILE/a {"ecn":"ecn_green","green_min_threshold":"0","green_max_threshold":"0","green_drop_probability":"100"}`, true},
		{`update ` + config + `/WRED_PROFILE/a {"ecn":"ecn_blue"}`, false},
		{`update ` + config + `/WRED_PROFILE/a {"green_min_threshold":"2","green_max_threshold":"1"}`, false},
		{`update ` + config + `/WRED_PROFILE/a {"green_drop_probability":"101"}`, false},
		{`update ` + config + `/WRED_PROFILE/a {"green_drop_probability":"-1"}`, false},
		{`update ` + config + `/WRED_PROFILE/a {"ecn":"ecn_red","ecn_green_min_threshold":"1","ecn_green_max_threshold":"2"}`, false},
		{`update ` + config + `/WRED_PROFILE/a {"ecn":"ecn_green_red","ecn_green_min_threshold":"1","ecn_green_max_threshold":"2","ecn_green_mark_probability":"3"}`, true},
		{`update ` + config + `/WRED_PROFILE/a {"colour":"x"}`, false},
		{`update ` + config + `/WRED_PROFILE/-a {"ecn":"ecn_all"}`, false},
		{`update ` + config + `/WRED_PROFILE/` + strings.Repeat("a", 33) + ` {"ecn":"ecn_all"}`, false},
		{`update ` + config + `/QUEUE/Ethernet0|3-4 {"scheduler":"scheduler.0"}`, true},
		{`update ` + config + `/QUEUE/CPU|0 {"scheduler":"scheduler.0"}`, true},
		{`update ` + config + `/QUEUE/Ethernet5|3 {"scheduler":"scheduler.0"}`, false},
		{`update ` + config + `/QUEUE/Ethernet0|20 {"scheduler":"scheduler.0"}`, false},
		{`update ` + config + `/QUEUE/Ethernet0|4-3 {"scheduler":"scheduler.0"}`, false},
		{`update ` + config + `/QUEUE/Ethernet0|5 {"wred_profile":"none"}`, false},
		{`update ` + config + `/SCHEDULER/x {"type":"WRR","weight":"100","cir":"1","pir":"2"}`, true},
		{`update ` + config + `/SCHEDULER/y {"weight":"0"}`, false},
		{`update ` + config + `/SCHEDULER/y {"weight":"101"}`, false},
		{`update ` + config + `/SCHEDULER/y {"priority":"10"}`, false},
		{`update ` + config + `/SCHEDULER/y {"cir":"2","pir":"1"}`, false},
		{`replace ` + config + `/PORT_QOS_MAP/Ethernet0/pfc_enable "3,4"`, true},
		{`replace ` + config + `/PORT_QOS_MAP/Ethernet0/pfc_enable "8"`, false},
		{`replace ` + config + `/PORT_QOS_MAP/Ethernet0/dscp_to_tc_map "none"`, false},
		{`update ` + config + `/PORT_QOS_MAP/global {"dscp_to_tc_map":"AZURE"}`, true},
		{`update ` + config + `/DSCP_TO_TC_MAP/AZURE/64 "0"`, false},
		{`update ` + config + `/TC_TO_QUEUE_MAP/AZURE/3 "20"`, false},
		{`update ` + config + `/MAP_PFC_PRIORITY_TO_QUEUE/AZURE/8 "0"`, false},
		{`update ` + config + `/BUFFER_PROFILE/p {"size":"1"}`, false},
		{`update ` + config + `/BUFFER_PROFILE/p {"pool":"egress_lossy_pool","size":"1","dynamic_th":"1","static_th":"1"}`, false},
		{`update ` + config + `/BUFFER_PROFILE/p {"pool":"egress_lossless_pool","size":"1","dynamic_th":"1"}`, false},
		{`update ` + config + `/BUFFER_PROFILE/p {"pool":"egress_lossy_pool","size":"1","dynamic_th":"-9"}`, false},
		{`update ` + config + `/BUFFER_PG/Ethernet0|3 {"profile":"none"}`, false},
		{`update ` + config + `/CABLE_LENGTH/AZURE/Ethernet0 "40m"`, true},
		{`update ` + config + `/CABLE_LENGTH/AZURE/Ethernet0 "40"`, false},
		{`update ` + config + `/CABLE_LENGTH/AZURE/Ethernet9 "40m"`, false},
		{`update ` + config + `/PFC_WD/Ethernet0 {"action":"drop","detection_time":"99"}`, false},
		{`update ` + config + `/PFC_WD/Ethernet0 {"action":"drop","detection_time":"5001"}`, false},
		{`update ` + config + `/PFC_WD/Ethernet0 {"action":"drop","detection_time":"5000","restoration_time":"60000"}`, true},
		{`update ` + config + `/PFC_WD/Ethernet0 {"action":"burn"}`, false},
		{`update ` + config + `/PFC_WD/GLOBAL {"POLL_INTERVAL":"1001"}`, false},
		{`update ` + config + `/PFC_WD/GLOBAL {"POLL_INTERVAL":"300"}`, false}, // longer than the detection times of ports
		{`update ` + config + `/FLEX_COUNTER_TABLE/QUEUE {"FLEX_COUNTER_STATUS":"enable","POLL_INTERVAL":"99"}`, false},
		{`delete ` + config + `/PORT/Ethernet0`, false},
	} {
		before := string(w.Config())
		err := r.set(t, "leaf-1", c.set)
		if c.ok {
			wantCode(t, c.set, err, codes.OK)
			continue
		}
		wantCode(t, c.set, err, codes.InvalidArgument)
		if string(w.Config()) != before {
			t.Errorf("%s changed the configuration", c.set)
		}
	}
}

func TestConfigurationIsReplacedByDeleteAndUpdateOfTheRoot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.sonic(t, nil)
	var all map[string]map[string]map[string]string
	if err := json.Unmarshal(w.Config(), &all); err != nil {
		t.Fatal(err)
	}
	all[wredTable]["NEW"] = map[string]string{"ecn": "ecn_all", "green_min_threshold": "7", "green_max_threshold": "9", "green_drop_probability": "11"}
	all["QUEUE"]["Ethernet0|3"]["wred_profile"] = "NEW"
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "load", r.set(t, "leaf-1", "delete "+config, "update "+config+" "+string(text)), codes.OK)
	if got := w.Marking()[0].Marking; got != (ecn.Marking{Min: 7, Max: 9, PMaxPct: 11}) {
		t.Errorf("marking %+v", got)
	}
}

func TestSetReachesTheDataPlaneAndSurvivesReboot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := &StillSwitch{}
	w := r.sonic(t, func(o *SwitchOptions) { o.Plane = p })
	if err := r.set(t, "leaf-1", `replace `+config+`/WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold "5000"`); err != nil {
		t.Fatal(err)
	}
	if got := p.Queues()[0].Marking.Min; got != 5000 {
		t.Errorf("minimum threshold %d, want 5000", got)
	}
	w.Edit("QUEUE", "Ethernet0|3", map[string]string{"scheduler": "scheduler.0"}) // a manual change without saving
	if got := p.Queues()[0].Port; got != 2 {
		t.Errorf("port %d is the first that marks, want 2", got)
	}
	w.Reboot()
	if got := w.Marking()[0]; got.Port != 1 || got.Marking.Min != 5000 {
		t.Errorf("after a reboot %+v", got)
	}
	w.Reset()
	if got := w.Marking()[0].Marking; got != stockMarking {
		t.Errorf("as it came %+v", got)
	}
}

func TestASwitchWithoutNativeWriteRefusesSets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sonic(t, func(o *SwitchOptions) { o.ReadOnly = true })
	wantCode(t, "set", r.set(t, "leaf-1", `replace `+config+`/QUEUE/Ethernet0|3/scheduler "scheduler.0"`), codes.Unimplemented, "GNMI_NATIVE_WRITE")
}

func TestAStaleManagerIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sonic(t, nil)
	by := func(election uint64) error {
		q := request(t, "leaf-1", `replace `+config+`/QUEUE/Ethernet0|3/scheduler "scheduler.0"`)
		q.Extension = []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{ElectionId: &gnmi_ext.Uint128{Low: election}}}}}
		_, err := r.client.Set(t.Context(), q)
		return err
	}
	wantCode(t, "the second", by(2), codes.OK)
	wantCode(t, "the first", by(1), codes.PermissionDenied)
}

func TestCountersAgeWithTheirPollingInterval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := &StillSwitch{}
	w := r.sonic(t, func(o *SwitchOptions) { o.Plane = p })
	queue := func() string {
		return r.must(t, "leaf-1", "sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet0/Queues/Ethernet0:3/SAI_QUEUE_STAT_BYTES")
	}
	port := func() string {
		return r.must(t, "leaf-1", "sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet0/SAI_PORT_STAT_IF_OUT_OCTETS")
	}
	count := func(n uint64) {
		c := plane.SwitchPortCounters{TxOctets: n, Up: true}
		c.Queues[3] = plane.QueueCounters{Octets: n, Marks: n / 10, Peak: int64(n)}
		p.Count(1, c)
	}
	count(1000)
	if queue() != `"1000"` || port() != `"1000"` {
		t.Fatalf("%s and %s, want 1000", queue(), port())
	}
	count(5000)
	r.clock.Advance(9 * time.Second)
	if q, p := queue(), port(); q != `"1000"` || p != `"5000"` {
		t.Errorf("9 s later the queue counter is %s and the port counter %s, want 1000 and 5000", q, p)
	}
	if got := r.must(t, "leaf-1", "sonic-db:/COUNTERS_DB/localhost/RATES/Ethernet0/TX_BPS"); got != `"444.44444444444446"` {
		t.Errorf("rate %s, want that of 4000 bytes in 9 s", got)
	}
	r.clock.Advance(time.Second)
	if q := queue(); q != `"5000"` {
		t.Errorf("10 s later the queue counter is %s, want 5000", q)
	}
	marks := "sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet0/Queues/Ethernet0:3/SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"
	_, err := r.get(t, "leaf-1", marks)
	wantCode(t, "counters of marks, not enabled", err, codes.NotFound)
	if err := r.set(t, "leaf-1", `update `+config+`/FLEX_COUNTER_TABLE/WRED_ECN_QUEUE {"FLEX_COUNTER_STATUS":"enable"}`); err != nil {
		t.Fatal(err)
	}
	if got := r.must(t, "leaf-1", marks); got != `"500"` {
		t.Errorf("marks %s, want 500", got)
	}
	if err := r.set(t, "leaf-1", `replace `+config+`/FLEX_COUNTER_TABLE/QUEUE/POLL_INTERVAL "100"`); err != nil {
		t.Fatal(err)
	}
	count(6000)
	r.clock.Advance(100 * time.Millisecond)
	if q := queue(); q != `"6000"` {
		t.Errorf("with faster polling the queue counter is %s, want 6000", q)
	}
	w.Reboot()
	r.clock.Advance(time.Minute)
	count(6500)
	if got := port(); got != `"500"` {
		t.Errorf("after a reboot the port counter is %s, want 500", got)
	}
	w.InjectSwitch(func(f *SwitchFaults) { f.Unreadable = true })
	_, err = r.get(t, "leaf-1", "sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet0/Queues/Ethernet0:3/SAI_QUEUE_STAT_BYTES")
	wantCode(t, "a counter that cannot be read", err, codes.NotFound)
}

func TestASICWithoutECNCountersReportsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sonic(t, func(o *SwitchOptions) { o.NoECNCounters = true })
	if err := r.set(t, "leaf-1", `update `+config+`/FLEX_COUNTER_TABLE/WRED_ECN_QUEUE {"FLEX_COUNTER_STATUS":"enable"}`); err != nil {
		t.Fatal(err)
	}
	if got := r.must(t, "leaf-1", "sonic-db:/STATE_DB/localhost/QUEUE_COUNTER_CAPABILITIES/WRED_ECN_QUEUE_ECN_MARKED_PKT_COUNTER/isSupported"); got != `"false"` {
		t.Errorf("capability %s", got)
	}
	if got := r.must(t, "leaf-1", "sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet0/Queues"); strings.Contains(got, "ECN_MARKED") {
		t.Errorf("counters %s", got)
	}
}

func TestTheOlderFormNamesTheDatabaseAsTarget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sonic(t, nil)
	for target, paths := range map[string][]string{
		"leaf-1/COUNTERS_DB": {"/COUNTERS/Ethernet0/Queues", "/COUNTERS/Ethernet*", "/COUNTERS/Ethernet*/Queues", "/COUNTERS/Ethernet*/SAI_PORT_STAT_PFC_3_RX_PKTS", "/COUNTERS_PORT_NAME_MAP", "/RATES/Ethernet0"},
		"COUNTERS_DB":        {"/COUNTERS/Ethernet0"}, // databases of the only switch
		"CONFIG_DB":          {"/QUEUE/Ethernet0|3/wred_profile"},
		"STATE_DB":           {"/PORT_TABLE/Ethernet0"},
	} {
		for _, path := range paths {
			if path == "/RATES/Ethernet0" {
				r.clock.Advance(time.Second)
			}
			if got := r.must(t, target, path); len(got) < 3 {
				t.Errorf("%s %s: %s", target, path, got)
			}
		}
	}
	if got := r.must(t, "COUNTERS_DB", "/COUNTERS/Ethernet*/SAI_PORT_STAT_PFC_3_RX_PKTS"); !strings.HasPrefix(got, `{"Ethernet0":{"SAI_PORT_STAT_PFC_3_RX_PKTS":"0"},`) {
		t.Errorf("one field of all ports: %s", got)
	}
	wantCode(t, "set", r.set(t, "CONFIG_DB", `replace /QUEUE/Ethernet0|3/scheduler "scheduler.0"`), codes.Unimplemented)
}
