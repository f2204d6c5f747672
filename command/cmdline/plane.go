package cmdline

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/policy"
)

// ParsePlane parses the value of a flag for a plane.
func ParsePlane(text string) (policy.Plane, error) {
	if p := policy.Plane(text); slices.Contains(policy.Planes(), p) {
		return p, nil
	}
	return "", usage.Of(phrase.Of("problem.plane", "found", text))
}

// ParsePlanes parses one plane, or "all".
func ParsePlanes(text string) ([]policy.Plane, error) {
	if text == "all" {
		return policy.Planes(), nil
	}
	p, err := ParsePlane(text)
	if err != nil {
		return nil, usage.Of(phrase.Of("usage.plane-or-all", "found", text))
	}
	return []policy.Plane{p}, nil
}
