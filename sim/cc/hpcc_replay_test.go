package cc

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"fairlane/internal/quantity"
)

// numbersOf reads the rows of numbers that follow a header line.
func numbersOf(t *testing.T, name string) [][]float64 {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%s: %d rows, %v", name, len(rows), err)
	}
	var out [][]float64
	for _, row := range rows[1:] {
		var v []float64
		for _, cell := range row {
			x, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatal(err)
			}
			v = append(v, x)
		}
		out = append(out, v)
	}
	return out
}

func built(t testing.TB, spec Spec, v Values) Algorithm {
	t.Helper()
	a, err := spec.Build(v)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sampled reports whether a flow equals a row of samples: rate, U, acknowledged and sent bytes.
func (s *star) sampled(flow int, row []float64) bool {
	f := &s.flows[flow]
	g := make([]float64, 2)
	s.alg.Read(int32(flow), g)
	return f.control.Rate == row[2] && math.Abs(g[0]-row[3]) < 1e-6 &&
		f.acked == int64(row[4]) && f.next == int64(row[5])
}

// The HPCC paper's simulator and this algorithm, in the same small network, give the same rates to 1 bit/s, the same
// estimates and the same byte counts during the whole run.
func TestHPCCRepeatsTheRunsOfItsPaperSimulator(t *testing.T) {
	t.Parallel()
	mb := func(n ...int64) (out []int64) {
		for _, v := range n {
			out = append(out, v*1_000_000)
		}
		return out
	}
	incast := mb(200, 200, 150)
	for range 17 {
		incast = append(incast, 5_000_000)
	}
	ms := quantity.Millisecond
	// The file has 5 ms. The simulator truncates 0.005 s, which has no exact binary representation, to whole nanoseconds.
	late := 5*ms - quantity.Nanosecond
	for _, c := range []struct {
		file   string
		sizes  []int64
		starts []quantity.Picoseconds
	}{
		{"hpcc-two-flows.csv", mb(2000, 2000), []quantity.Picoseconds{0, 0}},
		{"hpcc-late-flow.csv", mb(2000, 2000), []quantity.Picoseconds{0, late}},
		{"hpcc-incast.csv", incast, make([]quantity.Picoseconds, len(incast))},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			s := newStar(built(t, hpccSpec(), hpccPeer()), c.sizes, c.starts)
			for _, row := range numbersOf(t, c.file) {
				at := quantity.Picoseconds(row[0]) * quantity.Nanosecond
				s.run(at)
				flow := int(row[1])
				if s.sampled(flow, row) {
					continue
				}
				s.run(at + 1) // a sample may follow the events of its instant
				if !s.sampled(flow, row) {
					f := &s.flows[flow]
					t.Fatalf("at %s flow %d: rate %.0f, acknowledged %d, sent %d; want %.0f, %.0f, %.0f",
						at, flow, f.control.Rate, f.acked, f.next, row[2], row[4], row[5])
				}
			}
		})
	}
	t.Run("completion times", func(t *testing.T) {
		t.Parallel()
		s := newStar(built(t, hpccSpec(), hpccPeer()), incast, make([]quantity.Picoseconds, len(incast)))
		s.run(60 * ms)
		for _, row := range numbersOf(t, "hpcc-incast-fct.csv") {
			if got, want := s.flows[int(row[0])].done, quantity.Picoseconds(row[2])*quantity.Nanosecond; got != want {
				t.Errorf("flow %.0f ends after %s, want %s", row[0], got, want)
			}
		}
	})
}
