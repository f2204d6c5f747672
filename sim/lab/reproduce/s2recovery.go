package reproduce

import (
	"context"
	"fmt"
	"slices"

	"fairlane/sim/cc"
)

// recoverySends is the number of send opportunities of one queue pair in S2's figure 4.
const recoverySends = 100

// pattern is one pattern of marked send opportunities in figure 4, counted from 1.
type pattern struct {
	name  string
	marks []int
}

// patterns returns the patterns of figure 4: one cut, two and three consecutive cuts, and a cut after raises. S2 does not
// print the number of raises. S2 prints the first pattern, with a mark at send 3; the others here also start at send 3.
func patterns() []pattern {
	return []pattern{
		{"1cut", []int{3}},
		{"2cuts", []int{3, 4}},
		{"3cuts", []int{3, 4, 5}},
		{"cut-raise-cut", []int{3, 5}},
		{"cut-3raises-cut", []int{3, 7}},
	}
}

// recoveryMarks concatenates the patterns, with ten marks in a hundred sends: S2's probability of 0.1. The positions are our
// choice.
func recoveryMarks() []int { return []int{3, 16, 17, 33, 34, 35, 53, 55, 71, 86} }

// s2AI is a reading of DCQCN's additive increase in figure 4, as a fraction of line rate.
type s2AI struct {
	label string
	share float64
	note  string
}

// s2Increases returns the possible readings of the value printed in S2. Table 3 has R_AI 40 Gbit/s and R_C 40 Gbit/s.
func s2Increases() []s2AI {
	return []s2AI{
		{"ai0.2", 0.2, "R_AI 0.2 of line rate, as DCQCN-p's"},
		{"ai1", 1, "R_AI 40 of R_C 40 Gbit/s, table 3 to the letter"},
		{"ai0.001", 0.001, "R_AI 40 Mbit/s, as DCQCN's paper has it, of 40 Gbit/s"},
	}
}

// fittingAI is the R_AI for DCQCN that reproduces most of S2's counts (see the rows ai-fits). Charts show it in addition to
// the readings, but it is not one of them.
const fittingAI = 0.11

// recoveryLimit limits the number of sends of a recovery, which is large with an additive increase of 0.001.
const recoveryLimit = 5000

// recoveryTrace returns the states after each of n sends.
func recoveryTrace(p cc.RPParams, marks []int, n int) []cc.RPState {
	s := cc.NewRPState(&p, 1)
	out := make([]cc.RPState, n)
	for i := range out {
		s.Step(&p, 1, slices.Contains(marks, i+1))
		out[i] = s
	}
	return out
}

// sendsToRecover returns the number of sends after the last mark until R_C is 1 again, at most recoveryLimit.
func sendsToRecover(p cc.RPParams, marks []int) int {
	last := slices.Max(marks)
	for i, s := range recoveryTrace(p, marks, last+recoveryLimit)[last:] {
		if s.Rate >= 1 {
			return i + 1
		}
	}
	return recoveryLimit
}

// planRecovery repeats figure 4, which needs no network: each send is one step of cc.RPState.
func planRecovery(Options) ([]job, func() Result) {
	var out Result
	run := func(context.Context) error {
		out.Rows = slices.Concat(recoveryPoints(), recoveryCounts(), recoverySummary())
		out.Figures = recoveryFigures()
		return nil
	}
	return []job{run}, func() Result { return out }
}

// figure4Points returns the printed points of DCQCN-p's R_C.
func figure4Points() []Point { return []Point{{3, 0.5}, {4, 0.75}, {5, 0.875}, {9, 1}} }

// recoveryPoints compares R_C with the printed points of figure 4.
func recoveryPoints() []Row {
	var rows []Row
	p, d := recoveryTrace(cc.S2RecoveryDCQCNP(), []int{3}, recoverySends), recoveryTrace(cc.S2RecoveryDCQCN(0.2), []int{3}, recoverySends)
	for _, at := range figure4Points() {
		rows = append(rows, published(fmt.Sprintf("rc-send%g.dcqcn-p", at.X), at.Y, p[int(at.X)-1].Rate, "", "R_C, share of line rate, after a cut at send 3"))
	}
	rows = append(rows, published("rt-send9.dcqcn-p", 0, p[8].Target, "", "a flow that has recovered forgets its state: S2 sets R_T to 0"))
	for _, at := range figure4Points()[:3] {
		rows = append(rows, unpublished(fmt.Sprintf("rc-send%g.dcqcn", at.X), d[int(at.X)-1].Rate, "", "the first cut and fast recovery are the same in DCQCN"))
	}
	first := slices.IndexFunc(p[2:], func(s cc.RPState) bool { return s.Rate >= 1 }) + 3
	return append(rows, published("full-rate-at-send.dcqcn-p", 9, float64(first), "sends", "after a cut at send 3"))
}

// recoveryCounts compares the sends until full rate by pattern. S2 prints ranges for two and three consecutive cuts; we use the
// lower end for two and the upper end for three.
func recoveryCounts() []Row {
	const note = "sends after the last cut until full rate"
	p := cc.S2RecoveryDCQCNP()
	want := map[string]float64{"2cuts": 9, "3cuts": 10, "cut-raise-cut": 6, "cut-3raises-cut": 6}
	var rows []Row
	count := func(metric string, figures map[string]float64, pt pattern, n int, note string) {
		if figure, ok := figures[pt.name]; ok {
			rows = append(rows, published(metric, figure, float64(n), "sends", note))
		} else {
			rows = append(rows, unpublished(metric, float64(n), "sends", note))
		}
	}
	for _, pt := range patterns() {
		count("sends-"+pt.name+".dcqcn-p", want, pt, sendsToRecover(p, pt.marks), note)
	}
	want = map[string]float64{"2cuts": 11, "3cuts": 13, "cut-raise-cut": 9, "cut-3raises-cut": 9}
	for _, ai := range s2Increases() {
		for _, pt := range patterns() {
			count("sends-"+pt.name+".dcqcn-"+ai.label, want, pt, sendsToRecover(cc.S2RecoveryDCQCN(ai.share), pt.marks), note+"; "+ai.note)
		}
	}
	delete(want, "cut-3raises-cut") // with any R_AI above 0.1 DCQCN takes 7 sends or fewer
	low, high := fittingIncreases(want)
	return append(rows,
		unpublished("ai-fits-from.dcqcn", low, "", "least R_AI, in thousandths of line rate tried one by one, that gives all three published counts of DCQCN; S2 prints none; 0: there is none"),
		unpublished("ai-fits-to.dcqcn", high, "", "the largest such R_AI"))
}

// fittingIncreases returns the range of R_AI, in steps of a thousandth of line rate, with which DCQCN recovers in the given
// number of sends for every pattern.
func fittingIncreases(want map[string]float64) (low, high float64) {
	for i := range 1000 {
		ai := float64(i+1) / 1000
		fits := true
		for _, pt := range patterns() {
			if w, ok := want[pt.name]; ok && fits {
				fits = float64(sendsToRecover(cc.S2RecoveryDCQCN(ai), pt.marks)) == w
			}
		}
		if !fits {
			continue
		}
		if low == 0 {
			low = ai
		}
		high = ai
	}
	return low, high
}

// recoverySummary compares both algorithms over the hundred sends of the figure. S2 says that DCQCN needs two hundred sends where
// DCQCN-p needs one hundred, and that DCQCN-p recovers 50 % faster.
func recoverySummary() []Row {
	mean := func(p cc.RPParams) float64 {
		sum := 0.0
		for _, s := range recoveryTrace(p, recoveryMarks(), recoverySends) {
			sum += s.Rate
		}
		return sum / recoverySends
	}
	p := cc.S2RecoveryDCQCNP()
	rows := []Row{unpublished("mean-rate.dcqcn-p", mean(p), "", "mean R_C over 100 sends with 10 marks")}
	for _, ai := range s2Increases() {
		rows = append(rows, unpublished("mean-rate.dcqcn-"+ai.label, mean(cc.S2RecoveryDCQCN(ai.share)), "", "mean R_C over 100 sends with 10 marks; "+ai.note))
	}
	rows = append(rows, unpublished("mean-rate.dcqcn-ai0.11", mean(cc.S2RecoveryDCQCN(fittingAI)), "", "mean R_C over 100 sends with 10 marks; with an R_AI from the range that fits"))
	crc := patterns()[3].marks
	for _, ai := range s2Increases() {
		rows = append(rows, published("recovery-speed.dcqcn-"+ai.label, 1.5, float64(sendsToRecover(cc.S2RecoveryDCQCN(ai.share), crc))/float64(sendsToRecover(p, crc)), "",
			"sends of DCQCN by those of DCQCN-p after cut, raise, cut; S2: half again as fast"))
	}
	return rows
}

// recoveryFigures returns charts of both rates over the sends, and of DCQCN-p's state.
func recoveryFigures() []Figure {
	sends := Axis{Label: "send opportunity"}
	share := Axis{Label: "R_C", Unit: "of line rate"}
	line := func(name, group string, p cc.RPParams, marks []int, n int, value func(cc.RPState) float64) Series {
		s := Series{Name: name, Group: group}
		for i, st := range recoveryTrace(p, marks, n) {
			s.Points = append(s.Points, Point{float64(i + 1), value(st)})
		}
		return s
	}
	rate := func(s cc.RPState) float64 { return s.Rate }
	p, d := cc.S2RecoveryDCQCNP(), cc.S2RecoveryDCQCN(0.2)
	marks := recoveryMarks()
	after := Figure{Name: "s2-recovery.after-cuts", Title: "Recovery by send opportunity after cuts in a row", X: sends, Y: share}
	for i, pt := range patterns()[:3] {
		name := []string{"DCQCN-p, 1 cut", "DCQCN-p, 2 cuts", "DCQCN-p, 3 cuts"}[i]
		after.Series = append(after.Series, line(name, name, p, pt.marks, 20, rate))
	}
	after.Series = append(after.Series,
		line("DCQCN, 3 cuts, R_AI 0.11", "dcqcn", cc.S2RecoveryDCQCN(fittingAI), patterns()[2].marks, 20, rate),
		Series{Name: "1 cut, published", Published: true, Points: figure4Points()})
	return []Figure{
		{Name: "s2-recovery", Title: "S2 figure 4: rate over 100 sends, 10 of them marked", X: sends, Y: share, Series: []Series{
			line("DCQCN, R_AI 0.2", "dcqcn", d, marks, recoverySends, rate),
			line("DCQCN-p", "dcqcn-p", p, marks, recoverySends, rate),
			{Name: "DCQCN-p, published", Published: true, Points: figure4Points()},
			line("DCQCN, R_AI 0.11", "dcqcn11", cc.S2RecoveryDCQCN(fittingAI), marks, recoverySends, rate),
		}},
		after,
		{Name: "s2-recovery.state", Title: "DCQCN-p over the same sends: rates and alpha", X: sends, Y: Axis{Label: "share of line rate; alpha"}, Series: []Series{
			line("R_C", "rc", p, marks, recoverySends, rate),
			line("R_T", "rt", p, marks, recoverySends, func(s cc.RPState) float64 { return s.Target }),
			line("alpha", "alpha", p, marks, recoverySends, func(s cc.RPState) float64 { return s.Alpha }),
		}},
	}
}
