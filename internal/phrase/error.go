package phrase

import "errors"

var _ Sentence = (*Error)(nil)

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

// Sentence is the error for readers of any language.
func (e *Error) Sentence() Text { return e.Text }

// Sentence is an error that is one: its text in English is that of the sentence.
type Sentence interface {
	error
	Sentence() Text
}

// OfError is the sentence of an error: its own, that of an error that it wraps without a word more, or its English text verbatim.
func OfError(err error) Text {
	var said Sentence
	if errors.As(err, &said) && said.Error() == err.Error() {
		return said.Sentence()
	}
	return Verbatim(err.Error())
}
