// Package plans has the use cases about plans: compiling them, comparing and explaining them, and the device settings
// they define.
package plans

import "fairlane/service/control"

// Plans are the use cases of this package. They are safe for concurrent use.
type Plans struct {
	*control.Base

	compilers compilers
}

// New returns the use cases over the shared base.
func New(b *control.Base) *Plans {
	return &Plans{Base: b}
}
