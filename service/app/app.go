// Package app is the wiring: it builds the processes that the commands run out of the pure
// model, the adapters and the service, and holds the command tree.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/command/remote"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// app is the command tree with what every command shares.
type app struct{ *cmdline.App }

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
	a := &app{&cmdline.App{Stdout: stdout, Stderr: stderr, Texts: text}}
	root := a.root(args)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err = root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	_, _ = fmt.Fprintln(stderr, a.T("error", "error", a.ErrorText(ctx, err)))
	if !a.Began {
		return exitUsage
	}
	return remote.ExitCode(err)
}

func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "fairlane",
		Short:         a.T("root.short"),
		Long:          a.T("root.long"),
		Version:       cmdline.Version(),
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
	root.PersistentFlags().String("lang", "", a.T("flag.lang"))
	root.AddCommand(remote.New(remote.Options{Args: args, Admit: admitByFiles})...)
	cmdline.AddBelow(root, "device", a.ccKeyCommand())
	cmdline.AddBelow(root, "fabric", a.fabricCheckCommand(), a.fabricWatchCommand())
	a.localShow(root)
	root.SetFlagErrorFunc(cmdline.WrongFlag)
	a.TranslateHelp(root)
	cmdline.JudgeArguments(root)
	a.NoteBegin(root)
	return root
}

// Exit codes that others rely on.
const (
	exitDone   = 0
	exitFailed = 1 // failed, or a bound was missed
	exitUsage  = 2 // wrong usage or bad input
)
