package collect

import (
	"strconv"
	"time"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// totals are the counters of a tenant since its manager began to measure the fabric, in seconds.
type totals struct{ contended, bad float64 }

// count adds a measurement to the totals of tenants. The measured window represents its period. A tenant that was not measured, or whose
// link was not, keeps its totals.
func count(all map[string]totals, sh *control.Shares, of *control.ObjectiveSet, period time.Duration) {
	for i := range sh.Tenants {
		t := &sh.Tenants[i]
		sum := all[t.Tenant]
		if t.Contention == control.ContentionContending && t.Received != nil {
			sum.contended += period.Seconds()
			if *t.Received < of.Of(t.Tenant).Bound {
				sum.bad += period.Seconds()
			}
		}
		all[t.Tenant] = sum
	}
}

// samples returns the samples of a measurement. What was not measured has no sample. scale is the fabric's time for a second of wall
// time.
func samples(fabric string, p *policy.Plan, sh *control.Shares, sums map[string]totals, period time.Duration, scale float64) []series.Sample {
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
		if t.Contention != "" {
			b.add(series.TenantState, 1, tenantLabel(t.Tenant), series.Label{Name: series.LabelState, Value: t.Contention})
		}
		if t.Received != nil {
			b.add(series.TenantReceived, *t.Received, tenantLabel(t.Tenant), linkLabel(t.Limit))
		}
		b.tenant(series.TenantContended, t.Tenant, sums[t.Tenant].contended)
		b.tenant(series.TenantBad, t.Tenant, sums[t.Tenant].bad)
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
		for _, t := range l.Tenants {
			if t.Delivered != nil {
				b.add(series.LinkTenant, float64(*t.Delivered), linkLabel(l.Name), tenantLabel(t.Tenant))
			}
		}
	}
	for i := range p.Links {
		l := &p.Links[i]
		for _, t := range l.Tenants {
			b.add(series.LinkEntitled, float64(t.Entitled), linkLabel(l.Name), tenantLabel(t.Tenant))
		}
	}
	if sh.Jain != nil {
		b.add(series.FabricJain, *sh.Jain)
	}
	if sh.MaxShareError != nil {
		b.add(series.FabricError, *sh.MaxShareError)
	}
	if sh.Loop != nil && sh.Loop.State != control.LoopNotTested {
		b.add(series.FabricLoop, truth(sh.Loop.State == control.LoopActing))
	}
	b.ports(sh.Ports)
	return append(b.out, coverage(fabric, measured(sh, period, scale)))
}

// portFamilies are the families of the counts of ports, by control.PortCount.Kind.
var portFamilies = map[string]string{
	"becn": series.PortBECN, "xmit-wait": series.PortWait, "congested": series.PortCongested, "marks": series.PortMarks,
	"cnps-sent": series.PortCNPsSent, "cnps-handled": series.PortCNPs, "pauses-received": series.PortPauses, "paused": series.PortPaused,
}

// atLinks returns the ports at either end of a link.
func atLinks(ports []control.PortActivity, links []control.LinkUse) (out []control.PortActivity) {
	at := make(map[ident.PortID]bool, 2*len(links))
	for i := range links {
		at[links[i].Port], at[links[i].Peer] = true, true
	}
	for _, p := range ports {
		if at[p.Port] {
			out = append(out, p)
		}
	}
	return out
}

// ports adds the samples of ports.
func (b *batch) ports(list []control.PortActivity) {
	for i := range list {
		p := &list[i]
		port := series.Label{Name: series.LabelPort, Value: p.Name}
		if p.Sent != nil {
			b.add(series.PortSent, float64(*p.Sent), port)
		}
		for _, n := range p.Counts {
			if n.Lane != nil {
				b.add(portFamilies[n.Kind], n.PerSecond, port, series.Label{Name: series.LabelLane, Value: strconv.Itoa(*n.Lane)})
			} else {
				b.add(portFamilies[n.Kind], n.PerSecond, port)
			}
		}
	}
}

// targets returns the targets of a plan's tenants.
func targets(fabric string, p *policy.Plan, of *control.ObjectiveSet) []series.Sample {
	b := batch{fabric: fabric}
	for i := range p.Tenants {
		b.tenant(series.TenantObjective, p.Tenants[i].Tenant, of.Of(p.Tenants[i].Tenant).Target)
	}
	return b.out
}

// linkStates returns which contended links of a plan are up in a topology.
func linkStates(fabric string, p *policy.Plan, topo *subnet.Fabric) []series.Sample {
	b := batch{fabric: fabric}
	for i := range p.Links {
		l := &p.Links[i]
		b.link(series.LinkUp, l.Name, truth(control.Linked(topo, l.Port, l.Peer)))
	}
	return b.out
}

func truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
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
	b.add(family, v, tenantLabel(name))
}

func (b *batch) link(family, name string, v float64) {
	b.add(family, v, linkLabel(name))
}

func tenantLabel(name string) series.Label {
	return series.Label{Name: series.LabelTenant, Value: name}
}

func linkLabel(name string) series.Label { return series.Label{Name: series.LabelLink, Value: name} }
