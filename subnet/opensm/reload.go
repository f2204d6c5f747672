package opensm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"fairlane/subnet/ident"
)

// Reloader makes OpenSM reload its files.
type Reloader interface {
	// Reload returns when OpenSM was notified; it sweeps afterwards.
	Reload(ctx context.Context) error
	// Process identifies the run of OpenSM. When the run is unknown, the text is "" and the error is the reason.
	Process(ctx context.Context) (string, error)
}

// PIDFile reloads, by SIGHUP, an OpenSM whose process id is in a file.
type PIDFile struct {
	Path string
	// Program is the required name of the process, as in /proc; empty means opensm. A process with another name is never
	// signalled: process ids are reused.
	Program string
	Proc    string // path of /proc; empty means /proc
}

var _ Reloader = (*PIDFile)(nil)

func (p PIDFile) Reload(context.Context) error {
	pid, err := p.pid()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return nil
}

// Process implements Reloader: the process id with its start time.
func (p PIDFile) Process(context.Context) (string, error) {
	pid, err := p.pid()
	if err != nil {
		return "", err
	}
	start, err := startTime(p.proc(), pid)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d@%s", pid, start), nil
}

// PortGUID returns the port in the process's argument -g or --guid; 0 without one.
func (p PIDFile) PortGUID(context.Context) (ident.GUID, error) {
	pid, err := p.pid()
	if err != nil {
		return 0, err
	}
	return startedOn(p.proc(), pid)
}

// startedOn returns the port in a process's arguments; OpenSM takes -gX, -g X, --guid X and --guid=X, and the last
// counts.
func startedOn(proc string, pid int) (guid ident.GUID, err error) {
	data, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return 0, err
	}
	args := strings.Split(string(data), "\x00")
	for i, arg := range args {
		value, found := strings.CutPrefix(arg, "--guid=")
		if short, is := strings.CutPrefix(arg, "-g"); !found && is {
			value, found = strings.TrimPrefix(short, "="), true
		}
		if (arg == "-g" || arg == "--guid") && i+1 < len(args) {
			value, found = args[i+1], true
		}
		if !found {
			continue
		}
		n, err := strconv.ParseUint(value, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("process %d was started with guid %q: want a number", pid, value)
		}
		guid = ident.GUID(n)
	}
	return guid, nil
}

func (p PIDFile) proc() string { return cmp.Or(p.Proc, "/proc") }

// pid reads the process id and checks the process's name.
func (p PIDFile) pid() (int, error) {
	data, err := os.ReadFile(p.Path)
	if err != nil {
		return 0, fmt.Errorf("process id of OpenSM: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data[:min(len(data), 32)])))
	if err != nil || pid < 2 {
		return 0, fmt.Errorf("process id of OpenSM: %s holds %q: want a number above 1", p.Path, strings.TrimSpace(string(data[:min(len(data), 32)])))
	}
	want := p.Program
	if want == "" {
		want = "opensm"
	}
	name, err := os.ReadFile(filepath.Join(p.proc(), strconv.Itoa(pid), "comm"))
	if err != nil {
		return 0, fmt.Errorf("OpenSM is not running: %s names process %d: %w", p.Path, pid, err)
	}
	if got := strings.TrimSpace(string(name)); got != want {
		return 0, fmt.Errorf("%s names process %d, which is %q and not %q: the file is out of date", p.Path, pid, got, want)
	}
	return pid, nil
}

// startTime returns field 22 of a process's stat file (proc(5)): clock ticks after the machine's start.
func startTime(proc string, pid int) (string, error) {
	data, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", err
	}
	// The second field is the name in brackets, which may hold blanks and brackets.
	_, rest, ok := strings.Cut(string(data[strings.LastIndexByte(string(data), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return "", fmt.Errorf("stat of process %d has %d fields: want 22", pid, len(fields)+2)
	}
	return fields[19], nil
}

// Unit reloads, by SIGHUP, an OpenSM that systemd runs: OpenSM's units have no reload action.
type Unit struct {
	Name string // such as opensm.service or opensm@0x0002c903000e0b72.service
	// Run runs systemctl with arguments and returns its output; nil means the real program.
	Run  func(ctx context.Context, args ...string) (string, error)
	Proc string // path of /proc; empty means /proc
}

var _ Reloader = (*Unit)(nil)

func (u Unit) Reload(ctx context.Context) error {
	if state, err := u.run(ctx, "show", "--property=ActiveState", "--value"); err != nil {
		return err
	} else if state != "active" {
		return fmt.Errorf("unit %s is %s: want active", u.Name, state)
	}
	_, err := u.run(ctx, "kill", "--signal=HUP", "--kill-who=main")
	return err
}

// Process returns systemd's id of the run.
func (u Unit) Process(ctx context.Context) (string, error) {
	id, err := u.run(ctx, "show", "--property=InvocationID", "--value")
	if err == nil && id == "" {
		err = fmt.Errorf("unit %s was never started, as far as systemd knows: want the unit of the OpenSM that runs", u.Name)
	}
	return id, err
}

// PortGUID returns the port in the arguments of the unit's process; 0 without one.
func (u Unit) PortGUID(ctx context.Context) (ident.GUID, error) {
	text, err := u.run(ctx, "show", "--property=MainPID", "--value")
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(text)
	if err != nil || pid < 2 {
		return 0, fmt.Errorf("unit %s has main process %q: want one that runs", u.Name, text)
	}
	return startedOn(cmp.Or(u.Proc, "/proc"), pid)
}

func (u Unit) run(ctx context.Context, args ...string) (string, error) {
	if u.Name == "" || strings.HasPrefix(u.Name, "-") || strings.ContainsAny(u.Name, " \t\n/") {
		return "", fmt.Errorf("unit %q: want the name of a systemd unit such as opensm.service", u.Name)
	}
	run := u.Run
	if run == nil {
		run = systemctl
	}
	out, err := run(ctx, append(args, u.Name)...)
	if err != nil {
		return "", fmt.Errorf("systemctl %s %s: %w", args[0], u.Name, err)
	}
	return strings.TrimSpace(out), nil
}

func systemctl(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "systemctl", args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr[:min(len(exit.Stderr), 300)])))
	}
	return string(out), err
}
