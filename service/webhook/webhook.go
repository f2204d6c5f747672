// Package webhook sends signed JSON to HTTP receivers, by the Standard Webhooks specification 1.0
// (https://www.standardwebhooks.com): the header webhook-id names the delivery, webhook-timestamp the second of the attempt, and
// webhook-signature is "v1," and the base64 of HMAC-SHA256 over ID.TIMESTAMP.BODY.
//
// Each attempt of a delivery has the same id and a new timestamp. A receiver rejects timestamps outside of Window, so that a recorded
// request cannot be repeated later, and drops ids that it has seen.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fairlane/internal/phrase"
)

// Headers of a delivery.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Window is how far the timestamp of a request may be from the receiver's clock.
const Window = 5 * time.Minute

// Limits of one attempt.
const (
	Timeout      = 10 * time.Second
	maxAnswer    = 4 << 10  // of the body of an answer that is read, in bytes
	maxHeaders   = 16 << 10 // of the headers of an answer, in bytes
	minKey       = 24       // of a key, in bytes: the minimum of the specification
	secretPrefix = "whsec_"
)

// Key is the secret that sender and receiver share. It prints as "(key)".
type Key struct{ secret []byte }

// String hides the key.
func (Key) String() string { return "(key)" }

// GoString hides the key.
func (Key) GoString() string { return "(key)" }

// ParseKey returns the key of a text: the bytes that base64 encodes after "whsec_", as the specification has it, or the bytes of any
// other text. Its error does not repeat the text.
func ParseKey(text string) (Key, error) {
	secret := []byte(text)
	if encoded, ok := strings.CutPrefix(text, secretPrefix); ok {
		var err error
		if secret, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return Key{}, &phrase.Error{Text: phrase.Of("webhook.key-base64")}
		}
	}
	if len(secret) < minKey {
		return Key{}, &phrase.Error{Text: phrase.Of("webhook.key-short", "n", len(secret), "min", minKey)}
	}
	return Key{secret}, nil
}

// sign returns the value of HeaderSignature.
func (k Key) sign(id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, k.secret)
	_, _ = mac.Write([]byte(id + "." + timestamp + ".")) // a hash accepts everything
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Reasons of Verify.
var (
	ErrSignature = errors.New("the signature is missing or wrong")
	ErrWindow    = errors.New("the timestamp is outside of the window")
)

// Verify checks a received request, as receivers should: the signature, of which a header may list several separated by spaces, and the
// timestamp.
func (k Key) Verify(h http.Header, body []byte, now time.Time) error {
	timestamp := h.Get(HeaderTimestamp)
	want := k.sign(h.Get(HeaderID), timestamp, body)
	valid := false
	for got := range strings.FieldsSeq(h.Get(HeaderSignature)) {
		valid = valid || hmac.Equal([]byte(got), []byte(want))
	}
	if !valid {
		return ErrSignature
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > Window {
		return ErrWindow
	}
	return nil
}

// NewID returns a new id of a delivery.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return "msg_" + hex.EncodeToString(b[:])
}

// Sender posts to one receiver. It is safe for concurrent use.
type Sender struct {
	url    string
	key    *Key
	client *http.Client
}

// New returns a sender to a URL. A nil key sends without a signature; nil roots trust the authorities of the system.
func New(address string, key *Key, roots *x509.CertPool) *Sender {
	return &Sender{url: address, key: key, client: newClient(roots)}
}

// newClient returns a client that follows no redirect and bounds the time and the headers of an answer.
func newClient(roots *x509.CertPool) *http.Client {
	return &http.Client{
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: Timeout, ResponseHeaderTimeout: Timeout, MaxResponseHeaderBytes: maxHeaders,
			MaxIdleConnsPerHost: 1, IdleConnTimeout: 2 * time.Minute, ForceAttemptHTTP2: true,
		},
	}
}

// StatusError is an answer that does not acknowledge the delivery.
type StatusError struct {
	Status int
	Detail string // the beginning of the answer, on one line; empty for none
}

var _ phrase.Sentence = (*StatusError)(nil)

// Error returns the status and the beginning of the answer.
func (e *StatusError) Error() string { return e.Sentence().String() }

// Sentence returns the error for readers of any language.
func (e *StatusError) Sentence() phrase.Text {
	switch {
	case e.Status >= 300 && e.Status < 400:
		return phrase.Of("webhook.redirect", "status", e.Status)
	case e.Detail == "":
		return phrase.Of("webhook.status", "status", e.Status)
	}
	return phrase.Of("webhook.status-detail", "status", e.Status, "detail", e.Detail)
}

// Lasting reports whether repeating the same request is pointless: the receiver redirects or rejects it.
func (e *StatusError) Lasting() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e.Status < 500
}

// Post makes one attempt to deliver JSON. Any status 2xx acknowledges it; another one is a *StatusError. No error contains the URL, which
// may hold a secret.
func (s *Sender) Post(ctx context.Context, id string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return withoutURL(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fairlane")
	if id != "" {
		req.Header.Set(HeaderID, id)
	}
	if s.key != nil {
		timestamp := strconv.FormatInt(time.Now().Unix(), 10)
		req.Header.Set(HeaderTimestamp, timestamp)
		req.Header.Set(HeaderSignature, s.key.sign(id, timestamp, body))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }() // the status decides
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // so that the connection can be used again
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // a broken answer has a status all the same
	detail := s.hide(oneLine(text))
	return &StatusError{Status: resp.StatusCode, Detail: strings.ToValidUTF8(detail[:min(len(detail), maxDetail)], "")}
}

// minSecret is the length from which a word of the URL's path or query is hidden by itself, in bytes.
const minSecret = 16

// hide hides the path and the query of the URL in an answer: receivers often repeat what they reject.
func (s *Sender) hide(text string) string {
	u, err := url.Parse(s.url)
	if err != nil {
		return ""
	}
	parts := []string{u.RequestURI(), u.EscapedPath(), u.Path, u.RawQuery}
	for _, word := range strings.FieldsFunc(u.RequestURI(), func(r rune) bool { return strings.ContainsRune("/?&=", r) }) {
		if len(word) >= minSecret {
			parts = append(parts, word)
		}
	}
	for _, part := range parts {
		if len(part) > 1 { // every text may contain a lone "/"
			text = strings.ReplaceAll(text, part, "xxxxx")
		}
	}
	return text
}

// maxDetail bounds what an error repeats of an answer, in bytes.
const maxDetail = 200

// oneLine makes external text safe for a log line or a terminal.
func oneLine(text []byte) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text), ""))
	return strings.Join(strings.Fields(clean), " ")
}

// withoutURL removes the URL from an error of net/http.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Close closes idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }
