package reproduce

import (
	"context"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/fabric"
)

// fairnessSecond represents one second of S1's experiment E1: the fabric settles within milliseconds, so shorter phases show
// the same plateaus.
const fairnessSecond = 200 * ms

// fairnessWindow is the window in which jitter is measured: S1's 100 ms, scaled by fairnessSecond.
const fairnessWindow = fairnessSecond / 10

// fairnessEnd is when the last of the four flows ends.
const fairnessEnd = 8 * fairnessSecond

// fairnessRun holds the results of E1. Counting of a plateau starts a fifth of a second after its beginning.
type fairnessRun struct {
	series [4][]float64 // payload of A, B, D, E in each window, bit/s
	wire   []float64    // utilization of the last link in each window
	all    [4]float64   // payload rate of each flow from 3 s to 5 s, bit/s
	three  [4]float64   // payload rate of each flow from 5 s to 6 s, after the end of A
	jitter float64      // relative deviation of a flow's rate over windows from 3 s to 5 s, root mean square
}

// fairnessSources returns the senders in the order in which they start.
func fairnessSources() []string { return []string{"A", "B", "D", "E"} }

// planFairness repeats E1 without congestion control, and with congestion control in every reading of S1.
func planFairness(o Options) ([]job, func() Result) {
	cc := []*variant{nil}
	labels, titles := []string{"off"}, []string{"no congestion control"}
	for _, v := range append(readingsOfS1(o.Seed), useReadingsOfS1(o.Seed)...) {
		cc = append(cc, &v)
		labels, titles = append(labels, "on."+v.label()), append(titles, "timer "+v.legend())
	}
	runs := make([]fairnessRun, len(cc))
	var jobs []job
	for i := range runs {
		jobs = append(jobs, func(ctx context.Context) (err error) {
			runs[i], err = runFairness(ctx, o.Seed, cc[i])
			return err
		})
	}
	return jobs, func() Result {
		var out Result
		for i := range runs {
			far := 2.0
			if cc[i] == nil {
				far = 1
			}
			out.Rows = append(out.Rows, runs[i].rows(labels[i], far)...)
			out.Figures = append(out.Figures, runs[i].figure(labels[i], titles[i]))
		}
		return out
	}
}

// runFairness runs E1; v nil disables congestion control.
func runFairness(ctx context.Context, seed uint64, v *variant) (r fairnessRun, err error) {
	cfg := fabric.Config{Seed: seed}
	if v != nil {
		cfg = v.config()
	}
	b, err := newTestbed(cfg)
	if err != nil {
		return r, err
	}
	if v != nil {
		if err := b.congestionControl(*v, 1); err != nil {
			return r, err
		}
	}
	var ids []fabric.FlowID
	for i, src := range fairnessSources() {
		start := quantity.Picoseconds(i) * fairnessSecond
		id, err := b.flow(src, "C", start, start+5*fairnessSecond)
		if err != nil {
			return r, err
		}
		ids = append(ids, id)
	}
	for b.Now() < fairnessEnd {
		w, err := b.measure(ctx, ids, b.Now(), b.Now()+fairnessWindow)
		if err != nil {
			return r, err
		}
		sum := 0.0
		for i, p := range w {
			r.series[i] = append(r.series[i], p.payload)
			sum += p.wire
		}
		r.wire = append(r.wire, sum/float64(linkRate))
	}
	r.summarize()
	return r, nil
}

// plateau returns the windows from one second, after a settling time, to another.
func plateau(windows []float64, from, to int) []float64 {
	const perSecond = int(fairnessSecond / fairnessWindow)
	return windows[from*perSecond+perSecond/5 : to*perSecond]
}

// summarize computes the plateaus and the jitter from the windows.
func (r *fairnessRun) summarize() {
	squares := 0.0
	for i, s := range r.series {
		flat := plateau(s, 3, 5)
		r.all[i], r.three[i] = meanOf(flat), meanOf(plateau(s, 5, 6))
		for _, x := range flat {
			d := x/r.all[i] - 1
			squares += d * d / float64(len(flat))
		}
	}
	r.jitter = math.Sqrt(squares / float64(len(r.series)))
}

// figure returns the throughput over time, in S1's seconds.
func (r *fairnessRun) figure(label, title string) Figure {
	f := Figure{Name: "s1-fairness." + label, Title: "S1, E1: four flows onto C, " + title,
		X: Axis{Label: "time", Unit: "s of the paper"}, Y: Axis{Label: "payload", Unit: "Gbit/s"}}
	for i, src := range fairnessSources() {
		s := Series{Name: src + "->C", Steps: true}
		for k, x := range r.series[i] {
			s.Points = append(s.Points, Point{float64(k) / 10, gbit(x)})
		}
		s.Points = append(s.Points, Point{float64(len(r.series[i])) / 10, 0})
		f.Series = append(f.Series, s)
	}
	return f
}

// rows reports a run. far is the expected total rate of A and B relative to the rate of D or E: 1 in a parking lot, 2 with
// four equal shares.
func (r *fairnessRun) rows(label string, far float64) []Row {
	a, bb, d, e := r.all[0], r.all[1], r.all[2], r.all[3]
	jain := jainOf(a, bb, d, e)
	rows := []Row{
		published("a+b-over-d."+label, far, (a+bb)/d, "", "four flows onto C"),
		published("a+b-over-e."+label, far, (a+bb)/e, "", "four flows onto C"),
	}
	if far == 1 {
		// 1/6, 1/6, 1/3, 1/3 of the link have a Jain index of 0.9.
		rows = append(rows, published("jain-4flows."+label, 0.9, jain, "", "published figure from the printed equality A+B = D = E"))
	} else {
		rows = append(rows, published("jain-4flows."+label, 1, jain, "", "all equal"))
	}
	use := meanOf(plateau(r.wire, 3, 5))
	return append(rows,
		published("jain-3flows."+label, 1, jainOf(r.three[1], r.three[2], r.three[3]), "",
			"after A has ended; with congestion control off S1 sees fair sharing only then"),
		unpublished("jitter."+label, r.jitter, "", fmt.Sprintf("relative deviation of a flow's rate over windows of %s; S1: small", fairnessWindow)),
		unpublished("link-use."+label, use, "", "of the last link"))
}

// jainOf returns Jain's fairness index of the values.
func jainOf(v ...float64) float64 { return stats.Jain(v) }
