package lab

import (
	"fmt"
	"math"

	"fairlane/internal/plot"
	"fairlane/sim/lab/calibrate"
)

// calibrationCharts draws the response, the effects of single registers, and the runs held out of the fit.
func calibrationCharts(r *calibrate.Report, source string) map[string]plot.Chart {
	out := map[string]plot.Chart{
		"response": responseChart(r), "registers": registersChart(r), "held-out": heldOutChart(r),
	}
	for name, c := range out {
		c.Subtitle = source
		out[name] = c
	}
	return out
}

// responseChart draws the rate relative to the fastest flow over the intended ratio: a line for each condition.
func responseChart(r *calibrate.Report) plot.Chart {
	p := r.Profile
	c := plot.Chart{
		Title: "Response of " + p.Name + ": rates against the ratio that the registers mean",
		X:     plot.Axis{Label: "ratio meant", Log: true}, Y: plot.Axis{Label: "ratio that came out, by ratio meant", Min: 0.4, Max: 1.4},
	}
	t := &p.Response
	n, rtts := len(t.Positions), len(t.RTTs)
	for first := 0; first < len(t.Gains); first += n * rtts {
		cell := first / n / rtts
		s := plot.Series{Kind: plot.LinePoints, Name: fmt.Sprintf("%s, %d flows", t.Speeds[cell/len(t.Flows)], t.Flows[cell%len(t.Flows)])}
		for i, x := range t.Positions {
			gain := 0.0 // mean over round-trip times, which have the smallest effect
			for k := range rtts {
				gain += t.Gains[first+k*n+i] / float64(rtts)
			}
			s.Points = append(s.Points, plot.Point{X: math.Exp(x), Y: math.Exp(-gain - x)})
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// registersChart draws the effect of one register that is changed on half of the flows.
func registersChart(r *calibrate.Report) plot.Chart {
	c := plot.Chart{Title: "One register changed on half of the flows: their rate by that of the others", Y: plot.Axis{Label: "ratio"}}
	s := plot.Series{Kind: plot.Bars}
	for i, e := range r.Profile.Registers {
		c.Categories = append(c.Categories, fmt.Sprintf("%s %d to %d", e.Register, e.Base, e.Value))
		s.Points = append(s.Points, plot.Point{X: float64(i), Y: e.Ratio})
	}
	c.Series = []plot.Series{s}
	return c
}

// heldOutChart compares predictions with the results of runs that were not used for the fit.
func heldOutChart(r *calibrate.Report) plot.Chart {
	c := plot.Chart{
		Title: "Runs held out of the fit: part of the link of a group",
		X:     plot.Axis{Label: "predicted", Log: true}, Y: plot.Axis{Label: "measured", Log: true},
	}
	least, low := 1.0, 0.0
	for _, b := range r.Profile.Bounds {
		s := plot.Series{Kind: plot.Scatter, Name: fmt.Sprintf("flows up to %g:1", b.Ratio)}
		for _, k := range r.Checks {
			if k.Ratio > low && k.Ratio <= b.Ratio*(1+1e-9) {
				s.Points = append(s.Points, plot.Point{X: k.Predicted, Y: k.Measured})
				least = min(least, k.Predicted)
			}
		}
		low = b.Ratio
		if len(s.Points) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	c.Series = append(c.Series, plot.Series{Name: "equal", Dashed: true, Points: []plot.Point{{X: least, Y: least}, {X: 1, Y: 1}}})
	return c
}
