package opensm

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A child process represents OpenSM: the effect of SIGHUP on it shows that the signal arrived.
func TestReloadSignalsTheProcessOfThePIDFile(t *testing.T) {
	t.Parallel()
	hup := make(chan os.Signal, 1) // a child inherits an ignored signal, as set by nohup, but not a handled one
	signal.Notify(hup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hup) })
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(path, []byte(strconv.Itoa(child.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := PIDFile{Path: path, Program: "sleep"}
	first, err := p.Process(t.Context())
	if err != nil || !strings.HasPrefix(first, strconv.Itoa(child.Process.Pid)+"@") {
		t.Errorf("process %q, %v", first, err)
	}
	if again, _ := p.Process(t.Context()); again != first {
		t.Errorf("the same process is %q and %q", first, again)
	}
	if err := (PIDFile{Path: path}).Reload(t.Context()); err == nil || !strings.Contains(err.Error(), `which is "sleep" and not "opensm": the file is out of date`) {
		t.Errorf("another program: %v", err)
	}
	if err := p.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	err = child.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGHUP {
		t.Errorf("the process ended with %v", err)
	}
	if err := p.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "OpenSM is not running") {
		t.Errorf("an ended process: %v", err)
	}
}

func TestFilesThatNameNoProcessAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	if err := (PIDFile{Path: path}).Reload(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, text := range []string{"", "x", "-1", "0", "1", "99999999999999999999", strings.Repeat("1", 100)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (PIDFile{Path: path}).Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "want a number above 1") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestStartTimeWithAnyProcessName(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	if err := os.Mkdir(filepath.Join(proc, "42"), 0o700); err != nil {
		t.Fatal(err)
	}
	stat := filepath.Join(proc, "42", "stat")
	fields := "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	for text, want := range map[string]string{"42 (opensm) " + fields: "4711", "42 (a) b (c) " + fields: "4711", "42 (opensm) S 1": "", "": ""} {
		if err := os.WriteFile(stat, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := startTime(proc, 42)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestReloadSignalsTheUnit(t *testing.T) {
	t.Parallel()
	var calls []string
	state := "active\n"
	u := Unit{Name: "opensm@0x0002c903000e0b72.service", Run: func(_ context.Context, args ...string) (string, error) {
		calls = append(calls, strings.Join(args, " "))
		switch {
		case strings.Contains(args[1], "ActiveState"):
			return state, nil
		case strings.Contains(args[1], "InvocationID"):
			return "abc\n", nil
		}
		return "", nil
	}}
	if err := u.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "kill --signal=HUP --kill-who=main opensm@0x0002c903000e0b72.service"; calls[len(calls)-1] != want {
		t.Errorf("calls %q", calls)
	}
	if p, err := u.Process(t.Context()); p != "abc" || err != nil {
		t.Errorf("process %q, %v", p, err)
	}
	never := Unit{Name: "opensm.service", Run: func(context.Context, ...string) (string, error) { return "\n", nil }}
	if p, err := never.Process(t.Context()); p != "" || err == nil || !strings.Contains(err.Error(), "unit opensm.service was never started") {
		t.Errorf("a unit that never ran: process %q, %v", p, err)
	}
	state = "failed"
	if err := u.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "is failed: want active") {
		t.Error(err)
	}
	u.Run = func(context.Context, ...string) (string, error) { return "", errors.New("no bus") }
	if err := u.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "systemctl show opensm@0x0002c903000e0b72.service: no bus") {
		t.Error(err)
	}
	for _, name := range []string{"", "-x", "a b", "../x"} {
		if err := (Unit{Name: name, Run: u.Run}).Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "want the name of a systemd unit") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
