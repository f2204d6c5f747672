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

// programDirs are the directories of administrators' programs. The agent's own PATH is not used: it runs as root.
var programDirs = [...]string{"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"}

const (
	// MaxOutput bounds a program's output, in bytes.
	MaxOutput = 8 << 20
	// maxWords bounds the output that an error quotes.
	maxWords = 512
)

// ErrNoProgram means that a program is not installed in any of the directories of administrators' programs.
var ErrNoProgram = errors.New("not installed")

// Program runs one program of the host: with its own environment, no input, bounded time and bounded output. It
// implements nicfiles.Runner and vfshare.Tool.
type Program struct {
	path    string
	timeout time.Duration
}

// FindProgram finds the first of several programs, such as mstconfig and mlxconfig. timeout bounds each run.
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

// NewProgram returns the program at a path.
func NewProgram(path string, timeout time.Duration) *Program { return &Program{path, timeout} }

// Path returns the path of the program.
func (p *Program) Path() string { return p.path }

// bounded keeps the first bytes of a program's output, and records that there were more.
type bounded struct {
	kept bytes.Buffer // not embedded: io.Copy would use its ReadFrom
	most int
	more func() // called at the first excess byte
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

// Run runs the program and returns its output. A program that fails, takes too long or prints too much is an error with
// the end of its output.
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
		return nil, fmt.Errorf("%s %s: printed more than %d bytes, the maximum", name, strings.Join(args, " "), MaxOutput)
	case err == nil:
		return out.kept.Bytes(), nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s %s: took longer than %s: %w", name, strings.Join(args, " "), p.timeout, context.DeadlineExceeded)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", name, ctx.Err())
	}
	return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, tail(words.kept.String(), out.kept.String()))
}

// tail returns the end of a program's output on one line: of its errors if any, otherwise of its output.
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
