package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// programDirs are where programs of administrators live. The agent's own PATH is not asked: it runs as root.
var programDirs = [...]string{"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"}

const (
	// MaxOutput bounds what a program may print, in bytes.
	MaxOutput = 8 << 20
	// maxWords bounds what an error repeats of it.
	maxWords = 512
)

// ErrNoProgram is that of a program which is not installed where administrators' programs live.
var ErrNoProgram = errors.New("not installed")

// Program runs one program of the host: with an environment of its own, no input, bounded time and bounded output. It
// implements nicfiles.Runner and vfshare.Tool.
type Program struct {
	path    string
	timeout time.Duration
}

// FindProgram finds the first of several programs, such as mstconfig and mlxconfig. Each run of it may take so long.
func FindProgram(timeout time.Duration, names ...string) (*Program, error) {
	for _, name := range names {
		for _, dir := range programDirs {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return &Program{path, timeout}, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: %w in %s", strings.Join(names, " or "), ErrNoProgram, strings.Join(programDirs[:], ", "))
}

// NewProgram is a program by its path.
func NewProgram(path string, timeout time.Duration) *Program { return &Program{path, timeout} }

// Path is where the program is.
func (p *Program) Path() string { return p.path }

// bounded keeps the first bytes that a program prints, and notes that there were more.
type bounded struct {
	kept bytes.Buffer // no part of the type: io.Copy would go by its ReadFrom
	most int
	more func() // called at the first byte too many
	full bool
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.kept.Len()
	if len(p) > room {
		b.kept.Write(p[:max(room, 0)])
		if !b.full && b.more != nil {
			b.more()
		}
		b.full = true
		return len(p), nil
	}
	return b.kept.Write(p)
}

// Run runs the program and returns what it printed. A program that fails, takes too long or prints too much is an error
// with the end of what it printed.
func (p *Program) Run(ctx context.Context, args []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Env = []string{"PATH=" + strings.Join(programDirs[:], ":"), "LC_ALL=C", "HOME=/"}
	cmd.Dir = "/"
	// A program may be a script that starts others: they end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, words := &bounded{most: MaxOutput, more: cancel}, &bounded{most: 1 << 16}
	cmd.Stdout, cmd.Stderr = out, words
	err := cmd.Run()
	name := filepath.Base(p.path)
	switch {
	case out.full:
		return nil, fmt.Errorf("%s %s: printed more than %d bytes, want at most that", name, strings.Join(args, " "), MaxOutput)
	case err == nil:
		return out.kept.Bytes(), nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s %s: took longer than %s: %w", name, strings.Join(args, " "), p.timeout, context.DeadlineExceeded)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", name, ctx.Err())
	}
	return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, tail(words.kept.String(), out.kept.String()))
}

// tail is the last of what a program printed, on one line: its errors where it has written any, otherwise its output.
func tail(texts ...string) string {
	for _, t := range texts {
		t = strings.Join(strings.Fields(t), " ")
		if len(t) > maxWords {
			t = "…" + strings.ToValidUTF8(t[len(t)-maxWords:], "")
		}
		if t != "" {
			return t
		}
	}
	return "it printed nothing"
}
