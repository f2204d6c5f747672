package control

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Error kinds, for errors.Is. Each typed error below matches one of them.
var (
	ErrNotFound     = errors.New("not found")
	ErrConflict     = errors.New("conflict")
	ErrInvalid      = errors.New("invalid")
	ErrPrecondition = errors.New("precondition failed")
	// ErrUnauthorized means that who asks is not known: no token, one that is not ours, wrong password.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden means that who asks is known and may not do it.
	ErrForbidden = errors.New("forbidden")
	// ErrUnavailable means that something outside the service (a fabric, a device) did not answer.
	ErrUnavailable = errors.New("unavailable")
)

// NotFoundError says which thing does not exist.
type NotFoundError struct {
	Kind string // in words for people, such as "tenant"
	Name string
}

// Error prints `tenant "red" not found`.
func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %q not found", e.Kind, e.Name) }

// Is matches ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// ConflictError says why a change collides with the present state.
type ConflictError struct {
	Code   string // stable, such as "rollout-running"; the API has a problem of that name
	Detail string
}

// Error prints the detail.
func (e *ConflictError) Error() string { return e.Detail }

// Is matches ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// FieldError is one refused field of an input.
type FieldError struct {
	Pointer string // JSON pointer into the request body, such as "/attachments/0/port"
	Detail  string // what was found and what is allowed
}

// InvalidError lists the refused fields of an input; there is at least one.
type InvalidError struct{ Fields []FieldError }

// Invalid returns an error about one field.
func Invalid(pointer, format string, args ...any) *InvalidError {
	return &InvalidError{Fields: []FieldError{{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}}}
}

// Error lists the fields, separated by semicolons.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Detail
		if f.Pointer != "" {
			parts[i] = f.Pointer + ": " + f.Detail
		}
	}
	return strings.Join(parts, "; ")
}

// maxListed bounds the faults that an error lists.
const maxListed = 20

func (e *InvalidError) add(pointer string, err error) {
	if len(e.Fields) < maxListed {
		e.Fields = append(e.Fields, FieldError{Pointer: pointer, Detail: err.Error()})
	}
}

// within adds a fault when a number is out of range.
func (e *InvalidError) within(pointer string, v, least, most int) {
	if v < least || v > most {
		e.add(pointer, fmt.Errorf("found %d: want %d to %d", v, least, most))
	}
}

func (e *InvalidError) orNil() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// Is matches ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// PreconditionError says that a thing changed since the caller read it.
type PreconditionError struct {
	Kind, Name string
	Want, Have int64 // versions
}

// Error prints both versions.
func (e *PreconditionError) Error() string {
	return fmt.Sprintf("%s %q is at version %d, the change was made against version %d", e.Kind, e.Name, e.Have, e.Want)
}

// Is matches ErrPrecondition.
func (e *PreconditionError) Is(target error) bool { return target == ErrPrecondition }

// UnavailableError says what outside the service could not be reached or did not work.
type UnavailableError struct {
	Code   string // as of a ConflictError, such as "devices-unreachable"
	Detail string
	Err    error
}

// Error prints the detail and the cause.
func (e *UnavailableError) Error() string {
	if e.Err == nil {
		return e.Detail
	}
	return e.Detail + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Is matches ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// ForbiddenError says why somebody who is known may not do a thing.
type ForbiddenError struct{ Detail string }

// Error prints the detail.
func (e *ForbiddenError) Error() string { return e.Detail }

// Is matches ErrForbidden.
func (e *ForbiddenError) Is(target error) bool { return target == ErrForbidden }

// LockedError says that an answer is withheld for a while because of what was tried before.
type LockedError struct {
	Detail string
	Until  time.Time
}

// Error prints the detail.
func (e *LockedError) Error() string { return e.Detail }
