// Package joined prints several errors on one line.
package joined

import "strings"

// separator separates errors on one line.
const separator = "; "

// Errors are several errors whose text is one line, for tables and events.
type Errors []error

// OrNil returns the errors as one error; nil if there are none.
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
