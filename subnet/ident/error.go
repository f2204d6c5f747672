package ident

import (
	"strconv"

	"fairlane/internal/phrase"
)

// Error reports a text that is not an identifier of the wanted kind. Its sentence is built on demand, because callers
// often try a text as several kinds in turn.
type Error struct {
	Want Want
	Text string // as given
}

var _ phrase.Sentence = (*Error)(nil)

// Want is the form that a parser accepts.
type Want uint8

// Forms that the parsers accept.
const (
	WantGUID Want = iota
	WantPKey
	WantPort
	WantPortNumber
)

// Error returns what was found and what is allowed.
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
