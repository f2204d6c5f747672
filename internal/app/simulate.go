package app

import (
	"context"

	"fairlane/policy"
	"fairlane/sim/evaluate"
)

// simulation is what a plan's settings really give in the packet simulator.
type simulation = evaluate.Simulation

// simulate runs the input's flows on the simulated fabric with the plan in force, lets them
// converge, and counts what each tenant's flows deliver.
func simulate(ctx context.Context, in policy.Input, p *policy.Plan, seed uint64, progress func(done float64)) (*simulation, error) {
	return evaluate.Simulate(ctx, in, p, evaluate.Options{Seed: seed, Progress: progress})
}
