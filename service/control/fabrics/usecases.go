// Package fabrics has the use cases about fabrics: putting them under management, discovering them, looking at them again.
package fabrics

import (
	"sync"

	"fairlane/service/control"
)

// Fabrics are the use cases of this package. They are safe for concurrent use.
type Fabrics struct {
	*control.Base

	looking  sync.Mutex          // held while fabrics are looked at again
	lookouts map[string]*lookout // by fabric
}

// New returns the use cases over what all share.
func New(b *control.Base) *Fabrics {
	return &Fabrics{Base: b}
}
