// Package certpool reads the certificate authorities that a connection trusts.
package certpool

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// ErrNone reports a file without a certificate.
var ErrNone = errors.New("found no certificate: want at least one in PEM")

// Read reads the certificate authorities in a PEM file. Its errors name the file and never contain its contents.
func Read(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %w", path, ErrNone)
	}
	return pool, nil
}
