// Package app wires fairlane-agent: its command line, its configuration, and the process that serves gNMI.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlane/internal/buildinfo"
	"fairlane/internal/cobraerror"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// UsageError reports a wrong command line or configuration.
type UsageError struct{ Err error }

// Error returns the cause's text.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// app is the common state of all commands.
type app struct {
	stdout, stderr io.Writer
	text           *i18n.Catalogue
	getenv         func(string) string
	path           string // of the configuration
	node           string // replaces pods.node, if given
	began          bool   // the command's own code started: earlier failures are wrong usage
}

func (a *app) t(key string, values ...any) string { return a.text.T(key, values...) }

// Process is Main for the arguments and the streams of this process, and returns its exit code. SIGTERM ends the running
// command gracefully; a second one ends the process at once.
func Process() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // from then on signals have their default effect
	return Main(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
}

// Main runs the command line and returns its exit code: 0 done, 1 failed, 2 wrong usage or bad input. Data goes to
// stdout, messages to stderr.
func Main(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	text, err := i18n.Load(i18n.Pick(i18n.Asked(args), getenv))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return exitFailed
	}
	a := &app{stdout: stdout, stderr: stderr, text: text, getenv: getenv}
	root := a.root(args)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err = root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	_, _ = fmt.Fprintln(stderr, a.t("error", "error", a.text.Error(err)))
	var usage *UsageError
	if !a.began || errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use: "fairlane-agent", Short: a.t("agent.short"), Long: a.t("agent.long"), Version: buildinfo.Version(), Args: cobra.NoArgs,
		Example:       "  fairlane-agent --config /etc/fairlane-agent/agent.yaml\n  fairlane-agent check\n  fairlane-agent restore --dry-run",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if lang := i18n.Asked(args); lang != "" && !slices.Contains(i18n.Languages(), lang) {
			return &UsageError{fault(phrase.Of("usage.language", "found", strconv.Quote(lang), "want", phrase.Of("list.or", "list", i18n.Languages()[:1], "last", i18n.Languages()[1])))}
		}
		return nil
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		err := a.serve(cmd.Context())
		if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
			return nil // stopped before it served
		}
		return err
	}
	root.PersistentFlags().StringVar(&a.path, "config", "", a.t("agent.flag.config"))
	root.Flags().StringVar(&a.node, "node", "", a.t("agent.flag.node"))
	root.PersistentFlags().String("lang", "", a.t("flag.lang"))
	root.AddCommand(a.checkCommand(), a.getCommand(), a.restoreCommand(), a.podsCommand(), a.pluginCommand(), a.versionCommand())
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &UsageError{cobraerror.Flag(cmd, err)} })
	all := append(root.Commands(), root)
	for _, c := range root.Commands() {
		all = append(all, c.Commands()...)
	}
	for _, c := range all {
		check, run := c.Args, c.RunE
		c.Args = func(cmd *cobra.Command, args []string) error { return wrongArguments(cmd, args, check(cmd, args)) }
		c.RunE = func(cmd *cobra.Command, args []string) error {
			a.began = true
			return run(cmd, args)
		}
	}
	return root
}

// wrongArguments returns the fault of a command's arguments; err is cobra's, or nil.
func wrongArguments(cmd *cobra.Command, args []string, err error) error {
	switch {
	case err == nil:
		return nil
	case cmd.HasSubCommands():
		return &UsageError{cobraerror.Command(cmd, args[0])}
	}
	return &UsageError{cobraerror.Args(cmd, args, err)}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: a.t("agent.version.short"), Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Fprintln(a.stdout, "fairlane-agent", buildinfo.Version())
		return err
	}}
}

// config reads the configuration. Its errors are wrong usage.
func (a *app) config() (Config, error) {
	c, err := Load(a.path)
	if err != nil {
		return c, &UsageError{err}
	}
	if a.node != "" {
		c.Pods.Node = a.node
	}
	return c, nil
}

// table prints rows of cells below a header.
func (a *app) table(head []string, rows [][]string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}
