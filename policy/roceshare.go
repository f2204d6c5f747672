package policy

import "slices"

// divide finds how ports divide their line rate: among the queue pairs in turn, and where several tenants send, first among
// the tenants by the shares of their virtual functions.
func (s *roceSettings) divide() {
	s.shares, s.turns = make(map[tenantPort]int), s.m.lay().qps
	pairs := make([]float64, len(s.m.tenants)) // of the port at hand
	for i := range s.ports {
		p := &s.ports[i]
		if len(p.tenants) < 2 {
			continue
		}
		if len(s.shares) == 0 {
			s.turns = slices.Clone(s.turns)
		}
		s.shareVFs(p)
		clear(pairs)
		for _, f := range p.flows {
			pairs[s.m.flows[f].tenant] += s.m.flows[f].qps
		}
		for _, f := range p.flows {
			if share := s.shares[tenantPort{s.m.flows[f].tenant, p.id}]; share > 0 {
				s.turns[f] = float64(float64(share)*s.turns[f]) / pairs[s.m.flows[f].tenant]
			}
		}
	}
}

// shareVFs divides a port among its tenants in thousandths, at least one for each. What that takes more than there is,
// the heaviest tenant gives.
func (s *roceSettings) shareVFs(p *nicPort) {
	total, heaviest := 0.0, p.tenants[0]
	for _, t := range p.tenants {
		total += float64(s.m.tenants[t].Weight)
		if s.m.tenants[t].Weight > s.m.tenants[heaviest].Weight {
			heaviest = t
		}
	}
	left := 1000
	for _, t := range p.tenants {
		share := max(1, int(1000*float64(s.m.tenants[t].Weight)/total))
		s.shares[tenantPort{t, p.id}] = share
		left -= share
	}
	if left < 0 {
		s.shares[tenantPort{heaviest, p.id}] += left
	}
}
