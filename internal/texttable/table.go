package texttable

import (
	"io"
	"strings"
)

const (
	gap        = "  "
	narrow     = 8  // minimum columns to which text is shortened
	name       = 16 // as narrow, for the first column: its names identify the rows
	narrowest  = 4  // as narrow, if the table is still too wide
	several    = 20 // a cell of numbers wider than this holds several; the later ones may be omitted
	barWidth   = 24 // columns of a bar if there is room
	barLeast   = 6  // minimum columns of a bar; otherwise it is omitted
	proseLeast = 48 // minimum columns for sentences on the line of their row; otherwise they are placed below
)

// Cell is one cell of a table: text, or a drawing.
type Cell struct {
	Text string
	Draw func(columns int) string // draws a bar that fills the columns, instead of the text
}

// natural returns the width of a cell if there is room.
func (c *Cell) natural() int {
	if c.Draw != nil {
		return barWidth
	}
	return Width(c.Text)
}

// In returns the content of the cell in the given columns.
func (c *Cell) In(columns int) string {
	if c.Draw != nil {
		return c.Draw(min(columns, barWidth))
	}
	return Clip(c.Text, columns)
}

// Table is rows of cells. A row with one cell is a separate line, which belongs to no column; the last cell of a row
// may exceed its column.
type Table struct {
	Right    []bool // by column: right-aligned
	Optional []bool // by column: omitted if cells would otherwise have to be shortened
	Prose    bool   // the last column contains sentences: they are wrapped, on the line of the row or below it, and never shortened
	Indent   string // at the start of each row
	Rows     [][]Cell
}

// isRight reports whether a column is right-aligned.
func (t *Table) isRight(column int) bool { return column < len(t.Right) && t.Right[column] }

// Write prints the table within the columns, if possible; 0 means no limit.
func (t *Table) Write(w io.Writer, columns int) error {
	widths := t.fit(columns)
	var b strings.Builder
	for i, row := range t.Rows {
		if last := len(widths) - 1; t.Prose && columns > 0 && len(row) > 1 && len(row) == len(widths) {
			t.writeProse(&b, row[:last], row[last].Text, i == 0, widths, columns)
			continue
		}
		b.WriteString(strings.TrimRight(t.line(row, widths, columns), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeProse writes a row that ends with a sentence. If the prose has no column, the sentence is placed below its row,
// without a header.
func (t *Table) writeProse(b *strings.Builder, row []Cell, prose string, head bool, widths []int, columns int) {
	line := t.line(row, widths[:len(row)], columns)
	column := Width(line)
	room := widths[len(row)]
	if room < 0 {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if line = t.Indent + strings.Repeat(gap, 2); prose == "" || head {
			return
		}
		column = Width(line)
		room = max(columns-column, narrow)
	}
	wrapped := Wrap(prose, "", room, len(prose)+1)
	b.WriteString(strings.TrimRight(line+strings.ReplaceAll(wrapped, "\n", "\n"+strings.Repeat(" ", column)), " ") + "\n")
}

// line formats one row.
func (t *Table) line(row []Cell, widths []int, columns int) string {
	if len(row) == 1 && len(widths) > 1 {
		return t.Indent + row[0].Text
	}
	var b strings.Builder
	b.WriteString(t.Indent)
	at := Width(t.Indent)
	for i := range row {
		if widths[i] < 0 { // omitted
			continue
		}
		room := widths[i]
		if last := i == len(row)-1; last && i < len(widths)-1 { // it may extend into the columns that its row lacks
			if room = row[i].natural(); columns > 0 {
				room = max(min(room, columns-at), widths[i])
			}
		}
		cell := row[i].In(room)
		pad := strings.Repeat(" ", max(room-Width(cell), 0))
		if t.isRight(i) {
			cell = pad + cell
		} else {
			cell += pad
		}
		b.WriteString(cell + gap)
		at += room + len(gap)
	}
	return b.String()
}

// fit chooses the widths of the columns. It starts from the natural widths. While the total is too large, it takes these
// steps in order:
//  1. omit optional columns and shorten bars
//  2. shorten words, the longest first
//  3. omit bars
//  4. omit the later numbers of a cell
//  5. shorten words further
//  6. shorten numbers
//
// Prose takes what the other columns leave. A width of -1 omits a column.
func (t *Table) fit(columns int) []int {
	widths, bars := t.natural()
	if columns <= 0 {
		return widths
	}
	if last := len(widths) - 1; t.Prose && t.total(widths) > columns {
		widths[last] = -1
		if room := columns - t.total(widths) - len(gap); room >= proseLeast {
			widths[last] = room
		}
	}
	for i := min(len(widths), len(t.Optional)) - 1; i >= 0; i-- {
		if t.Optional[i] && t.total(widths) > columns {
			widths[i] = -1
		}
	}
	shrink := func(least int, takes func(column int) bool) {
		for t.total(widths) > columns {
			widest := -1
			for i, n := range widths {
				if n > least && takes(i) && (widest < 0 || n > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				return
			}
			widths[widest]--
		}
	}
	numbers := make([]bool, len(widths))
	for i := range numbers {
		numbers[i] = t.isNumbers(i)
	}
	isWords := func(i int) bool { return !bars[i] && !numbers[i] }
	shrink(barLeast, func(i int) bool { return bars[i] })
	shrink(narrow, func(i int) bool { return isWords(i) && (i > 0 || widths[i] > name) })
	for i := range widths {
		if bars[i] && t.total(widths) > columns {
			widths[i] = -1
		}
	}
	shrink(several, func(i int) bool { return numbers[i] })
	shrink(narrow, isWords)
	shrink(narrowest, func(i int) bool { return i > 0 && isWords(i) })
	shrink(narrowest, isWords)
	shrink(narrow, func(i int) bool { return numbers[i] })
	return widths
}

// isNumbers reports whether the cells of a column are numbers, rates or times, which are of little use when cut off. Its
// header may be words.
func (t *Table) isNumbers(column int) bool {
	found := false
	for k, row := range t.Rows {
		if k == 0 || column >= len(row) || row[column].Text == "" || row[column].Text == "-" {
			continue
		}
		if c := row[column].Text[0]; c < '0' || c > '9' {
			return false
		}
		found = true
	}
	return found
}

// natural returns the natural widths of the columns, and which of them have bars.
func (t *Table) natural() (widths []int, bars []bool) {
	most := 0
	for _, row := range t.Rows {
		most = max(most, len(row))
	}
	widths, bars = make([]int, most), make([]bool, most)
	for _, row := range t.Rows {
		for i := range row {
			if last := i == len(row)-1; last && i < most-1 && !t.isRight(i) {
				continue
			}
			widths[i] = max(widths[i], row[i].natural())
			bars[i] = bars[i] || row[i].Draw != nil
		}
	}
	return widths, bars
}

// total returns the width of a full row.
func (t *Table) total(widths []int) int {
	n := Width(t.Indent) - len(gap)
	for _, x := range widths {
		if x >= 0 {
			n += x + len(gap)
		}
	}
	return n
}
