package live

import (
	"fairlane/internal/usage"
	"fairlane/sim/scenario"
)

// wrongPlane refuses a scenario of another plane than the one wanted.
func wrongPlane(s *scenario.Scenario, want string) error {
	return usage.Errorf("scenario %s: plane %s: want %s", s.Name, s.Plane(), want)
}
