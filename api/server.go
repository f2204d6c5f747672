package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"fairlane/api/gen"
	"fairlane/api/reference"
	"fairlane/internal/phrase"

	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/tenants/authz"
	"fairlane/web"
)

// Bounds of a request.
const (
	MaxBody = 8 << 20 // bytes of a request body
	// requestTimeout bounds an ordinary request, slowTimeout one that accesses devices or compiles.
	requestTimeout = 30 * time.Second
	slowTimeout    = 5 * time.Minute
)

// Options of a server; the zero value is the default of each.
type Options struct {
	Log      *slog.Logger // nil discards
	Version  string       // "" is "dev"
	Revision string       // of the source; "" is omitted
	// Watch is called when a request starts; the function that it returns is called when the request was answered. Nil
	// counts nothing.
	Watch func() func(Answered)
	// Tracer provides the spans of requests; nil means none.
	Tracer trace.TracerProvider
	// PublicURL is the address that browsers use, such as "https://fairlane.example"; when it is https, cookies
	// are for TLS only, also behind a proxy that speaks HTTP to us.
	PublicURL string
	// OIDC is the OpenID provider; nil is none.
	OIDC IdentityProvider
	// Ready returns why the process does not accept work, in addition to the service's own check; nil is always ready.
	Ready func(context.Context) error
	// Portal is the portal and the console; nil is those of this build.
	Portal *web.Site
}

// Server implements the contract's operations with the use cases.
type Server struct {
	control UseCases
	o       Options
	spec    *spec
	kinds   map[string]kind
	site    *reference.Site
	portal  *web.Site
	engine  *gin.Engine
	busy    tally // idempotency keys in use
	gzip    gzipWriters
	load    load
	// draining ends when streams must end.
	draining context.Context //nolint:containedctx // the service's own, not a request's
	drain    context.CancelFunc
	rights   *authz.Enforcer
	origins  *http.CrossOriginProtection
}

var _ server.StrictServerInterface = (*Server)(nil)

// New returns the API as an http.Handler, rooted at /api/v1/. Errors are defects of the contract.
func New(c UseCases, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	sp, err := loadSpec()
	if err != nil {
		return nil, err
	}
	rights, err := authz.New()
	if err != nil {
		return nil, err
	}
	site, err := newSite(sp)
	if err != nil {
		return nil, err
	}
	portal := o.Portal
	if portal == nil {
		if portal, err = web.Embedded(); err != nil {
			return nil, err
		}
	}
	gin.SetMode(gin.ReleaseMode)
	s := &Server{control: c, o: o, spec: sp, kinds: kinds(), site: site, portal: portal, engine: gin.New(), rights: rights, origins: http.NewCrossOriginProtection()}
	s.draining, s.drain = context.WithCancel(context.Background())
	e := s.engine
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.UseRawPath = true          // names of ports contain a slash, sent as %2F
	e.ContextWithFallback = true // handlers get gin's context; it must end with the request
	e.Use(s.observe, s.identify, hurry, s.compress, s.recoverPanics)
	e.NoRoute(func(c *gin.Context) {
		s.writeProblem(c, &problemError{code: "no-such-route", said: phrase.Of("problem.no-route")})
	})
	e.NoMethod(func(c *gin.Context) {
		s.writeProblem(c, &problemError{code: "method-not-allowed", said: phrase.Of("problem.method", "method", c.Request.Method)})
	})
	strict := server.NewStrictHandlerWithOptions(s, []server.StrictMiddlewareFunc{ownContext, s.transact}, server.StrictGinServerOptions{
		RequestErrorHandlerFunc:  s.badRequest,
		HandlerErrorFunc:         s.writeProblem,
		ResponseErrorHandlerFunc: s.unsent,
	})
	s.servePages(e)
	s.servePortal(e)
	routes := e.Group("", s.text, s.admit, s.work, s.validate)
	server.RegisterHandlersWithOptions(routes, strict, server.GinServerOptions{
		ErrorHandler: func(c *gin.Context, err error, _ int) { s.badRequest(c, err) },
	})
	return s, nil
}

// ownContext gives the handler a separate context. Gin reuses its context for the next request, while code that a handler
// called may use it a moment longer: database/sql does.
func ownContext(f server.StrictHandlerFunc, _ string) server.StrictHandlerFunc {
	return func(c *gin.Context, request any) (any, error) { return f(c.Copy(), request) }
}

// Drain ends the event streams, which have no end of their own, so that a server can shut down.
func (s *Server) Drain() { s.drain() }

var _ http.Handler = (*Server)(nil)

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.engine.ServeHTTP(w, r) }

// badRequest answers requests that the generated decoder rejects; in all known cases the validator has rejected them
// before.
func (s *Server) badRequest(c *gin.Context, err error) {
	s.o.Log.DebugContext(c.Request.Context(), "request not decoded", "request_id", requestID(c), "error", err.Error())
	s.writeProblem(c, &problemError{code: "invalid", said: phrase.Of("problem.undecodable")})
}

// HTTPServer wraps a handler in a server with time limits against slow clients. The write limit leaves enough time for
// the slowest operation.
func HTTPServer(h http.Handler) *http.Server {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      slowTimeout + time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	if d, ok := h.(interface{ Drain() }); ok {
		srv.RegisterOnShutdown(d.Drain)
	}
	return srv
}

func (s *Server) GetHealth(context.Context, server.GetHealthRequestObject) (server.GetHealthResponseObject, error) {
	return server.GetHealth200JSONResponse{Status: gen.HealthStatusOk}, nil
}

func (s *Server) GetReady(ctx context.Context, _ server.GetReadyRequestObject) (server.GetReadyResponseObject, error) {
	if s.o.Ready != nil {
		if err := s.o.Ready(ctx); err != nil {
			return nil, &problemError{code: "stopping", said: phrase.OfError(err)}
		}
	}
	if err := s.control.Ready(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err() // the caller went away: this says nothing about the store
		}
		s.o.Log.ErrorContext(ctx, "not ready", "error", err.Error())
		if away := (*control.UnavailableError)(nil); errors.As(err, &away) {
			return nil, away
		}
		return nil, &problemError{code: "not-ready", said: phrase.Of("problem.store-silent")}
	}
	return server.GetReady200JSONResponse{Status: gen.HealthStatusOk}, nil
}

func (s *Server) GetVersion(context.Context, server.GetVersionRequestObject) (server.GetVersionResponseObject, error) {
	return server.GetVersion200JSONResponse{Version: s.o.Version, Revision: optional(s.o.Revision), GoVersion: runtime.Version()}, nil
}
