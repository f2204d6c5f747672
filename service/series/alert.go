package series

import (
	"context"
	"time"
)

// AlertState is the state of an alert.
type AlertState string

// States of alerts.
const (
	AlertPending  AlertState = "pending"  // the condition holds, not yet for as long as the rule demands
	AlertFiring   AlertState = "firing"   // the condition holds, or held within the rule's keep_firing_for
	AlertResolved AlertState = "resolved" // it fired and the condition no longer holds
)

// Alert is one alert: a rule and the labels of one result of its expression.
type Alert struct {
	Name  string // of the rule
	State AlertState
	// Labels and Annotations are sorted by name. Labels do not repeat the rule's name as alertname.
	Labels, Annotations []Label
	Value               float64   // of the expression, when it last held
	ActiveAt            time.Time // since when the condition holds
	FiredAt             time.Time // zero while pending
	ResolvedAt          time.Time // zero unless resolved
}

// Label returns the value of a label, "" when the alert has none of that name.
func (a *Alert) Label(name string) string { return value(a.Labels, name) }

// Annotation returns the value of an annotation, "" when the alert has none of that name.
func (a *Alert) Annotation(name string) string { return value(a.Annotations, name) }

func value(list []Label, name string) string {
	for _, l := range list {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Notify receives the alerts of a rule that began to fire, that fire still and are due for a repetition, or that were resolved. It must
// not block: rules are evaluated in the same goroutine.
type Notify func(ctx context.Context, alerts []Alert)
