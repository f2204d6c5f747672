package catalogue

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// meet appends a part: a value or the text between two values. Chinese has a space next to Latin words and numbers and none next to
// Chinese, and only the value says which it is: a space between two Chinese characters is left out, and one that is missing beside a Latin
// value is put in. Templates without Chinese are not changed.
func meet(out []byte, part string, isValue bool) []byte {
	left, _ := utf8.DecodeLastRune(out)
	right, size := utf8.DecodeRuneInString(part)
	switch {
	case len(out) == 0 || part == "":
	case left == ' ' && isValue && chinese(right):
		if before, _ := utf8.DecodeLastRune(out[:len(out)-1]); chinese(before) {
			out = bytes.TrimSuffix(out, []byte(" "))
		}
	case right == ' ' && !isValue && chinese(left):
		if after, _ := utf8.DecodeRuneInString(part[size:]); chinese(after) {
			part = part[size:]
		}
	case isValue && unicode.Is(unicode.Han, left) && latin(right), !isValue && latin(left) && unicode.Is(unicode.Han, right):
		out = append(out, ' ')
	}
	return append(out, part...)
}

// chinese reports whether a character is one of Chinese text: a word's or one of its full-width marks.
func chinese(r rune) bool {
	return unicode.Is(unicode.Han, r) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}

// latin reports whether a character is a letter or digit of ASCII.
func latin(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
