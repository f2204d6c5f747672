// Package app is the wiring: it builds the processes that the commands run out of the pure
// model, the adapters and the service, and holds the command tree.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"fairlane/command/remote"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// app is what every command shares.
type app struct {
	stdout, stderr io.Writer
	text           *i18n.Catalogue
	// began says that a command's own code ran: what fails earlier is wrong usage.
	began bool
}

// t is the text of a key in the user's language.
func (a *app) t(key string, values ...any) string { return a.text.T(key, values...) }

// Process is Main for the arguments and the streams of this process, and returns its exit code. Ctrl-C or SIGTERM ends
// what runs in its own way; a second one ends the process at once.
func Process() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // from then on a signal does what it does by default
	return Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// Main runs the command line and returns its exit code: 0 done, 1 failed or a bound was
// missed, 2 wrong usage or bad input. Data goes to stdout, words to stderr.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	text, err := i18n.Load(i18n.Pick(i18n.Asked(args), os.Getenv))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return exitFailed
	}
	a := &app{stdout: stdout, stderr: stderr, text: text}
	root := a.root(args)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err = root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	_, _ = fmt.Fprintln(stderr, a.t("error", "error", a.errorText(ctx, err)))
	if !a.began {
		return exitUsage
	}
	return remote.ExitCode(err)
}

// errorText is the text of an error as people read it: one that came of Ctrl-C says so, in the user's language,
// in place of the words of packages context and signal.
func (a *app) errorText(ctx context.Context, err error) string {
	cause := context.Cause(ctx) // package signal's, in its own words
	if cause == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, cause) {
		return a.text.Error(err)
	}
	interrupted := a.t("state.interrupted")
	return strings.NewReplacer(context.Canceled.Error(), interrupted, cause.Error(), interrupted).Replace(err.Error())
}

func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "fairlane",
		Short:         a.t("root.short"),
		Long:          a.t("root.long"),
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		lang := i18n.Asked(args)
		if lang != "" && !slices.Contains(i18n.Languages(), lang) {
			return usage.Of(phrase.Of("language {}: want {}", fmt.Sprintf("%q", lang), strings.Join(i18n.Languages(), " or ")))
		}
		if of := os.Getenv("FAIRLANE_LANG"); lang == "" && of != "" && !i18n.Known(of) {
			return usage.Of(phrase.Of("FAIRLANE_LANG is {}: want {}", fmt.Sprintf("%q", of), strings.Join(i18n.Languages(), " or ")))
		}
		return nil
	}
	root.AddCommand(a.initCommand(), a.demoCommand(), a.serveCommand(), a.configCommand(), a.dbCommand(), a.doctorCommand(), a.opensmCommand(), a.discoverCommand(), a.importCommand(), a.compileCommand(), a.ibProfileCommand(), a.simCommand(), a.reproduceCommand(), a.evaluateCommand(), a.calibrateCommand(), a.versionCommand())
	root.PersistentFlags().String("lang", "", a.t("flag.lang"))
	root.AddCommand(remote.New(remote.Options{Args: args, Admit: admitByFiles})...)
	addBelow(root, "device", a.ccKeyCommand())
	addBelow(root, "fabric", a.fabricCheckCommand(), a.fabricWatchCommand())
	a.localShow(root)
	root.SetFlagErrorFunc(flagError)
	a.helpWords(root)
	judgeArgs(root)
	a.noteBegin(root)
	return root
}

// say tells sentences in the user's language.
func (a *app) say(texts []phrase.Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, a.text.Say(t))
	}
	return out
}

// warn prints warnings to people.
func (a *app) warn(texts ...string) {
	for _, text := range texts {
		_, _ = fmt.Fprintln(a.stderr, a.t("warning", "text", text)) // a broken terminal changes nothing
	}
}

// noteBegin makes every command say when its own code begins, after the command line was accepted.
func (a *app) noteBegin(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.began = true
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		a.noteBegin(sub)
	}
}

// must panics on a programmer's error at start-up.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func isYAML(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml"
}

// Exit codes that others rely on.
const (
	exitDone   = 0
	exitFailed = 1 // failed, or a bound was missed
	exitUsage  = 2 // wrong usage or bad input
)
