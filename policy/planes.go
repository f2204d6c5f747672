package policy

import (
	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// RoCEPlan is the desired state of NICs and switches on the RoCE plane.
type RoCEPlan struct {
	NICs     []NICPlan       `json:"nics"`     // by port
	Switches []ECNPlan       `json:"switches"` // by GUID
	Traffic  []RoCEPlacement `json:"traffic"`  // by tenant, then port
}

// NICPlan is the desired DCQCN state of one NIC port: one set for all its tenants, since no device has
// finer ones.
type NICPlan struct {
	Port     ident.PortID   `json:"port"`
	Name     string         `json:"name"`
	Profile  string         `json:"profile"`
	Settings dcqcn.Settings `json:"settings"`
	Reasons  []Reason       `json:"reasons"`
}

// ECNPlan is the desired marking of one switch.
type ECNPlan struct {
	Node    ident.GUID         `json:"node"`
	Name    string             `json:"name"`
	Queues  []ecn.QueueMarking `json:"queues"` // by port, then queue
	Reasons []Reason           `json:"reasons"`
}

// RoCEPlacement says how a tenant's traffic is told apart on a port.
type RoCEPlacement struct {
	Tenant   string       `json:"tenant"`
	Port     ident.PortID `json:"port"`
	DSCP     uint8        `json:"dscp"`
	Priority uint8        `json:"priority"`
	Queue    uint8        `json:"queue"`
	// VFShare is the tenant's share of a port that it has together with others, in thousandths; 0 when the port
	// is its own.
	VFShare int `json:"vf_share,omitempty"`
}

// WRCCPlan is the desired state of switches and NICs on the WRCC plane.
type WRCCPlan struct {
	Ports   []WRCCPortPlan   `json:"ports"`   // egress ports of switches, by port
	Senders []WRCCSenderPlan `json:"senders"` // by port, then tenant and class
}

// WRCCPortPlan is the desired state of one egress port of a switch.
type WRCCPortPlan struct {
	Port     ident.PortID `json:"port"`
	Name     string       `json:"name"`
	Settings wrcc.Params  `json:"settings"`
	Reasons  []Reason     `json:"reasons"`
}

// WRCCSenderPlan is the desired state of the flows of one class of a tenant at one NIC port.
type WRCCSenderPlan struct {
	Port   ident.PortID `json:"port"`
	Name   string       `json:"name"`
	Tenant string       `json:"tenant"`
	Class  string       `json:"class"`
	// Peer is the port at the other end of the flows, or the zero PortID for all.
	Peer    ident.PortID         `json:"peer"`
	Weight  float64              `json:"weight"` // of one queue pair, on the normalised fair rate
	T1      quantity.Picoseconds `json:"t1_ps"`
	Reasons []Reason             `json:"reasons"`
}
