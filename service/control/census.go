package control

import "time"

// Census counts the rows of a store by kind and state, for metrics.
type Census struct {
	Fabrics, Tenants int64
	Rollouts         map[string]int64 // by state
	Devices          map[string]int64 // of running rollouts, by state
	OldestActive     time.Time        // when the oldest running rollout began; zero without one
	Readings         map[string]int64 // devices of plans in force, by their latest reading outside of rollouts
	Quarantined      int64            // of these: quarantined, since they changed repeatedly
	Jobs             map[string]int64 // in the queue, by state
	Sessions         int64            // browser sessions that have not expired
}
