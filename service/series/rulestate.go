package series

import "time"

// Rules gives the rules with their state and their active alerts, within a scope: a tenant's scope sees the rules about tenants, and of
// them the alerts whose labels name the tenant; the scope of a fabric sees those of the fabric and of its tenants; rules about managers
// are for callers without a scope. The answer within a scope is the same whatever else exists.
type Rules interface {
	// RuleGroups returns the groups in the order in which they are evaluated.
	RuleGroups(s Scope) []RuleGroup
	// Alerts returns the pending and firing alerts, by name and labels.
	Alerts(s Scope) []Alert
}

// RuleGroup is a group of rules and its latest evaluation.
type RuleGroup struct {
	Name     string
	Interval time.Duration
	Rules    []RuleState
	// Evaluated is the time of the latest evaluation; zero before the first.
	Evaluated time.Time
	// Took is how long it took; 0 within a scope, since it depends on the number of series.
	Took time.Duration
}

// RuleState is a recording or alerting rule and its latest evaluation.
type RuleState struct {
	Name                string
	Alerting            bool
	Query               string
	For, KeepFiringFor  time.Duration
	Labels, Annotations []Label
	State               AlertState // the most advanced of Alerts; AlertInactive without
	Alerts              []Alert    // by labels
	Health              string     // "ok", "err", or "unknown" before the first evaluation
	Error               string     // of the latest evaluation; empty within a scope, since it may quote labels
}

// AlertInactive is the state of a rule without alerts.
const AlertInactive AlertState = "inactive"
