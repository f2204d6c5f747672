package app

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"fairlane/internal/cli"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
)

// printCompiled prints a plan for people: shares first, then links when asked, findings, what changes against another
// plan and, when asked, the reason of every setting.
func (a *app) printCompiled(w io.Writer, c *compiled, f compileFlags) error {
	_, _ = fmt.Fprintln(w, a.planTitle(c.Plan))
	if err := a.printShares(w, c); err != nil {
		return err
	}
	if c.Settle > 0 {
		_, _ = fmt.Fprintln(w, a.t("plan.settle", "time", c.Settle))
	}
	a.printOutside(w, c)
	if err := a.printClasses(w, c.Classes); err != nil {
		return err
	}
	if f.links {
		if err := a.printLinks(w, c.Links); err != nil {
			return err
		}
	}
	a.printFindings(w, slices.Concat(c.Notices, c.Findings))
	if c.Difference != nil {
		_, _ = fmt.Fprintln(w, a.t("compile.difference", "name", c.Before.Name))
		for _, line := range c.Difference.Lines() {
			_, _ = fmt.Fprintln(w, "  "+line.Indent()+a.text.Say(line.Text))
		}
	}
	if f.explain || c.Why != nil {
		return a.printReasons(w, c.Why)
	}
	return nil
}

// printFindings tells findings with their advice, those that are the same but for the port as one.
func (a *app) printFindings(w io.Writer, list []policy.Finding) {
	told := make([]cli.ToldFinding, len(list))
	for i, f := range list {
		told[i] = cli.ToldFinding{Code: f.Code, Tenants: f.Tenants, Links: f.Links, Said: phrase.Vouched(f.Message, f.Said), Advice: phrase.Vouched(f.Fix, f.Advice)}
	}
	for _, f := range cli.Alike(told) {
		_, _ = fmt.Fprintln(w, a.t("finding", "code", f.Code, "message", a.text.Say(f.Said)))
		if fix := a.text.Say(f.Advice); fix != "" {
			_, _ = fmt.Fprintln(w, a.t("finding.fix", "fix", fix))
		}
	}
}

// finding tells a finding without its advice.
func (a *app) finding(f *policy.Finding) string {
	return a.t("finding", "code", f.Code, "message", a.text.Told(f.Message, f.Said))
}

func (a *app) planTitle(p *policy.Plan) string {
	switch {
	case p.RoCE != nil:
		return a.t("compile.title.roce", "name", p.Name, "ports", len(p.RoCE.NICs), "switches", len(p.RoCE.Switches))
	case p.WRCC != nil:
		ports := 0
		for i := range p.WRCC.Ports {
			ports += len(p.WRCC.Ports[i].Ports)
		}
		return a.t("compile.title.wrcc", "name", p.Name, "ports", ports, "senders", len(p.WRCC.Senders), "unit", p.WRCC.Unit)
	}
	return a.t("compile.title", "name", p.Name, "ports", len(p.CAs), "switches", len(p.Switches))
}

// printShares prints the tenants' shares, beside those of the plan before and of the simulator when there are any.
func (a *app) printShares(w io.Writer, c *compiled) error {
	tw := newTable(w, 0)
	head := a.t("compile.table.head")
	was := map[string]policy.TenantShare{}
	if c.Before != nil {
		head += "\t" + a.t("compile.table.before")
		for _, t := range c.Before.Tenants {
			was[t.Tenant] = t
		}
	}
	_, _ = fmt.Fprintln(tw, head)
	for i, t := range c.Tenants {
		simulated := "-"
		if c.Simulation != nil {
			s := c.Simulation.Tenants[i]
			simulated = fmt.Sprintf("%s (%s)", s.Delivered, percent(s.ShareError))
		}
		row := []string{t.Tenant, t.Weight.String(), fmt.Sprint(t.QPs), t.Entitled.String(),
			fmt.Sprintf("%s (%s)", bounded(t.Predicted, t.Bound), percent(t.PredictedError)), simulated}
		if c.Before != nil {
			row = append(row, before(was[t.Tenant]))
			delete(was, t.Tenant)
		}
		_, _ = fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	if c.Before != nil {
		for _, t := range c.Before.Tenants {
			if _, gone := was[t.Tenant]; gone {
				_, _ = fmt.Fprintln(tw, strings.Join([]string{t.Tenant, "-", "-", "-", "-", "-", before(t)}, "\t"))
			}
		}
	}
	return tw.Flush()
}

// printOutside names the tenants whose simulated rate is further from the prediction than the prediction allows for.
func (a *app) printOutside(w io.Writer, c *compiled) {
	if c.Simulation == nil {
		return
	}
	for i, s := range c.Simulation.Tenants {
		if !s.Within {
			_, _ = fmt.Fprintln(w, a.t("compile.outside", "tenant", s.Tenant, "error", percent(s.PredictionError), "bound", quantity.Percent(c.Tenants[i].Bound)))
		}
	}
}

// before prints what another plan predicts for a tenant, "-" when it has no such tenant.
func before(t policy.TenantShare) string {
	if t.Tenant == "" {
		return "-"
	}
	return bounded(t.Predicted, t.Bound)
}

// bounded prints a prediction with the relative error that it states, "57.1 Gbit/s ± 3 %"; of nothing there is no error.
func bounded(r quantity.BitRate, bound float64) string {
	if bound <= 0 || r == 0 {
		return r.String()
	}
	return r.String() + " ± " + quantity.Percent(bound)
}

func (a *app) printClasses(w io.Writer, cs []policy.ClassShare) error {
	if len(cs) == 0 {
		return nil
	}
	tw := newTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.t("compile.classes.head"))
	for _, c := range cs {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", c.Tenant, c.Class, c.Weight, c.QPs, c.Entitled, c.Predicted)
	}
	return tw.Flush()
}

// printLinks prints what each tenant has of the contended links.
func (a *app) printLinks(w io.Writer, ls []policy.LinkShare) error {
	if len(ls) == 0 {
		_, err := fmt.Fprintln(w, a.t("compile.links.none"))
		return err
	}
	tw := newTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.t("compile.links.head"))
	for _, l := range ls {
		name, capacity := l.Name, l.Capacity.String()
		for _, t := range l.Tenants {
			_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", name, capacity, t.Tenant, t.QPs, t.Entitled, bounded(t.Predicted, t.Bound))
			name, capacity = "", ""
		}
	}
	return tw.Flush()
}

// printReasons answers why each number is what it is, device by device.
func (a *app) printReasons(w io.Writer, es []policy.Explanation) error {
	var rules []string
	for _, e := range es {
		_, _ = fmt.Fprintf(w, "\n%s %s  %s\n", e.Kind, e.Name, deviceList(e.Devices))
		if e.Note != "" {
			_, _ = fmt.Fprintf(w, "  %s\n", e.Note)
		}
		tw := newTable(w, 0)
		_, _ = fmt.Fprintln(tw, "  "+a.t("compile.explain.head"))
		for _, r := range e.Reasons {
			rules = append(rules, r.Rule)
			clamped := ""
			if r.Clamped != "" {
				clamped = " [" + r.Clamped + "]"
			}
			_, _ = fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\t%s\t%s%s\n", r.Field, dash(r.Value), dash(r.Unit), dash(r.Range), dash(r.Tenant), dash(r.Rule), r.Formula, clamped)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return a.printRules(w, rules)
}

// printRules says in words what the rules of reasons are.
func (a *app) printRules(w io.Writer, rules []string) error {
	told := a.text.Rules(rules)
	if len(told) == 0 {
		return nil
	}
	tw := newTable(w, 0)
	_, _ = fmt.Fprintln(tw, "\n"+a.t("compile.rules.head"))
	for _, r := range told {
		_, _ = fmt.Fprintf(tw, "%s\t%s\n", r.Rule, r.Text)
	}
	return tw.Flush()
}

// deviceList prints the identifiers of the devices of one explanation, a few of many.
func deviceList(ids []string) string {
	const most = 4
	if len(ids) > most {
		return strings.Join(ids[:most], " ") + fmt.Sprintf(" + %d", len(ids)-most)
	}
	return strings.Join(ids, " ")
}

func dash(s string) string {
	return cmp.Or(s, "-")
}
