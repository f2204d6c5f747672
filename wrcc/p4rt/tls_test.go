package p4rt_test

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/internal/testkit/tlstest"
	"fairlane/sim/p4dev"
	"fairlane/wrcc/p4rt"
)

// TestMutualTLS covers the driver's streams and requests; the tests of package grpclink cover all errors.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	a := tlstest.New(t)
	creds := credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{a.Issue("switches", tlstest.Valid()).Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool, MinVersion: tls.VersionTLS13,
	})
	with := func(own ...tls.Certificate) *rig {
		secure := &tls.Config{RootCAs: a.Pool, ServerName: "switches", Certificates: own, MinVersion: tls.VersionTLS13}
		return newRig(t, p4dev.Options{}, p4rt.Options{Options: grpclink.Options{TLS: secure}}, grpc.Creds(creds))
	}
	known := with(a.Issue("manager", tlstest.Valid()).Certificate)
	want := known.sample(t, 0)
	if _, err := known.drv.Apply(t.Context(), known.dev, want); err != nil {
		t.Fatal(err)
	}
	known.holds(t, want)
	bare := with()
	if _, err := bare.drv.Apply(t.Context(), bare.dev, want); !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), "we show no certificate") {
		t.Errorf("error %v, want unreachable, and that we show no certificate", err)
	}
	if bare.sim.Writes() != 0 {
		t.Error("written to")
	}
}
