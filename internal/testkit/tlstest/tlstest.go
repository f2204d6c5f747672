// Package tlstest issues certificates for TLS tests.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Validity is the period of validity, relative to the time of issue.
type Validity struct{ From, Until time.Duration }

// Valid returns a validity until in an hour.
func Valid() Validity { return Until(time.Hour) }

// Expired returns a validity that ended an hour ago.
func Expired() Validity { return Until(-time.Hour) }

// Early returns a validity that begins tomorrow.
func Early() Validity { return Validity{24 * time.Hour, 48 * time.Hour} }

// Until returns a validity that began two days ago and ends then from now; then may be negative, but less than two days
// ago.
func Until(then time.Duration) Validity { return Validity{-48 * time.Hour, then} }

// Authority issues certificates.
type Authority struct {
	File string         // its certificate in PEM, in a directory that is removed after the test
	Pool *x509.CertPool // with only its certificate
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// Certificate is a certificate with its key, as a value (with Leaf set) and as PEM files NAME.pem and NAME.key.
type Certificate struct {
	tls.Certificate
	CertFile, KeyFile string
}

// New returns a new authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t), File: filepath.Join(t.TempDir(), "ca.pem"), Pool: x509.NewCertPool()}
	a.cert = template("authority", Validity{-100 * time.Hour, 100 * time.Hour})
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	a.cert = a.sign(a.cert, a.key)
	a.Pool.AddCert(a.cert)
	write(t, a.File, "CERTIFICATE", a.cert.Raw)
	return a
}

// Issue issues a certificate for servers and clients, for a name and the address 127.0.0.1, to a new directory. Edits
// change it before it is signed.
func (a *Authority) Issue(name string, v Validity, edits ...func(*x509.Certificate)) Certificate {
	a.t.Helper()
	return a.IssueTo(a.t.TempDir(), name, v, edits...)
}

// IssueTo is Issue to the files in dir, which it replaces if they exist.
func (a *Authority) IssueTo(dir, name string, v Validity, edits ...func(*x509.Certificate)) Certificate {
	a.t.Helper()
	c := template(name, v)
	c.DNSNames, c.IPAddresses = []string{name}, []net.IP{net.IPv4(127, 0, 0, 1)}
	c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, e := range edits {
		e(c)
	}
	key := newKey(a.t)
	c = a.sign(c, key)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	out := Certificate{
		Certificate: tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: key, Leaf: c},
		CertFile:    filepath.Join(dir, name+".pem"), KeyFile: filepath.Join(dir, name+".key"),
	}
	write(a.t, out.CertFile, "CERTIFICATE", c.Raw)
	write(a.t, out.KeyFile, "PRIVATE KEY", secret)
	return out
}

func template(name string, v Validity) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(v.From), NotAfter: now.Add(v.Until),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *Authority) sign(c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err == nil {
		c, err = x509.ParseCertificate(der)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func write(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
