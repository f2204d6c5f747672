package app

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlane/sim/reproduce"
)

func (a *app) reproduceCommand() *cobra.Command {
	var asJSON bool
	var seed uint64
	cmd := &cobra.Command{
		Use: "reproduce [NAME...]", Short: a.t("reproduce.short"), Long: a.reproduceLong(),
		Example:   "  fairlane reproduce\n  fairlane reproduce s1-tenants --json",
		ValidArgs: reproduce.Names(),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := reproduce.Check(names...); err != nil {
				return &UsageError{err}
			}
			p := newProgress(a.stderr)
			rows, err := reproduce.Run(cmd.Context(), seed, func(done float64) {
				p.show(a.t("reproduce.progress", "done", percent(done)))
			}, names...)
			p.clear()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, rows)
			}
			return a.printReproduced(a.stdout, rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, a.t("flag.json"))
	cmd.Flags().Uint64Var(&seed, "seed", 1, a.t("flag.seed"))
	return cmd
}

// reproduceLong is the help text with the experiments listed.
func (a *app) reproduceLong() string {
	text := a.t("reproduce.long") + "\n"
	for _, e := range reproduce.List() {
		text += fmt.Sprintf("\n  %-16s %s", e.Name, e.Description)
	}
	return text
}

func (a *app) printReproduced(w io.Writer, rows []reproduce.Row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, a.t("reproduce.head"))
	for _, r := range rows {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Metric, figure(r.Published), figure(&r.Ours), figure(r.Ratio), r.Unit, r.Note)
	}
	return tw.Flush()
}

// figure prints a number to four digits, and a dash where there is none.
func figure(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}
