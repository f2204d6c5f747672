package local

import (
	"fmt"
	"strings"

	"fairlane/command/cmdline"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

// printOpenSM prints the master, Fairlane's part of the files, and the problems.
func (a *app) printOpenSM(s *opensm.State) error {
	o := s.Observation
	t := cmdline.NewTable(a.Stdout, 0)
	row := func(key string, value any) { fmt.Fprintf(t, "%s\t%v\n", a.T("opensm.show."+key), value) }
	row("master", fmt.Sprintf("%s, LID %d", o.GUID, o.LID))
	if o.UnknownMaster != "" {
		row("ours", a.T("opensm.show.unknown", "error", o.UnknownMaster))
	}
	row("state", fmt.Sprintf("%s, %s", smState(o.State), a.T("opensm.show.priority", "priority", o.Priority, "activity", o.Activity)))
	if o.Foreign {
		row("process", a.T("opensm.show.foreign"))
	} else {
		process := o.Process
		if process == "" {
			process = a.T("opensm.show.unknown", "error", o.NoProcess)
		}
		row("process", process)
		row("congestion", a.T(fmt.Sprintf("opensm.show.congestion.%t", o.WritesCC)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Stdout)
	if err == nil {
		err = a.printPartitions(s.Partitions)
	}
	if err == nil {
		err = a.printProblems(s.Problems)
	}
	return err
}

// smState names a state of SMInfo (IBTA vol. 1, 14.2.5.13).
func smState(state uint8) string {
	switch state {
	case mad.SMStateMaster:
		return "master"
	case mad.SMStateStandby:
		return "standby"
	}
	return fmt.Sprintf("state %d", state)
}

func (a *app) printPartitions(ps []osmfile.Partition) error {
	if len(ps) == 0 {
		_, err := fmt.Fprintln(a.Stdout, a.T("opensm.show.none"))
		return err
	}
	t := cmdline.NewTable(a.Stdout, 0)
	fmt.Fprintln(t, a.T("opensm.show.columns"))
	for _, p := range ps {
		members := fmt.Sprint(len(p.Members) - len(p.Grouped()))
		if p.All {
			members = a.T("opensm.show.all")
		}
		row := func(sl ident.SL, members any) {
			fmt.Fprintf(t, "%s\t0x%04x\t%d\t%v\n", p.Tenant, uint16(p.PKey), sl, members)
		}
		row(p.SL, members)
		for _, g := range p.Groups {
			row(g.SL, len(g.Ports))
		}
	}
	return t.Flush()
}

// printProblems prints problems, each with its code and remedy.
func (a *app) printProblems(ps []osmfile.Problem) error {
	for _, p := range ps {
		grade := "opensm.problem"
		switch {
		case p.Warning:
			grade = "opensm.warning"
		case p.Final:
			grade = "opensm.final"
		}
		if _, err := fmt.Fprintf(a.Stdout, "%s %s\n  %s\n  -> %s\n", a.T(grade), p.Code, p.Located(), p.Remedy); err != nil {
			return err
		}
	}
	return nil
}

// printDifference prints the changes and the problems that prevent them.
func (a *app) printDifference(differences []string, ps []osmfile.Problem) error {
	if err := a.printProblems(ps); err != nil {
		return err
	}
	for _, d := range differences {
		if _, err := fmt.Fprintln(a.Stdout, strings.TrimRight(d, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// printApplied prints what was done, or why nothing was done.
func (a *app) printApplied(r *opensmApplied, asJSON bool) error {
	if asJSON {
		return cmdline.PrintJSON(a.Stdout, r)
	}
	if err := a.printDifference(r.Differences, r.Problems); err != nil {
		return err
	}
	for _, s := range r.Steps {
		if _, err := fmt.Fprintf(a.Stdout, "%s: %s\n", a.T("opensm.step."+s.Name), s.Text); err != nil {
			return err
		}
	}
	if r.Cause.Text != "" {
		if _, err := fmt.Fprintln(a.Stdout, a.T("opensm.apply.cause", "cause", a.Texts.Say(r.Cause.Said))); err != nil {
			return err
		}
	}
	return nil
}

// printProof prints the answer of subnet administration for each partition.
func (a *app) printProof(p opensm.Proof) error {
	t := cmdline.NewTable(a.Stdout, 0)
	fmt.Fprintln(t, a.T("opensm.verify.columns"))
	for _, x := range p.Partitions {
		verdict := "opensm.verify.holds"
		switch {
		case !x.Holds:
			verdict = "opensm.verify.not"
		case x.Asked == x.Silent:
			verdict = "opensm.verify.silent"
		}
		fmt.Fprintf(t, "%s\t0x%04x\t%d\t%d\t%s\t%s\n", x.Tenant, uint16(x.PKey), x.Want, x.Asked-x.Silent, a.T(verdict), x.Problem)
	}
	for _, x := range p.Lanes {
		verdict := "opensm.verify.holds"
		switch {
		case !x.Holds:
			verdict = "opensm.verify.not"
		case x.Silent:
			verdict = "opensm.verify.silent"
		}
		fmt.Fprintf(t, "%s\t\t\t\t%s\t%s\n", a.T("opensm.verify.lanes", "lid", x.LID), a.T(verdict), x.Problem)
	}
	return t.Flush()
}
