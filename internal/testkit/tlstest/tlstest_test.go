package tlstest_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"testing"

	"fairlane/internal/testkit/tlstest"
)

func TestCertificatesHaveTheRequestedProperties(t *testing.T) {
	t.Parallel()
	a, stranger := tlstest.New(t), tlstest.New(t)
	for name, c := range map[string]struct {
		cert tlstest.Certificate
		says func(error) bool
	}{
		"valid":       {a.Issue("x", tlstest.Valid()), func(err error) bool { return err == nil }},
		"expired":     {a.Issue("x", tlstest.Expired()), isExpired},
		"early":       {a.Issue("x", tlstest.Early()), isExpired},
		"another's":   {stranger.Issue("x", tlstest.Valid()), func(err error) bool { return errors.As(err, new(x509.UnknownAuthorityError)) }},
		"edited name": {a.Issue("x", tlstest.Valid(), func(c *x509.Certificate) { c.DNSNames = []string{"y"} }), func(err error) bool { return errors.As(err, new(x509.HostnameError)) }},
	} {
		pair, err := tls.LoadX509KeyPair(c.cert.CertFile, c.cert.KeyFile)
		if err != nil || !pair.Leaf.Equal(c.cert.Leaf) {
			t.Errorf("%s: the files hold %v, %v", name, pair.Leaf, err)
		}
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if _, err := c.cert.Leaf.Verify(x509.VerifyOptions{DNSName: "x", Roots: a.Pool, KeyUsages: []x509.ExtKeyUsage{usage}}); !c.says(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	pool := x509.NewCertPool()
	if text, err := os.ReadFile(a.File); err != nil || !pool.AppendCertsFromPEM(text) || !pool.Equal(a.Pool) {
		t.Errorf("the authority's file holds %q, %v", text, err)
	}
}

func isExpired(err error) bool {
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	return ok && invalid.Reason == x509.Expired
}
