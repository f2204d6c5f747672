package ether

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet/topogen"
)

// peer returns a configuration with the behaviour of the reference simulator.
func peer(seed uint64) Config {
	return Config{TruncateNs: true, FixedPoint: true, GlobalRTT: true, Seed: seed}
}

// wireINT makes HPCC use telemetry with the precision of the reference's header.
var wireINT = cc.Values{"int": 1}

// oracle reads a table of numbers by column.
func oracle(t *testing.T, name string) map[string][]float64 {
	t.Helper()
	f, err := os.Open("testdata/oracle/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]float64)
	for _, r := range rows[1:] {
		for i, text := range r {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			out[rows[0][i]] = append(out[rows[0][i]], v)
		}
	}
	return out
}

// runIncast returns the completion time of each flow of the reference incast, ns.
func runIncast(t *testing.T, alg cc.Algorithm, seed uint64) []float64 {
	t.Helper()
	fct := make([]float64, 20)
	cfg := peer(seed)
	cfg.OnDone = func(d Done) { fct[d.ID] = float64(d.FCT) / 1000 }
	n := incast(t, alg, cfg)
	for !n.Finished() && n.Now() < 200*quantity.Millisecond {
		n.RunUntil(n.Now() + quantity.Millisecond)
	}
	if !n.Finished() {
		t.Fatalf("flows are still running after %s", n.Now())
	}
	if st := n.Stats(); st.Pauses != 0 || st.DroppedPackets != 0 {
		t.Errorf("%d pauses, %d drops; the reference has none", st.Pauses, st.DroppedPackets)
	}
	return fct
}

// near checks that a value is within a relative tolerance of a reference.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if off := got/want - 1; math.Abs(off) > within {
		t.Errorf("%s: %.6g, reference %.6g: %+.2f %%, want within %g %%", what, got, want, off*100, within*100)
	} else {
		t.Logf("%s: %.6g, reference %.6g: %+.2f %%", what, got, want, off*100)
	}
}

func mean(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// HPCC is not random: every flow of the incast must end at the reference's exact nanosecond, after 635,000 packets with the
// same order of simultaneous events.
func TestHPCCIncastAgreesWithTheReference(t *testing.T) {
	t.Parallel()
	want := oracle(t, "w1-hpcc-fct.csv")["fct_ns"]
	got := runIncast(t, build(t, "hpcc", wireINT), 1)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("flow %d took %.3f ns, reference %.0f ns", i, got[i], want[i])
		}
	}
}

// DCQCN is random because marking is random, so the test compares means over six seeds.
func TestDCQCNIncastAgreesWithTheReference(t *testing.T) {
	t.Parallel()
	ref := oracle(t, "w1-dcqcn-fct.csv")
	const seeds = 6
	want, got := make([]float64, 20), make([]float64, 20)
	for _, col := range []string{"fct_ns", "fct_ns_seed2", "fct_ns_seed3", "fct_ns_seed4", "fct_ns_seed5", "fct_ns_seed6"} {
		for i, v := range ref[col] {
			want[i] += v / seeds
		}
	}
	for seed := range uint64(seeds) {
		for i, v := range runIncast(t, build(t, "dcqcn-peer", nil), seed+1) {
			got[i] += v / seeds
		}
	}
	for i := range want {
		near(t, "flow "+strconv.Itoa(i), got[i], want[i], 0.10)
	}
	near(t, "mean", mean(got), mean(want), 0.03)
	near(t, "mean of the 5 MB flows", mean(got[3:]), mean(want[3:]), 0.03)
	near(t, "longest", max(got[0], got[1]), max(want[0], want[1]), 0.03)
}

// Two HPCC flows send to one receiver for 50 ms; the test compares the acknowledged bytes of each. The runs are identical
// packet by packet for at least 26 ms. Then one tie is broken differently, and the flows, whose rates never become equal,
// differ by less than 1 %.
func TestTwoHPCCFlowsAgreeWithTheReference(t *testing.T) {
	t.Parallel()
	for file, late := range map[string]quantity.Picoseconds{"hpcc-a": 0, "hpcc-b": lateStart} {
		ref := oracle(t, "w4-"+file+"-samples.csv")
		for i := 0; i < len(ref["t_ns"]); i++ {
			at := quantity.Picoseconds(ref["t_ns"][i]) * quantity.Nanosecond
			if at != 20*quantity.Millisecond && at != 49*quantity.Millisecond {
				continue
			}
			got := runTwo(t, build(t, "hpcc", wireINT), 1, late, at)[int(ref["flow_id"][i])]
			within := 0.01
			if at == 20*quantity.Millisecond {
				within = 2000 / got // bytes in flight at the instant of the sample
			}
			near(t, fmt.Sprintf("%s, flow %g at %s", file, ref["flow_id"][i], at), got, ref["acked_bytes"][i], within)
		}
	}
}

// lateStart is the start of the second flow in variant b. The reference converts 5 ms, plus an offset of 2 s, to a float and
// back, and loses one nanosecond.
const lateStart = 5*quantity.Millisecond - quantity.Nanosecond

// The same scenario with DCQCN. The reference is one run of a random process. It must be within 2.5 standard deviations of
// the mean of twelve runs, with the same total.
func TestTwoDCQCNFlowsAgreeWithTheReference(t *testing.T) {
	t.Parallel()
	us := float64(quantity.Microsecond)
	paperTimers := cc.Values{"alpha_timer": 50 * us, "cut_timer": 50 * us, "increase_timer": 55 * us}
	for _, tc := range []struct {
		file string
		v    cc.Values
		late quantity.Picoseconds
	}{
		{"dcqcn-a", nil, 0}, {"dcqcn-b", nil, lateStart},
		{"dcqcn-paper-timers-a", paperTimers, 0}, {"dcqcn-paper-timers-b", paperTimers, lateStart},
	} {
		t.Run(tc.file, func(t *testing.T) {
			t.Parallel()
			ref := oracle(t, "w4-"+tc.file+"-samples.csv")
			last := len(ref["acked_bytes"]) - 2
			var flows [2][]float64
			var all []float64
			for seed := range uint64(12) {
				b := runTwo(t, build(t, "dcqcn-peer", tc.v), seed+1, tc.late, quantity.Picoseconds(ref["t_ns"][last])*quantity.Nanosecond)
				flows[0], flows[1], all = append(flows[0], b[0]), append(flows[1], b[1]), append(all, b[0]+b[1])
			}
			for i := range flows {
				m, sd := mean(flows[i]), deviation(flows[i])
				near(t, fmt.Sprintf("flow %d, standard deviation %.2g %%", i, 100*sd/m), m, ref["acked_bytes"][last+i], 2.5*sd/m)
			}
			near(t, "together", mean(all), ref["acked_bytes"][last]+ref["acked_bytes"][last+1], 0.01)
		})
	}
}

func deviation(v []float64) float64 {
	m, s := mean(v), 0.0
	for _, x := range v {
		s += (x - m) * (x - m)
	}
	return math.Sqrt(s / float64(len(v)-1))
}

// runTwo returns the acknowledged bytes of two flows to one host at an instant.
func runTwo(t *testing.T, alg cc.Algorithm, seed uint64, late, until quantity.Picoseconds) (acked [2]float64) {
	t.Helper()
	topo, err := topogen.Star(3, topogen.Wire{Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	cfg := peer(seed)
	cfg.Algorithms = []cc.Algorithm{alg}
	n, err := New(topo, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(2) {
		if err := n.Add(FlowSpec{ID: int64(i), Src: i, Dst: 2, Bytes: 2_000_000_000, Start: quantity.Picoseconds(i) * late}); err != nil {
			t.Fatal(err)
		}
	}
	n.RunUntil(until)
	for s := range n.Flows {
		acked[s.ID] = float64(s.Acked)
	}
	return acked
}
