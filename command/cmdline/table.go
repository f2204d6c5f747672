package cmdline

import (
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"fairlane/internal/texttable"
)

// Table takes text with tabs between cells, as text/tabwriter does, and Flush formats it with texttable.
type Table struct {
	w     io.Writer
	right bool // all cells are right-aligned
	Prose bool // the last column contains sentences
	Whole bool // nothing is shortened
	text  strings.Builder
}

// NewTable starts a table; flags are those of tabwriter, of which it supports AlignRight.
func NewTable(w io.Writer, flags uint) *Table {
	return &Table{w: w, right: flags&tabwriter.AlignRight != 0}
}

// Write adds text.
func (t *Table) Write(text []byte) (int, error) { return t.text.Write(text) }

// Flush prints the table.
func (t *Table) Flush() error {
	if t.text.Len() == 0 {
		return nil
	}
	out := texttable.Table{Prose: t.Prose}
	for line := range strings.SplitSeq(strings.TrimSuffix(t.text.String(), "\n"), "\n") {
		var row []texttable.Cell
		for cell := range strings.SplitSeq(line, "\t") {
			row = append(row, texttable.Cell{Text: cell})
		}
		out.Rows = append(out.Rows, row)
		for t.right && len(out.Right) < len(row) {
			out.Right = append(out.Right, true)
		}
	}
	if t.right {
		out.Indent = "  "
	}
	t.text.Reset()
	columns := texttable.Columns(t.w, os.Getenv)
	if t.Whole {
		columns = 0
	}
	return out.Write(t.w, columns)
}
