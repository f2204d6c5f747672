package grpclink_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/internal/testkit/grpctest"
	"fairlane/internal/testkit/tlstest"
)

// serve runs a server that ends every request with the error of answer, until the test ends. It returns the function
// that dials the server.
func serve(t testing.TB, answer func(context.Context) error, o ...grpc.ServerOption) grpctest.Dial {
	t.Helper()
	s := grpc.NewServer(append(o, grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		if err := answer(stream.Context()); err != nil {
			return err
		}
		return stream.SendMsg(&emptypb.Empty{})
	}))...)
	return grpctest.Serve(t, func(ctx context.Context, l net.Listener) error {
		defer context.AfterFunc(ctx, s.Stop)()
		return s.Serve(l)
	})
}

// request makes one request by a pool and classifies its error.
func request(ctx context.Context, t testing.TB, p *pool, judge func(*status.Status) (string, error)) error {
	t.Helper()
	var conn *grpc.ClientConn
	_, release, err := p.Begin(t.Context(), device(), "a", "switches", func(n int, c *grpc.ClientConn) int { conn = c; return n })
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	rctx, cancel := p.Request(ctx)
	defer cancel()
	if err := conn.Invoke(rctx, "/devices/Ask", &emptypb.Empty{}, &emptypb.Empty{}); err != nil {
		return p.Classify(ctx, "read of leaf-1", "switches", err, judge)
	}
	return nil
}

func plainly(st *status.Status) (means string, kind error) { return "", grpclink.KindOf(st.Code()) }

func TestRequestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	lost := func(*status.Status) (string, error) { return "half of it is done", driver.ErrBusy }
	for name, c := range map[string]struct {
		code     codes.Code
		judge    func(*status.Status) (string, error)
		kind     error
		wantText string
	}{
		"not behind the address":    {codes.NotFound, plainly, driver.ErrUnreachable, "read of leaf-1: device unreachable: it says so at switches"},
		"out of reach":              {codes.Unavailable, plainly, driver.ErrUnreachable, "read of leaf-1: device unreachable: it says so"},
		"busy":                      {codes.ResourceExhausted, plainly, driver.ErrBusy, "ResourceExhausted: it says so"},
		"aborted":                   {codes.Aborted, plainly, driver.ErrBusy, "Aborted: it says so"},
		"unimplemented":             {codes.Unimplemented, plainly, driver.ErrUnsupported, "Unimplemented: it says so"},
		"no program":                {codes.FailedPrecondition, plainly, driver.ErrUnsupported, "FailedPrecondition: it says so"},
		"invalid argument":          {codes.InvalidArgument, plainly, driver.ErrInvalid, "InvalidArgument: it says so"},
		"out of range":              {codes.OutOfRange, plainly, driver.ErrInvalid, "OutOfRange: it says so"},
		"unauthenticated":           {codes.Unauthenticated, plainly, driver.ErrInvalid, "Unauthenticated: it says so"},
		"permission denied":         {codes.PermissionDenied, plainly, driver.ErrConflict, "PermissionDenied: it says so"},
		"already exists":            {codes.AlreadyExists, plainly, driver.ErrConflict, "AlreadyExists: it says so"},
		"internal error":            {codes.Internal, plainly, driver.ErrUnreachable, "Internal: it says so"},
		"a meaning of the protocol": {codes.DataLoss, lost, driver.ErrBusy, "read of leaf-1: device busy: half of it is done: it says so"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			p := newPool(t, grpclink.Options{Timeout: time.Minute, Dial: serve(t, func(context.Context) error {
				asked.Add(1)
				return status.Error(c.code, "it says so")
			})})
			err := request(t.Context(), t, p, c.judge)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.wantText) {
				t.Errorf("error %v, want kind %v and %q", err, c.kind, c.wantText)
			}
			if asked.Load() != 1 {
				t.Errorf("%d requests, want 1: only the caller repeats a request", asked.Load())
			}
		})
	}
}

func TestTimeoutAndCancelOfARequest(t *testing.T) {
	t.Parallel()
	never := serve(t, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	p := newPool(t, grpclink.Options{Timeout: time.Nanosecond, Dial: never})
	if err := request(t.Context(), t, p, plainly); !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), "no answer from switches within 1ns") {
		t.Errorf("a device that never answers: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p = newPool(t, grpclink.Options{Timeout: time.Minute, Dial: serve(t, func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() })})
	err := request(ctx, t, p, plainly)
	if !errors.Is(err, context.Canceled) || errors.Is(err, driver.ErrUnreachable) {
		t.Errorf("a cancelled caller: %v, want the context's error, and nothing about the device", err)
	}
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	a, unknownClient := tlstest.New(t), tlstest.New(t)
	good := a.Issue("manager", tlstest.Valid()).Certificate
	shows := func(ca *x509.CertPool, own ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ca, ServerName: "switches", Certificates: own, MinVersion: tls.VersionTLS13}
	}
	for name, c := range map[string]struct {
		server   tlstest.Certificate
		client   *tls.Config
		wantText string // in the error; empty on success
	}{
		"valid certificates":                    {a.Issue("switches", tlstest.Valid()), shows(a.Pool, good), ""},
		"the device's has expired":              {a.Issue("switches", tlstest.Expired()), shows(a.Pool, good), "certificate has expired"},
		"the device is another":                 {a.Issue("elsewhere", tlstest.Valid()), shows(a.Pool, good), "valid for elsewhere, not switches"},
		"the device's is of another authority":  {unknownClient.Issue("switches", tlstest.Valid()), shows(a.Pool, good), "unknown authority"},
		"the manager's has expired":             {a.Issue("switches", tlstest.Valid()), shows(a.Pool, a.Issue("manager", tlstest.Expired()).Certificate), "our certificate has expired on "},
		"the manager's clock is days late":      {a.Issue("switches", tlstest.Valid()), shows(a.Pool, a.Issue("manager", tlstest.Early()).Certificate), "check the clock"},
		"the manager shows none":                {a.Issue("switches", tlstest.Valid()), shows(a.Pool), "we show no certificate"},
		"the manager's is of another authority": {a.Issue("switches", tlstest.Valid()), shows(a.Pool, unknownClient.Issue("manager", tlstest.Valid()).Certificate), "device unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := false
			dial := serve(t, func(context.Context) error { asked = true; return nil }, grpc.Creds(credentials.NewTLS(&tls.Config{
				Certificates: []tls.Certificate{c.server.Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool, MinVersion: tls.VersionTLS13,
			})))
			err := request(t.Context(), t, newPool(t, grpclink.Options{TLS: c.client, Timeout: time.Minute, Dial: dial}), plainly)
			if c.wantText == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), c.wantText) {
				t.Errorf("error %v, want unreachable with %q", err, c.wantText)
			}
			if asked {
				t.Error("the request has arrived")
			}
		})
	}
}
