package p4rt

import (
	"context"
	"errors"
	"fmt"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/internal/clienttls"
)

// classify turns what became of a request into one of the error kinds of package driver. The end of the caller's
// own context is told as it is.
func (s *session) classify(ctx context.Context, what string, err error) error {
	what = fmt.Sprintf("%s of %s", what, s.dev)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	st := status.Convert(err)
	kind := kindOf(st.Code())
	switch st.Code() {
	case codes.FailedPrecondition:
		return fmt.Errorf("%s: %w: no WRCC program is loaded: %s", what, kind, st.Message())
	case codes.NotFound:
		return fmt.Errorf("%s: %w: %s at %s", what, kind, st.Message(), s.target.Address)
	case codes.PermissionDenied:
		return fmt.Errorf("%s: %w: not the primary: %s", what, kind, st.Message())
	case codes.DeadlineExceeded:
		return fmt.Errorf("%s: %w: no answer within %s", what, kind, s.d.o.Timeout)
	case codes.Unavailable:
		return fmt.Errorf("%s: %w: %s%s", what, kind, st.Message(), clienttls.Hint(s.d.o.TLS, time.Now()))
	}
	return fmt.Errorf("%s: %w: %s: %s", what, kind, st.Code(), st.Message())
}

// kindOf is the error kind of a request that ended with a code.
func kindOf(c codes.Code) error {
	switch c {
	case codes.ResourceExhausted, codes.Aborted:
		return driver.ErrBusy
	case codes.FailedPrecondition, codes.Unimplemented:
		return driver.ErrUnsupported
	case codes.InvalidArgument, codes.OutOfRange, codes.Unauthenticated:
		return driver.ErrInvalid
	case codes.PermissionDenied, codes.AlreadyExists:
		return driver.ErrConflict
	}
	return driver.ErrUnreachable // among them NOT_FOUND: the device is not behind its address at present
}

// updateKind is the error kind of one update of a batch, where codes are about the entry and not the request.
func updateKind(c codes.Code) error {
	switch c {
	case codes.AlreadyExists, codes.NotFound, codes.PermissionDenied:
		return driver.ErrConflict // it was otherwise when we read it
	case codes.ResourceExhausted, codes.Unimplemented, codes.FailedPrecondition:
		return driver.ErrUnsupported // a full table is beyond the device
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded, codes.Internal, codes.Unknown:
		return driver.ErrBusy
	}
	return driver.ErrInvalid
}

// updates returns the status of each update of a batch that failed, or nil when the device does not say.
func updates(err error, n int) []*p4v1.Error {
	st := status.Convert(err)
	details := st.Details()
	if st.Code() != codes.Unknown || len(details) != n {
		return nil
	}
	out := make([]*p4v1.Error, n)
	failed := false
	for i, d := range details {
		e, ok := d.(*p4v1.Error)
		if !ok {
			return nil
		}
		out[i] = e
		failed = failed || e.GetCanonicalCode() != 0
	}
	if !failed {
		return nil // an error that says that all is well says nothing
	}
	return out
}

// outcome says what is known of a write that ended with err as a whole.
func outcome(err error) driver.Outcome {
	switch {
	case errors.Is(err, driver.ErrBusy), errors.Is(err, driver.ErrInvalid), errors.Is(err, driver.ErrUnsupported), errors.Is(err, driver.ErrConflict):
		return driver.OutcomeRefused
	}
	return driver.OutcomeSent
}
