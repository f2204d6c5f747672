package gnmitree_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"

	"fairlane/ccconfig/gnmi/gnmitest"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/testkit/grpctest"
	"fairlane/internal/testkit/tlstest"
)

// listen serves on a port of this machine until the test ends.
func listen(t testing.TB, o gnmitree.Options, opts ...grpc.ServerOption) string {
	t.Helper()
	s, err := gnmitree.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	grpctest.ServeOn(t, l, func(ctx context.Context, l net.Listener) error { return s.Serve(ctx, l, opts...) })
	return l.Addr().String()
}

// TestGnmiCli tests a target with an independent client, over TLS with certificates at both ends.
func TestGnmiCli(t *testing.T) {
	t.Parallel()
	ca := tlstest.New(t)
	server, client := files(ca, "server", tlstest.Valid()), files(ca, "manager", tlstest.Valid())
	source := open(t, server)
	m := port()
	address := listen(t, gnmitree.Options{Targets: gnmitree.Single(m, "a"), Authorize: gnmitree.AllowSet("manager")}, grpc.Creds(gnmitree.Credentials(source.Config(), discard)))
	c := gnmitest.New(t, address, "-ca_crt", ca.File, "-client_crt", client.Certificate, "-client_key", client.Key)

	caps, err := c.Capabilities()
	if err != nil || caps.GetGNMIVersion() != gnmitree.Version || caps.GetSupportedModels()[0].GetName() != "fairlane-nic" {
		t.Errorf("capabilities: %v, %v", caps, err)
	}
	at := &gnmi.Path{Target: "a"}
	got, err := c.Get(&gnmi.GetRequest{Prefix: at, Path: []*gnmi.Path{wire(rate1)}, Encoding: gnmi.Encoding_JSON_IETF})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "get", text(t, got.GetNotification()[0]), rate1+` = {"fairlane-nic:value":"5"}`)
	stream := c.Stream("a", "nics/nic[name=a]/ports/port[number=1]/params")
	if _, err := stream.Until("rpg_ai_rate", "config/value", "5"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(&gnmi.SetRequest{Prefix: at, Replace: []*gnmi.Update{update(rate1, `{"value":"40"}`)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Until("rpg_ai_rate", "config/value", "40"); err != nil {
		t.Error(err)
	}
	once, err := c.Once("a", "nics/nic[name=*]/ports/port[number=2]/state/mac")
	if err != nil || !strings.Contains(once, "02:00:00:00:00:02") {
		t.Errorf("once: %s, %v", once, err)
	}
	if _, err := c.Get(&gnmi.GetRequest{Prefix: at, Path: []*gnmi.Path{wire("/nics/nic[name=z]")}}); err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("a missing node: %v", err)
	}
	reader := files(ca, "reader", tlstest.Valid())
	c = gnmitest.New(t, address, "-ca_crt", ca.File, "-client_crt", reader.Certificate, "-client_key", reader.Key)
	if _, err := c.Set(&gnmi.SetRequest{Prefix: at, Delete: []*gnmi.Path{wire(rate1)}}); err == nil || !strings.Contains(err.Error(), "PermissionDenied") {
		t.Errorf("a Set of another client: %v", err)
	}
	if _, err := gnmitest.New(t, address, "-ca_crt", ca.File, "-timeout", "1s").Capabilities(); err == nil {
		t.Error("a client without a certificate was answered")
	}
}
