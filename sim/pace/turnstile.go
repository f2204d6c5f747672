package pace

import "sync"

// Turnstile is a mutex whose waiters queue at a gate. A goroutine that unlocks and immediately locks again must pass the gate
// behind a waiting one, so the runner cannot starve the handlers. A plain mutex would let a running goroutine overtake a woken
// one for up to a millisecond.
type Turnstile struct {
	gate, data sync.Mutex
}

// Lock acquires the mutex after all goroutines that already wait.
func (t *Turnstile) Lock() {
	t.gate.Lock()
	t.data.Lock()
	t.gate.Unlock()
}

// Unlock lets the next waiter pass.
func (t *Turnstile) Unlock() { t.data.Unlock() }
