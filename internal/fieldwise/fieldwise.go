// Package fieldwise reports which field of a value is out of range, and which fields differ between two values.
package fieldwise

import (
	"errors"
	"fmt"
	"strconv"
)

// Error reports a field with a value that is not allowed.
type Error struct {
	Field   string // such as "cct[17].shift"
	Found   string
	Allowed string
}

// Error returns the field, the value found and the values allowed.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: found %s, want %s", e.Field, e.Found, e.Allowed)
}

// Bad returns an *Error.
func Bad(field string, found any, allowed string) error {
	return &Error{Field: field, Found: fmt.Sprint(found), Allowed: allowed}
}

// Under adds a path such as "ports[7]." before the field of an *Error, and before the text of any other error. Nil
// stays nil.
func Under(path string, err error) error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return &Error{Field: path + e.Field, Found: e.Found, Allowed: e.Allowed}
	}
	return fmt.Errorf("%s %w", path, err)
}

// Difference is one field with different values.
type Difference struct {
	Field string `json:"field"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// String returns the difference as "sl[3].timer: want 150, got 0".
func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.Field, d.Want, d.Got)
}

// Absent is the value of a field that the other side lacks, such as a table entry beyond the end.
const Absent = "absent"

// Differences collects differences. It is a value type with append semantics, to keep callers short.
type Differences []Difference

// Add adds a field if its two values differ.
func (ds *Differences) Add(field, want, got string) {
	if want != got {
		*ds = append(*ds, Difference{Field: field, Want: want, Got: got})
	}
}

// Number is Add for numbers.
func (ds *Differences) Number(field string, want, got uint64) {
	if want != got {
		*ds = append(*ds, Difference{field, strconv.FormatUint(want, 10), strconv.FormatUint(got, 10)})
	}
}
