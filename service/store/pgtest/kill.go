package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killGrace bounds the wait for the end of a killed server's other processes.
const killGrace = 30 * time.Second

// Kill sends SIGKILL to the server's first process, as a kernel out of memory does, and restarts the server: its other
// processes notice that and end, and it recovers from its log.
func (s *Server) Kill() error {
	if err := s.kill(); err != nil {
		return fmt.Errorf("kill PostgreSQL: %w", err)
	}
	return s.Begin()
}

func (s *Server) kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || pid <= 1 {
		return fmt.Errorf("its process number is %q: want more than 1", first)
	}
	// Stopped, it cannot start another process between the two steps.
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	children, err := childrenOf(pid)
	if err := errors.Join(err, syscall.Kill(pid, syscall.SIGKILL)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), killGrace)
	defer cancel()
	for _, p := range append(children, pid) {
		if err := awaitEnd(ctx, p); err != nil {
			return err
		}
	}
	if _, ok := stateOf(pid); ok {
		// Its adoptive parent does not reap it, so that its number looks alive to the next server.
		return errors.Join(os.Remove(filepath.Join(s.data(), "postmaster.pid")),
			os.Remove(filepath.Join(s.dir, fmt.Sprintf(".s.PGSQL.%d.lock", s.port))))
	}
	return nil
}

// childrenOf lists the processes that a process started.
func childrenOf(pid int) ([]int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, f := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// stateOf returns the letter of a process's state; ok is false when the process does not exist.
func stateOf(pid int) (state byte, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), ") ") // before it are the number and the name
	if rest == "" {
		return 0, false
	}
	return rest[0], true
}

// awaitEnd waits until a process has ended.
func awaitEnd(ctx context.Context, pid int) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if state, ok := stateOf(pid); !ok || state == 'Z' || state == 'X' {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end: %w", pid, ctx.Err())
		case <-tick.C:
		}
	}
}
