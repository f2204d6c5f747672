package local

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/command/lab"
	"fairlane/command/remote"
)

// runLocal runs a local command line, or one of the laboratory.
func runLocal(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cmdline.Main(ctx, args, stdout, stderr, func(a *cmdline.App, root *cobra.Command) {
		root.AddCommand(remote.New(remote.Options{Args: args})...)
		Add(a, root)
		lab.Add(a, root)
	})
}
