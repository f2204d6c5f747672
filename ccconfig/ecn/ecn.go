// Package ecn holds the typed marking settings of Ethernet switches: the queue lengths at which a switch marks packets (RFC
// 3168), as in SONiC's WRED profiles.
package ecn

import "fairlane/subnet/ident"

// Marking is the rule of one queue. Below Min no packet is marked, above Max every packet; in between the probability
// rises linearly to PMax.
type Marking struct {
	Min     int64 `json:"min_bytes"`     // bytes, 0 or more
	Max     int64 `json:"max_bytes"`     // bytes, at least Min
	PMaxPct int   `json:"p_max_percent"` // 0 to 100
}

// QueueMarking is the marking of one queue of one port of a switch.
type QueueMarking struct {
	Port    ident.PortNum `json:"port"`
	Queue   uint8         `json:"queue"` // 0 to 7
	Marking Marking       `json:"marking"`
}
