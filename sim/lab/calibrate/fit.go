package calibrate

import (
	"fmt"
	"math"
	"slices"

	"fairlane/ccconfig/profile"
	"fairlane/internal/stats"
)

// Check is one rate of a run that was not part of the fit.
type Check struct {
	Key       string  `json:"key"`
	Ratio     float64 `json:"ratio"`     // largest ratio of per-flow rates in the run
	Below     float64 `json:"below"`     // intended rate of the run's fastest flow divided by that of a flow of the group
	Predicted float64 `json:"predicted"` // predicted fraction of the link, for the group
	Measured  float64 `json:"measured"`
}

// Error returns the relative error of the prediction.
func (c *Check) Error() float64 { return math.Abs(c.Predicted-c.Measured) / c.Measured }

// fitter converts measured runs to a profile.
type fitter struct {
	p      *profile.Profile
	g      grid
	points []point
	got    []*Measured
	checks []Check
}

func (f *fitter) fit() {
	f.decline()
	f.response()
	f.heldOut()
	f.bounds()
	f.effects()
	f.cliffs()
}

// decline computes the exponent of a rate in the period, from runs that differ only in the period.
func (f *fitter) decline() {
	sum, n := 0.0, 0.0
	for i, pt := range f.points {
		if pt.kind == kindDecline {
			a, b := &pt.run.Groups[0].Settings, &pt.run.Groups[1].Settings
			sum += math.Log(f.got[i].Rates[0]/f.got[i].Rates[1]) / math.Log(float64(b.TimeReset)/float64(a.TimeReset))
			n++
		}
	}
	f.p.Lever.Decline = rounded(min(max(sum/n, 0.3), 0.95))
}

// cellGains returns the gains of one condition by position, without position 0, as means over seeds.
func (f *fitter) cellGains() [][]float64 {
	cells := len(f.g.speeds) * len(f.g.flows) * len(f.g.rtts)
	out := make([][]float64, cells)
	for c := range out {
		out[c] = make([]float64, len(f.g.ratios))
	}
	for i, pt := range f.points {
		if pt.kind == kindGrid {
			out[pt.cell][pt.index] += math.Log(f.got[i].Rates[1]/f.got[i].Rates[0]) / float64(f.g.seeds)
		}
	}
	return out
}

// response makes each condition's gains monotone by the pool-adjacent-violators rule.
func (f *fitter) response() {
	r := &f.p.Response
	r.Speeds, r.Flows, r.RTTs = f.g.speeds, f.g.flows, f.g.rtts
	r.Positions, r.Gains = []float64{0}, nil
	for _, x := range f.g.ratios {
		r.Positions = append(r.Positions, rounded(math.Log(x)))
	}
	for _, gains := range f.cellGains() {
		r.Gains = append(r.Gains, 0)
		for _, g := range falling(gains) {
			r.Gains = append(r.Gains, rounded(min(g, 0)))
		}
	}
}

// falling returns the nonincreasing least-squares fit (isotonic regression).
func falling(values []float64) []float64 {
	type block struct{ sum, n float64 }
	var blocks []block
	for _, v := range values {
		blocks = append(blocks, block{v, 1})
		for k := len(blocks) - 1; k > 0 && blocks[k].sum/blocks[k].n > blocks[k-1].sum/blocks[k-1].n; k-- {
			blocks[k-1] = block{blocks[k-1].sum + blocks[k].sum, blocks[k-1].n + blocks[k].n}
			blocks = blocks[:k]
		}
	}
	var out []float64
	for _, b := range blocks {
		out = append(out, slices.Repeat([]float64{b.sum / b.n}, int(b.n))...)
	}
	return out
}

// heldOut predicts the random mixes, which are not part of the fit.
func (f *fitter) heldOut() {
	for i, pt := range f.points {
		if pt.kind != kindMix {
			continue
		}
		predicted, measured := f.parts(&pt, f.got[i])
		top := slices.Max(pt.rates)
		for g := range predicted {
			f.checks = append(f.checks, Check{pt.key, pt.ratio, top / pt.rates[g], predicted[g], measured[g]})
		}
	}
}

// parts returns the predicted and measured fractions of the link, by group.
func (f *fitter) parts(pt *point, m *Measured) (predicted, measured []float64) {
	curve := f.p.Response.Curve(pt.condition())
	top := slices.Max(pt.rates)
	all, total := 0.0, 0.0
	for g, group := range pt.run.Groups {
		n := float64(group.Ports * group.Flows)
		predicted = append(predicted, n*math.Exp(curve.Gain(math.Log(top/pt.rates[g]))))
		measured = append(measured, n*m.Rates[g])
		all, total = all+predicted[g], total+measured[g]
	}
	for g := range predicted {
		predicted[g] /= all
		measured[g] /= total
	}
	return predicted, measured
}

// covered is the percentage of the held-out rates within the bound of their class. minBound is the minimum of a bound, the
// random variation of a run.
const (
	covered  = 95
	minBound = 0.02
)

// bounds computes a quantile of the errors for each class of rates. The class depends on the ratio of the fastest rate of the
// run to the rate. The fastest rates are excluded, because their many small errors would hide the errors of other rates. The
// bound of a class with a larger ratio is at least as large.
func (f *fitter) bounds() {
	f.p.Bounds = nil
	low, bound := 1.0, minBound
	for _, ratio := range f.classes() {
		var errs []float64
		for i := range f.checks {
			if k := &f.checks[i]; k.Below > low && k.Below <= ratio*(1+1e-9) {
				errs = append(errs, k.Error())
			}
		}
		if q, ok := stats.Percentile(errs, covered); ok {
			bound = max(bound, q)
		}
		f.p.Bounds = append(f.p.Bounds, profile.Bound{Ratio: ratio, Error: rounded(bound)})
		low = ratio
	}
}

// classes returns the upper ends of the classes: the ratios of the grid and of the mixes.
func (f *fitter) classes() []float64 {
	out := slices.Clone(f.g.ratios)
	for _, c := range f.g.mixes {
		out = append(out, c.ratio)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// effects returns the effects of single registers.
func (f *fitter) effects() {
	all := effects()
	f.p.Registers = make([]profile.Effect, len(all))
	for i, pt := range f.points {
		if pt.kind != kindEffect {
			continue
		}
		e, c := &f.p.Registers[pt.index], all[pt.index]
		e.Register = c.register
		for _, r := range f.p.Limits().Registers() {
			if r.Name == c.register {
				e.Value, e.Base = r.Value(&pt.run.Groups[0].Settings), r.Value(&pt.run.Groups[1].Settings)
			}
		}
		e.Ratio += f.got[i].Rates[0] / f.got[i].Rates[1] / float64(f.g.seeds)
		e.Use += f.got[i].Use / float64(f.g.seeds)
	}
	for i := range f.p.Registers {
		e := &f.p.Registers[i]
		e.Ratio, e.Use = rounded(e.Ratio), rounded(min(e.Use, 1))
	}
}

// cliffs adds the measurements to the reason of each cliff.
func (f *fitter) cliffs() {
	ratio, use := make([]float64, len(cliffs())), make([]float64, len(cliffs()))
	for i, pt := range f.points {
		if pt.kind == kindCliff {
			ratio[pt.index] += f.got[i].Rates[0] / f.got[i].Rates[1] / float64(f.g.seeds)
			use[pt.index] += f.got[i].Use / float64(f.g.seeds)
		}
	}
	for i, c := range cliffs() {
		for k := range f.p.Cliffs {
			if p := &f.p.Cliffs[k]; p.Register == c.register {
				p.Reason = fmt.Sprintf("%s; at %d, rates meant to be %d apart came out %.3g apart at %.1f %% use (%.3g at %.1f %% without)",
					p.Reason, c.value, cliffRatio, ratio[i], 100*use[i], ratio[0], 100*use[0])
			}
		}
	}
}

// rounded rounds to six decimals, so that the file does not contain numerical noise.
func rounded(x float64) float64 { return math.Round(x*1e6) / 1e6 }
