package app

import (
	"bytes"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// filler takes the second column of a wide character while tabwriter, for which every character has one column,
// works out the cells. It is a noncharacter of Unicode, which no text has.
const filler = '\uFDD0'

// table lays out cells as tabwriter does, by the columns that a terminal gives them: Chinese characters take two.
type table struct{ *tabwriter.Writer }

// newTable starts a table with two spaces between its columns; flags are tabwriter's.
func newTable(w io.Writer, flags uint) *table {
	return &table{tabwriter.NewWriter(unfilled{w}, 0, 0, 2, ' ', flags)}
}

// Write adds text, whole characters only.
func (t *table) Write(text []byte) (int, error) {
	var b bytes.Buffer
	for _, r := range string(text) {
		b.WriteRune(r)
		if isWide(r) {
			b.WriteRune(filler)
		}
	}
	if _, err := t.Writer.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// unfilled drops fillers.
type unfilled struct{ w io.Writer }

// Write writes text without its fillers.
func (u unfilled) Write(text []byte) (int, error) {
	if _, err := io.WriteString(u.w, strings.ReplaceAll(string(text), string(filler), "")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// isWide says whether a terminal gives a character two columns: those of Unicode Standard Annex 11 of class W or F
// that Chinese, Japanese and Korean text is made of.
func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) && (r < 0xFF61 || r > 0xFFDC) || // but half-width forms
		r >= 0x3000 && r <= 0x303E || r >= 0xFF01 && r <= 0xFF60 || r >= 0xFFE0 && r <= 0xFFE6
}
