package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/series"
)

// TestRulesAndAlertsHaveTheFormOfPrometheus has two tenants that burn their budgets, of which one asks, and a fabric that is not measured.
func TestRulesAndAlertsHaveTheFormOfPrometheus(t *testing.T) {
	t.Parallel()
	r := managed(t)
	red := (&rightsRig{rig: r}).person("viewer", "tenant-viewer@lab/red")
	var at time.Time
	for m := range 40 {
		at = time.Unix(1_700_000_000+int64(m)*15, 0)
		batch := []series.Sample{{Family: series.Coverage, Labels: []series.Label{{Name: series.LabelFabric, Value: "lab"}}}}
		for _, tenant := range []string{"red", "blue"} {
			ls := []series.Label{{Name: series.LabelFabric, Value: "lab"}, {Name: series.LabelTenant, Value: tenant}}
			n := float64(m * 15)
			batch = append(batch, series.Sample{Family: series.TenantContended, Labels: ls, Value: n}, series.Sample{Family: series.TenantBad, Labels: ls, Value: n / 2}, series.Sample{Family: series.TenantObjective, Labels: ls, Value: 0.99})
		}
		if err := r.Service.Series.Append(t.Context(), at, batch); err != nil {
			t.Fatal(err)
		}
		r.rules.Evaluate(t.Context(), at)
	}
	const root = "/prometheus/api/v1"
	type alert struct {
		Labels, Annotations map[string]string
		State, Value        string
	}
	var got struct {
		Status string
		Data   struct {
			Alerts []alert
			Groups []struct {
				Name     string
				Interval float64
				Rules    []struct {
					Name, Type, State string
					Duration          float64
					Alerts            []alert
				}
			}
		}
	}
	ask := func(path string) {
		t.Helper()
		got.Data.Alerts, got.Data.Groups = nil, nil
		if err := json.Unmarshal(r.call("GET", root+path, "").want(200).body, &got); err != nil {
			t.Fatal(err)
		}
	}
	burning := func() (tenants []string) {
		for _, a := range got.Data.Alerts {
			if a.Labels["alertname"] == "FairlaneShareBudgetBurn" && a.Labels["long"] == "1h" && a.State == "firing" && a.Value == "5e-01" {
				tenants = append(tenants, a.Labels["tenant"])
			}
		}
		return tenants
	}
	if ask("/alerts"); cmp.Diff([]string{"blue", "red"}, burning()) != "" {
		t.Errorf("alerts: %+v", got.Data.Alerts)
	}
	if ask("/rules?type=alert"); len(got.Data.Groups) != 3 || got.Data.Groups[1].Rules[0].State != "firing" || got.Data.Groups[1].Rules[0].Duration != 300 || got.Data.Groups[1].Rules[0].Type != "alerting" {
		t.Errorf("rules: %+v", got.Data.Groups)
	}
	if ask("/rules?type=record&exclude_alerts=true"); len(got.Data.Groups) != 2 || got.Data.Groups[0].Interval != 300 || got.Data.Groups[0].Rules[0].Type != "recording" {
		t.Errorf("rules: %+v", got.Data.Groups)
	}
	r.token = red
	ask("/alerts")
	if cmp.Diff([]string{"red"}, burning()) != "" {
		t.Errorf("a tenant sees the alerts %+v", got.Data.Alerts)
	}
	for _, a := range got.Data.Alerts {
		if a.Labels["tenant"] != "red" || a.Labels["fabric"] != "lab" {
			t.Errorf("a tenant sees the alert %+v", a)
		}
	}
	if ask("/rules?type=alert"); len(got.Data.Groups) != 1 || len(got.Data.Groups[0].Rules[0].Alerts) != 1 {
		t.Errorf("a tenant sees the rules %+v", got.Data.Groups)
	}
	r.Service.Rules = nil
	for _, path := range []string{"/alerts", "/rules"} {
		if a := r.call("GET", root+path, ""); a.status != 404 {
			t.Errorf("without series: %d %s", a.status, a.body)
		}
	}
}
