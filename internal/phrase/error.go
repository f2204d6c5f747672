package phrase

import "errors"

// Error is an error that is written in the reader's language. Its text in English is that of the sentence.
type Error struct {
	Text
	Cause error // for errors.Is and errors.As; may be nil
}

// Because is the error of a sentence that already states its cause.
func Because(cause error, said Text) error { return &Error{said, cause} }

// Error is the sentence in English.
func (e *Error) Error() string { return e.String() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// OfError is the sentence of an error: its own, or its English text verbatim.
func OfError(err error) Text {
	if e := new(Error); errors.As(err, &e) && e.Error() == err.Error() {
		return e.Text
	}
	return Verbatim(err.Error())
}
