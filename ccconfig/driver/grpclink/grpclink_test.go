package grpclink_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/internal/testkit/grpctest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pool is a Pool whose sessions count their operations.
type pool = grpclink.Pool[string, int]

func newPool(t testing.TB, o grpclink.Options) *pool {
	t.Helper()
	o.Insecure = o.TLS == nil
	p, err := grpclink.New[string, int](o, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	grpctest.CloseAtEnd(t, p)
	return p
}

func device() driver.Device {
	return driver.Device{Plane: driver.PlaneRoCE, ID: ident.PortID{Node: 0x11}, Name: "leaf-1", Kind: subnet.KindSwitch, Ports: 4}
}

// begin starts an operation on a key; its session is the number of earlier operations.
func begin(ctx context.Context, p *pool, key string) (int, func(), error) {
	return p.Begin(ctx, device(), key, "switches", func(n int, _ *grpc.ClientConn) int { return n + 1 })
}

// started is an operation that may have to wait.
type started struct {
	n       int
	release func()
	err     error
}

func start(ctx context.Context, p *pool, key string) <-chan started {
	out := make(chan started, 1)
	go func() {
		n, release, err := begin(ctx, p, key)
		out <- started{n, release, err}
	}()
	return out
}

// waits fails when an operation has begun, or failed.
func waits(t *testing.T, what string, c <-chan started) {
	t.Helper()
	synctest.Wait()
	select {
	case s := <-c:
		t.Fatalf("%s does not wait: %+v", what, s)
	default:
	}
}

// begins fails when an operation has not begun yet.
func begins(t *testing.T, what string, c <-chan started) started {
	t.Helper()
	synctest.Wait()
	select {
	case s := <-c:
		if s.err != nil {
			t.Fatalf("%s: %v", what, s.err)
		}
		return s
	default:
		t.Fatalf("%s still waits", what)
		return started{}
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o        grpclink.Options
		wantText string // empty for valid options
	}{
		"neither":             {grpclink.Options{}, "either TLS or, for plain text, Insecure"},
		"both":                {grpclink.Options{Insecure: true, TLS: &tls.Config{MinVersion: tls.VersionTLS13}}, "either TLS or, for plain text, Insecure"},
		"TLS":                 {grpclink.Options{TLS: &tls.Config{MinVersion: tls.VersionTLS13}}, ""},
		"timeout below zero":  {grpclink.Options{Insecure: true, Timeout: -1}, "timeout of a request -1ns: want up to 5m0s"},
		"the longest timeout": {grpclink.Options{Insecure: true, Timeout: grpclink.MaxTimeout}, ""},
		"a longer timeout":    {grpclink.Options{Insecure: true, Timeout: grpclink.MaxTimeout + 1}, "want up to 5m0s"},
		"in flight below 0":   {grpclink.Options{Insecure: true, InFlight: -1}, "operations in flight -1: want up to 65536"},
		"most in flight":      {grpclink.Options{Insecure: true, InFlight: grpclink.MaxInFlight}, ""},
		"more in flight":      {grpclink.Options{Insecure: true, InFlight: grpclink.MaxInFlight + 1}, "operations in flight 65537: want up to 65536"},
	} {
		p, err := grpclink.New[string, int](c.o, time.Second)
		if (err == nil) != (c.wantText == "") || err != nil && !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: error %v, want %q", name, err, c.wantText)
		}
		if p != nil {
			_ = p.Close()
		}
	}
}

func TestOmittedTimeoutIsTheDriversDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for given, want := range map[time.Duration]time.Duration{0: time.Second, time.Minute: time.Minute} {
			p := newPool(t, grpclink.Options{Timeout: given})
			ctx, cancel := p.Request(t.Context())
			if end, ok := ctx.Deadline(); !ok || time.Until(end) != want {
				t.Errorf("timeout %s: a request has %s, want %s", given, time.Until(end), want)
			}
			cancel()
		}
	})
}

func TestOneOperationAtATimeOnADevice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, grpclink.Options{})
		first := begins(t, "the first", start(t.Context(), p, "a"))
		second := start(t.Context(), p, "a")
		waits(t, "the second on a device", second)
		other := begins(t, "another device", start(t.Context(), p, "b"))
		first.release()
		next := begins(t, "the second after the first", second)
		if first.n != 1 || next.n != 2 || other.n != 1 {
			t.Errorf("sessions %d, %d, %d: want one for the first two operations, and another for the other device", first.n, next.n, other.n)
		}
		next.release()
		other.release()
	})
}

func TestOperationsInFlightAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, grpclink.Options{InFlight: 2})
		a, b := begins(t, "a", start(t.Context(), p, "a")), begins(t, "b", start(t.Context(), p, "b"))
		third := start(t.Context(), p, "c")
		waits(t, "the third of two", third)
		a.release()
		c := begins(t, "the third", third)
		b.release()
		c.release()
	})
}

// TestCancelledWaiterLeavesNoState cancels an operation that waits for its device, and one that waits for a slot.
func TestCancelledWaiterLeavesNoState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, grpclink.Options{InFlight: 1})
		busy := begins(t, "the first", start(t.Context(), p, "a"))
		for _, key := range []string{"a", "b"} {
			ctx, cancel := context.WithCancel(t.Context())
			waiting := start(ctx, p, key)
			waits(t, "with the only slot taken, "+key, waiting)
			cancel()
			if s := <-waiting; !errors.Is(s.err, context.Canceled) || s.release != nil || !strings.Contains(s.err.Error(), "leaf-1") {
				t.Errorf("cancelled operation: %v", s.err)
			}
		}
		busy.release()
		for _, key := range []string{"a", "b"} {
			begins(t, "afterwards "+key, start(t.Context(), p, key)).release()
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 { // the turn is free, which must not matter
			if _, _, err := begin(gone, p, "a"); !errors.Is(err, context.Canceled) {
				t.Fatalf("begun by a cancelled caller: %v", err)
			}
		}
		begins(t, "after those", start(t.Context(), p, "a")).release()
	})
}

func TestCloseWaitsForOperationsInProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, grpclink.Options{})
		first := begins(t, "the first", start(t.Context(), p, "a"))
		second := start(t.Context(), p, "a")
		waits(t, "the second", second)
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		synctest.Wait()
		if _, _, err := begin(t.Context(), p, "b"); !errors.Is(err, driver.ErrUnreachable) || !strings.Contains(err.Error(), "the driver is closed") {
			t.Errorf("begun on a closed pool: %v", err)
		}
		first.release()
		s := begins(t, "the second, which waited first", second)
		synctest.Wait()
		select {
		case err := <-closed:
			t.Fatalf("closed with an operation under way: %v", err)
		default:
		}
		s.release()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func TestInvalidAddress(t *testing.T) {
	t.Parallel()
	p := newPool(t, grpclink.Options{})
	_, _, err := p.Begin(t.Context(), device(), "a", "a\x7fb", func(int, *grpc.ClientConn) int { t.Error("opened"); return 0 })
	if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprintf("address %q of %s", "a\x7fb", device())) {
		t.Errorf("error %v, want one with the invalid address", err)
	}
}

func TestConnectionsAreSharedByAddress(t *testing.T) {
	t.Parallel()
	p := newPool(t, grpclink.Options{})
	conns := map[string]*grpc.ClientConn{}
	for key, address := range map[string]string{"a": "x", "b": "x", "c": "y"} {
		_, release, err := p.Begin(t.Context(), device(), key, address, func(n int, c *grpc.ClientConn) int { conns[key] = c; return n })
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	if conns["a"] == nil || conns["a"] != conns["b"] || conns["a"] == conns["c"] {
		t.Errorf("connections %v: want one for each address", conns)
	}
}
