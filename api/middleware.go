package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fairlane/internal/control"
)

const (
	requestIDHeader = "X-Request-ID"
	requestIDKey    = "fairlane.request_id"
)

// identify gives the request an id: the client's, when it is a plain short word, or a random one.
func (s *Server) identify(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if !plainID(id) {
		var b [12]byte
		_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
		id = hex.EncodeToString(b[:])
	}
	c.Set(requestIDKey, id)
	c.Header(requestIDHeader, id)
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Cache-Control", "no-store")
}

func plainID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(strings.ToLower(s), "0123456789abcdefghijklmnopqrstuvwxyz-_") == ""
}

func requestID(c *gin.Context) string { return c.GetString(requestIDKey) }

// recoverPanics turns a panic into a problem, with its stack in the log only.
func (s *Server) recoverPanics(c *gin.Context) {
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.ErrorContext(c.Request.Context(), "handler panicked", "request_id", requestID(c), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if !c.Writer.Written() {
				s.writeProblem(c, fmt.Errorf("panic: %v", p))
			}
			c.Abort()
		}
	}()
	c.Next()
}

// limit bounds the request's time and how many are under way.
func (s *Server) limit(c *gin.Context) {
	if err := checkURL(c.Request.URL); err != nil {
		s.writeProblem(c, err)
		return
	}
	if streams(c.FullPath()) {
		s.stream(c)
		return
	}
	long, timeout := slow(c.Request.Method, c.FullPath()), requestTimeout
	if long {
		timeout = slowTimeout
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), timeout)
	defer cancel()
	leave, err := s.load.enter(ctx, long, !safe(c.Request.Method))
	if err != nil {
		s.writeProblem(c, err)
		return
	}
	defer leave()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// readBody bounds the body and reads it whole: everything behind it works on bytes that are there. It
// comes after authorize, so that nobody is heard who may not speak.
func (s *Server) readBody(c *gin.Context) {
	if c.Request.Body == nil || c.Request.Body == http.NoBody {
		return
	}
	body, err := s.body(c)
	if err == nil && len(body) > 0 {
		err = s.checkBody(c, body)
	}
	if err != nil {
		s.writeProblem(c, err)
		return
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	c.Request.ContentLength = int64(len(body))
	c.Set(bodyKey, body)
}

// checkBody judges the media type and the text of a body. What comes behind it sees one spelling of the media type.
func (s *Server) checkBody(c *gin.Context, body []byte) error {
	if !isJSON(c.Request.Header) {
		if r := s.spec.of(c); r != nil && r.Operation.RequestBody == nil {
			return nil // the operation looks at no body
		}
		return &problemError{code: "unsupported-media-type", detail: fmt.Sprintf("found Content-Type: %s: want %s", clip(strings.Join(c.Request.Header.Values("Content-Type"), ", ")), jsonType)}
	}
	c.Request.Header.Set("Content-Type", jsonType)
	return checkJSON(body)
}

// body reads a body within the bounds of whoever sends it.
func (s *Server) body(c *gin.Context) ([]byte, error) {
	if coding := c.GetHeader("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &problemError{code: "unsupported-media-type", detail: "want the body without Content-Encoding"}
	}
	most := bodyLimit(c.Request.Method, c.FullPath())
	bounds, within := bodyBounds(c.Request)
	leave, full := s.load.bodies.enterAll(bounds...)
	if full != nil {
		return nil, busy("%s: %d bodies are being sent, the most there may be at once; wait for their answers", full.name, full.most)
	}
	defer leave()
	connection := http.NewResponseController(c.Writer)
	if within > 0 {
		_ = connection.SetReadDeadline(time.Now().Add(within)) // not all connections have one
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, most))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &problemError{code: "body-too-large", detail: fmt.Sprintf("the body has more than the %d bytes allowed here", most)}
	case err != nil:
		return nil, &problemError{code: "malformed-body", detail: "the body ended early, or took too long"}
	}
	if within > 0 {
		_ = connection.SetReadDeadline(time.Time{})
	}
	return body, nil
}

// bodyBounds are the bounds of bodies that whoever sends a request is under, and how long the body may take; 0 is as
// long as any. Somebody unknown is counted by address, as at sign-in, and with all others who are unknown.
func bodyBounds(r *http.Request) ([]bound, time.Duration) {
	if p, ok := control.PrincipalFrom(r.Context()); ok {
		return []bound{{holder(p), maxBodies}}, 0
	}
	return []bound{{"from " + control.SourceKey(r.RemoteAddr), maxUnknownBodies}, {"from all who are not signed in", maxAllUnknownBodies}}, unknownBodyTime
}

// holder names whoever has places of its own. The programs of a tenant are one: its administrator makes as many as
// it likes.
func holder(p control.Principal) string {
	if _, home, ok := strings.Cut(p.Name, "@"); ok && p.Kind == control.PrincipalService && !p.Wide() {
		return "programs of " + home
	}
	return string(p.Kind) + " " + p.Name
}

// share bounds what one caller, and all who act on single tenants together, hold of the places that are held long. It
// comes after authorize: who is asking is known.
func (s *Server) share(c *gin.Context) {
	what, own, ofTenants := "slow requests", maxOwnSlow, maxTenantSlow
	switch route := c.FullPath(); {
	case streams(route):
		what, own, ofTenants = "event streams", maxOwnStreams, maxTenantStreams
	case !slow(c.Request.Method, route):
		return
	}
	p, ok := control.PrincipalFrom(c.Request.Context())
	if !ok {
		return
	}
	bounds := []bound{{what + " of " + holder(p), own}}
	if !p.Wide() {
		bounds = append(bounds, bound{what + " of tenants", ofTenants})
	}
	leave, full := s.load.held.enterAll(bounds...)
	switch full {
	case nil:
	case &bounds[0]:
		s.writeProblem(c, busy("you have %d %s under way, the most there may be at once; wait for one to end", full.most, what))
		return
	default:
		s.writeProblem(c, busy("more %s are under way than the service takes; come back in a second", what))
		return
	}
	defer leave()
	c.Next()
}

// slow names the operations that talk to devices or compile.
func slow(method, route string) bool {
	switch route[strings.LastIndexByte(route, '/')+1:] {
	case "discover", "devices", ":device", "shares", "plans", "verify", "what-if":
		return true
	case "history": // a POST measures, a GET looks up
		return method == http.MethodPost
	}
	return false
}
