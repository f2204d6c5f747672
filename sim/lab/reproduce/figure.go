package reproduce

import "strings"

// Figure is a chart of an experiment as plain data: our results and the published ones. Name is unique among the figures of all
// experiments and is a valid file name.
type Figure struct {
	Name       string `json:"name"`       // such as "s3-slowdown.p95"
	Experiment string `json:"experiment"` // name of the experiment for Run
	Title      string `json:"title"`
	X          Axis   `json:"x"`
	Y          Axis   `json:"y"`
	// Categories are the names of a bar chart's groups, from left to right; the X of a point is then the index of its category.
	// It is empty for charts of lines and points.
	Categories []string `json:"categories,omitempty"`
	Series     []Series `json:"series"`
}

// Axis is one axis of a Figure.
type Axis struct {
	Label string `json:"label"`
	Unit  string `json:"unit,omitempty"`
	Log   bool   `json:"log,omitempty"` // logarithmic; all values are above zero
}

// Series is one line, set of points or set of bars of a Figure, points in the order of X.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
	// Published marks the paper's values. They are drawn next to our values with the same Group.
	Published bool   `json:"published,omitempty"`
	Group     string `json:"group,omitempty"`
	// Steps marks a function that is constant until the next point, such as a distribution.
	Steps bool `json:"steps,omitempty"`
	// Dashed marks a series that accompanies another one of the Group, such as the target of a rate.
	Dashed bool `json:"dashed,omitempty"`
}

// Point is a value of a Series in the units of its axes.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// comparisonChart returns a bar chart of the named metrics with a published value, in that order, with published and our values next
// to each other. A group is named by the text after the last dot of its metric. Metrics without a published value are
// omitted.
func comparisonChart(name, title string, y Axis, rows []Row, metrics []string) Figure {
	f := Figure{Name: name, Title: title, Y: y, Series: []Series{{Name: "published", Published: true}, {Name: "ours"}}}
	for _, m := range metrics {
		for _, r := range rows {
			if r.Metric != m || r.Published == nil {
				continue
			}
			at := float64(len(f.Categories))
			f.Categories = append(f.Categories, m[strings.LastIndexByte(m, '.')+1:])
			f.Series[0].Points = append(f.Series[0].Points, Point{at, *r.Published})
			f.Series[1].Points = append(f.Series[1].Points, Point{at, r.Ours})
		}
	}
	return f
}
