package grpctest_test

import (
	"context"
	"net"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"fairlane/internal/testkit/grpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server without services, which answers every request with UNIMPLEMENTED.
func serve(ctx context.Context, l net.Listener) error {
	s := grpc.NewServer()
	defer context.AfterFunc(ctx, s.Stop)()
	return s.Serve(l)
}

func TestAClientReachesItsServer(t *testing.T) {
	t.Parallel()
	conn := grpctest.Connect(t, grpctest.Serve(t, serve))
	err := conn.Invoke(t.Context(), "/none/None", &emptypb.Empty{}, &emptypb.Empty{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("error %v, want the server's answer", err)
	}
}

// TestTheServerEndsWithTheTest returns only after the server has ended.
func TestTheServerEndsWithTheTest(t *testing.T) {
	t.Parallel()
	ended := false
	t.Run("test", func(t *testing.T) {
		grpctest.Serve(t, func(ctx context.Context, _ net.Listener) error {
			<-ctx.Done()
			ended = true
			return nil
		})
	})
	if !ended {
		t.Error("the server outlives its test")
	}
}
