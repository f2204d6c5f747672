package dms

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/testkit/grpctest"
	"fairlane/internal/testkit/tlstest"
)

// listen serves the tree at a port of this machine.
func listen(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	server, err := gnmitree.NewServer(gnmitree.Options{Targets: gnmitree.Single(newService(), pci)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	grpctest.ServeOn(t, l, func(ctx context.Context, l net.Listener) error { return server.Serve(ctx, l, options...) })
	return l.Addr().String()
}

// named removes the addresses from a certificate, so that it is valid only for its name.
func named(c *x509.Certificate) { c.IPAddresses = nil }

func trust(t *testing.T, a Address) error {
	t.Helper()
	s, err := Dial(a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return newAccessor(t, s.Client(), pci).Read(t.Context(), []nicparam.Key{{Port: 1, Name: "trust"}})[0].Err
}

func TestTheServiceIsReachedWithAndWithoutTLS(t *testing.T) {
	t.Parallel()
	if err := trust(t, Address{Target: listen(t)}); err != nil {
		t.Error(err)
	}
	ca := tlstest.New(t)
	good := ca.Issue("dms.example", tlstest.Valid(), named)
	mutual := listen(t, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{good.Certificate}, ClientCAs: ca.Pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})))
	if err := trust(t, Address{Target: mutual, CA: ca.File, Certificate: good.CertFile, Key: good.KeyFile, ServerName: "dms.example"}); err != nil {
		t.Error(err)
	}
	for name, a := range map[string]Address{
		"no client certificate": {Target: mutual, CA: ca.File, ServerName: "dms.example"},
		"another name":          {Target: mutual, CA: ca.File, Certificate: good.CertFile, Key: good.KeyFile},
	} {
		if err := trust(t, a); !errors.Is(err, nicfiles.ErrUnreadable) || errors.Is(err, nicfiles.ErrAbsent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	late := listen(t, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{ca.Issue("dms.example", tlstest.Expired()).Certificate}, MinVersion: tls.VersionTLS12})))
	if err := trust(t, Address{Target: late, CA: ca.File, ServerName: "dms.example"}); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("expired: %v", err)
	}
}

func TestAddressesThatCannotBe(t *testing.T) {
	t.Parallel()
	own := tlstest.New(t).Issue("dms.example", tlstest.Valid())
	good, key := own.CertFile, own.KeyFile
	for wantText, a := range map[string]Address{
		"want HOST:PORT":       {Target: "127.0.0.1"},
		"without TLS":          {Target: "192.0.2.1:9339"},
		"without authorities":  {Target: "127.0.0.1:9339", Certificate: good, Key: key},
		"no such file":         {Target: "127.0.0.1:9339", CA: good + ".not"},
		"found no certificate": {Target: "127.0.0.1:9339", CA: key},
		"client certificate":   {Target: "127.0.0.1:9339", CA: good, Certificate: good},
	} {
		if _, err := Dial(a); err == nil || !strings.Contains(err.Error(), wantText) {
			t.Errorf("%v does not contain %q", err, wantText)
		}
	}
}
