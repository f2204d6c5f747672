package collect

import (
	"time"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/series"
)

// Samples returns the samples of a measurement. What was not measured has no sample. scale is the fabric's time for a second of wall
// time.
func Samples(fabric string, p *policy.Plan, sh *control.Shares, period time.Duration, scale float64) []series.Sample {
	b := batch{fabric: fabric}
	for i := range p.Tenants {
		t := &p.Tenants[i]
		b.tenant(series.TenantEntitled, t.Tenant, float64(t.Entitled))
		b.tenant(series.TenantPredicted, t.Tenant, float64(t.Predicted))
		b.tenant(series.TenantWeight, t.Tenant, t.Weight.Float())
	}
	for i := range sh.Tenants {
		t := &sh.Tenants[i]
		if t.Delivered != nil {
			b.tenant(series.TenantDelivered, t.Tenant, float64(*t.Delivered))
		}
		if t.ShareError != nil {
			b.tenant(series.TenantError, t.Tenant, *t.ShareError)
		}
	}
	for i := range sh.Links {
		l := &sh.Links[i]
		b.link(series.LinkCapacity, l.Name, float64(l.Capacity))
		if l.Delivered != nil {
			b.link(series.LinkDelivered, l.Name, float64(*l.Delivered))
		}
		if l.Use != nil {
			b.link(series.LinkUse, l.Name, *l.Use)
		}
	}
	for i := range p.Links {
		l := &p.Links[i]
		for _, t := range l.Tenants {
			b.add(series.LinkEntitled, float64(t.Entitled), series.Label{Name: series.LabelLink, Value: l.Name}, series.Label{Name: series.LabelTenant, Value: t.Tenant})
		}
	}
	if sh.Jain != nil {
		b.add(series.FabricJain, *sh.Jain)
	}
	if sh.MaxShareError != nil {
		b.add(series.FabricError, *sh.MaxShareError)
	}
	return append(b.out, coverage(fabric, measured(sh, period, scale)))
}

// measured returns the fraction of a period, in the fabric's time, that a measurement covers.
func measured(sh *control.Shares, period time.Duration, scale float64) float64 {
	if sh.Coverage == nil {
		return 0
	}
	return min(*sh.Coverage*float64(sh.Window)/(float64(period)*scale), 1)
}

func coverage(fabric string, part float64) series.Sample {
	return series.Sample{Family: series.Coverage, Labels: []series.Label{{Name: series.LabelFabric, Value: fabric}}, Value: part}
}

// batch gathers samples of one fabric.
type batch struct {
	fabric string
	out    []series.Sample
}

func (b *batch) add(family string, v float64, labels ...series.Label) {
	b.out = append(b.out, series.Sample{Family: family, Value: v, Labels: append([]series.Label{{Name: series.LabelFabric, Value: b.fabric}}, labels...)})
}

func (b *batch) tenant(family, name string, v float64) {
	b.add(family, v, series.Label{Name: series.LabelTenant, Value: name})
}

func (b *batch) link(family, name string, v float64) {
	b.add(family, v, series.Label{Name: series.LabelLink, Value: name})
}
