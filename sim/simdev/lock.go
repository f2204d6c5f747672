package simdev

import "sync"

// turnstile is a mutex whose waiters queue in front of a gate. Whoever unlocks and locks
// again at once must pass the gate, behind the one already waiting, so the runner cannot
// starve the handlers the way it would with a plain mutex, which lets a running goroutine
// overtake a woken one for a millisecond.
type turnstile struct {
	gate, data sync.Mutex
}

func (t *turnstile) Lock() {
	t.gate.Lock()
	t.data.Lock()
	t.gate.Unlock()
}

func (t *turnstile) Unlock() { t.data.Unlock() }
