package clienttls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"strings"
	"testing"
	"time"
)

// certificate is valid for a day until then.
func certificate(t *testing.T, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-24 * time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestHint(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good := certificate(t, now.Add(time.Hour))
	for name, c := range map[string]struct {
		config *tls.Config
		now    time.Time
		says   string
	}{
		"plain text":      {nil, now, ""},
		"valid":           {&tls.Config{Certificates: []tls.Certificate{good}}, now, ""},
		"by a function":   {&tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &good, nil }}, now, ""},
		"none":            {&tls.Config{}, now, "we show no certificate"},
		"empty":           {&tls.Config{Certificates: make([]tls.Certificate, 1)}, now, "our certificate is empty"},
		"not one":         {&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{{1, 2}}}}}, now, "cannot be read"},
		"a day too late":  {&tls.Config{Certificates: []tls.Certificate{good}}, now.Add(25 * time.Hour), "has expired on "},
		"a day too early": {&tls.Config{Certificates: []tls.Certificate{good}}, now.Add(-25 * time.Hour), "check the clock"},
	} {
		if got := Hint(c.config, c.now); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}
