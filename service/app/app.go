// Package app is the wiring: it builds the processes that the commands run out of the pure
// model, the adapters and the service, and holds the command tree.
package app

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/command/demo"
	"fairlane/command/lab"
	"fairlane/command/local"
	"fairlane/command/remote"
	"fairlane/service/control"
	"fairlane/service/site"
)

// app holds the commands of the service itself and the state that every command shares.
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
// missed, 2 wrong usage or bad input. Data goes to stdout, messages to stderr.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cmdline.Main(ctx, args, stdout, stderr, commands(args))
}

// commands adds all commands to the root.
func commands(args []string) func(*cmdline.App, *cobra.Command) {
	return func(shared *cmdline.App, root *cobra.Command) {
		a := &app{shared}
		root.AddCommand(a.serveCommand())
		demo.Add(shared, root, openForDemo)
		root.AddCommand(remote.New(remote.Options{Args: args, Admit: local.AdmitByFiles})...)
		local.Add(shared, root)
		lab.Add(shared, root)
	}
}

// demoPeriod is the time between two measurements of a demo's fabric: people who try it should not wait long for series.
const demoPeriod = 5 * time.Second

// openForDemo opens a manager with the default of each option, and with series if the demo stays up.
func openForDemo(ctx context.Context, database string, access *site.Access, stays bool) (demo.Manager, error) {
	var o workOptions
	if stays {
		o.series = seriesOptions{folder: database + ".series", period: demoPeriod, failed: func() {}}
	}
	m, err := openManager(ctx, database, access, o, func(d *control.Deps) { d.Doctor = demoDoctor{database} })
	if err != nil {
		return nil, err
	}
	return m, nil
}
