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
	"sync"

	"github.com/gin-gonic/gin"

	"fairlane/api/gen"
	"fairlane/internal/control"
)

const (
	onceHeader     = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
	dryRunHeader   = "Dry-Run"
)

// maxKept bounds, in bytes, the answer kept with an idempotency key. A repetition of a request with a larger answer is
// told that it was done.
const maxKept = 1 << 20

// whole lists the operations that act on the store alone and quickly, so that each runs in one transaction. All others
// talk to devices, compile or hand work over; they have transactions of their own, and each looks after its dry run.
func whole() map[string]bool {
	return map[string]bool{
		"CreateFabric": true, "UpdateFabric": true, "DeleteFabric": true,
		"CreateTenant": true, "UpdateTenant": true, "DeleteTenant": true, "PutFlows": true,
		"AddAttachment": true, "PutAttachment": true, "DeleteAttachment": true,
		"AddClass": true, "PutClass": true, "DeleteClass": true,
		"CreateUser": true, "UpdateUser": true, "DeleteUser": true, "PutMember": true, "DeleteMember": true,
		"CreateServiceAccount": true, "DeleteServiceAccount": true, "CreateTenantServiceAccount": true, "DeleteTenantServiceAccount": true,
		"RestorePolicy": true, "LabelPolicy": true, "PutOptions": true, "PutSettings": true,
		"UpdateDevice": true, "ReleaseDevice": true, "RepairDevice": true, "PutDriftPolicy": true,
	}
}

// transact gives a write what its headers and parameters ask for: one transaction, a dry run, and to be done
// once under an idempotency key.
func (s *Server) transact(f gen.StrictHandlerFunc, operation string) gen.StrictHandlerFunc {
	atOnce := whole()[operation]
	return func(c *gin.Context, request any) (any, error) {
		if c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
			return f(c, request)
		}
		run := func(ctx context.Context) (any, error) {
			c.Request = c.Request.WithContext(ctx)
			return f(c, request)
		}
		ctx := c.Request.Context()
		if c.Query("dry_run") == "true" {
			c.Header(dryRunHeader, "true")
			return s.inOne(control.DryRun(ctx), atOnce, request, run)
		}
		if word := c.GetHeader(onceHeader); word != "" && s.takesOnce(c) {
			return nil, s.once(c, operation, control.OnceKey{Actor: control.ActorName(ctx), Key: word, Request: digest(c)}, atOnce, request, run)
		}
		return s.inOne(ctx, atOnce, request, run)
	}
}

// prepare does what a request takes long for before it gets its transaction, in which nobody else writes.
func (s *Server) prepare(ctx context.Context, request any) (context.Context, error) {
	switch r := request.(type) {
	case gen.CreateUserRequestObject:
		return s.control.PreparePassword(ctx, r.Body.Name, deref(r.Body.Password))
	case gen.UpdateUserRequestObject:
		return s.control.PreparePassword(ctx, r.User, deref(r.Body.Password))
	case gen.UpdateDeviceRequestObject:
		return s.control.PrepareDevices(ctx, r.Fabric), nil
	case gen.ReleaseDeviceRequestObject:
		return s.control.PrepareDevices(ctx, r.Fabric), nil
	case gen.RepairDeviceRequestObject:
		return s.control.PrepareDevices(ctx, r.Fabric), nil
	}
	return ctx, nil
}

// takesOnce reports whether the operation takes idempotency keys. Those whose answer holds a secret that is shown once do
// not: the answer would be kept.
func (s *Server) takesOnce(c *gin.Context) bool {
	r := s.spec.routes[c.Request.Method+" "+c.FullPath()]
	return r != nil && r.Operation.Parameters.GetByInAndName("header", onceHeader) != nil
}

// inOne runs an operation, in one transaction when it may be.
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

// once answers a request under an idempotency key: by doing it, or with the answer of the time when it was done.
func (s *Server) once(c *gin.Context, operation string, k control.OnceKey, atOnce bool, request any, run func(context.Context) (any, error)) error {
	ctx := c.Request.Context()
	release, free := s.busy.take(k.Actor + "\x00" + k.Key)
	if !free {
		return &problemError{code: control.CodeOnceBusy, detail: "a request with this idempotency key is under way; wait for its answer"}
	}
	defer release()
	switch a, found, err := s.control.Replay(ctx, k); {
	case errors.Is(err, control.ErrOnceMismatch):
		return &problemError{code: "idempotency-mismatch", detail: "this idempotency key was sent with another request; take a new one"}
	case err != nil:
		return err
	case found:
		c.Header(replayedHeader, "true")
		return writeAnswer(c, a)
	}
	ctx, err := s.prepare(ctx, request)
	if err != nil {
		return err
	}
	var whole control.OnceAnswer
	_, err = s.control.Once(ctx, k, atOnce, func(ctx context.Context) (control.OnceAnswer, error) {
		response, err := run(ctx)
		if err != nil {
			return control.OnceAnswer{}, err
		}
		if whole, err = encode(operation, response); err != nil {
			return control.OnceAnswer{}, err
		}
		kept := whole
		if len(whole.Body) > maxKept {
			kept = control.OnceAnswer{}
		}
		return kept, nil
	})
	if err != nil && whole.Status == 0 {
		return err
	}
	if err != nil && atOnce {
		return err // nothing was kept
	}
	if err != nil { // it is done; only its answer is not kept
		s.o.Log.ErrorContext(ctx, "answer of an idempotency key not kept", "request_id", requestID(c), "error", err.Error())
	}
	return writeAnswer(c, whole)
}

// digest tells requests apart: method, path, query and body, each with its length before it.
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

// answerWriter takes an answer that is not sent yet.
type answerWriter struct {
	header http.Header
	status int
	bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *answerWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *answerWriter) WriteHeader(status int) { w.status = status }

// encode is what the generated code would send for a response object. Its method for that is named after the
// operation, and no interface has it for all.
func encode(operation string, response any) (control.OnceAnswer, error) {
	visit := reflect.ValueOf(response).MethodByName("Visit" + operation + "Response")
	if !visit.IsValid() {
		return control.OnceAnswer{}, fmt.Errorf("response %T is not one of operation %s", response, operation)
	}
	w := &answerWriter{header: http.Header{}, status: http.StatusOK}
	if err, ok := visit.Call([]reflect.Value{reflect.ValueOf(http.ResponseWriter(w))})[0].Interface().(error); ok {
		return control.OnceAnswer{}, fmt.Errorf("encode response of %s: %w", operation, err)
	}
	return control.OnceAnswer{Status: w.status, Header: w.header, Body: w.Bytes()}, nil
}

func writeAnswer(c *gin.Context, a control.OnceAnswer) error {
	for name, values := range a.Header {
		c.Writer.Header()[name] = values
	}
	c.Status(a.Status)
	if len(a.Body) == 0 {
		c.Writer.WriteHeaderNow()
		return nil
	}
	_, err := c.Writer.Write(a.Body)
	if err != nil {
		return nil //nolint:nilerr // the client went away: there is nobody to tell
	}
	return nil
}

// busySet is the names that are in use.
type busySet struct {
	mu  sync.Mutex
	set map[string]bool
}

func (b *busySet) take(name string) (release func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.set[name] {
		return nil, false
	}
	if b.set == nil {
		b.set = map[string]bool{}
	}
	b.set[name] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.set, name)
	}, true
}
