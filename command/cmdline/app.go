// Package cmdline has what the commands of every room share: the streams and the texts of a run, help in the user's language,
// tables, flags, the files that people name, and what is said of a wrong command line.
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

// App is what every command shares.
type App struct {
	Stdout, Stderr io.Writer
	Texts          *i18n.Catalogue
	// Began says that a command's own code ran: what fails earlier is wrong usage.
	Began bool
}

// T is the text of a key in the user's language.
func (a *App) T(key string, values ...any) string { return a.Texts.T(key, values...) }

// Say writes sentences in the user's language.
func (a *App) Say(texts []phrase.Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, a.Texts.Say(t))
	}
	return out
}

// Warn prints warnings to people.
func (a *App) Warn(texts ...string) {
	for _, text := range texts {
		_, _ = fmt.Fprintln(a.Stderr, a.T("warning", "text", text)) // a broken terminal changes nothing
	}
}

// ErrorText is the text of an error as people read it: one that came of Ctrl-C says so, in the user's language,
// in place of the words of packages context and signal.
func (a *App) ErrorText(ctx context.Context, err error) string {
	cause := context.Cause(ctx) // package signal's, in its own words
	if cause == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, cause) {
		return a.Texts.Error(err)
	}
	interrupted := a.T("state.interrupted")
	return strings.NewReplacer(context.Canceled.Error(), interrupted, cause.Error(), interrupted).Replace(err.Error())
}

// noteBegin makes every command say when its own code begins, after the command line was accepted.
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

// ErrBoundMissed is a run that worked but missed a bound it promises: exit code 1.
var ErrBoundMissed = errors.New("bound missed")

// Must panics on a programmer's error at start-up.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
