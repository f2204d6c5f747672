package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
)

// bodyKey is the key of the unmodified request body in gin's context.
const bodyKey = "fairlane.body"

// Media types of request bodies: JSON, but for the queries of series, which clients of Prometheus send as forms.
const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// smallBody is the default limit of a body, in bytes; operations that take whole tables use MaxBody.
const smallBody = 256 << 10

// bodyLimit returns the maximum size of a route's body, in bytes.
func bodyLimit(method, route string) int64 {
	switch {
	case strings.HasSuffix(route, "/tenants"), strings.HasSuffix(route, "/tenants/:tenant"), strings.HasSuffix(route, "/simulations"),
		method == http.MethodPut && (strings.HasSuffix(route, "/flows") || strings.HasSuffix(route, "/feeds/:feed")):
		return MaxBody
	}
	return smallBody
}

// checkURL rejects a path or a query that is not text, as sent or after decoding: invalid UTF-8, and the character 0,
// which PostgreSQL cannot store.
func checkURL(u *url.URL) error {
	query, err := url.QueryUnescape(u.RawQuery)
	if err != nil {
		query = u.RawQuery // validate rejects it, with the reason
	}
	for _, part := range []struct {
		in   gen.ProblemFieldIn
		text string
	}{{gen.ProblemFieldInPath, u.Path}, {gen.ProblemFieldInQuery, query}} {
		if at, what := notText(part.text); what.ID != "" {
			return &problemError{
				code: "malformed-request", said: phrase.Of("problem.malformed-part", "part", part.in, "what", what, "at", at),
				fields: []gen.ProblemField{fieldOf(part.in, "", what)},
			}
		}
	}
	return nil
}

// notText returns the first byte position in s with invalid UTF-8 or the character 0, and a description of the fault; an
// empty one if s is valid text.
func notText(s string) (at int, what phrase.Text) {
	for i, r := range s {
		switch {
		case r == 0:
			return i, hasNUL
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			return i, notUTF8
		}
	}
	return 0, phrase.Text{}
}

// isOf reports whether the header fields declare a body of a media type: exactly one Content-Type, in any case (RFC 9110, 8.3.1). Of its
// parameters only charset matters, and must be utf-8: JSON between systems is UTF-8 (RFC 8259, 8.1).
func isOf(want string, h http.Header) bool {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return false
	}
	kind, params, err := mime.ParseMediaType(types[0]) // in lower case, as are the names of the parameters
	charset, given := params["charset"]
	return err == nil && kind == want && (!given || strings.EqualFold(charset, "utf-8"))
}

// Time limits of a body: bodyGrace plus its bytes at minRate, at most bodyTime, or unknownBodyTime before sign-in.
const (
	minRate         = 16 << 10 // bytes a second, of bodies and of answers
	bodyGrace       = 5 * time.Second
	bodyTime        = time.Minute
	unknownBodyTime = 10 * time.Second // upper limit before sign-in, where a body is a name and a password
)

// receiving is a body in transfer. It counts against the limits of its sender.
type receiving struct {
	who   callerKey
	load  *tally
	bytes int    // counted so far
	leave func() // releases the place among the bodies in transfer; nil when there is none
}

// releasePlace gives up the place among the bodies: the request has its own place, or was refused one.
func (b *receiving) releasePlace() {
	if b.leave != nil {
		b.leave()
		b.leave = nil
	}
}

// drop releases everything that the body counts for.
func (b *receiving) drop() {
	b.releasePlace()
	if b.bytes > 0 {
		b.load.leave(b.bytes, sent.bounds(b.who))
		b.bytes = 0
	}
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// readBody reads the whole body within its limits and checks its text, so that later handlers never wait for the client.
// It runs after authorisation: a caller without the right to an operation cannot make the service read a body.
func (s *Server) readBody(c *gin.Context, b *receiving) error {
	connection := http.NewResponseController(c.Writer)
	if !hasBody(c.Request) {
		_ = connection.SetReadDeadline(time.Time{}) // as below
		return nil
	}
	if coding := c.GetHeader("Content-Encoding"); coding != "" && coding != "identity" {
		return &problemError{code: "unsupported-media-type", said: phrase.Of("problem.content-encoding")}
	}
	var full *bound
	if b.leave, full = b.load.enterAll(1, sending.bounds(b.who)...); full != nil {
		return full.busy()
	}
	body, err := b.read(c, connection)
	if err == nil && len(body) > 0 {
		err = s.checkBody(c, body)
	}
	if err != nil {
		return err
	}
	// The read deadline is for clients that do not send; it must not end a slow operation. The rest of a rejected body
	// keeps its deadline.
	_ = connection.SetReadDeadline(time.Time{})
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	c.Request.ContentLength = int64(len(body))
	c.Set(bodyKey, body)
	return nil
}

// read reads a body within its limits of time and size.
func (b *receiving) read(c *gin.Context, connection *http.ResponseController) ([]byte, error) {
	most := bodyLimit(c.Request.Method, c.FullPath())
	in := http.MaxBytesReader(c.Writer, c.Request.Body, most)
	begun, total, bounds := time.Now(), bodyTime, sent.bounds(b.who)
	if !b.who.known {
		total = unknownBodyTime
	}
	var body []byte
	for {
		within := min(bodyGrace+time.Duration(len(body))*time.Second/minRate, total)
		_ = connection.SetReadDeadline(begun.Add(within)) // not all connections have one
		if len(body) == cap(body) {
			body = slices.Grow(body, max(512, len(body)))
		}
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if n > 0 { // entering 0 would leave an empty entry of the caller in the tally
			if _, full := b.load.enterAll(n, bounds...); full != nil {
				return nil, full.busy()
			}
			b.bytes += n
		}
		var tooLarge *http.MaxBytesError
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case errors.As(err, &tooLarge):
			return nil, &problemError{code: "body-too-large", said: phrase.Of("problem.body-too-large", "max", most)}
		case err != nil:
			return nil, &problemError{code: "malformed-body", said: phrase.Of("problem.body-ended", "rate", minRate, "bytes", len(body))}
		}
	}
}

// checkBody checks the media type and the text of a body, and normalises the media type for later handlers.
func (s *Server) checkBody(c *gin.Context, body []byte) error {
	want := jsonType
	if r := s.spec.of(c); r != nil {
		switch b := r.Operation.RequestBody; {
		case b == nil:
			return nil // the operation ignores bodies
		case b.Value.Content[formType] != nil:
			want = formType
		}
	}
	if !isOf(want, c.Request.Header) {
		return &problemError{code: "unsupported-media-type", said: phrase.Of("problem.content-type", "found", clip(strings.Join(c.Request.Header.Values("Content-Type"), ", ")), "want", want)}
	}
	c.Request.Header.Set("Content-Type", want)
	if want == formType {
		return checkForm(body)
	}
	return checkJSON(body)
}

// checkForm rejects a form that is not text, as sent or after decoding.
func checkForm(body []byte) error {
	form, err := url.QueryUnescape(string(body))
	if err != nil {
		return &problemError{code: "malformed-body", said: phrase.Of("problem.malformed-form")}
	}
	if at, what := notText(form); what.ID != "" {
		return &problemError{code: "malformed-body", said: phrase.Of("problem.malformed-part", "part", gen.ProblemFieldInBody, "what", what, "at", at)}
	}
	return nil
}

// answerGrace is the time that a client has to receive an answer, in addition to the time of its bytes at minRate.
const answerGrace = 10 * time.Second

// answering sets a write deadline: otherwise a client that does not receive its answer would keep its place.
type answering struct {
	gin.ResponseWriter
	control *http.ResponseController
	begun   time.Time // of the answer
	bytes   int
	lost    func() // called when the client does not receive the answer
}

var _ io.Writer = (*answering)(nil)

func (w *answering) Write(b []byte) (int, error) {
	if w.begun.IsZero() {
		w.begun = time.Now()
	}
	w.bytes += len(b)
	_ = w.control.SetWriteDeadline(w.begun.Add(answerGrace + time.Duration(w.bytes)*time.Second/minRate)) // not all connections have one
	n, err := w.ResponseWriter.Write(b)
	if err != nil {
		w.lost()
	}
	return n, err
}

var _ io.StringWriter = (*answering)(nil)

func (w *answering) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Unwrap lets http.ResponseController reach the connection.
func (w *answering) Unwrap() http.ResponseWriter { return w.ResponseWriter }
