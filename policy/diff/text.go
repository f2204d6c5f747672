package diff

import (
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/plan"
)

// Bounds of the text; the structure is complete.
const (
	maxDiffPlaces   = 3
	maxDiffFindings = 8
)

// Line is one fact of a difference. It belongs to the last line before it with a smaller depth.
type Line struct {
	Depth int
	Text  phrase.Text
}

// Indent returns the indentation of a line.
func (l Line) Indent() string { return strings.Repeat("  ", l.Depth) }

// String prints the difference in English, one line for each fact. The empty difference is "no difference".
func (d *Difference) String() string {
	lines := d.Lines()
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Indent() + l.Text.String()
	}
	return strings.Join(out, "\n")
}

// Lines returns the difference as text: a line for each tenant, group of settings and finding, with details at greater depth.
func (d *Difference) Lines() []Line {
	if d.Empty() {
		return []Line{{Text: phrase.Of("diff.none")}}
	}
	var out []Line
	for i := range d.Tenants {
		out = append(out, d.Tenants[i].lines()...)
	}
	add := func(t phrase.Text) { out = append(out, Line{Text: t}) }
	for _, c := range d.Settings {
		if c.Tenant != "" {
			add(phrase.Of("diff.tenants", "tenants", c.Tenant, "text", c.said()))
		} else {
			add(c.said())
		}
	}
	for _, c := range d.Devices {
		if c.Added != nil {
			add(phrase.Of("diff.managed", "list", c.Added.Of(c.Kind)))
		}
		if c.Removed != nil {
			add(phrase.Of("diff.unmanaged", "list", c.Removed.Of(c.Kind)))
		}
	}
	if d.Contended != nil {
		add(phrase.Of("diff.contended", "list", d.Contended.Of(plan.KindLink)))
	}
	if d.Relieved != nil {
		add(phrase.Of("diff.relieved", "list", d.Relieved.Of(plan.KindLink)))
	}
	out = append(append(out, findingLines(phrase.Of("diff.finding-new"), d.Appeared)...), findingLines(phrase.Of("diff.finding-gone"), d.Vanished)...)
	out = append(out, d.reworded()...)
	if d.Minor > 0 {
		add(phrase.Of("diff.minor", "figures", plan.Counted(d.Minor, plan.KindFigure)))
	}
	return out
}

// reworded prints the findings of both plans whose content changed.
func (d *Difference) reworded() []Line {
	fs := make([]plan.Finding, len(d.Reworded))
	for i, c := range d.Reworded {
		if fs[i] = c.After; c.After.Message == c.Before.Message {
			fs[i] = fs[i].WithStatement(phrase.Of("diff.finding-fix", "advice", phrase.Or(c.After.Fix, c.After.Advice)))
		}
	}
	return findingLines(phrase.Of("diff.finding-changed"), fs)
}

func findingLines(what phrase.Text, fs []plan.Finding) []Line {
	var out []Line
	for i, f := range fs {
		if i == maxDiffFindings {
			return append(out, Line{Text: phrase.Of("diff.and-more", "what", what, "n", len(fs)-i)})
		}
		out = append(out, Line{Text: phrase.Of("diff.finding", "what", what, "code", f.Code, "text", phrase.Or(f.Message, f.Statement))})
	}
	return out
}

func (t *TenantChange) lines() []Line {
	out := []Line{{Text: phrase.Of("diff.tenant", "tenant", t.Tenant, "text", t.head())}}
	for _, c := range t.Classes {
		out = append(out, Line{1, phrase.Of("diff.class", "text", c.said())})
	}
	for _, c := range t.Settings {
		out = append(out, Line{1, c.said()})
	}
	if t.Links != nil {
		out = append(out, t.Links.lines()...)
	}
	return out
}

// head prints a tenant's weight, queue pairs and rates.
func (t *TenantChange) head() phrase.Text {
	a, b := t.Before, t.After
	switch {
	case a == nil && b == nil:
		return phrase.Of("diff.settings-only")
	case a == nil:
		return phrase.Of("diff.tenant-new", "weight", b.Weight, "qps", plan.Counted(b.QPs, plan.KindQueuePair), "predicted", b.Predicted, "entitled", b.Entitled)
	case b == nil:
		return phrase.Of("diff.tenant-gone", "weight", a.Weight, "predicted", a.Predicted)
	}
	parts := figures(a.Weight, b.Weight, a.QPs, b.QPs, a.Entitled, b.Entitled)
	if unlessMinor(a.Predicted, b.Predicted) != a.Predicted {
		parts = append(parts, phrase.Of("diff.predicted", "rates", rates(a.Predicted, b.Predicted), "change", signed(b.Predicted-a.Predicted)))
	}
	if quantity.Percent(a.Bound) != quantity.Percent(b.Bound) {
		parts = append(parts, boundsText(a.Bound, b.Bound))
	}
	if len(parts) == 0 {
		return phrase.Of("diff.rates-unchanged")
	}
	return phrase.Commas(parts).Text()
}

// figures prints the figures of tenants and classes that differ.
func figures(weightA, weightB quantity.Weight, qpsA, qpsB int, entitledA, entitledB quantity.BitRate) []phrase.Text {
	var parts []phrase.Text
	if weightA != weightB {
		parts = append(parts, phrase.Of("diff.weight", "before", weightA, "after", weightB))
	}
	if qpsA != qpsB {
		parts = append(parts, phrase.Of("diff.queue-pairs", "before", qpsA, "after", qpsB))
	}
	if unlessMinor(entitledA, entitledB) != entitledA {
		parts = append(parts, phrase.Of("diff.entitled", "rates", rates(entitledA, entitledB)))
	}
	return parts
}

func boundsText(a, b float64) phrase.Text {
	return phrase.Of("diff.bound", "before", quantity.Percent(a), "after", quantity.Percent(b))
}

// rates prints two rates.
func rates(a, b quantity.BitRate) string { return a.String() + " → " + b.String() }

func signed(d quantity.BitRate) string {
	if d < 0 {
		return d.String()
	}
	return "+" + d.String()
}

// String prints a class's change in English.
func (c ClassChange) String() string { return c.said().String() }

func (c ClassChange) said() phrase.Text {
	switch a, b := c.Before, c.After; {
	case a == nil && b == nil:
		return phrase.Verbatim(c.Class)
	case a == nil:
		return phrase.Of("diff.class-new", "class", c.Class, "weight", b.Weight, "predicted", b.Predicted)
	case b == nil:
		return phrase.Of("diff.class-gone", "class", c.Class)
	default:
		return phrase.Of("labelled", "label", c.Class, "text", classFigures(a, b))
	}
}

// classFigures prints the differences between a class before and after.
func classFigures(a, b *plan.ClassShare) phrase.Text {
	parts := figures(a.Weight, b.Weight, a.QPs, b.QPs, a.Entitled, b.Entitled)
	if unlessMinor(a.Predicted, b.Predicted) != a.Predicted {
		parts = append(parts, phrase.Of("diff.predicted-only", "rates", rates(a.Predicted, b.Predicted)))
	}
	if quantity.Percent(a.Bound) != quantity.Percent(b.Bound) && len(parts) == 0 {
		return boundsText(a.Bound, b.Bound)
	}
	if len(parts) == 0 {
		return phrase.Of("diff.rates-unchanged")
	}
	return phrase.Commas(parts).Text()
}

func (l *LinkChange) lines() []Line {
	var parts []phrase.Text
	if l.Gains > 0 {
		parts = append(parts, phrase.Of("diff.gains", "rate", l.Gained, "links", plan.Counted(l.Gains, plan.KindLink)))
	}
	if l.Losses > 0 {
		parts = append(parts, phrase.Of("diff.loses", "rate", l.Lost, "links", plan.Counted(l.Losses, plan.KindLink)))
	}
	if len(parts) == 0 {
		return []Line{{1, phrase.Of("diff.other-links", "links", plan.Counted(l.Count, plan.KindLink))}}
	}
	out := []Line{{1, phrase.Commas(parts).Text()}}
	for i, r := range l.Largest {
		if r.size() == 0 || i == maxDiffPlaces {
			break
		}
		out = append(out, Line{2, phrase.Of("labelled", "label", r.Link, "text", rates(r.Before.Predicted, r.After.Predicted))})
	}
	if more := l.Gains + l.Losses - maxDiffPlaces; more > 0 {
		out = append(out, Line{2, phrase.Of("list.and-more", "n", more)})
	}
	return out
}

// String prints the change in English, as "48 ports: timer 300 → 180 us (host-01/P1, host-02/P1 and 46 more)".
func (c SettingChange) String() string { return c.said().String() }

func (c SettingChange) said() phrase.Text {
	where := plan.Counted(c.Count, c.Kind)
	switch c.Field {
	case fieldMarks:
		return phrase.Of("diff.marking-starts", "where", where, "after", c.After, "devices", c.List())
	case fieldMarkedNot:
		return phrase.Of("diff.marking-stops", "where", where, "before", c.Before, "devices", c.List())
	}
	unit := ""
	if c.Unit != "" {
		unit = " " + c.Unit
	}
	if c.Before == c.After {
		return phrase.Of("diff.within", "where", where, "field", c.Field, "range", c.Before+unit, "devices", c.List())
	}
	return phrase.Of("diff.setting", "where", where, "field", c.Field, "before", c.Before, "after", c.After+unit, "devices", c.List())
}
