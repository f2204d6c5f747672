package p4rt_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"fairlane/ccconfig/driver"
	"fairlane/sim/p4dev"
	"fairlane/wrcc/p4rt"
)

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// sign returns a certificate that is valid until then.
func (a *authority) sign(t testing.TB, name string, until time.Time) tls.Certificate {
	t.Helper()
	key := newKey(t)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

func clientTLS(t testing.TB, a *authority) *tls.Config {
	t.Helper()
	return &tls.Config{RootCAs: a.pool(), ServerName: "switches", Certificates: []tls.Certificate{a.sign(t, "manager", time.Now().Add(time.Hour))}, MinVersion: tls.VersionTLS13}
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		server tls.Certificate
		client func() *tls.Config
		works  bool
		says   string // in the error
	}{
		"both are known":                 {a.sign(t, "switches", soon), func() *tls.Config { return clientTLS(t, a) }, true, ""},
		"the switch's has expired":       {a.sign(t, "switches", past), func() *tls.Config { return clientTLS(t, a) }, false, "certificate has expired"},
		"the switch is another":          {a.sign(t, "elsewhere", soon), func() *tls.Config { return clientTLS(t, a) }, false, "valid for elsewhere, not switches"},
		"the switch's is by a stranger":  {stranger.sign(t, "switches", soon), func() *tls.Config { return clientTLS(t, a) }, false, "unknown authority"},
		"the manager's has expired":      {a.sign(t, "switches", soon), func() *tls.Config { c := clientTLS(t, a); c.Certificates[0] = a.sign(t, "manager", past); return c }, false, "our certificate has expired on "},
		"the manager shows none":         {a.sign(t, "switches", soon), func() *tls.Config { c := clientTLS(t, a); c.Certificates = nil; return c }, false, "we show no certificate"},
		"the manager's is by a stranger": {a.sign(t, "switches", soon), func() *tls.Config { c := clientTLS(t, stranger); c.RootCAs = a.pool(); return c }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			creds := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{c.server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool(), MinVersion: tls.VersionTLS13})
			r := newRig(t, p4dev.Options{}, p4rt.Options{TLS: c.client()}, grpc.Creds(creds))
			_, err := r.drv.Capabilities(t.Context(), r.dev)
			if c.works {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want unreachable that says %q", err, c.says)
			}
			if r.sim.Writes() != 0 {
				t.Error("written to")
			}
		})
	}
}
