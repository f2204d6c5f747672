package scenario

import (
	"context"
	"encoding/csv"
	"os"
	"reflect"
	"strconv"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
)

// flowsOnly is a recorder that keeps the completion times of flows.
type flowsOnly struct {
	flows map[string]quantity.Picoseconds
}

func (r *flowsOnly) Flow(f FlowRecord) error {
	r.flows[f.Src] = f.FCT
	return nil
}
func (r *flowsOnly) Rate(quantity.Picoseconds, string, int64, quantity.BitRate) error { return nil }
func (r *flowsOnly) Queue(quantity.Picoseconds, string, int64) error                  { return nil }

// The reference incast as a user provides it: a table of links, a table of flows, and a preset. Every flow completes in the
// exact nanosecond of the reference simulator.
func TestTheReferenceIncastFromItsFilesIsExact(t *testing.T) {
	t.Parallel()
	s, err := Load("testdata/w1/w1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := &flowsOnly{map[string]quantity.Picoseconds{}}
	r, err := RunEthernet(context.Background(), s, EtherOptions{Recorder: got})
	if err != nil || !r.Finished || r.Flows.Completed != 20 {
		t.Fatalf("%v: %+v", err, r)
	}
	f, err := os.Open("../ether/testdata/oracle/w1-hpcc-fct.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 21 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		want, err := strconv.ParseInt(row[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if fct := got.flows[row[0]]; fct != quantity.Picoseconds(want)*quantity.Nanosecond {
			t.Errorf("flow %s took %s, reference %d ns", row[0], fct, want)
		}
	}
}

func TestKeysOverrideThePreset(t *testing.T) {
	t.Parallel()
	const flows = "flows: [{src: h1, dst: h2}]\n"
	plain := parse(t, "model: {preset: ns3-hpcc}\n"+flows).Ethernet.Model
	if !reflect.DeepEqual(plain, preset(PresetNS3)) || plain.Buffer.Headroom != 3 || !plain.TruncateNs || !plain.GlobalRTT || plain.CNPs {
		t.Errorf("%+v", plain)
	}
	want := preset(PresetNS3)
	want.Payload, want.TruncateNs, want.ECN.PMax, want.Buffer.Bytes = 4000, false, 0.5, 1<<20
	got := parse(t, "model: {preset: ns3-hpcc, payload: 4000, truncate_ns: false, ecn: {p_max: 0.5}, buffer: {bytes: 1_048_576}}\n"+flows).Ethernet.Model
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if none := parse(t, "model: {preset: none}\n"+flows).Ethernet.Model; !reflect.DeepEqual(none, ether.Config{}) {
		t.Errorf("no preset: %+v", none)
	}
	refused(t, []struct{ old, new, want string }{
		{"payload: 1000", "preset: ns2", `x.yaml:4: model.preset: found "ns2": want one of none, ns3-hpcc`},
	})
}

// The preset sets DCTCP's first window as in that simulator, unless the scenario sets it.
func TestPresetSetsParameters(t *testing.T) {
	t.Parallel()
	const flows = "flows: [{src: h1, dst: h2}]\n"
	for text, want := range map[string]cc.Values{
		"model: {preset: ns3-hpcc}\ncongestion_control: {algorithm: dctcp}\n":                          {"first_window": 1},
		"model: {preset: ns3-hpcc}\ncongestion_control: {algorithm: dctcp, first_window: in-flight}\n": {"first_window": 0},
		"model: {preset: ns3-hpcc}\ncongestion_control: {algorithm: timely}\n":                         {},
		"congestion_control: {algorithm: dctcp}\n":                                                     {},
	} {
		if got := parse(t, text+flows).Ethernet.Controls[0].Values; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestMarkingFollowsTheCongestionControl(t *testing.T) {
	t.Parallel()
	step := ether.ECN{Min: 30_000, Max: 30_000, RatePer: 10 * quantity.Gbps, PMax: 1}
	for text, want := range map[string]ether.ECN{
		"congestion_control: {algorithm: dctcp}\n":                                step,
		"congestion_control: [{algorithm: dctcp}, {name: b, algorithm: dctcp}]\n": step,
		"congestion_control: [{algorithm: dctcp}, {algorithm: dcqcn}]\n":          {},
		"congestion_control: {algorithm: dcqcn}\n":                                {},
		"": {},
		"congestion_control: {algorithm: dctcp}\nmodel: {ecn: {min: 5, max: 9}}\n": {Min: 5, Max: 9},
		"congestion_control: {algorithm: dctcp}\nmodel: {preset: ns3-hpcc}\n":      preset(PresetNS3).ECN,
		"congestion_control: {algorithm: dctcp}\nmodel: {ecn: {off: true}}\n":      {Off: true},
		"congestion_control: {algorithm: dctcp}\nmodel: {payload: 500}\n":          step,
	} {
		if got := parse(t, text+"flows: [{src: h1, dst: h2}]\n").Ethernet.Model.ECN; got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// With its default marking, DCTCP keeps the queue at the threshold and the link full.
func TestDCTCPKeepsAShortQueueByDefault(t *testing.T) {
	t.Parallel()
	r := runEther(t, parse(t, "duration: 10ms\nwarmup: 5ms\ncongestion_control: {algorithm: dctcp}\nflows: [{src: [h1, h2, h3], dst: h4, qps: 8}]\n"), EtherOptions{})
	if r.Utilisation < 0.95 || r.Queues.BusyP50 > 600_000 || r.Totals.Marks == 0 {
		t.Errorf("utilization %.3f, queue %d bytes, %d marks", r.Utilisation, r.Queues.BusyP50, r.Totals.Marks)
	}
}
