package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/tenants"
)

// apiRoot is the root of the routes of the contract.
const apiRoot = "/api/"

const (
	requestIDHeader = "X-Request-ID"
	requestIDKey    = "fairlane.request_id"
)

// identify gives the request an id: the client's, when it is a valid short word, or a random one.
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

// hurry bounds the time in which net/http reads the body of a request that is refused before readBody: net/http does so
// before it sends the answer.
func hurry(c *gin.Context) {
	if hasBody(c.Request) { // otherwise net/http waits for the next request, and a deadline would cancel this one
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(bodyGrace))
	}
}

func plainID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(strings.ToLower(s), "0123456789abcdefghijklmnopqrstuvwxyz-_") == ""
}

func requestID(c *gin.Context) string { return c.GetString(requestIDKey) }

// recoverPanics answers a panic with a problem; only the log has its stack.
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

// text rejects a path or a query that is not text.
func (s *Server) text(c *gin.Context) {
	if err := checkURL(c.Request.URL); err != nil {
		s.writeProblem(c, err)
	}
}

// admit authenticates and authorises the caller, before the body is read.
func (s *Server) admit(c *gin.Context) {
	leave, err := s.place(c.Request.Context(), admitting.bounds(callerKey{}))
	if err != nil {
		s.writeProblem(c, err)
		return
	}
	defer leave()
	if s.authenticate(c); !c.IsAborted() {
		s.authorize(c)
	}
}

// work reads the body, then takes a place, and bounds the time of the handlers that follow. A body in transfer takes no
// place.
func (s *Server) work(c *gin.Context) {
	who := callerKeyOf(c)
	kind, timeout := reading, requestTimeout
	switch {
	case !strings.HasPrefix(c.FullPath(), apiRoot):
		kind = paging
	case streams(c.FullPath()):
		kind, timeout = streaming, 0
	case strings.HasPrefix(c.FullPath(), prometheusRoot):
		kind = querying
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
	defer cancel()
	if timeout > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, timeout)
		defer end()
	}
	leave, err := s.place(ctx, kind.bounds(who))
	body.releasePlace()
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
	c.Writer = &answering{ResponseWriter: c.Writer, control: http.NewResponseController(c.Writer), lost: func() { c.Set(lostKey, true) }}
	c.Next()
}

// place waits up to patience for a place under all the bounds.
func (s *Server) place(ctx context.Context, bounds []bound) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	leave, full := s.load.places.wait(ctx, bounds...)
	if full != nil {
		return nil, full.busy()
	}
	return leave, nil
}

// callerKeyOf returns the caller of a request. A caller with rights on several tenants counts for the tenant in the path or,
// without one, for the first.
func callerKeyOf(c *gin.Context) callerKey {
	p, ok := control.PrincipalFrom(c.Request.Context())
	if !ok {
		return callerKey{name: identity.SourceKey(c.Request.RemoteAddr)}
	}
	wide := slices.ContainsFunc(p.Grants, func(g tenants.Grant) bool { return g.Role.Wide() })
	a := callerKey{known: true, wide: wide, name: holder(p)}
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

// slow reports whether an operation accesses devices or compiles.
func slow(method, route string) bool {
	switch route[strings.LastIndexByte(route, '/')+1:] {
	case "discover", "devices", "baseline", "capabilities", "doctor", "release", ":device", "shares", "plans", "verify", "what-if", "admit":
		return true
	case "history": // a POST measures, a GET reads
		return method == http.MethodPost
	}
	return false
}
