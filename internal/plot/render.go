package plot

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"fairlane/internal/outfile"
)

// Format is a file format.
type Format string

// The formats of Render.
const (
	PNG Format = "png" // 1080 by 600 pixels
	SVG Format = "svg" // text remains text, so that it can be searched and scaled
)

// Render writes the chart. It fails for a chart that cannot be drawn - no points, NaN, too many series, a value at or
// below zero on a logarithmic axis - and for an unknown format, without writing anything. It also fails if the writer
// does; then a part may have been written.
func (c Chart) Render(w io.Writer, f Format) error {
	picture, err := c.bytes(f)
	if err != nil {
		return fmt.Errorf("chart %q: %w", c.Title, err)
	}
	if _, err := w.Write(picture); err != nil {
		return fmt.Errorf("chart %q: write %s: %w", c.Title, f, err)
	}
	return nil
}

func (c *Chart) bytes(f Format) (picture []byte, err error) {
	if f != PNG && f != SVG {
		return nil, fmt.Errorf("format %q: want %q or %q", f, PNG, SVG)
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	// The library panics for input that validate should have rejected. A panic would lose the results of a long run, so
	// it becomes an error.
	defer func() {
		if p := recover(); p != nil {
			picture, err = nil, fmt.Errorf("draw: %v", p)
		}
	}()
	if f == PNG {
		return c.png()
	}
	return c.svg()
}

func (c *Chart) png() ([]byte, error) {
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))}
	c.draw(draw.New(canvas))
	return encode(canvas)
}

func (c *Chart) svg() ([]byte, error) {
	canvas := vgsvg.New(width, height)
	c.drawBackground(canvas)
	c.draw(draw.New(canvas))
	picture, err := encode(canvas)
	if err != nil {
		return nil, err
	}
	// Few machines have the Liberation fonts; Arial and Helvetica have the same widths.
	return bytes.ReplaceAll(picture, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}

// drawBackground draws a background, so that the picture is readable on dark pages.
func (c *Chart) drawBackground(canvas vg.CanvasSizer) {
	all := draw.New(canvas)
	all.FillPolygon(white(), box(all.Min.X, all.Max.X, all.Min.Y, all.Max.Y))
}

func encode(canvas io.WriterTo) ([]byte, error) {
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return out.Bytes(), nil
}

// Save writes the chart to dir/name.png and dir/name.svg, and creates dir if necessary. Each file is written completely
// or not at all. A name has at most 100 letters, digits, dots, dashes and underscores, and does not start with a dot.
// Save also fails where Render or the file system does.
func (c Chart) Save(dir, name string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`).MatchString(name) {
		return fmt.Errorf("chart name %q: want 1 to 100 letters, digits, dots, dashes and underscores, no dot first", name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("save chart %s: %w", name, err)
	}
	for _, f := range []Format{PNG, SVG} {
		if err := c.saveAs(filepath.Join(dir, name+"."+string(f)), f); err != nil {
			return err
		}
	}
	return nil
}

func (c Chart) saveAs(path string, f Format) error {
	if err := outfile.Write(path, func(w io.Writer) error { return c.Render(w, f) }); err != nil {
		return fmt.Errorf("save chart: %w", err)
	}
	return nil
}
