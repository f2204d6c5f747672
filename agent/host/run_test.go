package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script returns a program that runs a shell script.
func script(t testing.TB, text string, timeout time.Duration) *Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mstconfig")
	// A child that another test forks while the file is open for writing keeps it open, and running the file fails with ETXTBSY.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return NewProgram(path, timeout)
}

func TestAProgramRunsWithAnEnvironmentOfItsOwn(t *testing.T) {
	t.Setenv("LD_PRELOAD_OF_AN_ATTACKER", "x")
	out, err := script(t, `env; pwd; echo "$#:$2"; cat`, time.Minute).Run(t.Context(), []string{"-d", "0000:3b:00.0; rm -rf x"})
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	if strings.Contains(text, "ATTACKER") || !strings.Contains(text, "LC_ALL=C") || !strings.Contains(text, "\n/\n") || !strings.Contains(text, "2:0000:3b:00.0; rm -rf x") {
		t.Error(text)
	}
}

func TestTheErrorOfAFailedProgramIsReported(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		name, text string
		says       []string
	}{
		{"words of its errors", `echo out; echo "-E- Failed to  open
 device" >&2; exit 3`, []string{"exit status 3: -E- Failed to open device", "mstconfig -d x"}},
		{"words of its output", `echo "-E- no such parameter"; exit 1`, []string{"-E- no such parameter"}},
		{"nothing", `exit 1`, []string{"it printed nothing"}},
		{"many words", `echo ` + long + ` >&2; exit 1`, []string{"…" + strings.Repeat("x", maxWords)}},
		{"a signal", `kill -9 $$`, []string{"signal: killed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := script(t, c.text, time.Minute).Run(t.Context(), []string{"-d", "x"})
			for _, s := range c.says {
				if err == nil || !strings.Contains(err.Error(), s) {
					t.Errorf("%v does not contain %q", err, s)
				}
			}
			if err != nil && strings.Contains(err.Error(), strings.Repeat("x", maxWords+1)) {
				t.Error("the quoted output is longer than its limit")
			}
		})
	}
}

// The children of a program end with it.
func TestAProgramThatTakesTooLongEndsWithItsChildren(t *testing.T) {
	t.Parallel()
	began := time.Now()
	_, err := script(t, `sleep 300 & sleep 300`, 50*time.Millisecond).Run(t.Context(), nil)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Minute {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := script(t, `sleep 300`, time.Hour).Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAProgramThatPrintsTooMuchIsStopped(t *testing.T) {
	t.Parallel()
	_, err := script(t, `cat /dev/zero`, time.Minute).Run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "more than 8388608 bytes") {
		t.Error(err)
	}
}

func TestProgramsAreFoundWhereAdministratorsHaveThem(t *testing.T) {
	t.Parallel()
	p, err := FindProgram(time.Second, "no-such-program", "sh")
	if err != nil || filepath.Base(p.Path()) != "sh" {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := FindProgram(time.Second, "no-such-program"); !errors.Is(err, ErrNoProgram) {
		t.Error(err)
	}
	if _, err := (anyProgram{"no-such-program"}).Run(t.Context(), nil); !errors.Is(err, ErrNoProgram) {
		t.Error(err)
	}
	if _, err := (anyProgram{"sh"}).Run(t.Context(), []string{"-c", "exit 0"}); err != nil {
		t.Error(err)
	}
}
