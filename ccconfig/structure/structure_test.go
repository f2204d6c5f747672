package structure_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"fairlane/ccconfig/qos"
	"fairlane/ccconfig/structure"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/testkit/grpctest"
	"fairlane/sim/gnmidev"
)

// twin is a simulated SONiC switch of four ports, the first two of 100 and the others of 400 Gbit/s.
type twin struct {
	*gnmidev.Switch
	client gpb.GNMIClient
}

func newTwin(t *testing.T, o gnmidev.SwitchOptions) *twin {
	t.Helper()
	s, err := gnmidev.NewServer(gnmidev.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	o.Plane = &gnmidev.StillSwitch{}
	for i := range 4 {
		o.Ports = append(o.Ports, gnmidev.SwitchPort{Speed: []quantity.BitRate{100 * quantity.Gbps, 400 * quantity.Gbps}[i/2]})
	}
	w, err := s.AddSwitch("leaf-1", o)
	if err != nil {
		t.Fatal(err)
	}
	dial := grpctest.Serve(t, func(ctx context.Context, l net.Listener) error { return s.Serve(ctx, l) })
	return &twin{w, gpb.NewGNMIClient(grpctest.Connect(t, dial))}
}

func (w *twin) plan(t *testing.T, want structure.Want) *structure.Plan {
	t.Helper()
	tables, err := structure.Parse(w.Config())
	if err != nil {
		t.Fatal(err)
	}
	p, err := structure.Compute(tables, want)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// apply sends operations in one Set.
func (w *twin) apply(ops []structure.Op) error {
	r := &gpb.SetRequest{Prefix: &gpb.Path{Target: "leaf-1"}}
	for _, o := range ops {
		at := &gpb.Path{Origin: "sonic-db"}
		for _, name := range []string{"CONFIG_DB", "localhost", o.Table, o.Key} {
			at.Elem = append(at.Elem, &gpb.PathElem{Name: name})
		}
		text, err := json.Marshal(o.Value)
		if err != nil {
			return err
		}
		u := &gpb.Update{Path: at, Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}}}
		switch o.Op {
		case "remove":
			r.Delete = append(r.Delete, at)
		case "replace":
			r.Replace = append(r.Replace, u)
		case "add":
			r.Update = append(r.Update, u)
		default:
			return errors.New("operation " + o.Op)
		}
	}
	_, err := w.client.Set(context.Background(), r)
	return err
}

func want(classes string, change ...func(*structure.Want)) structure.Want {
	list, err := qos.ParseClasses(classes)
	if err != nil {
		panic(err) // an error of the test
	}
	w := structure.Want{Classes: list, CNP: qos.TrafficClass{DSCP: 48, Queue: 6}, Weight: 10, Guard: structure.Guard2025, Oversubscription: 3}
	for _, c := range change {
		c(&w)
	}
	return w
}

// TestPlanOnATwin applies plans to simulated switches step by step, and undoes them.
func TestPlanOnATwin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want    structure.Want
		options gnmidev.SwitchOptions
		pause   string
	}{
		"two lossless classes": {want("26:3,34:4"), gnmidev.SwitchOptions{}, "3,4"},
		"six lossless classes": {want("26:3,34:4,10:1,12:2,14:5,18:7"), gnmidev.SwitchOptions{}, "1,2,3,4,5,7"},
		"a lossy fabric":       {want("26:3,34:4", func(w *structure.Want) { w.Lossy = true }), gnmidev.SwitchOptions{}, ""},
		"a build that writes maps": {want("26:3,34:4", func(w *structure.Want) { w.Guard = structure.NoGuard }),
			gnmidev.SwitchOptions{Unguarded: true}, "3,4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTwin(t, c.options)
			before := string(w.Config())
			p := w.plan(t, c.want)
			if len(p.Obstacles) > 0 || len(p.Steps) != 5 || p.Steps[0].Port != "" || p.Down != 4 || p.Estimate != 4*structure.PerPort || len(p.Groups) != 2 {
				t.Fatalf("plan %+v", p)
			}
			for i, s := range p.Steps {
				was := w.Flaps()
				if err := w.apply(s.Ops); err != nil {
					t.Fatalf("step %d of %q: %v", i, s.Port, err)
				}
				if n := w.Flaps() - was; n != 0 && !s.Down || n != 1 && s.Down {
					t.Errorf("step %d took %d ports down, and the plan says %t", i, n, s.Down)
				}
			}
			if again := w.plan(t, c.want); !again.Done() {
				t.Errorf("after the plan: %+v", again)
			}
			tables, err := structure.Parse(w.Config())
			if err != nil {
				t.Fatal(err)
			}
			for port, row := range tables["PORT_QOS_MAP"] {
				if row["pfc_enable"] != c.pause || row["pfcwd_sw_enable"] != c.pause {
					t.Errorf("%s: pfc_enable %q, pfcwd_sw_enable %q, want %q", port, row["pfc_enable"], row["pfcwd_sw_enable"], c.pause)
				}
			}
			for _, s := range slices.Backward(p.Steps) {
				if err := w.apply(s.Undo); err != nil {
					t.Fatalf("undo of %q: %v", s.Port, err)
				}
			}
			if after := string(w.Config()); after != before {
				t.Error("the undo left another configuration")
			}
		})
	}
}

// TestRefusalsAreForeseen compares the obstacles of a plan with what twins of both generations refuse.
func TestRefusalsAreForeseen(t *testing.T) {
	t.Parallel()
	bare := func(w *twin) { // queues without marking, and no profile that marks
		for i := range 4 {
			for _, q := range []int{3} {
				w.Edit("QUEUE", fmt.Sprintf("Ethernet%d|%d", 4*i, q), map[string]string{"scheduler": "scheduler.1"})
			}
		}
		w.Edit("WRED_PROFILE", "AZURE_LOSSLESS", map[string]string{"ecn": "ecn_none"})
	}
	for name, c := range map[string]struct {
		guard   gnmidev.GuardList
		want    structure.Want
		change  func(*twin)
		reasons string
	}{
		"before 2026, maps":         {gnmidev.Guard2025, want("26:3,34:4"), nil, ""},
		"before 2026, new profiles": {gnmidev.Guard2025, want("26:3"), bare, "profile-refused"},
		"since 2026, maps":          {gnmidev.Guard2026, want("26:3,34:4", func(w *structure.Want) { w.Guard = structure.Guard2026 }), nil, "maps-refused"},
		"since 2026, new profiles":  {gnmidev.Guard2026, want("26:3", func(w *structure.Want) { w.Guard = structure.Guard2026 }), bare, ""},
	} {
		w := newTwin(t, gnmidev.SwitchOptions{Guard: c.guard})
		if c.change != nil {
			c.change(w)
		}
		p := w.plan(t, c.want)
		var reasons []string
		for _, o := range p.Obstacles {
			reasons = append(reasons, string(o.Reason))
		}
		if got := strings.Join(reasons, ","); got != c.reasons {
			t.Errorf("%s: obstacles %q, want %q", name, got, c.reasons)
		}
		err := w.apply(p.Steps[0].Ops)
		if (err != nil) != (c.reasons != "") {
			t.Errorf("%s: the twin answers %v, and the plan says %q", name, err, c.reasons)
		}
	}
	w := newTwin(t, gnmidev.SwitchOptions{Guard: gnmidev.Guard2026})
	p := w.plan(t, want("26:3,34:4", func(w *structure.Want) { w.Guard, w.WritableMaps = structure.Guard2026, true }))
	if len(p.Obstacles) != 0 {
		t.Errorf("a build that writes maps: %+v", p.Obstacles)
	}
}

// config is a small switch with rows of several queues.
func config(change func(structure.Tables)) structure.Tables {
	t := structure.Tables{
		"PORT":           {"Ethernet0": {"speed": "400000"}, "Ethernet4": {"speed": "100000"}, "Ethernet-BP0": {"speed": "400000", "role": "Int"}},
		"QUEUE":          {"Ethernet0|3-4": {"scheduler": "s", "wred_profile": "W"}, "Ethernet4|3": {"scheduler": "s", "wred_profile": "W"}},
		"SCHEDULER":      {"s": {"type": "DWRR", "weight": "15"}},
		"WRED_PROFILE":   {"W": {"ecn": "ecn_all", "green_min_threshold": "1", "green_max_threshold": "2"}},
		"BUFFER_POOL":    {"pool": {"xoff": "1000000"}},
		"BUFFER_PROFILE": {"fast": {"pool": "pool", "xoff": "300000"}, "slow": {"pool": "pool", "xoff": "100000"}},
		"BUFFER_PG":      {"Ethernet0|3-4": {"profile": "fast"}, "Ethernet4|3": {"profile": "slow"}},
		"PORT_QOS_MAP":   {"Ethernet0": {"dscp_to_tc_map": "A", "tc_to_dscp_map": "keep", "pfc_enable": "3,4"}},
		"DSCP_TO_TC_MAP": {"A": {"26": "3"}},
	}
	if change != nil {
		change(t)
	}
	return t
}

func TestRowsAreSplitAndWrittenWhole(t *testing.T) {
	t.Parallel()
	p, err := structure.Compute(config(nil), want("26:3"))
	if err != nil || len(p.Obstacles) != 0 {
		t.Fatalf("%+v: %v", p, err)
	}
	ops := map[string]structure.Op{}
	var order []string
	for _, s := range p.Steps {
		for _, o := range s.Ops {
			ops[o.Op+" "+o.Path] = o
			order = append(order, o.Table)
		}
	}
	for _, path := range []string{"remove /QUEUE/Ethernet0|3-4", "add /QUEUE/Ethernet0|3", "add /QUEUE/Ethernet0|4", "replace /QUEUE/Ethernet4|3", "add /QUEUE/Ethernet0|6"} {
		if _, ok := ops[path]; !ok {
			t.Errorf("no %s among %q", path, order)
		}
	}
	if row := ops["add /QUEUE/Ethernet0|4"].Value; row["scheduler"] != "s" || row["wred_profile"] != "W" {
		t.Errorf("the other half of a range is %v", row)
	}
	row := ops["replace /PORT_QOS_MAP/Ethernet0"].Value
	if row["tc_to_dscp_map"] != "keep" || row["pfc_enable"] != "3" || row["tc_to_queue_map"] == "" || row["pfc_to_queue_map"] == "" || row["tc_to_pg_map"] == "" {
		t.Errorf("row of PORT_QOS_MAP: %v", row)
	}
	if slices.Index(order, "PORT_QOS_MAP") < slices.Index(order, "DSCP_TO_TC_MAP") || slices.Index(order, "QUEUE") < slices.Index(order, "SCHEDULER") {
		t.Errorf("order %q", order)
	}
	for _, s := range p.Steps {
		if s.Port == "Ethernet-BP0" {
			t.Error("the plan changes a port between ASICs")
		}
	}
}

func TestObstacles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(structure.Tables)
		want   structure.Want
		reason structure.Reason
		ports  string
	}{
		"no profile for a rate": {func(t structure.Tables) { delete(t["BUFFER_PG"], "Ethernet4|3") }, want("26:3"), structure.NoProfile, "Ethernet4"},
		"too much headroom":     {func(t structure.Tables) { t["BUFFER_POOL"]["pool"]["xoff"] = "200000" }, want("26:3"), structure.HeadroomShort, "Ethernet0,Ethernet4"},
		"a short profile": {func(t structure.Tables) {
			t["CABLE_LENGTH"] = map[string]map[string]string{"A": {"Ethernet4": "2000m"}}
		}, want("26:3"), structure.HeadroomShort, "Ethernet4"},
		"a row of two ports": {func(t structure.Tables) {
			t["QUEUE"] = map[string]map[string]string{"Ethernet0,Ethernet4|3": {"scheduler": "s"}}
		}, want("26:3"), structure.SeveralPorts, "Ethernet0,Ethernet4"},
		"a broken key": {func(t structure.Tables) { t["QUEUE"]["Ethernet0|x"] = map[string]string{} }, want("26:3"), structure.BadKey, "Ethernet0"},
	} {
		p, err := structure.Compute(config(c.change), c.want)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(p.Obstacles, func(o structure.Obstacle) bool { return o.Reason == c.reason })
		if i < 0 || strings.Join(p.Obstacles[i].Ports, ",") != c.ports {
			t.Errorf("%s: obstacles %+v, want %s on %s", name, p.Obstacles, c.reason, c.ports)
		}
	}
}

func TestWantsOutOfRange(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]structure.Want{
		"none":          {CNP: qos.TrafficClass{DSCP: 48, Queue: 6}, Weight: 1, Guard: structure.NoGuard, Oversubscription: 1},
		"a queue twice": want("26:3,34:3"), "a DSCP twice": want("26:3,26:4"), "the queue of notifications": want("26:6"),
		"all queues": want("1:0,2:1,3:2,4:3,5:4,6:5,7:7"), "no weight": want("26:3", func(w *structure.Want) { w.Weight = 0 }),
		"an unknown guard": want("26:3", func(w *structure.Want) { w.Guard = "x" }), "no ratio": want("26:3", func(w *structure.Want) { w.Oversubscription = 0 }),
	} {
		_, err := structure.Compute(config(nil), w)
		if said := (phrase.Sentence)(nil); !errors.As(err, &said) || !said.Sentence().Known() {
			t.Errorf("%s: %v, want a sentence of the catalogue", name, err)
		}
	}
}

func FuzzPlan(f *testing.F) {
	text, err := json.Marshal(config(nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"PORT":{"a":{}},"QUEUE":{"a|0-9":{},"a|":{},"|3":{}},"PORT_QOS_MAP":{"a":{"pfc_enable":"9,x"}},"BUFFER_PG":{"a|3":{"profile":["x"]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tables, err := structure.Parse(text)
		if err != nil {
			return
		}
		p, err := structure.Compute(tables, want("26:3,34:4"))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Steps {
			if len(s.Ops) != len(s.Undo) || len(s.Ops) == 0 {
				t.Errorf("step %+v", s)
			}
		}
	})
}
