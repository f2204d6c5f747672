// Package hostset expands sets of host names as Slurm writes them: "host-[001-512]", "host-[001-004,010]",
// "r[1-4]n[01-36]", "login1,host-[01-16]". Leading zeros are kept, expansion is bounded, and a name that a set has
// twice is an error. Groups are sets that have a name.
package hostset

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"fairlane/internal/phrase"
)

// Bounds of a set.
const (
	MaxNames  = 65_536 // that one set stands for
	MaxLength = 64_000 // bytes of a set; that of a job of a large cluster has a few thousand
	maxDigits = 18     // of a number in brackets
	maxParts  = 8      // pairs of brackets in one name
	maxText   = 128    // bytes outside the brackets of one name
	maxQuoted = 80     // bytes of a set that an error repeats
)

// Error says what is wrong with a set, and where in it.
type Error struct {
	Set  string
	At   int         // character, from 1; 0 when it is of the set as a whole
	Said phrase.Text // what was found and what is allowed
}

var _ phrase.Sentence = (*Error)(nil)

// Error prints the set, the place, what was found and what is allowed.
func (e *Error) Error() string { return e.Sentence().String() }

// Sentence is the error for readers of any language.
func (e *Error) Sentence() phrase.Text {
	if e.At > 0 {
		return phrase.Of("hostset.at", "set", quote(e.Set), "at", e.At, "text", e.Said)
	}
	return phrase.Of("hostset.whole", "set", quote(e.Set), "text", e.Said)
}

// Is reports whether a text is written as a set of hosts rather than as one name: it has brackets or commas.
func Is(text string) bool { return strings.ContainsAny(text, "[],") }

// Expand returns the names that a set stands for, in its order, each once. A text without brackets and commas is one
// name. The error is an *Error.
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

// repeated finds a name that a list has twice.
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

// part is a text and the numbers in the brackets behind it; none when the name ends with the text.
type part struct {
	text  string
	spans []span
}

type pattern []part

// size is the number of names of a pattern, or one more than MaxNames when it is larger.
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

// appendTo adds the names of a pattern to a list, the numbers of the last brackets changing first.
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

// parser reads a set; at is the byte that comes next, started says that a name was read.
type parser struct {
	text    string
	at      int
	started bool
}

func (p *parser) fail(at int, said phrase.Text) error {
	return &Error{p.text, utf8.RuneCountInString(p.text[:at]) + 1, said}
}

// more reports whether another name follows: the first, or one behind a comma.
func (p *parser) more() bool {
	if !p.started {
		p.started = true
		return true
	}
	if p.at >= len(p.text) {
		return false
	}
	p.at++ // the comma at which the last name ended
	return true
}

// pattern reads a name up to a comma outside brackets or the end.
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

// spans reads "[001-004,010]".
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

// span reads "010" or "001-004", which stands at a byte of the set.
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

// number reads decimal digits.
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
