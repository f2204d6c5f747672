package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/progress"
	"fairlane/internal/usage"
	"fairlane/sim/lab/reproduce"
)

type reproduceFlags struct {
	json, full bool
	seed       uint64
	out        string
}

func (a *app) reproduceCommand() *cobra.Command {
	var f reproduceFlags
	cmd := &cobra.Command{
		Use: "reproduce [NAME...]", Short: a.T("reproduce.short"), Long: a.reproduceLong(),
		Example: `  fairlane reproduce                                  # all, in a few minutes
  fairlane reproduce s1-tenants s2-recovery
  fairlane reproduce s4-clamp --out results           # rows.csv, rows.json, figures.json, charts as PNG and SVG
  fairlane reproduce s1-ratelimit --json | jq '.[] | select(.ratio > 2)'`,
		ValidArgs: reproduce.Names(),
		RunE:      func(cmd *cobra.Command, names []string) error { return a.runReproduce(cmd.Context(), f, names) },
	}
	cmd.Flags().BoolVar(&f.json, "json", false, a.T("flag.json"))
	cmd.Flags().BoolVar(&f.full, "full", false, a.T("reproduce.flag.full"))
	a.SeedFlag(cmd, &f.seed, 1)
	cmd.Flags().StringVar(&f.out, "out", "", a.T("reproduce.flag.out"))
	return cmd
}

// reproduceLong returns the help text with a list of the experiments.
func (a *app) reproduceLong() string {
	text := a.T("reproduce.long") + "\n"
	for _, e := range reproduce.List() {
		text += fmt.Sprintf("\n  %-16s %s", e.Name, e.Description)
	}
	return text
}

func (a *app) runReproduce(ctx context.Context, f reproduceFlags, names []string) (err error) {
	if err := reproduce.Check(names...); err != nil {
		return usage.Wrap(err)
	}
	if f.out == "" {
		_, err := a.reproduce(ctx, f, names)
		return err
	}
	// Fail for an unwritable directory before minutes of work.
	files, err := newReproduceFiles(f.out, f.seed)
	if err != nil {
		return err
	}
	result, err := a.reproduce(ctx, f, names)
	charts, err := files.finish(result, err)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(a.Stderr, a.T("reproduce.written", "charts", strconv.Itoa(charts), "dir", f.out))
	return nil
}

// reproduce repeats the experiments and prints their rows; if interrupted, only those of finished experiments.
func (a *app) reproduce(ctx context.Context, f reproduceFlags, names []string) (*reproduce.Result, error) {
	p := progress.On(a.Stderr)
	result, err := reproduce.Repeat(ctx, reproduce.Options{Seed: f.seed, Full: f.full, Progress: func(done float64) {
		p.Show(a.T("reproduce.progress", "done", cmdline.Percent(done)))
	}}, names...)
	p.Clear()
	if err != nil && (result == nil || len(result.Rows) == 0) {
		return nil, err
	}
	if f.json {
		return result, errors.Join(err, cmdline.PrintJSON(a.Stdout, result.Rows))
	}
	return result, errors.Join(err, a.printReproduced(a.Stdout, result.Rows))
}

// printReproduced prints a table for each experiment, below its name.
func (a *app) printReproduced(w io.Writer, rows []reproduce.Row) error {
	about := map[string]string{}
	for _, e := range reproduce.List() {
		about[e.Name] = e.Description
	}
	for i := 0; i < len(rows); {
		name := rows[i].Name
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", name, about[name]); err != nil {
			return err
		}
		tw := cmdline.NewTable(w, 0)
		_, _ = fmt.Fprintln(tw, a.T("reproduce.head"))
		for ; i < len(rows) && rows[i].Name == name; i++ {
			r := &rows[i]
			_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Metric, figure(r.Published), figure(&r.Ours), figure(r.Ratio), r.Unit, r.Note)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// figure returns a number with four digits, or a dash for nil.
func figure(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}
