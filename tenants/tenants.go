// Package tenants is the pure model of the tenants that share a fabric, with their classes and their attachments to
// ports.
package tenants

import (
	"slices"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Tenant is a party with a weight on a fabric.
type Tenant struct {
	Name    string          `json:"name"` // 1..63 of a-z 0-9 -, unique on a fabric
	Weight  quantity.Weight `json:"weight"`
	PKey    ident.PKey      `json:"pkey,omitempty"`    // the tenant's partition; 0 is the default partition
	Classes []Class         `json:"classes,omitempty"` // empty: one class with weight one, named "default"
	// Guarantee is the rate that the tenant may have on every link that its flows cross, before weights divide the
	// rest; 0 means none. It has no effect if the weight already gives as much.
	Guarantee quantity.BitRate `json:"guarantee,omitempty"`
	// Cap is the maximum total rate of the tenant's flows on any link; 0 means none.
	Cap quantity.BitRate `json:"cap,omitempty"`
	// Attachments lists the ports of the tenant's endpoints, sorted by port.
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Class divides a tenant's share among its kinds of traffic.
type Class struct {
	Name   string          `json:"name"`
	Weight quantity.Weight `json:"weight"`
}

// Attachment is a tenant's presence on a channel-adapter port.
type Attachment struct {
	Port ident.PortID `json:"port"`
	// SL pins the service level of the tenant's traffic on this port; nil lets the compiler choose.
	SL *ident.SL `json:"sl,omitempty"`
	// FeedOnly says that only feeds claim the attachment, not the operator. It has no pinned service level, and declared
	// flows cannot rely on it. Plans do not depend on FeedOnly.
	FeedOnly bool `json:"feed_only,omitempty"`
	// Claimed is the sum of the rates that feeds say are promised to the tenant's workloads on this port; 0: none. Plans hold it
	// against what they give the tenant there, and set nothing by it.
	Claimed quantity.BitRate `json:"claimed,omitempty"`
	// NodeFunctions says that the port's host chooses the virtual functions of the tenant's workloads, as feeds report. Plans
	// give the tenant a share there, and no function.
	NodeFunctions bool `json:"node_functions,omitempty"`
}

// Own returns the attachments that the operator claims, without what feeds say of them.
func (t *Tenant) Own() []Attachment {
	var own []Attachment
	for _, a := range t.Attachments {
		if !a.FeedOnly {
			own = append(own, Attachment{Port: a.Port, SL: a.SL})
		}
	}
	return own
}

// OwnOnly returns the tenants with the attachments that the operator claims. It does not change the input.
func OwnOnly(ts []Tenant) []Tenant {
	out := slices.Clone(ts)
	for i := range out {
		out[i].Attachments = out[i].Own()
	}
	return out
}

// Flow is n equal queue pairs from one port to another, of one class of one tenant.
type Flow struct {
	Tenant string           `json:"tenant"`
	Class  string           `json:"class,omitempty"` // empty: "default"
	Src    ident.PortID     `json:"src"`
	Dst    ident.PortID     `json:"dst"`
	QPs    int              `json:"qps"`              // at least 1
	Demand quantity.BitRate `json:"demand,omitempty"` // of the whole aggregate; 0: greedy
}
