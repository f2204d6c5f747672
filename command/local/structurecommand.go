package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/ccconfig/headroom"
	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/qos"
	"fairlane/ccconfig/structure"
	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// structureFlags are the classes that a site gives its switches.
type structureFlags struct {
	classes, cnp cmdline.TrafficClasses
	want         structure.Want
	guard, scope string
	undo, asJSON bool
}

// structureCommand returns the commands about the structure of classes on switches, which need no service and touch no device.
func (a *app) structureCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "structure", Short: a.T("structure.short")}
	cmd.AddCommand(a.structurePlanCommand(), a.structureCheckCommand())
	return cmd
}

func (a *app) addStructureFlags(cmd *cobra.Command, f *structureFlags) {
	f.cnp = cmdline.TrafficClasses{{DSCP: 48, Queue: 6}}
	cmd.Flags().Var(&f.classes, "classes", a.T("structure.flag.classes"))
	cmd.Flags().Var(&f.cnp, "cnp", a.T("structure.flag.cnp"))
	cmd.Flags().BoolVar(&f.want.Lossy, "lossy", false, a.T("structure.flag.lossy"))
	cmd.Flags().Uint8Var(&f.want.Weight, "weight", 10, a.T("structure.flag.weight", "max", qos.MaxWeight))
	cmd.Flags().StringVar(&f.guard, "guard", string(structure.Guard2026), a.T("structure.flag.guard"))
	cmd.Flags().BoolVar(&f.want.WritableMaps, "writable-maps", false, a.T("structure.flag.writable-maps"))
	cmd.Flags().Float64Var(&f.want.Oversubscription, "oversubscription", headroom.Oversubscription, a.T("structure.flag.oversubscription"))
	cmd.Flags().BoolVar(&f.asJSON, "json", false, a.T("flag.json"))
	cmdline.Must(cmd.MarkFlagRequired("classes"))
}

func (a *app) structurePlanCommand() *cobra.Command {
	var f structureFlags
	cmd := &cobra.Command{
		Use: "plan FILE --classes DSCP:QUEUE[,...]", Short: a.T("structure.plan.short"), Long: a.T("structure.plan.long"), Args: cmdline.OneArgument("FILE"),
		Example: `  fairlane structure plan config_db.json --classes 26:3,34:4
  fairlane structure plan config_db0.json --classes 26:3,34:4 --scope asic0 --json
  fairlane structure plan config_db.json --classes 26:3,34:4 --guard 2025 --undo`,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.showStructure(&f, args[0], func(p *structure.Plan) error { return a.printStructure(p, f.undo) })
			if err == nil && len(p.Obstacles) > 0 {
				err = errors.New(a.T("structure.blocked", "n", len(p.Obstacles)))
			}
			return err
		},
	}
	a.addStructureFlags(cmd, &f)
	cmd.Flags().StringVar(&f.scope, "scope", "", a.T("structure.flag.scope"))
	cmd.Flags().BoolVar(&f.undo, "undo", false, a.T("structure.flag.undo"))
	return cmd
}

func (a *app) structureCheckCommand() *cobra.Command {
	var f structureFlags
	cmd := &cobra.Command{
		Use: "check FILE --classes DSCP:QUEUE[,...]", Short: a.T("structure.check.short"), Long: a.T("structure.check.long"), Args: cmdline.OneArgument("FILE"),
		Example: "  fairlane structure check config_db.json --classes 26:3,34:4\n  fairlane structure check config_db.json --classes 26:3 --lossy --json",
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.showStructure(&f, args[0], func(p *structure.Plan) error { a.printStructureSummary(p); return nil })
			if err == nil && !p.Done() {
				err = errors.New(a.T("structure.differs", "ports", p.Down))
			}
			return err
		},
	}
	a.addStructureFlags(cmd, &f)
	return cmd
}

// showStructure plans the structure of a file, and prints the plan as JSON or in words.
func (a *app) showStructure(f *structureFlags, path string, words func(*structure.Plan) error) (*structure.Plan, error) {
	p, err := f.plan(path)
	switch {
	case err != nil:
		return nil, err
	case f.asJSON:
		return p, cmdline.PrintJSON(a.Stdout, p)
	}
	return p, words(p)
}

// scopes are the scopes of a patch: the switch, or one of its ASICs.
var scopes = regexp.MustCompile(`^(localhost|asic[0-9]{1,2})$`)

// plan reads a file and plans its structure.
func (f *structureFlags) plan(path string) (*structure.Plan, error) {
	text, err := cmdline.ReadFile(phrase.Verbatim("config_db.json"), path, adopt.MaxBytes)
	if err != nil {
		return nil, err
	}
	if len(f.cnp) != 1 {
		return nil, usage.Of(phrase.Of("structure.one-cnp", "n", len(f.cnp)))
	}
	if f.scope != "" && !scopes.MatchString(f.scope) {
		return nil, usage.Of(phrase.Of("structure.scope", "found", fmt.Sprintf("%.64q", f.scope)))
	}
	t, err := structure.Parse(text)
	if err != nil {
		return nil, usage.Wrap(fmt.Errorf("%s: %w", path, err))
	}
	f.want.Classes, f.want.CNP, f.want.Guard = f.classes, f.cnp[0], structure.Guard(f.guard)
	p, err := structure.Compute(t, f.want)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	for i := range p.Steps {
		for _, ops := range [][]structure.Op{p.Steps[i].Ops, p.Steps[i].Undo} {
			for j := range ops {
				if f.scope != "" {
					ops[j].Path = "/" + f.scope + ops[j].Path
				}
			}
		}
	}
	return p, nil
}

// printStructureSummary prints what would change, on which ports, and what stands against it.
func (a *app) printStructureSummary(p *structure.Plan) {
	if p.Done() {
		_, _ = fmt.Fprintln(a.Stdout, a.T("structure.done"))
		return
	}
	for _, g := range p.Groups {
		_, _ = fmt.Fprintln(a.Stdout, a.T("structure.group", "n", len(g.Ports), "speed", g.Speed, "ports", some(g.Ports), "tables", strings.Join(g.Rows, ", ")))
	}
	_, _ = fmt.Fprintln(a.Stdout, a.T("structure.total", "steps", len(p.Steps), "ports", p.Down, "minutes", p.Minutes()))
	if p.Lossless > 0 && p.Ratio > 0 {
		_, _ = fmt.Fprintln(a.Stdout, a.T("structure.headroom", "n", p.Lossless, "ratio", fmt.Sprintf("%.1f", p.Ratio)))
	}
	for _, o := range p.Obstacles {
		where := append(append([]string{}, o.Rows...), o.Ports...)
		_, _ = fmt.Fprintln(a.Stdout, a.T("structure.obstacle."+string(o.Reason), "where", some(where)))
	}
}

// printStructure prints the summary, and the patch of each step, or the patch that undoes it, in the order of use.
func (a *app) printStructure(p *structure.Plan, undo bool) error {
	a.printStructureSummary(p)
	for n := range p.Steps {
		s := &p.Steps[n]
		ops := s.Ops
		if undo {
			s = &p.Steps[len(p.Steps)-1-n]
			ops = s.Undo
		}
		title := a.T("structure.step.objects", "n", n+1)
		if s.Port != "" {
			title = a.T("structure.step.port", "n", n+1, "port", s.Port)
		}
		lines := make([]string, len(ops))
		for i, o := range ops {
			text, err := json.Marshal(o)
			if err != nil {
				return err
			}
			lines[i] = string(text)
		}
		if _, err := fmt.Fprintf(a.Stdout, "\n%s\n[%s]\n", title, strings.Join(lines, ",\n ")); err != nil {
			return err
		}
	}
	return nil
}
