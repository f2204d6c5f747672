// Package usage has the error for wrong usage or invalid input, which ends a command with exit code 2 wherever it
// occurs.
package usage

import (
	"fmt"

	"fairlane/internal/phrase"
)

// Error reports wrong usage or invalid input: exit code 2.
type Error struct{ Err error }

// Error returns the cause's text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Wrap converts an error to a usage error, with its chain of causes; nil stays nil.
func Wrap(err error) error {
	if err == nil {
		return nil
	}
	return &Error{err}
}

// Errorf returns a usage error with a text formatted as by fmt.Errorf.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Of returns a usage error with a text in the user's language.
func Of(t phrase.Text) error { return &Error{&phrase.Error{Text: t}} }
