package servertls_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fairlane/internal/servertls"
	"fairlane/internal/testkit/tlstest"
)

func TestAnInvalidCertificateIsLogged(t *testing.T) {
	t.Parallel()
	ca := tlstest.New(t)
	for _, c := range []struct {
		valid tlstest.Validity
		warns bool
	}{{tlstest.Valid(), false}, {tlstest.Expired(), true}, {tlstest.Early(), true}} {
		var log bytes.Buffer
		own := ca.Issue("agent", c.valid)
		s, err := servertls.Open(servertls.Files{Certificate: own.CertFile, Key: own.KeyFile}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(log.String(), "set the clock right"); warned != c.warns {
			t.Errorf("valid %v: log %q, want a warning: %v", c.valid, &log, c.warns)
		}
		if got := s.Config().NextProtos; len(got) != 2 || s.At(time.Now()).ClientAuth != tls.NoClientCert {
			t.Errorf("protocols %v", got)
		}
		if end, names, err := servertls.Expiry(own.CertFile, own.KeyFile); err != nil || !end.Equal(own.Leaf.NotAfter) || len(names) != 1 {
			t.Errorf("expiry %s, %v, %v", end, names, err)
		}
	}
}

func TestHandshakeRefusalsAreExplained(t *testing.T) {
	t.Parallel()
	ca := tlstest.New(t)
	late, early, good := ca.Issue("agent", tlstest.Expired()).Leaf, ca.Issue("agent", tlstest.Early()).Leaf, ca.Issue("agent", tlstest.Valid()).Leaf
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
