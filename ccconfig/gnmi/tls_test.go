package gnmi_test

import (
	"crypto/tls"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi"
	"fairlane/internal/testkit/tlstest"
	"fairlane/subnet/ident"
)

// TestMutualTLS checks that the driver uses the certificates; the tests of package grpclink cover all errors.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	a := tlstest.New(t)
	for name, c := range map[string]struct {
		valid    tlstest.Validity // of the manager's certificate
		wantText string           // in the error; empty on success
	}{
		"valid certificates":        {tlstest.Valid(), ""},
		"the manager's has expired": {tlstest.Expired(), "our certificate has expired on "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, grpc.Creds(credentials.NewTLS(&tls.Config{
				Certificates: []tls.Certificate{a.Issue("agents", tlstest.Valid()).Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool, MinVersion: tls.VersionTLS13,
			})))
			id := ident.PortID{Node: 0x11, Port: 1}
			r.add(t, "host-1", newFakeAgent(id))
			own := &tls.Config{RootCAs: a.Pool, ServerName: "agents", Certificates: []tls.Certificate{a.Issue("manager", c.valid).Certificate}, MinVersion: tls.VersionTLS13}
			d := r.driver(t, gnmi.Agent, func(o *gnmi.Options) { o.TLS = own })
			_, err := d.Apply(t.Context(), nicDevice(driver.PlaneRoCE, id, "host-1/P1"), params(driver.NICParam{Name: "rpg_gd", Value: 10}))
			if c.wantText == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused(t, name, err, driver.ErrUnreachable, c.wantText)
			if n := r.sets("host-1"); n != 0 {
				t.Errorf("%d Sets", n)
			}
		})
	}
}
