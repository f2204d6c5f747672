package policy

import (
	"slices"

	"fairlane/internal/quantity"
	"fairlane/subnet"
)

// Target is what the weights ask for.
type Target struct {
	// Flows is in the order of Input.Flows.
	Flows []Entitlement
	// Links lists the contended link directions, by transmitting port: those that limit at least
	// one flow and carry more than one tenant. Predicted is zero here.
	Links []LinkShare
}

// Entitle computes the target: hierarchical weighted max-min fairness over link directions, each with
// its own capacity. On every link the tenants present share by weight; inside a tenant's part
// its classes share by class weight; inside a class's part all queue pairs share equally. What a queue
// pair cannot use, because another link or its demand limits it, goes to its class first, then
// to its tenant's other classes, then to the other tenants. When nothing but this link
// limits anyone, a flow of n queue pairs of a class counts w_tenant · (w_class/Σ w_class) · n/n_class,
// which is S1's w_t/n_t per flow.
//
// The result has this certificate: every flow not limited by its own demand crosses a link that
// is full, and on which no queue pair of its class has more, no class of its tenant has more per weight,
// and no tenant has more per weight. Rates are in bit/s of whole packets on the wire. Rates
// depend neither on the order of the input nor on the scale of the weights.
//
// It fails, wrapping ErrInput, on input that tenants.Validate refuses, ports that are not in
// the fabric, links without a rate, and missing routes.
func Entitle(in Input) (*Target, error) {
	m, err := newModel(in)
	if err != nil {
		return nil, err
	}
	return m.target(m.entitle()), nil
}

// allocation is the outcome of a fill, by flow in the model's order.
type allocation struct {
	rates      []float64
	bottleneck []int32 // link direction, or -1
	// limiting marks the link directions that are the first to limit some flow.
	limiting []bool
}

func (m *model) entitle() *allocation {
	x := m.newFiller(sharing{
		group:       func(f int32) int32 { return m.flows[f].tenant },
		class:       func(f int32) int32 { return m.flows[f].class },
		groupWeight: func(f, _ int32) float64 { return m.tenantWeight(f) },
		classWeight: m.classWeight,
	}, m.caps)
	return m.fill(x)
}

func (m *model) fill(x *filler) *allocation {
	x.run()
	a := &allocation{rates: make([]float64, len(x.flows)), bottleneck: make([]int32, len(x.flows)), limiting: make([]bool, len(m.caps))}
	for i := range x.flows {
		a.rates[i], a.bottleneck[i] = x.flows[i].rate, x.flows[i].bottleneck
		if b := x.flows[i].bottleneck; b >= 0 {
			a.limiting[b] = true
		}
	}
	return a
}

func (m *model) target(a *allocation) *Target {
	t := &Target{Flows: make([]Entitlement, len(m.flows)), Links: m.linkShares(a, a)}
	for i := range m.flows {
		e := &t.Flows[m.flows[i].index]
		e.Flow = m.flows[i].index
		if e.Rate == 0 || e.Bottleneck.Node < 0 {
			e.Bottleneck = subnet.PortRef{Node: -1}
			if b := a.bottleneck[i]; b >= 0 {
				e.Bottleneck = m.transmitter(b)
			}
		}
		e.Rate += rate(a.rates[i])
	}
	for i := range t.Links {
		for j := range t.Links[i].Tenants {
			t.Links[i].Tenants[j].Predicted = 0
		}
	}
	return t
}

// linkShares lists the contended link directions of the target with both rates.
func (m *model) linkShares(target, predicted *allocation) []LinkShare {
	at := make([]int32, len(m.caps))
	for i := range at {
		at[i] = -1
	}
	type part struct {
		tenant              int32
		entitled, predicted float64
		qps                 float64
	}
	var parts [][]part // by limiting link; tenants ascend, as the flows do
	var dirs []int32
	for d, on := range target.limiting {
		if on {
			at[d] = int32(len(dirs))
			dirs, parts = append(dirs, int32(d)), append(parts, nil)
		}
	}
	for i := range m.flows {
		f := &m.flows[i]
		for _, d := range f.links {
			if at[d] < 0 {
				continue
			}
			ps := parts[at[d]]
			if n := len(ps); n == 0 || ps[n-1].tenant != f.tenant {
				ps = append(ps, part{tenant: f.tenant})
				parts[at[d]] = ps
			}
			p := &ps[len(ps)-1]
			p.entitled += target.rates[i]
			p.predicted += predicted.rates[i]
			p.qps += f.qps
		}
	}
	out := []LinkShare{}
	for i, d := range dirs {
		if len(parts[i]) < 2 {
			continue
		}
		tx := m.transmitter(d)
		l := LinkShare{Port: m.fabric.PortID(tx), Peer: m.fabric.PortID(m.receiver(d)), Name: m.linkName(d), Capacity: quantity.BitRate(m.caps[d])}
		for _, p := range parts[i] {
			l.Tenants = append(l.Tenants, LinkTenant{Tenant: m.tenants[p.tenant].Name, QPs: whole(p.qps), Entitled: rate(p.entitled), Predicted: rate(p.predicted)})
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b LinkShare) int { return a.Port.Compare(b.Port) })
	return out
}

// linkName prints a link direction as "leaf1/P3 -> host-07/P1".
func (m *model) linkName(d int32) string {
	return m.fabric.PortName(m.transmitter(d)) + " -> " + m.fabric.PortName(m.receiver(d))
}
