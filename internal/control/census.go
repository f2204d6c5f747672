package control

import "time"

// Census is how much of everything there is in a store, for those who watch it.
type Census struct {
	Fabrics, Tenants int64
	Rollouts         map[string]int64 // by state
	Devices          map[string]int64 // of running rollouts, by state
	OldestActive     time.Time        // when the oldest running rollout began; zero when there is none
	Drifted          int64            // devices last read back different from what is wanted, outside of rollouts
	Jobs             map[string]int64 // in the queue, by state
	Sessions         int64            // browser sessions that have not expired
}
