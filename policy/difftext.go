package policy

import (
	"fmt"
	"strings"

	"fairlane/internal/quantity"
)

// Bounds of what is told to people; the structure has all.
const (
	maxDiffPlaces   = 3
	maxDiffFindings = 8
)

// String tells the difference as people read it, one line for each fact. The empty difference is
// "no difference".
func (d *Difference) String() string { return strings.Join(d.Lines(), "\n") }

// Lines is String line by line: a line for each tenant, group of settings and finding, what belongs to it indented.
func (d *Difference) Lines() []string {
	if d.Empty() {
		return []string{"no difference"}
	}
	var out []string
	for i := range d.Tenants {
		out = append(out, d.Tenants[i].lines()...)
	}
	for _, c := range d.Settings {
		who := ""
		if c.Tenant != "" {
			who = "tenants " + c.Tenant + ": "
		}
		out = append(out, who+c.String())
	}
	for _, c := range d.Devices {
		if c.Added != nil {
			out = append(out, "newly managed: "+c.Added.of(c.Kind))
		}
		if c.Removed != nil {
			out = append(out, "no longer managed: "+c.Removed.of(c.Kind))
		}
	}
	if d.Contended != nil {
		out = append(out, "newly contended: "+d.Contended.of("link"))
	}
	if d.Relieved != nil {
		out = append(out, "no longer contended: "+d.Relieved.of("link"))
	}
	out = append(append(out, findingLines("new finding", d.Appeared)...), findingLines("finding gone", d.Vanished)...)
	out = append(out, d.reworded()...)
	if d.Minor > 0 {
		out = append(out, fmt.Sprintf("rates by less than is worth telling: %s of tenants, classes and links", plural(d.Minor, "figure")))
	}
	return out
}

// reworded tells the findings of both plans that say something else now.
func (d *Difference) reworded() []string {
	fs := make([]Finding, len(d.Reworded))
	for i, c := range d.Reworded {
		if fs[i] = c.After; c.After.Message == c.Before.Message {
			fs[i].Message = "now advises: " + c.After.Fix
		}
	}
	return findingLines("finding changed", fs)
}

func findingLines(what string, fs []Finding) []string {
	var out []string
	for i, f := range fs {
		if i == maxDiffFindings {
			return append(out, fmt.Sprintf("%s: and %d more", what, len(fs)-i))
		}
		out = append(out, fmt.Sprintf("%s: %s: %s", what, f.Code, f.Message))
	}
	return out
}

func (t *TenantChange) lines() []string {
	out := []string{"tenant " + t.Tenant + ": " + t.head()}
	for _, c := range t.Classes {
		out = append(out, "  class "+c.String())
	}
	for _, c := range t.Settings {
		out = append(out, "  "+c.String())
	}
	if t.Links != nil {
		out = append(out, t.Links.lines()...)
	}
	return out
}

// head tells a tenant's weight, queue pairs and rates.
func (t *TenantChange) head() string {
	a, b := t.Before, t.After
	switch {
	case a == nil && b == nil:
		return "settings only"
	case a == nil:
		return fmt.Sprintf("new, weight %s, %d queue pairs, predicted %s of %s entitled", b.Weight, b.QPs, b.Predicted, b.Entitled)
	case b == nil:
		return fmt.Sprintf("gone, had weight %s and predicted %s", a.Weight, a.Predicted)
	}
	var parts []string
	if a.Weight != b.Weight {
		parts = append(parts, fmt.Sprintf("weight %s → %s", a.Weight, b.Weight))
	}
	if a.QPs != b.QPs {
		parts = append(parts, fmt.Sprintf("queue pairs %d → %d", a.QPs, b.QPs))
	}
	if near(a.Entitled, b.Entitled) != a.Entitled {
		parts = append(parts, "entitled "+rates(a.Entitled, b.Entitled))
	}
	if near(a.Predicted, b.Predicted) != a.Predicted {
		parts = append(parts, "predicted "+rates(a.Predicted, b.Predicted)+" ("+signed(b.Predicted-a.Predicted)+")")
	}
	if a.Bound != b.Bound {
		parts = append(parts, fmt.Sprintf("error bound %s %% → %s %%", trimmed(float64(a.Bound*100)), trimmed(float64(b.Bound*100))))
	}
	if len(parts) == 0 {
		return "rates unchanged"
	}
	return strings.Join(parts, ", ")
}

// rates prints two rates that are not near.
func rates(a, b quantity.BitRate) string { return a.String() + " → " + b.String() }

func signed(d quantity.BitRate) string {
	if d < 0 {
		return d.String()
	}
	return "+" + d.String()
}

// String tells a class's change.
func (c ClassChange) String() string {
	switch a, b := c.Before, c.After; {
	case a == nil && b == nil:
		return c.Class
	case a == nil:
		return fmt.Sprintf("%s: new, weight %s, predicted %s", c.Class, b.Weight, b.Predicted)
	case b == nil:
		return fmt.Sprintf("%s: gone", c.Class)
	default:
		return c.Class + ": " + classFigures(a, b)
	}
}

// classFigures tells what differs between a class before and after.
func classFigures(a, b *ClassShare) string {
	var parts []string
	if a.Weight != b.Weight {
		parts = append(parts, fmt.Sprintf("weight %s → %s", a.Weight, b.Weight))
	}
	if a.QPs != b.QPs {
		parts = append(parts, fmt.Sprintf("queue pairs %d → %d", a.QPs, b.QPs))
	}
	if near(a.Entitled, b.Entitled) != a.Entitled {
		parts = append(parts, "entitled "+rates(a.Entitled, b.Entitled))
	}
	if near(a.Predicted, b.Predicted) != a.Predicted {
		parts = append(parts, "predicted "+rates(a.Predicted, b.Predicted))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("error bound %s %% → %s %%", trimmed(float64(a.Bound*100)), trimmed(float64(b.Bound*100)))
	}
	return strings.Join(parts, ", ")
}

func (l *LinkChange) lines() []string {
	var parts []string
	if l.Gains > 0 {
		parts = append(parts, fmt.Sprintf("gains %s on %s", l.Gained, plural(l.Gains, "link")))
	}
	if l.Losses > 0 {
		parts = append(parts, fmt.Sprintf("loses %s on %s", l.Lost, plural(l.Losses, "link")))
	}
	if len(parts) == 0 {
		return []string{fmt.Sprintf("  other figures on %s", plural(l.Count, "link"))}
	}
	out := []string{"  " + strings.Join(parts, ", ")}
	for i, r := range l.Largest {
		if r.size() == 0 || i == maxDiffPlaces {
			break
		}
		out = append(out, fmt.Sprintf("    %s: %s", r.Link, rates(r.Before.Predicted, r.After.Predicted)))
	}
	if more := l.Gains + l.Losses - maxDiffPlaces; more > 0 {
		out = append(out, fmt.Sprintf("    and %d more", more))
	}
	return out
}

// String tells the change as "48 ports: timer 300 → 180 us (host-01/P1, host-02/P1 and 46 more)".
func (c SettingChange) String() string {
	switch c.Field {
	case fieldMarks:
		return fmt.Sprintf("%s: marking starts: %s (%s)", plural(c.Count, c.Kind), c.After, c.list())
	case fieldMarkedNot:
		return fmt.Sprintf("%s: marking stops, which was %s (%s)", plural(c.Count, c.Kind), c.Before, c.list())
	}
	unit := ""
	if c.Unit != "" {
		unit = " " + c.Unit
	}
	values := c.Before + " → " + c.After + unit
	if c.Before == c.After {
		values = "other values within " + c.Before + unit
	}
	return fmt.Sprintf("%s: %s %s (%s)", plural(c.Count, c.Kind), c.Field, values, c.list())
}

// of prints "3 ports (a, b, c)".
func (l *NameList) of(kind string) string { return plural(l.Count, kind) + " (" + l.list() + ")" }

func (l *NameList) list() string {
	if n := min(len(l.Names), maxDiffPlaces); l.Count > n {
		return strings.Join(l.Names[:n], ", ") + fmt.Sprintf(" and %d more", l.Count-n)
	}
	return strings.Join(l.Names, ", ")
}

func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ch"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
