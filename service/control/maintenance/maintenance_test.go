package maintenance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/maintenance"
	"fairlane/service/control/operations"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/usecases"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// world is a service with tenants red and blue on the fabric lab, whose clock the test sets.
type world struct {
	*usecases.Services
	t   *testing.T
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	r := controltest.New(t, controltest.OpenSQLite)
	w := &world{t: t, now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	w.Services = r.Manager(t, func(d *control.Deps) { d.Clock = func() time.Time { return w.now } })
	ctx := t.Context()
	_, err := w.CreateFabric(ctx, control.Fabric{Name: "lab", Source: controltest.Source})
	if err == nil {
		_, err = w.Discover(ctx, "lab")
	}
	if err != nil {
		t.Fatal(err)
	}
	w.tenant("red", "h1", "h2")
	w.tenant("blue", "h3")
	return w
}

func (w *world) tenant(name string, ports ...string) {
	w.t.Helper()
	in := tenancy.TenantInput{Name: name, Weight: 1000}
	for _, p := range ports {
		in.Attachments = append(in.Attachments, tenancy.AttachmentInput{Port: p})
	}
	if name != "green" {
		in.PKey = map[string]ident.PKey{"red": 0x8001, "blue": 0x8002}[name]
	}
	if _, err := w.CreateTenant(w.t.Context(), "lab", in); err != nil {
		w.t.Fatal(err)
	}
}

// input is a maintenance in an hour, for an hour.
func (w *world) input(scope control.MaintenanceScope) maintenance.Input {
	return maintenance.Input{StartsAt: w.now.Add(time.Hour), EndsAt: w.now.Add(2 * time.Hour), Text: control.MaintenanceText{EN: "Switches get new firmware", ZH: "交换机升级固件"}, Scope: scope}
}

func (w *world) as(name string) context.Context { return control.WithActor(w.t.Context(), name) }

func (w *world) add(scope control.MaintenanceScope) control.Maintenance {
	w.t.Helper()
	m, err := w.AddMaintenance(w.as("ada"), "lab", w.input(scope))
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// seen lists the periods' states and texts that a tenant sees.
func (w *world) seen(tenant string) (out []string) {
	w.t.Helper()
	list, _, err := w.TenantMaintenance(w.t.Context(), maintenance.TenantRef{Fabric: "lab", Tenant: tenant}, control.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range list {
		m := &list[i]
		if m.Fabric+m.Author != "" || !m.Scope.Whole() || m.Touches != nil || m.Version != 0 || !m.CreatedAt.IsZero() || !m.UpdatedAt.IsZero() {
			w.t.Errorf("%s sees more than period and text: %+v", tenant, m)
		}
		out = append(out, string(m.State(w.now))+" "+m.StartsAt.Format("15:04")+"-"+m.EndsAt.Format("15:04"))
	}
	return out
}

// reported lists the events of a tenant since the last call.
func (w *world) reported(tenant string) (out []string) {
	w.t.Helper()
	ctx := control.WithPrincipal(w.t.Context(), control.Principal{
		Kind: control.PrincipalUser, Name: "bob", Grants: []tenants.Grant{{Role: tenants.RoleTenantViewer, Domain: tenants.Domain{Fabric: "lab", Tenant: tenant}}},
	})
	list, _, err := w.ListEvents(ctx, control.EventFilter{Fabric: "lab", Kind: "tenant.maintenance"}, control.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range list {
		if e.Actor != control.MaskedActor || e.Subject != tenant || len(e.Data) > 0 || e.At.Second() != 0 {
			w.t.Errorf("%s gets %+v", tenant, e)
		}
		out = append(out, e.Said.String())
	}
	return out
}

func TestAScopeTouchesTheTenantsWhoseTrafficCanUseIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		name  string
		scope control.MaintenanceScope
		want  string
	}{
		{"the whole fabric", control.MaintenanceScope{}, "blue red"},
		{"a tenant", control.MaintenanceScope{Tenants: []string{"blue", "blue"}}, "blue"},
		{"a host", control.MaintenanceScope{Places: []string{"h2"}}, "red"},
		{"a host's port", control.MaintenanceScope{Places: []string{"h3/P1"}}, "blue"},
		{"the switch's end of a host's link", control.MaintenanceScope{Places: []string{"sw1/P1"}}, "red"},
		{"the switch of all", control.MaintenanceScope{Places: []string{"sw1"}}, "blue red"},
		{"a host without tenants", control.MaintenanceScope{Places: []string{"h4"}}, ""},
		{"a tenant and a place", control.MaintenanceScope{Tenants: []string{"blue"}, Places: []string{"h1"}}, "blue red"},
	} {
		if got := strings.Join(w.add(c.scope).Touches, " "); got != c.want {
			t.Errorf("%s touches %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTenantsSeeTheMaintenanceThatTouchesThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.add(control.MaintenanceScope{Places: []string{"h1"}})
	check := func(what, red, blue string) {
		t.Helper()
		if got := strings.Join(w.seen("red"), ", "); got != red {
			t.Errorf("%s: red sees %q, want %q", what, got, red)
		}
		if got := strings.Join(w.seen("blue"), ", "); got != blue {
			t.Errorf("%s: blue sees %q, want %q", what, got, blue)
		}
	}
	check("announced", "planned 11:00-12:00", "")
	w.now = w.now.Add(90 * time.Minute)
	check("during it", "active 11:00-12:00", "")
	w.now = w.now.Add(30 * time.Minute)
	check("at its end", "ended 11:00-12:00", "")
	if _, err := w.UpdateMaintenance(t.Context(), "lab", m.ID, 0, w.input(control.MaintenanceScope{})); controltest.Code(err) != "maintenance-over" {
		t.Errorf("a change after the end: %v", err)
	}
	whole := w.add(control.MaintenanceScope{})
	w.tenant("green")
	if got := w.seen("green"); len(got) != 1 || got[0] != "planned 13:00-14:00" {
		t.Errorf("a tenant that was added later sees %v, want the whole fabric's alone", got)
	}
	for range 2 { // the second changes nothing
		if err := w.CancelMaintenance(w.as("ada"), "lab", whole.ID, 0); err != nil {
			t.Fatal(err)
		}
	}
	check("canceled", "canceled 13:00-14:00, ended 11:00-12:00", "canceled 13:00-14:00")
	list, _, err := w.ListMaintenance(t.Context(), maintenance.Query{Fabric: "lab"}, control.Page{})
	if err != nil || len(list) != 0 {
		t.Errorf("open maintenance: %+v, %v", list, err)
	}
	for _, c := range []struct {
		pass time.Duration
		left int
	}{{90*24*time.Hour + time.Minute, 1}, {2 * time.Hour, 0}} { // after the end of the first one, of the second one
		w.now = w.now.Add(c.pass)
		if _, err := w.Prune(t.Context(), operations.Retention{}); err != nil {
			t.Fatal(err)
		}
		if list, _, err = w.ListMaintenance(t.Context(), maintenance.Query{Fabric: "lab", Ended: true}, control.Page{}); err != nil || len(list) != c.left {
			t.Errorf("90 days after its end there are %d, %v; want %d", len(list), err, c.left)
		}
	}
}

func TestTenantsAreToldWhatChangesForThemAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.add(control.MaintenanceScope{Tenants: []string{"red"}})
	in := w.input(control.MaintenanceScope{Tenants: []string{"red", "blue"}})
	m, err := w.UpdateMaintenance(w.as("ada"), "lab", m.ID, m.Version, in) // red gets no event when blue joins
	if err != nil {
		t.Fatal(err)
	}
	in.EndsAt = in.EndsAt.Add(time.Hour)
	in.Scope.Tenants = []string{"blue"}
	if m, err = w.UpdateMaintenance(w.as("ada"), "lab", m.ID, m.Version, in); err != nil {
		t.Fatal(err)
	}
	if err := w.CancelMaintenance(w.as("ada"), "lab", m.ID, m.Version); err != nil {
		t.Fatal(err)
	}
	period := func(hour string) string { return "2026-11-21T11:00:00Z to 2026-11-21T" + hour + ":00:00Z" }
	if d := cmp.Diff([]string{"maintenance was announced from " + period("12"), "the maintenance from " + period("12") + " does not concern your tenant any more"}, w.reported("red")); d != "" {
		t.Errorf("red has the events (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{
		"maintenance was announced from " + period("12"), "announced maintenance was changed: from " + period("13"), "the maintenance from " + period("13") + " was canceled",
	}, w.reported("blue")); d != "" {
		t.Errorf("blue has the events (-want +got):\n%s", d)
	}
	var audited []string
	for _, e := range controltest.AuditEntries(t, w.Services) {
		if strings.Contains(e.Action, "maintenance") {
			audited = append(audited, e.Action+" by "+e.Actor)
		}
	}
	if got := strings.Join(audited, ", "); got != strings.TrimSuffix(strings.Repeat("fabric.maintenance by ada, ", 4), ", ") {
		t.Errorf("audited: %s", got)
	}
}

func TestAStaleVersionChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.add(control.MaintenanceScope{})
	if _, err := w.UpdateMaintenance(t.Context(), "lab", m.ID, 7, w.input(control.MaintenanceScope{})); !errors.Is(err, control.ErrPrecondition) {
		t.Errorf("update: %v", err)
	}
	if err := w.CancelMaintenance(t.Context(), "lab", m.ID, 7); !errors.Is(err, control.ErrPrecondition) {
		t.Errorf("cancel: %v", err)
	}
	if got, err := w.Maintenance(t.Context(), "lab", m.ID); err != nil || got.Version != 1 || !got.CanceledAt.IsZero() {
		t.Errorf("found %+v, %v", got, err)
	}
	if _, err := w.Maintenance(t.Context(), "lab", "m-000000000000"); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestInvalidMaintenanceIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		pointer string
		edit    func(*maintenance.Input)
	}{
		{"/ends_at", func(in *maintenance.Input) { in.EndsAt = in.StartsAt }},
		{"/ends_at", func(in *maintenance.Input) {
			in.StartsAt, in.EndsAt = w.now.Add(-2*time.Hour), w.now.Add(-time.Hour)
		}},
		{"/ends_at", func(in *maintenance.Input) { in.EndsAt = in.StartsAt.Add(32 * 24 * time.Hour) }},
		{"/ends_at", func(in *maintenance.Input) {
			in.StartsAt, in.EndsAt = w.now.Add(400*24*time.Hour), w.now.Add(401*24*time.Hour)
		}},
		{"/text", func(in *maintenance.Input) { in.Text = control.MaintenanceText{EN: "  "} }},
		{"/text/zh", func(in *maintenance.Input) { in.Text.ZH = strings.Repeat("维", 501) }},
		{"/text/en", func(in *maintenance.Input) { in.Text.EN = "The hosts of Blue are moved" }},
		{"/text/en", func(in *maintenance.Input) { in.Text.EN, in.Scope.Tenants = "blue is moved", []string{"red"} }},
		{"/scope/tenants/1", func(in *maintenance.Input) { in.Scope.Tenants = []string{"red", "nobody"} }},
		{"/scope/places/0", func(in *maintenance.Input) { in.Scope.Places = []string{"sw9", "h1"} }},
		{"/scope/places/1", func(in *maintenance.Input) { in.Scope.Places = []string{"h1", "sw1/P99"} }},
	} {
		in := w.input(control.MaintenanceScope{})
		c.edit(&in)
		_, err := w.AddMaintenance(t.Context(), "lab", in)
		var bad *control.InvalidError
		if !errors.As(err, &bad) || bad.Fields[0].Pointer != c.pointer {
			t.Errorf("%s: %v", c.pointer, err)
		}
	}
	in := w.input(control.MaintenanceScope{Tenants: []string{"blue"}})
	in.Text.EN = "The hosts of blue are moved"
	in.StartsAt, in.EndsAt = in.StartsAt.Add(time.Second), in.EndsAt.Add(time.Second)
	m, err := w.AddMaintenance(t.Context(), "lab", in)
	if err != nil {
		t.Fatalf("a tenant that alone reads its name: %v", err)
	}
	if got := m.StartsAt.Format("15:04:05") + " " + m.EndsAt.Format("15:04:05"); got != "11:00:00 12:01:00" {
		t.Errorf("rounded to %s", got)
	}
}

func TestOpenMaintenanceIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var last control.Maintenance
	for range 200 {
		last = w.add(control.MaintenanceScope{Tenants: []string{"blue"}})
	}
	if _, err := w.AddMaintenance(t.Context(), "lab", w.input(control.MaintenanceScope{})); controltest.Code(err) != "too-much-maintenance" {
		t.Errorf("error is %v", err)
	}
	if err := w.CancelMaintenance(t.Context(), "lab", last.ID, 0); err != nil {
		t.Fatal(err)
	}
	w.add(control.MaintenanceScope{}) // as the error says
	seen := map[string]bool{}
	for p := (control.Page{Limit: 90}); ; {
		list, next, err := w.TenantMaintenance(t.Context(), maintenance.TenantRef{Fabric: "lab", Tenant: "blue"}, p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			seen[list[i].ID] = true
		}
		if p.After = next; next == "" {
			break
		}
	}
	if len(seen) != 201 {
		t.Errorf("%d announcements in pages, want 201", len(seen))
	}
	if _, _, err := w.ListMaintenance(t.Context(), maintenance.Query{Fabric: "lab"}, control.Page{After: "x"}); !errors.Is(err, control.ErrInvalid) {
		t.Errorf("a foreign cursor: %v", err)
	}
}
