package app

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline/cmdlinetest"
)

// Every command with --seed keeps its default, which help shows unless it is the scenario's own.
func TestSeedDefaults(t *testing.T) {
	t.Parallel()
	a := testApp(t, "en")
	for path, want := range map[string]string{"demo": "1", "compile": "1", "reproduce": "1", "sim serve": "1", "sim run": "0"} {
		cmd, _, err := a.root(nil).Find(strings.Fields(path))
		if err != nil {
			t.Fatal(err)
		}
		if f := cmd.Flags().Lookup("seed"); f == nil || f.DefValue != want || f.Value.String() != want {
			t.Errorf("%s: %+v, want the default %s", path, f, want)
		}
	}
}

func testApp(t *testing.T, lang string) *app {
	t.Helper()
	return &app{cmdlinetest.App(t, lang)}
}

// root is the whole command tree.
func (a *app) root(args []string) *cobra.Command { return a.Root(args, commands(args)) }
