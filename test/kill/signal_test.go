package kill

import (
	"context"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fairlane/test/servetest"
)

// TestASecondCtrlCEndsTheServiceAtOnce interrupts a manager that has minutes for its shutdown, and then interrupts it
// again.
func TestASecondCtrlCEndsTheServiceAtOnce(t *testing.T) {
	t.Setenv("FAIRLANE_SHUTDOWN_DELAY", "5m")
	p := newProcess(t, "m", filepath.Join(t.TempDir(), "fairlane.db"))
	c := &client{http: &http.Client{Timeout: 20 * time.Second}, rng: rand.New(rand.NewPCG(*seed, 4)), managers: []*servetest.Process{p}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.call(ctx, "GET", "/ready", "", nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for status := 0; status != http.StatusServiceUnavailable; { // it still serves, and reports that it is stopping
		var err error
		if status, _, err = c.once(ctx, "GET", "/ready", "", nil); err != nil {
			t.Fatal(err)
		}
	}
	var status syscall.WaitStatus
	ended := make(chan error, 1)
	go func() {
		var err error
		status, err = p.Wait()
		ended <- err
	}()
	again := time.NewTicker(100 * time.Millisecond) // repeatedly, as an impatient user does
	defer again.Stop()
	for {
		select {
		case <-again.C:
			_ = p.Signal(syscall.SIGINT) // the process may have ended
		case <-ctx.Done():
			t.Fatal("the service does not end")
		case err := <-ended:
			if err == nil || !status.Signaled() {
				t.Errorf("the service ended with %v: want it ended by the signal", err)
			}
			return
		}
	}
}
