// Package views has the use cases that gather what one page shows: the overview of a fabric, its map, a path, a search, and the
// current figures of a tenant. They change nothing. Each answer is bounded, however large the fabric.
//
// Measured figures are read from the stored series by queries, so that they equal those that the Prometheus-compatible endpoint
// returns, whichever manager measured them. What the series do not have at the time of the answer was not measured.
package views

import (
	"sync"

	"fairlane/service/control"
	"fairlane/service/control/drift"
)

// Views are the use cases of this package. They are safe for concurrent use.
type Views struct {
	*control.Base
	drift *drift.Drift

	mu      sync.Mutex
	plans   []*planDigest // most recently used last, at most maxDigests
	indexes []*nameIndex  // likewise
	drawn   []*layout     // likewise
}

// maxDigests bounds each cache of what is derived from a plan or a topology: deriving it takes noticeable time for a large fabric.
const maxDigests = 8

// New returns the use cases over the shared base and the use cases that they call.
func New(b *control.Base, d *drift.Drift) *Views { return &Views{Base: b, drift: d} }

// cachedIn returns the entry of a cache that fits, and makes it the most recently used one.
func cachedIn[T any](v *Views, list *[]T, fits func(T) bool) (hit T, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, x := range *list {
		if fits(x) {
			copy((*list)[i:], (*list)[i+1:])
			(*list)[len(*list)-1] = x
			return x, true
		}
	}
	return hit, false
}

// keepIn adds an entry to a cache in place of one that fits, and drops the least recently used entry of a full one.
func keepIn[T any](v *Views, list *[]T, x T, fits func(T) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	kept := make([]T, 0, maxDigests)
	for _, had := range *list {
		if !fits(had) {
			kept = append(kept, had)
		}
	}
	if len(kept) == maxDigests {
		kept = kept[1:]
	}
	*list = append(kept, x)
}
