package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/series"
)

func (a prometheusAnswer) VisitListRulesResponse(w http.ResponseWriter) error  { return a.write(w) }
func (a prometheusAnswer) VisitListAlertsResponse(w http.ResponseWriter) error { return a.write(w) }

// promAlert is an alert in the form of Prometheus's HTTP API.
type promAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       series.AlertState `json:"state"`
	ActiveAt    time.Time         `json:"activeAt"`
	Value       string            `json:"value"`
}

// promRule is a rule in the form of Prometheus's HTTP API. Recording rules lack the fields of alerts.
type promRule struct {
	State          series.AlertState `json:"state,omitempty"`
	Name           string            `json:"name"`
	Query          string            `json:"query"`
	Duration       *float64          `json:"duration,omitempty"` // seconds
	KeepFiringFor  *float64          `json:"keepFiringFor,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Annotations    map[string]string `json:"annotations,omitempty"`
	Alerts         *[]promAlert      `json:"alerts,omitempty"`
	Health         string            `json:"health"`
	LastError      string            `json:"lastError,omitempty"`
	EvaluationTime float64           `json:"evaluationTime"` // not measured for single rules: 0
	LastEvaluation time.Time         `json:"lastEvaluation"`
	Type           string            `json:"type"`
}

// promGroup is a group of rules in the form of Prometheus's HTTP API.
type promGroup struct {
	Name           string     `json:"name"`
	File           string     `json:"file"`
	Rules          []promRule `json:"rules"`
	Interval       float64    `json:"interval"` // seconds
	Limit          int        `json:"limit"`
	EvaluationTime float64    `json:"evaluationTime"` // seconds
	LastEvaluation time.Time  `json:"lastEvaluation"`
}

// rulesFile is the name of the file in which the same rules are given to other Prometheus servers.
const rulesFile = "fairlane.rules.yaml"

// ListRules lists the rules with their state, in Prometheus's form.
func (s *Server) ListRules(ctx context.Context, r server.ListRulesRequestObject) (server.ListRulesResponseObject, error) {
	list, err := s.control.RuleGroups(ctx)
	if err != nil {
		return refused(err)
	}
	only := deref(r.Params.Type)
	groups := []promGroup{}
	for _, g := range list {
		out := promGroup{Name: g.Name, File: rulesFile, Rules: []promRule{}, Interval: g.Interval.Seconds(), EvaluationTime: g.Took.Seconds(), LastEvaluation: g.Evaluated}
		for i := range g.Rules {
			if rule := &g.Rules[i]; only == "" || rule.Alerting == (only == gen.ListRulesParamsTypeAlert) {
				out.Rules = append(out.Rules, promRuleOf(rule, g.Evaluated, deref(r.Params.ExcludeAlerts)))
			}
		}
		if len(out.Rules) > 0 {
			groups = append(groups, out)
		}
	}
	return succeeded(map[string]any{"groups": groups}, nil, nil)
}

// ListAlerts lists the active alerts, in Prometheus's form.
func (s *Server) ListAlerts(ctx context.Context, _ server.ListAlertsRequestObject) (server.ListAlertsResponseObject, error) {
	list, err := s.control.Alerts(ctx)
	if err != nil {
		return refused(err)
	}
	return succeeded(map[string]any{"alerts": alertsOf(list)}, nil, nil)
}

func promRuleOf(r *series.RuleState, evaluated time.Time, bare bool) promRule {
	out := promRule{Name: r.Name, Query: r.Query, Labels: series.Map(r.Labels), Health: r.Health, LastError: r.Error, LastEvaluation: evaluated, Type: "recording"}
	if !r.Alerting {
		return out
	}
	out.Type, out.State, out.Annotations = "alerting", r.State, series.Map(r.Annotations)
	out.Duration, out.KeepFiringFor = new(r.For.Seconds()), new(r.KeepFiringFor.Seconds())
	if !bare {
		out.Alerts = new(alertsOf(r.Alerts))
	}
	return out
}

func alertsOf(list []series.Alert) []promAlert {
	out := make([]promAlert, len(list))
	for i := range list {
		a := &list[i]
		out[i] = promAlert{Labels: series.Map(a.Labels), Annotations: series.Map(a.Annotations), State: a.State, ActiveAt: a.ActiveAt, Value: strconv.FormatFloat(a.Value, 'e', -1, 64)}
		out[i].Labels["alertname"] = a.Name
	}
	return out
}
