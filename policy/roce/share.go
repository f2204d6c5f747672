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
		for k, share := range p.divideAmong(s.weight) {
			s.shares[model.TenantPort{Tenant: p.sharers[k], Port: p.id}] = share
		}
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

// divideAmong divides a port among its sending tenants by weight in thousandths, at least one for each. If that exceeds the port, tenants with
// more than one give up the excess, by weight. It returns the shares in the order of p.sharers.
func (p *nicPort) divideAmong(weight func(tenant int32) float64) []int {
	total, left := 0.0, wholePort
	for _, t := range p.sharers {
		total += weight(t)
	}
	shares := make([]int, len(p.sharers))
	for i, t := range p.sharers {
		shares[i] = max(1, int(wholePort*weight(t)/total))
		left -= shares[i]
	}
	if left >= 0 {
		return shares
	}
	// Each tenant whose weight entitles it to no more has one thousandth; the others divide the rest.
	byWeight := model.Indices(len(p.sharers))
	slices.SortStableFunc(byWeight, func(a, b int32) int { return cmp.Compare(weight(p.sharers[a]), weight(p.sharers[b])) })
	rest, light := wholePort, true // so far all are too light
	for _, i := range byWeight {
		w := weight(p.sharers[i])
		if light = light && float64(rest)*w < total; light {
			rest, total, shares[i] = rest-1, total-w, 1
			continue
		}
		shares[i] = max(1, int(float64(rest)*w/total))
	}
	return shares
}

func (s *Settings) weight(tenant int32) float64 { return float64(s.m.Tenants[tenant].Weight) }

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
	share := p.divideAmong(func(other int32) float64 {
		if other == tenant {
			return float64(w)
		}
		return s.weight(other)
	})[at]
	return quantity.BitRate(plan.FunctionShare{Thousandths: share}.Mbps(line)) * quantity.Mbps
}
