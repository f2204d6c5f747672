// Package adopt reads the settings that devices had before Fairlane, from the output of common tools, into one neutral form,
// for initial policies and drift reports. It reads mlxconfig and mstconfig queries, ethtool statistics, the JSON of dcb, and
// SONiC's config_db.json. It neither drops unknown input silently nor guesses: an error names the file and the line or the
// field.
package adopt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/phrase"
)

// MaxBytes is the largest size of a text.
const MaxBytes = 16 << 20

// ParseError reports invalid input at a location of a text.
type ParseError struct {
	File    string
	Line    int    // from 1; 0 if Field is more precise
	Field   string // such as "WRED_PROFILE|AZURE_LOSSLESS green_max_threshold"; may be empty
	Found   phrase.Text
	Allowed phrase.Text
}

var _ phrase.Sentence = (*ParseError)(nil)

// Error contains the file, the location, the value found and the allowed values.
func (e *ParseError) Error() string { return e.Sentence().String() }

// Sentence returns the error for readers of any language.
func (e *ParseError) Sentence() phrase.Text {
	at := e.File
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	if e.Field != "" {
		return phrase.Of("adopt.fault-field", "at", at, "field", e.Field, "found", e.Found, "want", e.Allowed)
	}
	return phrase.Of("adopt.fault", "at", at, "found", e.Found, "want", e.Allowed)
}

// quote truncates and quotes input for an error text.
func quote(s string) string { return strconv.Quote(nicparam.Clip(s)) }

// quoted is quote for a sentence.
func quoted(s string) phrase.Text { return phrase.Verbatim(quote(s)) }

// allowed lists the legal values of a parameter.
func allowed(p *nicparam.Param) phrase.Text {
	if p.Kind != nicparam.Enum {
		return phrase.Verbatim(p.Allowed())
	}
	words := make([]string, len(p.Values))
	for i, v := range p.Values {
		words[i] = v.Name + "(" + strconv.FormatUint(v.Number, 10) + ")"
	}
	last := len(words) - 1
	return phrase.Of("list.or", "list", words[:last], "last", words[last])
}

func tooLong(file string, n int) error {
	if n > MaxBytes {
		return &ParseError{File: file, Found: phrase.Of("adopt.bytes", "n", n), Allowed: phrase.Of("want.most", "max", MaxBytes)}
	}
	return nil
}

// Stage is the time at which a value is in effect.
type Stage string

// Stages. Only non-volatile parameters have stages other than StageCurrent.
const (
	StageDefault Stage = "default"   // factory default
	StageCurrent Stage = "current"   // in effect now
	StageNext    Stage = "next_boot" // in effect after the next firmware reset
)

// Found is one observed value of a NIC.
type Found struct {
	nicparam.Setting
	Stage Stage
	By    nicparam.Backend
	File  string
	Line  int // 0 in JSON
}

// Unknown is a name that is not in the parameter table. Fairlane does not change its value.
type Unknown struct {
	Name string
	File string
	Line int
}

// State is the observed state of a host's NIC, of a switch, or of both.
type State struct {
	Settings []Found
	Unknown  []Unknown
	Counters niccount.Counters // nil if no text had counters
	Switch   *Switch           // nil if no text was from a switch
}

// Merge adds the state of another text. It returns an error with both sources if two texts have different values.
func (s *State) Merge(o *State) error {
	type slot struct {
		nicparam.Key
		Stage
		by nicparam.Backend
	}
	have := make(map[slot]Found, len(s.Settings))
	for _, f := range s.Settings {
		have[slot{f.Key, f.Stage, f.By}] = f
	}
	for _, f := range o.Settings {
		old, twice := have[slot{f.Key, f.Stage, f.By}]
		switch {
		case !twice:
			s.Settings = append(s.Settings, f)
			have[slot{f.Key, f.Stage, f.By}] = f
		case old.Value != f.Value:
			return &ParseError{File: f.File, Line: f.Line, Field: f.Key.String(), Found: phrase.Verbatim(strconv.FormatUint(f.Value, 10)), Allowed: phrase.Of("adopt.want-same", "value", old.Value, "file", old.File)}
		}
	}
	s.Unknown = append(s.Unknown, o.Unknown...)
	for name, c := range o.Counters {
		if s.Counters == nil {
			s.Counters = niccount.Counters{}
		}
		s.Counters[name] = c
	}
	if o.Switch != nil {
		if s.Switch != nil {
			return &ParseError{File: o.Switch.File, Found: phrase.Of("adopt.second-switch"), Allowed: phrase.Of("adopt.want-one-switch", "file", s.Switch.File)}
		}
		s.Switch = o.Switch
	}
	return nil
}

// Value returns the value of a parameter at a stage. If several sources have the parameter, a run-time source has precedence
// over the non-volatile configuration.
func (s *State) Value(k nicparam.Key, stage Stage) (uint64, bool) {
	value, ok := uint64(0), false
	for _, f := range s.Settings {
		if f.Key == k && f.Stage == stage && (!ok || f.By.Persistence() == nicparam.Runtime) {
			value, ok = f.Value, true
		}
	}
	return value, ok
}

// Start returns the current values, one for each parameter, by port, name and index: the settings of an initial policy that
// changes nothing.
func (s *State) Start() []nicparam.Setting {
	seen := map[nicparam.Key]bool{}
	var out []nicparam.Setting
	for _, f := range s.Settings {
		if f.Stage != StageCurrent || seen[f.Key] {
			continue
		}
		seen[f.Key] = true
		v, _ := s.Value(f.Key, StageCurrent)
		out = append(out, nicparam.Setting{Key: f.Key, Value: v})
	}
	slices.SortFunc(out, func(a, b nicparam.Setting) int { return compare(a.Key, b.Key) })
	return out
}

func compare(a, b nicparam.Key) int {
	if a.Port != b.Port {
		return a.Port - b.Port
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return a.Index - b.Index
}

// Reason is the reason of an entry in a drift report.
type Reason string

// Reasons.
const (
	Differs Reason = "differs" // the current value differs from the desired one
	Missing Reason = "missing" // desired, but not in any text
	Pending Reason = "pending" // the next firmware reset changes the current value
)

// Drift is one entry of a drift report.
type Drift struct {
	nicparam.Key
	Reason    Reason
	Want, Got uint64 // Got is invalid for Missing; for Pending, Want is the current value and Got the future one
	File      string // source of Got
	Line      int
}

// String formats an entry as "port 1 rpg_gd: want 11, got 10 (nic.txt:12)".
func (d Drift) String() string {
	where := ""
	if d.File != "" {
		where = " (" + d.File
		if d.Line > 0 {
			where += ":" + strconv.Itoa(d.Line)
		}
		where += ")"
	}
	switch d.Reason {
	case Missing:
		return fmt.Sprintf("%s: want %d, its value is unknown", d.Key, d.Want)
	case Pending:
		return fmt.Sprintf("%s: is %d, becomes %d at the next firmware reset%s", d.Key, d.Want, d.Got, where)
	}
	return fmt.Sprintf("%s: want %d, got %d%s", d.Key, d.Want, d.Got, where)
}

// Drift compares desired with observed settings, in the order of wanted, and then appends the changes by the next firmware
// reset.
func (s *State) Drift(wanted []nicparam.Setting) []Drift {
	var out []Drift
	for _, w := range wanted {
		got, ok := s.Value(w.Key, StageCurrent)
		switch {
		case !ok:
			out = append(out, Drift{Key: w.Key, Reason: Missing, Want: w.Value})
		case got != w.Value:
			d := Drift{Key: w.Key, Reason: Differs, Want: w.Value, Got: got}
			for _, f := range s.Settings {
				if f.Key == w.Key && f.Stage == StageCurrent && f.Value == got {
					d.File, d.Line = f.File, f.Line
				}
			}
			out = append(out, d)
		}
	}
	for _, f := range s.Settings {
		if f.Stage != StageNext {
			continue
		}
		for _, c := range s.Settings {
			if c.Key == f.Key && c.By == f.By && c.Stage == StageCurrent && c.Value != f.Value {
				out = append(out, Drift{Key: f.Key, Reason: Pending, Want: c.Value, Got: f.Value, File: f.File, Line: f.Line})
			}
		}
	}
	return out
}
