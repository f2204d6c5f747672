package policy

// divide finds how ports divide their line rate: among the queue pairs in turn, and where several tenants send, first among
// the tenants by the shares of their virtual functions.
func (s *roceSettings) divide() {
	s.shares, s.turns = make(map[tenantPort]int), make([]float64, len(s.m.flows))
	pairs := make(map[tenantPort]float64)
	for i := range s.ports {
		p := &s.ports[i]
		s.shareVFs(p)
		if len(p.tenants) > 1 {
			for _, f := range p.flows {
				pairs[tenantPort{s.m.flows[f].tenant, p.id}] += s.m.flows[f].qps
			}
		}
	}
	for i := range s.turns {
		f := &s.m.flows[i]
		s.turns[i] = f.qps
		at := tenantPort{f.tenant, s.ports[s.ofFlow[i]].id}
		if share := s.shares[at]; share > 0 {
			s.turns[i] = float64(float64(share)*f.qps) / pairs[at]
		}
	}
}

// shareVFs divides a port among its tenants in thousandths, at least one for each. What that takes more than there is,
// the heaviest tenant gives.
func (s *roceSettings) shareVFs(p *nicPort) {
	if len(p.tenants) < 2 {
		return
	}
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
