// Package tour runs the commands of the README and the guides as a reader does: in their order, in one shell, from an
// empty directory.
package tour

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlane/internal/testkit/peertest"
	"fairlane/internal/testkit/proctest"
	"fairlane/service/app"
)

const root = "../.."

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fairlane": func() { os.Exit(app.Process()) }})
}

// pages are the pages whose commands are run, with their requirements besides this program.
var pages = []struct {
	path  string
	tools []string
}{
	{path: "README.md"},
	{path: "docs/cli.md"},
	{path: "docs/compile.md"},
	{path: "docs/fabric-files.md"},
	{path: "docs/operations.md"},
	{path: "docs/service.md"},
	{path: "docs/simulator.md"},
	{path: "docs/tenant-files.md"},
	{path: "docs/try-with-opensm.md", tools: []string{"opensm", "ibnetdiscover"}},
}

func TestTheCommandsOfThePagesRunAsPrinted(t *testing.T) {
	t.Parallel()
	for i, p := range pages {
		t.Run(p.path, func(t *testing.T) {
			t.Parallel()
			for _, tool := range p.tools {
				peertest.Program(t, tool)
			}
			text, err := os.ReadFile(filepath.Join(root, p.path))
			if err != nil {
				t.Fatal(err)
			}
			walk(t, p.path, t.TempDir(), string(text), fmt.Sprintf("tour-%d-%d", os.Getpid(), i))
		})
	}
}

// The README of a new lab runs as printed, on every plane.
func TestTheReadmeOfALabRunsAsPrinted(t *testing.T) {
	t.Parallel()
	for _, plane := range []string{"ib", "roce", "wrcc"} {
		t.Run(plane, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "lab")
			var out bytes.Buffer
			if code := app.Main(t.Context(), []string{"init", dir, "--plane", plane}, &out, &out); code != 0 {
				t.Fatalf("exit code %d: %s", code, out.String())
			}
			text, err := os.ReadFile(filepath.Join(dir, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			walk(t, plane+"/README.md", dir, string(text), fmt.Sprintf("tour-%d-%s", os.Getpid(), plane))
		})
	}
}

// walk runs a page. It replaces names that are global on a machine, the service's address and the name of the simulated
// fabric's socket, with the test's own.
func walk(t *testing.T, path, dir, text, socket string) {
	t.Helper()
	blocks, err := blocksOf(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	addr := proctest.FreeAddress(t)
	own := strings.NewReplacer("127.0.0.1:8470", addr, "unix:lab", "unix:"+socket, "IBSIM_SOCKNAME=lab", "IBSIM_SOCKNAME="+socket)
	var commands []command
	for _, b := range blocks {
		switch {
		case b.marked && b.notRun == "":
			t.Fatalf("%s:%d: not run, without a reason", path, b.line)
		case b.marked:
		case b.output == lastCommand:
			commands[len(commands)-1].sample, commands[len(commands)-1].exact = b.text, b.exact
		case b.output != "":
			commands = append(commands, command{line: b.line, text: b.output, exits: b.exits, sample: b.text, exact: b.exact})
		case b.file != "":
			commands = append(commands, command{line: b.line, text: "cat > " + b.file + " <<'END'\n" + b.text + "END"})
		case b.isCode():
			commands = append(commands, b.commandsOf()...)
		}
	}
	for i := range commands {
		commands[i].text = own.Replace(commands[i].text)
	}
	run(t, path, dir, commands, []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C", "FAIRLANE_CREDENTIALS=" + filepath.Join(dir, ".credentials.yaml"),
		"FAIRLANE_LISTEN=" + addr, "FAIRLANE_URL=http://" + addr,
	})
}

// prelude defines, for the shell that runs a page, what is done after each command: report its exit code and, after one
// in the background, wait until it reports that it is up.
const prelude = `
up() { # OUTPUT PID
	while [ ! -s "$1" ] && kill -0 "$2" 2>/dev/null; do sleep 0.05; done
}
`

// run runs commands in a shell, and compares their exit codes and their output with the page.
func run(t *testing.T, path, dir string, commands []command, env []string) {
	var script strings.Builder
	script.WriteString(prelude)
	outputs := t.TempDir()
	for i, c := range commands {
		fmt.Fprintf(&script, "echo %s\n", quote(title(c)))
		text := c.text
		if own, ok := background(text); ok {
			output := filepath.Join(outputs, strconv.Itoa(i))
			text = fmt.Sprintf("%s > %s 2>&1 &\nup %s $!\ncat %s", own, output, output, output)
		}
		fmt.Fprintf(&script, "eval %s\necho %d $? >&3\n", quote(text), i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	codes, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir, cmd.Env, cmd.ExtraFiles = dir, env, []*os.File{w}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ends what a page leaves in the background
	_ = w.Close()
	got := make([]int, len(commands))
	for i := range got {
		got[i] = -1
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(codes); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		var i, code int
		if _, err := fmt.Sscan(line, &i, &code); err == nil {
			got[i] = code
		}
	}
	for i, c := range commands {
		switch {
		case got[i] == c.exits:
			if text := said(output.String(), c); !shows(c.sample, text, c.exact) {
				t.Errorf("%s:%d: %s: printed\n%s\nthe page shows\n%s", path, c.line, c.text, text, c.sample)
			}
		case got[i] < 0:
			t.Fatalf("%s:%d: %s: did not end: %v\n%s", path, c.line, c.text, ended, said(output.String(), c))
		default:
			t.Errorf("%s:%d: %s: exit code %d, want %d\n%s", path, c.line, c.text, got[i], c.exits, said(output.String(), c))
		}
	}
}

// title returns the line before the output of a command.
func title(c command) string { return fmt.Sprintf("+ %d: %s", c.line, c.text) }

// said returns the output of one command from that of all.
func said(output string, c command) string {
	_, after, _ := strings.Cut(output, title(c)+"\n")
	own, _, _ := strings.Cut(after, "\n+ ")
	return own
}

// background reports whether a command runs in the background with its output on the terminal, and returns it without
// the ampersand.
func background(text string) (string, bool) {
	own, _, _ := strings.Cut(text, " # ")
	own, ok := strings.CutSuffix(strings.TrimSpace(own), "&")
	return strings.TrimSpace(own), ok && !strings.HasSuffix(own, "&") && !strings.Contains(own, ">")
}

// quote quotes a text as one word for the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
