package plot

import (
	"image/color"
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Size and resolution of a picture.
const (
	width  = 9 * vg.Inch
	height = 5 * vg.Inch
	dpi    = 120
)

// Sizes of texts and lines.
const (
	titleSize   vg.Length = 13
	labelSize   vg.Length = 11
	tickSize    vg.Length = 10
	smallSize   vg.Length = 9
	lineWidth   vg.Length = 1.6
	thinLine    vg.Length = 1.1 // for charts with many series
	markRadius  vg.Length = 3
	margin      vg.Length = 10
	legendPart            = 0.3 // maximum fraction of the width
	thumbWidth  vg.Length = 26
	maxCategory vg.Length = 130 // maximum width of a category's name
)

// palette returns the colours of Okabe and Ito (Color Universal Design, 2008), in an order with large differences
// between neighbours. It omits yellow, which is invisible on white.
func palette() []color.Color {
	return []color.Color{
		color.RGBA{R: 0x00, G: 0x72, B: 0xB2, A: 0xFF}, // blue
		color.RGBA{R: 0xD5, G: 0x5E, B: 0x00, A: 0xFF}, // vermilion
		color.RGBA{R: 0x00, G: 0x9E, B: 0x73, A: 0xFF}, // bluish green
		color.RGBA{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF}, // reddish purple
		color.RGBA{R: 0xE6, G: 0x9F, B: 0x00, A: 0xFF}, // orange
		color.RGBA{R: 0x56, G: 0xB4, B: 0xE9, A: 0xFF}, // sky blue
		color.RGBA{R: 0x00, G: 0x00, B: 0x00, A: 0xFF}, // black
	}
}

func white() color.Color { return color.White }
func ink() color.Color   { return color.Gray{Y: 0x20} }
func faded() color.Color { return color.Gray{Y: 0x60} }
func faint() color.Color { return color.Gray{Y: 0xDD} }

// look is the style of a series.
type look struct {
	color color.Color
	dash  []vg.Length
	shape draw.GlyphDrawer
	width vg.Length
}

func (l look) line() draw.LineStyle {
	return draw.LineStyle{Color: l.color, Width: l.width, Dashes: l.dash}
}

func (l look) mark() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.color, Radius: markRadius, Shape: l.shape}
}

// looks assigns each series a colour by group, dashes if there are more groups than colours, and a shape.
func looks(series []Series) []look {
	colors := palette()
	dashes := [][]vg.Length{nil, {6, 3}, {1.5, 2.5}}
	shapes := []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.PlusGlyph{},
	}
	width := lineWidth
	if len(series) > len(colors) {
		width = thinLine
	}
	groups := map[string]int{}
	next := 0
	out := make([]look, len(series))
	for i, s := range series {
		g, known := groups[s.Group]
		if !known || s.Group == "" {
			g, next = next, next+1
			groups[s.Group] = g
		}
		out[i] = look{color: colors[g%len(colors)], dash: dashes[g/len(colors)%len(dashes)], shape: shapes[g%len(shapes)], width: width}
		if s.Dashed {
			out[i].dash = []vg.Length{4, 3}
		}
	}
	return out
}

// textStyle returns the package's font with a size and a colour.
func textStyle(size vg.Length, bold bool, c color.Color) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = 3 // WeightBold of golang.org/x/image/font
	}
	return text.Style{Color: c, Font: f, XAlign: text.XLeft, YAlign: text.YBottom, Handler: plot.DefaultTextHandler}
}

// clean reduces a text to one line of printable characters: control characters have no glyph and are invalid in SVG.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s))
}

// shorten cleans a text and truncates it to a width, with an ellipsis.
func shorten(s string, st text.Style, room vg.Length) string {
	r := []rune(clean(s))
	if len(r) > 300 {
		r = append(r[:300], '…')
	}
	if st.Width(string(r)) <= room {
		return string(r)
	}
	for len(r) > 0 && st.Width(string(r)+"…") > room {
		r = r[:len(r)-1]
	}
	return strings.TrimSpace(string(r)) + "…"
}
