package lab

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"fairlane/internal/buildinfo"
	"fairlane/internal/plot"
	"fairlane/sim/lab/reproduce"
	"fairlane/sim/record"
)

// fewPoints is the maximum number of points for which a line of a chart marks them.
const fewPoints = 40

// reproduceFiles writes the results of repeated experiments to a directory.
type reproduceFiles struct {
	dir                *record.Dir
	csv, rows, figures *record.File
	seed               uint64
}

func newReproduceFiles(path string, seed uint64) (*reproduceFiles, error) {
	dir, err := record.NewDir(path, record.Header{Seed: seed, Version: buildinfo.Version()})
	if err != nil {
		return nil, err
	}
	f := &reproduceFiles{dir: dir, seed: seed}
	var errs [3]error
	f.csv, errs[0] = dir.Create("rows.csv")
	f.rows, errs[1] = dir.Create("rows.json")
	f.figures, errs[2] = dir.Create("figures.json")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, dir.Finish(err))
	}
	return f, nil
}

// finish writes everything and returns the number of charts; if the run failed, no file gets its name, and finish
// returns the run's error.
func (f *reproduceFiles) finish(r *reproduce.Result, cause error) (charts int, err error) {
	if cause == nil {
		cause = errors.Join(writeRows(f.csv, r.Rows), writeIndented(f.rows, r.Rows), writeIndented(f.figures, r.Figures))
	}
	if err := errors.Join(cause, f.dir.Finish(cause)); err != nil {
		return 0, err
	}
	var errs []error
	for i := range r.Figures {
		c := chartOf(&r.Figures[i])
		c.Subtitle = fmt.Sprintf("fairlane reproduce %s, seed %d, fairlane %s", r.Figures[i].Experiment, f.seed, buildinfo.Version())
		if err := c.Save(f.dir.Path(), r.Figures[i].Name); err != nil {
			errs = append(errs, err)
			continue
		}
		charts++
	}
	return charts, errors.Join(errs...)
}

func writeIndented(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// writeRows writes rows as CSV with all digits; a missing figure is empty.
func writeRows(to io.Writer, rows []reproduce.Row) error {
	w := csv.NewWriter(to)
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	records := [][]string{{"name", "metric", "published", "ours", "ratio", "unit", "note"}}
	for i := range rows {
		r := &rows[i]
		records = append(records, []string{r.Name, r.Metric, number(r.Published), number(&r.Ours), number(r.Ratio), r.Unit, r.Note})
	}
	if err := w.WriteAll(records); err != nil {
		return fmt.Errorf("rows as CSV: %w", err)
	}
	return nil
}

// chartOf draws a figure: published values as points, Fairlane's as lines, and references as dashed lines.
func chartOf(f *reproduce.Figure) plot.Chart {
	c := plot.Chart{Title: f.Title, X: axisOf(f.X), Y: axisOf(f.Y), Categories: f.Categories}
	for _, s := range f.Series {
		if len(s.Points) == 0 {
			continue
		}
		drawn := plot.Series{Name: s.Name, Group: s.Group, Dashed: s.Dashed, Kind: kindOf(f, &s)}
		for _, p := range s.Points {
			drawn.Points = append(drawn.Points, plot.Point{X: p.X, Y: p.Y})
		}
		c.Series = append(c.Series, drawn)
	}
	return c
}

func axisOf(a reproduce.Axis) plot.Axis { return plot.Axis{Label: a.Label, Unit: a.Unit, Log: a.Log} }

func kindOf(f *reproduce.Figure, s *reproduce.Series) plot.Kind {
	switch {
	case len(f.Categories) > 0:
		return plot.Bars
	case s.Steps:
		return plot.Steps
	case s.Dashed:
		return plot.Line
	case s.Published:
		return plot.Scatter
	case len(s.Points) <= fewPoints:
		return plot.LinePoints
	default:
		return plot.Line
	}
}
