package cmdline

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTableAlignsByTerminalColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags    uint
		in, want string
	}{
		{0, "租户\t权重\nred\t3\n", "租户  权重\nred   3\n"},
		{0, "TENANT\tW\n中文名\t3\n", "TENANT  W\n中文名  3\n"},
		{0, "GBIT/S（测）\tX\n█████\t1\n", "GBIT/S（测）  X\n█████         1\n"},
		{0, "ｱｲ\tX\nab\tY\n", "ｱｲ  X\nab  Y\n"},
		{tabwriter.AlignRight, "场景\t数\t\n5\t10\t\n", "  场景  数\n     5  10\n"},
	} {
		var out strings.Builder
		tw := NewTable(&out, c.flags)
		n, err := fmt.Fprint(tw, c.in)
		if err != nil || n != len(c.in) {
			t.Errorf("%q: %d bytes written, %v", c.in, n, err)
		}
		if err := tw.Flush(); err != nil {
			t.Error(err)
		}
		if out.String() != c.want {
			t.Errorf("%q gives\n%s, want\n%s", c.in, out.String(), c.want)
		}
	}
}

// All cells of the second column start at the same terminal column, whatever the first contains.
func TestTableColumnsLineUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab█，中文（")), 1, 12, -1), 1, 8).Draw(t, "cells")
		var out strings.Builder
		tw := NewTable(&out, 0)
		for _, cell := range cells {
			_, _ = fmt.Fprintf(tw, "%s\t|\n", cell)
		}
		if err := tw.Flush(); err != nil {
			t.Fatal(err)
		}
		columns := func(s string) int { // of the characters in this test, those of three bytes are wide, except for the bar
			n := utf8.RuneCountInString(s)
			return n + strings.Count(s, "，") + strings.Count(s, "中") + strings.Count(s, "文") + strings.Count(s, "（")
		}
		at := -1
		for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			first, _, found := strings.Cut(line, "|")
			if !found || strings.TrimRight(first, " ") != cells[i] {
				t.Fatalf("row %d is %q, want the cell %q", i, line, cells[i])
			}
			if at < 0 {
				at = columns(first)
			}
			if columns(first) != at {
				t.Fatalf("row %d begins its second cell at %d, the first row at %d:\n%s", i, columns(first), at, out.String())
			}
		}
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, fmt.Errorf("broken") }

func TestTableReportsABrokenWriter(t *testing.T) {
	t.Parallel()
	tw := NewTable(brokenWriter{}, 0)
	_, _ = fmt.Fprint(tw, "a\tb\n")
	if err := tw.Flush(); err == nil || err.Error() != "broken" {
		t.Errorf("got %v", err)
	}
}
