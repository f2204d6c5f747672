package ibsimtest

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// Stop and Kill of a stopped OpenSM return at once: they do not wait for a process that has ended.
func TestStoppedTwice(t *testing.T) {
	s := &SM{Dir: t.TempDir(), t: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Kill()
		for _, end := range []func(){s.Stop, s.Kill} {
			cmd := exec.CommandContext(t.Context(), "sleep", "60")
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			over := make(chan struct{})
			go func() { defer close(over); _ = cmd.Wait() }()
			s.cmd, s.end, s.kill = cmd.Process, over, func() { _ = cmd.Process.Signal(os.Kill) }
			end()
			s.Stop()
			s.Kill()
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("Stop or Kill waits for a process that has ended")
	}
}
