package rules

import (
	"slices"
	"strings"
	"testing"

	"fairlane/internal/i18n/catalogue"
	"fairlane/internal/testkit/goldentest"
	"fairlane/service/series"
)

const rulesFile = "../../../deploy/prometheus/fairlane.rules.yaml"

func TestTheRuleFileIsGenerated(t *testing.T) {
	t.Parallel()
	goldentest.Compare(t, rulesFile, []byte(File(Groups())))
}

// TestAlertsAreComplete checks that a person who receives an alert finds in it what happened, how urgent it is and where to read on.
func TestAlertsAreComplete(t *testing.T) {
	t.Parallel()
	for _, g := range Groups() {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			if s := value(r.Labels, SeverityLabel); s != Page && s != Ticket {
				t.Errorf("%s has severity %q", r.Alert, s)
			}
			for _, lang := range catalogue.Languages() {
				texts, err := catalogue.Load(lang)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range []string{Summary, Description} {
					if texts[TextID(r.Alert, a)] == "" {
						t.Errorf("%s has no %s in %q", r.Alert, a, lang)
					}
				}
			}
			if !strings.Contains(value(r.Annotations, Runbook), "#"+strings.ToLower(r.Alert)) {
				t.Errorf("%s has no runbook", r.Alert)
			}
			aggregated := strings.Contains(r.Expr, "by (fabric, tenant)") || strings.Contains(r.Expr, "on (fabric, tenant)")
			if g.Subject == Tenants && !aggregated {
				t.Errorf("%s is about a tenant, but its labels are not those of a tenant: %s", r.Alert, r.Expr)
			}
		}
	}
}

func value(list []Pair, name string) string {
	if i := slices.IndexFunc(list, func(p Pair) bool { return p.Name == name }); i >= 0 {
		return list[i].Value
	}
	return ""
}

// TestRecordedSeriesAreFamilies compares the rules with the table of families, by which tenants see their recorded series.
func TestRecordedSeriesAreFamilies(t *testing.T) {
	t.Parallel()
	families := map[string]series.Family{}
	for _, f := range series.Families() {
		if strings.HasPrefix(f.Name, "slo:") {
			families[f.Name] = f
		}
	}
	for _, g := range Groups() {
		for _, r := range g.Rules {
			if r.Record == "" {
				continue
			}
			f, ok := families[r.Record]
			if !ok || !f.Tenant {
				t.Errorf("%s is no family that tenants may read", r.Record)
				continue
			}
			delete(families, r.Record)
			want := []string{series.LabelFabric, series.LabelTenant}
			for _, l := range r.Labels {
				want = append(want, l.Name)
			}
			if !slices.Equal(f.Labels, want) {
				t.Errorf("%s has labels %v, its rule %v", r.Record, f.Labels, want)
			}
		}
	}
	for name := range families {
		t.Errorf("no rule records %s", name)
	}
}

func TestDurationsHaveOneUnit(t *testing.T) {
	t.Parallel()
	for _, w := range windows {
		if got := duration(w.length); got != w.name {
			t.Errorf("%s is printed as %s", w.name, got)
		}
	}
}
