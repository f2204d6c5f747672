package grpclink

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

// hint returns the end of a sentence about a server that does not answer: the problem with the manager's certificate
// at a time, if there is one. It is empty without TLS. A server that rejects a certificate may just disconnect,
// because with TLS 1.3 a client finishes its handshake before the server checks its certificate.
func hint(c *tls.Config, now time.Time) string {
	if c == nil || c.GetClientCertificate != nil {
		return ""
	}
	if len(c.Certificates) == 0 {
		return "; we show no certificate, which the device may ask for"
	}
	for i := range c.Certificates {
		leaf := c.Certificates[i].Leaf
		if leaf == nil && len(c.Certificates[i].Certificate) > 0 {
			var err error
			if leaf, err = x509.ParseCertificate(c.Certificates[i].Certificate[0]); err != nil {
				return fmt.Sprintf("; our certificate cannot be read: %v", err)
			}
		}
		switch {
		case leaf == nil:
			return "; our certificate is empty"
		case now.After(leaf.NotAfter):
			return fmt.Sprintf("; our certificate has expired on %s: renew it", leaf.NotAfter.UTC().Format(time.RFC3339))
		case now.Before(leaf.NotBefore):
			return fmt.Sprintf("; our certificate is valid from %s on, and it is %s here: check the clock",
				leaf.NotBefore.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
		}
	}
	return ""
}
