package grpclink

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
)

// Classify maps the error of a request to an address to one of the error kinds of package driver, by the function judge; means
// is the meaning of a code in the driver's protocol, or empty for the code itself. An error of the caller's own context is
// returned as it is.
func (p *Pool[K, S]) Classify(ctx context.Context, what, address string, err error, judge func(*status.Status) (means string, kind error)) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	st := status.Convert(err)
	means, kind := judge(st)
	if means == "" {
		switch st.Code() {
		case codes.NotFound:
			return fmt.Errorf("%s: %w: %s at %s", what, kind, st.Message(), address)
		case codes.DeadlineExceeded:
			return fmt.Errorf("%s: %w: no answer from %s within %s", what, kind, address, p.o.Timeout)
		case codes.Unavailable:
			return fmt.Errorf("%s: %w: %s%s", what, kind, st.Message(), hint(p.o.TLS, time.Now()))
		}
		means = st.Code().String()
	}
	return fmt.Errorf("%s: %w: %s: %s", what, kind, means, st.Message())
}

// KindOf returns the error kind of a gRPC code.
func KindOf(c codes.Code) error {
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
	return driver.ErrUnreachable // including NOT_FOUND: the device is currently not behind its address
}
