package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"

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

// limit bounds the request's time and its body, which it reads whole: everything behind it works
// on bytes that are there.
func (s *Server) limit(c *gin.Context) {
	timeout := requestTimeout
	if slow(c.FullPath()) {
		timeout = slowTimeout
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), timeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	if c.Request.Body != nil && c.Request.Body != http.NoBody {
		body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, MaxBody))
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			s.writeProblem(c, &problemError{code: "body-too-large", detail: fmt.Sprintf("the body has more than the %d bytes allowed", MaxBody)})
			return
		case err != nil:
			s.writeProblem(c, &problemError{code: "malformed-body", detail: "the body ended early"})
			return
		}
		c.Request.Body = io.NopCloser(bytes.NewReader(body))
		c.Request.ContentLength = int64(len(body))
		if err := checkJSON(c.ContentType(), body); err != nil {
			s.writeProblem(c, err)
			return
		}
	}
	c.Next()
}

// slow names the operations that talk to devices or compile.
func slow(route string) bool {
	switch route[strings.LastIndexByte(route, '/')+1:] {
	case "discover", "devices", "shares", "plans":
		return true
	}
	return false
}

// checkJSON refuses a JSON body that is not one whole JSON text, and says where it breaks.
func checkJSON(contentType string, body []byte) error {
	if contentType != "application/json" || len(body) == 0 || json.Valid(body) {
		return nil
	}
	var v json.RawMessage
	var syntax *json.SyntaxError
	at := len(body)
	if err := json.Unmarshal(body, &v); errors.As(err, &syntax) {
		at = min(int(syntax.Offset), len(body))
	}
	line := 1 + bytes.Count(body[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(body[:at], '\n') - 1
	return &problemError{code: "malformed-body", detail: fmt.Sprintf("the body stops being JSON at line %d, column %d", line, max(column, 1))}
}

// authenticate lets only requests with a known token pass, but for the contract's public operations.
func (s *Server) authenticate(c *gin.Context) {
	if r := s.spec.routes[c.Request.Method+" "+c.FullPath()]; r != nil && public(r) {
		return
	}
	scheme, token, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	t, err := s.control.Authenticate(c.Request.Context(), strings.TrimSpace(token))
	if err != nil {
		s.writeProblem(c, err)
		return
	}
	c.Request = c.Request.WithContext(control.WithActor(c.Request.Context(), t.Name))
}
