package servertls_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/internal/servertls"
)

// own writes a certificate that signs itself, valid from and until hours from now.
func own(t *testing.T, from, until time.Duration) (servertls.Files, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agent"}, DNSNames: []string{"agent.test"},
		NotBefore: time.Now().Add(from * time.Hour), NotAfter: time.Now().Add(until * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	f := servertls.Files{Certificate: filepath.Join(t.TempDir(), "c.pem"), Key: filepath.Join(t.TempDir(), "k.pem")}
	for path, b := range map[string]*pem.Block{f.Certificate: {Type: "CERTIFICATE", Bytes: der}, f.Key: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return f, parsed
}

func TestACertificateThatIsNotValidNowIsWarnedOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, until time.Duration
		warns       bool
	}{{-1, 1, false}, {-2, -1, true}, {24, 48, true}} {
		var log bytes.Buffer
		f, leaf := own(t, c.from, c.until)
		s, err := servertls.Open(f, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(log.String(), "set the clock right"); warned != c.warns {
			t.Errorf("valid from %d h to %d h: log %q, want a warning: %v", c.from, c.until, &log, c.warns)
		}
		if got := s.Config().NextProtos; len(got) != 2 || s.At(time.Now()).ClientAuth != tls.NoClientCert {
			t.Errorf("protocols %v", got)
		}
		if end, names, err := servertls.Expiry(f.Certificate, f.Key); err != nil || !end.Equal(leaf.NotAfter) || len(names) != 1 {
			t.Errorf("expiry %s, %v, %v", end, names, err)
		}
	}
}

func TestRefusalsInWords(t *testing.T) {
	t.Parallel()
	_, late := own(t, -2, -1)
	_, early := own(t, 24, 48)
	_, good := own(t, -1, 1)
	failed := func(c *x509.Certificate, err error) error {
		return &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{c}, Err: err}
	}
	for want, err := range map[string]error{
		"expired 1h0m":            failed(late, errors.New("x")),
		"is probably wrong":       failed(early, errors.New("x")),
		"none of the authorities": failed(good, x509.UnknownAuthorityError{}),
		"speaks no TLS":           tls.RecordHeaderError{},
		"the handshake failed":    errors.New("x"),
	} {
		if got, attrs := servertls.Refusal(err, time.Now()); !strings.Contains(got, want) || len(attrs) == 0 {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
	if got, _ := servertls.Refusal(failed(good, errors.New("bad usage")), time.Now()); !strings.Contains(got, "not acceptable") {
		t.Errorf("%q", got)
	}
}
