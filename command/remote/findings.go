package remote

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/texttable"
)

// mostLines is the maximum number of terminal lines of a group of findings, or of another long sentence.
const mostLines = 3

// FindingText is the printed form of a finding in a plan.
type FindingText struct {
	Code    string
	Tenants []string
	Said    phrase.Text
	Advice  phrase.Text // without advice, its template is ""
}

// FindingPrinter prints findings in a table.
type FindingPrinter struct {
	Out     io.Writer
	Texts   *i18n.Catalogue
	Columns int                         // of the terminal; 0: unlimited
	All     bool                        // each finding in full instead of groups
	Off     func(tenant string) float64 // share error of a tenant; nil: not known
}

// findingGroup is the findings with one code.
type findingGroup struct {
	worst   FindingText // that of the tenant with the largest share error, or the first
	off     float64     // largest share error of its tenants
	count   int
	tenants map[string]bool
}

// Print prints findings with their advice: for each code the number of findings, the worst one and its advice; with
// All, each finding.
func (p *FindingPrinter) Print(list []FindingText) {
	if p.All {
		for i := range list {
			p.finding("finding", &list[i], 0, 0)
		}
		return
	}
	short := false
	for _, g := range p.groups(list) {
		key := "finding"
		switch {
		case g.count > 1 && len(g.tenants) > 0:
			key = "finding.group"
		case g.count > 1:
			key = "finding.group.fabric"
		}
		short = p.finding(key, &g.worst, g.count, len(g.tenants)) || short || g.count > 1
	}
	if short {
		_, _ = fmt.Fprintln(p.Out, p.Texts.T("finding.all", "count", len(list)))
	}
}

// groups returns the findings by code, in the order of the list.
func (p *FindingPrinter) groups(list []FindingText) []*findingGroup {
	var out []*findingGroup
	of := map[string]*findingGroup{}
	for _, f := range list {
		g := of[f.Code]
		if g == nil {
			g = &findingGroup{off: -1, tenants: map[string]bool{}}
			of[f.Code] = g
			out = append(out, g)
		}
		g.count++
		off := 0.0
		for _, t := range f.Tenants {
			g.tenants[t] = true
			if p.Off != nil {
				off = max(off, p.Off(t))
			}
		}
		if off > g.off {
			g.worst, g.off = f, off
		}
	}
	return out
}

// finding prints one finding, and reports whether it had to be shortened.
func (p *FindingPrinter) finding(key string, f *FindingText, count, tenants int) (shortened bool) {
	const indent = "  "
	said := p.Texts.T(key, "code", clean(f.Code), "message", clean(p.Texts.Say(f.Said)), "count", count, "tenants", tenants)
	advice := ""
	if fix := p.Texts.Say(f.Advice); fix != "" {
		advice = strings.TrimPrefix(p.Texts.T("finding.fix", "fix", clean(fix)), indent)
	}
	columns := p.Columns
	if p.All {
		columns = 0
	}
	needs := func(text string) int {
		return 1 + strings.Count(texttable.Wrap(text, indent, columns-len(indent), len(text)+1), "\n")
	}
	ofSaid, ofAdvice := needs(said), 0
	if advice != "" {
		ofAdvice = needs(advice)
	}
	if shortened = ofSaid+ofAdvice > mostLines; shortened {
		ofAdvice = min(ofAdvice, max(mostLines-ofSaid, 1))
		ofSaid = mostLines - ofAdvice
	}
	_, _ = fmt.Fprintln(p.Out, texttable.Wrap(said, indent, columns, ofSaid))
	if advice != "" {
		_, _ = fmt.Fprintln(p.Out, texttable.Wrap(indent+advice, indent+indent, columns, ofAdvice))
	}
	return shortened
}

// findings prints findings with their fixes on standard error; off returns the share error of a tenant.
func (c *cli) findings(cmd *cobra.Command, list []gen.Finding, off func(tenant string) float64) {
	texts := make([]FindingText, len(list))
	for i, f := range list {
		texts[i] = FindingText{f.Code, f.Tenants, phrase.Or(f.Message, f.Said), phrase.Or(cmdline.OrZero(f.Fix), f.Advice)}
	}
	w := cmd.ErrOrStderr()
	p := FindingPrinter{Out: w, Texts: c.texts, Columns: texttable.Columns(w, c.getenv), All: c.rows.all, Off: off}
	p.Print(texts)
}
