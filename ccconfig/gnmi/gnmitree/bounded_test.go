package gnmitree_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"fairlane/ccconfig/gnmi/gnmitree"
)

// TestUnauthenticatedConnectionsAreLimited opens more connections than the limit; the first ones send nothing.
func TestUnauthenticatedConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	var j journal
	address := listen(t, gnmitree.Options{Targets: gnmitree.Single(port()), Limits: gnmitree.Limits{Connections: 2}, Log: slog.New(slog.NewTextHandler(&j, nil))})
	connect := func() net.Conn {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	idle := []net.Conn{connect(), connect()}
	third := connect()
	if n, err := third.Read(make([]byte, 64)); n > 0 || !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the third connection got %d bytes, %v, want it closed", n, err)
	}
	if !strings.Contains(j.String(), "too many connections") {
		t.Errorf("the log contains %q", j.String())
	}
	for _, c := range idle {
		_ = c.Close()
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := gnmi.NewGNMIClient(conn).Get(short(t), &gnmi.GetRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Errorf("after the others were closed: %v", err)
	}
}
