package local

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"fairlane/api"
	"fairlane/api/client"
	"fairlane/command/cmdline"
	"fairlane/internal/joined"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/service/control"
	"fairlane/service/doctor"
)

// Finding is the result of one check (control.DoctorFinding), in the user's language.
type Finding struct {
	Check   string               `json:"check"`
	Subject string               `json:"subject"` // file, fabric or address; empty if there is only one
	Status  control.DoctorStatus `json:"status"`
	Code    string               `json:"code"` // stable
	Found   string               `json:"found"`
	Do      string               `json:"do,omitempty"` // remedy
}

// findings returns findings in the user's language.
func (a *app) findings(list []control.DoctorFinding) []Finding {
	out := make([]Finding, len(list))
	for i, f := range list {
		out[i] = Finding{Check: f.Check, Subject: f.Subject, Status: f.Status, Code: f.Code, Found: a.Texts.Say(f.Found), Do: a.Texts.Say(f.Do)}
	}
	return out
}

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
			found := a.findings(a.examine(cmd, *path, cmp.Or(url, os.Getenv("FAIRLANE_URL"))))
			if err := a.printDiagnosis(found, asJSON); err != nil {
				return err
			}
			return a.verdict(found, strict)
		},
	}
	path = a.ConfigFlags(cmd)
	cmd.Flags().StringVar(&url, "url", "", a.T("doctor.flag.url"))
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	cmd.Flags().BoolVar(&strict, "strict", false, a.T("doctor.flag.strict"))
	return cmd
}

// examine runs all checks of the configuration.
func (a *app) examine(cmd *cobra.Command, path, url string) []control.DoctorFinding {
	l, err := cmdline.LoadConfig(cmd, path)
	if err != nil {
		return []control.DoctorFinding{doctor.WrongConfig(path, err)}
	}
	return doctor.Examine(cmd.Context(), &l.Config, path, doctor.Options{Callback: api.OIDCCallback, URL: url})
}

// printDiagnosis prints the findings as JSON or as a table, with the remedy below each warning or fault.
func (a *app) printDiagnosis(list []Finding, asJSON bool) error {
	if asJSON {
		return cmdline.PrintJSON(a.Stdout, list)
	}
	t := cmdline.NewTable(a.Stdout, 0)
	fmt.Fprintf(t, "%s\t%s\t%s\n", a.T("doctor.col.check"), a.T("doctor.col.status"), a.T("doctor.col.found"))
	for _, f := range list {
		name := f.Check
		if f.Subject != "" {
			name += " " + f.Subject
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, a.T("doctor.status."+string(f.Status)), joined.OneLine(f.Found))
		if f.Do != "" {
			fmt.Fprintf(t, "\t\t→ %s\n", joined.OneLine(f.Do))
		}
	}
	return t.Flush()
}

// verdict returns an error if there is a fault; with strict, also if there is a warning.
func (a *app) verdict(list []Finding, strict bool) error {
	faults, warnings := 0, 0
	for _, f := range list {
		switch f.Status {
		case control.DoctorFault:
			faults++
		case control.DoctorWarning:
			warnings++
		}
	}
	if faults > 0 || strict && warnings > 0 {
		return errors.New(a.T("doctor.verdict", "faults", faults, "warnings", warnings))
	}
	return nil
}
