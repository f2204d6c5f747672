package gnmi

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
)

// classify maps the error of a request to one of the error kinds of package driver.
func (s *session) classify(ctx context.Context, what string, dev driver.Device, err error) error {
	return s.d.links.Classify(ctx, fmt.Sprintf("%s of %s", what, dev), s.target.Address, err, judge)
}

// judge interprets a status by the rules of gNMI. ABORTED is a Set that was undone, for a possibly temporary reason; its
// details identify permanent reasons.
func judge(st *status.Status) (means string, kind error) {
	switch code := st.Code(); {
	case code == codes.DataLoss:
		return "the Set failed and was not completely rolled back", driver.ErrBusy
	case code == codes.PermissionDenied && !strings.Contains(st.Message(), "election"):
		return "", driver.ErrInvalid
	default:
		return "", grpclink.KindOf(code)
	}
}
