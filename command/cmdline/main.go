package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fairlane/internal/buildinfo"
	"fairlane/internal/i18n"
	"fairlane/internal/usage"
)

// Exit codes on which scripts rely.
const (
	ExitDone   = 0
	ExitFailed = 1 // failed, or a negative result such as drift
	ExitUsage  = 2 // wrong usage or invalid input
)

// ExitCode returns ExitDone for nil, ExitUsage for wrong usage or for input that the service rejects, and otherwise
// ExitFailed.
func ExitCode(err error) int {
	var wrong *usage.Error
	var refused interface {
		error
		BadInput() bool
	}
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &wrong), errors.As(err, &refused) && refused.BadInput():
		return ExitUsage
	}
	return ExitFailed
}

// Main runs the command line with the commands that build adds, and returns its exit code. Data is written to stdout,
// messages to stderr.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, build func(*App, *cobra.Command)) int {
	text, err := i18n.Load(i18n.Pick(i18n.Asked(args), os.Getenv))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return ExitFailed
	}
	a := &App{Stdout: stdout, Stderr: stderr, Texts: text}
	root := a.Root(args, build)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err = root.ExecuteContext(ctx)
	if err == nil {
		return ExitDone
	}
	_, _ = fmt.Fprintln(stderr, a.T("error", "error", a.ErrorText(ctx, err)))
	if !a.Began {
		return ExitUsage
	}
	return ExitCode(err)
}

// Root returns the parent of all commands that build adds. args are the arguments of the process, searched for --lang.
func (a *App) Root(args []string, build func(*App, *cobra.Command)) *cobra.Command {
	root := &cobra.Command{
		Use:           "fairlane",
		Short:         a.T("root.short"),
		Long:          a.T("root.long"),
		Version:       buildinfo.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		return CheckLanguage(i18n.Asked(args), os.Getenv)
	}
	root.PersistentFlags().String("lang", "", a.T("flag.lang"))
	build(a, root)
	root.SetFlagErrorFunc(wrongFlag)
	a.translateHelp(root)
	judgeArguments(root)
	a.noteBegin(root)
	return root
}
