package texttable

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func row(cells ...string) []Cell {
	var out []Cell
	for _, text := range cells {
		out = append(out, Cell{Text: text})
	}
	return out
}

func written(t *testing.T, table *Table, columns int) string {
	t.Helper()
	var b bytes.Buffer
	if err := table.Write(&b, columns); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	bar := func(columns int) string { return strings.Repeat("█", columns) }
	table := &Table{Right: []bool{false, true}, Rows: [][]Cell{
		row("DEVICE", "RATE", "SEEN", "SHARE", "FAULT"),
		append(row("a-host-with-a-long-name/P1", "12.5 Gbit/s", "2026-11-24T19:25:12Z"), Cell{Draw: bar}, Cell{Text: "设备没有应答：请检查电缆"}),
		append(row("h2/P1", "1 Gbit/s", "-"), Cell{Draw: bar}, Cell{}),
	}}
	for columns, want := range map[int]string{
		0: "DEVICE                             RATE  SEEN                  SHARE                     FAULT\n" +
			"a-host-with-a-long-name/P1  12.5 Gbit/s  2026-11-24T19:25:12Z  ████████████████████████  设备没有应答：请检查电缆\n" +
			"h2/P1                          1 Gbit/s  -                     ████████████████████████\n",
		100: "DEVICE                             RATE  SEEN                  SHARE   FAULT\n" +
			"a-host-with-a-long-name/P1  12.5 Gbit/s  2026-11-24T19:25:12Z  ██████  设备没有应答：请检查电缆\n" +
			"h2/P1                          1 Gbit/s  -                     ██████\n",
		80: "DEVICE                    RATE  SEEN                  SHARE   FAULT\n" +
			"a-host-with-a-lo…  12.5 Gbit/s  2026-11-24T19:25:12Z  ██████  设备没有应答：请…\n" +
			"h2/P1                 1 Gbit/s  -                     ██████\n",
		60: "DEVICE                  RATE  SEEN                  FAULT\n" +
			"a-host-with-a-…  12.5 Gbit/s  2026-11-24T19:25:12Z  设备没…\n" +
			"h2/P1               1 Gbit/s  -\n",
	} {
		got := written(t, table, columns)
		if columns == 100 { // the bar takes the rest
			if !strings.Contains(got, "请检查电缆") || strings.Count(got, "█") < 12 {
				t.Errorf("at %d columns:\n%s", columns, got)
			}
			continue
		}
		if got != want {
			t.Errorf("at %d columns:\n%swant\n%s", columns, got, want)
		}
	}
}

// Whatever the table contains, no line is wider than the terminal as long as the columns can be narrow enough. Without
// a terminal, no cell is shortened.
func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringOfN(rapid.RuneFrom([]rune("ab -1中文（█")), 0, 60, -1)
		n := rapid.IntRange(1, 6).Draw(t, "columns of the table")
		table := &Table{Prose: rapid.Bool().Draw(t, "prose")}
		for range rapid.IntRange(1, 6).Draw(t, "rows") {
			table.Rows = append(table.Rows, row(rapid.SliceOfN(cell, n, n).Draw(t, "row")...))
		}
		columns := rapid.SampledFrom([]int{80, 200}).Draw(t, "columns")
		var b bytes.Buffer
		if err := table.Write(&b, columns); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if Width(line) > columns {
				t.Fatalf("%d columns at a terminal of %d: %q", Width(line), columns, line)
			}
		}
		b.Reset()
		if err := table.Write(&b, 0); err != nil {
			t.Fatal(err)
		}
		for _, r := range table.Rows {
			for _, c := range r {
				if !strings.Contains(b.String(), strings.TrimRight(c.Text, " ")) {
					t.Fatalf("%q is not in\n%s", c.Text, b.String())
				}
			}
		}
	})
}

func TestSentencesAreBrokenAndClipped(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		text           string
		columns, lines int
		want           string
	}{
		{"one two three four", 0, 1, "one two three four"},
		{"one two three four", 9, 3, "one two\n  three\n  four"},
		{"one two three four", 9, 2, "one two\n  three…"},
		{"onetwothreefour", 6, 3, "onetwo\n  thre\n  efo…"},
		{"设备没有应答，请检查", 8, 2, "设备没有\n  应答…"},
		{"", 8, 2, ""},
	} {
		if got := Wrap(x.text, "  ", x.columns, x.lines); got != x.want {
			t.Errorf("%q in %d lines of %d is\n%s\nwant\n%s", x.text, x.lines, x.columns, got, x.want)
		}
	}
}

func TestColumnsAreThoseOfTheEnvironmentOrTheTerminal(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	for value, want := range map[string]int{"": 0, "200": 200, "-3": 0, "wide": 0} {
		env := func(string) string { return value }
		if got := Columns(file, env); got != want {
			t.Errorf("COLUMNS=%q: %d columns, want %d", value, got, want)
		}
		if got := Columns(&bytes.Buffer{}, env); got != want {
			t.Errorf("COLUMNS=%q without a file: %d columns, want %d", value, got, want)
		}
	}
}

// A cell of several numbers loses the later ones before names become too short to identify rows.
func TestLaterNumbersOfACellAreDroppedBeforeNames(t *testing.T) {
	t.Parallel()
	row := func(cells ...string) (out []Cell) {
		for _, c := range cells {
			out = append(out, Cell{Text: c})
		}
		return out
	}
	table := Table{Rows: [][]Cell{
		row("TENANT", "WEIGHT", "FLOWS", "ENTITLED", "PREDICTED (ERROR)", "BEFORE"),
		row("bronze", "1", "16", "9.091 Gbit/s", "9.099 Gbit/s ± 4 % (0.1 %)", "14.313 Gbit/s ± 4 %"),
	}}
	var b strings.Builder
	if err := table.Write(&b, 80); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bronze ", "9.091 Gbit/s", "9.099 Gbit/s", "14.313 Gbit/s"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// Sentences are shown completely: on the line of their row if there is room, below it on a narrow terminal.
func TestProseIsWrappedAndNeverShortened(t *testing.T) {
	t.Parallel()
	table := &Table{Prose: true, Indent: "  ", Rows: [][]Cell{
		row("SETTING", "VALUE", "RULE", "WHY"),
		row("sl[2].increase", "1", "smallest-increase", "the smallest with which the timer fits 16 bits: each unit widens the saw-tooth"),
		row("ccti_limit", "127", "whole-table", "128 entries - 1"),
		row("per_sl", "false", "port-control", ""),
	}}
	for columns, want := range map[int]string{
		100: "  SETTING         VALUE  RULE               WHY\n" +
			"  sl[2].increase  1      smallest-increase  the smallest with which the timer fits 16 bits: each\n" +
			"                                            unit widens the saw-tooth\n" +
			"  ccti_limit      127    whole-table        128 entries - 1\n" +
			"  per_sl          false  port-control\n",
		60: "  SETTING         VALUE  RULE\n" +
			"  sl[2].increase  1      smallest-increase\n" +
			"      the smallest with which the timer fits 16 bits: each\n" +
			"      unit widens the saw-tooth\n" +
			"  ccti_limit      127    whole-table\n" +
			"      128 entries - 1\n" +
			"  per_sl          false  port-control\n",
	} {
		if got := written(t, table, columns); got != want {
			t.Errorf("at %d columns:\n%swant\n%s", columns, got, want)
		}
	}
}

// Optional columns are omitted before anything is shortened.
func TestOptionalColumnsMakeRoom(t *testing.T) {
	t.Parallel()
	table := &Table{Optional: []bool{false, false, true}, Rows: [][]Cell{row("ACTION", "OBJECT", "FROM"), row("rollout.start", "c54cb97d18fd", "127.0.0.1:53824")}}
	for columns, want := range map[int]string{
		0:  "ACTION         OBJECT        FROM\nrollout.start  c54cb97d18fd  127.0.0.1:53824\n",
		44: "ACTION         OBJECT        FROM\nrollout.start  c54cb97d18fd  127.0.0.1:53824\n",
		43: "ACTION         OBJECT\nrollout.start  c54cb97d18fd\n",
	} {
		if got := written(t, table, columns); got != want {
			t.Errorf("at %d columns:\n%swant\n%s", columns, got, want)
		}
	}
}
