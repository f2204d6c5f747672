package control

import (
	"errors"
	"strings"
	"time"

	"fairlane/internal/phrase"
)

// Error kinds, for errors.Is. Each typed error below matches one of them.
var (
	ErrNotFound     = errors.New("not found")
	ErrConflict     = errors.New("conflict")
	ErrInvalid      = errors.New("invalid")
	ErrPrecondition = errors.New("precondition failed")
	// ErrUnauthorized means that the caller is unknown: no token, an unknown token, or a wrong password.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden means that the caller is known but lacks the right.
	ErrForbidden = errors.New("forbidden")
	// ErrUnavailable means that something outside the service (a fabric, a device) did not answer.
	ErrUnavailable = errors.New("unavailable")
)

var _ = []phrase.Sentence{(*NotFoundError)(nil), (*ConflictError)(nil), (*PreconditionError)(nil), (*UnavailableError)(nil), (*ForbiddenError)(nil), (*LockedError)(nil)}

// NotFoundError names the object that does not exist.
type NotFoundError struct {
	Kind string // one of kindText, such as "tenant"
	Name string
}

// Error prints `tenant "red" not found`.
func (e *NotFoundError) Error() string { return e.Sentence().String() }

// Sentence returns the error as a localisable text.
func (e *NotFoundError) Sentence() phrase.Text {
	return phrase.Of("problem.not-found", "kind", KindText(e.Kind), "name", e.Name)
}

// Is matches ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// ConflictError says why a change conflicts with the current state.
type ConflictError struct {
	Code string // stable, such as "rollout-running"; the API has a problem with the same code
	Said phrase.Text
}

// Error prints the sentence in English.
func (e *ConflictError) Error() string { return e.Said.String() }

// Sentence returns the error as a localisable text.
func (e *ConflictError) Sentence() phrase.Text { return e.Said }

// Is matches ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// FieldError describes one rejected field of an input.
type FieldError struct {
	Pointer string      // JSON pointer into the request body, such as "/attachments/0/port"
	Said    phrase.Text // what was found and what is allowed
}

// InvalidError lists the rejected fields of an input; there is at least one.
type InvalidError struct{ Fields []FieldError }

// Invalid returns an error about one field.
func Invalid(pointer string, said phrase.Text) *InvalidError {
	return &InvalidError{Fields: []FieldError{{pointer, said}}}
}

// InvalidFrom returns the error of one field that another package rejected.
func InvalidFrom(pointer string, err error) *InvalidError {
	return Invalid(pointer, phrase.OfError(err))
}

// Error lists the fields, separated by semicolons.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Said.String()
		if f.Pointer != "" {
			parts[i] = f.Pointer + ": " + parts[i]
		}
	}
	return strings.Join(parts, "; ")
}

// maxListed bounds the faults that an error lists.
const maxListed = 20

func (e *InvalidError) Add(pointer string, said phrase.Text) {
	if len(e.Fields) < maxListed {
		e.Fields = append(e.Fields, FieldError{pointer, said})
	}
}

// AddFrom adds a fault that another package found.
func (e *InvalidError) AddFrom(pointer string, err error) { e.Add(pointer, phrase.OfError(err)) }

// Within adds a fault when a number is out of range.
func (e *InvalidError) Within(pointer string, v, least, most int) {
	if v < least || v > most {
		e.Add(pointer, phrase.Of("problem.range", "found", v, "min", least, "max", most))
	}
}

func (e *InvalidError) OrNil() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// Is matches ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// PreconditionError says that an object has changed since the caller read it.
type PreconditionError struct {
	Kind, Name string // as in NotFoundError
	Want, Have int64  // versions
}

// Error prints both versions.
func (e *PreconditionError) Error() string { return e.Sentence().String() }

// Sentence returns the error as a localisable text.
func (e *PreconditionError) Sentence() phrase.Text {
	return phrase.Of("problem.changed", "kind", KindText(e.Kind), "name", e.Name, "have", e.Have, "want", e.Want)
}

// Is matches ErrPrecondition.
func (e *PreconditionError) Is(target error) bool { return target == ErrPrecondition }

// UnavailableError says what outside the service did not answer or did not work.
type UnavailableError struct {
	Code string // as in ConflictError, such as "devices-unreachable"
	Said phrase.Text
	Err  error
}

// Error prints the sentence and the cause.
func (e *UnavailableError) Error() string { return e.Sentence().String() }

// Sentence returns the error with its cause as a localisable text.
func (e *UnavailableError) Sentence() phrase.Text {
	if e.Err == nil {
		return e.Said
	}
	return phrase.Of("labelled", "label", e.Said, "text", phrase.OfError(e.Err))
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Is matches ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// ForbiddenError says why a known caller may not do something.
type ForbiddenError struct{ Said phrase.Text }

// Error prints the sentence in English.
func (e *ForbiddenError) Error() string { return e.Said.String() }

// Sentence returns the error as a localisable text.
func (e *ForbiddenError) Sentence() phrase.Text { return e.Said }

// Is matches ErrForbidden.
func (e *ForbiddenError) Is(target error) bool { return target == ErrForbidden }

// LockedError says that the service withholds an answer for a while because of earlier attempts.
type LockedError struct {
	Said  phrase.Text
	Until time.Time
}

// Error prints the sentence in English.
func (e *LockedError) Error() string { return e.Said.String() }

// Sentence returns the error as a localisable text.
func (e *LockedError) Sentence() phrase.Text { return e.Said }

// KindText returns the display name of a kind of object. A kind without one is shown unchanged.
func KindText(kind string) phrase.Text {
	if said, ok := kinds[kind]; ok {
		return said
	}
	return phrase.Verbatim(kind)
}

var kinds = map[string]phrase.Text{
	"account":                         phrase.Of("kind.account"),
	"account of subject":              phrase.Of("kind.subject"),
	"attachment":                      phrase.Of("kind.attachment"),
	"baseline":                        phrase.Of("kind.baseline"),
	"calibration":                     phrase.Of("kind.calibration"),
	"class":                           phrase.Of("kind.class"),
	"device":                          phrase.Of("kind.device"),
	"drift policy of":                 phrase.Of("kind.drift-policy"),
	"fabric":                          phrase.Of("kind.fabric"),
	"group":                           phrase.Of("kind.group"),
	"feed":                            phrase.Of("kind.feed"),
	"flows of":                        phrase.Of("kind.flows"),
	"maintenance":                     phrase.Of("kind.maintenance"),
	"measurement of":                  phrase.Of("kind.measurement"),
	"member":                          phrase.Of("kind.member"),
	"membership":                      phrase.Of("kind.membership"),
	"options of":                      phrase.Of("kind.options"),
	"plan":                            phrase.Of("kind.plan"),
	"policy":                          phrase.Of("kind.policy"),
	"policy of":                       phrase.Of("kind.policy-of"),
	"rollout":                         phrase.Of("kind.rollout"),
	"service-account":                 phrase.Of("kind.service-account"),
	"session":                         phrase.Of("kind.session"),
	"settings of":                     phrase.Of("kind.settings"),
	"silence":                         phrase.Of("kind.silence"),
	"simulation":                      phrase.Of("kind.simulation"),
	"snapshot":                        phrase.Of("kind.snapshot"),
	"task":                            phrase.Of("kind.task"),
	"tenant":                          phrase.Of("kind.tenant"),
	"the set of tenants and flows of": phrase.Of("kind.tenant-set"),
	"token":                           phrase.Of("kind.token"),
	"user":                            phrase.Of("kind.user"),
}
