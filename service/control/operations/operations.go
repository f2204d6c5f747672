// Package operations has the use cases about the service itself: its settings, its audit log, and how long rows are kept.
package operations

import "fairlane/service/control"

// Operations are the use cases of this package. They are safe for concurrent use.
type Operations struct {
	*control.Base
	diagnoses diagnoses
}

// New returns the use cases over the shared base.
func New(b *control.Base) *Operations {
	return &Operations{Base: b}
}
