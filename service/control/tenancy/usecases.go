// Package tenancy has the use cases about the operators' declarations: tenants with their classes and attachments, flows,
// compiler options, and the revisions of all these.
package tenancy

import "fairlane/service/control"

// Tenancy are the use cases of this package. They are safe for concurrent use.
type Tenancy struct {
	*control.Base
}

// New returns the use cases over the shared base.
func New(b *control.Base) *Tenancy {
	return &Tenancy{Base: b}
}
