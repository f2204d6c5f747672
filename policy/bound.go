package policy

// bounds is the relative error that each tenant's prediction may have on InfiniBand.
func (s *settings) bounds() []float64 { return make([]float64, len(s.m.tenants)) }
