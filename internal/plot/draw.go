package plot

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// draw draws a valid chart: title and subtitle on top, the legend outside the plot on the right, and the labels around
// the axes.
func (c *Chart) draw(canvas draw.Canvas) {
	canvas = draw.Crop(canvas, margin, -margin, margin, -margin)
	canvas = c.drawTitle(canvas)
	ls := looks(c.Series)
	if legend := c.legendWidth(); legend > 0 {
		c.drawLegend(draw.Crop(canvas, canvas.Max.X-canvas.Min.X-legend, 0, 0, -4), ls)
		canvas = draw.Crop(canvas, 0, -legend-margin, 0, 0)
	}
	names := c.fitCategories(canvas)
	inner := draw.Crop(canvas, c.labelRoom(&c.Y), 0, c.labelRoom(&c.X)+names.height, 0)
	p := c.frame()
	for i := range c.Series {
		p.Add(&drawn{chart: c, index: i, look: ls[i]})
	}
	p.Draw(inner)
	data := p.DataCanvas(inner)
	names.draw(data, canvas.Min.X)
	c.drawLabels(canvas, data)
}

// labelRoom returns the space for the label of an axis. The library would misplace that of a logarithmic axis, and the
// padding that it needs.
func (c *Chart) labelRoom(a *Axis) vg.Length {
	if clean(a.title()) == "" {
		return 0
	}
	return labelSize + 6
}

func (c *Chart) drawLabels(canvas, data draw.Canvas) {
	st := textStyle(labelSize, false, ink())
	st.XAlign = text.XCenter
	x := shorten(c.X.title(), st, data.Max.X-data.Min.X)
	canvas.FillText(st, vg.Point{X: data.Center().X, Y: canvas.Min.Y + st.FontExtents().Descent}, x)
	y := shorten(c.Y.title(), st, data.Max.Y-data.Min.Y)
	st.Rotation, st.YAlign = math.Pi/2, text.YTop
	canvas.FillText(st, vg.Point{X: canvas.Min.X, Y: data.Center().Y}, y)
}

func (c *Chart) drawTitle(canvas draw.Canvas) draw.Canvas {
	room := canvas.Max.X - canvas.Min.X
	line := func(s string, st text.Style, gap vg.Length) {
		if s = clean(s); s == "" {
			return
		}
		st.YAlign = text.YTop
		canvas.FillText(st, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, shorten(s, st, room))
		canvas.Max.Y -= st.Font.Size + gap
	}
	line(c.Title, textStyle(titleSize, true, ink()), 5)
	line(c.Subtitle, textStyle(smallSize, false, faded()), 5)
	canvas.Max.Y -= 4
	return canvas
}

// frame returns the plot with its axes and grid, without data.
func (c *Chart) frame() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	x, y := c.ranges()
	styleAxis(&p.X, &c.X, x, xTicks)
	styleAxis(&p.Y, &c.Y, y, yTicks)
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = text.XCenter, text.YTop
	p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = text.XRight, text.YCenter
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: faint(), Width: 0.6}
	grid.Vertical = grid.Horizontal
	if len(c.Categories) > 0 {
		p.X.Tick.Marker = plot.ConstantTicks(nil)
		grid.Vertical.Color = nil
	}
	p.Add(grid)
	return p
}

func styleAxis(pa *plot.Axis, a *Axis, s span, ticks float64) {
	pa.Min, pa.Max, pa.Padding = s.low, s.high, 0
	pa.Color, pa.Width = faded(), 0.8
	pa.Tick.Label = textStyle(tickSize, false, ink())
	pa.Tick.LineStyle = draw.LineStyle{Color: faded(), Width: 0.6}
	pa.Tick.Length = 5
	pa.Tick.Marker = plot.ConstantTicks(a.ticks(s, ticks))
	if a.Log {
		pa.Scale = plot.LogScale{}
	}
}

// ranges returns axis ranges that fit the data.
func (c *Chart) ranges() (x, y span) {
	low := Point{math.Inf(1), math.Inf(1)}
	high := Point{math.Inf(-1), math.Inf(-1)}
	for _, s := range c.Series {
		for _, p := range s.Points {
			low = Point{min(low.X, p.X), min(low.Y, p.Y)}
			high = Point{max(high.X, p.X), max(high.Y, p.Y)}
		}
	}
	y = c.Y.fit(low.Y, high.Y, yTicks, true)
	if n := len(c.Categories); n > 0 {
		return span{-0.5, float64(n) - 0.5}, y
	}
	return c.X.fit(low.X, high.X, xTicks, false), y
}

// named reports whether the chart has a legend.
func (c *Chart) named() bool { return len(c.Series) > 1 || clean(c.Series[0].Name) != "" }

func (c *Chart) legendWidth() vg.Length {
	if !c.named() {
		return 0
	}
	st := textStyle(tickSize, false, ink())
	widest := vg.Length(0)
	for _, s := range c.Series {
		widest = max(widest, st.Width(shorten(s.Name, st, width*legendPart-thumbWidth)))
	}
	return widest + thumbWidth + 6
}

func (c *Chart) drawLegend(canvas draw.Canvas, ls []look) {
	st := textStyle(tickSize, false, ink())
	st.YAlign = text.YCenter
	row := min(tickSize*16/10, (canvas.Max.Y-canvas.Min.Y)/vg.Length(len(c.Series)))
	for i, s := range c.Series {
		y := canvas.Max.Y - row*(vg.Length(i)+0.5)
		left, right := canvas.Min.X, canvas.Min.X+thumbWidth-5
		switch s.Kind {
		case Bars:
			canvas.FillPolygon(ls[i].color, box(left+8, right, y-4, y+4))
		case Scatter:
			canvas.DrawGlyphNoClip(ls[i].mark(), vg.Point{X: (left + right) / 2, Y: y})
		default:
			canvas.StrokeLine2(ls[i].line(), left, y, right, y)
			if s.Kind == LinePoints {
				canvas.DrawGlyphNoClip(ls[i].mark(), vg.Point{X: (left + right) / 2, Y: y})
			}
		}
		canvas.FillText(st, vg.Point{X: canvas.Min.X + thumbWidth, Y: y + st.FontExtents().Descent}, shorten(s.Name, st, canvas.Max.X-canvas.Min.X-thumbWidth))
	}
}

func box(left, right, bottom, top vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}}
}

// drawn draws one series of a chart inside the axes.
type drawn struct {
	chart *Chart
	index int
	look  look
}

var _ plot.Plotter = (*drawn)(nil)

func (d *drawn) Plot(canvas draw.Canvas, p *plot.Plot) {
	s := &d.chart.Series[d.index]
	if s.Kind == Bars {
		d.bars(canvas, p, s)
		return
	}
	points := thin(s.Points, s.Kind, d.chart.X.place())
	at := make([]vg.Point, len(points))
	for i, q := range points {
		at[i] = vg.Point{X: canvas.X(p.X.Norm(q.X)), Y: canvas.Y(p.Y.Norm(q.Y))}
	}
	if s.Kind != Scatter {
		path := at
		// The steps of a thinned series are finer than the resolution of the picture.
		if s.Kind == Steps && len(points) == len(s.Points) {
			path = stairs(at)
		}
		canvas.StrokeLines(d.look.line(), canvas.ClipLinesXY(path)...)
	}
	if s.Kind == Scatter || s.Kind == LinePoints && len(at) <= 60 {
		for _, q := range at {
			if canvas.Contains(q) {
				canvas.DrawGlyphNoClip(d.look.mark(), q)
			}
		}
	}
}

// stairs keeps the height of each point until the next.
func stairs(at []vg.Point) []vg.Point {
	var out []vg.Point
	for i, q := range at {
		if i > 0 {
			out = append(out, vg.Point{X: q.X, Y: at[i-1].Y})
		}
		out = append(out, q)
	}
	return out
}
