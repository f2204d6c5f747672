package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api"
	"fairlane/api/client"
	"fairlane/command/cmdline"
	"fairlane/internal/joined"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/service/config"
	"fairlane/service/placement"
	"fairlane/service/setup"
	"fairlane/subnet/opensm"
	"fairlane/subnet/umad"
)

// Statuses of a finding, from best to worst.
const (
	statusOK   = "ok"
	statusSkip = "unknown" // could not be determined from here
	statusWarn = "warning"
	statusFail = "fault"
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"`   // "config", "store", "clock", "keys", "tls", "port", "fabric", "sm", "jobs", "service", "portal"
	Subject string `json:"subject"` // file, fabric or address; empty if there is only one
	Status  string `json:"status"`  // "ok", "unknown", "warning" or "fault"
	Code    string `json:"code"`    // stable; its text is doctor.CODE in the catalogues
	Found   string `json:"found"`
	Do      string `json:"do,omitempty"` // remedy
}

// doctor collects findings.
type doctor struct {
	app      *app
	config   *config.Loaded
	url      string // of the running service
	opensm   string // OpenSM's options file
	managers placement.Managers
	umad     umad.Options
	findings []Finding
	now      func() time.Time
}

// note adds a finding. Its text is the catalogue's doctor.CODE with the values. A warning or a fault
// has the remedy doctor.CODE.do.
func (d *doctor) note(check, subject, status, code string, values ...any) {
	f := Finding{Check: check, Subject: subject, Status: status, Code: code, Found: d.app.T("doctor."+code, values...)}
	if status == statusWarn || status == statusFail {
		f.Do = d.app.T("doctor."+code+".do", values...)
	}
	d.findings = append(d.findings, f)
}

// checkTimeout is the time limit of each group of checks.
const checkTimeout = 20 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	var path *string
	var url string
	var asJSON, strict bool
	cmd := &cobra.Command{
		Use: "doctor", Short: a.T("doctor.short"), Long: a.T("doctor.long"), Args: cobra.NoArgs,
		Example: "  fairlane doctor --config /etc/fairlane/fairlane.yaml\n  fairlane doctor --database fairlane.db --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, u := range [...]struct{ from, url string }{{"--url", url}, {"FAIRLANE_URL", os.Getenv("FAIRLANE_URL")}} {
				if _, err := client.New(u.url, "", nil); u.url != "" && err != nil {
					return usage.Wrap(phrase.Because(err, phrase.Of("labelled", "label", u.from, "text", err)))
				}
			}
			d := &doctor{app: a, url: url, opensm: opensm.DefaultOptions, now: time.Now}
			d.run(cmd.Context(), cmd, *path)
			if err := d.print(asJSON); err != nil {
				return err
			}
			return d.verdict(strict)
		},
	}
	path = a.ConfigFlags(cmd)
	cmd.Flags().StringVar(&url, "url", "", a.T("doctor.flag.url"))
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	cmd.Flags().BoolVar(&strict, "strict", false, a.T("doctor.flag.strict"))
	return cmd
}

// run performs all checks. A failed check does not prevent independent ones.
func (d *doctor) run(ctx context.Context, cmd *cobra.Command, path string) {
	l, err := cmdline.LoadConfig(cmd, path)
	if err != nil {
		d.note("config", path, statusFail, "config-wrong", "error", err)
		return
	}
	d.config = l
	material, faults := setup.Read(&l.Config, api.OIDCCallback, nil)
	d.managers = material.Site.Managers
	if err := errors.Join(faults...); err != nil {
		d.note("config", path, statusFail, "config-files", "error", err)
	} else {
		d.note("config", path, statusOK, "config-right")
	}
	series := func(ctx context.Context) { d.series(ctx, material.Series) }
	for _, check := range []func(context.Context){d.keys, d.tls, d.store, series, d.service, d.builtPortal} {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		check(ctx)
		cancel()
	}
}

// print prints the findings as JSON or as a table, with the remedy below each warning or fault.
func (d *doctor) print(asJSON bool) error {
	if asJSON {
		return cmdline.PrintJSON(d.app.Stdout, d.findings)
	}
	t := cmdline.NewTable(d.app.Stdout, 0)
	fmt.Fprintf(t, "%s\t%s\t%s\n", d.app.T("doctor.col.check"), d.app.T("doctor.col.status"), d.app.T("doctor.col.found"))
	for _, f := range d.findings {
		name := f.Check
		if f.Subject != "" {
			name += " " + f.Subject
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, d.app.T("doctor.status."+f.Status), joined.OneLine(f.Found))
		if f.Do != "" {
			fmt.Fprintf(t, "\t\t→ %s\n", joined.OneLine(f.Do))
		}
	}
	return t.Flush()
}

// verdict returns an error if there is a fault; with strict, also if there is a warning.
func (d *doctor) verdict(strict bool) error {
	faults, warnings := 0, 0
	for _, f := range d.findings {
		switch f.Status {
		case statusFail:
			faults++
		case statusWarn:
			warnings++
		}
	}
	if faults > 0 || strict && warnings > 0 {
		return errors.New(d.app.T("doctor.verdict", "faults", faults, "warnings", warnings))
	}
	return nil
}
