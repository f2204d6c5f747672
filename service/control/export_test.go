package control

import "fairlane/service/device"

// KeptPlans is how many of plans with so many devices, in the order they were loaded, are kept in memory for most devices.
func KeptPlans(most int, devices ...int) int {
	list := make([]*known, len(devices))
	for i, n := range devices {
		list[i] = &known{list: make([]device.Target, n)}
	}
	return len(lastKnown(list, most))
}

// OccupyHashers takes all places of those who compare passwords, for tests; free gives them back.
func (s *Service) OccupyHashers() (free func()) {
	for range cap(s.gate.hashers) {
		s.gate.hashers <- struct{}{}
	}
	return func() {
		for range cap(s.gate.hashers) {
			<-s.gate.hashers
		}
	}
}
