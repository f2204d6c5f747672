package app

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"fairlane/command/demo"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/control/usecases"
	"fairlane/service/obs"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
	"fairlane/service/series/rules"
	"fairlane/sim/simdev"
)

// dashboard is the part of a Grafana dashboard that is checked.
type dashboard struct {
	ID                      *json.RawMessage
	UID, Title, Description string
	SchemaVersion           int
	Tags                    []string
	Templating              struct {
		List []struct {
			Name, Type, Definition string
			Datasource             *datasource
			Query                  any
		}
	}
	Annotations struct {
		List []struct {
			Name, Expr, TitleFormat string
			Datasource              datasource
		}
	}
	Panels []dashboardPanel
}

type dashboardPanel struct {
	ID                       *json.RawMessage
	Type, Title, Description string
	Datasource               datasource
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct {
		Expr, LegendFormat, RefID string
		Datasource                datasource
	}
}

type datasource struct{ Type, UID string }

// byVariable is the only data source that a dashboard may name.
var byVariable = datasource{"prometheus", "${datasource}"}

// dashboardFolder holds the dashboards.
const dashboardFolder = "../../deploy/grafana/dashboards"

// dashboards reads the dashboards with a tag.
func dashboards(t *testing.T, tag string) (list []*dashboard) {
	t.Helper()
	files, err := filepath.Glob(dashboardFolder + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := &dashboard{}
		if err := json.Unmarshal(text, d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if d.UID+".json" != filepath.Base(path) {
			t.Errorf("%s: uid %q, want the file's name", path, d.UID)
		}
		if slices.Contains(d.Tags, tag) {
			list = append(list, d)
		}
	}
	return list
}

// queries returns the queries of panels and annotations, by where they are.
func (d *dashboard) queries() map[string]string {
	out := map[string]string{}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			out[d.UID+": "+p.Title+" "+q.RefID] = q.Expr
		}
	}
	for _, a := range d.Annotations.List {
		out[d.UID+": annotation "+a.Name] = a.Expr
	}
	return out
}

// filled replaces Grafana's variables with their values for a panel that shows one hour in 1,000 points.
func filled(query string, values map[string]string) string {
	all := []string{"$__rate_interval", "1m0s", "$__interval", "15s", "$__range", "1h"}
	for _, k := range []string{"fabric", "tenant", "link", "instance"} {
		all = append(all, "$"+k, values[k])
	}
	return strings.NewReplacer(all...).Replace(query)
}

var (
	metricOfOurs = regexp.MustCompile(`fairlane_[a-z_]+|slo:[a-z0-9_:]+`)
	rateWindow   = regexp.MustCompile(`\b(rate|irate|increase|delta|changes)\([^\[]*\[([^\]]*)\]`)
	anyWindow    = regexp.MustCompile(`\[([^\]]*)\]`)
	labelValues  = regexp.MustCompile(`^label_values\((.*), ([a-z]+)\)$`)
)

func TestDashboardsAreWellFormed(t *testing.T) {
	t.Parallel()
	families, exported := map[string]bool{}, map[string]bool{}
	for _, f := range series.Families() {
		families[f.Name] = f.Tenant
	}
	for _, m := range obs.Table() {
		for _, suffix := range map[string][]string{"histogram": {"_bucket", "_count", "_sum"}, "gauge": {""}, "counter": {""}}[m.Kind] {
			exported[m.Name+suffix] = true
		}
	}
	all := dashboards(t, "fairlane")
	if len(all) != 5 {
		t.Errorf("%d dashboards", len(all))
	}
	for _, d := range all {
		if d.ID != nil || d.Title == "" || d.Description == "" || d.SchemaVersion != 42 { // that of @grafana/schema 13.2
			t.Errorf("%s: want a title, a description, schemaVersion 42 and no id", d.UID)
		}
		names := exported
		if slices.Contains(d.Tags, "fairlane-series") {
			names = families
		}
		lintVariables(t, d, names)
		lintPanels(t, d)
		for where, query := range d.queries() {
			used := metricOfOurs.FindAllString(query, -1)
			if len(used) == 0 {
				t.Errorf("%s uses no metric of ours", where)
			}
			for _, m := range used {
				if tenant, ok := names[m]; !ok {
					t.Errorf("%s: there is no metric %s", where, m)
				} else if d.UID == "fairlane-tenant" && !tenant {
					t.Errorf("%s: tenants cannot read %s", where, m)
				}
			}
			for _, w := range anyWindow.FindAllStringSubmatch(query, -1) {
				if w[1] != "$__rate_interval" && w[1] != "$__range" {
					t.Errorf("%s: window [%s]", where, w[1])
				}
			}
			for _, w := range rateWindow.FindAllStringSubmatch(query, -1) {
				if w[1] != "increase" && w[2] != "$__rate_interval" {
					t.Errorf("%s: %s over [%s], want $__rate_interval", where, w[1], w[2])
				}
			}
		}
	}
}

func lintVariables(t *testing.T, d *dashboard, names map[string]bool) {
	t.Helper()
	for i, v := range d.Templating.List {
		if i == 0 {
			if v.Type != "datasource" || v.Name != "datasource" || v.Query != "prometheus" {
				t.Errorf("%s: the first variable is %+v, want the data source", d.UID, v)
			}
			continue
		}
		m := labelValues.FindStringSubmatch(v.Definition)
		if v.Type != "query" || v.Datasource == nil || *v.Datasource != byVariable || m == nil {
			t.Errorf("%s: variable %+v", d.UID, v)
			continue
		}
		if _, ok := names[metricOfOurs.FindString(m[1])]; !ok {
			t.Errorf("%s: there is no metric %s", d.UID, m[1])
		}
	}
	for _, a := range d.Annotations.List {
		if a.Datasource != byVariable || a.Name == "" || a.TitleFormat == "" {
			t.Errorf("%s: annotation %+v", d.UID, a)
		}
	}
}

func lintPanels(t *testing.T, d *dashboard) {
	t.Helper()
	var titles []string
	for i, p := range d.Panels {
		where := d.UID + ": " + p.Title
		if p.ID != nil || p.Title == "" || !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" || p.Datasource != byVariable || len(p.Targets) == 0 {
			t.Errorf("%s: want a title, a description, a unit, queries, the variable's data source and no id", where)
		}
		if slices.Contains(titles, p.Title) {
			t.Errorf("%s: a second panel has this title", where)
		}
		titles = append(titles, p.Title)
		for _, q := range p.Targets {
			if q.LegendFormat == "" || q.Datasource != byVariable || q.RefID == "" {
				t.Errorf("%s: query %+v", where, q)
			}
		}
		for _, o := range d.Panels[:i] {
			if a, b := p.GridPos, o.GridPos; a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H || a.X+a.W > 24 || a.W*a.H == 0 {
				t.Errorf("%s is drawn over %s", where, o.Title)
			}
		}
	}
}

// emptyByNature lists the queries that find nothing on a quiet InfiniBand fabric, and why.
var emptyByNature = map[string]string{
	"fairlane-contention: Time held by pauses A":     "only RoCE has pauses",
	"fairlane-overview: annotation Weight changed":   "no plan changed a weight",
	"fairlane-tenant: annotation Weight changed":     "no plan changed a weight",
	"fairlane-contention: annotation Weight changed": "no plan changed a weight",
}

// TestDashboardsHaveData runs the queries of the dashboards on the series of a simulated fabric with a plan in force, after a few
// measurements, and parses those of the others.
func TestDashboardsHaveData(t *testing.T) {
	t.Parallel()
	// The rules need ten minutes, and rates two measurements within a minute.
	svc := measuredFabric(t, 0, 5*time.Minute, 5*time.Minute, 15*time.Second, 15*time.Second)
	values := map[string]string{"fabric": demo.FabricName}
	for _, d := range dashboards(t, "fairlane-series") {
		for _, v := range d.Templating.List[1:] {
			m := labelValues.FindStringSubmatch(v.Definition)
			list, err := svc.FindLabelValues(t.Context(), m[2], series.Lookup{Selectors: []string{filled(m[1], values)}, Start: svc.Now().Add(-time.Hour)})
			if err != nil || len(list) == 0 {
				t.Fatalf("%s: %s: %v, %v", d.UID, v.Definition, list, err)
			}
			values[v.Name] = list[0]
		}
		for where, query := range d.queries() {
			query = filled(query, values)
			n, err := answered(t.Context(), svc, query)
			if err != nil {
				t.Errorf("%s: %s: %v", where, query, err)
			}
			if reason := emptyByNature[where]; (n == 0) != (reason != "") {
				t.Errorf("%s: %d series of %s (expected none because: %q)", where, n, query, reason)
			}
		}
	}
	for _, d := range dashboards(t, "fairlane-metrics") {
		for where, query := range d.queries() {
			if _, err := answered(t.Context(), svc, filled(query, map[string]string{"instance": "a|b"})); err != nil {
				t.Errorf("%s: %s: %v", where, query, err)
			}
		}
	}
}

// answered returns the number of series that a query finds now and in the last minutes.
func answered(ctx context.Context, svc *usecases.Services, query string) (int, error) {
	a, err := svc.QueryRange(ctx, query, svc.Now().Add(-2*time.Minute), svc.Now(), time.Second)
	if err != nil {
		return 0, err
	}
	var r struct{ Result []struct{ Values [][2]any } }
	if err := json.Unmarshal(a.Data, &r); err != nil {
		return 0, err
	}
	n := 0
	for _, s := range r.Result {
		if slices.ContainsFunc(s.Values, func(p [2]any) bool { return p[1] != "NaN" }) {
			n++
		}
	}
	return n, nil
}

// TestDashboardsDistinguishZeroFromUnmeasured runs the numbers of tenants on hand-made measurements: red wants less than its share, and
// blue has no rate.
func TestDashboardsDistinguishZeroFromUnmeasured(t *testing.T) {
	t.Parallel()
	db := embeddedtest.Open(t, embedded.Options{})
	now := time.Now()
	for fabric, states := range map[string][2]string{"lab": {"demand", "not-measured"}, "dark": {"not-measured", "not-measured"}} {
		var batch []series.Sample
		for i, tenant := range []string{"red", "blue"} {
			of := []series.Label{{Name: series.LabelFabric, Value: fabric}, {Name: series.LabelTenant, Value: tenant}}
			batch = append(batch, series.Sample{Family: series.TenantEntitled, Value: 1, Labels: of}, series.Sample{Family: series.TenantState, Value: 1, Labels: append(of[:2:2], series.Label{Name: series.LabelState, Value: states[i]})})
			if states[i] != "not-measured" {
				batch = append(batch, series.Sample{Family: series.TenantDelivered, Value: 1, Labels: of})
			}
		}
		if err := db.Append(t.Context(), now, batch); err != nil {
			t.Fatal(err)
		}
	}
	queries := map[string]string{}
	for _, d := range dashboards(t, "fairlane-series") {
		maps.Copy(queries, d.queries())
	}
	for where, want := range map[string]string{
		"fairlane-overview: Contending tenants below their share A": "0",
		"fairlane-contention: Tenants that contend A":               "0",
		"fairlane-overview: Measured A":                             "0", // in no measurement every tenant had a rate
	} {
		for fabric, unmeasured := range map[string]bool{"lab": false, "dark": true} {
			a, err := db.Instant(t.Context(), series.Everything, filled(queries[where], map[string]string{"fabric": fabric}), now)
			if err != nil {
				t.Fatal(err)
			}
			found := strings.Contains(string(a.Data), `"`+want+`"]`)
			if unmeasured && !strings.Contains(where, "Measured") {
				found = strings.Contains(string(a.Data), `"result":[]`)
			}
			if !found {
				t.Errorf("%s on %s: %s, want %s", where, fabric, a.Data, want)
			}
		}
	}
}

// measuredFabric returns a service with the series of a simulated fabric with a plan in force, measured at each time after the other. Its
// clock jumps to these times.
func measuredFabric(t *testing.T, after ...time.Duration) *usecases.Services {
	t.Helper()
	return managerOfMeasuredFabric(t, after...).service
}

// managerOfMeasuredFabric is measuredFabric with the manager of the service.
func managerOfMeasuredFabric(t *testing.T, after ...time.Duration) *manager {
	t.Helper()
	db := embeddedtest.Open(t, embedded.Options{})
	var ahead atomic.Int64
	d, plan := onFaultyFabric(t, "h2", simdev.Faults{}, func(d *control.Deps) {
		d.Series = db
		d.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	if ro := rollToEnd(t, d, plan); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	svc := d.manager.service
	c, err := collect.New(svc, svc.Meter, db, collect.Options{Name: "m1", Period: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := db.NewRules(rules.Groups(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, wait := range after {
		ahead.Add(int64(wait))
		if err := c.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		recorded.Evaluate(t.Context(), svc.Now())
	}
	return d.manager
}

func TestProvisioningOfGrafanaIsValid(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"datasources": "/api/v1/prometheus", "dashboards": "path: "} {
		text, err := os.ReadFile("../../deploy/grafana/provisioning/" + name + "/fairlane.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			APIVersion             int `yaml:"apiVersion"`
			Datasources, Providers []map[string]any
		}
		if err := yaml.Unmarshal(text, &f); err != nil || f.APIVersion != 1 || len(f.Datasources)+len(f.Providers) != 1 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %+v", name, err, f)
		}
	}
}
