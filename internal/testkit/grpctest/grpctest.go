// Package grpctest connects gRPC servers and clients of tests in memory.
package grpctest

import (
	"context"
	"io"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// Dial opens a connection to a server, ignoring the address.
type Dial = func(ctx context.Context, address string) (net.Conn, error)

// buffer is the size of a connection's buffer in each direction, in bytes.
const buffer = 1 << 20

// Serve runs a server in memory until the test ends, and returns a function to dial it. serve must return nil when its
// context ends; otherwise the test fails.
func Serve(t testing.TB, serve func(context.Context, net.Listener) error) Dial {
	t.Helper()
	l := bufconn.Listen(buffer)
	ServeOn(t, l, serve)
	return func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
}

// ServeOn is Serve on a listener, for clients in other processes.
func ServeOn(t testing.TB, l net.Listener, serve func(context.Context, net.Listener) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

// Connect returns a plain-text client that is closed when the test ends.
func Connect(t testing.TB, dial Dial, o ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	o = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial)}, o...)
	conn, err := grpc.NewClient("passthrough:///test", o...)
	if err != nil {
		t.Fatal(err)
	}
	CloseAtEnd(t, conn)
	return conn
}

// CloseAtEnd closes a client when the test ends; a failure fails the test.
func CloseAtEnd(t testing.TB, c io.Closer) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}
