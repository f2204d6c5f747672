package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/service/config"
	"fairlane/service/notify"
	"fairlane/service/setup"
)

// alertTest is the time limit for delivering the test alert to all receivers.
const alertTest = 40 * time.Second

// alertResult is the result of delivering the test alert to a receiver.
type alertResult struct {
	Kind     string       `json:"kind"`
	Receiver string       `json:"receiver"`
	Sent     bool         `json:"sent"`
	Error    string       `json:"error,omitempty"`
	Said     *phrase.Text `json:"said,omitempty"`
}

// alertTestCommand is `alert test`: one attempt to deliver a test alert to each receiver of a configuration, without the service.
func (a *app) alertTestCommand() *cobra.Command {
	var asJSON bool
	cmd := a.Configured(&cobra.Command{
		Use: "test", Short: a.T("alert.test.short"), Long: a.T("alert.test.long"),
		Example: "  fairlane alert test --config /etc/fairlane/fairlane.yaml",
	}, func(ctx context.Context, l *config.Loaded) error {
		o, faults := setup.Receivers(&l.Config)
		if err := errors.Join(faults...); err != nil {
			return usage.Wrap(err)
		}
		ctx, cancel := context.WithTimeout(ctx, alertTest)
		defer cancel()
		results := notify.Probe(ctx, o, a.T("alert.test.summary"))
		if len(results) == 0 {
			return usage.Errorf("%s", a.T("alert.test.none"))
		}
		if err := a.printAlertTest(results, asJSON); err != nil {
			return err
		}
		failed := 0
		for _, r := range results {
			if r.Err != nil {
				failed++
			}
		}
		if failed > 0 {
			return errors.New(a.T("alert.test.failed", "n", failed, "all", len(results)))
		}
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	a.LocalOnly(cmd)
	return cmd
}

func (a *app) printAlertTest(results []notify.Result, asJSON bool) error {
	out := make([]alertResult, len(results))
	for i, r := range results {
		out[i] = alertResult{Kind: string(r.Kind), Receiver: r.Name, Sent: r.Err == nil}
		if r.Err != nil {
			said := phrase.OfError(r.Err)
			out[i].Error, out[i].Said = said.String(), &said
		}
	}
	if asJSON {
		return cmdline.PrintJSON(a.Stdout, out)
	}
	t := cmdline.NewTable(a.Stdout, 0)
	fmt.Fprintf(t, "%s\t%s\t%s\n", a.T("alert.test.col.kind"), a.T("alert.test.col.receiver"), a.T("alert.test.col.result"))
	for _, r := range out {
		result := a.T("alert.test.sent")
		if r.Said != nil {
			result = a.Texts.Say(*r.Said)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Kind, r.Receiver, result)
	}
	return t.Flush()
}
