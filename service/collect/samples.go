package collect

import (
	"cmp"
	"maps"
	"slices"
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

// count adds a measurement to the totals of tenants. The measured window stands for its period, or for the time since the measurement
// before when that is shorter, as after the process was stopped. A tenant that was not measured, or whose link was not, keeps its totals.
func (s *fabricState) count(sh *control.Shares, of *control.ObjectiveSet, at time.Time, period time.Duration) {
	stands := period.Seconds()
	if !s.counted.IsZero() {
		stands = max(min(period, at.Sub(s.counted)), 0).Seconds()
	}
	s.counted = at
	for i := range sh.Tenants {
		t := &sh.Tenants[i]
		sum := s.totals[t.Tenant]
		if t.Contention == control.ContentionContending && t.Received != nil {
			sum.contended += stands
			if *t.Received < of.Of(t.Tenant).Bound {
				sum.bad += stands
			}
		}
		s.totals[t.Tenant] = sum
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
			b.measured(series.TenantDelivered, float64(*t.Delivered), tenantLabel(t.Tenant))
		}
		if t.ShareError != nil {
			b.measured(series.TenantError, *t.ShareError, tenantLabel(t.Tenant))
		}
		if t.Contention != "" {
			b.add(series.TenantState, 1, tenantLabel(t.Tenant), series.Label{Name: series.LabelState, Value: t.Contention})
		}
		if t.Received != nil {
			b.measured(series.TenantReceived, *t.Received, tenantLabel(t.Tenant), linkLabel(t.Limit))
		}
		b.tenant(series.TenantContended, t.Tenant, sums[t.Tenant].contended)
		b.tenant(series.TenantBad, t.Tenant, sums[t.Tenant].bad)
	}
	for i := range sh.Links {
		l := &sh.Links[i]
		b.link(series.LinkCapacity, l.Name, float64(l.Capacity))
		if l.Delivered != nil {
			b.measured(series.LinkDelivered, float64(*l.Delivered), linkLabel(l.Name))
		}
		if l.FairRate != nil {
			b.link(series.LinkFairRate, l.Name, float64(*l.FairRate))
		}
		if l.Use != nil {
			b.measured(series.LinkUse, *l.Use, linkLabel(l.Name))
		}
		for _, t := range l.Tenants {
			if t.Delivered != nil {
				b.measured(series.LinkTenant, float64(*t.Delivered), linkLabel(l.Name), tenantLabel(t.Tenant))
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
		b.measured(series.FabricJain, *sh.Jain)
	}
	if sh.MaxShareError != nil {
		b.measured(series.FabricError, *sh.MaxShareError)
	}
	if sh.Loop != nil && sh.Loop.State != control.LoopNotTested {
		b.add(series.FabricLoop, truth(sh.Loop.State == control.LoopActing))
	}
	b.ports(sh.Ports, p)
	if sh.Cost != nil {
		b.cost("shares", *sh.Cost, period)
	}
	return append(b.out, coverage(fabric, measured(sh, period, scale)))
}

// portFamilies are the families of the counts of ports, by control.PortCount.Kind.
var portFamilies = map[string]string{
	"becn": series.PortBECN, "xmit-wait": series.PortWait, "congested": series.PortCongested, "marks": series.PortMarks,
	"cnps-sent": series.PortCNPsSent, "cnps-handled": series.PortCNPs, "pauses-received": series.PortPauses, "paused": series.PortPaused,
	"fcnps-sent": series.PortFCNPs, "rewrites": series.PortRewrites, "pauses-sent": series.PortPausesSent,
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

// cost adds what a measurement asked of devices, averaged over its period.
func (b *batch) cost(kind string, c control.Cost, period time.Duration) {
	of := series.Label{Name: series.LabelKind, Value: kind}
	b.add(series.CostRequests, float64(c.Requests)/period.Seconds(), of)
	b.add(series.CostBytes, float64(c.Bytes)/period.Seconds(), of)
}

// functionFamilies are the families of the counts of virtual functions, by control.PortCount.Kind.
var functionFamilies = map[string]string{"marks": series.FunctionMarks, "cnps-sent": series.FunctionCNPsOut, "cnps-handled": series.FunctionCNPs}

// functionTenants returns the tenants of virtual functions on the ports that several tenants of a plan share, by port and index.
func functionTenants(p *policy.Plan) map[ident.PortID]map[int]string {
	if p.RoCE == nil {
		return nil
	}
	out := map[ident.PortID]map[int]string{}
	for i := range p.RoCE.Traffic {
		t := &p.RoCE.Traffic[i]
		if t.Function == policy.NodeFunction {
			continue // the plan does not know which functions they are
		}
		if out[t.Port] == nil {
			out[t.Port] = map[int]string{}
		}
		out[t.Port][t.Function] = t.Tenant
	}
	maps.DeleteFunc(out, func(_ ident.PortID, of map[int]string) bool { return len(of) < 2 })
	return out
}

// functions adds the samples of a port's virtual functions that have tenants.
func (b *batch) functions(p *control.PortActivity, of map[int]string) {
	for i := range p.Functions {
		f := &p.Functions[i]
		tenant := cmp.Or(f.Tenant, of[f.Index])
		if tenant == "" {
			continue
		}
		labels := []series.Label{{Name: series.LabelPort, Value: p.Name}, {Name: series.LabelVF, Value: strconv.Itoa(f.Index)}, tenantLabel(tenant)}
		if f.Sent != nil {
			b.measured(series.FunctionSent, float64(*f.Sent), labels...)
		}
		for _, n := range f.Counts {
			b.measured(functionFamilies[n.Kind], n.PerSecond, labels...)
		}
	}
}

// ports adds the samples of ports. The plan has the tenants of their virtual functions.
func (b *batch) ports(list []control.PortActivity, plan *policy.Plan) {
	tenants := functionTenants(plan)
	for i := range list {
		b.functions(&list[i], tenants[list[i].Port])
		p := &list[i]
		port := series.Label{Name: series.LabelPort, Value: p.Name}
		if p.Sent != nil {
			b.measured(series.PortSent, float64(*p.Sent), port)
		}
		for _, name := range slices.Sorted(maps.Keys(p.Senders)) {
			b.add(series.PortSender, float64(p.Senders[name]), port, series.Label{Name: series.LabelSender, Value: name})
		}
		for _, n := range p.Counts {
			if n.Lane != nil {
				b.measured(portFamilies[n.Kind], n.PerSecond, port, series.Label{Name: series.LabelLane, Value: strconv.Itoa(*n.Lane)})
			} else {
				b.measured(portFamilies[n.Kind], n.PerSecond, port)
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

// measured adds a measured value with its significant digits.
func (b *batch) measured(family string, v float64, labels ...series.Label) {
	b.add(family, series.Significant(v), labels...)
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
