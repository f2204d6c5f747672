// Package script runs the whole program as a user does: commands, files, exit codes, and live simulated fabrics behind
// real sockets.
package script

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlane/service/app"
	"fairlane/service/store/pgtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"fairlane":  func() { os.Exit(app.Process()) },
		"checkdemo": func() { os.Exit(checkDemo(os.Args[1:])) },
		"jsonget":   func() { os.Exit(jsonGet(os.Args[1:])) },
	})
}

// scripts numbers the scripts of this process, because abstract socket names are global on a machine.
var scripts atomic.Int64

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 ".",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			addr, err := freeAddress()
			if err != nil {
				return err
			}
			e.Setenv("SOCKET", fmt.Sprintf("unix:fairlane-script-%d-%d", os.Getpid(), scripts.Add(1)))
			second, err := freeAddress()
			if err != nil {
				return err
			}
			e.Setenv("LISTEN", addr)
			e.Setenv("LISTEN2", second)
			e.Values["test"] = e.T()
			e.Values["opensm"] = &subnetManager{}
			e.Setenv("FAIRLANE_CREDENTIALS", filepath.Join(e.WorkDir, "credentials.yaml"))
			e.Setenv("FAIRLANE_URL", "http://"+addr)
			e.Setenv("LANG", "C")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit":      exitCode,
			"fabricup":  fabricUp,
			"serviceup": serviceUp,
			"postgres":  postgres,
			"expand":    expand,
			"fileup":    fileUp,
			"rival":     rival,
			"opensm":    openSM,
			"await":     await,
			"replace":   replace,
			"setvar":    setVariable,
		},
	})
}

// serviceUp is "serviceup [ADDRESS]": it waits until the service, or the one at the address, is ready.
func serviceUp(ts *testscript.TestScript, _ bool, args []string) {
	base := ts.Getenv("FAIRLANE_URL")
	if len(args) == 1 {
		base = "http://" + args[0]
	}
	until(ts, "the service", func(ctx context.Context) error { return get(ctx, base+"/api/v1/ready") })
}

// postgres makes services that are started later use a new database on a real PostgreSQL.
func postgres(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("FAIRLANE_DATABASE", pgtest.Database(ts.Value("test").(testing.TB)))
}

// expand is "expand FILE": variables in the file are replaced by their values.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: expand FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// freeAddress returns a TCP address on which nothing listened a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// exitCode is "exit CODE PROGRAM ARGS...": the exit code must be equal.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: exit CODE PROGRAM ARGS...")
	}
	got := 0
	var exit interface{ ExitCode() int }
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code is %d, want %s", got, args[0])
	}
}

// setVariable is "setvar NAME FILE": it sets the variable to the file's only line.
func setVariable(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: setvar NAME FILE")
	}
	ts.Setenv(args[0], strings.TrimRight(ts.ReadFile(args[1]), "\n"))
}

// until repeats f until it succeeds, since a background process needs time to start.
func until(ts *testscript.TestScript, what string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%s did not come up: %v", what, err)
		case <-tick.C:
		}
	}
}

// fileUp is "fileup FILE": it waits until a background program has created the file.
func fileUp(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: fileup FILE")
	}
	until(ts, args[0], func(context.Context) error {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err
	})
}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Do(req)
	if err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, r.Status)
	}
	return errors.Join(err, r.Body.Close())
}
