package local

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/subnet/check"
)

// checkReport is the output of `fabric check --json`.
type checkReport struct {
	Nodes    int     `json:"nodes"`
	Switches int     `json:"switches"`
	Hosts    int     `json:"hosts"`
	Links    int     `json:"links"`
	WallS    float64 `json:"wall_s"` // of reading or sweeping the fabric
	MADsSent int     `json:"mads_sent"`
	*check.Report
	Notes []string `json:"notes,omitempty"`
	said  []phrase.Text
}

// fabricCheckCommand returns `fabric check`, which needs no service.
func (a *app) fabricCheckCommand() *cobra.Command {
	var f scanFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check --from SOURCE",
		Short: a.T("fabriccheck.short"),
		Long:  a.T("fabriccheck.long"),
		Example: `  fairlane fabric check --from file:fabric.topo
  fairlane fabric check --from ibsim:unix:lab --tenants tenants.yaml
  fairlane fabric check --from ibsim:unix:lab --m-key-file mkey --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.fabricCheck(cmd.Context(), f, asJSON) },
	}
	a.addScanFlags(cmd, &f)
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	cmdline.Must(cmd.MarkFlagRequired("from"))
	a.LocalOnly(cmd)
	return cmd
}

// addScanFlags adds the flags for the fabric to check to a command.
func (a *app) addScanFlags(cmd *cobra.Command, f *scanFlags) {
	cmd.Flags().StringVar(&f.from, "from", "", a.T("fabriccheck.from", "forms", "file:PATH, umad:CA:PORT, ibsim:unix:NAME, ibsim:udp:HOST:PORT"))
	a.MKeyFlag(cmd, &f.mKey)
	cmd.Flags().StringVar(&f.ccKey, "cc-key-file", "", a.T("fabriccheck.cckey"))
	cmd.Flags().StringVar(&f.tenants, "tenants", "", a.T("fabriccheck.tenants"))
	cmd.Flags().BoolVar(&f.quick, "quick", false, a.T("fabriccheck.quick"))
}

func (a *app) fabricCheck(ctx context.Context, f scanFlags, asJSON bool) error {
	l, err := a.scanFabric(ctx, f)
	if err != nil {
		return err
	}
	r := l.check()
	if asJSON {
		err = cmdline.PrintJSON(a.Stdout, r)
	} else {
		err = a.printCheck(r)
	}
	if err != nil {
		return err
	}
	if bad := r.Totals[check.Error]; bad.Findings > 0 {
		return errors.New(a.T("fabriccheck.failed", "n", bad.Findings, "places", bad.Places))
	}
	return nil
}

// check runs the checks.
func (l *fabricScan) check() checkReport {
	return checkReport{
		Nodes: len(l.fabric.Nodes), Switches: len(l.fabric.Switches()), Hosts: len(l.fabric.Hosts()), Links: len(l.fabric.Links),
		WallS: l.wall.Seconds(), MADsSent: l.mads, Report: check.Check(l.fabric, l.extra), Notes: phrase.English(l.notes), said: l.notes,
	}
}

// printCheck prints the findings, worst first, each code with its remedy, and what was checked.
func (a *app) printCheck(r checkReport) error {
	a.Warn(a.Say(r.said)...)
	w := a.Stdout
	for i, f := range r.Findings {
		if i == 0 || f.Code != r.Findings[i-1].Code || f.Severity != r.Findings[i-1].Severity {
			if _, err := fmt.Fprintf(w, "%s %s\n", a.T("fabriccheck."+f.Severity.String()), f.Code); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "  %s\n", a.Texts.Say(f.Said)); err != nil {
			return err
		}
		if i == len(r.Findings)-1 || f.Code != r.Findings[i+1].Code || f.Severity != r.Findings[i+1].Severity {
			if _, err := fmt.Fprintf(w, "  -> %s\n\n", a.T("fabriccheck.do."+string(f.Code))); err != nil {
				return err
			}
		}
	}
	if err := a.printTallies(w, r.Checked); err != nil {
		return err
	}
	return a.printTotals(r)
}

// printTotals prints how much was checked, and the number of findings and places for each severity.
func (a *app) printTotals(r checkReport) error {
	total := func(s check.Severity) string {
		n := r.Totals[s]
		text := a.T("fabriccheck.total."+s.String(), "n", n.Findings)
		if n.Findings > 0 {
			text += a.T("fabriccheck.places", "n", n.Places)
		}
		return text
	}
	_, err := fmt.Fprintln(a.Stdout, a.T("fabriccheck.result", "nodes", r.Nodes, "switches", r.Switches, "hosts", r.Hosts, "links", r.Links,
		"errors", total(check.Error), "warnings", total(check.Warning), "infos", total(check.Info)))
	return err
}

func (a *app) printTallies(w io.Writer, all []check.Tally) error {
	t := cmdline.NewTable(w, 0)
	if _, err := fmt.Fprintln(t, a.T("fabriccheck.columns")); err != nil {
		return err
	}
	for _, g := range all {
		name := a.T("fabriccheck.group." + string(g.Group))
		row := fmt.Sprintf("%s\t%d\t%d\t%d", name, g.Of, max(g.Of-g.Bad, 0), g.Bad)
		switch {
		case g.Skipped != "":
			row = fmt.Sprintf("%s\t-\t-\t-\t%s", name, a.T("fabriccheck.skipped", "why", a.T("fabriccheck.skip."+string(g.Skipped))))
		case g.Unread > 0:
			row += "\t" + a.T("fabriccheck.unread", "n", g.Unread)
		}
		if _, err := fmt.Fprintf(t, "%s\n", row); err != nil {
			return err
		}
	}
	return t.Flush()
}
