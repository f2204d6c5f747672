package local

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"fairlane/command/cmdline"
	"fairlane/command/remote"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/texttable"
	"fairlane/policy"
)

// rowsOf returns the number of rows to print: the requested number, all, or about a screen.
func (f *compileFlags) rowsOf(all int) int {
	const screen = 20
	switch {
	case f.all:
		return all
	case f.top > 0:
		return min(f.top, all)
	}
	return min(screen, all)
}

// table starts a table, which is not shortened with --all.
func (f *compileFlags) table(w io.Writer) *cmdline.Table {
	t := cmdline.NewTable(w, 0)
	t.Whole = f.all
	return t
}

// printCompiled prints a plan: first shares, then links on request, findings, the changes against another plan and, on
// request, the reason of every setting.
func (a *app) printCompiled(w io.Writer, c *Compiled, f compileFlags) error {
	_, _ = fmt.Fprintln(w, a.planTitle(c.Plan))
	left := 0
	for _, show := range []func() (int, error){
		func() (int, error) { return a.printShares(w, c, &f) },
		func() (int, error) {
			if c.Settle > 0 {
				_, _ = fmt.Fprintln(w, a.T("plan.settle", "time", c.Settle))
			}
			if err := a.printTrafficClasses(w, c.Plan); err != nil {
				return 0, err
			}
			a.printOutside(w, c)
			return a.printClasses(w, c.Classes, &f)
		},
		func() (int, error) {
			if !f.links {
				return 0, nil
			}
			return a.printLinks(w, c.Links, &f)
		},
	} {
		n, err := show()
		if err != nil {
			return err
		}
		left += n
	}
	a.printFindings(w, c, f.all)
	if c.Difference != nil {
		_, _ = fmt.Fprintln(w, a.T("compile.difference", "name", c.Before.Name))
		lines := c.Difference.Lines()
		most := f.rowsOf(len(lines))
		for _, line := range lines[:most] {
			_, _ = fmt.Fprintln(w, "  "+line.Indent()+a.Texts.Say(line.Text))
		}
		left += len(lines) - most
	}
	if left > 0 {
		_, _ = fmt.Fprintln(w, a.T("msg.rows-left", "count", left))
	}
	if f.explain || c.Why != nil {
		return a.printReasons(w, c.Why)
	}
	return nil
}

// printFindings prints findings with their advice, summarized by code unless all are requested.
func (a *app) printFindings(w io.Writer, c *Compiled, all bool) {
	list := slices.Concat(c.Notices, c.Findings)
	texts := make([]remote.FindingText, len(list))
	for i, f := range list {
		texts[i] = remote.FindingText{Code: f.Code, Tenants: f.Tenants, Said: phrase.Or(f.Message, f.Statement), Advice: phrase.Or(f.Fix, f.Advice)}
	}
	off := map[string]float64{}
	for _, t := range c.Tenants {
		off[t.Tenant] = t.PredictedError
	}
	p := remote.FindingPrinter{Out: w, Texts: a.Texts, Columns: texttable.Columns(w, os.Getenv), All: all, Off: func(tenant string) float64 { return off[tenant] }}
	p.Print(texts)
}

func (a *app) planTitle(p *policy.Plan) string {
	switch {
	case p.RoCE != nil && len(p.RoCE.Classes) > 0:
		return a.T("compile.title.roce-classes", "name", p.Name, "ports", len(p.RoCE.NICs), "switches", len(p.RoCE.Switches), "classes", len(p.RoCE.Classes))
	case p.RoCE != nil:
		return a.T("compile.title.roce", "name", p.Name, "ports", len(p.RoCE.NICs), "switches", len(p.RoCE.Switches))
	case p.WRCC != nil:
		ports := 0
		for i := range p.WRCC.Ports {
			ports += len(p.WRCC.Ports[i].Ports)
		}
		return a.T("compile.title.wrcc", "name", p.Name, "ports", ports, "senders", len(p.WRCC.Senders), "unit", p.WRCC.Unit)
	}
	return a.T("compile.title", "name", p.Name, "ports", len(p.CAs), "switches", len(p.Switches))
}

// printTrafficClasses prints the traffic classes of a RoCE plan with their tenants, if classes divide links.
func (a *app) printTrafficClasses(w io.Writer, p *policy.Plan) error {
	if p.RoCE == nil || len(p.RoCE.Classes) == 0 {
		return nil
	}
	tw := cmdline.NewTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.T("compile.table.traffic-classes"))
	for _, c := range p.RoCE.Classes {
		off := "-"
		if len(c.Tenants) > 1 {
			off = cmdline.Percent(c.Error)
		}
		_, _ = fmt.Fprintf(tw, "%d\t%d\t%s\t%s\n", c.Queue, c.DSCP, off, cmp.Or(strings.Join(c.Tenants, ", "), "-"))
	}
	return tw.Flush()
}

// printShares prints the tenants' shares, with those of the earlier plan and of the simulator if these exist. It
// returns the number of omitted tenants: of many, it prints those with the largest share errors.
func (a *app) printShares(w io.Writer, c *Compiled, f *compileFlags) (left int, err error) {
	tw := f.table(w)
	head := a.T("compile.table.head")
	if c.Simulation != nil {
		head += "\t" + a.T("compile.table.simulated")
	}
	was := map[string]policy.TenantShare{}
	if c.Before != nil {
		head += "\t" + a.T("compile.table.before")
		for _, t := range c.Before.Tenants {
			was[t.Tenant] = t
		}
	}
	_, _ = fmt.Fprintln(tw, head)
	shown := worstFirst(len(c.Tenants), f.rowsOf, func(i int) float64 { return c.Tenants[i].PredictedError })
	for i, t := range c.Tenants {
		before := was[t.Tenant]
		delete(was, t.Tenant)
		if shown[i] {
			_, _ = fmt.Fprintln(tw, shareRow(c, i, before))
		}
	}
	if c.Before != nil {
		for _, t := range c.Before.Tenants {
			if _, gone := was[t.Tenant]; gone {
				_, _ = fmt.Fprintln(tw, goneRow(c, t))
			}
		}
	}
	return len(c.Tenants) - len(shown), tw.Flush()
}

// shareRow returns one tenant's row of the shares.
func shareRow(c *Compiled, i int, was policy.TenantShare) string {
	t := c.Tenants[i]
	row := []string{t.Tenant, t.Weight.String(), fmt.Sprint(t.QPs), t.Entitled.String(),
		fmt.Sprintf("%s (%s)", bounded(t.Predicted, t.Bound), cmdline.Percent(t.PredictedError))}
	if c.Simulation != nil {
		s := c.Simulation.Tenants[i]
		row = append(row, fmt.Sprintf("%s (%s)", s.Delivered, cmdline.Percent(s.ShareError)))
	}
	if c.Before != nil {
		row = append(row, before(was))
	}
	return strings.Join(row, "\t")
}

// goneRow returns the row of a tenant that exists only in the plan before.
func goneRow(c *Compiled, t policy.TenantShare) string {
	row := []string{t.Tenant, "-", "-", "-", "-"}
	if c.Simulation != nil {
		row = append(row, "-")
	}
	return strings.Join(append(row, before(t)), "\t")
}

// worstFirst selects those of n entries with the largest badness; rows returns how many.
func worstFirst(n int, rows func(int) int, badness func(int) float64) map[int]bool {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(badness(b), badness(a)) })
	shown := map[int]bool{}
	for _, i := range order[:rows(n)] {
		shown[i] = true
	}
	return shown
}

// printOutside names the tenants whose simulated rate deviates from the prediction by more than its error bound.
func (a *app) printOutside(w io.Writer, c *Compiled) {
	if c.Simulation == nil {
		return
	}
	for i, s := range c.Simulation.Tenants {
		if !s.Within {
			_, _ = fmt.Fprintln(w, a.T("compile.outside", "tenant", s.Tenant, "error", cmdline.Percent(s.PredictionError), "bound", quantity.Percent(c.Tenants[i].Bound)))
		}
	}
}

// before returns a tenant's rate in another plan, "-" if the tenant does not exist there.
func before(t policy.TenantShare) string {
	if t.Tenant == "" {
		return "-"
	}
	return bounded(t.Predicted, t.Bound)
}

// bounded returns a prediction with its relative error bound, "57.1 Gbit/s ± 3 %"; 0 has none.
func bounded(r quantity.BitRate, bound float64) string {
	if bound <= 0 || r == 0 {
		return r.String()
	}
	return r.String() + " ± " + quantity.Percent(bound)
}

// offTarget returns the relative deviation of a prediction from the entitlement.
func offTarget(predicted, entitled quantity.BitRate) float64 {
	if entitled == 0 {
		return 0
	}
	return math.Abs(float64(predicted)/float64(entitled) - 1)
}

// printClasses prints the classes' shares, and returns the number of omitted classes.
func (a *app) printClasses(w io.Writer, cs []policy.ClassShare, f *compileFlags) (left int, err error) {
	if len(cs) == 0 {
		return 0, nil
	}
	shown := worstFirst(len(cs), f.rowsOf, func(i int) float64 { return offTarget(cs[i].Predicted, cs[i].Entitled) })
	tw := f.table(w)
	_, _ = fmt.Fprintln(tw, a.T("compile.classes.head"))
	for i, c := range cs {
		if shown[i] {
			_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", c.Tenant, c.Class, c.Weight, c.QPs, c.Entitled, c.Predicted)
		}
	}
	return len(cs) - len(shown), tw.Flush()
}

// printLinks prints each tenant's rate on the contended links, and returns the number of omitted rows. Of many links it
// prints those on which a tenant has the largest share errors.
func (a *app) printLinks(w io.Writer, ls []policy.LinkShare, f *compileFlags) (left int, err error) {
	if len(ls) == 0 {
		_, err := fmt.Fprintln(w, a.T("compile.links.none"))
		return 0, err
	}
	all := 0
	for i := range ls {
		all += len(ls[i].Tenants)
	}
	links := worstLinks(ls, f.rowsOf(all))
	tw := f.table(w)
	_, _ = fmt.Fprintln(tw, a.T("compile.links.head"))
	for i, l := range ls {
		if !links[i] {
			left += len(l.Tenants)
			continue
		}
		name, capacity := l.Name, l.Capacity.String()
		for _, t := range l.Tenants {
			_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", name, capacity, t.Tenant, t.QPs, t.Entitled, bounded(t.Predicted, t.Bound))
			name, capacity = "", ""
		}
	}
	return left, tw.Flush()
}

// worstLinks selects at least one link, with at most room tenants in total: those on which a tenant has the largest
// share errors.
func worstLinks(ls []policy.LinkShare, room int) map[int]bool {
	off := make([]float64, len(ls))
	order := make([]int, len(ls))
	for i := range ls {
		order[i] = i
		for _, t := range ls[i].Tenants {
			off[i] = max(off[i], offTarget(t.Predicted, t.Entitled))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(off[b], off[a]) })
	shown := map[int]bool{}
	for _, i := range order {
		if room -= len(ls[i].Tenants); room < 0 && len(shown) > 0 {
			break
		}
		shown[i] = true
	}
	return shown
}

// printReasons prints the reason for each value, device by device.
func (a *app) printReasons(w io.Writer, es []policy.Explanation) error {
	var rules []string
	for _, e := range es {
		_, _ = fmt.Fprintf(w, "\n%s %s  %s\n", e.Kind, e.Name, deviceList(e.Devices))
		if e.Note != "" {
			_, _ = fmt.Fprintf(w, "  %s\n", e.Note)
		}
		tw := cmdline.NewTable(w, 0)
		tw.Prose = true
		_, _ = fmt.Fprintln(tw, "  "+a.T("compile.explain.head"))
		either := a.Texts.Either
		for i := range e.Reasons {
			r := &e.Reasons[i]
			rules = append(rules, r.Rule)
			said, clamped := r.Said(), ""
			if r.Clamped != "" {
				clamped = " [" + either(r.Clamped, said.Clamped) + "]"
			}
			_, _ = fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\t%s\t%s%s\n", either(r.Field, said.Field), dash(either(r.Value, said.Value)), dash(either(r.Unit, said.Unit)),
				dash(either(r.Range, said.Range)), dash(r.Tenant), dash(r.Rule), either(r.Formula, said.Formula), clamped)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return a.printRules(w, rules)
}

// printRules prints the rules of reasons in words.
func (a *app) printRules(w io.Writer, rules []string) error {
	explained := a.Texts.Rules(rules)
	if len(explained) == 0 {
		return nil
	}
	tw := cmdline.NewTable(w, 0)
	tw.Prose = true
	_, _ = fmt.Fprintln(tw, "\n"+a.T("compile.rules.head"))
	for _, r := range explained {
		_, _ = fmt.Fprintf(tw, "%s\t%s\n", r.Rule, r.Text)
	}
	return tw.Flush()
}

// deviceList returns the identifiers of the devices of one explanation, a few of many.
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
