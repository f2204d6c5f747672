// Package proctest runs programs for tests, which can kill and restart them.
package proctest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Program is a program that a test can kill and start again.
type Program struct {
	Log string // path of its output

	t       testing.TB
	command func() *exec.Cmd
	mu      sync.Mutex
	cmd     *exec.Cmd
}

// New starts a program, whose output is appended to a file. It ends with the test. command returns a new command for each start.
func New(t testing.TB, log string, command func() *exec.Cmd) *Program {
	t.Helper()
	p := &Program{Log: log, t: t, command: command}
	p.Start()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			text, _ := os.ReadFile(log) // a missing log is no further fault
			t.Logf("%s: …%s", filepath.Base(log), text[max(0, len(text)-4000):])
		}
	})
	return p
}

// Start starts the program.
func (p *Program) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = p.command()
	if err := Start(p.cmd, p.Log); err != nil {
		p.t.Error(err)
	}
}

// Start starts a command that appends its output to a file, and is killed with the test binary.
func Start(cmd *exec.Cmd, log string) error {
	out, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // the child has its own
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Start()
}

// Kill sends SIGKILL and waits until the process has ended.
func (p *Program) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// PID returns the number of the running process.
func (p *Program) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Signal sends a signal to the process.
func (p *Program) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Signal(s)
}

// Wait waits for the end of the process and returns its status.
func (p *Program) Wait() (syscall.WaitStatus, error) {
	err := p.cmd.Wait()
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status, err
}

// FreeAddress returns an address of this machine on which nothing listened a moment ago.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}
