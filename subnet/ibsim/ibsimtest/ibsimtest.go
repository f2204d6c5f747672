// Package ibsimtest runs Debian's InfiniBand fabric simulator ibsim, and the standard InfiniBand tools on it, for
// tests. Every process has a deadline, its own process group, socket name and directory, and is killed by its id.
//
// When a program is not installed, package internal/testkit/peertest skips the test or fails it.
package ibsimtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlane/internal/testkit/peertest"
)

// Deadline bounds the life of every process started here.
const Deadline = 60 * time.Second

// NetExamples is the directory of the example fabrics of package ibsim-utils.
const NetExamples = "/usr/share/doc/ibsim-utils/net-examples"

// RequireFile is peertest.Program for a file, such as an example fabric.
func RequireFile(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		peertest.Missing(t, fmt.Sprintf("file %s is missing", path))
	}
}

// Preload returns the path of libumad2sim.so, which lets unmodified tools run on a
// simulated fabric.
func Preload(t testing.TB) string {
	t.Helper()
	for _, pattern := range []string{"/usr/lib/*/umad2sim/libumad2sim.so*", "/usr/lib*/umad2sim/libumad2sim.so*", "/usr/local/lib/umad2sim/libumad2sim.so*"} {
		if m, _ := filepath.Glob(pattern); len(m) > 0 {
			return m[0]
		}
	}
	peertest.Missing(t, "libumad2sim.so is not installed")
	return ""
}

// Server is a running ibsim.
type Server struct {
	SockName string // base name of its sockets
	Dir      string // working directory of tools, removed after the test
}

// Addr returns the server's address for ibsim.Dial.
func (s *Server) Addr() string { return "unix:" + s.SockName }

// ready is the last output of ibsim before it serves.
const ready = "MaxMcastCap"

// Start runs ibsim on a fabric file until the test ends. It returns when ibsim serves.
func Start(t testing.TB, netFile string, args ...string) *Server {
	t.Helper()
	path := peertest.Program(t, "ibsim")
	s := &Server{SockName: SockName(t), Dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	cmd := command(ctx, s.Dir, path, append(append([]string{"-s", "-n"}, args...), netFile)...)
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+s.SockName)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), ready) {
			s.waitBound(ctx, t)
			return s
		}
	}
	t.Fatalf("ibsim ended before it served %s:\n%s", netFile, stderr.String())
	return nil
}

// waitBound waits for the control socket, which ibsim binds right after it prints ready. /proc/net/unix shows it without
// taking a slot.
func (s *Server) waitBound(ctx context.Context, t testing.TB) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		b, err := os.ReadFile("/proc/net/unix")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("@"+s.SockName+":ctl@")) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("ibsim bound no socket %s:ctl", s.SockName)
		case <-tick.C:
		}
	}
}

// SockName returns a unique base name for sockets.
func SockName(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("fairlane-%d-%08x", os.Getpid(), rand.Uint32())
}

// Tool runs an unmodified InfiniBand tool on the fabric and returns its standard output. host names the node it runs
// on; empty is the first one.
func (s *Server) Tool(t testing.TB, host, name string, args ...string) string {
	t.Helper()
	path, lib := peertest.Program(t, name), Preload(t)
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	cmd := command(ctx, s.Dir, path, args...)
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+s.SockName, "LD_PRELOAD="+lib,
		"OSM_TMP_DIR="+s.Dir, "OSM_CACHE_DIR="+s.Dir)
	if host != "" {
		cmd.Env = append(cmd.Env, "SIM_HOST="+host)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// OpenSM runs Debian's subnet manager once to configure the fabric, from the host's port.
func (s *Server) OpenSM(t testing.TB, host string) {
	t.Helper()
	conf := filepath.Join(s.Dir, "opensm.conf")
	if err := os.WriteFile(conf, []byte("force_log_flush TRUE\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(s.Dir, "opensm.log")
	s.Tool(t, host, "opensm", "-o", "-F", conf, "-f", log)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte("SUBNET UP")) {
		t.Fatalf("OpenSM did not bring the subnet up:\n%s", b)
	}
}

// command returns a command in its own process group, which is killed as a whole when the context ends.
func command(ctx context.Context, dir, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return nil
	}
	cmd.WaitDelay = time.Second
	return cmd
}
