package host

import (
	"fmt"

	"fairlane/ccconfig/nic/nicparam"
)

// Finding is one back end of a port's parameters, and whether the host offers it.
type Finding struct {
	NIC     string           `json:"nic"`
	Port    int              `json:"port"` // 0: the card
	NetDev  string           `json:"net_dev,omitempty"`
	Backend nicparam.Backend `json:"back_end"`
	Found   bool             `json:"found"`
	Params  int              `json:"params"` // number of parameters that it offers here
	Why     string           `json:"why"`    // what was found, or what is missing and how to fix it
}

// String returns the finding on one line.
func (f Finding) String() string {
	state := "no"
	if f.Found {
		state = "yes"
	}
	return fmt.Sprintf("%s port %d (%s) %s: %s: %s", f.NIC, f.Port, f.NetDev, f.Backend, state, f.Why)
}

// Report is the result of reading the host: back ends by card, port and order of trying, and devices that are no cards.
type Report struct {
	Findings []Finding `json:"findings"`
	Notes    []Note    `json:"notes,omitempty"`
}
