package live

import (
	"fairlane/internal/usage"
	"fairlane/sim/scenario"
)

// CheckInfiniBand returns an error for a scenario whose devices do not support InfiniBand management.
func CheckInfiniBand(s *scenario.Scenario) error {
	if s.Ethernet != nil {
		return usage.Errorf("scenario %s: plane %s: want %s", s.Name, s.Plane(), scenario.PlaneInfiniBand)
	}
	return nil
}
