package gnmidev

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/qos"
	"fairlane/sim/plane"
)

func TestGuardListOf2026(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set string
		ok  bool
	}{
		{`replace ` + config + `/SCHEDULER/fairlane_Ethernet0_3/weight "20"`, true},
		{`update ` + config + `/SCHEDULER/fairlane_Ethernet0_3/weight "20"`, false},
		{`replace ` + config + `/SCHEDULER/fairlane_Ethernet0_3 {"type":"DWRR","weight":"20"}`, false},
		{`replace ` + config + `/SCHEDULER/fairlane_Ethernet0_3/type "WRR"`, false},
		{`replace ` + config + `/SCHEDULER/scheduler.2/type "DWRR"`, false},
		{`update ` + config + `/SCHEDULER {"a":{"type":"DWRR"}}`, false},
		{`update ` + config + `/SCHEDULER/new {"type":"DWRR","weight":"20"}`, true},
		{`update ` + config + `/WRED_PROFILE/TENANT_1 {"ecn":"ecn_all","green_min_threshold":"1","green_max_threshold":"2"}`, true},
		{`replace ` + config + `/WRED_PROFILE/AZURE_LOSSLESS/yellow_min_threshold "100000"`, true},
		{`replace ` + config + `/BUFFER_POOL/ingress_lossless_pool/size "100000000"`, false},
		{`replace ` + config + `/BUFFER_PROFILE/pg_lossless/xoff "170000"`, true},
		{`replace ` + config + `/BUFFER_PROFILE/pg_lossless/xon "10000"`, false},
		{`update ` + config + `/BUFFER_PROFILE/new {"pool":"ingress_lossless_pool","size":"0","dynamic_th":"1"}`, true},
		{`replace ` + config + `/DSCP_TO_TC_MAP/AZURE/26 "4"`, false},
		{`replace ` + config + `/TC_TO_QUEUE_MAP/AZURE/3 "4"`, false},
		{`replace ` + config + `/PORT_QOS_MAP/Ethernet0/pfc_enable "3"`, true},
	} {
		r := newRig(t)
		w := r.sonic(t, func(o *SwitchOptions) { o.Classes, o.Guard = siteClasses(), Guard2026 })
		before := string(w.Config())
		err := r.set(t, "leaf-1", c.set)
		if c.ok {
			wantCode(t, c.set, err, codes.OK)
			continue
		}
		wantCode(t, c.set, err, codes.PermissionDenied, "rdma_config_update_validator")
		if string(w.Config()) != before {
			t.Errorf("%s changed the configuration", c.set)
		}
	}
}

// Weights change in place; whatever changes queues, maps or buffers of a port takes the port down.
func TestWeightsTakeNoPortDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.sonic(t, func(o *SwitchOptions) { o.Classes, o.Guard = siteClasses(), Guard2026 })
	for _, c := range []struct {
		set   string
		flaps int
	}{
		{`replace ` + config + `/SCHEDULER/fairlane_Ethernet0_3/weight "20"`, 0},
		{`replace ` + config + `/WRED_PROFILE/AZURE_LOSSLESS/green_max_threshold "3000000"`, 0},
		{`replace ` + config + `/QUEUE/Ethernet0|3/scheduler "fairlane_Ethernet0_4"`, 1},
		{`replace ` + config + `/PORT_QOS_MAP/Ethernet4/pfc_enable "3"`, 1},
		{`replace ` + config + `/BUFFER_PG/Ethernet4|3/profile "ingress_lossy_profile"`, 1},
		{`update ` + config + `/PORT_QOS_MAP/global {"dscp_to_tc_map":"AZURE"}`, 0},
	} {
		before := w.Flaps()
		if err := r.set(t, "leaf-1", c.set); err != nil || w.Flaps()-before != c.flaps {
			t.Errorf("%s: %d ports went down, want %d: %v", c.set, w.Flaps()-before, c.flaps, err)
		}
	}
}

// ASIC_DB has the schedulers in force; a row with a field that the orchestration agent does not know is not.
func TestASICHasTheSchedulersInForce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.sonic(t, func(o *SwitchOptions) { o.Classes, o.Guard = siteClasses(), Guard2026 })
	count := func(weight int) int {
		text := r.must(t, "leaf-1", "sonic-db:/ASIC_DB/localhost/"+asicSchedulers)
		return strings.Count(text, fmt.Sprintf(`"SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT":"%d"`, weight))
	}
	if n := count(10); n != 16 {
		t.Errorf("%d schedulers of weight 10, want one for each port and class", n)
	}
	change := func(weight string) {
		t.Helper()
		if err := r.set(t, "leaf-1", `replace `+config+`/SCHEDULER/fairlane_Ethernet0_3/weight "`+weight+`"`); err != nil {
			t.Fatal(err)
		}
	}
	change("20")
	if count(20) != 1 {
		t.Error("a new weight is not in force")
	}
	w.InjectSwitch(func(f *SwitchFaults) { f.Idle = true })
	change("30")
	if count(30) != 0 || count(20) != 1 {
		t.Error("a weight that the ASIC ignores is in force")
	}
	w.Heal()
	if count(30) != 1 {
		t.Error("the weight is not in force after the fault")
	}
	w.Edit(schedulerTable, "fairlane_Ethernet0_3", map[string]string{"type": "DWRR", "weight": "40", "priority": "1"})
	if count(40) != 0 || count(30) != 1 {
		t.Error("a row with an unknown field is in force")
	}
}

func TestClassesOutOfRangeAreNotProvisioned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for title, list := range map[string][]qos.TrafficClass{
		"DSCP 64":        {{DSCP: 64}},
		"queue 8":        {{Queue: 8}},
		"the same DSCP":  {{DSCP: 1, Queue: 1}, {DSCP: 1, Queue: 2}},
		"the same queue": {{DSCP: 1, Queue: 1}, {DSCP: 2, Queue: 1}},
		"eight classes":  {{DSCP: 0, Queue: 0}, {DSCP: 1, Queue: 1}, {DSCP: 2, Queue: 2}, {DSCP: 3, Queue: 3}, {DSCP: 4, Queue: 4}, {DSCP: 5, Queue: 5}, {DSCP: 6, Queue: 6}, {DSCP: 7, Queue: 7}},
	} {
		if _, err := r.AddSwitch("new", SwitchOptions{Ports: make([]SwitchPort, 1), Classes: list}); err == nil {
			t.Errorf("%s: a switch was made", title)
		}
		if _, err := r.AddHost("new", HostOptions{Cards: []CardOptions{{GUID: 1, Ports: []PortOptions{{}}}}, Classes: list}); err == nil {
			t.Errorf("%s: a host was made", title)
		}
	}
	if _, err := r.AddSwitch("new", SwitchOptions{Ports: make([]SwitchPort, 1), Guard: Guard2026 + 1}); err == nil {
		t.Error("a guard list that does not exist was accepted")
	}
}

// A class with the usual queue of notifications moves them to another queue, the same at hosts and switches.
func TestNotificationsHaveAQueueOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	classes := []qos.TrafficClass{{DSCP: 26, Queue: 6}, {DSCP: 34, Queue: 7}}
	still, nic := &StillSwitch{}, &Still{}
	if _, err := r.AddSwitch("leaf-9", SwitchOptions{Ports: make([]SwitchPort, 1), Classes: classes, Plane: still}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AddHost("host-9", HostOptions{Cards: []CardOptions{{GUID: 1, Ports: []PortOptions{{Plane: nic}}}}, Classes: classes}); err != nil {
		t.Fatal(err)
	}
	port := still.Ports()[0]
	host, _ := nic.State()
	for dscp, queue := range map[int]uint8{26: 6, 34: 7, plane.CNPDSCP: 5} {
		if port.Queues[dscp] != queue || host.Priorities[dscp] != queue {
			t.Errorf("DSCP %d: queue %d, priority %d, want %d", dscp, port.Queues[dscp], host.Priorities[dscp], queue)
		}
	}
	if port.PFC != 0b1100_0000 || host.PFC != 0b1100_0000 || !port.Service[5].Strict || !host.Service[5].Strict || port.Service[6].Strict || host.Service[6].Strict || host.Service[6].Weight != 50 {
		t.Errorf("switch %+v, host %+v", port, host)
	}
}
