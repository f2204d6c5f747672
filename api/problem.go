package api

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// kind is one stable problem code.
type kind struct {
	status int
	title  phrase.Text
}

// kinds lists every code; docs/problems.md explains each, and a test compares the two.
func kinds() map[string]kind {
	return map[string]kind{
		"unauthorized":            {http.StatusUnauthorized, phrase.Of("title.unauthorized")},
		"forbidden":               {http.StatusForbidden, phrase.Of("title.forbidden")},
		"csrf":                    {http.StatusForbidden, phrase.Of("title.csrf")},
		"sign-in-refused":         {http.StatusUnauthorized, phrase.Of("title.sign-in-refused")},
		"locked":                  {http.StatusTooManyRequests, phrase.Of("title.locked")},
		"oidc-off":                {http.StatusNotFound, phrase.Of("title.oidc-off")},
		"no-account":              {http.StatusConflict, phrase.Of("title.no-account")},
		"no-session":              {http.StatusConflict, phrase.Of("title.no-session")},
		"last-admin":              {http.StatusConflict, phrase.Of("title.last-admin")},
		"too-many":                {http.StatusConflict, phrase.Of("title.too-many")},
		"not-found":               {http.StatusNotFound, phrase.Of("title.not-found")},
		"no-such-route":           {http.StatusNotFound, phrase.Of("title.no-such-route")},
		"method-not-allowed":      {http.StatusMethodNotAllowed, phrase.Of("title.method-not-allowed")},
		"malformed-body":          {http.StatusBadRequest, phrase.Of("title.malformed-body")},
		"malformed-request":       {http.StatusBadRequest, phrase.Of("title.malformed-request")},
		"idempotency-mismatch":    {http.StatusUnprocessableEntity, phrase.Of("title.idempotency-mismatch")},
		"idempotency-in-progress": {http.StatusConflict, phrase.Of("title.idempotency-in-progress")},
		"idempotency-answer-lost": {http.StatusConflict, phrase.Of("title.idempotency-answer-lost")},
		"too-much-maintenance":    {http.StatusConflict, phrase.Of("title.too-much-maintenance")},
		"maintenance-over":        {http.StatusConflict, phrase.Of("title.maintenance-over")},
		"too-many-silences":       {http.StatusConflict, phrase.Of("title.too-many-silences")},
		"too-many-tasks":          {http.StatusConflict, phrase.Of("title.too-many-tasks")},
		"busy":                    {http.StatusServiceUnavailable, phrase.Of("title.busy")},
		"body-too-large":          {http.StatusRequestEntityTooLarge, phrase.Of("title.body-too-large")},
		"unsupported-media-type":  {http.StatusUnsupportedMediaType, phrase.Of("title.unsupported-media-type")},
		"invalid":                 {http.StatusUnprocessableEntity, phrase.Of("title.invalid")},
		"already-exists":          {http.StatusConflict, phrase.Of("title.already-exists")},
		"in-use":                  {http.StatusConflict, phrase.Of("title.in-use")},
		"ambiguous-name":          {http.StatusConflict, phrase.Of("title.ambiguous-name")},
		"not-discovered":          {http.StatusConflict, phrase.Of("title.not-discovered")},
		"no-plan":                 {http.StatusConflict, phrase.Of("title.no-plan")},
		"rollout-running":         {http.StatusConflict, phrase.Of("title.rollout-running")},
		"fabric-released":         {http.StatusConflict, phrase.Of("title.fabric-released")},
		"plan-in-force":           {http.StatusConflict, phrase.Of("title.plan-in-force")},
		"device-frozen":           {http.StatusConflict, phrase.Of("title.device-frozen")},
		"needs-operator":          {http.StatusConflict, phrase.Of("title.needs-operator")},
		"too-many-settings":       {http.StatusConflict, phrase.Of("title.too-many-settings")},
		"not-quarantined":         {http.StatusConflict, phrase.Of("title.not-quarantined")},
		"not-repairable":          {http.StatusConflict, phrase.Of("title.not-repairable")},
		"plan-changed":            {http.StatusConflict, phrase.Of("title.plan-changed")},
		"is-repair":               {http.StatusConflict, phrase.Of("title.is-repair")},
		"not-running":             {http.StatusConflict, phrase.Of("title.not-running")},
		"not-paused":              {http.StatusConflict, phrase.Of("title.not-paused")},
		"not-confirming":          {http.StatusConflict, phrase.Of("title.not-confirming")},
		"rollout-ending":          {http.StatusConflict, phrase.Of("title.rollout-ending")},
		"topology-changed":        {http.StatusConflict, phrase.Of("title.topology-changed")},
		"fenced":                  {http.StatusConflict, phrase.Of("title.fenced")},
		"precondition-failed":     {http.StatusPreconditionFailed, phrase.Of("title.precondition-failed")},
		"precondition-required":   {http.StatusPreconditionRequired, phrase.Of("title.precondition-required")},
		"discovery-failed":        {http.StatusBadGateway, phrase.Of("title.discovery-failed")},
		"devices-unreachable":     {http.StatusBadGateway, phrase.Of("title.devices-unreachable")},
		"measurement-failed":      {http.StatusBadGateway, phrase.Of("title.measurement-failed")},
		"not-ready":               {http.StatusServiceUnavailable, phrase.Of("title.not-ready")},
		"stopping":                {http.StatusServiceUnavailable, phrase.Of("title.stopping")},
		"storage-full":            {http.StatusServiceUnavailable, phrase.Of("title.storage-full")},
		"storage-read-only":       {http.StatusServiceUnavailable, phrase.Of("title.storage-read-only")},
		"storage-damaged":         {http.StatusServiceUnavailable, phrase.Of("title.storage-damaged")},
		"storage-blocked":         {http.StatusServiceUnavailable, phrase.Of("title.storage-blocked")},
		"storage-unavailable":     {http.StatusServiceUnavailable, phrase.Of("title.storage-unavailable")},
		"timeout":                 {http.StatusGatewayTimeout, phrase.Of("title.timeout")},
		"internal":                {http.StatusInternalServerError, phrase.Of("title.internal")},
	}
}

// problemError is an error with a known code.
type problemError struct {
	code   string
	said   phrase.Text
	fields []gen.ProblemField
	until  time.Time // when to try again; zero: not known
	after  int       // the same, in seconds from now
}

// faulty rejects a request because of one fault in it.
func faulty(said phrase.Text, in gen.ProblemFieldIn, at string, fault phrase.Text) error {
	return &problemError{code: "invalid", said: said, fields: []gen.ProblemField{fieldOf(in, at, fault)}}
}

// fieldOf returns one fault of a request.
func fieldOf(in gen.ProblemFieldIn, at string, fault phrase.Text) gen.ProblemField {
	return gen.ProblemField{In: in, Pointer: at, Detail: fault.String(), Said: &fault}
}

// Error prints code and detail.
func (e *problemError) Error() string { return e.code + ": " + e.said.String() }

// classify returns the code, the detail and the fields of an error. An unknown error is "internal", and its text goes to
// the log only.
func classify(err error) *problemError {
	var (
		known *problemError
		inv   *control.InvalidError
		conf  *control.ConflictError
		away  *control.UnavailableError
		held  *control.LockedError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &inv):
		return fromInvalid(inv)
	case errors.As(err, &conf):
		return &problemError{code: conf.Code, said: conf.Said}
	case errors.Is(err, control.ErrNotFound):
		return &problemError{code: "not-found", said: phrase.OfError(err)}
	case errors.Is(err, control.ErrPrecondition):
		return &problemError{code: "precondition-failed", said: phrase.OfError(err)}
	case errors.As(err, &held):
		return &problemError{code: "locked", said: phrase.Of("problem.locked", "reason", held.Said), until: held.Until}
	case errors.Is(err, control.ErrForbidden):
		return &problemError{code: "forbidden", said: phrase.OfError(err)}
	case errors.Is(err, control.ErrUnauthorized):
		return &problemError{code: "unauthorized", said: phrase.Of("problem.unauthorized")}
	case errors.Is(err, context.DeadlineExceeded):
		return &problemError{code: "timeout", said: phrase.Of("problem.timeout")}
	case errors.As(err, &away):
		if strings.HasPrefix(away.Code, "storage-") { // the database's own text is for the log
			return &problemError{code: away.Code, said: away.Said}
		}
		return &problemError{code: away.Code, said: phrase.OfError(err)}
	}
	return &problemError{code: "internal", said: phrase.Of("problem.internal")}
}

// isFault reports whether an error is a fault of the service itself: the code "internal".
func isFault(err error) bool { return err != nil && classify(err).code == "internal" }

// fromInvalid distinguishes parameters from body fields: only the latter have a leading slash.
func fromInvalid(inv *control.InvalidError) *problemError {
	p := &problemError{code: "invalid", said: phrase.Of("problem.does-not-fit")}
	for _, f := range inv.Fields {
		in := gen.ProblemFieldInQuery
		if f.Pointer == "" || f.Pointer[0] == '/' {
			in = gen.ProblemFieldInBody
		}
		p.fields = append(p.fields, fieldOf(in, f.Pointer, f.Said))
	}
	return p
}

// clientGone is the status, in logs and metrics only, of a request whose client did not wait for the answer: no fault of
// the service. nginx uses the same number.
const clientGone = 499

// lostKey marks a request whose client did not receive the answer.
const lostKey = "fairlane.lost"

// unsent ends a request whose answer was not sent. When the client did not receive it, because it reads too slowly or is
// gone, this is no fault of the service.
func (s *Server) unsent(c *gin.Context, err error) {
	if !c.GetBool(lostKey) {
		s.writeProblem(c, err)
		return
	}
	s.o.Log.DebugContext(c.Request.Context(), "answer not received", "request_id", requestID(c), "route", c.FullPath(), "error", err.Error())
	c.Abort()
	c.Status(clientGone)
}

// writeProblem ends the request with a problem document.
func (s *Server) writeProblem(c *gin.Context, err error) {
	if errors.Is(err, context.Canceled) && errors.Is(c.Request.Context().Err(), context.Canceled) {
		c.Abort()
		c.Status(clientGone)
		return
	}
	p := classify(err)
	k, ok := s.kinds[p.code]
	if !ok {
		p = &problemError{code: "internal", said: phrase.Of("problem.internal")}
		k = s.kinds[p.code]
	}
	c.Set(problemKey, p.code)
	id := requestID(c)
	if p.code == "internal" {
		s.control.Faulted(faultKey(c))
	}
	if p.code == "internal" || strings.HasPrefix(p.code, "storage-") {
		s.o.Log.ErrorContext(c.Request.Context(), "request failed", "request_id", id, "route", c.FullPath(), "error", err.Error())
	}
	body := gen.Problem{
		Type: "/docs/problems#" + p.code, Title: k.title.String(), Status: k.status, Code: p.code, RequestID: id,
		Detail: optional(p.said.String()), Said: optionalText(p.said), Instance: optional(c.Request.URL.Path), Errors: p.fields,
	}
	after := p.after
	if !p.until.IsZero() {
		after = max(1, int(math.Ceil(p.until.Sub(s.control.Now()).Seconds())))
	}
	if after > 0 {
		c.Header("Retry-After", strconv.Itoa(after))
	}
	if p.code == "unauthorized" {
		c.Header("WWW-Authenticate", `Bearer realm="fairlane"`)
	}
	c.Header("Content-Type", "application/problem+json")
	c.Abort()
	c.Status(k.status)
	if c.Request.Method == http.MethodHead {
		return
	}
	// The only possible error is that the client went away.
	_ = json.NewEncoder(c.Writer).Encode(body)
}

// optionalText returns nil for an empty text.
func optionalText(said phrase.Text) *phrase.Text {
	if said.ID == "" {
		return nil
	}
	return &said
}

// optional returns nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
