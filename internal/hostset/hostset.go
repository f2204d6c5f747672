// Package hostset expands sets of host names in Slurm's notation: "host-[001-512]", "host-[001-004,010]",
// "r[1-4]n[01-36]", "login1,host-[01-16]". It keeps leading zeros, limits the expansion, and rejects a set that
// contains a name twice. Groups are named sets.
package hostset

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"fairlane/internal/phrase"
)

// Limits of a set.
const (
	MaxNames  = 65_536 // in one set
	MaxLength = 64_000 // bytes of a set; a job on a large cluster has a few thousand
	maxDigits = 18     // of a number in brackets
	maxParts  = 8      // pairs of brackets in one name
	maxText   = 128    // bytes outside the brackets of one name
	maxQuoted = 80     // bytes of a set that an error repeats
)

// Error reports a fault of a set, and its position.
type Error struct {
	Set  string
	At   int         // character, from 1; 0 if the fault concerns the whole set
	Said phrase.Text // value found and values allowed
}

var _ phrase.Sentence = (*Error)(nil)

// Error returns the set, the position, the value found and the values allowed.
func (e *Error) Error() string { return e.Sentence().String() }

// Sentence returns the error as a sentence in any language.
func (e *Error) Sentence() phrase.Text {
	if e.At > 0 {
		return phrase.Of("hostset.at", "set", quote(e.Set), "at", e.At, "text", e.Said)
	}
	return phrase.Of("hostset.whole", "set", quote(e.Set), "text", e.Said)
}

// Is reports whether a text is a set of hosts rather than one name: it contains brackets or commas.
func Is(text string) bool { return strings.ContainsAny(text, "[],") }

// Expand returns the names in a set, in its order. A text without brackets and commas is one name. The error is an
// *Error.
func Expand(text string) ([]string, error) {
	if len(text) > MaxLength {
		return nil, &Error{text, 0, phrase.Of("hostset.too-long", "n", len(text), "max", MaxLength)}
	}
	p := parser{text: text}
	var out []string
	for p.more() {
		pattern, err := p.pattern()
		if err != nil {
			return nil, err
		}
		if n := pattern.size(); n > MaxNames || len(out)+n > MaxNames {
			return nil, &Error{text, 0, phrase.Of("hostset.too-many", "max", MaxNames)}
		}
		out = pattern.appendTo(out)
	}
	if name, ok := repeated(out); ok {
		return nil, &Error{text, 0, phrase.Of("hostset.twice", "name", quote(name))}
	}
	return out, nil
}

// repeated returns a name that a list contains twice.
func repeated(names []string) (string, bool) {
	if len(names) < 2 {
		return "", false
	}
	seen := make(map[string]struct{}, len(names))
	for _, n := range names {
		if _, twice := seen[n]; twice {
			return n, true
		}
		seen[n] = struct{}{}
	}
	return "", false
}

// span is a range of numbers with leading zeros up to a width.
type span struct {
	low, high uint64
	width     int
}

func (s span) size() uint64 { return s.high - s.low + 1 }

// part is a text with the numbers in the brackets after it; none if the name ends with the text.
type part struct {
	text  string
	spans []span
}

type pattern []part

// size returns the number of names of a pattern, at most MaxNames+1.
func (p pattern) size() int {
	total := uint64(1)
	for _, x := range p {
		if x.spans == nil {
			continue
		}
		n := uint64(0)
		for _, s := range x.spans {
			if n += s.size(); n > MaxNames {
				return MaxNames + 1
			}
		}
		if total *= n; total > MaxNames {
			return MaxNames + 1
		}
	}
	return int(total)
}

// appendTo appends the names of a pattern to a list; the numbers in the last brackets vary fastest.
func (p pattern) appendTo(out []string) []string {
	names := []string{""}
	for _, x := range p {
		var next []string
		for _, name := range names {
			if x.spans == nil {
				next = append(next, name+x.text)
			}
			for _, s := range x.spans {
				for v := s.low; ; v++ {
					next = append(next, name+x.text+padded(v, s.width))
					if v == s.high {
						break
					}
				}
			}
		}
		names = next
	}
	return append(out, names...)
}

func padded(v uint64, width int) string {
	s := strconv.FormatUint(v, 10)
	if n := width - len(s); n > 0 {
		s = strings.Repeat("0", n) + s
	}
	return s
}

// parser parses a set; at is the index of the next byte, and started reports that a name was parsed.
type parser struct {
	text    string
	at      int
	started bool
}

func (p *parser) fail(at int, said phrase.Text) error {
	return &Error{p.text, utf8.RuneCountInString(p.text[:at]) + 1, said}
}

// more reports whether another name follows: the first, or one after a comma.
func (p *parser) more() bool {
	if !p.started {
		p.started = true
		return true
	}
	if p.at >= len(p.text) {
		return false
	}
	p.at++ // the comma that ended the last name
	return true
}

// pattern parses a name up to a comma outside brackets, or to the end.
func (p *parser) pattern() (pattern, error) {
	var out pattern
	begin, brackets := p.at, 0
	end := func(x part) pattern {
		if len(out) == 0 {
			x.text = strings.TrimLeft(x.text, " \t")
		}
		return append(out, x)
	}
	text := p.at
	for p.at < len(p.text) && p.text[p.at] != ',' {
		switch p.text[p.at] {
		case ']':
			return nil, p.fail(p.at, phrase.Of("hostset.unopened", "want", phrase.Of("hostset.syntax")))
		case '[':
			if brackets++; brackets > maxParts {
				return nil, p.fail(p.at, phrase.Of("hostset.brackets", "max", maxParts))
			}
			x := part{text: p.text[text:p.at]}
			var err error
			if x.spans, err = p.spans(); err != nil {
				return nil, err
			}
			out = end(x)
			text = p.at
		default:
			p.at++
		}
	}
	if tail := strings.TrimRight(p.text[text:p.at], " \t"); tail != "" || len(out) == 0 {
		out = end(part{text: tail})
	}
	literal := 0
	for _, x := range out {
		literal += len(x.text)
	}
	switch {
	case brackets > 0 && literal > maxText:
		return nil, p.fail(begin, phrase.Of("hostset.long-name", "n", literal, "max", maxText))
	case len(out) == 1 && out[0].text == "" && out[0].spans == nil:
		return nil, p.fail(begin, phrase.Of("hostset.no-name", "want", phrase.Of("hostset.syntax")))
	}
	return out, nil
}

// spans parses "[001-004,010]".
func (p *parser) spans() ([]span, error) {
	open := p.at
	length := strings.IndexAny(p.text[open+1:], "[]")
	if length < 0 || p.text[open+1+length] == '[' {
		return nil, p.fail(open, phrase.Of("hostset.unclosed"))
	}
	var out []span
	at := open + 1
	for word := range strings.SplitSeq(p.text[at:at+length], ",") {
		s, err := p.span(at, word)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		at += len(word) + 1
	}
	p.at = open + 1 + length + 1
	return out, nil
}

// span parses "010" or "001-004"; at is its position in the set.
func (p *parser) span(at int, word string) (span, error) {
	low, high, ranged := strings.Cut(strings.TrimSpace(word), "-")
	a, okA := number(low)
	b, okB := a, okA
	if ranged {
		b, okB = number(high)
	} else {
		high = low
	}
	switch {
	case !okA || !okB:
		return span{}, p.fail(at, phrase.Of("hostset.no-range", "found", quote(word), "max", maxDigits))
	case b < a:
		return span{}, p.fail(at, phrase.Of("hostset.descends", "found", quote(word)))
	case len(high) != len(low) && (high[0] == '0' || len(high) < len(low)):
		return span{}, p.fail(at, phrase.Of("hostset.widths", "found", quote(word)))
	}
	s := span{low: a, high: b}
	if low[0] == '0' {
		s.width = len(low)
	}
	return s, nil
}

// number parses decimal digits.
func number(s string) (uint64, bool) {
	if s == "" || len(s) > maxDigits || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 10, 64)
	return v, err == nil
}

func quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "..."
	}
	return strconv.Quote(s)
}
