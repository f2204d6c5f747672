// Package joined tells several errors in one line.
package joined

import "strings"

// Errors are several errors told in one line, as tables and events show them.
type Errors []error

// OrNil is the errors as one, or nil when there are none.
func (f Errors) OrNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Error joins the texts by semicolons.
func (f Errors) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (f Errors) Unwrap() []error { return f }
