package cc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
)

// ParamKind is the kind of a parameter's value.
type ParamKind uint8

// Kinds of parameters. Values are float64: durations in picoseconds, rates in bit/s, a word as its index in Words, a flag as 0
// or 1.
const (
	ParamNumber ParamKind = iota
	ParamDuration
	ParamRate
	ParamWord
	ParamFlag
)

// Param is one parameter of an algorithm.
type Param struct {
	Name     string // as in a scenario file: lower case with underscores
	Kind     ParamKind
	Default  float64
	Min, Max float64  // inclusive; unused for words and flags
	Words    []string // for ParamWord: words by value
	None     bool     // for a rate: the word none means 0
	Step     bool     // a rate increase, for a NIC of rate rate_per if the algorithm has that parameter
	Doc      string   // meaning, unit, source
}

// noRate is the word for a rate of 0.
const noRate = "none"

// Text formats a value as in a scenario file.
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

// Allowed describes the allowed values, for messages and pages.
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

// Parse parses a value from a scenario file. The error names the allowed values.
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

// Check returns an error that names the allowed values if v is out of range.
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

// Span returns the named duration.
func (v Values) Span(name string) quantity.Picoseconds { return quantity.Picoseconds(v[name]) }

// Flag returns the named flag.
func (v Values) Flag(name string) bool { return v[name] != 0 }

// Spec describes an algorithm that scenarios can name.
type Spec struct {
	Name   string
	Title  string // one line
	Source string // paper, standard or manual
	Params []Param
	// New builds the algorithm from complete, checked values. It returns an error for contradictory values.
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

// Build checks the given values, adds defaults and builds the algorithm. An error names the parameter, the value found and the
// allowed values.
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

// Step is a rate increase on one NIC.
type Step struct {
	Name   string  `json:"name"` // name of the parameter
	Bps    float64 `json:"bps"`
	Scales bool    `json:"scales"` // the value depends on the NIC's rate
}

// Steps returns the rate increases of an algorithm on a NIC with line rate line; given values override the defaults.
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
			share := p.Kind == ParamNumber // a fraction of the line rate
			v := scaledStep(value(p), per, float64(line))
			if share {
				v = value(p) * float64(line)
			}
			out = append(out, Step{p.Name, v, per > 0 || share})
		}
	}
	return out
}

// Specs returns the algorithms in display order. A new algorithm needs one file and one line here.
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

// ByName returns the algorithm of a name; the error lists the known names.
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
