// Package servetest runs managers as real processes for tests, which can stop, kill and restart them. The program is
// the test binary itself, so that the test covers the current build, with the race detector if the test uses it.
package servetest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fairlane/service/app"
)

// Token is the administrator's token of every process.
const Token = "a-token-of-more-than-thirty-two-letters"

// childVariable is the environment variable that makes a test binary run the program.
const childVariable = "FAIRLANE_SERVETEST_CHILD"

// Main is TestMain for packages that start processes; it returns the exit code.
func Main(m *testing.M) int {
	if os.Getenv(childVariable) == "1" {
		return app.Process()
	}
	return m.Run()
}

// Command returns a command of the program, which is killed with the test binary.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Options configure a process.
type Options struct {
	Name     string // of its log
	Database string // path or URL
	Config   string // further lines of the configuration file, in which $URL is the address of the API
	Dir      string // working directory of the process; "": the test's own
}

// Process is one `fairlane serve`, which can be killed and restarted.
type Process struct {
	URL        string // of the API
	Operations string // URL of the metrics
	Config     string // path of the configuration file
	Log        string // path of its log

	t   testing.TB
	dir string
	mu  sync.Mutex
	cmd *exec.Cmd
}

// New writes the configuration of a manager and starts it. It ends with the test.
func New(t testing.TB, o Options) *Process {
	t.Helper()
	dir := t.TempDir()
	api, operations := freeAddress(t), freeAddress(t)
	p := &Process{
		URL: "http://" + api, Operations: "http://" + operations, Config: filepath.Join(dir, "fairlane.yaml"),
		Log: filepath.Join(dir, o.Name+".log"), t: t, dir: o.Dir,
	}
	tokenFile := filepath.Join(dir, "token")
	config := fmt.Sprintf("listen: [%q]\noperations: {listen: [%q]}\ndatabase: %q\nadmin_token_file: %q\n%s", api, operations, o.Database, tokenFile, strings.ReplaceAll(o.Config, "$URL", p.URL))
	for path, text := range map[string]string{p.Config: config, tokenFile: Token + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.Start()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			text, _ := os.ReadFile(p.Log) // a missing log is no further fault
			t.Logf("the end of %s:\n%s", p.Log, text[max(0, len(text)-3000):])
		}
	})
	return p
}

// freeAddress returns an address of this machine on which nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	var free net.ListenConfig
	l, err := free.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// Start starts the process, which appends to its log.
func (p *Process) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer func() { _ = log.Close() }() // the child has its own
	p.cmd = Command(context.Background(), "serve", "--config", p.Config)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, log, log
	if err := p.cmd.Start(); err != nil {
		p.t.Error(err)
	}
}

// Kill sends SIGKILL and waits until the process has ended.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// Signal sends a signal to the process.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Signal(s)
}

// Wait waits for the end of the process and returns its status.
func (p *Process) Wait() (syscall.WaitStatus, error) {
	err := p.cmd.Wait()
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status, err
}
