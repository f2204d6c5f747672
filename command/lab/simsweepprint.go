package lab

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"fairlane/command/cmdline"
	"fairlane/sim/scenario"
)

// measureText returns a figure for a table; "-" if there is none.
func measureText(m scenario.Measure, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	switch m {
	case scenario.Utilisation, scenario.ShareError:
		return cmdline.Percent(v)
	case scenario.Jain:
		return fmt.Sprintf("%.4f", v)
	case scenario.SlowdownP50, scenario.SlowdownP99:
		return fmt.Sprintf("%.2f", v)
	case scenario.FCTMean:
		return fmt.Sprintf("%.1f", v)
	case scenario.Hops:
		return fmt.Sprintf("%.2f", v/1e6)
	default:
		return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
	}
}

// printSweep prints a table of the runs and, with several seeds, one of means with deviations.
func (a *app) printSweep(w io.Writer, sweep *scenario.Sweep, points []scenario.SweepPoint) error {
	var paths []string
	for _, x := range sweep.Axes {
		paths = append(paths, x.Path)
	}
	head := func(column string) string {
		return strings.Join(append(paths, column), "\t") + "\t" + a.T("sim.sweep.measures")
	}
	tw := cmdline.NewTable(w, tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tw, head(a.T("sim.sweep.seed")))
	for i := range points {
		for k := range points[i].Runs {
			r := &points[i].Runs[k]
			_, _ = fmt.Fprint(tw, settingCells(points[i].Settings), r.Seed, "\t")
			for _, m := range scenario.AllMeasures() {
				_, _ = fmt.Fprint(tw, measureText(m, r.Measures[m]), "\t")
			}
			switch {
			case r.Error != "":
				_, _ = fmt.Fprint(tw, a.T("sim.sweep.failed"), "\t")
			case !r.Finished:
				_, _ = fmt.Fprint(tw, a.T("sim.sweep.unfinished"), "\t")
			}
			_, _ = fmt.Fprintln(tw)
		}
	}
	if err := tw.Flush(); err != nil || len(sweep.Seeds) < 2 {
		return err
	}
	_, _ = fmt.Fprintln(tw, "\n"+head(a.T("sim.sweep.runs")))
	for i := range points {
		p := &points[i]
		_, _ = fmt.Fprint(tw, settingCells(p.Settings), goodRuns(p), "\t")
		for _, m := range scenario.AllMeasures() {
			text := measureText(m, p.Mean[m])
			if !math.IsNaN(p.Deviation[m]) {
				text += " ± " + measureText(m, p.Deviation[m])
			}
			_, _ = fmt.Fprint(tw, text, "\t")
		}
		_, _ = fmt.Fprintln(tw)
	}
	return tw.Flush()
}

func settingCells(settings []scenario.Setting) string {
	var b strings.Builder
	for _, s := range settings {
		b.WriteString(s.Value + "\t")
	}
	return b.String()
}

// goodRuns returns the number of runs in a mean.
func goodRuns(p *scenario.SweepPoint) (n int) {
	for i := range p.Runs {
		if p.Runs[i].Error == "" {
			n++
		}
	}
	return n
}
