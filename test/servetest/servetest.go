// Package servetest runs managers as real processes for tests, which can stop, kill and restart them. The program is
// the test binary itself, so that the test covers the current build, with the race detector if the test uses it.
package servetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fairlane/internal/testkit/proctest"
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
	*proctest.Program

	URL        string // of the API
	Operations string // URL of the metrics
	Config     string // path of the configuration file
}

// New writes the configuration of a manager and starts it. It ends with the test.
func New(t testing.TB, o Options) *Process {
	t.Helper()
	dir := t.TempDir()
	api, operations := proctest.FreeAddress(t), proctest.FreeAddress(t)
	p := &Process{URL: "http://" + api, Operations: "http://" + operations, Config: filepath.Join(dir, "fairlane.yaml")}
	tokenFile := filepath.Join(dir, "token")
	config := fmt.Sprintf("listen: [%q]\noperations: {listen: [%q]}\ndatabase: %q\nadmin_token_file: %q\n%s", api, operations, o.Database, tokenFile, strings.ReplaceAll(o.Config, "$URL", p.URL))
	for path, text := range map[string]string{p.Config: config, tokenFile: Token + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.Program = proctest.New(t, filepath.Join(dir, o.Name+".log"), func() *exec.Cmd {
		cmd := Command(context.Background(), "serve", "--config", p.Config)
		cmd.Dir = o.Dir
		return cmd
	})
	return p
}
