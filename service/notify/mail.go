package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/series"
)

// Security is how a connection to a mail server is protected.
type Security string

// Kinds of protection.
const (
	StartTLS Security = "starttls" // required: a server that does not offer it gets no mail
	TLS      Security = "tls"      // from the first byte
	Plain    Security = "none"
)

// Mail is a mail server and the addresses of what it gets. The fields are checked by ParseMail.
type Mail struct {
	Server   string // HOST:PORT
	Security Security
	User     string // empty: no sign-in
	Password string
	From     mail.Address
	To       []mail.Address
	// Say writes a sentence in the language of the mail; nil: English.
	Say func(phrase.Text) string
}

// mailTimeout bounds the whole conversation about one mail.
const mailTimeout = 30 * time.Second

// maxConversation bounds what a mail server may send in one conversation, in bytes.
const maxConversation = 256 << 10

// mailer is the receiver of mail.
type mailer struct {
	Mail
	roots    *x509.CertPool
	external string
}

var _ receiver = (*mailer)(nil)

func (*mailer) kind() Kind     { return KindMail }
func (m *mailer) name() string { return m.Server }
func (*mailer) close()         {}

// errNoStartTLS reports a server that does not offer what is required.
type errNoStartTLS struct{}

// Error returns the sentence in English.
func (e errNoStartTLS) Error() string { return e.Sentence().String() }

// Sentence returns the error for readers of any language.
func (errNoStartTLS) Sentence() phrase.Text { return phrase.Of("notify.no-starttls") }

// refusedError is a permanent (5yz) or transient (4yz) negative reply of a mail server (RFC 5321, section 4.2.1).
type refusedError struct{ answer *textproto.Error }

// Error returns the code and the text of the answer.
func (e refusedError) Error() string {
	return fmt.Sprintf("%03d %s", e.answer.Code, clean(e.answer.Msg))
}

// Lasting reports a refusal for good.
func (e refusedError) Lasting() bool { return e.answer.Code >= 500 }

func (m *mailer) deliver(ctx context.Context, id string, n *Notification) error {
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	err := m.converse(ctx, m.compose(id, n))
	var answer *textproto.Error
	if errors.As(err, &answer) {
		return refusedError{answer}
	}
	return err
}

// converse hands one mail to the server.
func (m *mailer) converse(ctx context.Context, text []byte) error {
	host, _, err := net.SplitHostPort(m.Server)
	if err != nil {
		return err
	}
	dialed, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.Server)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = dialed.Close() }) // unblocks what waits for the server
	defer stop()
	var conn net.Conn = &bounded{Conn: dialed, left: maxConversation}
	secure := &tls.Config{ServerName: host, RootCAs: m.roots, MinVersion: tls.VersionTLS12}
	if m.Security == TLS {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		_ = conn.Close()
		return err
	}
	defer func() { _ = c.Close() }() // after Quit it is closed already
	if m.Security == StartTLS {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return errNoStartTLS{}
		}
		if err := c.StartTLS(secure); err != nil {
			return err
		}
	}
	if m.User != "" {
		if err := c.Auth(smtp.PlainAuth("", m.User, m.Password, host)); err != nil {
			return err
		}
	}
	if err := c.Mail(m.From.Address); err != nil {
		return err
	}
	for _, to := range m.To {
		if err := c.Rcpt(to.Address); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil { // the server acknowledges the mail here
		return err
	}
	_ = c.Quit() // what follows does not change that
	return nil
}

// bounded is a connection that ends after a number of bytes.
type bounded struct {
	net.Conn
	left int
}

// errTooMuch reports a server that sends without end.
var errTooMuch = errors.New("the server sends too much")

// Read reads what is allowed.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// compose writes a mail. Nothing that an alert holds can add a header or a line to one: subjects are encoded, bodies are quoted-printable.
func (m *mailer) compose(id string, n *Notification) []byte {
	say := m.Say
	if say == nil {
		say = phrase.Text.String
	}
	_, domain, _ := strings.Cut(m.From.Address, "@")
	to := make([]string, len(m.To))
	for i := range m.To {
		to[i] = m.To[i].String()
	}
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", m.From.String()}, {"To", strings.Join(to, ",\r\n ")}, {"Subject", mime.QEncoding.Encode("utf-8", clean(say(n.subject())))},
		{"Date", n.At.Format(time.RFC1123Z)}, {"Message-ID", "<" + id + "@" + domain + ">"}, {"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(n.text(say))) // to a buffer
	_ = w.Close()
	return b.Bytes()
}

// clean replaces control characters of external text by blanks.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// value returns the value of a label of the group.
func (n *Notification) value(name string) string {
	for _, l := range n.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// maxSubject bounds the name and the fabric in a subject, in characters.
const maxSubject = 100

func (n *Notification) subject() phrase.Text {
	name, fabric := clip(n.value(labelAlertname)), clip(n.value(series.LabelFabric))
	switch {
	case n.Firing > 0 && fabric != "":
		return phrase.Of("mail.firing-on", "n", n.Firing, "name", name, "fabric", fabric)
	case n.Firing > 0:
		return phrase.Of("mail.firing", "n", n.Firing, "name", name)
	case fabric != "":
		return phrase.Of("mail.resolved-on", "name", name, "fabric", fabric)
	}
	return phrase.Of("mail.resolved", "name", name)
}

func clip(s string) string {
	if r := []rune(clean(s)); len(r) > maxSubject {
		return string(r[:maxSubject]) + "…"
	}
	return clean(s)
}

// text is the body of a mail: one paragraph for each alert.
func (n *Notification) text(say func(phrase.Text) string) string {
	var b strings.Builder
	for i := range n.Alerts {
		a := &n.Alerts[i]
		said := phrase.Of("mail.since", "name", a.Name, "at", began(a).UTC().Format(time.RFC3339))
		if a.State == series.AlertResolved {
			said = phrase.Of("mail.until", "name", a.Name, "at", began(a).UTC().Format(time.RFC3339), "until", a.ResolvedAt.UTC().Format(time.RFC3339))
		}
		b.WriteString(clean(say(said)) + "\r\n")
		for _, list := range [][]series.Label{a.Annotations, a.Labels} {
			for _, l := range list {
				fmt.Fprintf(&b, "  %s: %s\r\n", clean(l.Name), clean(l.Value))
			}
		}
		b.WriteString("\r\n")
	}
	if n.Left > 0 {
		b.WriteString(say(phrase.Of("mail.left", "n", n.Left)) + "\r\n\r\n")
	}
	if n.External != "" {
		b.WriteString(n.External + "\r\n")
	}
	return b.String()
}
