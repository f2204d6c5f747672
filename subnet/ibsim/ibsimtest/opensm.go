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

// SM is an unmodified OpenSM on a fabric that implements the ibsim protocol. Its files are in Dir.
type SM struct {
	Dir string // opensm.conf, opensm.log, pid, and OpenSM's own files

	t    testing.TB
	addr string // "unix:NAME" or "udp:HOST:PORT"
	host string
	end  chan struct{} // closed when it has ended; nil before Start and after Stop and Kill
	cmd  interface{ Signal(os.Signal) error }
	kill context.CancelFunc
	out  *bytes.Buffer
}

// NewSM prepares an OpenSM for the named host, with the given options and with complete, unbuffered logging. addr is
// the server's address, "unix:NAME" or "udp:HOST:PORT".
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

// Path returns the path of a file of this OpenSM.
func (s *SM) Path(name string) string { return filepath.Join(s.Dir, name) }

// Attach returns the environment that makes InfiniBand tools attach to the server at "unix:NAME" or "udp:HOST:PORT".
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

// Start starts OpenSM and waits until its log, empty at first, contains a text. The end of the test stops it.
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
		_ = cmd.Wait() // its log has the result
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

// Stop stops OpenSM by the signal it expects, and kills it when it does not stop. Without a running OpenSM it does
// nothing.
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

// Kill kills OpenSM. Without a running OpenSM it does nothing.
func (s *SM) Kill() {
	if s.end == nil {
		return // nothing would ever close end
	}
	s.kill()
	<-s.end
	s.end = nil
}

// calm is the time without log output after which no sweep is running: a sweep takes less.
const calm = 500 * time.Millisecond

// Hup makes OpenSM reload its options, and waits until the fabric is up afterwards. It first waits for a sweep that an
// earlier signal started, since its end would be mistaken for that of the new sweep.
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

// Log returns the log so far; "" before there is one.
func (s *SM) Log() string {
	log, _ := os.ReadFile(s.Path("opensm.log"))
	return string(log)
}

// Count returns how often the log contains a text.
func (s *SM) Count(text string) int { return strings.Count(s.Log(), text) }

// Wait waits until the log contains a text n times.
func (s *SM) Wait(text string, times int) {
	s.t.Helper()
	s.WaitFor(text, times, Deadline)
}

// WaitFor is Wait with another deadline.
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
