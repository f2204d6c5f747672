package ident

import (
	"strconv"

	"fairlane/internal/phrase"
)

// Error is a text that is no identifier of its kind. Its sentence is made when it is asked for: texts are often tried as one identifier, then
// as another.
type Error struct {
	Want Want
	Text string // as it was given
}

var _ phrase.Sentence = (*Error)(nil)

// Want is what a parser takes.
type Want uint8

// What the parsers take.
const (
	WantGUID Want = iota
	WantPKey
	WantPort
	WantPortNumber
)

// Error prints what was found and what is allowed.
func (e *Error) Error() string { return e.Sentence().String() }

// Sentence returns the error for readers of any language.
func (e *Error) Sentence() phrase.Text {
	found := strconv.Quote(e.Text)
	switch e.Want {
	case WantPKey:
		return phrase.Of("ident.pkey", "found", found)
	case WantPort:
		return phrase.Of("ident.port", "found", found)
	case WantPortNumber:
		return phrase.Of("ident.port-number", "found", found)
	default:
		return phrase.Of("ident.guid", "found", found)
	}
}
