package reproduce

import (
	"context"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// S4 shows target and current rate over time for both settings of CLAMP_TARGET_RATE, but not the traffic. Here a single
// sender gets notifications by a schedule of bursts. The notifications of a burst are farther apart than a monitor period, so
// that each causes a cut, and closer than the period of the increase timer, so that no increase occurs between them.
const (
	clampLine     = 100 * quantity.Gbps
	clampSpan     = 10 * quantity.Millisecond
	clampStep     = quantity.Microsecond
	clampGap      = 100 * quantity.Microsecond
	clampPerBurst = 6
)

// clampBursts returns the starts of the bursts.
func clampBursts() []quantity.Picoseconds { return []quantity.Picoseconds{1 * ms, 4 * ms, 7 * ms} }

// cut is the effect of one cut on the rates, bit/s.
type cut struct {
	burst          int
	before, target float64 // R_C before the cut, R_T after it
	kept           bool    // R_T did not change
}

// clampRun holds the results of one sender.
type clampRun struct {
	rate, target []Point // ms, Gbit/s
	cuts         []cut
	mean         float64                          // mean rate, bit/s
	least        float64                          // minimum rate, bit/s
	levels       []int                            // number of different targets within each burst
	recovery     map[float64]quantity.Picoseconds // time from the end of the first burst to a fraction of line rate
}

// runClamp runs one sender through the schedule. It always sends at its allowed rate.
func runClamp(clamp bool) (*clampRun, error) {
	v := cc.Values{}
	if clamp {
		v["clamp_tgt_rate"] = 1
	}
	alg, err := mlx(v)
	if err != nil {
		return nil, err
	}
	alg.Reserve(1)
	c := alg.Start(0, 0, &cc.Flow{LineRate: clampLine, BaseRTT: 4 * quantity.Microsecond, Payload: 1000, Wire: 1048})
	r := &clampRun{least: float64(clampLine), levels: make([]int, len(clampBursts())), recovery: map[float64]quantity.Picoseconds{}}
	gauges := make([]float64, len(alg.Gauges()))
	steps, due := int(clampSpan/clampStep), clampNotices()
	was, target := c.Rate, c.Rate
	last := clampBursts()[0] + (clampPerBurst-1)*clampGap
	for i := 1; i <= steps; i++ {
		now := quantity.Picoseconds(i) * clampStep
		alg.Settle(0, now, &c)
		alg.Read(0, gauges)
		r.watchCut(now, was, target, c.Rate, gauges[0])
		if due[now] {
			alg.Notify(0, &cc.Notification{Now: now, Kind: cc.NotifyCNP}, &c)
		}
		alg.Sent(0, now, int(c.Rate*clampStep.Seconds()/8), &c)
		alg.Read(0, gauges)
		was, target = c.Rate, gauges[0]
		r.mean += c.Rate / float64(steps)
		r.least = min(r.least, c.Rate)
		r.rate, r.target = noteChange(r.rate, now, c.Rate, i == steps), noteChange(r.target, now, gauges[0], i == steps)
		for _, part := range []float64{0.5, 0.9} {
			if _, there := r.recovery[part]; !there && now > last && c.Rate >= part*float64(clampLine) {
				r.recovery[part] = now - last
			}
		}
	}
	return r, nil
}

// noteChange appends a rate if it differs from the last one, or if end is set.
func noteChange(course []Point, now quantity.Picoseconds, rate float64, end bool) []Point {
	if n := len(course); n > 0 && course[n-1].Y == gbit(rate) && !end {
		return course
	}
	return append(course, Point{now.Seconds() * 1e3, gbit(rate)})
}

// clampNotices returns the times of all notifications.
func clampNotices() map[quantity.Picoseconds]bool {
	out := map[quantity.Picoseconds]bool{}
	for _, start := range clampBursts() {
		for k := range quantity.Picoseconds(clampPerBurst) {
			out[start+k*clampGap] = true
		}
	}
	return out
}

// watchCut records a drop of the rate and its effect on the target.
func (r *clampRun) watchCut(now quantity.Picoseconds, rateWas, targetWas, rate, target float64) {
	if rate >= rateWas {
		return
	}
	c := cut{before: rateWas, target: target, kept: target == targetWas}
	for i, start := range clampBursts() {
		if now >= start {
			c.burst = i
		}
	}
	if n := len(r.cuts); n == 0 || r.cuts[n-1].burst != c.burst || r.cuts[n-1].target != target {
		r.levels[c.burst]++
	}
	r.cuts = append(r.cuts, c)
}

// part returns the fraction of the cuts, without the first skip cuts of each burst, that satisfy a condition.
func (r *clampRun) part(skip int, holds func(cut) bool) float64 {
	all, good, in := 0.0, 0.0, 0
	for i, c := range r.cuts {
		if i == 0 || r.cuts[i-1].burst != c.burst {
			in = 0
		}
		if in++; in <= skip {
			continue
		}
		all++
		if holds(c) {
			good++
		}
	}
	if all == 0 {
		return 0
	}
	return good / all
}

// planClamp runs both settings of CLAMP_TARGET_RATE.
func planClamp(Options) ([]job, func() Result) {
	var runs [2]*clampRun
	run := func(context.Context) (err error) {
		for i := range runs {
			if runs[i], err = runClamp(i == 1); err != nil {
				return err
			}
		}
		return nil
	}
	return []job{run}, func() Result { return clampResult(runs) }
}

func clampResult(runs [2]*clampRun) Result {
	precut := func(c cut) bool { return c.target == c.before }
	kept := func(c cut) bool { return c.kept }
	rows := []Row{
		published("target-is-rate-before-cut.clamp1", 1, runs[1].part(0, precut), "", fmt.Sprintf("part of all %d cuts; S4: every notification updates the target", len(runs[1].cuts))),
		published("target-kept-by-later-cuts.clamp0", 1, runs[0].part(1, kept), "", "part of the cuts after the first of each burst; S4: the target falls with the first only"),
		published("target-kept-by-later-cuts.clamp1", 0, runs[1].part(1, kept), "", "the same; S4: the target falls in steps"),
	}
	for i := range clampBursts() {
		at := fmt.Sprintf("target-levels-burst%d", i+1)
		rows = append(rows, published(at+".clamp0", 1, float64(runs[0].levels[i]), "", "different targets in a burst; S4: stable after the first"),
			unpublished(at+".clamp1", float64(runs[1].levels[i]), "", "different targets in a burst; S4: several steps"))
	}
	for i, r := range runs {
		clamp := fmt.Sprintf(".clamp%d", i)
		rows = append(rows,
			unpublished("recovery-half"+clamp, microseconds(r.recovery[0.5]), "us", "from the end of the first burst until half of line rate; 0: not within the run"),
			unpublished("recovery-nine-tenths"+clamp, microseconds(r.recovery[0.9]), "us", "until nine tenths; 0: not within the run"),
			unpublished("mean-rate"+clamp, gbit(r.mean), "Gbit/s", fmt.Sprintf("over %s with %d bursts", clampSpan, len(clampBursts()))),
			unpublished("least-rate"+clamp, gbit(r.least), "Gbit/s", "at the end of a burst"))
	}
	rows = append(rows, unpublished("mean-rate-0-over-1", runs[0].mean/runs[1].mean, "", "S4: with 0 recovery is smoother, with 1 congestion is relieved faster"))
	return Result{Rows: rows, Figures: clampFigures(runs)}
}

func clampFigures(runs [2]*clampRun) []Figure {
	var out []Figure
	time, rate := Axis{Label: "time", Unit: "ms"}, Axis{Label: "rate", Unit: "Gbit/s"}
	for i, r := range runs {
		out = append(out, Figure{
			Name: fmt.Sprintf("s4-clamp.%d", i), Title: fmt.Sprintf("S4: CLAMP_TARGET_RATE %d, three bursts of notifications", i), X: time, Y: rate,
			Series: []Series{{Name: "target rate", Points: r.target, Steps: true}, {Name: "current rate", Points: r.rate, Steps: true}},
		})
	}
	both := Figure{Name: "s4-clamp", Title: "S4: CLAMP_TARGET_RATE 0 and 1, three bursts of notifications", X: time, Y: rate}
	for i, r := range runs {
		group := fmt.Sprint(i)
		both.Series = append(both.Series,
			Series{Name: fmt.Sprintf("clamp %d: target", i), Group: group, Points: r.target, Steps: true, Dashed: true},
			Series{Name: fmt.Sprintf("clamp %d: current", i), Group: group, Points: r.rate, Steps: true})
	}
	return append(out, both)
}
