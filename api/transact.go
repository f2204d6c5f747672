package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/gin-gonic/gin"

	"fairlane/internal/phrase"

	"fairlane/api/server"
	"fairlane/service/control"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed"
	dryRunHeader      = "Dry-Run"
)

// maxKept bounds, in bytes, the answer stored with an idempotency key. A repetition of a request with a larger answer
// receives only that it was completed.
const maxKept = 1 << 20

// inStore reports whether an operation only uses the store and is quick, so that it runs in one transaction. All others
// access devices, compile or start jobs; they have their own transactions, and each handles its dry run.
func inStore(operation string) bool {
	switch operation {
	case "CreateFabric", "UpdateFabric", "DeleteFabric", "ManageFabric",
		"CreateTenant", "UpdateTenant", "DeleteTenant", "PutFlows",
		"AddAttachment", "PutAttachment", "DeleteAttachment",
		"PutFeed", "DeleteFeed",
		"AddClass", "PutClass", "DeleteClass",
		"CreateUser", "UpdateUser", "DeleteUser", "PutMember", "DeleteMember",
		"CreateServiceAccount", "DeleteServiceAccount", "CreateTenantServiceAccount", "DeleteTenantServiceAccount",
		"RestorePolicy", "LabelPolicy", "PutOptions", "PutSettings",
		"UpdateDevice", "ReleaseDevice", "RepairDevice", "PutDriftPolicy":
		return true
	}
	return false
}

// transact applies the headers and parameters of a write: one transaction, a dry run, and at most one execution under an
// idempotency key.
func (s *Server) transact(f server.StrictHandlerFunc, operation string) server.StrictHandlerFunc {
	atOnce := inStore(operation)
	return func(c *gin.Context, request any) (any, error) {
		if safe(c.Request.Method) {
			return f(c, request)
		}
		run := func(ctx context.Context) (any, error) {
			c.Request = c.Request.WithContext(ctx)
			return f(c, request)
		}
		ctx := c.Request.Context()
		if c.Query("dry_run") == "true" {
			c.Header(dryRunHeader, "true")
			return s.inOne(onFabric(control.DryRun(ctx), c, operation), atOnce, request, run)
		}
		if word := c.GetHeader(idempotencyHeader); word != "" && s.takesIdempotencyKey(c) {
			return nil, s.idempotent(c, operation, control.IdempotencyKey{Actor: control.ActorName(ctx), Key: word, Request: digest(c)}, atOnce, request, run)
		}
		return s.inOne(onFabric(ctx, c, operation), atOnce, request, run)
	}
}

// onFabric gives an operation the scope of the fabric in its path. An operation that also concerns accounts, or the
// existence of the fabric, has the scope of the whole service.
func onFabric(ctx context.Context, c *gin.Context, operation string) context.Context {
	switch operation {
	case "DeleteFabric", "PutMember", "DeleteMember", "CreateTenantServiceAccount", "DeleteTenantServiceAccount":
		return ctx
	}
	fabric := c.Param("fabric")
	if fabric == "" || !inStore(operation) {
		return ctx
	}
	return control.OnFabric(ctx, fabric)
}

// prepare does the slow part of a request before its transaction, during which no other write runs.
func (s *Server) prepare(ctx context.Context, request any) (context.Context, error) {
	switch r := request.(type) {
	case server.CreateUserRequestObject:
		return s.control.PreparePassword(ctx, r.Body.Name, deref(r.Body.Password))
	case server.UpdateUserRequestObject:
		return s.control.PreparePassword(ctx, r.User, deref(r.Body.Password))
	case server.PutFeedRequestObject:
		_, _ = s.control.PortNames(ctx, r.Fabric) // caches the topology; the operation reports errors
		return ctx, nil
	case server.UpdateDeviceRequestObject:
		return s.control.PrepareDevices(ctx, r.Fabric), nil
	case server.ReleaseDeviceRequestObject:
		return s.control.PrepareDevices(ctx, r.Fabric), nil
	case server.RepairDeviceRequestObject:
		return s.control.PrepareDevices(ctx, r.Fabric), nil
	}
	return ctx, nil
}

// takesIdempotencyKey reports whether the operation accepts idempotency keys. Operations that return a secret do not, since the
// answer would be stored.
func (s *Server) takesIdempotencyKey(c *gin.Context) bool {
	r := s.spec.of(c)
	return r != nil && param(r.PathItem, r.Operation, "header", idempotencyHeader) != nil
}

// inOne runs an operation, in one transaction where possible.
func (s *Server) inOne(ctx context.Context, atOnce bool, request any, run func(context.Context) (any, error)) (response any, err error) {
	if !atOnce {
		return run(ctx)
	}
	if ctx, err = s.prepare(ctx, request); err != nil {
		return nil, err
	}
	err = s.control.Atomic(ctx, func(ctx context.Context) (err error) {
		response, err = run(ctx)
		return err
	})
	return response, err
}

// idempotent answers a request under an idempotency key: it runs the operation, or returns the stored answer.
func (s *Server) idempotent(c *gin.Context, operation string, k control.IdempotencyKey, atOnce bool, request any, run func(context.Context) (any, error)) error {
	ctx := c.Request.Context()
	release, free := s.busy.enter(k.Actor+"\x00"+k.Key, 1)
	if !free {
		return &problemError{code: control.CodeIdempotencyBusy, said: phrase.Of("problem.idempotency-active")}
	}
	defer release()
	switch a, found, err := s.control.Replay(ctx, k); {
	case errors.Is(err, control.ErrIdempotencyMismatch):
		return &problemError{code: "idempotency-mismatch", said: phrase.Of("problem.idempotency-mismatch")}
	case err != nil:
		return err
	case found:
		c.Header(replayedHeader, "true")
		writeAnswer(c, a)
		return nil
	}
	ctx, err := s.prepare(ctx, request)
	if err != nil {
		return err
	}
	var answer control.IdempotentAnswer
	ctx = onFabric(ctx, c, operation)
	_, err = s.control.Idempotent(ctx, k, atOnce, func(ctx context.Context) (control.IdempotentAnswer, error) {
		response, err := run(ctx)
		if err != nil {
			return control.IdempotentAnswer{}, err
		}
		if answer, err = encode(operation, response); err != nil || len(answer.Body) > maxKept {
			return control.IdempotentAnswer{}, err
		}
		return answer, nil
	})
	if err != nil && (atOnce || answer.Status == 0) { // nothing was changed
		return err
	}
	if err != nil { // it is done; only its answer is not stored
		s.o.Log.ErrorContext(ctx, "answer of an idempotency key not kept", "request_id", requestID(c), "error", err.Error())
	}
	writeAnswer(c, answer)
	return nil
}

// digest identifies a request: method, path, query and body, each preceded by its length.
func digest(c *gin.Context) [32]byte {
	h := sha256.New()
	body, _ := c.Get(bodyKey)
	b, _ := body.([]byte)
	for _, part := range [][]byte{[]byte(c.Request.Method), []byte(c.Request.URL.Path), []byte(c.Request.URL.Query().Encode()), b} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return [32]byte(h.Sum(nil))
}

// answerWriter captures an answer that is not sent yet.
type answerWriter struct {
	header http.Header
	status int
	bytes.Buffer
}

var _ http.ResponseWriter = (*answerWriter)(nil)

func (w *answerWriter) Header() http.Header { return w.header }

func (w *answerWriter) WriteHeader(status int) { w.status = status }

// encode returns the response that the generated code would send for an object. Its method for that is named after the
// operation, so no common interface exists.
func encode(operation string, response any) (control.IdempotentAnswer, error) {
	visit := reflect.ValueOf(response).MethodByName("Visit" + operation + "Response")
	if !visit.IsValid() {
		return control.IdempotentAnswer{}, fmt.Errorf("response %T is not one of operation %s", response, operation)
	}
	w := &answerWriter{header: http.Header{}, status: http.StatusOK}
	if err, ok := visit.Call([]reflect.Value{reflect.ValueOf(http.ResponseWriter(w))})[0].Interface().(error); ok {
		return control.IdempotentAnswer{}, fmt.Errorf("encode response of %s: %w", operation, err)
	}
	return control.IdempotentAnswer{Status: w.status, Header: w.header, Body: w.Bytes()}, nil
}

func writeAnswer(c *gin.Context, a control.IdempotentAnswer) {
	for name, values := range a.Header {
		c.Writer.Header()[name] = values
	}
	c.Status(a.Status)
	if len(a.Body) == 0 {
		c.Writer.WriteHeaderNow()
		return
	}
	_, _ = c.Writer.Write(a.Body) // the only possible error is that the client went away
}
