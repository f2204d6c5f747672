package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/stats"
)

func render(t *testing.T, c Chart, f Format) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// census counts the pixels of each colour.
func census(t *testing.T, picture []byte) (image.Point, map[color.Color]int) {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	rgba, ok := m.(*image.RGBA)
	if !ok {
		t.Fatalf("the picture is a %T", m)
	}
	counts := map[[4]byte]int{}
	for i := 0; i+4 <= len(rgba.Pix); i += 4 {
		counts[[4]byte(rgba.Pix[i:i+4])]++
	}
	out := map[color.Color]int{}
	for c, n := range counts {
		out[color.RGBA{R: c[0], G: c[1], B: c[2], A: c[3]}] = n
	}
	return m.Bounds().Size(), out
}

func TestEveryKindIsAPictureWithItsColours(t *testing.T) {
	t.Parallel()
	for name, c := range samples(t) {
		size, counts := census(t, render(t, c, PNG))
		if size != (image.Point{X: 1080, Y: 600}) {
			t.Errorf("%s: %v pixels", name, size)
		}
		used := map[color.Color]bool{}
		for _, l := range looks(c.Series) {
			used[l.color] = true
		}
		for col := range used {
			if n := counts[col]; n < 15 {
				t.Errorf("%s: %d pixels of %v", name, n, col)
			}
		}
		if n := counts[color.RGBA{R: 0xFF, G: 0xFF, B: 0xFF, A: 0xFF}]; n < 1080*600/4 {
			t.Errorf("%s: %d white pixels", name, n)
		}
		for _, col := range palette() {
			if !used[col] && col != color.Color(color.RGBA{A: 0xFF}) && counts[col] > 0 {
				t.Errorf("%s: a colour %v that no series has", name, col)
			}
		}
	}
}

// svg is the part of an SVG that the tests check.
type svg struct {
	texts []string
	paths int
	fills map[string]int
}

func parseSVG(t *testing.T, doc []byte) svg {
	t.Helper()
	out := svg{fills: map[string]int{}}
	for dec := xml.NewDecoder(bytes.NewReader(doc)); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "text":
			var s string
			if err := dec.DecodeElement(&s, &start); err != nil {
				t.Fatal(err)
			}
			out.texts = append(out.texts, s)
		case "path":
			out.paths++
			for _, a := range start.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("path with %q", a.Value)
				}
				if _, fill, ok := strings.Cut(a.Value, "fill:#"); ok {
					out.fills[fill[:6]]++
				}
			}
		}
	}
}

func TestStructureOfAnSVG(t *testing.T) {
	t.Parallel()
	all := samples(t)
	for name, c := range all {
		doc := render(t, c, SVG)
		got := parseSVG(t, doc)
		if got.paths < 5 || bytes.Contains(doc, []byte("font-family:Liberation")) {
			t.Errorf("%s: %d paths, or a font without its like", name, got.paths)
		}
	}
	bars := parseSVG(t, render(t, all["bars"], SVG))
	want := []string{
		"S3, 20-to-1 incast: mean round-trip time", "published", "ours", "0", "2", "4", "6", "8", "10", "12", "14", "16",
		"5.03", "4.32", "12", "14.7", "5.21", "4.4", "12.7", "14.1", "LSTM+PID", "HPCC", "TIMELY", "DCTCP", "mean RTT (us)",
	}
	if slices.Sort(bars.texts); !slices.Equal(bars.texts, slices.Sorted(slices.Values(want))) {
		t.Errorf("texts %q", bars.texts)
	}
	if bars.fills["0072B2"] != 5 || bars.fills["D55E00"] != 5 {
		t.Errorf("fills %v, want four bars and one of the legend in two colours", bars.fills)
	}
	rates := parseSVG(t, render(t, all["rates"], SVG))
	for _, s := range []string{"gold, entitled", "scenario ib16, seed 1, simulated", "time (ms)", "rate (Gbit/s)", "60"} {
		if !slices.Contains(rates.texts, s) {
			t.Errorf("no text %q in %q", s, rates.texts)
		}
	}
}

// Bars have numbers if the numbers of neighbours are at least half a digit apart; otherwise no bar has one.
func TestNumbersOnBarsKeepApart(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>0\.497<`)
	const groups, most = 2, 12
	style := textStyle(smallSize, false, ink())
	with := 0
	for n := 1; n <= most; n++ {
		c := Chart{Title: "Bars", Y: Axis{Label: "ratio"}, Categories: []string{"a", "b"}}
		for range n {
			c.Series = append(c.Series, Series{Kind: Bars, Points: []Point{{0, 0.497}, {1, 0.497}}})
		}
		found := number.FindAllSubmatch(render(t, c, SVG), -1)
		if len(found) == 0 {
			continue
		}
		if len(found) != groups*n || n != with+1 {
			t.Fatalf("%d series: %d numbers, after %d series that had them: want all or none, and none beyond the first without", n, len(found), with)
		}
		with = n
		var at []float64
		for _, m := range found {
			x, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, x)
		}
		slices.Sort(at)
		for i := 1; i < len(at); i++ {
			if free, want := at[i]-at[i-1]-float64(style.Width("0.497")), float64(style.Width("0"))/2; free < want {
				t.Errorf("%d series: %.2f points are free between two numbers, want %.2f", n, free, want)
			}
		}
	}
	if with < 3 || with == most {
		t.Errorf("numbers on up to %d bars a group, want at least 3 and fewer than %d", with, most)
	}
}

func TestChartsAreReproducibleConcurrently(t *testing.T) {
	t.Parallel()
	c := samples(t)["slowdown"]
	for _, f := range []Format{PNG, SVG} {
		want := render(t, c, f)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				var got bytes.Buffer
				if err := c.Render(&got, f); err != nil || !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%s differs: %v", f, err)
				}
			})
		}
		group.Wait()
	}
}

func TestInvalidChartsAreRejected(t *testing.T) {
	t.Parallel()
	line := func(points ...Point) Chart { return Chart{Title: "x", Series: []Series{{Name: "s", Points: points}}} }
	log := line(Point{1, 0})
	log.Y.Log = true
	axis := func(a Axis) Chart { c := line(Point{1, 1}); c.X = a; return c }
	for want, c := range map[string]Chart{
		"0 series: want 1 to 20":                {},
		"21 series: want 1 to 20":               {Series: make([]Series, 21)},
		"no points":                             line(),
		`series 0 "s": point 1 (NaN, 1)`:        line(Point{0, 1}, Point{math.NaN(), 1}),
		`point 0 (1, +Inf)`:                     line(Point{1, math.Inf(1)}),
		`point 0 (1, 1e+19)`:                    line(Point{1, 1e19}),
		"point 1: X 1 after 2":                  line(Point{2, 0}, Point{1, 0}),
		"above zero on a logarithmic axis":      log,
		"kind 9: want 0 to 4":                   {Series: []Series{{Kind: 9}}},
		"bars and categories go together":       {Series: []Series{{Kind: Bars, Points: []Point{{0, 1}}}}},
		"point 0: category 1: want 0 to 0":      {Categories: []string{"a"}, Series: []Series{{Kind: Bars, Points: []Point{{1, 1}}}}},
		"point 0: category 0.5: want 0 to 0":    {Categories: []string{"a"}, Series: []Series{{Kind: Bars, Points: []Point{{0.5, 1}}}}},
		"61 categories: want at most 60":        {Categories: make([]string, 61), Series: make([]Series, 1)},
		"categories on a logarithmic axis":      {Categories: []string{"a"}, X: Axis{Log: true}, Series: make([]Series, 1)},
		"axis X: range 2 to 1":                  axis(Axis{Min: 2, Max: 1}),
		"axis X: range NaN to 1":                axis(Axis{Min: math.NaN(), Max: 1}),
		"axis X: logarithmic range from -1":     axis(Axis{Min: -1, Max: 1, Log: true}),
		"want one wider than a billionth of it": axis(Axis{Min: 1, Max: 1 + 1e-12}),
	} {
		var out bytes.Buffer
		if err := c.Render(&out, SVG); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("got %v and %d bytes, want %q", err, out.Len(), want)
		}
	}
	if err := line(Point{1, 1}).Render(io.Discard, "gif"); err == nil || !strings.Contains(err.Error(), `format "gif": want "png" or "svg"`) {
		t.Errorf("gif: %v", err)
	}
	if _, err := SlowdownBySize("x", 90, nil); err == nil {
		t.Error("a quantile that is not there is charted")
	}
}

type full struct{}

var errFull = errors.New("no space")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestSave(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "plots")
	c := samples(t)["point"]
	if err := c.Save(dir, "a-chart.1"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []Format{PNG, SVG} {
		got, err := os.ReadFile(filepath.Join(dir, "a-chart.1."+string(f)))
		if err != nil || !bytes.Equal(got, render(t, c, f)) {
			t.Errorf("%s: %d bytes, %v", f, len(got), err)
		}
	}
	if err := (Chart{}).Save(dir, "empty"); err == nil {
		t.Error("an empty chart is saved")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v in the directory, %v", left, err)
	}
	for _, name := range []string{"", ".x", "a/b", "..", "a b"} {
		if err := c.Save(dir, name); err == nil || !strings.Contains(err.Error(), "want 1 to 100 letters") {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if err := c.Save(filepath.Join(dir, "a-chart.1.png"), "x"); err == nil || !strings.Contains(err.Error(), "save chart x") {
		t.Errorf("a file as directory: %v", err)
	}
	if err := c.Render(full{}, PNG); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

func TestThinnedLinesKeepFirstLastAndExtremes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(t, "points")
		log := rapid.Bool().Draw(t, "log")
		kind := rapid.SampledFrom([]Kind{Line, Steps, LinePoints, Scatter}).Draw(t, "kind")
		rough := rapid.Float64Range(0, 100).Draw(t, "rough")
		points := make([]Point, n)
		for i := range points {
			points[i] = Point{X: 1 + math.Floor(float64(i)/3), Y: math.Sin(float64(i) * rough)}
		}
		a := Axis{Log: log}
		got := thin(points, kind, a.place())
		if len(got) > MaxPoints || n <= MaxPoints && len(got) != n {
			t.Fatalf("%d of %d points", len(got), n)
		}
		byY := func(a, b Point) int { return cmpFloat(a.Y, b.Y) }
		if slices.MinFunc(got, byY).Y != slices.MinFunc(points, byY).Y || slices.MaxFunc(got, byY).Y != slices.MaxFunc(points, byY).Y {
			t.Fatal("an extreme is lost")
		}
		if kind == Scatter {
			return
		}
		if got[0] != points[0] || got[len(got)-1] != points[n-1] {
			t.Fatal("an end is lost")
		}
		next := 0
		for _, p := range got {
			i := slices.Index(points[next:], p)
			if i < 0 {
				t.Fatalf("point %v is invented or out of order", p)
			}
			next += i + 1
		}
	})
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestTicksAreInRangeDistinctAndNotTooMany(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.Bool().Draw(t, "log")
		size := math.Pow10(rapid.IntRange(-12, 12).Draw(t, "decade"))
		low := rapid.Float64Range(-10, 10).Draw(t, "low") * size
		high := low + rapid.Float64Range(0, 10).Draw(t, "span")*size
		if log {
			low = math.Abs(low) + size*1e-3
			high = low * math.Pow10(rapid.IntRange(0, 15).Draw(t, "decades")) * 1.3
		}
		a := Axis{Log: log}
		base := rapid.Bool().Draw(t, "base")
		s := a.fit(low, high, xTicks, base)
		if !(s.low < s.high) || s.low > low*(1+1e-9)+1e-12*size && low > 0 || s.high < high*(1-1e-9) && high > 0 {
			t.Fatalf("%v to %v is shown as %+v", low, high, s)
		}
		labels := map[string]bool{}
		last := math.Inf(-1)
		for _, k := range a.ticks(s, xTicks) {
			slack := (s.high - s.low) * 1e-6
			if k.Value < s.low-slack || k.Value > s.high+slack || k.Value <= last {
				t.Fatalf("tick %v after %v in %+v", k.Value, last, s)
			}
			last = k.Value
			if k.Label != "" && labels[k.Label] {
				t.Fatalf("label %q twice in %+v", k.Label, s)
			}
			if k.Label != "" {
				labels[k.Label] = true
			}
		}
		if len(labels) < 2 || len(labels) > 13 {
			t.Fatalf("%d labels in %+v: %v", len(labels), s, labels)
		}
	})
}

func TestTickLabels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		axis Axis
		s    span
		want string
	}{
		{Axis{}, span{0, 1}, "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0"},
		{Axis{}, span{0, 57}, "0 10 20 30 40 50"},
		{Axis{}, span{-20, 20}, "-20 -15 -10 -5 0 5 10 15 20"},
		{Axis{}, span{0, 2e6}, "0 0.2M 0.4M 0.6M 0.8M 1.0M 1.2M 1.4M 1.6M 1.8M 2.0M"},
		{Axis{}, span{0, 3e-7}, "0 5e-08 1e-07 1.5e-07 2e-07 2.5e-07 3e-07"},
		{Axis{Log: true}, span{1, 200}, "1 2 5 10 20 50 100 200"},
		{Axis{Log: true}, span{100, 1e7}, "100 1k 10k 100k 1M 10M"},
		{Axis{Log: true}, span{0.001, 1}, "0.001 0.01 0.1 1"},
		{Axis{Log: true}, span{1, 1e18}, "1 100 10k 1M 100M 10G 1T 100T 10P 1E"},
		{Axis{Log: true}, span{300, 400}, "300 400"},
	} {
		var got []string
		for _, k := range c.axis.ticks(c.s, xTicks) {
			if k.Label != "" {
				got = append(got, k.Label)
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%+v: %s, want %s", c.s, text, c.want)
		}
	}
}

func TestDistributions(t *testing.T) {
	t.Parallel()
	want := []Point{{1, 0}, {1, 0.25}, {2, 0.75}, {4, 1}}
	if got := CDF([]float64{2, 4, 1, 2}); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	h, err := stats.NewHistogram(0.01)
	if err != nil {
		t.Fatal(err)
	}
	if HistogramCDF(h, 1) != nil || CDF(nil) != nil {
		t.Error("no values have a distribution")
	}
	for _, v := range []int64{20, 40, 10, 20} {
		h.Record(v)
	}
	if got := HistogramCDF(h, 10); !slices.Equal(got, want) {
		t.Errorf("of a histogram: %v", got)
	}
}

func TestLinesOfAChartAreDistinguishable(t *testing.T) {
	t.Parallel()
	series := make([]Series, MaxSeries)
	type key struct {
		color color.Color
		dash  int
	}
	seen := map[key]bool{}
	for _, l := range looks(series) {
		k := key{l.color, 0}
		for _, d := range l.dash {
			k.dash = k.dash*100 + int(d*10)
		}
		if seen[k] {
			t.Fatalf("two series look alike: %+v", k)
		}
		seen[k] = true
	}
	grouped := looks([]Series{{Group: "a"}, {Group: "b"}, {Group: "a", Dashed: true}})
	if grouped[0].color != grouped[2].color || grouped[0].color == grouped[1].color || grouped[2].dash == nil {
		t.Error("groups have no colour of their own")
	}
}

// FuzzRender checks for arbitrary texts and numbers that charts are either well-formed or rejected.
func FuzzRender(f *testing.F) {
	f.Add("title", "name", 1.0, 2.0, 3.0, 4.0, uint8(0), uint8(0), 0.0, 0.0)
	f.Add("\x00<&>\n\xff", "中文 \u202e😀", -1e18, 1e18, 1e-18, 0.0, uint8(2), uint8(0), -1.0, 1.0)
	f.Add("", "", 1e-18, 1e18, 1.0, 1.0, uint8(3), uint8(3), 1e-18, 1e18)
	f.Add("b", "c", 0.0, -1e18, 0.0, 1e18, uint8(4), uint8(0), 0.0, 0.0)
	f.Fuzz(func(t *testing.T, title, name string, x1, y1, x2, y2 float64, kind, logs uint8, low, high float64) {
		c := Chart{
			Title: title, Subtitle: name, X: Axis{Label: title, Unit: name, Log: logs&1 != 0}, Y: Axis{Label: name, Log: logs&2 != 0, Min: low, Max: high},
			Series: []Series{{Name: name, Kind: Kind(kind % 5), Points: []Point{{x1, y1}, {x2, y2}}}},
		}
		if c.Series[0].Kind == Bars {
			c.Categories = []string{title, name}
			c.Series[0].Points = []Point{{0, y1}, {1, y2}}
		}
		var out bytes.Buffer
		err := c.Render(&out, SVG)
		if err != nil && strings.Contains(err.Error(), "draw: ") {
			t.Fatalf("the library panics: %v", err)
		}
		if err == nil {
			parseSVG(t, out.Bytes())
		}
	})
}

func BenchmarkRender(b *testing.B) {
	c := samples(b)["rates"]
	for _, f := range []Format{PNG, SVG} {
		b.Run(string(f), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Render(io.Discard, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
