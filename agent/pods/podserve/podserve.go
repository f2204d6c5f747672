// Package podserve serves a node's table of pod attachments over a Unix socket (package podsock). Only callers with an
// allowed user id, as the kernel reports it, get an answer.
package podserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairlane/agent/pods/podsock"
)

// Table is what is served.
type Table interface {
	Add(ctx context.Context, a podsock.Attachment, source podsock.Source) (podsock.Record, error)
	Check(ctx context.Context, a podsock.Attachment) error
	Delete(ctx context.Context, k podsock.Key) error
	GC(ctx context.Context, g podsock.GC) (int, error)
	List(ctx context.Context, counters bool) []podsock.Record
	Status() podsock.Status
}

// Options configure a server.
type Options struct {
	Table   Table
	Allowed []uint32 // user ids
	Log     *slog.Logger
}

// Limits for callers. A plugin makes one call at a time, and a node starts tens of pods at once.
const (
	maxConnections = 256
	maxPerProcess  = 8  // concurrent calls of one process
	maxHidden      = 64 // of all processes that an agent in a container cannot tell apart
	callTime       = 10 * time.Second
)

// Server serves a table.
type Server struct {
	o    Options
	http *http.Server

	mu    sync.Mutex
	calls map[int32]int // running calls by process; 0: those whose number the agent cannot see
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{o: o, calls: map[int32]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT "+podsock.PathAttachments, handle(s, podsock.MaxBody, s.attach))
	mux.HandleFunc("POST "+podsock.PathCheck, handle(s, podsock.MaxBody, s.check))
	mux.HandleFunc("DELETE "+podsock.PathAttachments, handle(s, podsock.MaxBody, s.release))
	mux.HandleFunc("GET "+podsock.PathAttachments, s.list)
	mux.HandleFunc("POST "+podsock.PathGC, handle(s, podsock.MaxGC, s.collect))
	mux.HandleFunc("GET "+podsock.PathStatus, s.status)
	s.http = &http.Server{
		Handler: s.admit(mux), ReadTimeout: podsock.CallTimeout, WriteTimeout: callTime, IdleTimeout: podsock.CallTimeout, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug), ConnContext: withCaller,
	}
	return s
}

// caller is the peer of a connection.
type caller struct {
	ucred *unix.Ucred
	err   error
}

type callerKey struct{}

// withCaller adds the credentials of the peer, which the kernel recorded when it connected.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	var who caller
	u, ok := c.(*limited)
	if !ok {
		return context.WithValue(ctx, callerKey{}, caller{err: errors.New("not a Unix socket")})
	}
	raw, err := u.UnixConn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			who.ucred, who.err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		})
	}
	who.err = errors.Join(who.err, err)
	return context.WithValue(ctx, callerKey{}, who)
}

// admit checks the caller's user id and the number of its calls.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, _ := r.Context().Value(callerKey{}).(caller)
		if who.err != nil || who.ucred == nil {
			s.fail(w, r, podsock.Problemf(podsock.CodeDenied, "caller: found no user id, want one of pods.allowed_uid: %v", who.err))
			return
		}
		if !slices.Contains(s.o.Allowed, who.ucred.Uid) {
			s.fail(w, r, podsock.Problemf(podsock.CodeDenied, "caller: found user id %d, want one of pods.allowed_uid", who.ucred.Uid))
			return
		}
		if !s.enter(who.ucred.Pid) {
			s.fail(w, r, podsock.Problemf(podsock.CodeTryAgain, "caller: found too many calls of process %d at once", who.ucred.Pid))
			return
		}
		defer s.leave(who.ucred.Pid)
		next.ServeHTTP(w, r)
	})
}

func (s *Server) enter(pid int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := maxPerProcess
	if pid == 0 {
		most = maxHidden
	}
	if s.calls[pid] >= most {
		return false
	}
	s.calls[pid]++
	return true
}

func (s *Server) leave(pid int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[pid]--; s.calls[pid] == 0 {
		delete(s.calls, pid)
	}
}

// handle returns a handler that decodes a body of at most most bytes, and answers with what do returns.
func handle[T any, B interface {
	*T
	Check() error
}](s *Server, most int64, do func(context.Context, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		if err := podsock.Decode(r.Body, most, B(&body)); err != nil {
			s.fail(w, r, err)
			return
		}
		result, err := do(r.Context(), body)
		s.answer(w, r, result, err)
	}
}

func (s *Server) attach(ctx context.Context, a podsock.Attachment) (any, error) {
	return s.o.Table.Add(ctx, requested(a), podsock.SourceCNI)
}

func (s *Server) check(ctx context.Context, a podsock.Attachment) (any, error) {
	return struct{}{}, s.o.Table.Check(ctx, requested(a))
}

// requested returns an attachment without the values that are not a caller's to choose.
func requested(a podsock.Attachment) podsock.Attachment {
	a.Assigned, a.SharedDevice, a.ClaimedBps = "", "", 0
	return a
}

func (s *Server) release(ctx context.Context, k podsock.Key) (any, error) {
	return struct{}{}, s.o.Table.Delete(ctx, k)
}

func (s *Server) collect(ctx context.Context, g podsock.GC) (any, error) {
	n, err := s.o.Table.GC(ctx, g)
	return podsock.Released{Released: n}, err
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	counters, _ := strconv.ParseBool(r.URL.Query().Get("counters")) // anything else requests none
	s.answer(w, r, podsock.List{Records: s.o.Table.List(r.Context(), counters)}, nil)
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, s.o.Table.Status(), nil)
}

// answer writes a result, or the problem of an error.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, result any, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.write(w, r, http.StatusOK, result)
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := podsock.ProblemOf(err)
	s.o.Log.Info("call on the pod socket failed", "method", r.Method, "path", r.URL.Path, "code", string(p.Code), "error", p.Detail)
	s.write(w, r, p.Code.HTTPStatus(), p)
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.o.Log.Debug("answer on the pod socket not sent", "path", r.URL.Path, "error", err.Error())
	}
}

// Listen opens the socket, for its owner alone. It replaces a socket that a dead agent left, and fails if one answers.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("pod socket: %w", err)
	}
	if st, err := os.Lstat(path); err == nil {
		if st.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("pod socket %s: found another kind of file, want a socket or nothing", path)
		}
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
		if err == nil {
			return nil, errors.Join(fmt.Errorf("pod socket %s: another agent answers at it, want none", path), c.Close())
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("pod socket: %w", err)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("pod socket: %w", err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("pod socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil { // callers of other users are refused even before this
		return nil, errors.Join(fmt.Errorf("pod socket: %w", err), l.Close())
	}
	return &limiter{UnixListener: l, free: make(chan struct{}, maxConnections)}, nil
}

// limiter accepts no more than maxConnections connections at a time.
type limiter struct {
	*net.UnixListener
	free chan struct{}
}

// limited is a connection of a limiter.
type limited struct {
	*net.UnixConn
	done func()
}

// Accept implements net.Listener. A connection beyond the limit is closed at once: its caller tries again.
func (l *limiter) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &limited{c, sync.OnceFunc(func() { <-l.free })}, nil
		default:
			_ = c.Close() // refused
		}
	}
}

// Close implements net.Conn.
func (c *limited) Close() error {
	c.done()
	return c.UnixConn.Close()
}

// Serve serves until the context ends, and waits for running calls.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("pod socket: %w", err)
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	err := s.http.Shutdown(wait)
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("pod socket: %w", err)
	}
	return nil
}
