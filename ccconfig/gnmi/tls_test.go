package gnmi_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi"
	"fairlane/subnet/ident"
)

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

// sign returns a certificate that is valid for the day that ends then.
func (a *authority) sign(t testing.TB, name string, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
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

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	soon, past, far := time.Now().Add(time.Hour), time.Now().Add(-time.Hour), time.Now().Add(47*time.Hour)
	client := func(c tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: a.pool(), ServerName: "agents", Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS13}
	}
	for name, c := range map[string]struct {
		server tls.Certificate
		client *tls.Config
		says   string // in the error; empty where it works
	}{
		"both are known":                      {a.sign(t, "agents", soon), client(a.sign(t, "manager", soon)), ""},
		"the agent's has expired":             {a.sign(t, "agents", past), client(a.sign(t, "manager", soon)), "certificate has expired"},
		"the agent is another":                {a.sign(t, "elsewhere", soon), client(a.sign(t, "manager", soon)), "valid for elsewhere, not agents"},
		"the agent's is by a stranger":        {stranger.sign(t, "agents", soon), client(a.sign(t, "manager", soon)), "unknown authority"},
		"the manager's has expired":           {a.sign(t, "agents", soon), client(a.sign(t, "manager", past)), "our certificate has expired on "},
		"the manager's clock is a day behind": {a.sign(t, "agents", soon), client(a.sign(t, "manager", far)), "check the clock"},
		"the manager shows none":              {a.sign(t, "agents", soon), &tls.Config{RootCAs: a.pool(), ServerName: "agents", MinVersion: tls.VersionTLS13}, "we show no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, grpc.Creds(credentials.NewTLS(&tls.Config{
				Certificates: []tls.Certificate{c.server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool(), MinVersion: tls.VersionTLS13,
			})))
			id := ident.PortID{Node: 0x11, Port: 1}
			r.add(t, "host-1", newFakeAgent(id))
			d := r.driver(t, gnmi.Agent, func(o *gnmi.Options) { o.TLS = c.client })
			_, err := d.Apply(t.Context(), nicDevice(driver.PlaneRoCE, id, "host-1/P1"), params(driver.NICParam{Name: "rpg_gd", Value: 10}))
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused(t, name, err, driver.ErrUnreachable, c.says)
			if n := r.sets("host-1"); n != 0 {
				t.Errorf("%d Sets", n)
			}
		})
	}
}
