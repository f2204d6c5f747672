package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// caller is a client that sends requests.
type caller struct {
	name  string
	token string // empty: anonymous
	from  string // address of this machine from which it calls
	http  *http.Client
	// forbidden are words of others that no answer to it may contain.
	forbidden []string
	// reads is set for callers that may change nothing.
	reads bool
}

func newCaller(name, token, from string) *caller {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	return &caller{name: name, token: token, from: from, http: &http.Client{
		Timeout: 40 * time.Second,
		// A client that sends Expect: 100-continue and does not wait may lose the rejection of a large body: net/http
		// resets such a connection at once.
		Transport: &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 8, IdleConnTimeout: 5 * time.Second, ExpectContinueTimeout: time.Second},
	}}
}

// request is a request to send.
type request struct {
	method, path string // below /api/v1
	header       http.Header
	body         []byte
}

func (r request) String() string {
	return fmt.Sprintf("%s %.300s %.500s %.300q", r.method, r.path, fmt.Sprint(r.header), r.body)
}

// jsonRequest returns a request with a JSON body.
func jsonRequest(method, path string, body any) request {
	r := request{method: method, path: path, header: http.Header{}}
	if body != nil {
		r.body, _ = json.Marshal(body) // maps, texts and numbers
		r.header.Set("Content-Type", "application/json")
	}
	return r
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	code   string // of a problem
	err    error
	begun  time.Time
	took   time.Duration
}

func (a answer) String() string {
	return fmt.Sprintf("%d after %v: %.300s %v", a.status, a.took.Round(time.Millisecond), a.body, a.err)
}

// send sends a request to a manager and checks what must hold for every answer.
func (w *world) send(ctx context.Context, c *caller, m *manager, r request) answer {
	a := w.exchange(ctx, c, m, r)
	w.book.tally("requests of " + c.name)
	if a.err != nil {
		if ctx.Err() == nil && !m.troubledSince(a.begun.Add(-graceOfManager)) {
			w.book.violation("no answer", "%s of %s at %s: %v after %v", r, c.name, m.name, a.err, a.took)
		}
		return a
	}
	w.judge(c, m, r, &a)
	return a
}

func (w *world) exchange(ctx context.Context, c *caller, m *manager, r request) (a answer) {
	a.begun = time.Now()
	defer func() { a.took = time.Since(a.begun) }()
	req, err := http.NewRequestWithContext(ctx, r.method, m.URL+"/api/v1"+r.path, bytes.NewReader(r.body))
	if err != nil {
		a.err = err
		return a
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if c.token != "" && req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		a.err = err
		return a
	}
	defer func() { _ = resp.Body.Close() }()
	a.status, a.header = resp.StatusCode, resp.Header
	var body io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" { // requested explicitly, so the client does not unpack it
		if body, a.err = gzip.NewReader(resp.Body); a.err != nil {
			return a
		}
	}
	a.body, a.err = io.ReadAll(body)
	return a
}

// graceOfManager is how long after a freeze or kill of a manager its requests may still fail.
const graceOfManager = 15 * time.Second

// excused reports whether a 5xx answer is not a fault of the service. A manager whose database closed its connections
// during a freeze reports it afterwards; a fabric's source may not exist.
func (w *world) excused(a answer) bool {
	switch a.code {
	case "busy":
		return a.header.Get("Retry-After") != ""
	case "storage-unavailable", "storage-blocked", "timeout":
		return slices.ContainsFunc(w.managers, func(m *manager) bool { return m.troubledSince(a.begun.Add(-graceOfManager)) })
	case "discovery-failed", "devices-unreachable", "measurement-failed":
		return true
	}
	return false
}

// judge checks what must hold for every answer to every caller.
func (w *world) judge(c *caller, m *manager, r request, a *answer) {
	if a.status >= 400 {
		w.judgeProblem(c, m, r, a)
	}
	w.book.tally(fmt.Sprintf("answers %dxx", a.status/100))
	switch {
	case a.status >= 500:
		w.book.tally("answers " + fmt.Sprint(a.status) + " " + a.code)
		if !w.excused(*a) {
			w.book.violation("server error", "%s of %s at %s: %s", r, c.name, m.name, a)
		}
	case a.status == http.StatusTooManyRequests:
		w.book.tally("answers 429 " + a.code)
		if a.header.Get("Retry-After") == "" {
			w.book.violation("429 without Retry-After", "%s of %s: %s", r, c.name, a)
		}
	case a.status < 300 && c.reads && r.method != http.MethodGet && r.method != http.MethodHead && !strings.HasPrefix(r.path, "/me/") && r.path != "/sign-out":
		if a.header.Get("Dry-Run") == "" && !strings.HasPrefix(r.path, "/prometheus/") && !strings.HasSuffix(r.path, "/plans/what-if") && !strings.HasSuffix(r.path, "/plans/admit") {
			w.book.violation("a reader changed something", "%s of %s: %s", r, c.name, a)
		}
	}
	for _, word := range c.forbidden {
		body := a.body
		if strings.Contains(r.path, "/"+strings.Trim(word, `"`)) { // "not found" repeats the name that the caller gave
			body = bytes.ReplaceAll(body, []byte(`"name":`+word), nil)
		}
		if bytes.Contains(body, []byte(word)) && !strings.Contains(r.String(), word) {
			w.book.violation("a leak", "%q in the answer to %s of %s: %s", word, r, c.name, a)
		}
	}
}

// judgeProblem checks the form of a problem.
func (w *world) judgeProblem(c *caller, m *manager, r request, a *answer) {
	var p struct {
		Type, Title, Code string
		Status            int
		RequestID         string `json:"request_id"`
	}
	var query struct{ Status, ErrorType, Error string }
	if strings.HasPrefix(r.path, "/prometheus/") && json.Unmarshal(a.body, &query) == nil && query.Status == "error" && query.ErrorType != "" && query.Error != "" {
		a.code = query.ErrorType // a fault of PromQL has Prometheus's form
		return
	}
	if r.method == http.MethodHead || a.status == http.StatusExpectationFailed { // the latter is sent by net/http itself
		return
	}
	if err := json.Unmarshal(a.body, &p); err != nil || a.header.Get("Content-Type") != "application/problem+json" ||
		p.Status != a.status || p.Code == "" || p.Type != "/docs/problems#"+p.Code || p.RequestID != a.header.Get("X-Request-Id") {
		w.book.violation("a refusal that is no problem document", "%s of %s at %s: %s %v", r, c.name, m.name, a, a.header)
		return
	}
	a.code = p.Code
}

// errStatus reports an unexpected answer.
type errStatus struct {
	status int
	code   string
	text   string
}

func (e *errStatus) Error() string { return e.text }

// patient is how long legitimate requests are repeated.
const patient = 60 * time.Second

// do sends a legitimate request until a manager answers, as behind a load balancer; the key makes it count once. A
// final failure is an *errStatus.
func (w *world) do(ctx context.Context, c *caller, method, path string, body, out any) error {
	r := jsonRequest(method, path, body)
	if method == http.MethodPost {
		r.header.Set("Idempotency-Key", w.key())
	}
	if method == http.MethodPut || method == http.MethodDelete {
		r.header.Set("If-Match", "*")
	}
	begun := time.Now()
	var last answer
	for time.Since(begun) < patient {
		m := w.serving()
		try, cancel := context.WithTimeout(ctx, 35*time.Second)
		last = w.send(try, c, m, r)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case last.err != nil, last.status >= 500 && last.status != http.StatusBadGateway, last.code == "idempotency-in-progress":
			w.book.tally("honest tries again")
			pause(ctx, 100*time.Millisecond)
			continue
		case last.status >= 300:
			return &errStatus{last.status, last.code, fmt.Sprintf("%s of %s: %s", r, c.name, last)}
		case out != nil:
			return json.Unmarshal(last.body, out)
		}
		return nil
	}
	w.book.violation("honest work is not done", "%s of %s: %v, last %s", r, c.name, time.Since(begun), last)
	return errors.New("not done")
}

// codeOf returns the code of a problem, "" for other errors.
func codeOf(err error) string {
	var s *errStatus
	if errors.As(err, &s) {
		return s.code
	}
	return ""
}
