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

// traceRow is the state of a flow in a run of the HPCC paper's ns-3 simulator: rate, target and alpha, every 10 us. Two
// senders share a receiver's link of 100 Gbit/s.
type traceRow struct {
	at                  quantity.Picoseconds
	rate, target, alpha float64
}

func readTrace(t *testing.T, name, flow string) []traceRow {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []traceRow
	for _, r := range records[1:] {
		if r[1] != flow {
			continue
		}
		var v [5]float64
		for i := range r {
			if v[i], err = strconv.ParseFloat(r[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, traceRow{quantity.Picoseconds(v[0]) * quantity.Nanosecond, v[2], v[3], v[4]})
	}
	return rows
}

// explain searches for a sequence of echoes with which dcqcnPeer reproduces a trace: in each alpha period there is an echo or
// there is none. It returns the number of rows reproduced. Rates must agree to 1 bit/s and alphas to their six decimals, so
// an algorithm with another update rule has no such sequence.
func explain(d *dcqcnPeer, rows []traceRow, first quantity.Picoseconds) (explained int) {
	type branch struct {
		f   dcqcnPeerFlow
		ctl Control
	}
	d.Reserve(1)
	start := branch{ctl: d.Start(0, 0, &Flow{LineRate: 100 * quantity.Gbps})}
	d.Ack(0, &Ack{Now: first, Marked: 1}, &start.ctl)
	start.f = *d.flows.at(0)
	alive := map[branch]bool{start: true}
	next := first + d.alpha.period/2
	for i, row := range rows {
		if row.at < first {
			continue
		}
		for ; next <= row.at; next += d.alpha.period {
			branches := make(map[branch]bool, 2*len(alive))
			for b := range alive {
				for marked := range 2 {
					c := b
					*d.flows.at(0) = c.f
					d.Settle(0, next, &c.ctl)
					d.Ack(0, &Ack{Now: next, Marked: marked}, &c.ctl)
					c.f = *d.flows.at(0)
					branches[c] = true
				}
			}
			alive = branches
		}
		left := make(map[branch]bool)
		var gauges [3]float64
		for b := range alive {
			*d.flows.at(0) = b.f
			d.Settle(0, row.at, &b.ctl)
			d.Read(0, gauges[:])
			b.f = *d.flows.at(0)
			if math.Abs(b.ctl.Rate-row.rate) < 0.5 && math.Abs(gauges[0]-row.target) < 0.5 && math.Abs(gauges[1]-row.alpha) < 0.6e-6 {
				left[b] = true
			}
		}
		if len(left) == 0 {
			return i
		}
		alive = left
	}
	return len(rows)
}

func peerPreset(t *testing.T, name string, change Values) *dcqcnPeer {
	t.Helper()
	p, err := DCQCNPreset(name)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range change {
		p.Values[k] = v
	}
	a, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	return a.(*dcqcnPeer)
}

// bestExplanation returns the largest result of explain over the instants of the first echo, in steps of one microsecond, up
// to the first change of rate.
func bestExplanation(t *testing.T, preset string, change Values, rows []traceRow) int {
	t.Helper()
	d := peerPreset(t, preset, change)
	moved := 0
	for rows[moved].rate == 100e9 {
		moved++
	}
	best := 0
	last := rows[moved].at - d.cut
	for first := max(last-10*quantity.Microsecond, 0) + quantity.Microsecond/2; first < last; first += quantity.Microsecond {
		best = max(best, explain(d, rows, first))
	}
	return best
}

func TestTracesOfDifferentMachinesDiffer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]Values{
		"another gain":               {"g": 1.0 / 128},
		"target lowered by each cut": {"clamp_target": 1},
		"another stage count":        {"fast_recovery_stages": 2},
		"another additive step":      {"r_ai": 21e6},
		"another hyper step":         {"r_hai": 190e6},
		"another increase timer":     {"increase_timer": float64(56 * quantity.Microsecond)},
		"another cut timer":          {"cut_timer": float64(49 * quantity.Microsecond)},
	} {
		rows := readTrace(t, "peer-paper-timers", "0")
		if got := bestExplanation(t, "peer-paper-timers", change, rows); got == len(rows) {
			t.Errorf("%s also explains the trace", name)
		}
	}
}

func TestThePeersMachineExplainsEveryRowOfThePeersTraces(t *testing.T) {
	t.Parallel()
	for _, preset := range []string{"peer-vendor-timers", "peer-paper-timers"} {
		for _, flow := range []string{"0", "1"} {
			rows := readTrace(t, preset, flow)
			if got := bestExplanation(t, preset, nil, rows); got != len(rows) {
				t.Errorf("%s, flow %s: the rows before %s (%d in total) are explained, the next is not: %+v", preset, flow, rows[max(got-1, 0)].at, len(rows), rows[min(got, len(rows)-1)])
			}
		}
	}
}
