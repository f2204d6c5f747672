package gnmidev

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/ecn"
	"fairlane/sim/plane"
)

const (
	ocQueue3 = "/qos/interfaces/interface[interface-id=Ethernet0]/output/queues/queue[name=3]"
	ocStock  = "/qos/queue-management-profiles/queue-management-profile[name=AZURE_LOSSLESS]"
)

func openConfigSwitch(t *testing.T, r *rig) (*Switch, *StillSwitch) {
	p := &StillSwitch{}
	return r.sonic(t, func(o *SwitchOptions) { o.Dialect, o.Plane = OpenConfig, p }), p
}

func TestOpenConfigShowsTheSameSwitch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, p := openConfigSwitch(t, r)
	var c plane.SwitchPortCounters
	c.Queues[3] = plane.QueueCounters{Octets: 1 << 40, Packets: 7, Drops: 2, Marks: 5, Peak: 99}
	p.Count(1, c)
	for path, want := range map[string]string{
		ocQueue3 + "/config/queue-management-profile":                                                                  `"AZURE_LOSSLESS"`,
		ocQueue3 + "/state/transmit-octets":                                                                            `"1099511627776"`,
		ocQueue3 + "/state/ecn-marked-pkts":                                                                            `"5"`,
		ocQueue3 + "/state/max-queue-len":                                                                              `"99"`,
		ocStock + "/wred/uniform/config/min-threshold":                                                                 `"1048576"`,
		ocStock + "/wred/uniform/state/max-drop-probability-percent":                                                   `5`,
		ocStock + "/wred/uniform/config/enable-ecn":                                                                    `true`,
		"/qos/queues/queue[name=3]/config/queue-id":                                                                    `3`,
		"/qos/classifiers/classifier[name=AZURE]/terms/term[id=26]/actions/config/target-group":                        `"tc3"`,
		"/qos/forwarding-groups/forwarding-group[name=tc3]/config/output-queue":                                        `"3"`,
		"/qos/scheduler-policies/scheduler-policy[name=Ethernet0]/schedulers/scheduler[sequence=6]/config/priority":    `"STRICT"`,
		"/qos/scheduler-policies/scheduler-policy[name=Ethernet0]/schedulers/scheduler[sequence=3]/inputs/input[id=3]": `{"openconfig-qos:id":"3","openconfig-qos:config":{"id":"3","queue":"3","weight":"50"},"openconfig-qos:state":{"id":"3","queue":"3","weight":"50"}}`,
	} {
		if got := r.must(t, "leaf-1", path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	_, err := r.get(t, "leaf-1", config+"/QUEUE")
	wantCode(t, "native paths", err, codes.InvalidArgument)
}

func TestOpenConfigHasBitsASecond(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w, _ := openConfigSwitch(t, r)
	w.Edit("SCHEDULER", "slow", map[string]string{"type": "DWRR", "weight": "1", "cir": "125", "pir": "1000"})
	w.Edit("QUEUE", "Ethernet0|3", map[string]string{"scheduler": "slow"})
	const rate = "/qos/scheduler-policies/scheduler-policy[name=Ethernet0]/schedulers/scheduler[sequence=3]/two-rate-three-color/config"
	if got := r.must(t, "leaf-1", rate); got != `{"openconfig-qos:cir":"1000","openconfig-qos:pir":"8000"}` {
		t.Errorf("rates %s", got)
	}
	w.Edit("PORT_QOS_MAP", "Ethernet4", map[string]string{"scheduler": "slow"})
	for path, want := range map[string]string{
		"/qos/scheduler-policies/scheduler-policy[name=Ethernet4]/schedulers/scheduler[sequence=8]/two-rate-three-color/config/pir": `"8000"`,
		"/interfaces/interface[name=Ethernet4]/ethernet/state/port-speed":                                                           `"openconfig-if-ethernet:SPEED_100GB"`,
	} {
		if got := r.must(t, "leaf-1", path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	_, err := r.get(t, "leaf-1", "/interfaces/interface[name=Ethernet5]/ethernet/state/port-speed")
	wantCode(t, "a port that does not exist", err, codes.NotFound)
}

func TestOpenConfigSetsProfilesAndReferences(t *testing.T) {
	t.Parallel()
	const mine = "/qos/queue-management-profiles/queue-management-profile[name=MINE]"
	rule := `{"name":"MINE","config":{"name":"MINE"},"wred":{"uniform":{"config":{"min-threshold":"10","max-threshold":"20","enable-ecn":true,"drop":false,"max-drop-probability-percent":30}}}}`
	for _, c := range []struct {
		title string
		set   []string
		code  codes.Code
		want  ecn.Marking // marking of queue 3 of the first port
	}{
		{"another profile", []string{"update " + mine + " " + rule, "update " + ocQueue3 + `/config/queue-management-profile "MINE"`}, codes.OK, ecn.Marking{Min: 10, Max: 20, PMaxPct: 30}},
		{"qualified names", []string{"update /qos/queue-management-profiles " + `{"openconfig-qos:queue-management-profile":[` + rule + `]}`, "update " + ocQueue3 + `/config {"openconfig-qos:queue-management-profile":"MINE"}`}, codes.OK, ecn.Marking{Min: 10, Max: 20, PMaxPct: 30}},
		{"other thresholds", []string{"update " + ocStock + `/wred/uniform/config {"min-threshold":"5","max-threshold":"6"}`}, codes.OK, ecn.Marking{Min: 5, Max: 6, PMaxPct: 5}},
		{"a replaced rule", []string{"replace " + ocStock + `/wred/uniform/config {"min-threshold":"5","max-threshold":"6","enable-ecn":true}`}, codes.OK, ecn.Marking{Min: 5, Max: 6, PMaxPct: 100}},
		{"no marking", []string{"update " + ocStock + `/wred/uniform/config/enable-ecn false`}, codes.OK, ecn.Marking{}},
		{"no profile", []string{"delete " + ocQueue3 + "/config/queue-management-profile"}, codes.OK, ecn.Marking{}},
		{"minimum threshold above the maximum", []string{"update " + ocStock + `/wred/uniform/config/min-threshold "9999999"`}, codes.InvalidArgument, stockMarking},
		{"a percentage of 101", []string{"update " + ocStock + `/wred/uniform/config/max-drop-probability-percent 101`}, codes.InvalidArgument, stockMarking},
		{"a profile in use", []string{"delete " + ocStock}, codes.InvalidArgument, stockMarking},
		{"a profile that does not exist", []string{"update " + ocQueue3 + `/config/queue-management-profile "NONE"`}, codes.InvalidArgument, stockMarking},
		{"a name that differs from the key", []string{"update " + mine + ` {"name":"OTHER"}`}, codes.InvalidArgument, stockMarking},
		{"a queue that does not exist", []string{"update " + strings.ReplaceAll(ocQueue3, "name=3", "name=9") + `/config/queue-management-profile "AZURE_LOSSLESS"`}, codes.NotFound, stockMarking},
		{"thresholds in percent", []string{"update " + ocStock + `/wred/uniform/config/min-threshold-percent 5`}, codes.Unimplemented, stockMarking},
		{"a read-only node", []string{`update /qos/forwarding-groups/forwarding-group[name=tc3]/config/output-queue "4"`}, codes.Unimplemented, stockMarking},
		{"a second operation that fails", []string{"update " + ocStock + `/wred/uniform/config/min-threshold "5"`, "update " + ocQueue3 + `/config/queue-management-profile "NONE"`}, codes.InvalidArgument, stockMarking},
	} {
		r := newRig(t)
		w, p := openConfigSwitch(t, r)
		wantCode(t, c.title, r.set(t, "leaf-1", c.set...), c.code)
		got := ecn.Marking{}
		if m := w.Marking(); len(m) > 0 && m[0].Port == 1 {
			got = m[0].Marking
		}
		if got != c.want {
			t.Errorf("%s: marking %+v, want %+v", c.title, got, c.want)
		}
		if received := p.Queues(); len(received) != len(w.Marking()) {
			t.Errorf("%s: the data plane received %d queues, want %d", c.title, len(received), len(w.Marking()))
		}
	}
}

func TestOpenConfigSplitsAnEntryOfSeveralQueues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w, _ := openConfigSwitch(t, r)
	for _, q := range []string{"3", "4"} {
		w.Edit("QUEUE", "Ethernet0|"+q, nil)
	}
	w.Edit("QUEUE", "Ethernet0|3-4", map[string]string{"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"})
	if err := r.set(t, "leaf-1", "delete "+ocQueue3+"/config/queue-management-profile"); err != nil {
		t.Fatal(err)
	}
	if m := w.Marking(); m[0].Port != 1 || m[0].Queue != 4 {
		t.Errorf("first of %+v, want queue 4 of port 1", m[0])
	}
}
