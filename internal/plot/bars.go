package plot

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// groupPart is the fraction of the distance between groups that their bars fill.
const groupPart = 0.8

// valueGap is the minimum space between the numbers on adjacent bars: two thirds of a digit.
const valueGap = smallSize * 3 / 8

// slant is the angle of names that do not fit side by side.
const slant = math.Pi / 5

// categories are the names below the groups of bars.
type categories struct {
	names   []string
	style   text.Style
	slanted bool
	height  vg.Length // space below the axis
}

// fitCategories decides how the names are written on a canvas for the plot and its axes.
func (c *Chart) fitCategories(canvas draw.Canvas) categories {
	if len(c.Categories) == 0 {
		return categories{}
	}
	n := categories{style: textStyle(tickSize, false, ink())}
	slot := (canvas.Max.X - canvas.Min.X) * 85 / 100 / vg.Length(len(c.Categories)) // the rest is the vertical axis
	longest := vg.Length(0)
	for _, s := range c.Categories {
		s = shorten(s, n.style, maxCategory)
		n.names = append(n.names, s)
		longest = max(longest, n.style.Width(s))
	}
	n.height = tickSize + 8
	if n.slanted = longest > slot*95/100; n.slanted {
		n.height += longest * vg.Length(math.Sin(slant))
	}
	return n
}

// draw writes the names under the plot, none further left than the edge.
func (n *categories) draw(data draw.Canvas, edge vg.Length) {
	st := n.style
	for i, s := range n.names {
		x := data.X((float64(i) + 0.5) / float64(len(n.names)))
		st.XAlign, st.YAlign, st.Rotation = text.XCenter, text.YTop, 0
		if n.slanted {
			s = shorten(s, st, (x-edge)/vg.Length(math.Cos(slant)))
			st.XAlign, st.Rotation = text.XRight, slant
		}
		data.FillText(st, vg.Point{X: x, Y: data.Min.Y - 4}, s)
	}
}

// bars draws the bars of one series.
func (d *drawn) bars(canvas draw.Canvas, p *plot.Plot, s *Series) {
	n := float64(len(d.chart.Series))
	barWidth := vg.Length(groupPart/n) * (canvas.Max.X - canvas.Min.X) / vg.Length(len(d.chart.Categories))
	base := p.Y.Min
	if !d.chart.Y.Log {
		base = min(max(0, p.Y.Min), p.Y.Max)
	}
	st := textStyle(smallSize, false, ink())
	st.XAlign = text.XCenter
	labelled := d.chart.valuesFit(st, barWidth)
	for _, q := range s.Points {
		left := canvas.X(p.X.Norm(q.X-groupPart/2+groupPart*float64(d.index)/n)) + barWidth/20
		right := left + barWidth*18/20
		top := canvas.Y(p.Y.Norm(min(max(q.Y, p.Y.Min), p.Y.Max)))
		canvas.FillPolygon(d.look.color, box(left, right, canvas.Y(p.Y.Norm(base)), top))
		if !labelled {
			continue
		}
		at := vg.Point{X: (left + right) / 2, Y: top + st.FontExtents().Descent + 1}
		if q.Y < base {
			at.Y = top - smallSize
		}
		canvas.FillText(st, at, shortNumber(q.Y))
	}
}

// valuesFit reports whether the values of all bars fit: only some of them would look like a selection.
func (c *Chart) valuesFit(st text.Style, barWidth vg.Length) bool {
	for _, s := range c.Series {
		for _, q := range s.Points {
			if st.Width(shortNumber(q.Y))+valueGap > barWidth {
				return false
			}
		}
	}
	return true
}
