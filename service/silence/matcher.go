// Package silence decides which alerts are muted: silences and the matchers of labels that they consist of. It has no clock and no I/O.
package silence

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"fairlane/internal/phrase"
	"fairlane/service/series"
)

// alertname is the label under which matchers see the name of an alert's rule.
const alertname = "alertname"

// Op is how a matcher compares.
type Op string

// Ops, each before the one that is its beginning.
const (
	OpRegexp    Op = "=~"
	OpNotRegexp Op = "!~"
	OpNotEqual  Op = "!="
	OpEqual     Op = "="
)

func ops() []Op { return []Op{OpRegexp, OpNotRegexp, OpNotEqual, OpEqual} }

// MaxMatcher is the maximum length of a matcher's label and value together, in bytes: quotation marks and escapes in its text do not count, so
// that Parse takes what String returns.
const MaxMatcher = 1024

// Matcher compares one label with a value, or with a regular expression that must match the whole value. A missing label has the value "".
type Matcher struct {
	Name  string
	Op    Op
	Value string
	re    *regexp.Regexp // of OpRegexp and OpNotRegexp
}

// String returns the matcher in the form that Parse takes, with the value in quotes.
func (m Matcher) String() string { return m.Name + string(m.Op) + strconv.Quote(m.Value) }

// Parse parses a matcher: a label's name, an operator and a value, such as fabric=lab or alertname=~"Share.*". White space around the three
// is ignored. A value that begins with a quotation mark is a string in the notation of Go.
func Parse(text string) (Matcher, error) {
	bad := func() (Matcher, error) {
		return Matcher{}, &phrase.Error{Text: phrase.Of("silence.matcher", "found", fmt.Sprintf("%.80q", text))}
	}
	if !utf8.ValidString(text) {
		return bad()
	}
	i := strings.IndexAny(text, "=!")
	if i < 0 {
		return bad()
	}
	m := Matcher{Name: strings.TrimSpace(text[:i])}
	rest := text[i:]
	at := slices.IndexFunc(ops(), func(o Op) bool { return strings.HasPrefix(rest, string(o)) })
	if at < 0 || !labelName.MatchString(m.Name) {
		return bad()
	}
	m.Op = ops()[at]
	m.Value = strings.TrimSpace(rest[len(m.Op):])
	if strings.HasPrefix(m.Value, `"`) {
		value, err := strconv.Unquote(m.Value)
		if err != nil || !utf8.ValidString(value) {
			return bad()
		}
		m.Value = value
	}
	if strings.ContainsRune(m.Value, 0) || len(m.Name)+len(m.Value) > MaxMatcher { // NUL is not storable as text
		return bad()
	}
	if m.Op == OpRegexp || m.Op == OpNotRegexp {
		var err error
		if m.re, err = regexp.Compile("^(?s:" + m.Value + ")$"); err == nil {
			_, err = regexp.Compile(m.Value) // ")(" is valid only between the parentheses above
		}
		if err != nil {
			return Matcher{}, phrase.Because(err, phrase.Of("silence.regexp", "found", fmt.Sprintf("%.80q", m.Value)))
		}
	}
	return m, nil
}

// labelName is the form of a label's name.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// matches reports whether the matcher accepts a label's value.
func (m *Matcher) matches(value string) bool {
	switch m.Op {
	case OpEqual:
		return value == m.Value
	case OpNotEqual:
		return value != m.Value
	case OpRegexp:
		return m.re.MatchString(value)
	case OpNotRegexp:
		return !m.re.MatchString(value)
	}
	return false
}

// Matchers are matchers that all must accept.
type Matchers []Matcher

// MaxMatchers is the maximum number of matchers of a silence.
const MaxMatchers = 32

// ParseAll parses the matchers of a silence. At least one must reject a missing label: otherwise a mistyped name would mute every alert.
func ParseAll(texts []string) (Matchers, error) {
	if len(texts) == 0 || len(texts) > MaxMatchers {
		return nil, &phrase.Error{Text: phrase.Of("silence.count", "n", len(texts), "max", MaxMatchers)}
	}
	list := make(Matchers, len(texts))
	selective := false
	for i, text := range texts {
		m, err := Parse(text)
		if err != nil {
			return nil, err
		}
		list[i] = m
		selective = selective || !m.matches("")
	}
	if !selective {
		return nil, &phrase.Error{Text: phrase.Of("silence.everything")}
	}
	return list, nil
}

// Texts returns the matchers in the form that ParseAll takes.
func (l Matchers) Texts() []string {
	out := make([]string, len(l))
	for i, m := range l {
		out[i] = m.String()
	}
	return out
}

// Match reports whether all matchers accept an alert.
func (l Matchers) Match(a *series.Alert) bool {
	for i := range l {
		value := a.Name
		if l[i].Name != alertname {
			value = a.Label(l[i].Name)
		}
		if !l[i].matches(value) {
			return false
		}
	}
	return len(l) > 0
}
