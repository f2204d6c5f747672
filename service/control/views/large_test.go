package views_test

import (
	"context"
	"fmt"
	"testing"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/views"
	"fairlane/service/series"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// finder discovers one topology, whatever the source.
type finder struct{ f *subnet.Fabric }

func (d finder) Discover(context.Context, string, policy.Options) (*subnet.Fabric, control.DiscoverStats, error) {
	return d.f, control.DiscoverStats{}, nil
}

// largePage is a service with a fabric of 10,000 hosts and 2,000 tenants, all below their share.
func largePage(t testing.TB) *page {
	t.Helper()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 250, HostsPerLeaf: 40, Spines: 32})
	if err != nil {
		t.Fatal(err)
	}
	p := onRig(t, controltest.New(t, controltest.OpenSQLite), func(d *control.Deps) { d.Discoverer = finder{f} })
	ctx := t.Context()
	if _, err = p.CreateFabric(ctx, control.Fabric{Name: "lab", Source: controltest.Source}); err == nil {
		_, err = p.Discover(ctx, "lab")
	}
	var set tenancy.TenantSet
	lab := series.Label{Name: series.LabelFabric, Value: "lab"}
	batch := []series.Sample{}
	for i := range 2000 {
		name := fmt.Sprintf("tenant-%04d", i)
		set.Tenants = append(set.Tenants, tenancy.TenantInput{Name: name, Weight: 1000})
		of := []series.Label{lab, {Name: series.LabelTenant, Value: name}}
		on := series.Label{Name: series.LabelLink, Value: fmt.Sprintf("leaf%d/P%d -> host-%04d/P1", i/40+1, i%40+1, i+1)}
		batch = append(batch, series.Sample{Family: series.TenantState, Value: 1, Labels: append(of[:2:2], series.Label{Name: series.LabelState, Value: "contending"})},
			series.Sample{Family: series.TenantReceived, Value: 0.5 + float64(i)/10000, Labels: append(of[:2:2], on)},
			series.Sample{Family: series.TenantDelivered, Value: 1e9, Labels: of}, series.Sample{Family: series.TenantEntitled, Value: 2e9, Labels: of},
			series.Sample{Family: series.LinkTenant, Value: 1e9, Labels: []series.Label{lab, on, of[1]}}, series.Sample{Family: series.LinkUse, Value: 0.9, Labels: []series.Label{lab, on}})
	}
	if err == nil {
		_, err = p.ApplyTenants(ctx, "lab", set, false)
	}
	if err == nil {
		err = p.Series.Append(ctx, p.now, batch)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnswersAboutALargeFabricAreBounded(t *testing.T) {
	t.Parallel()
	p := largePage(t)
	ctx := t.Context()
	o := p.overview()
	if o.Tenants != 2000 || o.BelowCount != 2000 || len(o.Below) != 50 || o.Below[0].Tenant != "tenant-0000" || o.ContendedSize != 2000 || len(o.Contended) != 20 || o.States[0].N != 2000 {
		t.Errorf("%d tenants, %d below (%d listed), %d contended links (%d listed)", o.Tenants, o.BelowCount, len(o.Below), o.ContendedSize, len(o.Contended))
	}
	if b := o.Below[49]; *b.Delivered != 1e9 || *b.Entitled != 2e9 || b.EntitledNow == nil {
		t.Errorf("the last tenant listed is %+v", b)
	}
	m, err := p.Map(ctx, "lab", views.MapQuery{}, everything)
	if err != nil || m.By != views.ByBlock || len(m.Groups) > 300 || len(m.Meetings) != 200 || m.MoreMeetings != 1800 {
		t.Errorf("map by %s has %d groups and %d meetings, %d more: %v", m.By, len(m.Groups), len(m.Meetings), m.MoreMeetings, err)
	}
	x, err := p.Matrix(ctx, "lab", views.MatrixQuery{})
	if err != nil || !x.Grouped || len(x.Rows) == 0 || len(x.Rows) > 128 || len(x.Columns) != 32 || len(x.Cells) != len(x.Rows)*32 {
		t.Errorf("matrix has %d rows, %d columns and %d cells: %v", len(x.Rows), len(x.Columns), len(x.Cells), err)
	}
	if x, err = p.Matrix(ctx, "lab", views.MatrixQuery{Group: x.Rows[0].ID}); err != nil || x.Grouped || len(x.Rows) == 0 || x.Cells[0].Links != 1 {
		t.Errorf("matrix of a group is %+v, %v", x, err)
	}
	for _, text := range []string{"host", "t", "1", "0x02", "leaf250/p1"} {
		list, more, err := p.Search(ctx, views.SearchQuery{Text: text, Limit: 50, May: func(string, string, string) bool { return true }})
		if err != nil || len(list) == 0 || len(list) > 50 || more != (text != "leaf250/p1") {
			t.Errorf("%q finds %d, more %t: %v", text, len(list), more, err)
		}
	}
}

func BenchmarkSearch10000Hosts(b *testing.B) {
	p := largePage(b)
	for _, text := range []string{"h", "host-9", "0x0200", "nothing of the kind"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := p.Search(b.Context(), views.SearchQuery{Text: text, Limit: 20, May: func(string, string, string) bool { return true }}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPages10000Hosts(b *testing.B) {
	p := largePage(b)
	for name, do := range map[string]func() error{
		"overview": func() error { _, err := p.Overview(b.Context(), "lab", everything); return err },
		"map":      func() error { _, err := p.Map(b.Context(), "lab", views.MapQuery{}, everything); return err },
		"matrix":   func() error { _, err := p.Matrix(b.Context(), "lab", views.MatrixQuery{}); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
