package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
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

// text refuses what is no text in the address.
func (s *Server) text(c *gin.Context) {
	if err := checkURL(c.Request.URL); err != nil {
		s.writeProblem(c, err)
	}
}

// admit finds out who asks and what they may, before anything is read from them.
func (s *Server) admit(c *gin.Context) {
	leave, err := s.place(c.Request.Context(), admitting.bounds(asker{}))
	if err != nil {
		s.writeProblem(c, err)
		return
	}
	defer leave()
	if s.authenticate(c); !c.IsAborted() {
		s.authorize(c)
	}
}

// work reads the body, then takes a place, and bounds the time of what comes behind it. A body that comes slowly takes no
// place.
func (s *Server) work(c *gin.Context) {
	who := askerOf(c)
	kind, timeout := reading, requestTimeout
	switch {
	case streams(c.FullPath()):
		kind, timeout = streaming, 0
	case slow(c.Request.Method, c.FullPath()):
		kind, timeout = lengthy, slowTimeout
	case !safe(c.Request.Method):
		kind = writing
	}
	body := receiving{who: who, load: &s.load.bodies}
	defer body.drop()
	if err := s.readBody(c, &body); err != nil {
		s.writeProblem(c, err)
		return
	}
	ctx, cancel := context.WithCancel(c.Request.Context())
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(c.Request.Context(), timeout)
	}
	defer cancel()
	leave, err := s.place(ctx, kind.bounds(who))
	body.placed()
	if err != nil {
		s.writeProblem(c, err)
		return
	}
	defer leave()
	c.Request = c.Request.WithContext(ctx)
	if timeout == 0 {
		s.stream(c, cancel)
		return
	}
	c.Writer = &answering{ResponseWriter: c.Writer, control: http.NewResponseController(c.Writer)}
	c.Next()
}

// place waits a little for a place under all the bounds.
func (s *Server) place(ctx context.Context, bounds []bound) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	leave, full := s.load.places.wait(ctx, bounds...)
	if full != nil {
		return nil, full.busy()
	}
	return leave, nil
}

// askerOf is who sends a request. One who acts on several tenants counts for the one that the path names or, where it
// names none, for the first.
func askerOf(c *gin.Context) asker {
	p, ok := control.PrincipalFrom(c.Request.Context())
	if !ok {
		return asker{name: control.SourceKey(c.Request.RemoteAddr)}
	}
	a := asker{known: true, wide: p.Wide(), name: holder(p)}
	if a.wide {
		return a
	}
	if t := c.Param("tenant"); t != "" {
		a.tenant = c.Param("fabric") + "/" + t
	} else if list := own(p, ""); len(list) > 0 {
		a.tenant = list[0].Fabric + "/" + list[0].Tenant
	}
	return a
}

// slow names the operations that talk to devices or compile.
func slow(method, route string) bool {
	switch route[strings.LastIndexByte(route, '/')+1:] {
	case "discover", "devices", "baseline", "release", ":device", "shares", "plans", "verify", "what-if":
		return true
	case "history": // a POST measures, a GET looks up
		return method == http.MethodPost
	}
	return false
}
