package cc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
)

// ParamKind is the kind of value that a parameter takes.
type ParamKind uint8

// Kinds of parameters. Values are float64: durations in picoseconds, rates in bit/s, a word by its
// index in Words, a flag as 0 or 1.
const (
	ParamNumber ParamKind = iota
	ParamDuration
	ParamRate
	ParamWord
	ParamFlag
)

// Param is one parameter of an algorithm.
type Param struct {
	Name     string // as in a scenario file, lower case with underscores
	Kind     ParamKind
	Default  float64
	Min, Max float64  // inclusive; unused for words and flags
	Words    []string // for ParamWord: by value
	None     bool     // of a rate: the word none stands for 0
	Step     bool     // an increase of a rate, for a NIC of the rate in rate_per where there is one
	Doc      string   // meaning, unit, source
}

// noRate is the word for a rate of 0 where there may be none.
const noRate = "none"

// Text returns a value as a scenario file writes it.
func (p *Param) Text(v float64) string {
	if p.None && v == 0 {
		return noRate
	}
	switch p.Kind {
	case ParamDuration:
		return quantity.Picoseconds(v).String()
	case ParamRate:
		return quantity.BitRate(v).String()
	case ParamWord:
		if i := int(v); i >= 0 && i < len(p.Words) {
			return p.Words[i]
		}
		return "?"
	case ParamFlag:
		return strconv.FormatBool(v != 0)
	default:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
}

// Allowed says which values the parameter takes, for messages and pages.
func (p *Param) Allowed() string {
	switch p.Kind {
	case ParamWord:
		return "one of " + strings.Join(p.Words, ", ")
	case ParamFlag:
		return "true or false"
	case ParamDuration:
		return fmt.Sprintf("a duration from %s to %s", p.Text(p.Min), p.Text(p.Max))
	case ParamRate:
		if p.None {
			return fmt.Sprintf("none, or a rate from %s to %s", p.Text(p.Min), p.Text(p.Max))
		}
		return fmt.Sprintf("a rate from %s to %s", p.Text(p.Min), p.Text(p.Max))
	default:
		return fmt.Sprintf("a number from %s to %s", p.Text(p.Min), p.Text(p.Max))
	}
}

// Parse reads a value as a scenario file writes it. The error names what is allowed.
func (p *Param) Parse(text string) (float64, error) {
	v, err := p.parse(text)
	if err == nil {
		err = p.Check(v)
	}
	if err != nil {
		return 0, fmt.Errorf("%s %q: want %s", p.Name, text, p.Allowed())
	}
	return v, nil
}

func (p *Param) parse(text string) (float64, error) {
	switch p.Kind {
	case ParamDuration:
		d, err := quantity.ParsePicoseconds(text)
		return float64(d), err
	case ParamRate:
		if p.None && text == noRate {
			return 0, nil
		}
		r, err := quantity.ParseBitRate(text)
		return float64(r), err
	case ParamWord:
		if i := slices.Index(p.Words, text); i >= 0 {
			return float64(i), nil
		}
		return 0, fmt.Errorf("unknown word %q", text)
	case ParamFlag:
		switch text {
		case "true":
			return 1, nil
		case "false":
			return 0, nil
		}
		return 0, fmt.Errorf("not a flag: %q", text)
	default:
		return strconv.ParseFloat(text, 64)
	}
}

// Check returns an error that names what is allowed unless v is in range.
func (p *Param) Check(v float64) error {
	ok := !math.IsNaN(v)
	switch p.Kind {
	case ParamWord:
		ok = ok && v == math.Trunc(v) && v >= 0 && int(v) < len(p.Words)
	case ParamFlag:
		ok = v == 0 || v == 1
	default:
		ok = ok && (v >= p.Min && v <= p.Max || p.None && v == 0)
	}
	if !ok {
		return fmt.Errorf("%s %s: want %s", p.Name, p.Text(v), p.Allowed())
	}
	return nil
}

// Values are the parameters of an algorithm by name.
type Values map[string]float64

// Span returns a duration.
func (v Values) Span(name string) quantity.Picoseconds { return quantity.Picoseconds(v[name]) }

// Flag returns a flag.
func (v Values) Flag(name string) bool { return v[name] != 0 }

// Spec is an algorithm that scenarios can name.
type Spec struct {
	Name   string
	Title  string // one line
	Source string // paper, standard or manual
	Params []Param
	// New builds it from complete, checked values. It fails when values contradict each other.
	New func(v Values) (Algorithm, error)
}

// Param returns a parameter by name.
func (s *Spec) Param(name string) (*Param, bool) {
	i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return nil, false
	}
	return &s.Params[i], true
}

// Build makes the algorithm: given values are checked, the others are the defaults. An error names
// the parameter, what was found and what is allowed.
func (s *Spec) Build(given Values) (Algorithm, error) {
	v := make(Values, len(s.Params))
	for i := range s.Params {
		v[s.Params[i].Name] = s.Params[i].Default
	}
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p, ok := s.Param(name)
		if !ok {
			return nil, fmt.Errorf("%s: parameter %q: want one of %s", s.Name, name, strings.Join(s.paramNames(), ", "))
		}
		if err := p.Check(given[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		v[name] = given[name]
	}
	a, err := s.New(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return a, nil
}

func (s *Spec) paramNames() []string {
	var out []string
	for i := range s.Params {
		out = append(out, s.Params[i].Name)
	}
	return out
}

// Step is an increase of a rate as it is for one NIC.
type Step struct {
	Name   string  `json:"name"` // of the parameter
	Bps    float64 `json:"bps"`
	Scales bool    `json:"scales"` // it is another for a NIC of another rate
}

// Steps returns the increases that an algorithm has on a NIC of a rate, with given values over the defaults.
func (s *Spec) Steps(given Values, line quantity.BitRate) []Step {
	value := func(p *Param) float64 {
		if v, ok := given[p.Name]; ok {
			return v
		}
		return p.Default
	}
	per := 0.0
	if p, ok := s.Param(ratePer); ok {
		per = value(p)
	}
	var out []Step
	for i := range s.Params {
		if p := &s.Params[i]; p.Step {
			share := p.Kind == ParamNumber // of the line rate
			v := scaledStep(value(p), per, float64(line))
			if share {
				v = value(p) * float64(line)
			}
			out = append(out, Step{p.Name, v, per > 0 || share})
		}
	}
	return out
}

// Specs returns the algorithms in the order in which lists show them. A new one is one file and one
// line here.
func Specs() []Spec {
	return []Spec{
		noneSpec(),
		dcqcnSpec(),
		dcqcnPeerSpec(),
		dcqcnMlxSpec(),
		dcqcnPSpec(),
		hpccSpec(),
		timelySpec(),
		dctcpSpec(),
		swiftSpec(),
		wrccSpec(),
		wrccWeightedSpec(),
		PIDNN(nil),
	}
}

// ByName returns the algorithm of a name; the error lists the names there are.
func ByName(name string) (Spec, error) {
	var names []string
	for _, s := range Specs() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Spec{}, fmt.Errorf("congestion control %q: want one of %s", name, strings.Join(names, ", "))
}
