package podserve_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/agent/pods/podserve"
	"fairlane/agent/pods/podsock"
	"fairlane/internal/testkit/filetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a fake table.
type table struct {
	mu    sync.Mutex
	calls []string
	fail  error
	hold  chan struct{}
}

func (f *table) call(name string) error {
	f.mu.Lock()
	f.calls = append(f.calls, name)
	hold, fail := f.hold, f.fail
	f.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return fail
}

func (f *table) Add(_ context.Context, a podsock.Attachment, s podsock.Source) (podsock.Record, error) {
	return podsock.Record{Attachment: a, Source: s, Tenant: "gold"}, f.call("add " + a.Key.String())
}
func (f *table) Check(_ context.Context, a podsock.Attachment) error {
	return f.call("check " + a.Key.String())
}
func (f *table) Delete(_ context.Context, k podsock.Key) error { return f.call("delete " + k.String()) }
func (f *table) GC(_ context.Context, g podsock.GC) (int, error) {
	return len(g.Valid), f.call("gc " + g.Network)
}
func (f *table) List(_ context.Context, counters bool) []podsock.Record {
	if err := f.call("list"); err != nil || !counters {
		return []podsock.Record{}
	}
	return []podsock.Record{{Tenant: "gold"}}
}
func (f *table) Status() podsock.Status { return podsock.Status{Loaded: true, Devices: 4} }

// serve serves a table to the test's own user and returns the socket.
func serve(t *testing.T, f *table, allowed ...uint32) string {
	t.Helper()
	socket := filepath.Join(filetest.ShortDir(t), "run", "pods.sock")
	l, err := podserve.Listen(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- podserve.New(podserve.Options{Table: f, Allowed: allowed, Log: slog.New(slog.DiscardHandler)}).Serve(ctx, l)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return socket
}

func own() uint32 { return uint32(os.Getuid()) }

var key = podsock.Key{Network: "n", ContainerID: "c", Interface: "net1"}

func TestEveryCallReachesTheTable(t *testing.T) {
	t.Parallel()
	f := &table{}
	c := podsock.NewClient(serve(t, f, own()))
	a := podsock.Attachment{Key: key, Pod: podsock.Pod{Namespace: "team-a"}, Assigned: "express", SharedDevice: "0000:3b:00.2", ClaimedBps: 1}
	if r, err := c.Attach(t.Context(), &a); err != nil || r.Tenant != "gold" || r.Source != podsock.SourceCNI || r.Assigned != "" || r.SharedDevice != "" || r.ClaimedBps != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	list, listErr := c.List(t.Context(), true)
	n, gcErr := c.Collect(t.Context(), &podsock.GC{Network: "n", Valid: []podsock.Valid{{ContainerID: "c", Interface: "net1"}}})
	s, statusErr := c.Status(t.Context())
	if err := errors.Join(c.Check(t.Context(), &a), c.Release(t.Context(), key), listErr, gcErr, statusErr); err != nil || len(list) != 1 || n != 1 || s.Devices != 4 {
		t.Error(err, list, n, s)
	}
	if got := strings.Join(f.calls, ", "); got != "add n c net1, list, gc n, check n c net1, delete n c net1" {
		t.Error(got)
	}
}

func TestProblemsReachTheCaller(t *testing.T) {
	t.Parallel()
	f := &table{}
	c := podsock.NewClient(serve(t, f, own()))
	for _, code := range []podsock.Code{podsock.CodeTryAgain, podsock.CodeUnknown, podsock.CodeDrift, podsock.CodeDevice, podsock.CodeInternal} {
		f.fail = podsock.Problemf(code, "found that, want this")
		p, ok := errors.AsType[*podsock.Problem](c.Release(t.Context(), key))
		if !ok || p.Code != code || p.Detail != "found that, want this" {
			t.Errorf("%s: %+v", code, p)
		}
	}
	f.fail = errors.New("disk full")
	if p, ok := errors.AsType[*podsock.Problem](c.Release(t.Context(), key)); !ok || p.Code != podsock.CodeInternal || p.Detail != "disk full" {
		t.Errorf("%+v", p)
	}
	if p, ok := errors.AsType[*podsock.Problem](c.Release(t.Context(), podsock.Key{})); !ok || p.Code != podsock.CodeInvalid {
		t.Errorf("%+v", p)
	}
}

func TestOtherUsersAreDenied(t *testing.T) {
	t.Parallel()
	f := &table{}
	_, err := podsock.NewClient(serve(t, f, own()+1)).Status(t.Context())
	if p, ok := errors.AsType[*podsock.Problem](err); !ok || p.Code != podsock.CodeDenied || !strings.Contains(p.Detail, "pods.allowed_uid") {
		t.Error(err)
	}
}

func TestOneCallerCannotTakeAllCalls(t *testing.T) {
	t.Parallel()
	f := &table{hold: make(chan struct{})}
	socket := serve(t, f, own())
	c := podsock.NewClient(socket)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { _ = c.Release(context.Background(), key) })
	}
	for {
		f.mu.Lock()
		n := len(f.calls)
		f.mu.Unlock()
		if n == 8 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if p, ok := errors.AsType[*podsock.Problem](c.Release(t.Context(), key)); !ok || p.Code != podsock.CodeTryAgain {
		t.Errorf("%+v", p)
	}
	close(f.hold)
	group.Wait()
	if err := c.Release(t.Context(), key); err != nil {
		t.Error(err)
	}
}

func TestUnknownPathsAndLargeBodies(t *testing.T) {
	t.Parallel()
	socket := serve(t, &table{}, own())
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodGet, "/v2/status", "", http.StatusNotFound},
		{http.MethodPost, podsock.PathStatus, "", http.StatusMethodNotAllowed},
		{http.MethodPut, podsock.PathAttachments, strings.Repeat(" ", podsock.MaxBody+1), http.StatusBadRequest},
		{http.MethodPut, podsock.PathAttachments, "not JSON", http.StatusBadRequest},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "http://agent"+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := h.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, response.StatusCode, c.want)
		}
	}
}

func TestTheSocketIsReplacedOnlyWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	socket := serve(t, &table{}, own())
	if _, err := podserve.Listen(t.Context(), socket); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Error(err)
	}
	if st, err := os.Stat(socket); err != nil || st.Mode().Perm() != 0o600 {
		t.Error(st.Mode(), err)
	}
	dead := filepath.Join(filepath.Dir(socket), "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := podserve.Listen(t.Context(), dead)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	file := filepath.Join(filepath.Dir(socket), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := podserve.Listen(t.Context(), file); err == nil {
		t.Error("a file was replaced")
	}
	if _, err := podsock.NewClient(filepath.Join(filepath.Dir(socket), "none.sock")).Status(t.Context()); !errors.Is(err, podsock.ErrUnreachable) {
		t.Error(err)
	}
}
