package p4rt

import (
	"context"
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
)

// classify maps the error of a request to one of the error kinds of package driver.
func (s *session) classify(ctx context.Context, what string, err error) error {
	return s.d.links.Classify(ctx, fmt.Sprintf("%s of %s", what, s.dev), s.target.Address, err, judge)
}

// judge interprets a status by the rules of P4Runtime.
func judge(st *status.Status) (means string, kind error) {
	switch st.Code() {
	case codes.FailedPrecondition:
		means = "no WRCC program is loaded"
	case codes.PermissionDenied:
		means = "not the primary"
	}
	return means, grpclink.KindOf(st.Code())
}

// updateKind returns the error kind of one update of a batch, whose codes are about the entry and not the request.
func updateKind(c codes.Code) error {
	switch c {
	case codes.AlreadyExists, codes.NotFound, codes.PermissionDenied:
		return driver.ErrConflict // the entry changed after our read
	case codes.ResourceExhausted, codes.Unimplemented, codes.FailedPrecondition:
		return driver.ErrUnsupported // a full table exceeds the device's capacity
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded, codes.Internal, codes.Unknown:
		return driver.ErrBusy
	}
	return driver.ErrInvalid
}

// updates returns the status of each failed update of a batch, or nil if the device does not report it.
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
		return nil // an error with only OK statuses has no information
	}
	return out
}
