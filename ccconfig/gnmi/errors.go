package gnmi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/internal/clienttls"
)

// classify turns what became of a request into one of the error kinds of package driver. The end of the caller's
// own context is told as it is.
func (s *session) classify(ctx context.Context, what string, dev driver.Device, err error) error {
	what = fmt.Sprintf("%s of %s", what, dev)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	st := status.Convert(err)
	kind := kindOf(st)
	switch st.Code() {
	case codes.NotFound:
		return fmt.Errorf("%s: %w: %s at %s", what, kind, st.Message(), s.target.Address)
	case codes.DeadlineExceeded:
		return fmt.Errorf("%s: %w: no answer from %s within %s", what, kind, s.target.Address, s.d.o.Timeout)
	case codes.Unavailable:
		return fmt.Errorf("%s: %w: %s%s", what, kind, st.Message(), clienttls.Hint(s.d.o.TLS, time.Now()))
	case codes.DataLoss:
		return fmt.Errorf("%s: %w: it failed, and not everything is as it was: %s", what, kind, st.Message())
	}
	return fmt.Errorf("%s: %w: %s: %s", what, kind, st.Code(), st.Message())
}

// kindOf is the error kind of a request that ended with a status.
func kindOf(st *status.Status) error {
	switch st.Code() {
	case codes.ResourceExhausted, codes.DataLoss:
		return driver.ErrBusy
	case codes.Aborted:
		return driver.ErrBusy // undone, for a reason that may pass; details tell the reasons that do not
	case codes.FailedPrecondition, codes.Unimplemented:
		return driver.ErrUnsupported
	case codes.InvalidArgument, codes.OutOfRange, codes.Unauthenticated:
		return driver.ErrInvalid
	case codes.PermissionDenied:
		if strings.Contains(st.Message(), "election") {
			return driver.ErrConflict
		}
		return driver.ErrInvalid
	case codes.AlreadyExists:
		return driver.ErrConflict
	}
	return driver.ErrUnreachable // among them NOT_FOUND: the target is not behind its address at present
}

// kindOfError is the error kind that err has.
func kindOfError(err error) error {
	for _, kind := range []error{driver.ErrBusy, driver.ErrInvalid, driver.ErrUnsupported, driver.ErrConflict} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return driver.ErrUnreachable
}

// outcome says what is known of a Set that ended with err.
func outcome(err error) driver.Outcome {
	if errors.Is(kindOfError(err), driver.ErrUnreachable) {
		return driver.OutcomeSent
	}
	return driver.OutcomeRefused
}

// note adds a field to a receipt.
func note(r *driver.Receipt, field string, o driver.Outcome, detail string) {
	r.Fields = append(r.Fields, driver.FieldReceipt{Field: field, Outcome: o, Detail: detail})
}
