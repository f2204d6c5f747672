package plot

import (
	"errors"
	"fmt"
	"math"
)

// Limits of one chart.
const (
	MaxSeries     = 20        // more cannot be distinguished
	MaxCategories = 60        // groups of bars
	MaxValue      = 1e18      // magnitude of a coordinate; with a logarithmic axis also 1/MaxValue
	MaxPoints     = 1_000     // drawn for each series; longer series are thinned, see Series
	maxInput      = 5_000_000 // maximum number of points of a series before thinning
)

// Chart is one picture. Render rejects the zero Chart, which has nothing to show.
type Chart struct {
	Title    string
	Subtitle string // origin of the figures: scenario, seed, version
	X, Y     Axis
	Series   []Series
	// Categories names the groups of bars, from left to right. If it is set, every series must be of kind Bars, and the
	// X of its points is the number of the category, from 0; a category without a point has no bar.
	Categories []string
}

// Axis is one axis of a chart.
type Axis struct {
	Label string // measured quantity: "rate"
	Unit  string // unit: "Gbit/s"; shown in brackets
	// Min and Max set the range if Min < Max; otherwise it follows from the data and, on a linear vertical axis,
	// includes zero.
	Min, Max float64
	Log      bool // logarithmic; all values must then be positive
}

// Kind is how a series is drawn.
type Kind int

// The kinds of series.
const (
	Line       Kind = iota // points joined by a line, in order of X
	Steps                  // each value holds until the next point, in order of X
	Scatter                // points only, in any order
	LinePoints             // points joined by a line, in order of X
	Bars                   // a bar for each category; see Chart.Categories
)

// Point is one value of a series, in the units of the axes.
type Point struct{ X, Y float64 }

// Series is a set of points with a name and a colour. If it has more than MaxPoints points, the chart draws those that
// give the same picture: first, last, minimum and maximum in each column of the picture (M4, Jugel et al., VLDB 2014),
// and for Scatter also an even sample.
type Series struct {
	Name   string // in the legend; a chart with a single unnamed series has no legend
	Kind   Kind
	Points []Point
	// Group gives series the same colour, for example a tenant's delivered and entitled rate. With an empty group, a
	// series has its own colour.
	Group  string
	Dashed bool // a dashed line, for references such as an entitlement
}

// validate returns the reason why a chart cannot be drawn; nil if it can.
func (c *Chart) validate() error {
	if len(c.Series) == 0 || len(c.Series) > MaxSeries {
		return fmt.Errorf("%d series: want 1 to %d", len(c.Series), MaxSeries)
	}
	if len(c.Categories) > MaxCategories {
		return fmt.Errorf("%d categories: want at most %d", len(c.Categories), MaxCategories)
	}
	if c.X.Log && len(c.Categories) > 0 {
		return errors.New("categories on a logarithmic axis: want a linear one")
	}
	for i, a := range []Axis{c.X, c.Y} {
		if err := a.validate(); err != nil {
			return fmt.Errorf("axis %c: %w", 'X'+rune(i), err)
		}
	}
	points := 0
	for i := range c.Series {
		if err := c.validateSeries(&c.Series[i]); err != nil {
			return fmt.Errorf("series %d %q: %w", i, c.Series[i].Name, err)
		}
		points += len(c.Series[i].Points)
	}
	if points == 0 {
		return errors.New("no points: want at least one in one series")
	}
	return nil
}

func (a *Axis) validate() error {
	if a.Min == 0 && a.Max == 0 {
		return nil
	}
	if !(a.Min < a.Max) || !legal(a.Min, false) || !legal(a.Max, false) {
		return fmt.Errorf("range %v to %v: want an ascending one within %g", a.Min, a.Max, MaxValue)
	}
	if a.Log && !legal(a.Min, true) {
		return fmt.Errorf("logarithmic range from %v: want at least %g", a.Min, 1/MaxValue)
	}
	if a.Max-a.Min < 1e-9*max(math.Abs(a.Min), math.Abs(a.Max)) {
		return fmt.Errorf("range %v to %v: want one wider than a billionth of its values", a.Min, a.Max)
	}
	return nil
}

// legal reports whether a coordinate can be drawn; NaN cannot.
func legal(v float64, log bool) bool {
	if log {
		return v >= 1/MaxValue && v <= MaxValue
	}
	return math.Abs(v) <= MaxValue
}

func (c *Chart) validateSeries(s *Series) error {
	if s.Kind < Line || s.Kind > Bars {
		return fmt.Errorf("kind %d: want %d to %d", s.Kind, Line, Bars)
	}
	if (s.Kind == Bars) != (len(c.Categories) > 0) {
		return fmt.Errorf("bars and categories go together: want both or neither")
	}
	if len(s.Points) > maxInput {
		return fmt.Errorf("%d points: want at most %d", len(s.Points), maxInput)
	}
	for i, p := range s.Points {
		if !legal(p.X, c.X.Log) || !legal(p.Y, c.Y.Log) {
			return fmt.Errorf("point %d (%v, %v): want numbers within %g, and above zero on a logarithmic axis", i, p.X, p.Y, MaxValue)
		}
		if s.Kind == Bars && (p.X < 0 || p.X >= float64(len(c.Categories)) || p.X != math.Trunc(p.X)) {
			return fmt.Errorf("point %d: category %v: want 0 to %d", i, p.X, len(c.Categories)-1)
		}
		if s.Kind != Scatter && s.Kind != Bars && i > 0 && p.X < s.Points[i-1].X {
			return fmt.Errorf("point %d: X %v after %v: want an order of X for a line", i, p.X, s.Points[i-1].X)
		}
	}
	return nil
}

// title returns the text of an axis.
func (a *Axis) title() string {
	switch {
	case a.Unit == "":
		return a.Label
	case a.Label == "":
		return a.Unit
	}
	return a.Label + " (" + a.Unit + ")"
}
