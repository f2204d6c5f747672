// Package fabrics has the use cases about fabrics: adding them, discovering them, rescanning them.
package fabrics

import (
	"sync"

	"fairlane/service/control"
)

// Fabrics are the use cases of this package. They are safe for concurrent use.
type Fabrics struct {
	*control.Base

	rescanning   sync.Mutex              // held during a rescan
	rescanStates map[string]*rescanState // by fabric
}

// New returns the use cases over the shared base.
func New(b *control.Base) *Fabrics {
	return &Fabrics{Base: b}
}
