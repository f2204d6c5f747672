package gnmidev

import (
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/nic/nicparam"
)

// watch subscribes. It returns a function that reads updates until the path of one ends in the given words, and returns its
// value.
func (r *rig) watch(t *testing.T, target string, mode gnmi.SubscriptionMode, paths ...string) func(path string) string {
	t.Helper()
	s, err := r.client.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := &gnmi.SubscriptionList{Prefix: &gnmi.Path{Target: target}, Encoding: gnmi.Encoding_JSON_IETF}
	for _, p := range paths {
		list.Subscription = append(list.Subscription, &gnmi.Subscription{Path: wirePath(t, p), Mode: mode, SampleInterval: uint64(time.Second)})
	}
	if err := s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: list}}); err != nil {
		t.Fatal(err)
	}
	return func(path string) string {
		t.Helper()
		for {
			in, err := s.Recv()
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if in.GetSyncResponse() && path == "sync" {
				return ""
			}
			for _, u := range in.GetUpdate().GetUpdate() {
				var at []string
				for _, e := range append(in.GetUpdate().GetPrefix().GetElem(), u.GetPath().GetElem()...) {
					at = append(at, e.GetName())
				}
				if strings.HasSuffix(strings.Join(at, "/"), path) {
					return string(u.GetVal().GetJsonIetfVal())
				}
			}
		}
	}
}

func TestConfigurationIsNotifiedOnChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.sonic(t, nil)
	next := r.watch(t, "leaf-1", gnmi.SubscriptionMode_ON_CHANGE, config+"/QUEUE", config+"/WRED_PROFILE")
	if got := next("QUEUE/Ethernet0|3/scheduler"); got != `"scheduler.1"` {
		t.Errorf("first %s", got)
	}
	next("sync")
	if err := r.set(t, "leaf-1", `replace `+config+`/WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold "7"`); err != nil {
		t.Fatal(err)
	}
	if got := next("AZURE_LOSSLESS/green_min_threshold"); got != `"7"` {
		t.Errorf("then %s", got)
	}
	w.Edit("QUEUE", "Ethernet0|3", map[string]string{"scheduler": "scheduler.2"})
	if got := next("QUEUE/Ethernet0|3/scheduler"); got != `"scheduler.2"` {
		t.Errorf("by another hand %s", got)
	}
	old := r.watch(t, "leaf-1/CONFIG_DB", gnmi.SubscriptionMode_ON_CHANGE, "/QUEUE/Ethernet0|3")
	old("sync")
	w.Edit("QUEUE", "Ethernet0|3", map[string]string{"scheduler": "scheduler.0"})
	if got := old("QUEUE/Ethernet0|3/scheduler"); got != `"scheduler.0"` {
		t.Errorf("with the older path form: %s", got)
	}
}

func TestCountersAreSampledAndNotNotifiedOnChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sonic(t, nil)
	r.host(t, nil)
	const queue = "sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet0/Queues/Ethernet0:3"
	if got := r.watch(t, "leaf-1", gnmi.SubscriptionMode_SAMPLE, queue)("SAI_QUEUE_STAT_BYTES"); got != `"0"` {
		t.Errorf("sample %s", got)
	}
	s, err := r.client.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: &gnmi.SubscriptionList{
		Prefix:       &gnmi.Path{Target: "leaf-1"},
		Subscription: []*gnmi.Subscription{{Path: wirePath(t, queue), Mode: gnmi.SubscriptionMode_ON_CHANGE}},
	}}}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Recv()
	wantCode(t, "counters on change", err, codes.InvalidArgument)
}

func TestHostSubscriptionSurvivesReboots(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	next := r.watch(t, "host-1", gnmi.SubscriptionMode_ON_CHANGE, port1+"/params/param[name=rpg_ai_rate][index=0]/state/value", "/agent/state/boot-id")
	if got := next("state/value"); got != `"5"` {
		t.Errorf("first %s", got)
	}
	next("sync")
	if err := r.set(t, "host-1", `update `+param(port1, "rpg_ai_rate", 0)+` "9"`); err != nil {
		t.Fatal(err)
	}
	if got := next("state/value"); got != `"9"` {
		t.Errorf("then %s", got)
	}
	h.Reboot()
	if got := next("boot-id"); !strings.Contains(got, "000000000002") {
		t.Errorf("boot %s", got)
	}
	if err := h.Put(portID(1), []nicparam.Setting{{Key: nicparam.Key{Name: "rpg_ai_rate"}, Value: 77}}); err != nil {
		t.Fatal(err)
	}
	a, err := h.Agent()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for next("state/value") != `"77"` { // values lost by the reboot may be reported before
	}
}
