package record_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/record"
)

var header = record.Header{Scenario: "ib16", Seed: 7, Version: "1.2.3"}

func open(t *testing.T, dir string) *record.Dir {
	t.Helper()
	d, err := record.NewDir(dir, header)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func content(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestFilesOfACompleteRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "run")
	d := open(t, dir)
	flows, err := d.FlowsCSV()
	must(t, err)
	lines, err := d.FlowsJSONL()
	must(t, err)
	rates, err := d.Rates()
	must(t, err)
	queues, err := d.Queues()
	must(t, err)
	done := record.Flow{ID: 1, Tenant: "gold", Src: "h1", Dst: "h2", Size: 1000, Start: 1, FCT: 3*quantity.Microsecond + 5, Ideal: 2 * quantity.Microsecond}
	running := record.Flow{ID: 2, Src: "a,b", Dst: `c"d`, Size: 5}
	must(t, flows.Write(done), flows.Write(running), lines.Write(done), lines.Write(running))
	must(t, rates.Write(quantity.Millisecond, "gold", "", 57*quantity.Gbps), rates.Write(2*quantity.Millisecond, "gold", "3", 0))
	must(t, queues.Write(0, "s1/P1", 3, 4096))
	if rows := flows.File().Rows(); rows != 2 {
		t.Errorf("%d rows", rows)
	}
	if got := names(t, dir); !cmp.Equal(got, []string{"flows.csv.partial", "flows.jsonl.partial", "queues.csv.partial", "rates.csv.partial"}) {
		t.Errorf("files of a running run: %v", got)
	}
	must(t, d.Finish(nil))
	want := map[string]string{
		"flows.csv": "# scenario: ib16\n# seed: 7\n# version: 1.2.3\nid,tenant,src,dst,size_bytes,start_us,fct_us,ideal_us,slowdown\n" +
			"1,gold,h1,h2,1000,0.000001,3.000005,2.000000,1.5000025\n2,,\"a,b\",\"c\"\"d\",5,0.000000,,,\n",
		"flows.jsonl": `{"scenario":"ib16","seed":7,"version":"1.2.3"}` + "\n" +
			`{"id":1,"tenant":"gold","src":"h1","dst":"h2","size_bytes":1000,"start_us":0.000001,"fct_us":3.000005,"ideal_us":2.000000,"slowdown":1.5000025}` + "\n" +
			`{"id":2,"src":"a,b","dst":"c\"d","size_bytes":5,"start_us":0.000000}` + "\n",
		"rates.csv":  "# scenario: ib16\n# seed: 7\n# version: 1.2.3\nt_us,tenant,flow,bps\n1000.000000,gold,,57000000000\n2000.000000,gold,3,0\n",
		"queues.csv": "# scenario: ib16\n# seed: 7\n# version: 1.2.3\nt_us,port,queue,bytes\n0.000000,s1/P1,3,4096\n",
	}
	if got := names(t, dir); len(got) != len(want) {
		t.Errorf("files of a complete run: %v", got)
	}
	for name, text := range want {
		if diff := cmp.Diff(text, content(t, dir, name)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestInterruptedRunKeepsItsResultsAndThePreviousRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, cause := range []error{nil, errors.New("interrupted\nat 3 ms"), nil} {
		d := open(t, dir)
		q, err := d.Queues()
		must(t, err, q.Write(quantity.Picoseconds(i), "p", 0, 1), d.Finish(cause))
		if cause == nil {
			continue
		}
		if text := content(t, dir, "queues.csv"); !strings.HasSuffix(text, "\n0.000000,p,0,1\n") {
			t.Errorf("the file of the earlier complete run is now %q", text)
		}
		if text := content(t, dir, "queues.csv.partial"); !strings.HasSuffix(text, "\n0.000001,p,0,1\n# incomplete: \"interrupted\\nat 3 ms\"\n") {
			t.Errorf("the interrupted run left %q", text)
		}
	}
	if text := content(t, dir, "queues.csv"); !strings.HasSuffix(text, "\n0.000002,p,0,1\n") || len(names(t, dir)) != 1 {
		t.Errorf("the next run left %q in %v", text, names(t, dir))
	}
}

func TestFlushShowsARunningRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	r, err := d.Rates()
	must(t, err, r.Write(1, "t", "", 1))
	if text := content(t, dir, "rates.csv.partial"); text != "" {
		t.Errorf("not buffered: %q", text)
	}
	must(t, d.Flush())
	if text := content(t, dir, "rates.csv.partial"); !strings.HasSuffix(text, "\n0.000001,t,,1\n") {
		t.Errorf("after a flush: %q", text)
	}
	must(t, d.Finish(nil))
}

func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	d := open(t, t.TempDir())
	f, err := d.FlowsCSV()
	must(t, err)
	r, err := d.Rates()
	must(t, err)
	fl := record.Flow{ID: 1, Tenant: "gold", Src: "h1", Dst: "h2", Size: 1000, FCT: 3, Ideal: 2}
	must(t, f.Write(fl), r.Write(1, "gold", "flow", 100))
	n := testing.AllocsPerRun(5000, func() {
		if f.Write(fl) != nil || r.Write(1, "gold", "flow", 100) != nil {
			t.Error("not written")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a row", n)
	}
	must(t, d.Finish(nil))
}

func TestErrorsNameTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "rates.csv.partial"), 0o755), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	d := open(t, dir)
	f, err := d.FlowsCSV()
	must(t, err)
	q, err := d.Queues()
	must(t, err)
	_, rates := d.Rates()
	_, again := d.FlowsCSV()
	_, notADir := record.NewDir(filepath.Join(dir, "file", "x"), header)
	for want, err := range map[string]error{
		"rates.csv: ":                        rates,
		"flows.csv: the file is open":        again,
		filepath.Join("file", "x"):           notADir,
		"flows.csv: flow 9: size -1":         f.Write(record.Flow{ID: 9, Size: -1}),
		"queues.csv: -1 bytes at 0 ps: want": q.Write(0, "p", 0, -1),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, name := range []string{"", ".", "../x", "a/b", ".hidden", "a b", "x.partial", strings.Repeat("x", 101)} {
		if _, err := d.Create(name); err == nil || !strings.Contains(err.Error(), "want 1 to 100 letters") {
			t.Errorf("name %q: %v", name, err)
		}
	}
	must(t, d.Finish(nil), d.Finish(nil))
	if _, err := d.Create("late"); err == nil || !strings.Contains(err.Error(), "the run has ended") {
		t.Errorf("after the end: %v", err)
	}
	if text := content(t, dir, "flows.csv"); strings.Contains(text, "9,") {
		t.Errorf("a rejected row is in the file: %q", text)
	}
}

// TestWriteErrorKeepsAllFilesPartial writes to a full disk.
func TestWriteErrorKeepsAllFilesPartial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Symlink("/dev/full", filepath.Join(dir, "rates.csv.partial")))
	d := open(t, dir)
	q, err := d.Queues()
	must(t, err)
	r, err := d.Rates()
	must(t, err)
	must(t, q.Write(1, "p", 0, 1), r.Write(1, "t", "", 1))
	if err := d.Flush(); err == nil || !strings.Contains(err.Error(), "rates.csv: ") || !errors.Is(r.File().Err(), err) && r.File().Err() == nil {
		t.Errorf("flush to a full disk: %v", err)
	}
	if err := r.Write(2, "t", "", 1); err == nil {
		t.Error("the first error is not kept")
	}
	if err := d.Finish(nil); err == nil || !strings.Contains(err.Error(), "rates.csv") {
		t.Errorf("finish with a full disk: %v", err)
	}
	if got := names(t, dir); !cmp.Equal(got, []string{"queues.csv.partial", "rates.csv.partial"}) {
		t.Errorf("files: %v", got)
	}
}

func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	for i := range 64 {
		_, err := d.Create(fmt.Sprintf("f%d", i))
		must(t, err)
	}
	if _, err := d.Create("one-more"); err == nil || !strings.Contains(err.Error(), "want at most 64") {
		t.Errorf("65 files: %v", err)
	}
	must(t, d.Finish(nil))
}

// readMicros is a second, exact parser of times.
func readMicros(s string) (quantity.Picoseconds, error) {
	if s == "" {
		return 0, nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, fmt.Errorf("%q is no number", s)
	}
	r.Mul(r, big.NewRat(1e6, 1))
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, fmt.Errorf("%q is not a whole number of picoseconds", s)
	}
	return quantity.Picoseconds(r.Num().Int64()), nil
}

// parse reads a flow from the fields in the order of the columns.
func parse(row []string) (fl record.Flow, err error) {
	var errs [5]error
	fl.Tenant, fl.Src, fl.Dst = row[1], row[2], row[3]
	fl.ID, errs[0] = strconv.ParseUint(row[0], 10, 64)
	fl.Size, errs[1] = strconv.ParseInt(row[4], 10, 64)
	fl.Start, errs[2] = readMicros(row[5])
	fl.FCT, errs[3] = readMicros(row[6])
	fl.Ideal, errs[4] = readMicros(row[7])
	return fl, errors.Join(errs[:]...)
}

func TestFlowsSurviveBothFormats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		// The names contain no carriage return, because CSV readers convert it to a line feed.
		name := rapid.StringMatching(`[ -~\n\täéß中文#,"]{0,12}`)
		span := rapid.Custom(func(t *rapid.T) quantity.Picoseconds {
			return quantity.Picoseconds(rapid.Int64Min(0).Draw(t, "ps") >> rapid.IntRange(0, 63).Draw(t, "shift"))
		})
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) record.Flow {
			return record.Flow{
				ID: rapid.Uint64().Draw(t, "id"), Tenant: name.Draw(t, "tenant"), Src: name.Draw(t, "src"), Dst: name.Draw(t, "dst"),
				Size: rapid.Int64Min(0).Draw(t, "size"), Start: span.Draw(t, "start"), FCT: span.Draw(t, "fct"), Ideal: span.Draw(t, "ideal"),
			}
		}), 0, 10).Draw(t, "flows")
		d, err := record.NewDir(dir, record.Header{Scenario: "two\nlines, \"quoted\"", Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.FlowsCSV()
		if err != nil {
			t.Fatal(err)
		}
		j, err := d.FlowsJSONL()
		if err != nil {
			t.Fatal(err)
		}
		for _, fl := range want {
			if err := errors.Join(c.Write(fl), j.Write(fl)); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Finish(nil); err != nil {
			t.Fatal(err)
		}
		for format, read := range map[string]func(string) ([]record.Flow, error){"flows.csv": readCSV, "flows.jsonl": readJSONL} {
			got, err := read(filepath.Join(dir, format))
			if err != nil {
				t.Fatal(format, err)
			}
			if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
				t.Fatalf("%s:\n%s", format, diff)
			}
		}
	})
}

func readCSV(path string) ([]record.Flow, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	var out []record.Flow
	for _, row := range rows[1:] {
		fl, err := parse(row)
		if err != nil {
			return nil, err
		}
		if s, ok := fl.Slowdown(); ok != (row[8] != "") || ok && !cmp.Equal(row[8], strconv.FormatFloat(s, 'g', 8, 64)) {
			return nil, fmt.Errorf("slowdown %q, want %v", row[8], s)
		}
		out = append(out, fl)
	}
	return out, nil
}

func readJSONL(path string) ([]record.Flow, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	var h record.Header
	if err := dec.Decode(&h); err != nil || h.Scenario == "" {
		return nil, fmt.Errorf("header %+v: %w", h, err)
	}
	var out []record.Flow
	for dec.More() {
		var row struct {
			ID                                     json.Number
			Tenant, Src, Dst                       string
			Size_bytes, Start_us, Fct_us, Ideal_us json.Number
			Slowdown                               float64
		}
		if err := dec.Decode(&row); err != nil {
			return nil, err
		}
		fl, err := parse([]string{row.ID.String(), row.Tenant, row.Src, row.Dst, row.Size_bytes.String(), row.Start_us.String(), row.Fct_us.String(), row.Ideal_us.String()})
		if err != nil {
			return nil, err
		}
		out = append(out, fl)
	}
	return out, nil
}

func BenchmarkFlowsCSV(b *testing.B) {
	d, err := record.NewDir(b.TempDir(), header)
	if err != nil {
		b.Fatal(err)
	}
	f, err := d.FlowsCSV()
	if err != nil {
		b.Fatal(err)
	}
	fl := record.Flow{ID: 123456, Tenant: "gold", Src: "h1/P1", Dst: "h2/P1", Size: 1 << 20, Start: quantity.Second, FCT: quantity.Millisecond, Ideal: quantity.Microsecond}
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Write(fl); err != nil {
			b.Fatal(err)
		}
	}
}
