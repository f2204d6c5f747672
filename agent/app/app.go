// Package app wires fairlane-agent: its command line, its configuration, and the process that serves gNMI.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlane/internal/i18n"
	"fairlane/internal/program"
	"fairlane/internal/usage"
)

// app is the common state of all commands.
type app struct {
	stdout, stderr io.Writer
	text           *i18n.Catalogue
	getenv         func(string) string
	path           string // of the configuration
	node           string // replaces pods.node, if given
}

func (a *app) t(key string, values ...any) string { return a.text.T(key, values...) }

// Process is Main for this process.
func Process() int { return program.Process(Main) }

// Main runs the command line and returns its exit code: 0 done, 1 failed, 2 wrong usage or bad input. Data goes to
// stdout, messages to stderr.
func Main(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	return program.Main(ctx, args, getenv, stdout, stderr, func(text *i18n.Catalogue) *cobra.Command {
		return (&app{stdout: stdout, stderr: stderr, text: text, getenv: getenv}).root()
	})
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "fairlane-agent", Short: a.t("agent.short"), Long: a.t("agent.long"), Args: cobra.NoArgs,
		Example: "  fairlane-agent --config /etc/fairlane-agent/agent.yaml\n  fairlane-agent check\n  fairlane-agent restore --dry-run",
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := a.serve(cmd.Context())
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				return nil // stopped before it served
			}
			return err
		},
	}
	root.PersistentFlags().StringVar(&a.path, "config", "", a.t("agent.flag.config"))
	root.Flags().StringVar(&a.node, "node", "", a.t("agent.flag.node"))
	root.AddCommand(a.checkCommand(), a.getCommand(), a.restoreCommand(), a.podsCommand(), a.pluginCommand(), program.VersionCommand(a.t("agent.version.short")))
	return root
}

// config reads the configuration. Its errors are wrong usage.
func (a *app) config() (Config, error) {
	c, err := Load(a.path)
	if err != nil {
		return c, usage.Wrap(err)
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
