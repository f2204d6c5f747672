package notify

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/testkit/tlstest"
	"fairlane/service/series"
)

// mailServer speaks SMTP. Answers replace those of the verbs that they name; an answer "hang" does not come, "endless" does not end.
type mailServer struct {
	net.Listener
	tls      *tls.Config // nil: no STARTTLS
	implicit bool        // TLS from the first byte
	answers  map[string]string
	end      chan struct{}

	mu    sync.Mutex
	lines []string // what clients said, "[TLS]" where encryption began
	mails []string
}

func newMailServer(t testing.TB, s *mailServer) *mailServer {
	t.Helper()
	var err error
	if s.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.end = make(chan struct{})
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			served.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() { close(s.end); _ = s.Listener.Close(); served.Wait() })
	return s
}

func (s *mailServer) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.end:
			_ = c.Close()
		case <-stop:
		}
	}()
	if s.implicit {
		c = tls.Server(c, s.tls)
	}
	r := bufio.NewReader(c)
	say := func(verb, text string) bool {
		if a, ok := s.answers[verb]; ok {
			text = a
		}
		switch text {
		case "hang":
			<-s.end
			return false
		case "endless":
			for {
				if _, err := c.Write([]byte("250-" + strings.Repeat("x", 1<<16))); err != nil {
					return false
				}
			}
		case "close":
			return false
		}
		_, err := io.WriteString(c, text+"\r\n")
		return err == nil
	}
	if !say("greeting", "220 test") {
		return
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()
		verb, _, _ := strings.Cut(line, " ")
		var ok bool
		switch verb {
		case "EHLO":
			if s.tls != nil && !s.implicit {
				ok = say(verb, "250-test\r\n250-STARTTLS\r\n250 AUTH PLAIN")
			} else {
				ok = say(verb, "250-test\r\n250 AUTH PLAIN")
			}
		case "STARTTLS":
			if ok = say(verb, "220 go on"); ok {
				c = tls.Server(c, s.tls)
				r = bufio.NewReader(c)
				s.mu.Lock()
				s.lines = append(s.lines, "[TLS]")
				s.mu.Unlock()
			}
		case "AUTH":
			ok = say(verb, "235 signed in")
		case "DATA":
			if ok = say(verb, "354 go on"); ok {
				s.read(r)
				ok = say("end", "250 taken")
			}
		case "QUIT":
			say(verb, "221 bye")
			return
		default:
			ok = say(verb, "250 ok")
		}
		if !ok {
			return
		}
	}
}

func (s *mailServer) read(r *bufio.Reader) {
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, b.String())
}

func (s *mailServer) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func (s *mailServer) to(security Security) *Mail {
	return &Mail{
		Server: s.Addr().String(), Security: security, From: mail.Address{Name: "Fairlane Ä", Address: "fairlane@example.net"},
		To: []mail.Address{{Address: "a@example.net"}, {Name: "B", Address: "b@example.net"}},
	}
}

// read parses a mail as a reader's program does.
func read(t *testing.T, text string) (h mail.Header, subject, body string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	return m.Header, subject, string(b)
}

func TestAGroupBecomesOneMail(t *testing.T) {
	t.Parallel()
	ca := tlstest.New(t)
	config := &tls.Config{Certificates: []tls.Certificate{ca.Issue("localhost", tlstest.Valid()).Certificate}, MinVersion: tls.VersionTLS12}
	for name, c := range map[string]struct {
		server   *mailServer
		security Security
		want     string
	}{
		"STARTTLS": {&mailServer{tls: config}, StartTLS, "EHLO localhost\nSTARTTLS\n[TLS]\nEHLO localhost\nAUTH PLAIN AGFkYQBnZWhlaW0=\nMAIL FROM:<fairlane@example.net>\nRCPT TO:<a@example.net>\nRCPT TO:<b@example.net>\nDATA\nQUIT"},
		"TLS":      {&mailServer{tls: config, implicit: true}, TLS, "EHLO localhost\nAUTH PLAIN AGFkYQBnZWhlaW0=\nMAIL FROM:<fairlane@example.net>\nRCPT TO:<a@example.net>\nRCPT TO:<b@example.net>\nDATA\nQUIT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMailServer(t, c.server)
			m := s.to(c.security)
			m.User, m.Password = "ada", "geheim"
			var n counts
			f, stop := start(t, Options{Mail: m, Roots: ca.Pool, GroupWait: -1, Count: n.add, ExternalURL: "https://fairlane.example"})
			f.Send(t.Context(), []series.Alert{alert("ShareError", "red"), alert("ShareError", "蓝")})
			eventually(t, "a mail", func() bool { return n.of(KindMail, Sent) == 1 })
			stop()
			if got := s.said(); got != c.want {
				t.Errorf("the conversation is\n%s", got)
			}
			h, subject, body := read(t, s.mails[0])
			if from, err := h.AddressList("From"); err != nil || from[0].Name != "Fairlane Ä" || h.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("headers are %v, %v", h, err)
			}
			if to, err := h.AddressList("To"); err != nil || len(to) != 2 {
				t.Errorf("to %v, %v", to, err)
			}
			if subject != "[firing: 2] ShareError on lab" {
				t.Errorf("subject is %q", subject)
			}
			for _, want := range []string{"ShareError has been firing since ", "  summary: red gets too little\r\n", "  tenant: 蓝\r\n", "https://fairlane.example"} {
				if !strings.Contains(body, want) {
					t.Errorf("%q is missing in %s", want, body)
				}
			}
		})
	}
}

func TestAlertTextCannotInjectMailHeadersOrCommands(t *testing.T) {
	t.Parallel()
	evil := "x\r\nBcc: evil@example.net\r\n\r\n.\r\nQUIT\r\n\u0085\u2028=0D=0A"
	a := series.Alert{
		Name: evil, State: series.AlertFiring, Labels: []series.Label{{Name: "fabric", Value: evil}, {Name: evil, Value: evil}},
		Annotations: []series.Label{{Name: "summary", Value: evil}},
	}
	s := newMailServer(t, &mailServer{})
	m := mailer{Mail: *s.to(Plain)}
	note := newNotification([]series.Label{{Name: labelAlertname, Value: evil}, {Name: "fabric", Value: evil}}, []series.Alert{a, resolved(a)}, time.Now(), "")
	if err := m.deliver(t.Context(), "msg_1", note); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.said(), "evil") || strings.Count(s.said(), "QUIT") != 1 {
		t.Errorf("the conversation is\n%s", s.said())
	}
	h, subject, body := read(t, s.mails[0])
	if len(h) != 9 || h.Get("Bcc") != "" || strings.ContainsAny(subject, "\r\n") {
		t.Errorf("headers are %v", h)
	}
	for line := range strings.SplitSeq(body, "\r\n") {
		if strings.HasPrefix(line, "Bcc") || line == "." || strings.HasPrefix(line, "QUIT") {
			t.Errorf("a line is %q", line)
		}
	}
}

func TestMailServersThatMisbehaveAreBounded(t *testing.T) {
	t.Parallel()
	ca := tlstest.New(t)
	strange := &tls.Config{Certificates: []tls.Certificate{tlstest.New(t).Issue("localhost", tlstest.Valid()).Certificate}, MinVersion: tls.VersionTLS12}
	for name, c := range map[string]struct {
		server   *mailServer
		security Security
		lasting  bool
		want     string // in the error; "" any
	}{
		"no STARTTLS":           {&mailServer{}, StartTLS, false, "does not offer STARTTLS"},
		"a strange certificate": {&mailServer{tls: strange}, StartTLS, false, "certificate"},
		"transient refusal":     {&mailServer{answers: map[string]string{"MAIL": "451 later"}}, Plain, false, "451 later"},
		"refuses a recipient":   {&mailServer{answers: map[string]string{"RCPT": "550 no such \x1b[2J user"}}, Plain, true, "550 no such  [2J user"},
		"refuses the text":      {&mailServer{answers: map[string]string{"end": "554 spam"}}, Plain, true, "554 spam"},
		"closes early":          {&mailServer{answers: map[string]string{"DATA": "close"}}, Plain, false, ""},
		"endless":               {&mailServer{answers: map[string]string{"EHLO": "endless"}}, Plain, false, "sends too much"},
		"not SMTP":              {&mailServer{answers: map[string]string{"greeting": "HTTP/1.0 400 Bad Request"}}, Plain, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mailer{Mail: *newMailServer(t, c.server).to(c.security), roots: ca.Pool}
			err := m.deliver(t.Context(), "msg_1", newNotification(nil, []series.Alert{alert("A", "red")}, time.Now(), ""))
			if err == nil || !strings.Contains(err.Error(), c.want) || lasting(err) != c.lasting || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("error is %v", err)
			}
		})
	}
	hanging := newMailServer(t, &mailServer{answers: map[string]string{"MAIL": "hang"}})
	in := newInbox(t, nil)
	n, stop := start(t, Options{Mail: hanging.to(Plain), Webhooks: []Webhook{{"good", in.URL}}, GroupWait: -1, Flush: 50 * time.Millisecond})
	n.Send(t.Context(), []series.Alert{alert("A", "red")})
	eventually(t, "the webhook has it", func() bool { return len(in.all()) == 1 })
	begun := time.Now()
	stop()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
}

func TestMailIsWrittenInItsLanguage(t *testing.T) {
	t.Parallel()
	zh, err := i18n.Load("zh")
	if err != nil {
		t.Fatal(err)
	}
	a := alert("ShareError", "red")
	for want, list := range map[string][]series.Alert{
		"[触发：1] lab 上的 ShareError": {a}, "[已恢复] lab 上的 ShareError": {resolved(a)},
	} {
		n := newNotification([]series.Label{{Name: labelAlertname, Value: "ShareError"}, {Name: "fabric", Value: "lab"}}, list, time.Now(), "")
		m := mailer{Mail: Mail{From: mail.Address{Address: "f@example.net"}, Say: zh.Say}}
		_, subject, body := read(t, string(m.compose("msg_1", n)))
		if subject != want || !strings.Contains(body, "触发") {
			t.Errorf("subject %q of\n%s", subject, body)
		}
	}
	n := Notification{Left: 3, Total: 3}
	if text := n.text(phrase.Text.String); !strings.Contains(text, "3 more alerts are not listed.") {
		t.Errorf("text is %q", text)
	}
	if got := fmt.Sprint(n.subject()); got == "" {
		t.Error("no subject")
	}
}
