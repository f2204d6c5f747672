package agent

import (
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicyang"
)

// functions adds a port's virtual functions.
func (g *getter) functions(s *seen, p *Port, port gnmitree.Path) error {
	e, ok := g.below(port, gnmitree.ClassOperational, "functions")
	if !ok || p.Meter == nil || p.Functions == 0 {
		return nil
	}
	m := g.agent.meter(s.card, p.Number)
	all, at, err := m.functions.read(g.ctx, g.agent, m, p.Meter.Functions)
	if cancelled := g.ctx.Err(); cancelled != nil {
		return cancelled
	}
	e.sampled, e.time = true, at
	if err != nil {
		e.at = e.at.Child("state")
		e.put("problem", gnmitree.String(err.Error()))
	}
	var tenants map[int]string
	if g.agent.o.Tenants != nil {
		tenants = g.agent.o.Tenants(p.ID)
	}
	for i := range all {
		f := &all[i]
		base := nicyang.Function(s.nic.Name, p.Number, f.Index)
		if !meets(g.pattern, base) {
			continue
		}
		e.at = base.Child("state")
		e.text("name", f.Name)
		e.text("rdma-device", f.RDMA)
		e.text("tenant", tenants[f.Index])
		if f.RxOctets.Err == nil {
			e.put("rx-octets", gnmitree.Uint(f.RxOctets.Value))
		}
		e.counter("tx-octets", f.TxOctets)
		if f.TxOctets.Err == nil && f.RxOctets.Err != nil {
			e.put("problem", gnmitree.String(f.RxOctets.Err.Error()))
		}
		g.functionCounters(e, base.Child("counters"), f)
	}
	return nil
}

// functionCounters adds the counters of a function's RDMA device.
func (g *getter) functionCounters(e emit, at gnmitree.Path, f *Function) {
	if !meets(g.pattern, at) {
		return
	}
	if f.Problem != nil {
		e.at = at.Child("state")
		e.put("problem", gnmitree.String(f.Problem.Error()))
	}
	for _, name := range sortedNames(f.Counters) {
		one := at.Child("counter", gnmitree.Key{Name: "name", Value: name})
		if meets(g.pattern, one) {
			e.at = one.Child("state")
			e.counter("value", f.Counters[name])
		}
	}
}
