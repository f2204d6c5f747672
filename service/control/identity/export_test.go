package identity

// OccupyHashers takes all hashers, for tests; free releases them.
func (s *Accounts) OccupyHashers() (free func()) {
	for range cap(s.gate.hashers) {
		s.gate.hashers <- struct{}{}
	}
	return func() {
		for range cap(s.gate.hashers) {
			<-s.gate.hashers
		}
	}
}
