package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topofile"
)

const us = quantity.Microsecond

// parse reads a scenario on a star of four hosts unless the text names a fabric.
func parse(t testing.TB, text string) *Scenario {
	t.Helper()
	if !strings.Contains(text, "fabric:") {
		text = "fabric: {topology: star, hosts: 4}\n" + text
	}
	s, err := Parse("x.yaml", []byte("name: x\nplane: ethernet\n"+text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func runEther(t testing.TB, s *Scenario, o EtherOptions) *EtherResult {
	t.Helper()
	r, err := RunEthernet(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHostsAreNumberedAsInTheNetwork(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"incast20", "dualdc", "fattree128"} {
		s := load(t, name)
		n, err := s.BuildEthernet(Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		hosts := Hosts(s.Fabric)
		if len(hosts) != n.Hosts() {
			t.Fatalf("%s: %d hosts, the network has %d", name, len(hosts), n.Hosts())
		}
		for h, ref := range hosts {
			if got := n.HostPort(int32(h)); got != ref {
				t.Fatalf("%s: host %d is %v, but in the network %v", name, h, ref, got)
			}
		}
	}
}

func TestSingleFlowCompletesInItsIdealTime(t *testing.T) {
	t.Parallel()
	r := runEther(t, parse(t, "flows:\n  - {src: h1, dst: h2, bytes: 10_000_000, start: 3us}\n"), EtherOptions{})
	if !r.Finished || r.Flows.Completed != 1 || r.Totals.AcceptedBytes != 10_000_000 {
		t.Fatalf("%+v", r)
	}
	closeTo(t, "slowdown", r.Listed[0].Slowdown, 1, 1e-3)
	closeTo(t, "end", r.SimulatedS*1e6, 3+r.Listed[0].FCTUs, 1e-9)
	closeTo(t, "rate", r.Tenants[0].DeliveredBps.Gbit(), 100*1000.0/1048, 0.01)
	if len(r.BySize) != 1 || r.BySize[0].UpTo != 10_000_000 {
		t.Errorf("sizes %+v", r.BySize)
	}
}

// The kind and frequency of measurements must not change the run.
func TestObservationDoesNotChangeTheRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"roce-tenants", "twoflow", "dualdc"} {
		var digests []string
		for _, every := range []quantity.Picoseconds{100 * us, 37 * us} {
			s := load(t, name)
			s.Duration, s.Warmup, s.Interval, s.Ethernet.Sample = 3*ms, 0, every, every/10
			digests = append(digests, runEther(t, s, EtherOptions{}).Totals.Digest)
		}
		s := load(t, name)
		s.Duration = 3 * ms
		w, err := Drive(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if d := fmt.Sprintf("%016x", w.Digest); digests[0] != digests[1] || digests[0] != d {
			t.Errorf("%s: digests %v and %s", name, digests, d)
		}
	}
}

func TestEthernetResultsAreReproducibleAndPlainJSON(t *testing.T) {
	t.Parallel()
	s := load(t, "fattree320")
	s.Duration = 200 * us
	a := runEther(t, s, EtherOptions{})
	b := runEther(t, s, EtherOptions{})
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back EtherResult
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	a.Curves, b.Curves = EtherCurves{}, EtherCurves{}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("the same scenario gave two different results:\n%s", diff)
	}
	if diff := cmp.Diff(*a, back); diff != "" {
		t.Errorf("the result differs after encoding to JSON and decoding:\n%s", diff)
	}
	s.Config.Seed++
	if c := runEther(t, s, EtherOptions{}); c.Totals.Digest == a.Totals.Digest {
		t.Error("the seed has no effect")
	}
}

// The tenant of weight 3 has one flow, the other six: weighted WRCC shares by tenant.
func TestTenantsOfWeightedWRCCShareByWeight(t *testing.T) {
	t.Parallel()
	r := runEther(t, parse(t, `duration: 12ms
warmup: 4ms
congestion_control: {algorithm: wrcc-weighted}
wrcc: {period: 12us}
tenants: [{name: red, weight: 3}, {name: blue, weight: 1}]
flows:
  - {tenant: red, src: h1, dst: h4}
  - {tenant: blue, src: [h2, h3], dst: h4, qps: 3}
`), EtherOptions{})
	if r.MaxShareError > 0.02 || r.Jain < 0.999 || r.ContendedS != 0.008 {
		t.Errorf("share error %.3f, Jain %.4f over %.3f s", r.MaxShareError, r.Jain, r.ContendedS)
	}
	if r.Utilisation < 0.9 || r.Finished {
		t.Errorf("use %.3f, finished %v", r.Utilisation, r.Finished)
	}
}

// The heaviest tenant has one queue pair. Without weights it gets the smallest share.
func TestRoCETenantsIgnoreTheirWeightsWithoutFairlane(t *testing.T) {
	t.Parallel()
	s := load(t, "roce-tenants")
	s.Duration, s.Warmup = 40*ms, 10*ms
	r := runEther(t, s, EtherOptions{})
	if gold, bronze := r.Tenants[0], r.Tenants[2]; gold.Share > 0.2 || bronze.Share < 0.4 || r.Totals.CNPs == 0 || r.MaxShareError < 0.5 {
		t.Errorf("gold %.3f, bronze %.3f, %d CNPs, share error %.2f", gold.Share, bronze.Share, r.Totals.CNPs, r.MaxShareError)
	}
}

func TestCollectivesRunTheirRounds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ring-all-reduce", "tree-all-reduce", "all-to-all"} {
		r := runEther(t, parse(t, fmt.Sprintf("workload:\n  - {kind: %s, bytes: 400_000, rounds: 3, gap: 5us}\n", kind)), EtherOptions{})
		if len(r.Jobs) != 1 || !r.Jobs[0].Finished || r.Jobs[0].Rounds != 3 || !r.Finished {
			t.Fatalf("%s: %+v", kind, r.Jobs)
		}
		if bus := r.Jobs[0].BusBps / 1e9; bus < 5 || bus > 100 {
			t.Errorf("%s: bus bandwidth %.1f Gbit/s on links of 100", kind, bus)
		}
		if kind == "ring-all-reduce" && (r.Flows.Completed != 3*2*3*4 || r.Totals.AcceptedBytes != 3*2*3*400_000) {
			t.Errorf("%d flows, %d bytes: want 2(N-1) flows from each of 4 ranks in 3 rounds", r.Flows.Completed, r.Totals.AcceptedBytes)
		}
	}
}

// The memory for a hundred thousand flows is that of the active flows.
func TestFlowsAreMadeWhenTheyStart(t *testing.T) {
	t.Parallel()
	s := parse(t, "duration: 1s\nworkload:\n  - {kind: poisson, sizes: 200, load: 0.01, count: 100_000}\n")
	r := runEther(t, s, EtherOptions{})
	if r.Flows.Completed != 100_000 || r.Flows.PeakActive > 200 || !r.Finished {
		t.Errorf("%+v", r.Flows)
	}
	est := s.Estimate()
	closeTo(t, "flows expected", est.Flows, 100_000, 1e-9)
	closeTo(t, "hops expected", est.PacketHops, float64(r.Totals.Hops), 0.01)
}

func TestEstimateIsCloseToTheRun(t *testing.T) {
	t.Parallel()
	s := load(t, "fattree320")
	s.Ethernet.Workload[0].Until, s.Ethernet.Workload[1].Until = ms, ms
	s.Duration = 100 * ms
	est := s.Estimate()
	var flows, bytes float64
	feed := &feed{s: s, unit: 1, jobFlows: map[int64]jobFlow{}}
	for i := range s.Ethernet.Workload {
		src, _, err := s.Ethernet.Workload[i].build(s)
		if err != nil {
			t.Fatal(err)
		}
		feed.addStream(&s.Ethernet.Workload[i], src)
	}
	for f, ok := feed.Next(); ok; f, ok = feed.Next() {
		flows++
		bytes += float64(f.Bytes)
	}
	closeTo(t, "flows", flows, est.Flows, 0.05)
	closeTo(t, "bytes", bytes, est.Bytes, 0.15)
	if est.Hosts != 320 || est.Switches != 56 || est.Links != 320+80+80 {
		t.Errorf("%+v", est)
	}
	closeTo(t, "links between two hosts of a fat tree with k = 8", load(t, "fattree128").Estimate().MeanHops, 5.7, 0.01)
}

// ledger is a recorder that sums the results.
type ledger struct {
	flows int
	bytes map[string]float64
	last  quantity.Picoseconds
	fail  error
}

func (l *ledger) Flow(f FlowRecord) error {
	l.flows++
	if f.Slowdown() < 0.99 || f.Src == "" || f.Dst == f.Src {
		return fmt.Errorf("flow %+v", f)
	}
	return l.fail
}

func (l *ledger) Rate(at quantity.Picoseconds, tenant string, flow int64, rate quantity.BitRate) error {
	if flow < 0 {
		l.bytes[tenant] += float64(rate) / 8 * (at - l.last).Seconds()
		if tenant == "blue" { // the last tenant of an interval
			l.last = at
		}
		return nil
	}
	l.bytes[fmt.Sprint(flow)] += float64(rate)
	return nil
}

func (l *ledger) Queue(_ quantity.Picoseconds, port string, bytes int64) error {
	if !strings.HasPrefix(port, "sw1") || bytes <= 0 {
		return fmt.Errorf("queue of %s: %d", port, bytes)
	}
	return nil
}

const twoTenants = `interval: 50us
congestion_control: {algorithm: dcqcn}
tenants: [{name: red, weight: 1}, {name: blue, weight: 1}]
flows:
  - {tenant: red, src: h1, dst: h4, bytes: 3_000_000}
  - {tenant: blue, src: [h2, h3], dst: h4, bytes: 2_000_000}
`

func TestRecorderGetsEveryFlowAndEveryByte(t *testing.T) {
	t.Parallel()
	l := &ledger{bytes: map[string]float64{}}
	r := runEther(t, parse(t, twoTenants), EtherOptions{Recorder: l})
	if l.flows != 3 || r.Flows.Completed != 3 {
		t.Errorf("%d flows recorded", l.flows)
	}
	closeTo(t, "red bytes", l.bytes["red"], 3e6, 1e-3)
	closeTo(t, "blue bytes", l.bytes["blue"], 4e6, 1e-3)
	if l.bytes["0"] == 0 || l.bytes["2"] == 0 {
		t.Errorf("no rates of flows: %v", l.bytes)
	}
	disk := errors.New("disk full")
	res, err := RunEthernet(context.Background(), parse(t, twoTenants), EtherOptions{Recorder: &ledger{bytes: map[string]float64{}, fail: disk}})
	if !errors.Is(err, disk) || res == nil || res.Flows.Completed == 3 {
		t.Errorf("error of a failing recorder: %v", err)
	}
}

func TestInterruptedRunKeepsItsMeasurements(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	r, err := RunEthernet(ctx, parse(t, twoTenants), EtherOptions{Progress: func(now quantity.Picoseconds, part float64) {
		if calls++; calls == 3 {
			cancel()
		}
		if part <= 0 || part > 1 {
			t.Errorf("part %v at %s", part, now)
		}
	}})
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.Finished {
		t.Fatalf("%v, %+v", err, r)
	}
	closeTo(t, "simulated", r.SimulatedS, 150e-6, 1e-9)
	if r.Totals.AcceptedBytes == 0 || len(r.TimesS) != 3 {
		t.Errorf("%+v", r)
	}
}

// ring returns five switches in a ring with one host each, h1 to h5.
func ring(t testing.TB) *subnet.Fabric {
	t.Helper()
	var nodes []subnet.Node
	var links []subnet.Link
	for i := range int32(5) {
		nodes = append(nodes, subnet.Node{
			GUID: 0x0200_0001_0000_0000 + ident.GUID(i), Kind: subnet.KindSwitch, Name: fmt.Sprintf("s%d", i), Ports: subnet.NewPorts(3),
		})
		links = append(links, subnet.Link{
			A: subnet.PortRef{Node: i, Port: 2}, B: subnet.PortRef{Node: (i + 1) % 5, Port: 3}, Rate: 100 * quantity.Gbps, Delay: us,
		}, subnet.Link{
			A: subnet.PortRef{Node: i, Port: 1}, B: subnet.PortRef{Node: 5 + i, Port: 1}, Rate: 400 * quantity.Gbps, Delay: us,
		})
	}
	for i := range 5 {
		nodes = append(nodes, subnet.Node{
			GUID: 0x0200_0000_0000_0000 + ident.GUID(i)*256, Kind: subnet.KindCA, Name: fmt.Sprintf("h%d", i+1), Ports: subnet.NewPorts(1),
		})
		nodes[5+i].Ports[1].GUID = nodes[5+i].GUID + 1
	}
	f, err := subnet.New("ring", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDeadlockEndsTheRunAndIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	if err := topofile.WriteYAML(&text, ring(t)); err != nil {
		t.Fatal(err)
	}
	s := parseBeside(t, dir, map[string]string{"ring.yaml": text.String()}, `interval: 100us
fabric: {file: ring.yaml}
model: {buffer: {bytes: 400_000, alpha: 0.125, alpha_rate: 400Gbit/s}}
flows:
  - {src: h1, dst: h3, qps: 4}
  - {src: h2, dst: h4, qps: 4}
  - {src: h3, dst: h5, qps: 4}
  - {src: h4, dst: h1, qps: 4}
  - {src: h5, dst: h2, qps: 4}
`)
	r, err := RunEthernet(context.Background(), s, EtherOptions{})
	var d *ether.Deadlock
	if !errors.As(err, &d) || len(d.Ports) != 5 || r == nil {
		t.Fatalf("got %v, want a cycle of five ports", err)
	}
	for i := range 5 {
		if !strings.Contains(err.Error(), fmt.Sprintf("s%d/2", i)) {
			t.Errorf("%v does not name s%d/2", err, i)
		}
	}
	if r.SimulatedS > 0.01 || r.Totals.Pauses == 0 {
		t.Errorf("it took %g s to notice", r.SimulatedS)
	}
}

// parseBeside reads a scenario from a directory with the given files.
func parseBeside(t testing.TB, dir string, files map[string]string, text string) *Scenario {
	t.Helper()
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "x.yaml")
	if err := os.WriteFile(path, []byte("name: x\nplane: ethernet\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTraces(t *testing.T) {
	t.Parallel()
	const head = "flow_id,src,dst,size_bytes,start_ns\n"
	const label = "flow_id,src,dst,size_bytes,start_ns,tenant,tag\n"
	run := func(trace string) (*EtherResult, error) {
		s := parseBeside(t, t.TempDir(), map[string]string{"t.csv": trace}, "fabric: {topology: star, hosts: 4}\nworkload:\n  - {kind: trace, file: t.csv}\n")
		return RunEthernet(context.Background(), s, EtherOptions{})
	}
	r, err := run(head + "0,0,3,5000,0\n1,1,3,7000,100.5\n")
	if err != nil || r.Flows.Completed != 2 || r.Totals.AcceptedBytes != 12_000 || r.Listed[1].StartS != 100.5e-9 {
		t.Errorf("%v, %+v", err, r)
	}
	for bad, want := range map[string]string{
		head + "0,0,3,5000,0\n1,1,4,7000,0\n":          "t.csv: trace: line 3: column dst",
		head + "0,0,3,5000,0\n1,1,1,7000,0\n":          "t.csv: trace: line 3: column dst",
		label + "0,0,3,5000,0,0,0\n1,1,2,7000,0,1,0\n": "t.csv: trace: line 3: column tenant: 1: want the number of a tenant, 0 to 0",
	} {
		_, err := run(bad)
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", bad, err, want)
		}
	}
	s := parse(t, "workload:\n  - {kind: trace, file: t.csv}\n")
	if _, err := RunEthernet(context.Background(), s, EtherOptions{}); err == nil || !strings.Contains(err.Error(), "files cannot be read here") {
		t.Errorf("error for a trace that cannot be opened: %v", err)
	}
}

func TestLongRunsKeepFewPoints(t *testing.T) {
	t.Parallel()
	s := parse(t, "duration: 9ms\ninterval: 1us\nsample: 1us\nuntil: duration\nflows:\n  - {src: h1, dst: h2, bytes: 1000}\n")
	r := runEther(t, s, EtherOptions{})
	n := len(r.TimesS)
	if n > 4096 || n < 1000 || r.TimesS[n-1] != 0.009 || len(r.Tenants[0].RateBps) != n || !r.Finished {
		t.Errorf("%d points up to %g", n, r.TimesS[n-1])
	}
	sum, last := 0.0, 0.0
	for i, at := range r.TimesS {
		if at <= last {
			t.Fatalf("instant %d: %g after %g", i, at, last)
		}
		sum += float64(r.Tenants[0].RateBps[i]) / 8 * (at - last)
		last = at
	}
	closeTo(t, "bytes under the curve", sum, 1000, 0.01)
}

func TestSetTimes(t *testing.T) {
	t.Parallel()
	s := load(t, "ib16") // warm-up 100 ms
	for _, c := range []struct{ duration, interval quantity.Picoseconds }{
		{100 * ms, ms}, {0, ms}, {200 * ms, 0}, {200 * ms, quantity.Nanosecond}, {2000 * quantity.Second, quantity.Second},
	} {
		if err := s.SetTimes(c.duration, c.interval); err == nil {
			t.Errorf("accepts %s, %s", c.duration, c.interval)
		}
	}
	if err := s.SetTimes(150*ms, 10*ms); err != nil || s.Duration != 150*ms || s.Interval != 10*ms {
		t.Errorf("%v, %s", err, s.Duration)
	}
}

func TestPlanesDoNotMix(t *testing.T) {
	t.Parallel()
	if _, _, err := load(t, "incast20").Build(); err == nil || !strings.Contains(err.Error(), "want infiniband") {
		t.Errorf("Build of an Ethernet scenario: %v", err)
	}
	if _, err := load(t, "ib16").BuildEthernet(Hooks{}); err == nil || !strings.Contains(err.Error(), "want ethernet") {
		t.Errorf("BuildEthernet of an InfiniBand scenario: %v", err)
	}
	if _, err := RunEthernet(context.Background(), load(t, "ib16"), EtherOptions{}); err == nil {
		t.Error("RunEthernet accepted an InfiniBand scenario")
	}
}

func TestBiCCAnswersMarksBetweenDataCentres(t *testing.T) {
	t.Parallel()
	r := runEther(t, parse(t, `duration: 10ms
sample: 100us
fabric: {topology: dual-dc, pods: 1, tors: 1, aggs: 1, cores: 1, hosts_per_tor: 4, dci_delay: 100us}
model: {cnp: {packets: true, gap: 50us}}
congestion_control: {algorithm: dcqcn}
bicc: {switches: "*-dci", voqs: 16}
flows: [{src: "dc1-*", dst: dc2-host-0001}, {src: dc2-host-0002, dst: dc2-host-0001}]
`), EtherOptions{})
	if r.Totals.CNPs == 0 || r.Totals.AcceptedBytes == 0 {
		t.Errorf("%+v", r.Totals)
	}
}

func TestCrossTrafficHasItsPart(t *testing.T) {
	t.Parallel()
	s := load(t, "dualdc")
	g := &s.Ethernet.Workload[0]
	src, _, err := g.build(s)
	if err != nil {
		t.Fatal(err)
	}
	hosts := Hosts(s.Fabric)
	domain := func(h int32) string { return s.Fabric.Nodes[hosts[h].Node].Domain }
	cross, n, bytes := 0.0, 0.0, 0.0
	for a, ok := src.Next(); ok && n < 2000; a, ok = src.Next() {
		n++
		bytes += float64(a.Bytes)
		if domain(a.Src) != domain(a.Dst) {
			cross++
		}
	}
	if p := cross / n; math.Abs(p-5.0/6) > 4*math.Sqrt(5.0/36/n) {
		t.Errorf("fraction %.3f of %g flows cross, want 5/6", p, n)
	}
}
