package embedded

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	promrules "github.com/prometheus/prometheus/rules"

	"fairlane/service/series"
	"fairlane/service/series/rules"
)

// RuleGroups returns the groups of rules that a scope sees. Only a scope of everything sees how long an evaluation took.
func (r *Rules) RuleGroups(s series.Scope) []series.RuleGroup {
	var out []series.RuleGroup
	for _, g := range r.groups {
		if !seesRules(s, g.subject) {
			continue
		}
		g.mu.Lock()
		group := series.RuleGroup{Name: g.Name(), Interval: g.Interval(), Evaluated: g.at, Took: g.took}
		g.mu.Unlock()
		if !s.All {
			group.Took = 0
		}
		for _, rule := range g.Rules() {
			group.Rules = append(group.Rules, stateOf(s, g.subject, group.Evaluated, rule))
		}
		out = append(out, group)
	}
	return out
}

// Alerts returns the active alerts that a scope sees.
func (r *Rules) Alerts(s series.Scope) []series.Alert {
	var out []series.Alert
	for _, g := range r.groups {
		for _, rule := range g.AlertingRules() {
			out = append(out, activeAlerts(s, g.subject, rule)...)
		}
	}
	return sortAlerts(out)
}

// stateOf returns the state of a rule within a scope.
func stateOf(s series.Scope, subject rules.Subject, evaluated time.Time, rule promrules.Rule) series.RuleState {
	out := series.RuleState{Name: rule.Name(), Query: rule.Query().String(), Labels: pairsOf(rule.Labels()), Health: string(rule.Health()), State: series.AlertInactive}
	if err := rule.LastError(); err != nil {
		out.Error = err.Error()
	}
	if !s.All { // whether a rule failed may depend on series outside the scope
		out.Error, out.Health = "", string(promrules.HealthUnknown)
		if !evaluated.IsZero() {
			out.Health = string(promrules.HealthGood)
		}
	}
	a, ok := rule.(*promrules.AlertingRule)
	if !ok {
		return out
	}
	out.Alerting, out.For, out.KeepFiringFor, out.Annotations = true, a.HoldDuration(), a.KeepFiringFor(), pairsOf(a.Annotations())
	out.Alerts = sortAlerts(activeAlerts(s, subject, a))
	for i := range out.Alerts {
		if st := out.Alerts[i].State; st == series.AlertFiring || out.State == series.AlertInactive {
			out.State = st
		}
	}
	return out
}

func activeAlerts(s series.Scope, subject rules.Subject, rule *promrules.AlertingRule) []series.Alert {
	var out []series.Alert
	for _, a := range rule.ActiveAlerts() {
		if seesAlert(s, subject, a.Labels) {
			out = append(out, alertOf(a))
		}
	}
	return out
}

// seesRules reports whether a scope sees the rules about a subject.
func seesRules(s series.Scope, subject rules.Subject) bool {
	switch subject {
	case rules.Tenants:
		return s.All || len(s.Fabrics)+len(s.Tenants) > 0
	case rules.Fabrics:
		return s.All || len(s.Fabrics) > 0
	}
	return s.All
}

// seesAlert reports whether a scope sees an alert of a rule about a subject.
func seesAlert(s series.Scope, subject rules.Subject, ls labels.Labels) bool {
	if s.All {
		return true
	}
	if !seesRules(s, subject) {
		return false
	}
	fabric := ls.Get(series.LabelFabric)
	return slices.Contains(s.Fabrics, fabric) ||
		subject == rules.Tenants && slices.Contains(s.Tenants, series.TenantRef{Fabric: fabric, Tenant: ls.Get(series.LabelTenant)})
}

// alertOf converts an alert of the engine.
func alertOf(a *promrules.Alert) series.Alert {
	out := series.Alert{
		Name: a.Labels.Get(labels.AlertName), Labels: pairsOf(a.Labels), Annotations: pairsOf(a.Annotations), Value: a.Value,
		ActiveAt: a.ActiveAt, FiredAt: a.FiredAt, ResolvedAt: a.ResolvedAt,
	}
	switch a.State {
	case promrules.StatePending:
		out.State = series.AlertPending
	case promrules.StateFiring:
		out.State = series.AlertFiring
	default:
		out.State = series.AlertResolved
	}
	return out
}

// pairsOf returns labels without the alert's name, sorted.
func pairsOf(ls labels.Labels) (out []series.Label) {
	ls.Range(func(l labels.Label) {
		if l.Name != labels.AlertName {
			out = append(out, series.Label{Name: l.Name, Value: l.Value})
		}
	})
	return out
}

func sortAlerts(list []series.Alert) []series.Alert {
	slices.SortFunc(list, func(a, b series.Alert) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.CompareFunc(a.Labels, b.Labels, func(x, y series.Label) int {
			return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Value, y.Value))
		}))
	})
	return list
}
