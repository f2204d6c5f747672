package control

import "time"

// Census is how much of everything there is in a store, for those who watch it.
type Census struct {
	Fabrics, Tenants int64
	Rollouts         map[string]int64 // by state
	Devices          map[string]int64 // of running rollouts, by state
	OldestActive     time.Time        // when the oldest running rollout began; zero when there is none
	Readings         map[string]int64 // devices of plans in force, by what their latest reading outside of rollouts found
	Quarantined      int64            // of these: left alone for changing again and again
	Jobs             map[string]int64 // in the queue, by state
	Sessions         int64            // browser sessions that have not expired
}
