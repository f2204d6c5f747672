package setup

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/internal/servertls"
	"fairlane/service/config"
)

// authority signs certificates for tests.
type authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert, a.pem, _ = a.issue("authority", true, time.Now().Add(time.Hour), nil, nil)
	return a
}

// issue makes a certificate; without a parent it signs itself.
func (a *authority) issue(name string, isCA bool, until time.Time, parent *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate, []byte, []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, IsCA: isCA, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if isCA {
		c.KeyUsage = x509.KeyUsageCertSign
	}
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, parsed, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
}

// Files writes a certificate and its key for a name into dir.
func (a *authority) files(dir, name string, until time.Time) config.TLS {
	a.t.Helper()
	_, _, cert, key := a.issue(name, false, until, a.cert, a.key)
	out := config.TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"), ClientAuth: "optional"}
	for path, text := range map[string][]byte{out.CertFile: cert, out.KeyFile: key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return out
}

// serves answers who the client is, over the given certificates.
func serves(t testing.TB, c *servertls.Source) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "nobody"
		if len(r.TLS.VerifiedChains) > 0 {
			name = r.TLS.VerifiedChains[0][0].Subject.CommonName
		}
		_, _ = io.WriteString(w, name)
	}))
	s.TLS = c.Config()
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func (a *authority) client(own ...tls.Certificate) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.pem)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: own, MinVersion: tls.VersionTLS12}}}
}

func ask(c *http.Client, url string) (string, error) {
	r, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return string(b), err
}

func TestClientCertificatesAreAskedForAsConfigured(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	files := a.files(dir, "fairlane.test", time.Now().Add(time.Hour))
	files.ClientCAFile = filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(files.ClientCAFile, a.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	pair := func(by *authority) tls.Certificate {
		_, _, cert, key := by.issue("robot", false, time.Now().Add(time.Hour), by.cert, by.key)
		p, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		auth   string
		own    []tls.Certificate
		want   string
		refuse bool
	}{
		{"optional", nil, "nobody", false},
		{"optional", []tls.Certificate{pair(a)}, "robot", false},
		{"require", []tls.Certificate{pair(a)}, "robot", false},
		{"require", nil, "", true},
	} {
		files.ClientAuth = c.auth
		certs, err := certificates(files, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ask(a.client(c.own...), serves(t, certs))
		if (err != nil) != c.refuse || got != c.want {
			t.Errorf("%s with %d certificates: %q, %v", c.auth, len(c.own), got, err)
		}
	}
	// A certificate of another authority is not sent by Go's client when the server names its own, so it is
	// forced on it.
	files.ClientAuth = "optional"
	certs, err := certificates(files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	foreign := pair(other)
	client := a.client()
	client.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &foreign, nil }
	if got, err := ask(client, serves(t, certs)); err == nil {
		t.Errorf("a certificate of a foreign authority was taken: %q", got)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	certs, err := certificates(a.files(t.TempDir(), "fairlane.test", time.Now().Add(time.Hour)), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client := a.client()
	cfg := client.Transport.(*http.Transport).TLSClientConfig
	cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, err := ask(client, serves(t, certs)); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("TLS 1.1: %v", err)
	}
}

func TestARenewedCertificateIsTakenAndABrokenOneIsNot(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	dir := t.TempDir()
	files := a.files(dir, "first.test", time.Now().Add(time.Hour))
	var logged bytes.Buffer
	certs, err := certificates(files, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	name := func() string {
		now = now.Add(servertls.Interval)
		c, err := x509.ParseCertificate(certs.At(now).Certificates[0].Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return c.Subject.CommonName
	}
	if got := name(); got != "first.test" {
		t.Fatalf("serves %s", got)
	}
	later := time.Now().Add(time.Minute)
	if err := os.WriteFile(files.CertFile, []byte("half-written"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(files.CertFile, later, later); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "first.test" || !strings.Contains(logged.String(), "the former stay in force") {
		t.Errorf("serves %s after a broken renewal; logged %s", got, &logged)
	}
	a.files(dir, "second.test", time.Now().Add(time.Hour))
	if err := os.Chtimes(files.CertFile, later.Add(time.Minute), later.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "second.test" {
		t.Errorf("serves %s after the renewal", got)
	}
	if err := os.Remove(files.KeyFile); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "second.test" {
		t.Errorf("serves %s after the key was removed", got)
	}
}

func TestCertificatesThatCannotBeUsedAreFoundAtTheStart(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	dir := t.TempDir()
	good := a.files(dir, "x.test", time.Now().Add(time.Hour))
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, files := range map[string]config.TLS{
		"no certificate":  {CertFile: filepath.Join(dir, "none"), KeyFile: good.KeyFile},
		"empty key":       {CertFile: good.CertFile, KeyFile: empty},
		"key of another":  {CertFile: good.CertFile, KeyFile: a.files(t.TempDir(), "y.test", time.Now().Add(time.Hour)).KeyFile},
		"empty authority": {CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: empty},
	} {
		if _, err := certificates(files, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
	until, names, err := servertls.Expiry(good.CertFile, good.KeyFile)
	if err != nil || len(names) != 1 || names[0] != "x.test" || time.Until(until) > time.Hour {
		t.Errorf("expiry %s of %v, %v", until, names, err)
	}
}
