// Package program runs the command line of a program with cobra: texts in the user's language, errors, and exit codes.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"fairlane/internal/buildinfo"
	"fairlane/internal/cobraerror"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// Exit codes on which scripts rely.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2 // wrong usage or invalid input
)

// ErrShown is the error of a command that failed and has shown why.
var ErrShown = errors.New("failed, as shown")

// Process runs a program's main function for the arguments and the streams of this process, and returns its exit code. SIGTERM
// ends the running command gracefully; a second one ends the process at once.
func Process(main func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // from then on signals have their default effect
	return main(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
}

// Main runs the command line that build returns in a language, and returns its exit code. Data goes to stdout, messages to stderr.
func Main(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer, build func(*i18n.Catalogue) *cobra.Command) int {
	text, err := i18n.Load(i18n.Pick(i18n.Asked(args), getenv))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return ExitFailed
	}
	root := build(text)
	root.Version, root.SilenceErrors, root.SilenceUsage, root.CompletionOptions.DisableDefaultCmd = buildinfo.Version(), true, true, true
	root.PersistentFlags().String("lang", "", text.T("flag.lang"))
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return checkLanguage(i18n.Asked(args)) }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage.Wrap(cobraerror.Flag(cmd, err)) })
	began := false // the command's own code started: earlier failures are wrong usage
	guard(root, &began)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err = root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrShown):
		return ExitFailed
	}
	_, _ = fmt.Fprintln(stderr, text.T("error", "error", text.Error(err)))
	if !began || errors.As(err, new(*usage.Error)) {
		return ExitUsage
	}
	return ExitFailed
}

func checkLanguage(lang string) error {
	all := i18n.Languages()
	if lang == "" || slices.Contains(all, lang) {
		return nil
	}
	return usage.Of(phrase.Of("usage.language", "found", strconv.Quote(lang), "want", phrase.Of("list.or", "list", all[:1], "last", all[1])))
}

// guard makes a command and those below it report faulty arguments as wrong usage, and note when their own code starts.
func guard(cmd *cobra.Command, began *bool) {
	check, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		switch {
		case err == nil:
			return nil
		case cmd.HasSubCommands():
			return usage.Wrap(cobraerror.Command(cmd, args[0]))
		}
		return usage.Wrap(cobraerror.Args(cmd, args, err))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		*began = true
		return run(cmd, args)
	}
	for _, c := range cmd.Commands() {
		guard(c, began)
	}
}

// VersionCommand returns the command that prints the name and the version of the program.
func VersionCommand(short string) *cobra.Command {
	return &cobra.Command{Use: "version", Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), cmd.Root().Name(), buildinfo.Version())
		return err
	}}
}
