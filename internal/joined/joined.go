// Package joined shows several errors in one line.
package joined

import "strings"

// separator stands between errors in one line.
const separator = "; "

// Errors are several errors in one line, as tables and events show them.
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
	return strings.Join(texts, separator)
}

// Unwrap returns the errors.
func (f Errors) Unwrap() []error { return f }
