package scenario

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"fairlane/internal/quantity"
)

// seriesKept is a recorder that keeps the series of a run.
type seriesKept struct {
	flows  []FlowSample
	queues map[string][]int64
	pauses []string
}

func (k *seriesKept) FlowSample(s FlowSample) error {
	k.flows = append(k.flows, s)
	return nil
}

func (k *seriesKept) QueueSample(_ quantity.Picoseconds, port string, bytes int64) error {
	k.queues[port] = append(k.queues[port], bytes)
	return nil
}

func (k *seriesKept) Pause(at quantity.Picoseconds, port string, class uint8, begin bool) error {
	k.pauses = append(k.pauses, fmt.Sprintf("%s %s %d %v", at, port, class, begin))
	return nil
}

func seriesOf(t *testing.T, s *Scenario) (*EtherResult, *seriesKept) {
	t.Helper()
	kept := &seriesKept{queues: map[string][]int64{}}
	r, err := RunEthernet(context.Background(), s, EtherOptions{Series: kept})
	if err != nil {
		t.Fatal(err)
	}
	return r, kept
}

const seriesIncast = "duration: 2ms\nfabric: {topology: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 1}\nmodel: {buffer: {static: 60_000}, ecn: {min: 5000, max: 50_000}}\n" +
	"congestion_control: [{algorithm: dcqcn-peer, window: variable}, {algorithm: hpcc}]\n" +
	"flows: [{src: [host-001, host-002, host-003, host-005], dst: host-008, bytes: 2_000_000}, {cc: hpcc, src: host-006, dst: host-007, bytes: 1_000_000}]\n"

// Series agree with the run and do not change it, on one thread and on two threads.
func TestSeriesShowTheRunAndDoNotChangeIt(t *testing.T) {
	t.Parallel()
	const series = "series: {values: [rate, target, alpha, rtt, window, queue, pfc], every: 10us, flows: all}\n"
	for _, threads := range []string{"1", "2"} {
		text := strings.Replace(seriesIncast, "model: {", "model: {threads: "+threads+", ", 1)
		plain := runEther(t, parse(t, text), EtherOptions{})
		r, kept := seriesOf(t, parse(t, text+series))
		r.Curves, plain.Curves = EtherCurves{}, EtherCurves{}
		if !reflect.DeepEqual(plain, r) {
			t.Errorf("%s threads: the result changed: digest %s, without series %s", threads, r.Totals.Digest, plain.Totals.Digest)
		}
		cut, seen := false, map[int64]int{}
		for _, f := range kept.flows {
			seen[f.ID]++
			if hpcc := f.ID == 4; math.IsNaN(f.Target) != hpcc || math.IsNaN(f.Alpha) != hpcc {
				t.Fatalf("%+v: only HPCC has neither target nor alpha", f)
			}
			if f.At%(10*quantity.Microsecond) != 0 || f.Window <= 0 || f.Rate <= 0 || f.Rate > 100e9 || f.RTT > 0 && f.RTT < 4*quantity.Microsecond {
				t.Fatalf("%+v", f)
			}
			cut = cut || f.Rate < 50e9 && f.Rate < f.Target && f.Alpha > 0 && f.Alpha < 1
		}
		if !cut || len(seen) != 5 || seen[0] < 50 {
			t.Errorf("%s threads: cut %v, samples by flow %v", threads, cut, seen)
		}
		most := int64(0)
		for _, v := range kept.queues["leaf2/P4"] {
			most = max(most, v)
		}
		if len(kept.queues) != 12 || most < 50_000 {
			t.Errorf("%s threads: %d ports, largest queue at the bottleneck %d", threads, len(kept.queues), most)
		}
		if n := uint64(len(kept.pauses)); n < r.Totals.Pauses || n > 2*r.Totals.Pauses || r.Totals.Pauses == 0 {
			t.Errorf("%s threads: %d events for %d pauses", threads, n, r.Totals.Pauses)
		}
	}
}

// The pauses of a port begin and end alternately. Patterns select the ports, numbers the flows.
func TestSeriesOfSomeFlowsAndPorts(t *testing.T) {
	t.Parallel()
	_, kept := seriesOf(t, parse(t, seriesIncast+"series: {values: [pfc, queue, rate], every: 50us, flows: [3], ports: [host-002, leaf2/P4]}\n"))
	if len(kept.queues) != 1 || len(kept.queues["leaf2/P4"]) < 10 || len(kept.flows) == 0 {
		t.Errorf("queues %v, %d samples of flows", kept.queues, len(kept.flows))
	}
	for _, f := range kept.flows {
		if f.ID != 3 {
			t.Fatalf("%+v", f)
		}
	}
	for i, p := range kept.pauses {
		if !strings.HasSuffix(p, fmt.Sprintf(" host-002/P1 0 %v", i%2 == 0)) {
			t.Fatalf("event %d: %s", i, p)
		}
	}
	if len(kept.pauses) < 2 {
		t.Errorf("pauses %q", kept.pauses)
	}
	s := parseBeside(t, t.TempDir(), map[string]string{"t.csv": taggedTrace}, "fabric: {topology: star, hosts: 4}\ncongestion_control: {algorithm: dcqcn}\n"+
		"workload: [{kind: trace, file: t.csv}]\nseries: {values: rate, every: 1us, flows: [9, 2]}\n")
	_, kept = seriesOf(t, s)
	if len(kept.flows) < 10 {
		t.Errorf("%d samples", len(kept.flows))
	}
	for _, f := range kept.flows {
		if f.Origin == nil || f.Origin.Flow != 9 || f.ID != 2 {
			t.Fatalf("%+v: want only flow 9 of the trace", f)
		}
	}
}

func TestWrongSeriesAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"series: {values: [rate, speed]}\n":          `x.yaml:9: series.values: found "speed": want some of rate, target, alpha, rtt, window, queue, pfc, each once`,
		"series: {every: 1us}\n":                     `series.values: found "nothing"`,
		"series: {values: rate, every: 1ps}\n":       `series.every: found 1 ps: want more than 0 and at least 1/10000000 of the duration`,
		"series: {values: rate, flows: [x]}\n":       `series.flows: found "x": want numbers from 0`,
		"series: {values: queue, ports: [leaf-9]}\n": `series.ports: found "leaf-9": want a pattern that the name of some node`,
		"series: {values: rate, interval: 1us}\n":    `unknown key in series`,
	} {
		_, err := Parse("x.yaml", []byte("name: x\nplane: ethernet\n"+seriesIncast+text), nil)
		if err == nil || !strings.Contains(err.Error(), want[strings.Index(want, "series"):]) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	s := parse(t, seriesIncast)
	for _, c := range []struct {
		text SeriesText
		want string
	}{
		{SeriesText{Every: "5us"}, "--series: no value: want some of rate"},
		{SeriesText{Values: "rate", Every: "5"}, "--series-every: "},
		{SeriesText{Values: "rate", Flows: "-1"}, `--series-flows: found "-1"`},
		{SeriesText{Values: "rate", Ports: "nope/*"}, `--series-ports: found "nope/*"`},
	} {
		if err := s.SetSeries(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.text, err, c.want)
		}
	}
	if err := s.SetSeries(SeriesText{Values: "rate,pfc", Flows: "all", Ports: "leaf*"}); err != nil || !s.Ethernet.Series.AllFlows || s.Ethernet.Series.Every != defaultSeriesEvery {
		t.Errorf("%v: %+v", err, s.Ethernet.Series)
	}
}
