package ibsimtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlane/internal/testkit/peertest"
)

// SM is an OpenSM, unmodified, on a fabric that answers the ibsim protocol. Its files are in Dir.
type SM struct {
	Dir string // opensm.conf, opensm.log, pid, and what OpenSM itself writes

	t    testing.TB
	addr string // "unix:NAME" or "udp:HOST:PORT"
	host string
	end  chan struct{} // closed when it has ended; nil while none was started or after Stop and Kill
	cmd  interface{ Signal(os.Signal) error }
	kill context.CancelFunc
	out  *bytes.Buffer
}

// NewSM prepares an OpenSM for the host of that name, with the given options beside those that make its log tell
// everything at once. addr is the server's, "unix:NAME" or "udp:HOST:PORT".
func NewSM(t testing.TB, addr, host, options string) *SM {
	t.Helper()
	peertest.Program(t, "opensm")
	s := &SM{Dir: t.TempDir(), t: t, addr: addr, host: host}
	s.Options(options)
	return s
}

// Options replaces the options. Only Hup and Start make OpenSM read them.
func (s *SM) Options(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.Path("opensm.conf"), []byte("force_log_flush TRUE\nlog_flags 0x03\n"+text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Path is a file of this OpenSM.
func (s *SM) Path(name string) string { return filepath.Join(s.Dir, name) }

// Attach is the environment by which the field's tools find a server, at "unix:NAME" or "udp:HOST:PORT".
func Attach(t testing.TB, addr string) []string {
	t.Helper()
	if name, ok := strings.CutPrefix(addr, "unix:"); ok {
		return []string{"IBSIM_SOCKNAME=" + name}
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(addr, "udp:"))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"IBSIM_SERVER_NAME=" + host, "IBSIM_SERVER_PORT=" + port}
}

// Start starts OpenSM and waits until its log, empty at first, has a text. What still runs when the test ends is ended.
func (s *SM) Start(text string) {
	s.t.Helper()
	_ = os.Remove(s.Path("opensm.log")) // there is none at first
	ctx, cancel := context.WithCancel(context.Background())
	cmd := command(ctx, s.Dir, peertest.Program(s.t, "opensm"), "-F", s.Path("opensm.conf"), "-f", s.Path("opensm.log"))
	cmd.Env = append(os.Environ(), "SIM_HOST="+s.host, "LD_PRELOAD="+Preload(s.t), "OSM_TMP_DIR="+s.Dir, "OSM_CACHE_DIR="+s.Dir)
	cmd.Env = append(cmd.Env, Attach(s.t, s.addr)...)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		cancel()
		s.t.Fatal(err)
	}
	end := make(chan struct{})
	go func() {
		defer close(end)
		_ = cmd.Wait() // how it ended is in its log
	}()
	s.cmd, s.end, s.kill, s.out = cmd.Process, end, cancel, out
	if err := os.WriteFile(s.Path("pid"), []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o600); err != nil {
		s.t.Error(err)
	}
	s.t.Cleanup(func() {
		if s.end == end {
			s.Stop()
		}
		if s.t.Failed() {
			s.t.Logf("opensm on %s printed:\n%s\nlog:\n%s", s.host, out, s.Log())
		}
	})
	s.Wait(text, 1)
}

// Stop ends OpenSM by the signal it expects, and by force when it does not obey. An OpenSM that does not run stays as it is.
func (s *SM) Stop() {
	if s.end == nil {
		return
	}
	_ = s.cmd.Signal(syscall.SIGTERM)
	select {
	case <-s.end:
	case <-time.After(5 * time.Second):
		s.kill()
		<-s.end
	}
	s.kill()
	s.end = nil
}

// Kill ends OpenSM without giving it a chance to say so. An OpenSM that does not run stays as it is.
func (s *SM) Kill() {
	if s.end == nil {
		return // nothing would ever close it
	}
	s.kill()
	<-s.end
	s.end = nil
}

// calm is how long OpenSM writes nothing when no sweep is under way: one takes less.
const calm = 500 * time.Millisecond

// Hup lets OpenSM read its options again, and waits until the fabric is up after it. What an earlier signal began is waited for first, since
// its end would be taken for that of the sweep that reads the files.
func (s *SM) Hup() {
	s.t.Helper()
	for written := -1; written != len(s.Log()); time.Sleep(calm) {
		written = len(s.Log())
	}
	n := s.Count("SUBNET UP")
	if err := s.cmd.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
	s.Wait("SUBNET UP", n+1)
}

// Log is the log so far; "" when there is none yet.
func (s *SM) Log() string {
	log, _ := os.ReadFile(s.Path("opensm.log"))
	return string(log)
}

// Count is how often a text stands in the log.
func (s *SM) Count(text string) int { return strings.Count(s.Log(), text) }

// Wait waits until a text stands in the log so many times.
func (s *SM) Wait(text string, times int) {
	s.t.Helper()
	s.WaitFor(text, times, Deadline)
}

// WaitFor is Wait with a deadline of its own.
func (s *SM) WaitFor(text string, times int, deadline time.Duration) {
	s.t.Helper()
	fail := func(err error) { s.t.Fatalf("opensm on %s: %v", s.host, err) }
	expired := time.After(deadline)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for s.Count(text) < times {
		select {
		case <-expired:
			fail(fmt.Errorf("%q is not %d times in its log within %s", text, times, deadline))
		case <-s.end:
			fail(fmt.Errorf("it ended before %q was in its log", text))
		case <-tick.C:
		}
	}
}
