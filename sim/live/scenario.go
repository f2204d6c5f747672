package live

import (
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/sim/scenario"
)

// wrongPlane refuses a scenario of another plane than the one wanted.
func wrongPlane(s *scenario.Scenario, want string) error {
	return usage.Of(phrase.Of("scenario.wrong-plane", "scenario", s.Name, "plane", s.Plane(), "want", want))
}
