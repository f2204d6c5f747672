package pace

import "sync"

// Turnstile is a mutex whose waiters queue in front of a gate. Whoever unlocks and locks
// again at once must pass the gate, behind the one already waiting, so the runner cannot
// starve the handlers the way it would with a plain mutex, which lets a running goroutine
// overtake a woken one for a millisecond.
type Turnstile struct {
	gate, data sync.Mutex
}

// Lock waits in line.
func (t *Turnstile) Lock() {
	t.gate.Lock()
	t.data.Lock()
	t.gate.Unlock()
}

// Unlock lets the next in line pass.
func (t *Turnstile) Unlock() { t.data.Unlock() }
