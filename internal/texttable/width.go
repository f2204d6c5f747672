// Package texttable formats text for terminals: tables aligned by the display width of characters, and fitted to the
// width of the terminal.
package texttable

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Columns returns the width for text, in columns: COLUMNS if it is set, otherwise the width of w's terminal. It is 0 if
// w is not a terminal: then nothing is shortened.
func Columns(w io.Writer, getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// Width returns the number of terminal columns of a text: East Asian wide characters take two (Unicode Standard Annex
// 11), combining marks none.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case wide(r):
		return 2
	}
	return 1
}

func wide(r rune) bool {
	for _, span := range [...][2]rune{
		{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
		{0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
	} {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	return false
}

// Clip shortens a text to a number of columns, with an ellipsis for what it omits.
func Clip(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n += runeWidth(r); n > columns-1 {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), " ") + "…"
}

// Wrap breaks a text at spaces, and between wide characters, into at most the given number of lines and columns; lines
// after the first begin with indent. An ellipsis replaces text beyond the last line. With 0 columns, it returns the
// text unchanged.
func Wrap(s, indent string, columns, lines int) string {
	if columns <= 0 {
		return s
	}
	var b strings.Builder
	room := columns
	for n := 1; ; n++ {
		if n == lines || Width(s) <= room {
			b.WriteString(Clip(s, room))
			return b.String()
		}
		line := breakAt(s, room)
		b.WriteString(strings.TrimRight(line, " ") + "\n" + indent)
		s = strings.TrimLeft(s[len(line):], " ")
		room = max(columns-Width(indent), 1)
	}
}

// breakAt returns the start of a text that fits into the columns: up to the last space or wide character, or else as
// much as fits.
func breakAt(s string, columns int) string {
	n, fits, best := 0, 0, 0
	for i, r := range s {
		if r == ' ' || wide(r) && !unicode.IsPunct(r) {
			best = i
		}
		if n += runeWidth(r); n > columns {
			break
		}
		fits = i + len(string(r))
	}
	if best > 0 {
		return s[:best]
	}
	return s[:max(fits, 1)]
}
