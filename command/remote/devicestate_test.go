package remote

import (
	"testing"

	"fairlane/api/gen"
)

// Devices of an ended rollout are not pending.
func TestADeviceOfAnEndedRolloutIsNotPending(t *testing.T) {
	t.Parallel()
	for ro, want := range map[gen.RolloutState]string{
		gen.RolloutStateRunning: "state.pending", gen.RolloutStateRefused: "state.not-written", gen.RolloutStateCanceled: "state.not-written",
	} {
		if got := deviceStateKey(ro, "pending"); got != want {
			t.Errorf("pending in a rollout that is %s: %s, want %s", ro, got, want)
		}
	}
	if got := deviceStateKey(gen.RolloutStateFailed, "in-sync"); got != "state.in-sync" {
		t.Errorf("in sync is %s", got)
	}
}
