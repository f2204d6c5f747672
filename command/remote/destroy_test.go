package remote

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fairlane/internal/usage"
)

func TestADestructiveCommandAsksForConfirmation(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, "是\n": true, "\n": false, "no\n": false} {
		c, at, out, tty := atTerminal(t, answer)
		out.ends = "[y/N] "
		ran := false
		cmd := &cobra.Command{Use: "delete", RunE: func(*cobra.Command, []string) error { ran = true; return nil }, SilenceErrors: true, SilenceUsage: true}
		c.destroys(cmd, "ask.user-delete")
		cmd.SetIn(tty)
		cmd.SetErr(out)
		cmd.SetArgs([]string{"ada"})
		if err := cmd.ExecuteContext(at.Context()); (err == nil) != want || ran != want || !strings.Contains(out.String(), "user ada") {
			t.Errorf("%q: %v, ran %t, after %q", answer, err, ran, out.String())
		}
	}
}

func TestADestructiveCommandNeedsYesWithoutATerminal(t *testing.T) {
	t.Parallel()
	c, _, _, _ := atTerminal(t)
	for args, want := range map[string]bool{"": true, "--yes": true, "--dry-run": true, "--prune": false, "--prune --yes": true, "--prune -y": true, "--prune --dry-run": true} {
		ran := false
		cmd := &cobra.Command{Use: "apply", RunE: func(*cobra.Command, []string) error { ran = true; return nil }, SilenceErrors: true, SilenceUsage: true}
		cmd.Flags().Bool("prune", false, "")
		cmd.Flags().Bool("dry-run", false, "")
		c.destroys(cmd, "ask.tenant-prune", "prune")
		cmd.SetIn(strings.NewReader("y\n"))
		cmd.SetArgs(strings.Fields(args))
		err := cmd.ExecuteContext(t.Context())
		var wrong *usage.Error
		if ran != want || want != (err == nil) || !want && (!errors.As(err, &wrong) || err.Error() != "Not a terminal: confirm with --yes") {
			t.Errorf("%q: ran %t, %v", args, ran, err)
		}
	}
}
