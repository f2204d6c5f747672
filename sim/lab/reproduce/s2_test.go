package reproduce

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
)

func rowOf(t *testing.T, rows []Row, name string) Row {
	t.Helper()
	r, ok := metric(rows, name)
	if !ok {
		t.Fatalf("no row %s", name)
	}
	return r
}

// S2's printed values of figure 4 for DCQCN-p are reproduced, except the count after cut, raise, cut. That count needs three
// raises where the count of DCQCN needs one.
func TestFigure4OfS2(t *testing.T) {
	t.Parallel()
	r, err := Repeat(t.Context(), Options{}, "s2-recovery")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"rc-send3.dcqcn-p", "rc-send4.dcqcn-p", "rc-send5.dcqcn-p", "rc-send9.dcqcn-p", "rt-send9.dcqcn-p", "full-rate-at-send.dcqcn-p",
		"sends-2cuts.dcqcn-p", "sends-3cuts.dcqcn-p", "sends-cut-3raises-cut.dcqcn-p",
	} {
		if row := rowOf(t, r.Rows, name); row.Published == nil || row.Ours != *row.Published {
			t.Errorf("%s: %v, published %v", name, row.Ours, row.Published)
		}
	}
	if row := rowOf(t, r.Rows, "sends-cut-raise-cut.dcqcn-p"); row.Ours != 8 {
		t.Errorf("after cut, raise, cut: %v sends, want 8 by S2's own rules", row.Ours)
	}
	from, to := rowOf(t, r.Rows, "ai-fits-from.dcqcn").Ours, rowOf(t, r.Rows, "ai-fits-to.dcqcn").Ours
	if !(from <= fittingAI && fittingAI <= to) {
		t.Errorf("an R_AI from %v to %v fits, but the charts use %v", from, to, fittingAI)
	}
}

// The search tests R_AI in steps of a thousandth. Values between these steps within the range fit, too.
func TestEveryIncreaseInTheRangeFits(t *testing.T) {
	t.Parallel()
	want := map[string]float64{"2cuts": 11, "3cuts": 13, "cut-raise-cut": 9}
	low, high := fittingIncreases(want)
	rapid.Check(t, func(t *rapid.T) {
		p := cc.S2RecoveryDCQCN(rapid.Float64Range(low, high).Draw(t, "ai"))
		for _, pt := range patterns() {
			if w, ok := want[pt.name]; ok && float64(sendsToRecover(p, pt.marks)) != w {
				t.Errorf("%s: %d sends, want %v", pt.name, sendsToRecover(p, pt.marks), w)
			}
		}
	})
}

func TestMarksOfFigure4AreOneTenth(t *testing.T) {
	t.Parallel()
	marks := recoveryMarks()
	if len(marks) != recoverySends/10 || !slices.IsSorted(marks) || marks[0] != 3 || marks[len(marks)-1] >= recoverySends-8 {
		t.Errorf("marks %v: want ten in order from 3, the last early enough for a recovery", marks)
	}
}

// S2's amounts are round numbers of bytes, printed in MiB with two decimals. Their sum is S2's 972.89.
func TestAmountsOfTable4(t *testing.T) {
	t.Parallel()
	sum := int64(0)
	for _, b := range s2Bytes() {
		sum += b
	}
	if len(s2Bytes()) != s2Senders {
		t.Errorf("%d senders, want %d", len(s2Bytes()), s2Senders)
	}
	closeTo(t, "MiB", float64(sum)/mib, 972.89, 2e-4)
}

// The largest round trip time and bandwidth-delay product over all pairs of hosts equal the values printed in S2. They follow
// the rule of the HPCC paper's simulator: on each link of one direction the serialization time of a packet's payload in whole
// nanoseconds, and the delays of both directions.
func TestTopologyOfTable4HasTheRoundTripsOfS2(t *testing.T) {
	t.Parallel()
	for _, receiver := range []quantity.BitRate{25 * quantity.Gbps, 100 * quantity.Gbps} {
		f, err := s2Topology(receiver)
		if err != nil {
			t.Fatal(err)
		}
		rtt, product := int64(0), int64(0)
		for _, a := range f.Hosts() {
			for _, b := range f.Hosts() {
				if a == b {
					continue
				}
				la, _ := f.Link(subnet.PortRef{Node: a, Port: 1})
				lb, _ := f.Link(subnet.PortRef{Node: b, Port: 1})
				ns := 2 * int64((la.Delay+lb.Delay)/quantity.Nanosecond)
				for _, l := range []*subnet.Link{la, lb} {
					ns += 1024 * 8 * 1e9 / int64(l.Rate)
				}
				rtt, product = max(rtt, ns), max(product, ns*int64(min(la.Rate, lb.Rate))/8/1e9)
			}
		}
		if rtt != 4654 || product != 52025 {
			t.Errorf("receiver at %s: round trip %d ns, product %d bytes, want 4654 and 52025", receiver, rtt, product)
		}
	}
}

func TestCasesOfTable4(t *testing.T) {
	t.Parallel()
	for _, flows := range []int{s2Senders, s2Flows} {
		for _, c := range s2Cases(25*quantity.Gbps, flows) {
			if _, err := c.algorithm(); err != nil {
				t.Errorf("%s: %v", c.label, err)
			}
			if _, ok := publishedTable4()[c.label]; !ok {
				t.Errorf("%s: no published figures", c.label)
			}
		}
	}
	if s2Limited != 6 {
		t.Errorf("a NIC with 50 of 4000 flows registers %v, want 6 of 512", float64(s2Limited))
	}
}

// A short incast delivers every byte, and the same seed gives the same result. The two readings of a rate are consistent with
// each other.
func TestShortIncastOfTable4(t *testing.T) {
	t.Parallel()
	for _, c := range s2Cases(25*quantity.Gbps, s2Senders) {
		c.divide = 50
		r, err := c.run(t.Context(), 1)
		if err != nil {
			t.Fatalf("%s: %v", c.label, err)
		}
		f := r.figures()
		if f.meanLink <= 5 || f.meanLink > 25 || f.minFlow <= 0 || f.minFlow > f.meanFlow || f.minLink > f.meanLink || f.drained <= 0 || f.drained > f.last {
			t.Errorf("%s: %+v", c.label, f)
		}
		again, err := c.run(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f, again.figures(), cmp.AllowUnexported(s2Figures{})); d != "" {
			t.Errorf("%s: the same seed gave different figures:\n%s", c.label, d)
		}
	}
}

// Table 4 is plausible only if throughput means that of the receiver's link. With this meaning, our values for DCTCP and
// DCQCN-p are within a tenth of those that S2 prints.
func TestThroughputOfTable4(t *testing.T) {
	t.Parallel()
	for _, c := range s2Cases(25*quantity.Gbps, s2Senders)[2:] {
		r, err := c.run(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		closeTo(t, c.label, r.figures().meanLink, publishedTable4()[c.label].mean, 0.1)
	}
}

func TestDefinitionsOfTable4ByHand(t *testing.T) {
	t.Parallel()
	r := &s2Run{
		bytes: []float64{1e6, 3e6}, fct: []float64{1e-3, 2e-3}, early: []float64{2, 6},
		windows: []float64{1e9, 20e9, 5e9, 16e9}, drained: 7 * us, fitted: 9 * us,
	}
	for len(r.windows) < 20 {
		r.windows = append(r.windows, 16e9)
	}
	r.windows = append(r.windows, 0) // a window after the end
	got := r.figures()
	want := s2Figures{
		minLink: 5, minFlow: 8, meanLink: 16, meanFlow: 10, drained: 7, fitted: 9, last: 2000, cv: 0.2, cvEarly: 0.5,
	}
	for _, x := range [][2]float64{
		{got.minLink, want.minLink}, {got.minFlow, want.minFlow}, {got.meanLink, want.meanLink}, {got.meanFlow, want.meanFlow},
		{got.drained, want.drained}, {got.fitted, want.fitted}, {got.last, want.last}, {got.cv, want.cv}, {got.cvEarly, want.cvEarly},
	} {
		if math.Abs(x[0]-x[1]) > 1e-9*math.Abs(x[1]) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
	closeTo(t, "averaged", averaged([]float64{1e9, 3e9, 5e9}, us, 2*us)[0].Y, 2, 1e-12)
	closeTo(t, "the rest", averaged([]float64{1e9, 3e9, 5e9}, us, 2*us)[1].Y, 5, 1e-12)
}

// With a limit, a NIC has state for at most that number of flows: here 50 flows send, and the limit is 6.
func TestTheLimitOfTable4Bites(t *testing.T) {
	t.Parallel()
	all := s2Cases(25*quantity.Gbps, s2Flows)
	free, limited := all[3], all[4]
	var got [2]s2Figures
	for i, c := range []s2Case{free, limited} {
		c.divide = 20
		r, err := c.run(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = r.figures()
	}
	if got[0] == got[1] {
		t.Error("512 and 6 registered flows give the same figures")
	}
}
