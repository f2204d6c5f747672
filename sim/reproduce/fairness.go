package reproduce

import (
	"context"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/fabric"
)

// fairnessSecond stands for one second of S1's experiment E1: the fabric settles within
// milliseconds, so shorter phases show the same plateaus.
const fairnessSecond = 200 * ms

// fairnessWindow is the granularity at which jitter is measured, S1's 100 ms by fairnessSecond.
const fairnessWindow = fairnessSecond / 10

// fairnessRun is E1 from the start of the fourth flow until the second ends.
type fairnessRun struct {
	all    [4]pace   // A, B, D, E from 3 s to 5 s
	three  [4]pace   // from 5 s to 6 s, when A has ended
	jitter float64   // relative deviation of a flow's rate over windows, root mean square
	sums   []float64 // link use of each window
}

// planFairness repeats E1 without and with congestion control, the latter for both timers.
func planFairness(seed uint64) ([]job, func() []Row) {
	runs := make([]fairnessRun, 3)
	cc := []*variant{nil, {}, {}}
	*cc[1], *cc[2] = base(seed, false), base(seed, true)
	var jobs []job
	for i := range runs {
		jobs = append(jobs, func(ctx context.Context) (err error) {
			runs[i], err = runFairness(ctx, seed, cc[i])
			return err
		})
	}
	return jobs, func() []Row {
		rows := runs[0].rows("off", 1)
		for i, v := range cc[1:] {
			rows = append(rows, runs[i+1].rows("on."+v.timerForm(), 2)...)
		}
		return rows
	}
}

// runFairness runs E1; v nil leaves congestion control off.
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
	for i, src := range []string{"A", "B", "D", "E"} {
		start := quantity.Picoseconds(i) * fairnessSecond
		id, err := b.flow(src, "C", start, start+5*fairnessSecond)
		if err != nil {
			return r, err
		}
		ids = append(ids, id)
	}
	const settle = fairnessSecond / 5
	if err := b.runTo(ctx, 3*fairnessSecond+settle); err != nil {
		return r, err
	}
	if err := r.windows(ctx, b, ids, 5*fairnessSecond); err != nil {
		return r, err
	}
	three, err := b.measure(ctx, ids, 5*fairnessSecond+settle, 6*fairnessSecond)
	if err != nil {
		return r, err
	}
	copy(r.three[:], three)
	return r, nil
}

// windows measures from now to end, whole and by windows.
func (r *fairnessRun) windows(ctx context.Context, b *testbed, ids []fabric.FlowID, end quantity.Picoseconds) error {
	var rates [4][]float64
	for b.Now() < end {
		w, err := b.measure(ctx, ids, b.Now(), b.Now()+fairnessWindow)
		if err != nil {
			return err
		}
		sum := 0.0
		for i, p := range w {
			rates[i] = append(rates[i], p.payload)
			r.all[i].payload += p.payload
			sum += p.wire
		}
		r.sums = append(r.sums, sum/float64(linkRate))
	}
	squares := 0.0
	for i := range rates {
		n := float64(len(rates[i]))
		r.all[i].payload /= n
		for _, x := range rates[i] {
			d := x/r.all[i].payload - 1
			squares += d * d / n
		}
	}
	r.jitter = math.Sqrt(squares / 4)
	return nil
}

// rows reports a run. far is what A and B together get by one of D and E: 1 in a parking lot, 2 when
// all four are equal.
func (r *fairnessRun) rows(label string, far float64) []Row {
	a, bb, d, e := r.all[0].payload, r.all[1].payload, r.all[2].payload, r.all[3].payload
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
	use := 0.0
	for _, s := range r.sums {
		use += s / float64(len(r.sums))
	}
	return append(rows,
		published("jain-3flows."+label, 1, jainOf(r.three[1].payload, r.three[2].payload, r.three[3].payload), "",
			"after A has ended; with congestion control off S1 sees fair sharing only then"),
		own("jitter."+label, r.jitter, "", fmt.Sprintf("relative deviation of a flow's rate over windows of %s; S1: small", fairnessWindow)),
		own("link-use."+label, use, "", "of the last link"))
}

// jainOf is Jain's fairness index of the values.
func jainOf(v ...float64) float64 { return stats.Jain(v) }
