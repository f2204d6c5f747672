package gnmi

import (
	"bytes"
	"math"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/nic/nicyang"
)

// A manager reads ten thousand ports with about two hundred parameters each. The scanner below decodes the parameters in a
// port's configuration if it has the form that agents write: without spaces, escapes and unknown members. Package nicyang
// decodes every other form, and defines what is valid.

// shortestParam is the approximate length of a parameter's text, bytes.
const shortestParam = 56

// scanner decodes JSON text from the left. After the first unexpected input, ok is false.
type scanner struct {
	rest []byte
	ok   bool
}

// skip consumes a literal text.
func (s *scanner) skip(text string) {
	after, ok := bytes.CutPrefix(s.rest, []byte(text))
	s.rest, s.ok = after, s.ok && ok
}

// try consumes a literal text if it is next.
func (s *scanner) try(text string) bool {
	after, ok := bytes.CutPrefix(s.rest, []byte(text))
	s.rest = after
	return s.ok && ok
}

// word consumes a string without escapes.
func (s *scanner) word() []byte {
	s.skip(`"`)
	for i, c := range s.rest {
		switch {
		case c == '"':
			out := s.rest[:i]
			s.rest = s.rest[i+1:]
			return out
		case c == '\\' || c < ' ' || c > '~':
			s.ok = false
			return nil
		}
	}
	s.ok = false
	return nil
}

// number consumes an unsigned number, quoted as JSON_IETF does for 64 bits.
func (s *scanner) number() uint64 {
	var v uint64
	w := s.word()
	s.ok = s.ok && len(w) > 0 && len(w) < 20 && (w[0] != '0' || len(w) == 1) // nicyang decodes numbers of 20 digits
	for _, c := range w {
		s.ok = s.ok && c >= '0' && c <= '9'
		v = v*10 + uint64(c-'0')
	}
	return v
}

// scanParams decodes the parameters of a port's configuration; tail is an object with the rest. ok is false for texts that need
// the full decoder. names interns the parameter names.
func scanParams(text []byte, names map[string]string) (out []driver.NICParam, tail []byte, ok bool) {
	s := &scanner{rest: text, ok: true}
	out = make([]driver.NICParam, 0, len(text)/shortestParam+1)
	if s.skip(`{`); s.try(`"` + nicyang.Module + `:number":`) {
		s.number()
		s.skip(`,`)
	}
	s.skip(`"` + nicyang.Module + `:params":{"param":[`)
	for first := true; s.ok && !s.try(`]}`); first = false {
		if !first {
			s.skip(`,`)
		}
		out = append(out, s.param(names))
	}
	if s.ok && bytes.HasPrefix(s.rest, []byte(`,"`+nicyang.Module+`:wrcc":`)) {
		return out, append([]byte(`{`), s.rest[1:]...), true
	}
	return out, nil, s.ok && string(s.rest) == "}"
}

// param decodes one parameter, whose members are in the order of the model or sorted by key.
func (s *scanner) param(names map[string]string) (p driver.NICParam) {
	index := uint64(math.MaxUint64)
	s.skip(`{`)
	for i := range 2 {
		if i > 0 {
			s.skip(`,`)
		}
		if s.try(`"index":`) {
			index = s.number()
			continue
		}
		s.skip(`"name":`)
		w := s.word()
		name, known := names[string(w)]
		if !known {
			name = string(w)
			names[name] = name
		}
		p.Name = name
	}
	s.skip(`,"config":{"value":`)
	p.Value = s.number()
	s.skip(`}}`)
	s.ok = s.ok && index <= 1<<31 && p.Name != ""
	p.Index = int(index & math.MaxInt32)
	return p
}
