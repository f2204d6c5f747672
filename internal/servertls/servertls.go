// Package servertls builds a listener's TLS configuration from files, which it reloads when they change, and explains
// why a client's certificate was rejected.
package servertls

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"fairlane/internal/certpool"
)

// Files are a listener's TLS material, in PEM.
type Files struct {
	Certificate, Key string
	Clients          string   // authorities of accepted client certificates; empty: no client certificates
	MustHave         bool     // clients without a certificate are rejected; has an effect only with Clients
	Protocols        []string // for ALPN; empty: "h2" and "http/1.1"
}

// Source is the TLS material in force. If a reload fails, the previous material stays in force: a half-written renewal
// must not interrupt the service. It is safe for concurrent use.
type Source struct {
	files Files
	log   *slog.Logger

	mu      sync.Mutex
	checked time.Time
	stamps  [3]stamp // of the certificate, the key and the client authorities
	current *tls.Config
}

// stamp identifies the state of a file, to detect changes.
type stamp struct {
	mod  time.Time
	size int64
}

// Interval is the minimum time between checks of the files.
const Interval = 2 * time.Second

// Open reads the files for the first time; a fault is then an error. A certificate that is not valid now is logged but
// is no error, because the clock may be wrong. log may be nil.
func Open(files Files, log *slog.Logger) (*Source, error) {
	s := &Source{files: files, log: cmp.Or(log, slog.New(slog.DiscardHandler))}
	if len(files.Protocols) == 0 {
		s.files.Protocols = []string{"h2", "http/1.1"}
	}
	var err error
	if s.stamps, err = s.look(); err != nil {
		return nil, err
	}
	if s.current, err = s.load(); err != nil {
		return nil, err
	}
	s.judge(s.current, time.Now())
	return s, nil
}

// Config returns the configuration of a listener: TLS 1.2 or newer, with the material in force at each handshake.
func (s *Source) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: slices.Clone(s.files.Protocols),
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.At(time.Now()), nil },
	}
}

// At returns the configuration in force at a time.
func (s *Source) At(now time.Time) *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.checked) < Interval {
		return s.current
	}
	s.checked = now
	stamps, err := s.look()
	if err == nil && stamps == s.stamps {
		return s.current
	}
	var fresh *tls.Config
	if err == nil {
		fresh, err = s.load()
	}
	if err != nil {
		s.log.Error("changed certificates cannot be used, the former stay in force", "error", err.Error())
		return s.current
	}
	s.log.Info("certificates were read again", "cert_file", s.files.Certificate)
	s.judge(fresh, now)
	s.current, s.stamps = fresh, stamps
	return s.current
}

// look returns the stamps of the files.
func (s *Source) look() (stamps [3]stamp, err error) {
	for i, path := range []string{s.files.Certificate, s.files.Key, s.files.Clients} {
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
func (s *Source) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(s.files.Certificate, s.files.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", s.files.Certificate, s.files.Key, err)
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: s.files.Protocols}
	if s.files.Clients == "" {
		return out, nil
	}
	if out.ClientCAs, err = certpool.Read(s.files.Clients); err != nil {
		return nil, err
	}
	out.ClientAuth = tls.VerifyClientCertIfGiven
	if s.files.MustHave {
		out.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return out, nil
}

// judge logs a warning about a certificate that clients with correct clocks reject.
func (s *Source) judge(c *tls.Config, now time.Time) {
	leaf := c.Certificates[0].Leaf
	if leaf == nil || !now.Before(leaf.NotBefore) && !now.After(leaf.NotAfter) {
		return
	}
	s.log.Warn("this listener's certificate is not valid now, by the clock here: renew it, or set the clock right",
		"cert_file", s.files.Certificate, "not_before", leaf.NotBefore.UTC(), "not_after", leaf.NotAfter.UTC(), "now", now.UTC())
}

// Expiry returns the end of a certificate's validity, and its names.
func Expiry(certificate, key string) (time.Time, []string, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return time.Time{}, nil, err
	}
	if pair.Leaf == nil {
		return time.Time{}, nil, errors.New("no certificate in it")
	}
	return pair.Leaf.NotAfter, pair.Leaf.DNSNames, nil
}
