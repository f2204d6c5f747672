package dcqcn

import (
	"fmt"
	"strconv"
)

// FieldError is a register outside its range.
type FieldError struct {
	Field   string // the vendor's name
	Found   string
	Allowed string
}

// Error names the register, what was found and what is allowed.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: found %s, want %s", e.Field, e.Found, e.Allowed)
}

// Range writes the register's legal values, such as "1..131071".
func (r *Register) Range() string {
	return strconv.FormatUint(r.Min, 10) + ".." + strconv.FormatUint(r.Max, 10)
}

// Validate reports the first register that a device of these limits cannot be given, as a
// *FieldError, and a least rate above a given most rate, which no rate could satisfy.
func (s *Settings) Validate(l Limits) error {
	for _, r := range l.Registers() {
		if v := r.Value(s); v < r.Min || v > r.Max {
			return &FieldError{Field: r.Name, Found: strconv.FormatUint(v, 10), Allowed: r.Range()}
		}
	}
	if s.MaxRate > 0 && s.MinRate > s.MaxRate {
		return &FieldError{
			Field: "rpg_min_rate", Found: strconv.FormatUint(uint64(s.MinRate), 10),
			Allowed: fmt.Sprintf("at most rpg_max_rate, which is %d", s.MaxRate),
		}
	}
	return nil
}

// Difference is one register in which two ports disagree.
type Difference struct {
	Field string `json:"field"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// String prints the difference as "rpg_time_reset: want 150, got 300".
func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.Field, d.Want, d.Got)
}

// Diff lists the registers in which got differs from s, in the order of Registers. Settings that are
// equal, which == tells as well, have none.
func (s *Settings) Diff(got *Settings) []Difference {
	var out []Difference
	for _, r := range (Limits{}).Registers() {
		if w, g := r.Value(s), r.Value(got); w != g {
			out = append(out, Difference{Field: r.Name, Want: strconv.FormatUint(w, 10), Got: strconv.FormatUint(g, 10)})
		}
	}
	return out
}
