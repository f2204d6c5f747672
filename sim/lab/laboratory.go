// Package lab is the service's laboratory: simulations and calibrations within limits. The experiments are in the packages
// below.
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/lab/calibrate"
	"fairlane/sim/lab/evaluate"
	"fairlane/sim/scenario"
)

// Laboratory runs simulations and calibrations in this process, each on one processor, so that the manager can use the
// others.
type Laboratory struct{}

// Limits of the service's simulations, so that no caller can occupy a manager for days.
const (
	maxScenarioDuration = 10 * quantity.Second
	maxSimulationWall   = 2 * time.Hour
	maxCalibrationWall  = 24 * time.Hour
)

// parseScenario parses a scenario without references to files, because callers must not be able to read the manager's files.
func parseScenario(text string) (*scenario.Scenario, error) {
	s, err := scenario.Parse("scenario", []byte(text), nil)
	if err != nil {
		return nil, err
	}
	if s.Duration > maxScenarioDuration {
		return nil, fmt.Errorf("duration %s: want at most %s in the service; run it with fairlane sim run", s.Duration, maxScenarioDuration)
	}
	return s, s.SetThreads(1)
}

// CheckScenario returns an error when a scenario cannot be simulated in the service.
func (Laboratory) CheckScenario(text string) error {
	_, err := parseScenario(text)
	return err
}

// CheckProfile returns an error when there is no such device profile.
func (Laboratory) CheckProfile(name string) error {
	if !slices.Contains(profile.Names(), name) {
		return profile.Unknown(name)
	}
	return nil
}

// SimulatePlan simulates the traffic of a plan and returns the result as JSON.
func (Laboratory) SimulatePlan(ctx context.Context, in policy.Input, p *policy.Plan, seed uint64, before bool, progress func(float64)) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, maxSimulationWall)
	defer cancel()
	r, err := evaluate.Simulate(ctx, in, p, evaluate.Options{Seed: seed, Before: before, Progress: progress})
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// SimulateScenario simulates a scenario and returns the result as JSON. The result omits single flows and series, which can be
// very large.
func (Laboratory) SimulateScenario(ctx context.Context, text string, seed uint64, progress func(float64)) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, maxSimulationWall)
	defer cancel()
	s, err := parseScenario(text)
	if err != nil {
		return nil, err
	}
	if seed != 0 {
		s.Config.Seed = seed
	}
	if s.Ethernet != nil {
		r, err := scenario.RunEthernet(ctx, s, scenario.EtherOptions{Progress: func(_ quantity.Picoseconds, part float64) { progress(part) }})
		if err != nil {
			return nil, err
		}
		r.Listed, r.TimesS = nil, nil
		for i := range r.Tenants {
			r.Tenants[i].RateBps = nil
		}
		return json.Marshal(r)
	}
	r, err := scenario.Run(ctx, s, func(now, end quantity.Picoseconds) { progress(float64(now) / float64(end)) })
	if err != nil {
		return nil, err
	}
	r.Flows = nil
	return json.Marshal(r)
}

// Calibrate calibrates a device profile and returns the report as JSON.
func (Laboratory) Calibrate(ctx context.Context, name string, seed uint64, quick bool, progress func(float64)) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, maxCalibrationWall)
	defer cancel()
	r, err := calibrate.Calibrate(ctx, calibrate.Options{
		Profile: name, Seed: seed, Quick: quick, Jobs: 1, Command: calibrate.CommandLine(name, seed, quick),
		Progress: func(done, all int) { progress(float64(done) / float64(max(all, 1))) },
	})
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return json.Marshal(r)
}
