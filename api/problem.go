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
	"fairlane/service/control"
)

// kind is one stable problem code.
type kind struct {
	status int
	title  string
}

// kinds lists every code; docs/problems.md explains each, and a test compares the two.
func kinds() map[string]kind {
	return map[string]kind{
		"unauthorized":            {http.StatusUnauthorized, "A valid token is needed"},
		"forbidden":               {http.StatusForbidden, "Your roles do not allow it"},
		"csrf":                    {http.StatusForbidden, "The request may be another site's"},
		"sign-in-refused":         {http.StatusUnauthorized, "You are not signed in"},
		"locked":                  {http.StatusTooManyRequests, "Locked"},
		"oidc-off":                {http.StatusNotFound, "No OpenID provider is configured"},
		"no-account":              {http.StatusConflict, "The token belongs to no account"},
		"no-session":              {http.StatusConflict, "There is no browser session"},
		"last-admin":              {http.StatusConflict, "No administrator would remain"},
		"too-many":                {http.StatusConflict, "There are as many as there may be"},
		"not-found":               {http.StatusNotFound, "Not found"},
		"no-such-route":           {http.StatusNotFound, "No such path in this API"},
		"method-not-allowed":      {http.StatusMethodNotAllowed, "This path does not take this method"},
		"malformed-body":          {http.StatusBadRequest, "The body is not JSON"},
		"malformed-request":       {http.StatusBadRequest, "The request is not text"},
		"idempotency-mismatch":    {http.StatusUnprocessableEntity, "The idempotency key is another request's"},
		"idempotency-in-progress": {http.StatusConflict, "The same request is under way"},
		"idempotency-answer-lost": {http.StatusConflict, "It was done, and its answer is not kept"},
		"too-many-tasks":          {http.StatusConflict, "Too many simulations and calibrations wait"},
		"busy":                    {http.StatusServiceUnavailable, "Too much at once"},
		"body-too-large":          {http.StatusRequestEntityTooLarge, "The body is too large"},
		"unsupported-media-type":  {http.StatusUnsupportedMediaType, "The body is of a type this operation does not take"},
		"invalid":                 {http.StatusUnprocessableEntity, "Invalid request"},
		"already-exists":          {http.StatusConflict, "The name is taken"},
		"in-use":                  {http.StatusConflict, "In use"},
		"ambiguous-name":          {http.StatusConflict, "Ambiguous name"},
		"not-discovered":          {http.StatusConflict, "Not discovered"},
		"no-plan":                 {http.StatusConflict, "No plan is in force"},
		"rollout-running":         {http.StatusConflict, "A rollout is running"},
		"fabric-released":         {http.StatusConflict, "The fabric is not under management"},
		"plan-in-force":           {http.StatusConflict, "A plan is in force"},
		"device-frozen":           {http.StatusConflict, "A device may not be written"},
		"not-quarantined":         {http.StatusConflict, "The device is not quarantined"},
		"not-repairable":          {http.StatusConflict, "The device cannot be repaired"},
		"plan-changed":            {http.StatusConflict, "Another plan came in force"},
		"is-repair":               {http.StatusConflict, "The rollout was a repair"},
		"not-running":             {http.StatusConflict, "Not running"},
		"not-paused":              {http.StatusConflict, "The rollout is not paused"},
		"not-confirming":          {http.StatusConflict, "The rollout does not wait for confirmation"},
		"rollout-ending":          {http.StatusConflict, "The rollout is on its way to its end"},
		"topology-changed":        {http.StatusConflict, "The plan does not fit the fabric it was made for"},
		"fenced":                  {http.StatusConflict, "Another manager has advanced the rollout"},
		"precondition-failed":     {http.StatusPreconditionFailed, "It changed since it was read"},
		"precondition-required":   {http.StatusPreconditionRequired, "If-Match is needed"},
		"discovery-failed":        {http.StatusBadGateway, "Discovery failed"},
		"devices-unreachable":     {http.StatusBadGateway, "Devices unreachable"},
		"measurement-failed":      {http.StatusBadGateway, "Measurement failed"},
		"not-ready":               {http.StatusServiceUnavailable, "The service cannot work now"},
		"stopping":                {http.StatusServiceUnavailable, "The service is stopping"},
		"storage-full":            {http.StatusServiceUnavailable, "The database has no room"},
		"storage-read-only":       {http.StatusServiceUnavailable, "The database takes no changes"},
		"storage-damaged":         {http.StatusServiceUnavailable, "The database is damaged"},
		"storage-blocked":         {http.StatusServiceUnavailable, "Writes do not go through"},
		"storage-unavailable":     {http.StatusServiceUnavailable, "The database does not answer"},
		"timeout":                 {http.StatusGatewayTimeout, "It took too long"},
		"internal":                {http.StatusInternalServerError, "The service has a fault"},
	}
}

// problemError is an error whose code is known already.
type problemError struct {
	code   string
	detail string
	fields []gen.ProblemField
	until  time.Time // when to try again; zero: not known
	after  int       // the same, in seconds from now
}

// faulty refuses a request for one thing in it.
func faulty(detail string, in gen.ProblemFieldIn, at, fault string) error {
	return &problemError{code: "invalid", detail: detail, fields: []gen.ProblemField{{In: in, Pointer: at, Detail: fault}}}
}

// Error prints code and detail.
func (e *problemError) Error() string { return e.code + ": " + e.detail }

// classify finds the code, the detail and the fields of an error. What is not known is
// "internal", and its text stays in the log.
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
		return &problemError{code: conf.Code, detail: conf.Detail}
	case errors.Is(err, control.ErrNotFound):
		return &problemError{code: "not-found", detail: err.Error()}
	case errors.Is(err, control.ErrPrecondition):
		return &problemError{code: "precondition-failed", detail: err.Error()}
	case errors.As(err, &held):
		return &problemError{code: "locked", detail: held.Detail + "; try again when Retry-After has passed", until: held.Until}
	case errors.Is(err, control.ErrForbidden):
		return &problemError{code: "forbidden", detail: err.Error()}
	case errors.Is(err, control.ErrUnauthorized):
		return &problemError{code: "unauthorized", detail: "send Authorization: Bearer with a valid token"}
	case errors.Is(err, context.DeadlineExceeded):
		return &problemError{code: "timeout", detail: "the request did not finish in time"}
	case errors.As(err, &away):
		if strings.HasPrefix(away.Code, "storage-") { // what the database says of itself is for the log
			return &problemError{code: away.Code, detail: away.Detail}
		}
		return &problemError{code: away.Code, detail: err.Error()}
	}
	return &problemError{code: "internal", detail: "the fault is in the service's log under this request id"}
}

// isFault reports whether an error is a fault of the service itself: the code "internal".
func isFault(err error) bool { return err != nil && classify(err).code == "internal" }

// fromInvalid tells parameters from body fields: only the latter have a leading slash.
func fromInvalid(inv *control.InvalidError) *problemError {
	p := &problemError{code: "invalid", detail: "the request does not fit the fabric"}
	for _, f := range inv.Fields {
		in := gen.ProblemFieldInQuery
		if f.Pointer == "" || f.Pointer[0] == '/' {
			in = gen.ProblemFieldInBody
		}
		p.fields = append(p.fields, gen.ProblemField{In: in, Pointer: f.Pointer, Detail: f.Detail})
	}
	return p
}

// clientGone is the status, in logs and metrics only, of a request whose client did not wait for the answer: no fault of
// the service. It is nginx's.
const clientGone = 499

// lostKey tells that the client did not receive the answer.
const lostKey = "fairlane.lost"

// unsent ends a request whose answer was not sent. Where the client did not receive it, because it reads too slowly or is gone, that is
// no fault of the service.
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
		p = &problemError{code: "internal", detail: "the fault is in the service's log under this request id"}
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
		Type: "/docs/problems#" + p.code, Title: k.title, Status: k.status, Code: p.code, RequestID: id,
		Detail: optional(p.detail), Instance: optional(c.Request.URL.Path), Errors: p.fields,
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

// optional is nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
