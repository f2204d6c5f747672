package app

import (
	"errors"
	"fmt"

	"fairlane/internal/phrase"
)

// UsageError is wrong usage or bad input: exit code 2.
type UsageError struct{ Err error }

// Error returns the cause's text.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// usageSaid is wrong usage that is told in the user's language.
func usageSaid(t phrase.Text) error { return &UsageError{&phrase.Error{Text: t}} }

// errBoundMissed is a run that worked but missed a bound it promises: exit code 1.
var errBoundMissed = errors.New("bound missed")

// Exit codes that others rely on.
const (
	exitDone   = 0
	exitFailed = 1 // failed, or a bound was missed
	exitUsage  = 2 // wrong usage or bad input
)
