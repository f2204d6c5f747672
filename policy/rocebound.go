package policy

// Parts of a bound beyond the calibration's. The calibration's runs have one link, one path and one
// rate for each port; what a plan has beyond that is less sure.
const (
	// boundFree is the bound of a flow that no marks limit: its NIC or its demand does.
	boundFree = 0.03
	// boundPaths is for what a fabric has beyond the calibration's star: more hops and other traffic on them.
	boundPaths = 0.01
	// boundTurns is for flows of a NIC port at its line rate: a flow that its registers hold waits for its turn there, and
	// so falls behind by some percent, which the others gain.
	boundTurns = 0.08
	// boundPerLink is for each further link whose marks a flow meets.
	boundPerLink = 0.05
	// boundSpread is the part of the spread of what a port's flows want.
	boundSpread = 0.25
)

// bounds is the relative error that each tenant's prediction may have: of its flows, by their rates.
func (s *roceSettings) bounds() []float64 {
	ratios := s.ratios()
	sum, rates := make([]float64, len(s.m.tenants)), make([]float64, len(s.m.tenants))
	for i := range s.m.flows {
		f := &s.m.flows[i]
		sum[f.tenant] += float64(s.target.rates[i] * s.flowBound(int32(i), ratios))
		rates[f.tenant] += s.target.rates[i]
	}
	for t := range sum {
		if rates[t] > 0 {
			sum[t] /= rates[t]
		}
	}
	return sum
}

// ratios is how far apart the rates of queue pairs are on each link direction, at least 1.
func (s *roceSettings) ratios() []float64 {
	least, most := make([]float64, len(s.m.caps)), make([]float64, len(s.m.caps))
	for i := range s.m.flows {
		w := s.reached(&s.ports[s.ofFlow[i]])
		for _, d := range s.m.flows[i].links {
			if least[d] == 0 || w < least[d] {
				least[d] = w
			}
			most[d] = max(most[d], w)
		}
	}
	for d := range most {
		if least[d] > 0 {
			most[d] /= least[d]
		} else {
			most[d] = 1
		}
	}
	return most
}

// reached is what a port's settings mean a queue pair to have: what is wanted, as far as the lever goes.
func (s *roceSettings) reached(p *nicPort) float64 {
	if !p.clamped {
		return p.wanted
	}
	return float64(s.groups[p.group].rate * exp(s.curve(p.link).Gain(p.position)))
}

func (s *roceSettings) flowBound(f int32, ratios []float64) float64 {
	d, b := s.responseLink(f), boundPaths
	if s.target.limiting[s.m.flows[f].links[0]] {
		b += boundTurns
	}
	if d < 0 {
		return b + boundFree
	}
	p := &s.ports[s.ofFlow[f]]
	b += s.profile.Bound(ratios[d]) + float64(boundSpread*p.spread)
	return b + float64(boundPerLink*float64(max(s.marks[f]-1, 0)))
}
