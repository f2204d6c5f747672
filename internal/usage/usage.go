// Package usage has the error of wrong usage or bad input, which ends a command with exit code 2 wherever it arose.
package usage

import (
	"fmt"

	"fairlane/internal/phrase"
)

// Error is wrong usage or bad input: exit code 2.
type Error struct{ Err error }

// Error returns the cause's text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Wrap makes an error one of wrong usage, with its chain of causes; nil stays nil.
func Wrap(err error) error {
	if err == nil {
		return nil
	}
	return &Error{err}
}

// Errorf is wrong usage in words made as fmt.Errorf makes them.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Of is wrong usage that is told in the user's language.
func Of(t phrase.Text) error { return &Error{&phrase.Error{Text: t}} }
