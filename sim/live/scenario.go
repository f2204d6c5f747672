package live

import (
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/sim/scenario"
)

// wrongPlane returns the error for a scenario of a plane other than want.
func wrongPlane(s *scenario.Scenario, want string) error {
	return usage.Of(phrase.Of("scenario.wrong-plane", "scenario", s.Name, "plane", s.Plane(), "want", want))
}
