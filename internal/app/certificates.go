package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"fairlane/internal/config"
)

// certificates is the API's TLS material, read again when a file of it changes. What cannot be read leaves the
// former in force: a half-written renewal must not take the service down.
type certificates struct {
	files config.TLS
	log   *slog.Logger // nil: nothing is logged

	mu      sync.Mutex
	checked time.Time
	stamps  [3]stamp // of the certificate, the key, the client authorities
	current *tls.Config
}

// stamp is how a changed file is noticed.
type stamp struct {
	mod  time.Time
	size int64
}

// certificateInterval bounds how often files are looked at.
const certificateInterval = 2 * time.Second

// newCertificates reads the files for the first time, when a fault is an error.
func newCertificates(files config.TLS, log *slog.Logger) (*certificates, error) {
	c := &certificates{files: files, log: log}
	var err error
	if c.stamps, err = c.look(); err != nil {
		return nil, err
	}
	c.current, err = c.load()
	return c, err
}

// server is the configuration of a listener: TLS 1.2 or newer, with what is in force at each handshake.
func (c *certificates) server() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.at(time.Now()), nil },
	}
}

// at is the configuration in force at a moment.
func (c *certificates) at(now time.Time) *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.checked) < certificateInterval {
		return c.current
	}
	c.checked = now
	stamps, err := c.look()
	if err == nil && stamps == c.stamps {
		return c.current
	}
	var fresh *tls.Config
	if err == nil {
		fresh, err = c.load()
	}
	switch {
	case err == nil:
		c.current, c.stamps = fresh, stamps
		if c.log != nil {
			c.log.Info("certificates were read again", "cert_file", c.files.CertFile)
		}
	case c.log != nil:
		c.log.Error("changed certificates cannot be used, the former stay in force", "error", err.Error())
	}
	return c.current
}

// look stamps the files.
func (c *certificates) look() (stamps [3]stamp, err error) {
	for i, path := range []string{c.files.CertFile, c.files.KeyFile, c.files.ClientCAFile} {
		if path == "" {
			continue
		}
		st, err := os.Stat(path)
		if err != nil {
			return stamps, err
		}
		stamps[i] = stamp{st.ModTime(), st.Size()}
	}
	return stamps, nil
}

// load reads the files.
func (c *certificates) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.files.CertFile, c.files.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", c.files.CertFile, c.files.KeyFile, err)
	}
	out := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"},
	}
	if c.files.ClientCAFile == "" {
		return out, nil
	}
	text, err := os.ReadFile(c.files.ClientCAFile)
	if err != nil {
		return nil, err
	}
	out.ClientCAs = x509.NewCertPool()
	if !out.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: want at least one certificate in PEM", c.files.ClientCAFile)
	}
	out.ClientAuth = tls.VerifyClientCertIfGiven
	if c.files.ClientAuth == "require" {
		out.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return out, nil
}

// expiry is when the API's certificate in a file ends, and the names it is for.
func expiry(path, keyPath string) (time.Time, []string, error) {
	pair, err := tls.LoadX509KeyPair(path, keyPath)
	if err != nil {
		return time.Time{}, nil, err
	}
	if pair.Leaf == nil {
		return time.Time{}, nil, errors.New("no certificate in it")
	}
	return pair.Leaf.NotAfter, pair.Leaf.DNSNames, nil
}
