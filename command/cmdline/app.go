// Package cmdline has what all commands share: the streams and the texts of a run, help in the user's language, tables,
// flags, input files, and errors about command lines.
package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
)

// App is shared by all commands.
type App struct {
	Stdout, Stderr io.Writer
	Texts          *i18n.Catalogue
	// Began is set when a command's own code starts; earlier failures are usage errors.
	Began bool
}

// T returns the text of a key in the user's language.
func (a *App) T(key string, values ...any) string { return a.Texts.T(key, values...) }

// Say returns sentences in the user's language.
func (a *App) Say(texts []phrase.Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, a.Texts.Say(t))
	}
	return out
}

// Warn prints warnings.
func (a *App) Warn(texts ...string) {
	for _, text := range texts {
		_, _ = fmt.Fprintln(a.Stderr, a.T("warning", "text", text)) // a broken terminal does not affect the result
	}
}

// ErrorText returns the text of an error in the user's language. An error due to Ctrl-C says so, instead of the texts
// of packages context and signal.
func (a *App) ErrorText(ctx context.Context, err error) string {
	cause := context.Cause(ctx) // an error of package signal, with its own text
	if cause == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, cause) {
		return a.Texts.Error(err)
	}
	interrupted := a.T("state.interrupted")
	return strings.NewReplacer(context.Canceled.Error(), interrupted, cause.Error(), interrupted).Replace(err.Error())
}

// noteBegin makes every command set Began when its own code starts, after the command line was accepted.
func (a *App) noteBegin(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.Began = true
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		a.noteBegin(sub)
	}
}

// ErrBoundMissed reports a run that finished but missed a bound that it must keep: exit code 1.
var ErrBoundMissed = errors.New("bound missed")

// Must panics on a programming error at start-up.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
