package rules

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlane/internal/i18n/catalogue"
)

// Subject says what the rules of a group are about, and so who may see them and their alerts.
type Subject string

// Subjects.
const (
	Tenants  Subject = "tenants"  // the labels fabric and tenant of an alert name a tenant
	Fabrics  Subject = "fabrics"  // the label fabric of an alert names a fabric
	Managers Subject = "managers" // the service itself
)

// Group is a group of rules, evaluated in their order at one time.
type Group struct {
	Name    string
	Subject Subject
	// Interval is the time between two evaluations; 0 is the default of who evaluates.
	Interval time.Duration
	Rules    []Rule
}

// Rule is a recording rule or an alerting rule: one of Record and Alert is set.
type Rule struct {
	Record, Alert      string
	Expr               string
	For, KeepFiringFor time.Duration
	Labels             []Pair
	Annotations        []Pair // of alerts: description, runbook and summary
}

// Pair is a label or an annotation.
type Pair struct{ Name, Value string }

// Severities of alerts, values of the label severity.
const (
	SeverityLabel = "severity"
	Page          = "page"   // needs a person now
	Ticket        = "ticket" // needs a person within days
)

// Annotations of alerts.
const (
	Summary     = "summary"
	Description = "description"
	Runbook     = "runbook"
)

// RunbookPage is the page whose headings the runbook annotations name.
const RunbookPage = "docs/alerts.md"

// Groups returns the groups of rules, in the order in which they are evaluated.
func Groups() []Group {
	return []Group{
		{Name: "fairlane-long", Subject: Tenants, Interval: copyInterval, Rules: copies()},
		{Name: "fairlane-shares", Subject: Tenants, Rules: shares()},
		{Name: "fairlane-fabrics", Subject: Fabrics, Rules: fabrics()},
		{Name: "fairlane", Subject: Managers, Rules: managers()},
	}
}

// alert returns an alerting rule with the texts of the catalogue. Further labels follow the severity.
func alert(name, severity string, hold time.Duration, expr string, labels ...Pair) Rule {
	return Rule{
		Alert: name, Expr: expr, For: hold, Labels: append([]Pair{{SeverityLabel, severity}}, labels...),
		Annotations: []Pair{
			{Summary, template(name, Summary, labels)},
			{Description, template(name, Description, labels)},
			{Runbook, RunbookPage + "#" + strings.ToLower(name)},
		},
	}
}

// TextID returns the id in the catalogue of an alert's summary or description. The text names labels of the alert in braces, and
// {value}, its value, or {percent}, its value as a percentage.
func TextID(alert, annotation string) string { return "alert." + alert + "." + annotation }

// template returns a text of the catalogue as a template of Prometheus.
func template(alert, annotation string, fixed []Pair) string {
	text, _ := catalogue.English(TextID(alert, annotation)) // a test fails when it is missing
	return catalogue.Fill(text, catalogue.English, func(name string) (string, bool) {
		switch name {
		case "value":
			return "{{ $value }}", true
		case "percent":
			return "{{ $value | humanizePercentage }}", true
		}
		for _, l := range fixed {
			if l.Name == name {
				return l.Value, true
			}
		}
		return "{{ $labels." + name + " }}", true
	})
}

// Reads reports whether a rule reads a metric.
func Reads(metric string) bool { return slices.Contains(metrics(), metric) }

// metrics returns the words in the expressions of all rules that may be names of metrics.
var metrics = sync.OnceValue(func() (out []string) {
	word := regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	for _, g := range Groups() {
		for i := range g.Rules {
			out = append(out, word.FindAllString(g.Rules[i].Expr, -1)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
})
