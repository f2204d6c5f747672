package phrase

// Error is an error that is told in the reader's language. Its text in English is that of the sentence.
type Error struct{ Text }

// Error is the sentence in English.
func (e *Error) Error() string { return e.String() }
