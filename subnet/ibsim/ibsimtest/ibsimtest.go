// Package ibsimtest runs Debian's InfiniBand fabric simulator ibsim, and the field's own
// tools on it, for tests. Every process has a deadline, its own process group, socket name
// and directory, and is killed by its id.
//
// When a program is not installed the test is skipped, or fails when the environment
// variable FAIRLANE_REQUIRE_INTEROP is set.
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
)

// Packages are the Debian packages that the helpers need.
const Packages = "ibsim-utils, libumad2sim0, infiniband-diags, opensm"

// Deadline bounds the life of every process started here.
const Deadline = 60 * time.Second

// NetExamples is the directory of the example fabrics of package ibsim-utils.
const NetExamples = "/usr/share/doc/ibsim-utils/net-examples"

// Require skips the test, or fails it when FAIRLANE_REQUIRE_INTEROP is set, unless all
// programs are installed.
func Require(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := lookPath(p); err != nil {
			missing(t, fmt.Sprintf("program %s is not installed", p))
		}
	}
}

// RequireFile is Require for a file, such as an example fabric.
func RequireFile(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		missing(t, fmt.Sprintf("file %s is missing", path))
	}
}

func missing(t testing.TB, what string) {
	t.Helper()
	msg := fmt.Sprintf("%s (Debian packages %s)", what, Packages)
	if os.Getenv("FAIRLANE_REQUIRE_INTEROP") != "" {
		t.Fatal(msg)
	}
	t.Skip(msg)
}

// lookPath also looks in the directories of system programs, which are not in every PATH.
func lookPath(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("program %s: %w", name, exec.ErrNotFound)
}

// Preload returns the path of libumad2sim.so, which lets unmodified tools run on a
// simulated fabric; without it the test is skipped or fails as Require has it.
func Preload(t testing.TB) string {
	t.Helper()
	for _, pattern := range []string{"/usr/lib/*/umad2sim/libumad2sim.so*", "/usr/lib*/umad2sim/libumad2sim.so*"} {
		if m, _ := filepath.Glob(pattern); len(m) > 0 {
			return m[0]
		}
	}
	missing(t, "libumad2sim.so is not installed")
	return ""
}

// Server is a running ibsim.
type Server struct {
	SockName string // base name of its sockets
	Dir      string // working directory of tools, removed after the test
}

// Addr returns the server's address as ibsim.Dial takes it.
func (s *Server) Addr() string { return "unix:" + s.SockName }

// ready is what ibsim prints last when it is about to serve.
const ready = "MaxMcastCap"

// Start runs ibsim on a fabric file until the test ends. It returns when ibsim serves.
func Start(t testing.TB, netFile string, args ...string) *Server {
	t.Helper()
	Require(t, "ibsim")
	s := &Server{SockName: SockName(t), Dir: t.TempDir()}
	path, err := lookPath("ibsim")
	if err != nil {
		t.Fatal(err)
	}
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

// waitBound waits for the control socket, which ibsim binds right after it prints ready.
// /proc/net/unix shows it without taking a slot.
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

// SockName makes a base name for sockets that no other test of the machine uses.
func SockName(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("fairlane-%d-%08x", os.Getpid(), rand.Uint32())
}

// Tool runs one of the field's tools, unmodified, on the fabric and returns its standard
// output. host names the node it runs on; empty is the first one.
func (s *Server) Tool(t testing.TB, host, name string, args ...string) string {
	t.Helper()
	Require(t, name)
	lib := Preload(t)
	path, err := lookPath(name)
	if err != nil {
		t.Fatal(err)
	}
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

// OpenSM lets Debian's subnet manager configure the fabric once, from the host's port.
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

// command makes a command in its own process group, which is killed as a whole when the
// context ends.
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
