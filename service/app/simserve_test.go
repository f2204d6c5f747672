package app

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spf13/cobra"
)

func TestServedFilesKeepWhatWasThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), inventoryName)
	write := func(text string) error {
		return writeKeeping(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	for _, step := range []struct{ write, previous string }{{"one", ""}, {"one", ""}, {"two", "one"}, {"two", "one"}, {"three", "two"}} {
		if err := write(step.write); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != step.write {
			t.Errorf("%s: %q, %v", step.write, got, err)
		}
		previous, err := os.ReadFile(path + ".previous")
		if string(previous) != step.previous || (err == nil) != (step.previous != "") {
			t.Errorf("%s: before it %q, %v; want %q", step.write, previous, err, step.previous)
		}
	}
	full := errors.New("disk full")
	if err := writeKeeping(path, func(io.Writer) error { return full }); !errors.Is(err, full) {
		t.Errorf("a text that cannot be made: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "three" {
		t.Errorf("after it %q, %v", got, err)
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"unix:lab": "unix:lab", "udp:[::]:7000": "udp:127.0.0.1:7000", "udp:0.0.0.0:7000": "udp:127.0.0.1:7000",
		"udp:127.0.0.1:7000": "udp:127.0.0.1:7000", "udp:[::1]:7000": "udp:[::1]:7000", "udp:10.0.0.7:7000": "udp:10.0.0.7:7000", "": "",
	} {
		if got := reachable(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

// A word between backquotes in the text of a flag is printed as the kind of its value, so a whole command there reads as
// if it were the value.
func TestKindsOfFlagsAreWords(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`(?m)^ +(?:-\w, )?--[\w-]+ \S+(?: \S+)+ {2,}\S.*$`)
	var walk func(*testing.T, *cobra.Command)
	walk = func(t *testing.T, cmd *cobra.Command) {
		for _, line := range command.FindAllString(cmd.LocalFlags().FlagUsages(), -1) {
			t.Errorf("%s: %s", cmd.CommandPath(), line)
		}
		for _, c := range cmd.Commands() {
			walk(t, c)
		}
	}
	for _, lang := range []string{"en", "zh"} {
		walk(t, testApp(t, lang).root(nil))
	}
}
