package identity

// OccupyHashers takes all places of those who compare passwords, for tests; free gives them back.
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
