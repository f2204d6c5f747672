package views_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/usecases"
	"fairlane/service/control/views"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
)

const link = "sw1/P4 -> h4/P1" // the contended link of controltest's fabric

var everything = views.Parts{Devices: true, Rollouts: true, Events: true}

// page is a service with series whose clock the test sets.
type page struct {
	*usecases.Services
	t                   testing.TB
	rig                 *controltest.Rig
	now                 time.Time
	entitled, delivered float64 // rates of the tenants in measurements, in bits per second
}

// newPage returns a service with the plan of controltest's fabric in force.
func newPage(t testing.TB) *page {
	t.Helper()
	r, _ := controltest.InForce(t)
	return onRig(t, r)
}

func onRig(t testing.TB, r *controltest.Rig, change ...func(*control.Deps)) *page {
	t.Helper()
	p := &page{t: t, rig: r, entitled: 75e9, delivered: 60e9, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	kept := embeddedtest.Open(t, embedded.Options{})
	p.Services = r.Manager(t, append(change, func(d *control.Deps) { d.Clock, d.Series = func() time.Time { return p.now }, kept })...)
	return p
}

// tenant is what a measurement finds about a tenant.
type tenant struct {
	name, state string
	received    float64 // 0 for none
}

// measure stores a measurement of the fabric lab, with the link in use.
func (p *page) measure(use float64, list ...tenant) {
	p.t.Helper()
	lab := series.Label{Name: series.LabelFabric, Value: "lab"}
	on := series.Label{Name: series.LabelLink, Value: link}
	add := func(family string, v float64, labels ...series.Label) series.Sample {
		return series.Sample{Family: family, Value: v, Labels: append([]series.Label{lab}, labels...)}
	}
	batch := []series.Sample{add(series.Coverage, 1), add(series.LinkUse, use, on), add(series.LinkDelivered, use*100e9, on), add(series.LinkCapacity, 100e9, on)}
	for _, x := range list {
		of := series.Label{Name: series.LabelTenant, Value: x.name}
		batch = append(batch, add(series.TenantState, 1, of, series.Label{Name: series.LabelState, Value: x.state}),
			add(series.TenantWeight, 3, of), add(series.TenantEntitled, p.entitled, of), add(series.TenantDelivered, p.delivered, of), add(series.LinkTenant, 60e9, on, of))
		if x.received > 0 {
			batch = append(batch, add(series.TenantReceived, x.received, of, on))
		}
	}
	if err := p.Series.Append(p.t.Context(), p.now, batch); err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) overview() *views.Overview {
	p.t.Helper()
	o, err := p.Overview(p.t.Context(), "lab", everything)
	if err != nil {
		p.t.Fatal(err)
	}
	return o
}

func TestTheVerdictFollowsTheMeasurement(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	if o := p.overview(); o.Verdict != views.NotMeasured || !o.MeasuredAt.IsZero() || o.Plan == nil || o.Tenants != 2 || len(o.States) != 0 {
		t.Errorf("without a measurement: %+v", o)
	}
	for _, c := range []struct {
		name      string
		use       float64
		red, blue tenant
		want      views.Verdict
		contended int
	}{
		{"both receive their share", 0.99, tenant{"red", "contending", 1}, tenant{"blue", "contending", 0.96}, views.Served, 1},
		{"no tenant contends", 0.4, tenant{"red", "demand", 0}, tenant{"blue", "idle", 0}, views.Quiet, 0},
		{"one is below its share", 0.99, tenant{"red", "contending", 0.8}, tenant{"blue", "contending", 1}, views.BelowShare, 1},
		{"one is not measured", 0.99, tenant{"red", "contending", 1}, tenant{"blue", "not-measured", 0}, views.NotMeasured, 1},
		{"what one received is not known", 0.99, tenant{"red", "contending", 0}, tenant{"blue", "contending", 1}, views.NotMeasured, 1},
		{"below on a link that is not full", 0.5, tenant{"red", "contending", 0.5}, tenant{"blue", "demand", 0}, views.BelowShare, 1},
	} {
		p.now = p.now.Add(10 * time.Minute) // nothing of the measurement before is current
		p.measure(c.use, c.red, c.blue)
		o := p.overview()
		if o.Verdict != c.want || !o.MeasuredAt.Equal(p.now) || o.ContendedSize != c.contended || len(o.Contended) != c.contended {
			t.Errorf("%s: verdict %s at %v, %d contended links; want %s, %d", c.name, o.Verdict, o.MeasuredAt, o.ContendedSize, c.want, c.contended)
		}
	}
	p.now = p.now.Add(5 * time.Minute)
	if o := p.overview(); o.Verdict != views.NotMeasured || !o.MeasuredAt.IsZero() || len(o.Below) != 0 || len(o.Contended) != 0 || len(o.States) != 0 {
		t.Errorf("with an expired measurement: %+v", o)
	}
}

func TestTheVerdictWithoutAMeasurement(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	p := onRig(t, r)
	ctx := t.Context()
	if _, err := p.Overview(ctx, "lab", everything); err == nil {
		t.Error("a fabric that does not exist has an overview")
	}
	check := func(want views.Verdict) {
		t.Helper()
		if o := p.overview(); o.Verdict != want {
			t.Errorf("verdict is %s, want %s", o.Verdict, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := p.CreateFabric(ctx, control.Fabric{Name: "lab", Source: controltest.Source})
	must(err)
	check(views.NotDiscovered)
	_, err = p.Discover(ctx, "lab")
	must(err)
	check(views.NoTenants)
	_, err = p.ApplyTenants(ctx, "lab", controltest.Tenants(), false)
	must(err)
	check(views.NoPlan)
	off := r.Manager(t)
	if o, err := off.Overview(ctx, "lab", views.Parts{}); err != nil || o.Series != views.SeriesOff || o.Latest != nil {
		t.Errorf("without series: %+v, %v", o, err)
	}
}

// query evaluates a query as the Prometheus-compatible endpoint does; the answer has one value.
func (p *page) query(q string) float64 {
	p.t.Helper()
	a, err := p.QueryInstant(p.t.Context(), q, p.now)
	if err != nil {
		p.t.Fatal(err)
	}
	var got struct {
		Result []struct{ Value [2]any }
	}
	if err := json.Unmarshal(a.Data, &got); err != nil || len(got.Result) != 1 {
		p.t.Fatalf("%s: %s, %v", q, a.Data, err)
	}
	v, err := strconv.ParseFloat(got.Result[0].Value[1].(string), 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// TestFiguresEqualThoseOfPromQL compares every measured figure of the overview with the series' own.
func TestFiguresEqualThoseOfPromQL(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	p.measure(0.97, tenant{"red", "contending", 0.8}, tenant{"blue", "contending", 1})
	o := p.overview()
	if len(o.Below) != 1 || len(o.Contended) != 1 || len(o.Devices) == 0 || o.Latest == nil || o.Rollout != nil {
		t.Fatalf("overview is %+v", o)
	}
	b, l := o.Below[0], o.Contended[0]
	of := `{fabric="lab",tenant="red"}`
	got := map[string]float64{
		series.TenantWeight + of: *b.Weight, series.TenantEntitled + of: float64(*b.Entitled), series.TenantDelivered + of: float64(*b.Delivered), series.TenantReceived + of: b.Received,
		series.LinkUse + `{fabric="lab"}`: *l.Use, series.LinkCapacity + `{fabric="lab"}`: float64(*l.Capacity), series.LinkDelivered + `{fabric="lab"}`: float64(*l.Delivered),
		`count(fairlane_tenant_state{fabric="lab",state="contending"} == 1)`: float64(o.States[0].N),
		`max(timestamp(fairlane_tenant_state{fabric="lab"}))`:                float64(o.MeasuredAt.Unix()),
	}
	for q, v := range got {
		if want := p.query(q); v != want {
			t.Errorf("%s is %v, the overview has %v", q, want, v)
		}
	}
	if b.Tenant != "red" || b.State != "contending" || b.Link != link || b.Bound != 0.95 || *b.EntitledNow != 75e9 || l.Name != link || l.Port == "" {
		t.Errorf("below %+v, contended %+v", b, l)
	}
}

func TestTheOverviewHidesPartsWithoutTheRight(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	p.measure(0.97, tenant{"red", "contending", 1})
	o, err := p.Overview(t.Context(), "lab", views.Parts{})
	if err != nil || o.Devices != nil || o.Latest != nil || o.Rollout != nil || o.Verdict != views.Served {
		t.Errorf("overview is %+v, %v", o, err)
	}
}

// A change of the entitlement within the hour begins the figures of the hour anew, also where no measurement was taken around it.
func TestTheLastHourBeginsWithTheEntitlement(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	measure := func(times int, rate float64) {
		p.entitled, p.delivered = rate, rate
		for range times {
			p.measure(0.97, tenant{"blue", "contending", 1})
			p.now = p.now.Add(15 * time.Second)
		}
	}
	hour := func() views.ContendedTime {
		got, err := p.TenantNow(t.Context(), "lab", "blue")
		if err != nil {
			t.Fatal(err)
		}
		return got.Hour
	}
	measure(40, 75e9)
	if h := hour(); !h.Since.IsZero() || *h.Delivered != 75e9 {
		t.Errorf("without a change the hour is %+v, %v", h, *h.Delivered)
	}
	p.now = p.now.Add(5 * time.Minute) // nothing is measured
	change := p.now
	measure(20, 25e9)
	if h := hour(); !h.Since.Equal(change) || *h.Delivered != 25e9 {
		t.Errorf("after the change at %v the hour is %+v, %v", change, h, *h.Delivered)
	}
	p.now = p.now.Add(time.Hour)
	measure(2, 25e9)
	if h := hour(); !h.Since.IsZero() {
		t.Errorf("an hour after the change the hour is %+v", h)
	}
}

func TestFiguresOfATenantDoNotDependOnOthers(t *testing.T) {
	t.Parallel()
	answers := make([]*views.TenantNow, 2)
	for i := range answers {
		p := newPage(t)
		for range 20 {
			others := []tenant{{"blue", "contending", 0.9}}
			if i == 1 {
				others = append(others, tenant{"red", "contending", 0.7})
			}
			p.measure(0.5+0.4*float64(i), others...)
			p.now = p.now.Add(15 * time.Second)
		}
		var err error
		if answers[i], err = p.TenantNow(t.Context(), "lab", "blue"); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(answers[0], answers[1]); d != "" {
		t.Errorf("figures of blue depend on red: %s", d)
	}
	a := answers[0]
	if a.State != "contending" || *a.Entitled != 75e9 || *a.Delivered != 60e9 || a.MeasuredAt.IsZero() || a.Hour.Delivered == nil || *a.Hour.Delivered != 60e9 || a.Objective.Bound != 0.95 {
		t.Errorf("figures are %+v", a)
	}
	if a.BudgetLeft != nil || a.Period.Contended != nil {
		t.Errorf("figures that no rule recorded are %+v", a)
	}
}

func TestAPathListsItsLinksWithTheirTenants(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	p.measure(0.97, tenant{"red", "contending", 0.8}, tenant{"blue", "demand", 0})
	got, err := p.Path(t.Context(), "lab", "h1", "h4", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Hops) != 2 || got.Hops[0].Name != "h1/P1 -> sw1/P1" || got.Hops[1].Name != link || got.Fault != nil {
		t.Fatalf("path is %+v", got)
	}
	if n := got.Nodes; len(n) != 3 || n[0].Name != "h1" || n[1].Name != "sw1" || n[2].Name != "h4" || len(n[1].Groups) != 1 || len(n[2].Groups) != 2 {
		t.Errorf("nodes are %+v", n)
	}
	if h := got.Hops[1]; !h.Contended || h.Distance != 1 || *h.Use != 0.97 || len(h.Tenants) != 2 || *h.Tenants[0].Delivered != 60e9 || h.Tenants[0].State == "" {
		t.Errorf("last hop is %+v", h)
	}
	if h := got.Hops[0]; h.Use != nil && h.Contended {
		t.Errorf("first hop is %+v", h)
	}
	if got, err = p.Path(t.Context(), "lab", "h1", "h4", "blue"); err != nil || len(got.Hops[1].Tenants) != 1 || got.Hops[1].Tenants[0].Tenant != "blue" {
		t.Errorf("path for one tenant is %+v, %v", got, err)
	}
	for _, port := range []string{"nowhere", ""} {
		_, err = p.Path(t.Context(), "lab", "h1", port, "")
		controltest.MustFail(t, fmt.Sprintf("a path to %q", port), err, control.ErrInvalid)
	}
}

func TestAMapOfASmallFabric(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	p.measure(0.97, tenant{"red", "contending", 0.8}, tenant{"blue", "demand", 0})
	m, err := p.Map(t.Context(), "lab", views.MapQuery{}, everything)
	if err != nil {
		t.Fatal(err)
	}
	if m.By != views.BySwitch || len(m.Groups) != 2 || len(m.Edges) != 1 || len(m.Meetings) != 1 {
		t.Fatalf("map is %+v", m)
	}
	hosts, sw, e, x := m.Groups[0], m.Groups[1], m.Edges[0], m.Meetings[0]
	if !hosts.Host || hosts.Hosts != 4 || hosts.Name != "sw1" || !hosts.More || hosts.State != views.MapBelow || *hosts.WorstUse != 0.97 || sw.Host || sw.Tier != 1 || sw.More {
		t.Errorf("groups are %+v", m.Groups)
	}
	if e.A != hosts.ID || e.B != sw.ID || e.Links != 4 || e.Contended != 1 || e.Down != 0 || *e.WorstUse != 0.97 {
		t.Errorf("edge is %+v", e)
	}
	if x.Link != link || x.A != sw.ID || x.B != hosts.ID || len(x.Tenants) != 2 {
		t.Errorf("meeting is %+v", x)
	}
	if m, err = p.Map(t.Context(), "lab", views.MapQuery{Expand: hosts.ID}, everything); err != nil || m.By != views.ByMember || len(m.Groups) != 5 || len(m.Edges) != 4 || m.More != 0 {
		t.Errorf("expanded map is %+v, %v", m, err)
	}
	h4 := m.Groups[3]
	groups := []string{hosts.ID, h4.ID}
	for text, want := range map[string][]string{"h4": groups, strings.TrimPrefix(h4.ID, "host:"): groups, "sw1": {sw.ID}, "nowhere": nil} {
		m, err := p.Map(t.Context(), "lab", views.MapQuery{Find: text}, everything)
		if err != nil || (m.Found == nil) != (want == nil) || want != nil && !slices.Equal(m.Found.Groups, want) {
			t.Errorf("place of %q is %+v, %v; want groups %v", text, m.Found, err, want)
		}
	}
	_, err = p.Map(t.Context(), "lab", views.MapQuery{Expand: "pod:nowhere"}, everything)
	controltest.MustFail(t, "an unknown group", err, control.ErrNotFound)
	_, err = p.Matrix(t.Context(), "lab", views.MatrixQuery{Group: "pod:nowhere"})
	controltest.MustFail(t, "a matrix of an unknown group", err, control.ErrNotFound)
}

// alarm has alerts in place of rules.
type alarm struct {
	series.Rules
	list []series.Alert
}

func (a alarm) Alerts(series.Scope) []series.Alert { return a.list }

func TestTheOverviewListsFiringAlertsOfItsFabric(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	began := time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)
	alert := func(name string, state series.AlertState, fabric, severity string, minute int) series.Alert {
		return series.Alert{Name: name, State: state, ActiveAt: began.Add(time.Duration(minute) * time.Minute), Labels: []series.Label{{Name: series.LabelFabric, Value: fabric}, {Name: "severity", Value: severity}}}
	}
	list := []series.Alert{
		alert("ticket", series.AlertFiring, "lab", "ticket", 0), alert("late", series.AlertFiring, "lab", "page", 2), alert("early", series.AlertFiring, "lab", "page", 1),
		alert("pending", series.AlertPending, "lab", "page", 0), alert("elsewhere", series.AlertFiring, "prod", "page", 0), alert("manager", series.AlertFiring, "", "page", 0),
	}
	for i := range 30 {
		list = append(list, alert("many", series.AlertFiring, "lab", "ticket", 10+i))
	}
	p := onRig(t, r, func(d *control.Deps) { d.Rules = alarm{list: list} })
	o := p.overview()
	if o.AlertsFiring != 33 || len(o.Alerts) != 20 || o.Alerts[0].Name != "early" || o.Alerts[1].Name != "late" || o.Alerts[2].Name != "ticket" {
		t.Errorf("%d alerts fire: %+v", o.AlertsFiring, o.Alerts)
	}
}

// TestStatesOfGroupsAreTheWorstOfTheirMembers adds one fault after another.
func TestStatesOfGroupsAreTheWorstOfTheirMembers(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	state := func(want views.MapState, down int) {
		t.Helper()
		m, err := p.Map(t.Context(), "lab", views.MapQuery{}, everything)
		if err != nil {
			t.Fatal(err)
		}
		if s := m.Groups[1]; s.State != want || m.Edges[0].Down != down {
			t.Errorf("switch %+v, edge %+v; want state %d and %d links down", s, m.Edges[0], want, down)
		}
	}
	state(views.MapOK, 0)
	p.measure(0.9, tenant{"red", "contending", 1})
	state(views.MapContended, 0)
	p.now = p.now.Add(time.Minute)
	p.measure(0.9, tenant{"red", "contending", 0.5})
	state(views.MapBelow, 0)
	p.now = p.now.Add(time.Second)
	err := p.Series.Append(t.Context(), p.now, []series.Sample{{Family: series.LinkUp, Value: 0, Labels: []series.Label{{Name: series.LabelFabric, Value: "lab"}, {Name: series.LabelLink, Value: link}}}})
	if err != nil {
		t.Fatal(err)
	}
	state(views.MapDown, 1)
}

func searched(t *testing.T, p *page, ctx context.Context, text string) (out []string) {
	t.Helper()
	list, _, err := p.Search(ctx, views.SearchQuery{Text: text, Limit: 50, May: func(string, string, string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		out = append(out, f.Kind+" "+f.Name)
	}
	return out
}
