// Package identity has the use cases about identities and rights: users, service accounts, members, tokens, sessions and
// sign-in.
package identity

import "fairlane/service/control"

// Accounts are the use cases of this package. They are safe for concurrent use.
type Accounts struct {
	*control.Base

	gate gate // of sign-ins in this process
}

// New returns the use cases over the shared base.
func New(b *control.Base) *Accounts {
	return &Accounts{Base: b, gate: newGate()}
}
