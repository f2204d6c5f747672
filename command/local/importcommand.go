package local

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/policy"
)

func (a *app) importCommand() *cobra.Command {
	var from []string
	var plan string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import --from DEVICE=KIND:FILE [--from ...]",
		Short: a.T("import.short"),
		Long:  a.T("import.long"),
		Example: `  fairlane import --from host1=mlxconfig:host1.txt
  fairlane import --from host1=mlxconfig:host1.txt --from host1/P1=dcb:dcb.json --from host1/P1=ethtool:stats.txt --json
  fairlane import --from leaf1=sonic:config_db.json
  fairlane import --from host1=mlxconfig:host1.txt --from leaf1=sonic:config_db.json --plan plan.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			out, err := runImport(from, plan)
			if err != nil {
				return err
			}
			if asJSON {
				return cmdline.PrintJSON(a.Stdout, out)
			}
			return a.printImported(out)
		},
	}
	cmd.Flags().StringArrayVar(&from, "from", nil, a.T("import.from"))
	cmd.Flags().StringVar(&plan, "plan", "", a.T("import.plan"))
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	cmdline.Must(cmd.MarkFlagRequired("from"))
	return cmd
}

// runImport reads device texts and, if planPath is set, compares them with that plan.
func runImport(from []string, planPath string) (*imported, error) {
	devices, err := readImports(from)
	if err != nil {
		return nil, err
	}
	out := &imported{NICs: []importedNIC{}, Switches: []importedSwitch{}}
	for _, d := range devices {
		if d.state.Switch != nil {
			out.Switches = append(out.Switches, d.sw())
		}
		if len(d.state.Settings)+len(d.counters) > 0 || d.state.Switch == nil {
			out.NICs = append(out.NICs, d.nic())
		}
	}
	out.Policy, out.Warnings = startPolicy(devices)
	if planPath == "" {
		return out, nil
	}
	plan, err := readPlan(planPath, policy.PlaneRoCE)
	if err != nil {
		return nil, err
	}
	if plan.RoCE == nil {
		return nil, usage.Of(phrase.Of("import.no-roce", "file", planPath))
	}
	drift, warnings := driftOf(devices, plan)
	out.Plan, out.Drift, out.Warnings = plan.Name, drift, append(out.Warnings, warnings...)
	return out, nil
}

// printImported prints the state, the initial policy, and the drift.
func (a *app) printImported(r *imported) error {
	a.Warn(r.Warnings...)
	for i := range r.NICs {
		if err := a.printImportedNIC(a.Stdout, &r.NICs[i]); err != nil {
			return err
		}
	}
	for i := range r.Switches {
		if err := a.printImportedSwitch(a.Stdout, &r.Switches[i]); err != nil {
			return err
		}
	}
	a.printStartPolicy(a.Stdout, &r.Policy)
	if r.Plan == "" {
		return nil
	}
	return a.printImportedDrift(a.Stdout, r)
}

// orDash returns a number, or a dash for nil.
func orDash[T int | int64 | uint64](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// place formats a position as FILE:LINE, or only the file if line is 0.
func place(file string, line int) string {
	if line > 0 {
		return file + ":" + strconv.Itoa(line)
	}
	return file
}

func (a *app) printImportedNIC(w io.Writer, n *importedNIC) error {
	_, _ = fmt.Fprintln(w, a.T("import.nic", "device", n.Device, "params", len(n.Params), "counters", len(n.Counters)))
	t := cmdline.NewTable(w, 0)
	if len(n.Params) > 0 {
		_, _ = fmt.Fprintln(t, a.T("import.nic.columns"))
	}
	for i := 0; i < len(n.Params); {
		same := n.Params[i : i+alike(n.Params[i:])]
		i += len(same)
		p, next := &same[0], "-"
		if p.Next != nil {
			next = fmt.Sprint(*p.Next)
		}
		_, _ = fmt.Fprintf(t, "  %d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Port, p.Name, values(same), p.Unit, orDash(p.Default), next, p.By, place(p.File, p.Line))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range n.Counters {
		if c.Problem != "" {
			_, _ = fmt.Fprintln(w, "  "+a.T("import.nic.unread", "port", c.Port, "name", c.Name, "problem", c.Problem))
		}
	}
	if len(n.Unknown) > 0 {
		_, _ = fmt.Fprintln(w, "  "+a.T("import.nic.unknown", "n", len(n.Unknown), "names", some(n.Unknown)))
	}
	return nil
}

// alike returns the number of leading rows with the same parameter at different indices, from one line of a file.
func alike(rows []importedParam) int {
	n := 1
	for n < len(rows) && rows[n].Name == rows[0].Name && rows[n].Port == rows[0].Port && rows[n].File == rows[0].File && rows[n].Line == rows[0].Line {
		n++
	}
	return n
}

// values returns the values of a parameter by index: "0 0 0 1" if the indices start at 0 without gaps, otherwise "26:3
// 48:6".
func values(rows []importedParam) string {
	dense := rows[len(rows)-1].Index == len(rows)-1
	var words []string
	for _, r := range rows {
		word := strconv.FormatUint(r.Value, 10)
		if !dense {
			word = strconv.Itoa(r.Index) + ":" + word
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// some joins the first six names.
func some(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", …"
}

func (a *app) printImportedSwitch(w io.Writer, s *importedSwitch) error {
	_, _ = fmt.Fprintln(w, a.T("import.switch", "device", s.Device, "queues", len(s.Queues), "ports", len(s.Ports)))
	t := cmdline.NewTable(w, 0)
	if len(s.Queues) > 0 {
		_, _ = fmt.Fprintln(t, a.T("import.switch.columns"))
	}
	for _, q := range s.Queues {
		share, weight := "-", "-"
		if q.Share > 0 {
			share, weight = fmt.Sprintf("%.1f %%", q.Share), strconv.Itoa(q.Weight)
		}
		profile, marking := q.Profile, "-"
		if q.MinBytes != nil {
			marking = fmt.Sprintf("%d..%d bytes, %d %%", *q.MinBytes, *q.MaxBytes, *q.PMaxPct)
		}
		number := "-"
		if q.Number > 0 {
			number = strconv.Itoa(q.Number)
		}
		_, _ = fmt.Fprintf(t, "  %s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", q.Port, number, q.Queue, dash(q.Scheduler), weight, share, dash(profile), marking)
	}
	return t.Flush()
}

func (a *app) printStartPolicy(w io.Writer, p *importedPolicy) {
	if len(p.DCQCN)+len(p.Marking)+len(p.Weights) == 0 {
		_, _ = fmt.Fprintln(w, a.T("import.policy.none"))
		return
	}
	_, _ = fmt.Fprintln(w, a.T("import.policy"))
	for _, d := range p.DCQCN {
		s := d.Settings
		key := "import.policy.dcqcn"
		if d.Default {
			key = "import.policy.dcqcn.default"
		}
		_, _ = fmt.Fprintln(w, "  "+a.T(key, "n", len(d.Ports), "ports", some(d.Ports), "ai", s.AIRate, "hai", s.HAIRate, "timer", s.TimeReset, "gd", s.GD))
	}
	for _, m := range p.Marking {
		_, _ = fmt.Fprintln(w, "  "+a.T("import.policy.marking", "n", len(m.Queues), "queues", some(m.Queues), "min", m.Marking.Min, "max", m.Marking.Max, "pmax", m.Marking.PMaxPct))
	}
	for _, x := range p.Weights {
		_, _ = fmt.Fprintln(w, "  "+a.T("import.policy.weight", "weight", x.Weight, "percent", fmt.Sprintf("%.1f", x.Percent), "of", some(x.Of)))
	}
}

func (a *app) printImportedDrift(w io.Writer, r *imported) error {
	if len(r.Drift) == 0 {
		_, _ = fmt.Fprintln(w, a.T("import.drift.none", "plan", r.Plan))
		return nil
	}
	_, _ = fmt.Fprintln(w, a.T("import.drift", "plan", r.Plan, "n", len(r.Drift)))
	t := cmdline.NewTable(w, 0)
	_, _ = fmt.Fprintln(t, a.T("import.drift.columns"))
	for _, d := range r.Drift {
		_, _ = fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", d.Device, d.What, d.Want, dash(d.Got), a.T("import.drift."+string(d.Reason)), dash(place(d.File, d.Line)))
	}
	return t.Flush()
}
