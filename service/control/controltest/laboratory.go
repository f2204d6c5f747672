package controltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/tasks"
)

var _ control.Laboratory = (*Devices)(nil)

// Scenarios of the rig's laboratory; it rejects all others.
const (
	ScenarioGood  = "good"  // ends at once
	ScenarioBad   = "bad"   // fails
	ScenarioLong  = "long"  // runs until it is canceled
	ScenarioLarge = "large" // has a result too large to keep
)

func (d *Devices) CheckScenario(text string) error {
	switch text {
	case ScenarioGood, ScenarioBad, ScenarioLong, ScenarioLarge:
		return nil
	}
	return fmt.Errorf("scenario %q: want one of this rig's", text)
}

// CheckProfile implements control.Laboratory; the rig calibrates "good" only.
func (d *Devices) CheckProfile(name string) error {
	if name != ScenarioGood {
		return fmt.Errorf("profile %q: want %s", name, ScenarioGood)
	}
	return nil
}

func (d *Devices) SimulatePlan(_ context.Context, _ policy.Input, p *policy.Plan, seed uint64, _ bool, progress func(float64)) (json.RawMessage, error) {
	progress(0.5)
	return json.RawMessage(fmt.Sprintf(`{"seed":%d,"max_share_error":0.01,"tenants":%d}`, seed, len(p.Tenants))), nil
}

func (d *Devices) SimulateScenario(ctx context.Context, text string, _ uint64, progress func(float64)) (json.RawMessage, error) {
	progress(0.25)
	switch text {
	case ScenarioBad:
		return nil, errors.New("the scenario came to a deadlock")
	case ScenarioLong:
		<-ctx.Done()
		return nil, ctx.Err()
	case ScenarioLarge:
		return make(json.RawMessage, tasks.MaxTaskResult+1), nil
	}
	return json.RawMessage(`{"jain":1}`), nil
}

func (d *Devices) Calibrate(_ context.Context, name string, seed uint64, quick bool, _ func(float64)) (json.RawMessage, error) {
	return json.RawMessage(fmt.Sprintf(`{"profile":{"name":%q},"runs":%d,"quick":%v}`, name, seed, quick)), nil
}
