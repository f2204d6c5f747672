package lab

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/internal/plot"
	"fairlane/sim/lab/reproduce"
)

func TestReproduceUnknownNameIsWrongUsage(t *testing.T) {
	t.Parallel()
	var out, words bytes.Buffer
	if code := runLab(t.Context(), []string{"reproduce", "s1-ratelimit", "nothing"}, &out, &words); code != cmdline.ExitUsage {
		t.Errorf("exit code %d, want %d", code, cmdline.ExitUsage)
	}
	for _, name := range reproduce.Names() {
		if !strings.Contains(words.String(), name) {
			t.Errorf("%q does not list %s", words.String(), name)
		}
	}
	if out.Len() > 0 {
		t.Errorf("wrote %q as data", out.String())
	}
}

func TestReproducePrintsRows(t *testing.T) {
	t.Parallel()
	var out, words bytes.Buffer
	if code := runLab(t.Context(), []string{"--lang=en", "reproduce", "s1-ratelimit", "--json"}, &out, &words); code != cmdline.ExitDone {
		t.Fatalf("exit code %d: %s", code, words.String())
	}
	var rows []reproduce.Row
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 9 || rows[0].Name != "s1-ratelimit" || rows[0].Ratio == nil {
		t.Errorf("got %d rows, first %+v", len(rows), rows[0])
	}
	if words.Len() > 0 {
		t.Errorf("progress %q where there is no terminal", words.String())
	}
	out.Reset()
	if code := runLab(t.Context(), []string{"--lang=en", "reproduce", "s1-ratelimit"}, &out, &words); code != cmdline.ExitDone {
		t.Fatalf("exit code %d: %s", code, words.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 11 || !strings.HasPrefix(lines[0], "s1-ratelimit: ") || !strings.Contains(lines[1], "PUBLISHED") || !strings.Contains(lines[2], rows[0].Metric) {
		t.Errorf("table:\n%s", out.String())
	}
}

// With --out, both files have the same rows, the data of the charts is kept, and every chart exists in both formats.
func TestReproduceWritesFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "results")
	var out, words bytes.Buffer
	if code := runLab(t.Context(), []string{"--lang=en", "reproduce", "s2-recovery", "s4-clamp", "--json", "--out", dir}, &out, &words); code != cmdline.ExitDone {
		t.Fatalf("exit code %d: %s", code, words.String())
	}
	if !strings.Contains(words.String(), dir) {
		t.Errorf("%q does not say where the files are", words.String())
	}
	var rows, printed []reproduce.Row
	var figures []reproduce.Figure
	for path, into := range map[string]any{"rows.json": &rows, "figures.json": &figures} {
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, "rows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 || len(records) != len(rows)+1 || len(printed) != len(rows) {
		t.Fatalf("%d rows in JSON, %d lines of CSV, %d printed", len(rows), len(records), len(printed))
	}
	for i, r := range rows {
		if ours, err := strconv.ParseFloat(records[i+1][3], 64); err != nil || ours != r.Ours || records[i+1][1] != r.Metric || (records[i+1][2] == "") != (r.Published == nil) {
			t.Errorf("row %d: %q and %+v", i, records[i+1], r)
		}
	}
	if len(figures) < 6 {
		t.Errorf("%d figures", len(figures))
	}
	for _, f := range figures {
		for _, end := range []string{".png", ".svg"} {
			if info, err := os.Stat(filepath.Join(dir, f.Name+end)); err != nil || info.Size() < 1000 {
				t.Errorf("%s%s: %v %v", f.Name, end, info, err)
			}
		}
	}
}

// An invalid directory is reported before any work is done.
func TestReproduceIntoAFileFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, words bytes.Buffer
	if code := runLab(t.Context(), []string{"--lang=en", "reproduce", "s1-ratelimit", "--out", path}, &out, &words); code != cmdline.ExitFailed {
		t.Errorf("exit code %d, want %d", code, cmdline.ExitFailed)
	}
	if out.Len() > 0 || !strings.Contains(words.String(), path) {
		t.Errorf("output %q, words %q", out.String(), words.String())
	}
}

// If the run fails, the error is that of the run, and no file gets its name.
func TestAFailedReproductionLeavesNoFiles(t *testing.T) {
	t.Parallel()
	f, err := newReproduceFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.finish(nil, os.ErrDeadlineExceeded); err == nil {
		t.Error("the error of the run is lost")
	}
	if _, err := os.Stat(filepath.Join(f.dir.Path(), "rows.csv")); err == nil {
		t.Error("rows.csv is there after a failed run")
	}
}

// A chart that cannot be drawn does not affect the others.
func TestABadChartIsReportedAndTheOthersAreDrawn(t *testing.T) {
	t.Parallel()
	f, err := newReproduceFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	good := reproduce.Figure{Name: "good", Series: []reproduce.Series{{Name: "s", Points: []reproduce.Point{{X: 1, Y: 1}, {X: 2, Y: 2}}}}}
	bad := good
	bad.Name, bad.Series = "bad", []reproduce.Series{{Name: "s", Points: []reproduce.Point{{X: 1, Y: math.MaxFloat64}}}}
	n, err := f.finish(&reproduce.Result{Figures: []reproduce.Figure{bad, good}}, nil)
	if n != 1 || err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("%d charts, error %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(f.dir.Path(), "good.png")); err != nil {
		t.Error(err)
	}
}

func TestKindsOfSeries(t *testing.T) {
	t.Parallel()
	many := make([]reproduce.Point, fewPoints+1)
	for i := range many {
		many[i].X = float64(i)
	}
	few := many[:fewPoints]
	for _, c := range []struct {
		categories []string
		s          reproduce.Series
		want       plot.Kind
	}{
		{[]string{"a"}, reproduce.Series{Published: true, Points: few[:1]}, plot.Bars},
		{nil, reproduce.Series{Steps: true, Dashed: true, Points: many}, plot.Steps},
		{nil, reproduce.Series{Published: true, Dashed: true, Points: few}, plot.Line},
		{nil, reproduce.Series{Published: true, Points: few}, plot.Scatter},
		{nil, reproduce.Series{Points: few}, plot.LinePoints},
		{nil, reproduce.Series{Points: many}, plot.Line},
	} {
		chart := chartOf(&reproduce.Figure{Categories: c.categories, Series: []reproduce.Series{{Name: "empty"}, c.s}})
		if len(chart.Series) != 1 || chart.Series[0].Kind != c.want || chart.Series[0].Dashed != c.s.Dashed {
			t.Errorf("%+v: %d series, kind %v, want 1 of kind %v", c.s, len(chart.Series), chart.Series[0].Kind, c.want)
		}
	}
}

// runLab runs a command line of the laboratory.
func runLab(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cmdline.Main(ctx, args, stdout, stderr, Add)
}
