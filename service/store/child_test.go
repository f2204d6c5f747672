package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// childWork is the environment variable that makes the test binary run a part of a test in a child process, which may be
// killed or fail to write. It holds the arguments of work, one per line.
const childWork = "FAIRLANE_TEST_STORE_CHILD"

func TestMain(m *testing.M) {
	part, ok := os.LookupEnv(childWork)
	if !ok {
		m.Run()
		return
	}
	if err := work(context.Background(), strings.Split(part, "\n")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work does the part of a child.
func work(ctx context.Context, part []string) error {
	switch what := part[0]; {
	case what == "write for ever" && len(part) == 3: // database, a word for the names
		return writeForever(ctx, part[1], part[2])
	case what == "restore" && len(part) == 3: // backup, database
		_, err := Restore(ctx, part[1], part[2], true, at())
		return err
	case what == "restore for ever" && len(part) == 3:
		return restoreForever(ctx, part[1], part[2])
	case what == "stop in" && len(part) == 3: // database, a stage
		return stopIn(ctx, part[1], part[2])
	case what == "open" && len(part) == 2:
		s, err := Open(ctx, part[1], Options{})
		if err != nil {
			return err
		}
		return errors.Join(changeWithEntry(ctx, s, "after-upgrade"), s.Close())
	}
	return fmt.Errorf("no part of a test is %q", part)
}

// writeForever prints the name of each acknowledged change.
func writeForever(ctx context.Context, database, word string) error {
	s, err := Open(ctx, database, Options{})
	for i := 0; err == nil; i++ {
		name := fmt.Sprintf("f-%s-%d", word, i)
		if err = changeWithEntry(ctx, s, name); err == nil {
			_, err = fmt.Println(name)
		}
	}
	return err
}

// restoreForever prints a line at the start of each restore.
func restoreForever(ctx context.Context, file, database string) error {
	for i := 0; ; i++ {
		if _, err := fmt.Println("restoring"); err != nil {
			return err
		}
		done, err := Restore(ctx, file, database, true, at().Add(time.Duration(i)*time.Second))
		if err == nil && done.Kept != "" {
			err = os.Remove(done.Kept)
		}
		if err != nil {
			return err
		}
	}
}

// childEnv returns the environment of a child.
func childEnv(part ...string) []string {
	return append(os.Environ(), childWork+"="+strings.Join(part, "\n"))
}

// killedAfter runs a child until it has printed so many lines, kills it, and returns all its output.
func killedAfter(t *testing.T, enough int, part ...string) (said []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = childEnv(part...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if said = append(said, lines.Text()); len(said) == enough {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return said
}

// failWriting runs a child that cannot make a file larger than a limit, in units of 512 bytes, and reports whether it
// completed nevertheless.
func failWriting(t *testing.T, limit int, part ...string) (done bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f "$1"; exec "$2"`, "sh", fmt.Sprint(limit), os.Args[0])
	cmd.Env = childEnv(part...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Contains(string(out), "panic")) {
		t.Fatalf("the child ended with %v, want an error of its own:\n%s", err, out)
	}
	return err == nil
}
