package host

import (
	"fmt"

	"fairlane/ccconfig/nic/nicparam"
)

// Finding is one way to a port's parameters, and whether the host offers it.
type Finding struct {
	NIC     string           `json:"nic"`
	Port    int              `json:"port"` // 0: the card
	NetDev  string           `json:"net_dev,omitempty"`
	Backend nicparam.Backend `json:"back_end"`
	Found   bool             `json:"found"`
	Params  int              `json:"params"` // that the way leads to here
	Why     string           `json:"why"`    // what was found, or what is missing and what would help
}

// String prints the finding on one line.
func (f Finding) String() string {
	state := "no"
	if f.Found {
		state = "yes"
	}
	return fmt.Sprintf("%s port %d (%s) %s: %s: %s", f.NIC, f.Port, f.NetDev, f.Backend, state, f.Why)
}

// Report is what a look at the host found: ways by card, port and order of trying, and what is no card.
type Report struct {
	Findings []Finding `json:"findings"`
	Notes    []Note    `json:"notes,omitempty"`
}
