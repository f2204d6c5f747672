package listen

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAddressesAreOpenedAllOrNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := "unix:" + filepath.Join(dir, "s")
	open, err := On(t.Context(), []string{"127.0.0.1:0", socket}, nil)
	if err != nil || len(open) != 2 {
		t.Fatal(open, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "s")); err != nil || st.Mode().Perm() != 0o660 {
		t.Errorf("socket %v, %v", st, err)
	}
	if _, err := On(t.Context(), []string{socket}, nil); err == nil || !strings.Contains(err.Error(), "another process serves it") {
		t.Errorf("a socket in use was taken: %v", err)
	}
	taken := open[0].Addr().String()
	if _, err := On(t.Context(), []string{"unix:" + filepath.Join(dir, "other"), taken}, nil); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("a taken port: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
		t.Error("the socket of a start that failed is left")
	}
	// A killed process leaves its socket behind.
	open[1].(*net.UnixListener).SetUnlinkOnClose(false)
	for _, l := range open {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	again, err := On(t.Context(), []string{socket}, nil)
	if err != nil {
		t.Fatalf("a stale socket: %v", err)
	}
	_ = again[0].Close()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := On(t.Context(), []string{"unix:" + plain}, nil); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a plain file: %v", err)
	}
	if b, err := os.ReadFile(plain); err != nil || string(b) != "precious" {
		t.Error("a plain file was removed")
	}
}

// pipes is a listener of in-memory connections, for tests in virtual time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   atomic.Bool
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	if p.once.CompareAndSwap(false, true) {
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, errors.New("closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestShutdownLetsRequestsFinishWithinTheDrain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		takes, delay time.Duration
		drain        time.Duration
		ends         time.Duration // after the signal
		abandoned    bool
	}{
		{"idle", 0, 0, 30 * time.Second, 0, false},
		{"a request finishes", 20 * time.Second, 0, 30 * time.Second, 20 * time.Second, false},
		{"the delay comes first", 20 * time.Second, 5 * time.Second, 30 * time.Second, 20 * time.Second, false},
		{"a request is too slow", time.Hour, 5 * time.Second, 30 * time.Second, 35 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				l := newPipes()
				begun, answered := make(chan struct{}), make(chan int, 1)
				srv := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					close(begun)
					select {
					case <-time.After(c.takes):
					case <-r.Context().Done():
					}
				})}
				var order []string
				done := make(chan error, 1)
				go func() {
					done <- Serve(ctx, []Endpoint{{srv, []net.Listener{l}}}, Ending{
						Begin: func() { order = append(order, "begin") }, Delay: c.delay, Drain: c.drain,
						Abandoned: func() { order = append(order, "abandoned") },
					})
				}()
				if c.takes > 0 {
					client := &http.Client{Transport: &http.Transport{DialContext: l.dial, DisableKeepAlives: true}}
					go func() {
						status := 0
						if r, err := client.Get("http://pipe/"); err == nil {
							status = r.StatusCode
							_ = r.Body.Close()
						}
						answered <- status
					}()
					<-begun
				}
				cancel()
				at := time.Now()
				if err := <-done; err != nil {
					t.Errorf("the end: %v", err)
				}
				// Shutdown polls at intervals of up to half a second.
				if took := time.Since(at); took < c.ends || took > c.ends+time.Second {
					t.Errorf("ended after %s, want %s", took, c.ends)
				}
				want := "begin"
				if c.abandoned {
					want = "begin abandoned"
				}
				if got := strings.Join(order, " "); got != want {
					t.Errorf("steps %q, want %q", got, want)
				}
				if c.takes > 0 {
					if status := <-answered; (status == http.StatusOK) == c.abandoned {
						t.Errorf("the request was answered with %d", status)
					}
				}
			})
		})
	}
}

func TestAListenerThatFailsEndsTheService(t *testing.T) {
	t.Parallel()
	l := newPipes()
	_ = l.Close()
	err := Serve(t.Context(), []Endpoint{{&http.Server{}, []net.Listener{l}}}, Ending{Delay: time.Hour, Drain: time.Second})
	if err == nil || !strings.Contains(err.Error(), "serve pipe") {
		t.Errorf("%v", err)
	}
}
