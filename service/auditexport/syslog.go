package auditexport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fairlane/service/audit"
)

// maxMessage is the longest syslog message, in bytes: the limit of rsyslog by default.
const maxMessage = 8 << 10

// structuredID names our structured data. No private enterprise number is registered for Fairlane: 32473 is the one for examples (RFC 5612).
const structuredID = "fairlane@32473"

// Priorities: facility 13 (log audit), severities notice and warning.
const (
	priorityDone    = 13*8 + 5
	priorityRefused = 13*8 + 4
)

// maxClipped bounds each text of an entry that does not fit otherwise, in bytes.
const maxClipped = 200

// format writes an entry as a message of RFC 5424. The parts that the hash covers are in the structured data, the sentence is the message.
// What does not fit is left out and named in the parameter omitted: the hash of such an entry cannot be computed from the message, its link to
// the previous entry can still be verified.
func format(e *audit.Entry, host string) []byte {
	whole := compose(e, host, "", len(e.Detail))
	if len(whole) <= maxMessage {
		return whole
	}
	c := *e
	c.Before, c.After = nil, nil
	if short := compose(&c, host, "before after", len(e.Detail)); len(short) <= maxMessage {
		return short
	}
	for _, s := range []*string{&c.Actor, &c.ActorKind, &c.Token, &c.Addr, &c.RequestID, &c.Fabric, &c.Action, &c.Object, &c.Outcome} {
		*s = clip(*s, maxClipped)
	}
	return compose(&c, host, "before after texts", maxClipped)
}

// clip shortens a text to a number of bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

func compose(e *audit.Entry, host, omitted string, detail int) []byte {
	var b bytes.Buffer
	priority := priorityDone
	if e.Outcome == audit.Refused {
		priority = priorityRefused
	}
	fmt.Fprintf(&b, "<%d>1 %s %s fairlane - %s [%s", priority, e.At.UTC().Format("2006-01-02T15:04:05.000000Z"), header(host, 255), header(e.Action, 32), structuredID)
	for _, p := range []struct{ name, value string }{
		{"seq", strconv.FormatInt(e.Seq, 10)}, {"actor", e.Actor}, {"actor_kind", e.ActorKind}, {"token", e.Token}, {"addr", e.Addr}, {"request_id", e.RequestID},
		{"fabric", e.Fabric}, {"action", e.Action}, {"object", e.Object}, {"outcome", e.Outcome}, {"before", string(e.Before)}, {"after", string(e.After)},
		{"omitted", omitted}, {"prev", e.Prev.String()}, {"hash", e.Hash.String()},
	} {
		if p.value != "" {
			b.WriteString(" " + p.name + `="` + escaper.Replace(strings.ToValidUTF8(p.value, "\uFFFD")) + `"`)
		}
	}
	b.WriteString("]")
	if text := clip(e.Detail, detail); text != "" {
		b.WriteString(" \xef\xbb\xbf" + text) // the byte order mark says that it is UTF-8
	}
	return b.Bytes()
}

// escaper escapes values of structured data.
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `]`, `\]`)

// header makes a text a field of a header: printable ASCII without blanks, "-" for none.
func header(s string, most int) string {
	clean := strings.Map(func(r rune) rune {
		if r <= ' ' || r >= utf8.RuneSelf-1 {
			return -1
		}
		return r
	}, s)
	if clean == "" {
		return "-"
	}
	return clean[:min(len(clean), most)]
}

// syslog sends to a server over one connection.
type syslog struct {
	scheme, address, host string
	roots                 *x509.CertPool
	settle                time.Duration // see limits
	conn                  net.Conn      // nil: none
	under                 net.Conn      // what TLS is over, else conn
}

func newSyslog(scheme, address, host string, roots *x509.CertPool, settle time.Duration) *syslog {
	return &syslog{scheme: scheme, address: address, host: host, roots: roots, settle: settle}
}

func (s *syslog) close() {
	if s.conn != nil {
		_ = s.conn.Close() // what was acknowledged is noted already
		s.conn, s.under = nil, nil
	}
}

func (s *syslog) send(ctx context.Context, list []audit.Entry) error {
	err := s.try(ctx, list)
	if err != nil {
		s.close() // what has arrived is unknown
	}
	return err
}

func (s *syslog) try(ctx context.Context, list []audit.Entry) error {
	if err := s.dial(ctx); err != nil {
		return err
	}
	conn := s.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // unblocks what waits for the server
	defer stop()
	var stream bytes.Buffer
	for i := range list {
		message := format(&list[i], s.host)
		if s.scheme == "udp" {
			if _, err := conn.Write(message); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(&stream, "%d ", len(message)) // octet counting, RFC 6587
		stream.Write(message)
	}
	if s.scheme == "udp" {
		return nil // datagrams have no acknowledgement
	}
	if _, err := conn.Write(stream.Bytes()); err != nil {
		return err
	}
	return s.acknowledged(ctx)
}

func (s *syslog) dial(ctx context.Context) (err error) {
	if s.conn != nil {
		return nil
	}
	network := "tcp"
	if s.scheme == "udp" {
		network = "udp"
	}
	plain, err := (&net.Dialer{}).DialContext(ctx, network, s.address)
	if err != nil {
		return err
	}
	s.conn, s.under = plain, plain
	if s.scheme != "tls" {
		return nil
	}
	host, _, err := net.SplitHostPort(s.address)
	if err != nil {
		return err
	}
	secure := tls.Client(plain, &tls.Config{ServerName: host, RootCAs: s.roots, MinVersion: tls.VersionTLS12})
	s.conn = secure
	return secure.HandshakeContext(ctx)
}

// errClosed reports a server that closed its end.
var errClosed = errors.New("the server closed the connection")

// checkEvery is the interval between two checks for unacknowledged bytes.
const checkEvery = 2 * time.Millisecond

// acknowledged waits until the server's host has received what was written, and then whether the server closes the connection, as one does
// that ends with unread messages. Syslog has no acknowledgements of its own: what a host that loses power had received is lost.
func (s *syslog) acknowledged(ctx context.Context) error {
	for {
		left, err := unsent(s.under)
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		t := time.NewTimer(checkEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
	if err := s.conn.SetReadDeadline(time.Now().Add(s.settle)); err != nil {
		return err
	}
	var one [1]byte
	switch _, err := s.conn.Read(one[:]); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ctx.Err()
	case errors.Is(err, io.EOF):
		return errClosed
	default: // a server that says something is alive
		return err
	}
}
