package gnmitree

import "sync"

// Watchers implements Tree.Watch for trees that embed it. The zero value has no watchers. It is safe for concurrent use.
type Watchers struct {
	mu         sync.Mutex
	next       uint64
	generation uint64
	notify     map[uint64]func(Change)
}

// Watch implements Tree.
func (w *Watchers) Watch(notify func(Change)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.notify == nil {
		w.notify = map[uint64]func(Change){}
	}
	w.next++
	id := w.next
	w.notify[id] = notify
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.notify, id)
	}
}

// Changed notifies all watchers that nodes at or below paths have changed, or, without paths, that anything may have changed.
// The new values must be readable when it is called. The caller must not hold a lock for which Tree.Watch waits.
func (w *Watchers) Changed(paths ...Path) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.generation++
	for _, notify := range w.notify {
		notify(Change{Paths: paths, Generation: w.generation})
	}
}

// Generation returns the number of changes so far.
func (w *Watchers) Generation() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.generation
}
