package roce

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet/ident"
)

// findSharers lists, for each port with several sending tenants, the tenants that share it: those with a flow from it. A tenant without any
// known flow may send from every port that it is attached to.
func (s *Settings) findSharers() {
	known := make([]bool, len(s.m.Tenants))
	for i := range s.m.Flows {
		known[s.m.Flows[i].Tenant] = true
	}
	for i := range s.ports {
		p := &s.ports[i]
		if len(p.tenants) < 2 {
			continue
		}
		senders := s.senders(p)
		p.sharers = slices.DeleteFunc(slices.Clone(p.tenants), func(t int32) bool { return known[t] && !slices.Contains(senders, t) })
	}
}

// divide computes how ports divide their line rate: among the queue pairs in turn; if several tenants send, first among the tenants by the
// shares of their virtual functions.
func (s *Settings) divide() {
	s.shares, s.turns = make(map[model.TenantPort]int), s.m.Layout().QPs
	pairs := make([]float64, len(s.m.Tenants)) // of the current port
	for i := range s.ports {
		p := &s.ports[i]
		if len(p.sharers) < 2 {
			continue
		}
		if len(s.shares) == 0 {
			s.turns = slices.Clone(s.turns)
		}
		s.shareVFs(p)
		clear(pairs)
		for _, f := range p.flows {
			pairs[s.m.Flows[f].Tenant] += s.m.Flows[f].QPs
		}
		for _, f := range p.flows {
			if share := s.shares[model.TenantPort{Tenant: s.m.Flows[f].Tenant, Port: p.id}]; share > 0 {
				s.turns[f] = float64(float64(share)*s.turns[f]) / pairs[s.m.Flows[f].Tenant]
			}
		}
	}
}

// wholePort is a port in the unit of shares, and so the maximum number of tenants that can share one.
const wholePort = 1000

// shareable rejects ports from which more tenants send than there are shares.
func (s *Settings) shareable() error {
	for i := range s.ports {
		if p := &s.ports[i]; len(p.sharers) > wholePort {
			return fmt.Errorf("%w: port %s has %d tenants that send: want at most %d, since each needs a virtual function with a thousandth of the port or more",
				model.ErrInput, s.portName(p), len(p.sharers), wholePort)
		}
	}
	return nil
}

// shareVFs divides a port among its sending tenants in thousandths, at least one for each. If that exceeds the port, tenants with more than
// one give up the excess, by weight.
func (s *Settings) shareVFs(p *nicPort) {
	total, left := 0.0, wholePort
	for _, t := range p.sharers {
		total += float64(s.m.Tenants[t].Weight)
	}
	for _, t := range p.sharers {
		share := max(1, int(wholePort*float64(s.m.Tenants[t].Weight)/total))
		s.shares[model.TenantPort{Tenant: t, Port: p.id}] = share
		left -= share
	}
	if left < 0 {
		s.shareRest(p)
	}
}

// shareRest gives one thousandth to each sending tenant whose weight entitles it to no more, and divides the rest among the others.
func (s *Settings) shareRest(p *nicPort) {
	byWeight := slices.Clone(p.sharers)
	slices.SortStableFunc(byWeight, func(a, b int32) int { return cmp.Compare(s.m.Tenants[a].Weight, s.m.Tenants[b].Weight) })
	total := 0.0
	for _, t := range byWeight {
		total += float64(s.m.Tenants[t].Weight)
	}
	rest, light := wholePort, true // so far all are too light
	for _, t := range byWeight {
		w := float64(s.m.Tenants[t].Weight)
		if light = light && float64(rest)*w < total; light {
			rest, total = rest-1, total-w
			s.shares[model.TenantPort{Tenant: t, Port: p.id}] = 1
			continue
		}
		s.shares[model.TenantPort{Tenant: t, Port: p.id}] = max(1, int(float64(rest)*w/total))
	}
}

// ForSure returns what a tenant has for sure of the rate of one of its ports, if its weight were w: the share of its virtual functions, or the
// whole port where no other tenant may send. A tenant that only receives there has nothing.
func (s *Settings) ForSure(tenant int32, port ident.PortID, w quantity.Weight) quantity.BitRate {
	i, ok := slices.BinarySearchFunc(s.ports, port, func(p nicPort, id ident.PortID) int { return p.id.Compare(id) })
	if !ok {
		return 0
	}
	p := &s.ports[i]
	line := quantity.BitRate(p.line)
	at := slices.Index(p.sharers, tenant)
	switch {
	case len(p.tenants) == 1 || len(p.sharers) == 1 && at == 0:
		return line
	case at < 0:
		return 0
	}
	share := s.shares[model.TenantPort{Tenant: tenant, Port: port}]
	if w != s.m.Tenants[tenant].Weight {
		total := float64(w)
		for _, other := range p.sharers {
			if other != tenant {
				total += float64(s.m.Tenants[other].Weight)
			}
		}
		share = max(1, int(wholePort*float64(w)/total))
	}
	return quantity.BitRate(plan.FunctionShare{Thousandths: share}.Mbps(line)) * quantity.Mbps
}
