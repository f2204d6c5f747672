package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/agent"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/internal/testkit/grpctest"
	"fairlane/subnet/ident"
)

// client is a gNMI client of an agent, or of a tree in its place.
func client(t testing.TB, a gnmitree.Tree) gnmi.GNMIClient {
	t.Helper()
	s, err := gnmitree.NewServer(gnmitree.Options{Targets: gnmitree.Single(a, "host-1")})
	if err != nil {
		t.Fatal(err)
	}
	dial := grpctest.Serve(t, func(ctx context.Context, l net.Listener) error { return s.Serve(ctx, l) })
	return gnmi.NewGNMIClient(grpctest.Connect(t, dial))
}

// TestServedLeavesMatchTheModule compares an agent's answers with the module's table, both
// ways.
func TestServedLeavesMatchTheModule(t *testing.T) {
	t.Parallel()
	served := map[string]gnmitree.Leaf{}
	collect := func(a *agent.Agent) {
		for _, kind := range []gnmitree.Type{gnmitree.TypeAll, gnmitree.TypeConfig, gnmitree.TypeState, gnmitree.TypeOperational} {
			found, err := a.Get(t.Context(), gnmitree.Query{Paths: []gnmitree.Path{{}}, Type: kind})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range found[0] {
				words := make([]string, len(l.Path.Elems))
				for i, e := range l.Path.Elems {
					words[i] = e.Name
				}
				served[strings.Join(words, "/")] = l
			}
		}
	}
	for name, change := range map[string]func(*rig){
		"all is well":         func(*rig) {},
		"counters unreadable": func(r *rig) { r.broken = errors.New("no such device") },
		"a card unreachable":  func(r *rig) { r.problem = "driver is not loaded" },
		"setting again fails": func(r *rig) {
			r.life = "life-2"
			r.defaults()
			r.onWrite[debugfsA+"rp_ai_rate"] = func(string) (string, error) { return "", errors.New("no") }
		},
	} {
		r := newRig(t)
		a := r.agent(t, func(o *agent.Options) {
			o.Tenants = func(ident.PortID) map[int]string { return map[int]string{0: "astro"} }
		})
		mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(0, "user_programmable_cc"), 1), sender("astro/bulk", 2),
			gnmitree.Operation{Op: gnmitree.OpUpdate, Path: nicyang.Peer("eth-a", 1, "astro/bulk", portID(guidB, 1)).Child("config").Child("shift"), Value: gnmitree.Uint(1)})
		r.do(func() { change(r) })
		sweep(t, a)
		collect(a)
		if name == "all is well" {
			r.do(func() { r.senders.Domain = 77; r.nv["USER_PROGRAMMABLE_CC"] = [3]uint64{} })
			collect(a)
		}
	}
	r := newRig(t)
	a := r.agent(t)
	r.onWrite[debugfsA+"rp_ai_rate"] = func(s string) (string, error) { return "77", nil }
	refuses(t, a, codes.DataLoss, "", give("eth-a", key(1, "rpg_ai_rate"), 20))
	collect(a)
	for _, p := range r.table.Params() {
		if p.Scope == nicparam.ScopeDevice && p.Unit != "" {
			t.Errorf("%s has a unit: want it served", p.Name)
		}
	}
	for _, l := range nicyang.Leaves() {
		if l.Path == "nics/nic/params/param/state/unit" {
			continue
		}
		got, ok := served[l.Path]
		if !ok {
			t.Errorf("%s is in the module, and never served", l.Path)
			continue
		}
		delete(served, l.Path)
		if got.Value.Kind() != l.Kind || got.Sampled != l.Sampled || (got.Class == gnmitree.ClassConfig) != l.Config {
			t.Errorf("%s is served as %s, sampled %t, class %d; the module has %+v", l.Path, got.Value.Kind(), got.Sampled, got.Class, l)
		}
	}
	for path := range served {
		t.Errorf("%s is served, and not in the module", path)
	}
}

func TestAManagerReadsAPortByOneGet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20), sender("astro/bulk", 2))
	c := client(t, a)
	get := func(kind gnmi.GetRequest_DataType) *nicyang.PortView {
		reply, err := c.Get(t.Context(), &gnmi.GetRequest{Prefix: &gnmi.Path{Target: "host-1"}, Path: []*gnmi.Path{nicyang.Port("eth-a", 1).Proto()}, Type: kind, Encoding: gnmi.Encoding_JSON_IETF})
		if err != nil {
			t.Fatal(err)
		}
		v, err := nicyang.DecodePort(reply.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	config := get(gnmi.GetRequest_CONFIG)
	if config.State != nil || len(config.Counters) != 0 {
		t.Error("a Get of configuration has state")
	}
	set := config.Set(1)
	if i := slices.IndexFunc(set, func(s nicparam.Setting) bool { return s.Key == key(1, "rpg_ai_rate") }); i < 0 || set[i].Value != 20 {
		t.Error(set)
	}
	if d := cmp.Diff(r.senders, config.WRCC.NICConfig()); d != "" {
		t.Error(d)
	}
	all := get(gnmi.GetRequest_ALL)
	if all.State.ID != portID(guidA, 1) || all.State.SpeedMbps != 100000 || all.State.WRCCSenders != 4 || !slices.Contains(all.State.RuntimeNames, "rpg_gd") || !slices.Contains(all.State.ResetNames, "roce_cc_algorithm") {
		t.Errorf("%+v", all.State)
	}
	for _, k := range all.Counters {
		switch k.Name {
		case "np_cnp_sent":
			if k.State.Value == nil || *k.State.Value != 7 {
				t.Errorf("%+v", k)
			}
		case "rp_cnp_handled":
			if k.State.Value != nil || k.State.Problem != "input/output error" {
				t.Errorf("an unreadable counter is %+v", k)
			}
		}
	}
	if d := cmp.Diff([]uint32{17, 4000000000}, all.CounterSets[0].State.QPs); len(all.CounterSets) != 2 || d != "" || all.CounterSetsProblem != "" {
		t.Errorf("%+v: %s", all.CounterSets, d)
	}
	counted := &all.CounterSets[0]
	if counted.ID != 3 || counted.State.Mode != "auto" || counted.State.Process != "trainer" || counted.State.PID != 4711 || counted.State.QPCount != 2 {
		t.Errorf("%+v", counted)
	}
	if k := counted.Counters.Counter; len(k) != 2 || k[0].State.Value != nil || k[0].State.Problem != "the kernel reports no value" || k[1].Name != "rdma_tx_bytes" || *k[1].State.Value != 1<<40 {
		t.Errorf("%+v", k)
	}
	if len(all.Functions) != 2 || all.Functions[1].State.TxOctets != nil || all.Functions[1].State.Problem == "" {
		t.Errorf("%+v", all.Functions)
	}
	if c := all.Functions[0].Counters; all.Functions[0].State.RDMADevice != "mlx5_2" || len(c.Counter) != 2 || *c.Counter[0].State.Value != 3 || c.Counter[1].State.Value != nil ||
		c.Counter[1].State.Problem != "input/output error" {
		t.Errorf("%+v", all.Functions[0])
	}
	if c := all.Functions[1].Counters; len(c.Counter) != 0 || c.State.Problem != agent.ErrFunctionElsewhere.Error() {
		t.Errorf("a function of a container: %+v", c)
	}
}

func TestOnlyRequestedValuesAreRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	for path, want := range map[string]int{
		"/agent":                          0,
		"/nics/nic[name=eth-a]/state":     0,
		"/nics/nic[name=*]/ports/*/state": 0,
		"/nics/nic[name=eth-a]/ports/port[number=1]/params/param[name=rpg_gd][index=0]":  1,
		"/nics/nic/ports/port/params/param[name=rpg_gd]":                                 3,
		"/nics/nic[name=eth-a]/ports/port[number=2]/params/param[name=rp_enable]/config": 8,
	} {
		p, err := gnmitree.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		before := r.reads
		ask(t, a, p)
		if got := r.reads - before; got != want {
			t.Errorf("%s reads %d files, want %d", path, got, want)
		}
	}
}

// A reading that the cancellation of its caller interrupted does not affect others.
func TestInterruptedReadingIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t, func(o *agent.Options) { o.FreshCounters = time.Hour })
	ctx, leave := context.WithCancel(t.Context())
	r.do(func() { r.onCount = leave })
	counters := nicyang.Counters("eth-a", 1)
	if _, err := a.Get(ctx, gnmitree.Query{Paths: []gnmitree.Path{counters}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.do(func() { r.onCount = nil })
	if got := leaf(t, a, counters.Child("state").Child("problem")); got != "absent" {
		t.Errorf("the next request gets %q", got)
	}
}

func TestAnswersMayBeAsOldAsAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t, func(o *agent.Options) { o.Fresh, o.FreshCounters = time.Second, time.Second })
	k := nicyang.ParamValue("eth-a", key(1, "rpg_gd"))
	first, counted := r.reads, r.counted
	for range 3 {
		ask(t, a, k)
		ask(t, a, nicyang.Counters("eth-a", 1))
		if r.setsRead > 0 {
			t.Error("counter sets were read without a request")
		}
	}
	for range 3 {
		ask(t, a, nicyang.CounterSet("eth-a", 1, 3))
	}
	if r.setsRead != 1 {
		t.Errorf("counter sets were read %d times, want once", r.setsRead)
	}
	if r.reads != first || r.counted != counted+1 {
		t.Errorf("%d files and %d times counters were read, want 0 and once", r.reads-first, r.counted-counted)
	}
	r.do(func() { r.now = r.now.Add(1001 * time.Millisecond); r.files[debugfsA+"rp_gd"] = "10" })
	if leaf(t, a, k) != "10" {
		t.Error("too old an answer")
	}
	ask(t, a, nicyang.Counters("eth-a", 1))
	if r.counted != counted+2 {
		t.Errorf("counters were read %d times, want twice", r.counted-counted)
	}
	mustSet(t, a, give("eth-a", key(1, "rpg_gd"), 11)) // a written value is not old
	if leaf(t, a, k) != "11" {
		t.Error("an answer from before the set")
	}
}

func TestUnreadableParameterHasAReasonAndNoValue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.onRead[debugfsA+"rp_gd"] = func() ([]byte, error) { return nil, errors.New("input/output error") }
	a := r.agent(t)
	k := key(1, "rpg_gd")
	if leaf(t, a, nicyang.ParamValue("eth-a", k)) != "absent" || state(t, a, "eth-a", k, "value") != "absent" || !strings.Contains(state(t, a, "eth-a", k, "problem"), "input/output error") {
		t.Error(ask(t, a, nicyang.Param("eth-a", k)))
	}
	refuses(t, a, codes.Unavailable, "input/output error", give("eth-a", k, 10))
}

func TestSubscribersReceiveChangesOfOthersAndSamples(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	c := client(t, a)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := c.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	k := nicyang.ParamValue("eth-a", key(1, "rpg_gd"))
	if err := s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: &gnmi.SubscriptionList{
		Encoding:     gnmi.Encoding_PROTO,
		Subscription: []*gnmi.Subscription{{Path: k.Proto(), Mode: gnmi.SubscriptionMode_ON_CHANGE}},
	}}}); err != nil {
		t.Fatal(err)
	}
	next := func() *gnmi.SubscribeResponse {
		t.Helper()
		m, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if v := next().GetUpdate().GetUpdate()[0].GetVal().GetUintVal(); v != 11 {
		t.Error(v)
	}
	if !next().GetSyncResponse() {
		t.Error("no sync")
	}
	r.do(func() { r.files[debugfsA+"rp_gd"] = "10" })
	sweep(t, a)
	if v := next().GetUpdate().GetUpdate()[0].GetVal().GetUintVal(); v != 10 {
		t.Error(v)
	}
	bad, err := c.Subscribe(ctx)
	if err == nil {
		err = bad.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: &gnmi.SubscriptionList{
			Subscription: []*gnmi.Subscription{{Path: nicyang.Counter("eth-a", 1, "np_cnp_sent").Child("state").Child("value").Proto(), Mode: gnmi.SubscriptionMode_ON_CHANGE}},
		}}})
	}
	if err == nil {
		_, err = bad.Recv()
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("counters on change: %v, want InvalidArgument", err)
	}
}

func TestTheDetailsOfAFailureReachTheManager(t *testing.T) {
	t.Parallel()
	c := client(t, newRig(t).agent(t))
	_, err := c.Set(t.Context(), &gnmi.SetRequest{Update: []*gnmi.Update{{Path: nicyang.ParamValue("eth-a", key(1, "rpg_gd")).Proto(), Val: gnmitree.Uint(12).Typed(gnmi.Encoding_PROTO)}}})
	got := nicyang.Failures(err)
	if status.Code(err) != codes.InvalidArgument || len(got) != 1 || got[0].Found != "12" || got[0].Allowed != "10..11" || got[0].Key != key(1, "rpg_gd") {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestJSONOfThePortIsJSON(t *testing.T) {
	t.Parallel()
	c := client(t, newRig(t).agent(t))
	reply, err := c.Get(t.Context(), &gnmi.GetRequest{Path: []*gnmi.Path{{}}, Encoding: gnmi.Encoding_JSON_IETF})
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(reply.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal(), &v); err != nil {
		t.Fatal(err)
	}
	if v["fairlane-nic:agent"] == nil || v["fairlane-nic:nics"] == nil {
		t.Error(v)
	}
}

func BenchmarkSetOfAFullPort(b *testing.B) {
	r := newRig(b)
	a := r.agent(b)
	var ops [2][]gnmitree.Operation
	for _, p := range r.table.By(nicparam.Debugfs) {
		ops[0] = append(ops[0], give("eth-a", key(1, p.Name), p.Max))
		ops[1] = append(ops[1], give("eth-a", key(1, p.Name), max(p.Min, min(p.Default, p.Max))))
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := a.Set(b.Context(), ops[n%2]); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

func BenchmarkGetOfAPort(b *testing.B) {
	r := newRig(b)
	a := r.agent(b)
	q := gnmitree.Query{Paths: []gnmitree.Path{nicyang.Port("eth-a", 1)}, Type: gnmitree.TypeConfig}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Get(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}
