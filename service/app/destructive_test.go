package app

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/command/remote"
	"fairlane/internal/i18n"
)

// destructiveVerbs are the names of commands that delete or undo something.
var destructiveVerbs = []string{
	"delete", "remove", "revoke", "prune", "release", "restore", "rotate", "clear", "reset", "purge", "drop", "destroy", "wipe", "forget", "detach", "unset", "erase", "expire",
}

// guardedToo are guarded commands of another name: tenants see a cancellation at once.
var guardedToo = []string{"fairlane maintenance cancel"}

// harmless are commands of such a name that delete nothing, with the reason.
var harmless = map[string]string{
	"fairlane device release":       "it ends a quarantine and changes no setting",
	"fairlane alert silence expire": "it ends a silence, which can be added again",
	"fairlane apply":                "it shows every change and asks before each run, with --prune or without",
}

// arguments are what destructive commands need to get as far as the question.
var arguments = map[string]string{
	"fairlane db restore":           "--force --from x --database fairlane.db",
	"fairlane db prune":             "--database fairlane.db",
	"fairlane device cc-key rotate": "--from file:x --old-key-file x --key-file y",
	"fairlane device cc-key clear":  "--from file:x --old-key-file x",
	"fairlane tenant apply":         "--prune",
}

// TestDestructiveCommandsNeedYesWithoutATerminal walks the command tree, so that a new destructive command cannot lack the
// confirmation. Standard input of a test is no terminal.
func TestDestructiveCommandsNeedYesWithoutATerminal(t *testing.T) {
	text, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	root := (&app{&cmdline.App{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Texts: text}}).root(nil)
	guarded := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if cmd.HasSubCommands() || cmd.RunE == nil {
			return
		}
		path := cmd.CommandPath()
		takes := slices.Contains(destructiveVerbs, cmd.Name()) || slices.Contains(guardedToo, path) || cmd.Flags().Lookup("prune") != nil
		if harmless[path] == "" && takes != remote.IsDestructive(cmd) {
			t.Errorf("%s: guarded by remote.Destroys is %t, its name says %t", path, remote.IsDestructive(cmd), takes)
		}
		if !remote.IsDestructive(cmd) {
			return
		}
		guarded++
		args := strings.Fields(strings.TrimPrefix(path, "fairlane ") + " " + arguments[path])
		if _, needs, _ := strings.Cut(cmd.Use, " "); strings.HasPrefix(needs, strings.ToUpper(needs)) && needs != "" && arguments[path] == "" {
			args = append(args, "7")
		}
		var out, words bytes.Buffer
		if code := Main(t.Context(), append(args, "--lang", "en"), &out, &words); code != cmdline.ExitUsage || !strings.Contains(words.String(), "Not a terminal: confirm with --yes") {
			t.Errorf("fairlane %s: exit %d: %s%s", strings.Join(args, " "), code, out.String(), words.String())
		}
	}
	walk(root)
	if guarded < 13 {
		t.Errorf("%d commands are guarded, want at least 13", guarded)
	}
}
