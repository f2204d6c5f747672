package scenario

import (
	"errors"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/subnet"
	"fairlane/subnet/topofile"
)

func TestModelKeysReachTheNetwork(t *testing.T) {
	t.Parallel()
	s := parse(t, `fabric: {topology: dual-dc, pods: 1, tors: 1, aggs: 1, cores: 1, hosts_per_tor: 2}
model:
  payload: 4000
  headers: {data: 50, ack: 70, cnp: 80, pause: 90}
  ack_every: 4
  ack_overtakes_pause: true
  truncate_ns: true
  global_rtt: true
  classes: [{strict: true}, {weight: 3}, {lossy: true}]
  cnp: {packets: true, gap: 7us, class: 1}
  ecn: {min: 10, max: 20, rate_per: 10Gbit/s, p_max: 0.5, at: enqueue}
  buffer: {bytes: 1000000, reserve: 1, headroom: 2, alpha: 0.5, alpha_rate: 10Gbit/s, resume: 5, static: 7, egress_alpha: 2}
  buffers: [{switches: "dc?-dci", bytes: 5}, {switches: "dc1-*", alpha: 0.25}]
  recovery: {mode: selective-repeat, nack_gap: 3us, timeout: 1ms}
flows: [{src: dc1-host-0001, dst: dc2-host-0001}]
`)
	base := ether.Buffer{Bytes: 1e6, Reserve: 1, Headroom: 2, Alpha: 0.5, AlphaRate: 10 * quantity.Gbps, Resume: 5, Static: 7, EgressAlpha: 2}
	want := ether.Config{
		Payload: 4000, Headers: ether.Headers{Data: 50, Ack: 70, CNP: 80, Pause: 90}, AckEvery: 4, AckOvertakesPause: true,
		TruncateNs: true, GlobalRTT: true, Classes: []ether.Class{{Strict: true, Weight: 1}, {Weight: 3}, {Weight: 1, Lossy: true}},
		CNPs: true, CNPClass: 1, CNPGap: 7 * us, ECN: ether.ECN{Min: 10, Max: 20, RatePer: 10 * quantity.Gbps, PMax: 0.5, AtEnqueue: true},
		Buffer: base, Recovery: ether.Recovery{Mode: ether.SelectiveRepeat, NackGap: 3 * us, Timeout: ms},
	}
	if !reflect.DeepEqual(s.Ethernet.Model, want) {
		t.Errorf("got  %+v\nwant %+v", s.Ethernet.Model, want)
	}
	buffers := s.Ethernet.SwitchBuffers(s.Fabric)
	tor, _ := nodeNamed(s.Fabric, "dc1-pod1-tor1")
	dci, _ := nodeNamed(s.Fabric, "dc2-dci")
	other, _ := nodeNamed(s.Fabric, "dc2-core1")
	wantTor, wantDCI := base, base
	wantTor.Alpha, wantDCI.Bytes = 0.25, 5
	if _, ok := buffers[other]; ok || buffers[tor] != wantTor || buffers[dci] != wantDCI {
		t.Errorf("buffers %+v", buffers)
	}
}

func nodeNamed(f *subnet.Fabric, name string) (int32, bool) {
	all := f.NodesByName(name)
	if len(all) != 1 {
		return -1, false
	}
	return all[0], true
}

const goodEther = `name: x
plane: ethernet
fabric: {topology: star, hosts: 4}
model: {payload: 1000}
congestion_control: {algorithm: dcqcn}
tenants:
  - {name: a, weight: 1}
flows:
  - {src: h1, dst: h3, bytes: 5}
workload:
  - {kind: poisson, sizes: websearch, load: 0.1}
`

// refused applies changes to goodEther and expects their errors.
func refused(t *testing.T, changes []struct{ old, new, want string }) {
	t.Helper()
	for _, c := range changes {
		_, err := Parse("x.yaml", []byte(strings.Replace(goodEther, c.old, c.new, 1)), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: got %v, want %q", c.new, c.old, err, c.want)
		}
		var pe *topofile.ParseError
		if err != nil && !errors.As(err, &pe) {
			t.Errorf("%q: %T is not a ParseError", c.new, err)
		}
	}
}

func TestFaultsOfTheModelNameFileAndLine(t *testing.T) {
	t.Parallel()
	if _, err := Parse("x.yaml", []byte(goodEther), nil); err != nil {
		t.Fatal(err)
	}
	refused(t, []struct{ old, new, want string }{
		{"plane: ethernet", "plane: fddi", `x.yaml:2: plane: found "fddi": want one of infiniband, ethernet`},
		{"name: x", "name: x\nnam: y", "x.yaml:2: unknown key in file"},
		{"name: x", "name: x\nchanges: []", "x.yaml:2: unknown key in file"},
		{"name: x", "name: x\nsample: 0s", "x.yaml:2: sample"},
		{"name: x", "name: x\nuntil: noon", "x.yaml:2: until"},
		{"name: x", "name: x\nsize_bins: [5, 3]", "x.yaml:2: size_bins"},
		{"payload: 1000", "payload: 63", "x.yaml:4: model.payload"},
		{"payload: 1000", "mtu: 1000", "x.yaml:4: unknown key in model"},
		{"payload: 1000", "ecn: {min: 5}", "x.yaml:4: ecn"},
		{"payload: 1000", "ecn: {min: 5, max: 4}", "x.yaml:4: ecn.min"},
		{"payload: 1000", "ecn: {p_max: 2}", "x.yaml:4: ecn.p_max: found \"2\": want a number from 0 to 1"},
		{"payload: 1000", "cnp: {class: 1}", "x.yaml:4: cnp.class"},
		{"payload: 1000", "classes: [{weight: 256}]", "x.yaml:4: classes.weight"},
		{"payload: 1000", "classes: []", "x.yaml:4: model.classes: found \"a list of 0\": want at least one class"},
		{"payload: 1000", "buffer: {alpha: 0}", "x.yaml:4: buffer.alpha"},
		{"payload: 1000", "buffers: [{switches: 'leaf*', bytes: 5}]", "x.yaml:4: buffers.switches"},
		{"payload: 1000", "recovery: {mode: pray}", "x.yaml:4: recovery.mode"},
		{"algorithm: dcqcn", "algorithm: tcp", `x.yaml:5: congestion control "tcp": want one of none`},
		{"algorithm: dcqcn", "algorithm: dcqcn, x: 1", "x.yaml:5: unknown key in congestion_control"},
		{"algorithm: dcqcn", "algorithm: dcqcn, g: 2", "x.yaml:5: congestion_control.g: found \"2\": want a number"},
		{"{algorithm: dcqcn}", "[{algorithm: dcqcn}, {algorithm: dcqcn}]", "x.yaml:5: congestion_control.name"},
		{"{algorithm: dcqcn}", "[]", "x.yaml:5: congestion_control"},
		{"algorithm: dcqcn", "algorithm: wrcc", "x.yaml:5: congestion_control.algorithm: found \"wrcc\": want switches that compute its rates: add `wrcc: {period: 24us}`"},
		{"{algorithm: dcqcn}", "\n  - {algorithm: dcqcn}\n  - {algorithm: wrcc-weighted}", "x.yaml:7: congestion_control.algorithm: found \"wrcc-weighted\""},
		{"{algorithm: dcqcn}", "dcqcn", "x.yaml:5: congestion_control"},
		{"{algorithm: dcqcn}", "{g: 1}", "x.yaml:5: congestion_control.algorithm"},
		{"tenants:", "wrcc: {}\ntenants:", "x.yaml:6: wrcc.period"},
		{"tenants:", "wrcc: {period: 1ns}\ntenants:", "x.yaml:6: wrcc"},
		{"tenants:", "bicc: {switches: '*-dci'}\ntenants:", "x.yaml:6: bicc.switches"},
		{"weight: 1}", "weight: 0}", "x.yaml:7: tenant.weight"},
		{"name: a,", "name: A A,", "x.yaml:7: tenant"},
	})
}

func TestFaultsOfTheTrafficNameFileAndLine(t *testing.T) {
	t.Parallel()
	refused(t, []struct{ old, new, want string }{
		{"src: h1", "src: h3", "x.yaml:9: flow.dst: found \"h3\": want a host other than the source"},
		{"src: h1", "src: 'h*'", "x.yaml:9: flow.dst"},
		{"src: h1", "src: 'x*'", "x.yaml:9: flow.src: found \"x*\": want a pattern that some host's name matches; hosts of this fabric: h1, h2, h3, h4"},
		{"src: h1", "src: h9", "x.yaml:9: flow.src: port \"h9\": no such port; did you mean h1, h2, h3, h4? (hosts of this fabric: h1, h2, h3, h4)"},
		{"src: h1", "src: h1, tenant: b", "x.yaml:9: flow.tenant"},
		{"src: h1", "src: h1, cc: hpcc", "x.yaml:9: flow.cc"},
		{"src: h1", "src: h1, class: 1", "x.yaml:9: flow.class"},
		{"src: h1", "src: h1, start: 2us, stop: 1us", "x.yaml:9: flow.stop"},
		{"src: h1", "src: h1, start: 100ms", "x.yaml:9: flow.start: found \"100 ms\": want less than the duration, 100 ms"},
		{"src: h1", "src: h1, demand: 0Gbit/s", "x.yaml:9: flow.demand: found \"0Gbit/s\": want a rate above 0"},
		{"bytes: 5", "bytes: 0", "x.yaml:9: flow.bytes"},
		{"bytes: 5", "sl: 0", "x.yaml:9: unknown key in flow"},
		{"dst: h3", "dst: []", "x.yaml:9: flow.dst"},
		{"kind: poisson, ", "", "x.yaml:11: workload.kind"},
		{"kind: poisson", "kind: gossip", "x.yaml:11: workload.kind"},
		{"load: 0.1", "load: 11", "x.yaml:11: workload.load"},
		{"load: 0.1", "load: 0.1, capacity: 0Gbit/s", "x.yaml:11: workload.capacity: found \"0Gbit/s\": want a rate above 0"},
		{"load: 0.1", "load: 0", "x.yaml:11: poisson: load"},
		{", load: 0.1", "", "x.yaml:11: workload.load"},
		{"load: 0.1", "load: 0.1, fan_in: 3", "x.yaml:11: unknown key in workload of kind poisson"},
		{"load: 0.1", "load: 0.1, cross_ratio: 3", "x.yaml:11: workload.cross_ratio"},
		{"load: 0.1", "load: 0.1, start: 1s", "x.yaml:11: workload.start"},
		{"load: 0.1", "load: 0.1, start: 2us, stop: 1us", "x.yaml:11: workload.stop"},
		{"load: 0.1", "load: 0.1, hosts: h1", "x.yaml:11: pairs"},
		{"load: 0.1", "load: 0.1, groups: [h1, h2]", "x.yaml:11: pairs"},
		{"websearch", "netflix", `x.yaml:11: flow sizes "netflix"`},
		{"websearch", "[[100, 50], [200, 99]]", "x.yaml:11: sizes \"own\": knot 2 (200 bytes, 99 %): the last knot: want 100 %"},
		{"websearch", "[[100, 50], 7]", "x.yaml:11: sizes"},
		{"websearch", "0", "x.yaml:11: sizes"},
		{"kind: poisson, sizes: websearch, load: 0.1", "kind: incast, fan_in: 4, bytes: 9, load: 0.1", "x.yaml:11: incast: fan-in 4: want 1 to 3"},
		{"kind: poisson, sizes: websearch, load: 0.1", "kind: ring-all-reduce, bytes: 2", "x.yaml:11: collective"},
		{"kind: poisson, sizes: websearch, load: 0.1", "kind: batch, sizes: 100", "x.yaml:11: workload.count"},
		{"{kind: poisson, sizes: websearch, load: 0.1}", "{kind: batch, sizes: 1, count: 2_000_000_000}\n  - {kind: batch, sizes: 1, count: 2_000_000_000}", "x.yaml:12: workload: found \"about 4e+09 flows\": want at most 2147483648"},
		{"dst: h3, bytes: 5}", "dst: h3, qps: 65536}\n" + strings.Repeat("  - {src: h1, dst: h3, qps: 65536}\n", 256), "at most 16777216"},
	})
	neither := goodEther[:strings.Index(goodEther, "flows:")]
	if _, err := Parse("x.yaml", []byte(neither), nil); err == nil || !strings.Contains(err.Error(), "flows, workload") {
		t.Errorf("no traffic gives %v", err)
	}
}

// The default buffer is too small for the headroom of a long link. The error names the key, and with this key the scenario
// runs.
func TestABufferTooSmallNamesItsKey(t *testing.T) {
	t.Parallel()
	const text = "duration: 10us\nfabric: {topology: dual-dc}\nflows: [{src: dc1-host-0001, dst: dc2-host-0001, bytes: 1000}]\n"
	_, err := parse(t, text).BuildEthernet(Hooks{})
	if want := "set `model.buffers: [{switches: \"*-dci\", bytes: N}]`, where N is "; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want %q", err, want)
	}
	sim, err := parse(t, text+"model: {buffers: [{switches: '*-dci', bytes: 250_000_000}]}\n").BuildEthernet(Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Close(); err != nil {
		t.Error(err)
	}
	_, err = parse(t, "model: {buffer: {bytes: 1000}}\nflows: [{src: h1, dst: h2}]\n").BuildEthernet(Hooks{})
	if err == nil || !strings.Contains(err.Error(), "switches: \"sw1\"") {
		t.Errorf("error for a small buffer in a star: %v", err)
	}
}

func FuzzParseEthernet(f *testing.F) {
	f.Add([]byte(goodEther))
	f.Add([]byte("name: x\nplane: ethernet\nfabric: {topology: star, hosts: 3}\nworkload: [{kind: trace, file: a}, {kind: all-to-all, bytes: 9}]\n"))
	none := func(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		s, err := Parse("fuzz.yaml", data, none)
		if (s == nil) == (err == nil) {
			t.Fatalf("scenario %v with error %v", s, err)
		}
		if s == nil || s.Ethernet == nil {
			return
		}
		if est := s.Estimate(); math.IsNaN(est.Flows) || est.Flows < 0 || est.Flows > maxExpected+maxFixed {
			t.Fatalf("estimate %+v", est)
		}
		if s.Ethernet.Sample <= 0 || len(s.Tenants) == 0 || len(s.Ethernet.Controls) == 0 {
			t.Fatalf("accepted %+v", s)
		}
	})
}
