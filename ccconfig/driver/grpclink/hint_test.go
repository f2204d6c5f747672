package grpclink

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"fairlane/internal/testkit/tlstest"
)

func TestHint(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good := tlstest.New(t).Issue("manager", tlstest.Valid()).Certificate
	bare := good
	bare.Leaf = nil // as tls.X509KeyPair leaves it with GODEBUG x509keypairleaf=0
	for name, c := range map[string]struct {
		config   *tls.Config
		now      time.Time
		wantText string
	}{
		"plain text":     {nil, now, ""},
		"valid":          {&tls.Config{Certificates: []tls.Certificate{good}}, now, ""},
		"by a function":  {&tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &good, nil }}, now, ""},
		"none":           {&tls.Config{}, now, "we show no certificate"},
		"empty":          {&tls.Config{Certificates: make([]tls.Certificate, 1)}, now, "our certificate is empty"},
		"not one":        {&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{{1, 2}}}}}, now, "cannot be read"},
		"a day too late": {&tls.Config{Certificates: []tls.Certificate{good}}, now.Add(25 * time.Hour), "has expired on "},
		"not parsed":     {&tls.Config{Certificates: []tls.Certificate{bare}}, now.Add(25 * time.Hour), "has expired on "},
		"days too early": {&tls.Config{Certificates: []tls.Certificate{good}}, now.Add(-49 * time.Hour), "check the clock"},
	} {
		if got := hint(c.config, c.now); (got == "") != (c.wantText == "") || !strings.Contains(got, c.wantText) {
			t.Errorf("%s: %q, want %q", name, got, c.wantText)
		}
	}
}
