// Package adopt reads what devices were told before Fairlane came, from the text that the field's own tools print, into
// one neutral form: the start of a policy, and the other side of a drift report. It reads mlxconfig and mstconfig queries,
// ethtool statistics, the JSON of dcb, and SONiC's config_db.json. Nothing that it does not understand is dropped in
// silence, and nothing is guessed: an error names the file and the line or the field.
package adopt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicparam"
)

// MaxBytes bounds a text.
const MaxBytes = 16 << 20

// ParseError is a place of a text that cannot be read.
type ParseError struct {
	File    string
	Line    int    // from 1; 0 where Field says more
	Field   string // such as "WRED_PROFILE|AZURE_LOSSLESS green_max_threshold"; may be empty
	Found   string
	Allowed string
}

// Error names the file, the place, what was found and what is allowed.
func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		b.WriteString(":" + strconv.Itoa(e.Line))
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": found " + e.Found + ", want " + e.Allowed)
	return b.String()
}

// quote bounds and quotes what an error repeats of its input.
func quote(s string) string { return strconv.Quote(nicparam.Clip(s)) }

func tooLong(file string, n int) error {
	if n > MaxBytes {
		return &ParseError{File: file, Found: fmt.Sprintf("%d bytes", n), Allowed: fmt.Sprintf("at most %d", MaxBytes)}
	}
	return nil
}

// Stage is the time that a value is of.
type Stage string

// Stages. Only non-volatile parameters have other ones than StageCurrent.
const (
	StageDefault Stage = "default"   // of the device as it came
	StageCurrent Stage = "current"   // acts now
	StageNext    Stage = "next_boot" // acts after the next firmware reset
)

// Found is one value of a NIC.
type Found struct {
	nicparam.Setting
	Stage Stage
	By    nicparam.Backend
	File  string
	Line  int // 0 in JSON
}

// Unknown is a name that the parameter table has not. Its value stays as it is.
type Unknown struct {
	Name string
	File string
	Line int
}

// State is what was found: on a host's NIC, on a switch, or on both.
type State struct {
	Settings []Found
	Unknown  []Unknown
	Counters niccount.Counters // nil when no text had any
	Switch   *Switch           // nil when no text was a switch's
}

// Merge adds what another text had. A value that two texts have differently is an error that names both.
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
			return &ParseError{File: f.File, Line: f.Line, Field: f.Key.String(), Found: strconv.FormatUint(f.Value, 10),
				Allowed: fmt.Sprintf("%d, as %s has it", old.Value, old.File)}
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
			return &ParseError{File: o.Switch.File, Found: "a second switch", Allowed: "one; the first is in " + s.Switch.File}
		}
		s.Switch = o.Switch
	}
	return nil
}

// Value finds what a parameter is at a stage. Where several ways tell the same parameter, one that tells what acts at run
// time comes before the non-volatile configuration.
func (s *State) Value(k nicparam.Key, stage Stage) (uint64, bool) {
	value, ok := uint64(0), false
	for _, f := range s.Settings {
		if f.Key == k && f.Stage == stage && (!ok || f.By.Persistence() == nicparam.Runtime) {
			value, ok = f.Value, true
		}
	}
	return value, ok
}

// Start lists what acts now, one value for each parameter, by port, name and index: what a policy starts from so that it
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

// Reason says why a value is in a drift report.
type Reason string

// Reasons.
const (
	Differs Reason = "differs" // acts now and is not what was wanted
	Missing Reason = "missing" // wanted, and no text tells it
	Pending Reason = "pending" // the next firmware reset changes what acts now
)

// Drift is one row of a drift report.
type Drift struct {
	nicparam.Key
	Reason    Reason
	Want, Got uint64 // Got is meaningless when Missing; of a Pending one, Want acts now and Got will
	File      string // that told Got
	Line      int
}

// String prints a row as "port 1 rpg_gd: want 11, got 10 (nic.txt:12)".
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
		return fmt.Sprintf("%s: want %d, nothing tells what it is", d.Key, d.Want)
	case Pending:
		return fmt.Sprintf("%s: is %d, becomes %d at the next firmware reset%s", d.Key, d.Want, d.Got, where)
	}
	return fmt.Sprintf("%s: want %d, got %d%s", d.Key, d.Want, d.Got, where)
}

// Drift compares what is wanted with what was found, in the order of wanted, and then lists what a firmware reset will
// change.
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
