package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/topofile"
)

const ms = quantity.Millisecond

func load(t testing.TB, name string) *Scenario {
	t.Helper()
	s, err := LoadBuiltin(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, s *Scenario) *Result {
	t.Helper()
	r, err := Run(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func closeTo(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if math.Abs(got-want) > tol*math.Abs(want) {
		t.Errorf("%s: got %.4g, want %.4g within %.2g %%", what, got, want, tol*100)
	}
}

func TestBuiltinsLoadAndBuild(t *testing.T) {
	t.Parallel()
	all, err := Builtins()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, b := range all {
		have[b.Name] = true
		if b.Description == "" {
			t.Errorf("%s has no description", b.Name)
		}
		if b.Plane == PlaneEthernet {
			w, err := load(t, b.Name).BuildEthernet(Hooks{})
			if err != nil {
				t.Errorf("%s: %v", b.Name, err)
				continue
			}
			for w.Now() < ms && w.Stats().DeliveredPackets == 0 {
				w.RunUntil(w.Now() + 10*quantity.Microsecond)
			}
			if w.Stats().DeliveredPackets == 0 {
				t.Errorf("%s: nothing delivered", b.Name)
			}
			continue
		}
		n, ids, err := load(t, b.Name).Build()
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
			continue
		}
		n.RunUntil(ms)
		if len(ids) == 0 || n.Stats().Packets == 0 {
			t.Errorf("%s: %d flows delivered nothing", b.Name, len(ids))
		}
	}
	for _, want := range []string{"s1-testbed", "s1-tenants", "s1-fairness", "incast20", "ib-incast20", "ib16", "ib8tenants"} {
		if !have[want] {
			t.Errorf("no built-in scenario %s", want)
		}
	}
	if _, err := Load("nonesuch"); err == nil || !strings.Contains(err.Error(), "ib16") {
		t.Errorf("error for an unknown name: %v, want a list of the known names", err)
	}
}

// The demo fabric in its initial state: the tenant with the most queue pairs, on the most hosts, gets the largest share.
func TestIB16WithoutControlIgnoresTheWeights(t *testing.T) {
	t.Parallel()
	s := load(t, "ib16")
	s.Duration, s.Warmup, s.Interval = 20*ms, 5*ms, ms
	r := run(t, s)
	gold, silver, bronze := r.Tenants[0], r.Tenants[1], r.Tenants[2]
	if gold.QPs != 1 || silver.QPs != 4 || bronze.QPs != 16 {
		t.Fatalf("queue pairs %d, %d, %d; want 1, 4, 16", gold.QPs, silver.QPs, bronze.QPs)
	}
	if gold.Share > 0.05 || bronze.Share < 0.5 || r.Jain > 0.6 {
		t.Errorf("shares %.3f, %.3f, %.3f, Jain %.2f; want shares without effect of the weights", gold.Share, silver.Share, bronze.Share, r.Jain)
	}
	closeTo(t, "sum of shares", gold.Share+silver.Share+bronze.Share, 1, 1e-9)
	full := false
	for _, l := range r.Links {
		full = full || l.Peer == "host-016/P1" && l.Use > 0.99
	}
	if !full {
		t.Errorf("the receiver's link is not full: %+v", r.Links)
	}
}

// managed sets each sender's timer by the product rule. The expiries of all timers together are the given fraction, load, of
// the marks that the bottleneck can make with one mark in 32 packets.
func managed(t testing.TB, s *Scenario, load float64) (*fabric.Network, []fabric.FlowID) {
	t.Helper()
	n, ids, err := s.Build()
	if err != nil {
		t.Fatal(err)
	}
	table, err := ibcc.Geometric(128, 1050)
	if err != nil {
		t.Fatal(err)
	}
	for _, sw := range n.Topology().Switches() {
		n.SetSwitchCC(sw, ibcc.SwitchSettings{Threshold: 11, MarkingRate: 32})
	}
	qps, weights, total := map[string]float64{}, map[string]float64{}, 0.0
	for _, f := range s.Flows {
		qps[f.Tenant] += float64(f.QPs)
	}
	for _, tn := range s.Tenants {
		weights[tn.Name] = tn.Weight.Float()
		total += tn.Weight.Float()
	}
	marks := load * 100e9 / 8 / 4122 / 32
	for _, f := range s.Flows {
		period := qps[f.Tenant] * total / weights[f.Tenant] / marks * 1e12
		p := ibcc.SLParams{Timer: uint16(math.Round(period / ibcc.TimerUnitPicoseconds)), Increase: 1}
		ca := ibcc.CASettings{Limit: 127, Table: table}
		for sl := range ca.SLs {
			ca.SLs[sl] = p
		}
		ref, _ := n.Topology().PortByID(f.Src)
		n.ApplyCA(ref.Node, ref.Port, ca)
	}
	return n, ids
}

func TestProductRuleGivesWeightedSharesOnTheFatTree(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ib16", "ib8tenants"} {
		s := load(t, name)
		n, ids := managed(t, s, 0.65)
		n.RunUntil(300 * ms) // the timers of the slowest queue pairs are about 3 ms
		before := make([]uint64, len(ids))
		for i, id := range ids {
			before[i] = n.Delivered(id)
		}
		n.RunUntil(1000 * ms)
		got, sum, weights := map[string]float64{}, 0.0, 0.0
		for i, id := range ids {
			gbit := float64(n.Delivered(id)-before[i]) * 8 / 0.7 / 1e9
			got[s.Flows[i].Tenant] += gbit
			sum += gbit
		}
		for _, tn := range s.Tenants {
			weights += tn.Weight.Float()
		}
		if sum < 97 {
			t.Errorf("%s: link use %.1f %%, want at least 97", name, sum)
		}
		for _, tn := range s.Tenants {
			closeTo(t, name+": "+tn.Name, got[tn.Name], sum*tn.Weight.Float()/weights, 0.05)
		}
	}
}

// E1 of the differentiated-bandwidth paper (S1) without congestion control.
func TestS1ParkingLotOverTime(t *testing.T) {
	t.Parallel()
	r := run(t, load(t, "s1-testbed"))
	third := 10.0 / 3
	for i := 32; i < 48; i++ { // all four flows are active
		closeTo(t, "A and B together", (r.Flows[0].RateBps[i] + r.Flows[1].RateBps[i]).Gbit(), third, 0.03)
		closeTo(t, "D", r.Flows[2].RateBps[i].Gbit(), third, 0.03)
		closeTo(t, "E", r.Flows[3].RateBps[i].Gbit(), third, 0.03)
	}
	if r.Flows[3].RateBps[20] != 0 || len(r.Flows[0].RateBps) != 80 {
		t.Errorf("flow E sends before its start, or there are %d samples instead of 80", len(r.Flows[0].RateBps))
	}
}

// E1 with congestion control: with all four flows active, each rate is within a quarter of the mean.
func TestS1FairnessWithCongestionControl(t *testing.T) {
	t.Parallel()
	r := run(t, load(t, "s1-fairness"))
	for _, f := range r.Flows {
		mean := 0.0
		for _, x := range f.RateBps[34:50] {
			mean += x.Gbit() / 16
		}
		closeTo(t, "rate of "+f.Src, mean, 2.4, 0.25)
	}
}

// The same with marking by link utilization (S1, 4.1): with threshold 15, the link is used to 60 %, by one flow as well as by
// four.
func TestS1FairnessMarkedByUse(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("builtin/s1-fairness.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseWith("s1-fairness.yaml", data, nil, Setting{"model.mark_by", "use"}, Setting{"model.use_window", "50us"},
		Setting{"congestion_control.threshold", "15"}, Setting{"congestion_control.marking_rate", "8"},
		Setting{"congestion_control.cct", "{law: geometric, ratio: 1030}"}) // steps of 3 %, and enough marks for four timers of 66 us
	if err != nil {
		t.Fatal(err)
	}
	if s.Config.MarkBy != fabric.MarkByUse || s.Config.UseWindow != 50*quantity.Microsecond {
		t.Errorf("marks by %d over %s", s.Config.MarkBy, s.Config.UseWindow)
	}
	r := run(t, s)
	for from, to := range map[int]int{2: 10, 34: 50} {
		mean := 0.0
		for _, f := range r.Flows {
			for _, x := range f.RateBps[from:to] {
				mean += x.Gbit() / float64(to-from)
			}
		}
		closeTo(t, fmt.Sprintf("rate to C from %d0 ms", from), mean, 6, 0.05)
	}
}

func TestMarkingByUseIsChecked(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("builtin/s1-fairness.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for want, set := range map[string]Setting{
		"want one of queue, use":                   {"model.mark_by", "use%"},
		"model.use_window":                         {"model.use_window", "10"},
		"use window in ps 500000: want 1000000 to": {"model.use_window", "500ns"},
	} {
		s, err := ParseWith("s1-fairness.yaml", data, nil, set)
		if err == nil {
			_, _, err = s.Build()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
}

// E3: tenant 1 keeps its half while the flows of tenant 2 share the other half.
func TestS1TenantsKeepTheirHalves(t *testing.T) {
	t.Parallel()
	r := run(t, load(t, "s1-tenants"))
	mean := func(f, from, to int) float64 {
		sum := 0.0
		for _, x := range r.Flows[f].RateBps[from:to] {
			sum += x.Gbit()
		}
		return sum / float64(to-from)
	}
	alone, three := mean(0, 20, 50), mean(0, 110, 150)
	closeTo(t, "C to A against one and against three flows", three, alone, 0.15)
	closeTo(t, "D to B with two flows of its tenant", mean(1, 65, 100), mean(1, 20, 50)/2, 0.2)
	closeTo(t, "D to B with three", mean(1, 115, 150), mean(1, 20, 50)/3, 0.25)
	closeTo(t, "tenants' Jain index", r.Jain, 1, 0.01)
}

func TestResultsAreReproducibleAndPlainJSON(t *testing.T) {
	t.Parallel()
	s := load(t, "ib8tenants")
	s.Duration, s.Warmup, s.Interval = 7*ms, 2500*quantity.Microsecond, ms
	calls, last := 0, quantity.Picoseconds(0)
	a, err := Run(context.Background(), s, func(now, end quantity.Picoseconds) {
		if calls++; now <= last || end != s.Duration {
			t.Errorf("progress %v of %v after %v", now, end, last)
		}
		last = now
	})
	if err != nil {
		t.Fatal(err)
	}
	if calls != 7 || last != s.Duration {
		t.Errorf("%d calls of progress up to %v, want 7 up to 7 ms", calls, last)
	}
	if diff := cmp.Diff(a, run(t, s)); diff != "" {
		t.Errorf("the same scenario gave two different results:\n%s", diff)
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(text, &back); err != nil || cmp.Diff(*a, back) != "" {
		t.Errorf("decoding the result from JSON: %v", err)
	}
	s.Config.Seed++
	s.CC = &CongestionControl{Switch: ibcc.SwitchSettings{Threshold: 8, MarkingRate: 9}}
	if b := run(t, s); b.Totals.Marks == 0 || b.Totals.Digest == a.Totals.Digest {
		t.Errorf("congestion control of the scenario has no effect: %+v", b.Totals)
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	s := load(t, "ib16")
	var at quantity.Picoseconds
	r, err := Run(ctx, s, func(now, _ quantity.Picoseconds) {
		if at = now; now >= s.Warmup+10*s.Interval {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("got %v and %v, want the result so far and the context's error", r, err)
	}
	if !r.Interrupted || r.SimulatedS != at.Seconds() || len(r.Flows[0].RateBps) != int(at/s.Interval) {
		t.Errorf("interrupted %v at %v s with %d intervals, want true at %v with %d",
			r.Interrupted, r.SimulatedS, len(r.Flows[0].RateBps), at.Seconds(), at/s.Interval)
	}
	var sum float64
	for _, f := range r.Flows {
		sum += float64(f.DeliveredBps)
	}
	if link := 100e9; sum < 0.95*link || sum > 1.001*link { // all flows end at one host; rates are averages over the measured time
		t.Errorf("delivered %.3g bit/s over a link of %.3g", sum, link)
	}
}

func TestFabricFileNextToTheScenario(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	if err := topofile.WriteYAML(&text, load(t, "ib16").Fabric); err != nil {
		t.Fatal(err)
	}
	write := func(name, body string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("net.yaml", text.String())
	path := write("mine.yaml", `name: mine
fabric: {file: net.yaml}
tenants: [{name: a, weight: 1}]
flows: [{tenant: a, src: host-001, dst: host-002, demand: 5Gbit/s}]
duration: 2ms
`)
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	closeTo(t, "rate", run(t, s).Tenants[0].DeliveredBps.Gbit(), 5, 0.02)
	if _, err := Load(filepath.Join(dir, "no.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error for a missing file: %v", err)
	}
	if _, err := Load(write("lost.yaml", "name: x\nfabric: {file: gone.yaml}\ntenants: []\nflows: []\n")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "lost.yaml:2") {
		t.Errorf("error for a missing fabric file: %v, want the line that names it", err)
	}
}

const good = `name: x
fabric: {topology: star, hosts: 3}
tenants:
  - {name: a, weight: 1}
flows:
  - {tenant: a, src: h1, dst: h3}
`

func TestFaultsNameFileAndLine(t *testing.T) {
	t.Parallel()
	if _, err := Parse("x.yaml", []byte(good), nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"name: x", "nam: x", "x.yaml:1: unknown key in file"},
		{"name: x", "name: x\nworkload: []", `x.yaml:2: workload: found "keys for Ethernet only": want it with plane: ethernet`},
		{"name: x", "name: x\ncongestion_control: [{algorithm: dcqcn}]", `x.yaml:2: congestion_control: found "keys for Ethernet only": want it with plane: ethernet`},
		{"name: x", "name: x\nplane: infiniband\nworkload: []", "x.yaml:3: unknown key in file"},
		{"name: x", "name: x\nname: y", "x.yaml:2: repeated key"},
		{"name: x", "name: x\nduration: 5", "x.yaml:2: duration: found \"5\": want a duration"},
		{"name: x", "name: x\nduration: 0s", "x.yaml:2: duration"},
		{"name: x", "name: x\nwarmup: 1s", "x.yaml:2: warmup"},
		{"name: x", "name: x\ninterval: 1ps", "x.yaml:2: interval"},
		{"name: x", "name: x\nmodel: {mtu: 1500}", "MTU 1500"},
		{"name: x", "name: x\nmodel: {timer: fast}", "x.yaml:2: model.timer: found \"fast\": want one of free-running, restart-on-becn"},
		{"name: x", "name: x\nmodel: [1]", "x.yaml:2: model: found \"a list of 1\""},
		{"name: x", "name: x\ncongestion_control: {threshold: 16}", "x.yaml:2: congestion_control.threshold"},
		{"name: x", "name: x\ncongestion_control: {cct: {ratio: 1}}", "x.yaml:2: cct.ratio"},
		{"name: x", "name: x\nchanges: [{at: 1ms, tenant: b, increase: 1, timer: 1}]", "x.yaml:2: change.tenant"},
		{"name: x", "name: x\nchanges: [{at: 2ms, tenant: a, increase: 1, timer: 1}, {at: 1ms, tenant: a, increase: 1, timer: 1}]", "order of time"},
		{"name: x", "name: x\nchanges: [{at: 100ms, tenant: a, increase: 1, timer: 1}]", "x.yaml:2: change.at: found \"100 ms\": want less than the duration, 100 ms"},
		{"star", "ring", "x.yaml:2: fabric.topology: found \"ring\": want one of star"},
		{"hosts: 3", "hosts: 3, spines: 2", "x.yaml:2: unknown key in fabric of topology star"},
		{"hosts: 3", "hosts: 255", "x.yaml:2: "},
		{"topology: star, hosts: 3", "file: a.yaml", "files cannot be read here"},
		{"topology: star, hosts: 3", "file: a.yaml, k: 4", "a file alone"},
		{"weight: 1", "weight: -1", "x.yaml:4: tenant.weight"},
		{"weight: 1", "weight: 1, pkey: red", "x.yaml:4: tenant.pkey"},
		{"name: a,", "name: A A,", "x.yaml:4: tenant A A"},
		{"tenant: a", "tenant: b", "x.yaml:6: flow 0"},
		{"src: h1", "src: h9", "x.yaml:6: flow.src: port \"h9\": no such port; did you mean h1, h2, h3? (hosts of this fabric: h1, h2, h3)"},
		{"src: h1", "src: h3", "x.yaml:6: "},
		{"src: h1", "src: {}", "x.yaml:6: flow.src"},
		{", dst: h3", "", "x.yaml:6: flow.dst"},
		{"dst: h3", "dst: h3, sl: 16", "x.yaml:6: flow.sl"},
		{"dst: h3", "dst: h3, qps: 0", "x.yaml:6: flow.qps"},
		{"dst: h3", "dst: h3, start: 2ms, stop: 1ms", "x.yaml:6: scenario x: flow \"a/0\": start"},
		{"dst: h3", "dst: h3, start: 100ms", "x.yaml:6: flow.start: found \"100 ms\": want less than the duration, 100 ms"},
		{"dst: h3", "dst: h3, demand: 0Gbit/s", "x.yaml:6: flow.demand: found \"0Gbit/s\": want a rate above 0"},
		{"flows:", "flows: ]", ": not YAML"},
		{good, "", "x.yaml:1: file"},
		{good, "- 1", "x.yaml:1: file"},
	} {
		_, err := Parse("x.yaml", []byte(strings.Replace(good, c.old, c.new, 1)), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: got %v, want %q", c.new, c.old, err, c.want)
		}
		var pe *topofile.ParseError
		if err != nil && !errors.As(err, &pe) {
			t.Errorf("%q: %T is not a ParseError", c.new, err)
		}
	}
	if _, err := Parse("x.yaml", make([]byte, MaxSize+1), nil); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("error for a file that is too long: %v", err)
	}
}

// Two halves of a fabric have no link between them. A flow that could never arrive is rejected with its line.
func TestFlowsWithoutAPathAreRefused(t *testing.T) {
	t.Parallel()
	open := func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("node_a,kind_a,port_a,node_b,kind_b,port_b,rate_bps,delay_ns\n" +
			"0,switch,1,1,host,1,100000000000,1000\n0,switch,2,2,host,1,100000000000,1000\n" +
			"3,switch,1,4,host,1,100000000000,1000\n3,switch,2,5,host,1,100000000000,1000\n")), nil
	}
	const text = "name: x\nfabric: {links: l.csv}\ntenants:\n  - {name: a, weight: 1}\nflows:\n  - {tenant: a, src: 1, dst: 2}\n"
	if _, err := Parse("x.yaml", []byte(text), open); err != nil {
		t.Fatal(err)
	}
	_, err := Parse("x.yaml", []byte(text+"  - {tenant: a, src: [4, 1], dst: 5}\n"), open)
	if want := "x.yaml:7: scenario x: flow 2: no path between its hosts, 1/P1 and 5/P1: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if !errors.Is(err, subnet.ErrNoRoute) {
		t.Errorf("%v is not an ErrNoRoute", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	for _, name := range builtinNames() {
		text, err := BuiltinText(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	none := func(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		s, err := Parse("fuzz.yaml", data, none)
		if (s == nil) == (err == nil) {
			t.Fatalf("scenario %v with error %v", s, err)
		}
		if s != nil && (s.Duration <= 0 || s.Fabric == nil || len(s.TenantFlows()) != len(s.Flows)) {
			t.Fatalf("accepted %+v", s)
		}
	})
}
