package plan

import (
	"cmp"
	"slices"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// RoCEPlan is the desired state of NICs and switches on the RoCE plane.
type RoCEPlan struct {
	NICs     []NICPlan       `json:"nics"`     // by port
	Switches []ECNPlan       `json:"switches"` // by GUID
	Traffic  []RoCEPlacement `json:"traffic"`  // by tenant, then port
	// Classes are the traffic classes that divide links among tenants, in the order of the site's list. Empty where DCQCN alone does.
	Classes []RoCEClass `json:"classes,omitempty" canonical:"if-set"`
}

// RoCEClass is a traffic class with its tenants. Within a class all queue pairs share equally.
type RoCEClass struct {
	qos.TrafficClass
	Tenants []string `json:"tenants"` // by name
	// Error is the largest relative distance of a tenant of the class from its share of a link because it shares the class; 0 for one tenant.
	Error float64 `json:"error,omitempty"`
}

// NIC returns the settings of a NIC port, nil when the plan has none for it.
func (p *RoCEPlan) NIC(port ident.PortID) *NICPlan {
	i, ok := slices.BinarySearchFunc(p.NICs, port, func(n NICPlan, id ident.PortID) int { return n.Port.Compare(id) })
	if !ok {
		return nil
	}
	return &p.NICs[i]
}

// NICPlan is the desired DCQCN state of one NIC port: one set for all its tenants, since no device has finer ones.
type NICPlan struct {
	Port     ident.PortID   `json:"port"`
	Name     string         `json:"name"`
	Profile  string         `json:"profile"`
	Settings dcqcn.Settings `json:"settings"`
	Reasons  []Reason       `json:"reasons"`
	// Shares are the parts of the port's traffic classes, by class; empty where the plan does not divide the port by class.
	Shares []qos.ClassShare `json:"shares,omitempty" canonical:"if-set"`
}

// ECNPlan is the desired marking of one switch, and the weights of its queues.
type ECNPlan struct {
	Node    ident.GUID         `json:"node"`
	Name    string             `json:"name"`
	Queues  []ecn.QueueMarking `json:"queues"` // by port, then queue
	Reasons []Reason           `json:"reasons"`
	// Weights are those of the queues that divide links among tenants, by port, then queue.
	Weights []qos.QueueWeight `json:"weights,omitempty" canonical:"if-set"`
}

// RoCEPlacement states how devices identify a tenant's traffic on a port.
type RoCEPlacement struct {
	Tenant   string       `json:"tenant"`
	Port     ident.PortID `json:"port"`
	DSCP     uint8        `json:"dscp"`
	Priority uint8        `json:"priority"`
	Queue    uint8        `json:"queue"`
	// VFShare is the tenant's share of a port from which others send too, in thousandths; 0 when no other tenant sends from the port.
	VFShare int `json:"vf_share,omitempty"`
	// Function is the tenant's virtual function on the port, from 0, or NodeFunction. It has the share, if there is one.
	Function int `json:"function,omitempty"`
}

// WRCCPlan is the desired state of switches and NICs on the WRCC plane.
type WRCCPlan struct {
	// Unit is the fair rate at which every full port settles: a queue pair of weight w then has w·Unit.
	Unit quantity.BitRate `json:"unit_bps"`
	// Increase is the method by which senders increase their rate, "ask" or "timer" (wrcc.IncreaseAsk, wrcc.IncreaseTimer).
	Increase string           `json:"increase"`
	MinRate  quantity.BitRate `json:"min_rate_bps"` // always permitted to a queue pair
	Domains  []WRCCDomainPlan `json:"domains"`      // data centres, by name
	Ports    []WRCCPortPlan   `json:"ports"`        // egress ports of switches, by the first of them
	Senders  []WRCCSenderPlan `json:"senders"`      // by port, then tenant and class
}

// WRCCDomainPlan is the part that all devices of one data centre have in common.
type WRCCDomainPlan struct {
	Domain  string               `json:"domain"`
	MaxRTT  quantity.Picoseconds `json:"max_rtt_ps"` // largest unloaded round trip between two of its hosts
	Period  quantity.Picoseconds `json:"period_ps"`  // WRCCT of its switches
	T1      quantity.Picoseconds `json:"t1_ps"`      // of its senders
	Reasons []Reason             `json:"reasons"`
}

// WRCCPortPlan is the desired state of egress ports of switches that have the same settings. Settings apply to all classes of traffic on the
// port.
type WRCCPortPlan struct {
	Ports    []NamedPort `json:"ports"` // in order
	Settings wrcc.Params `json:"settings"`
	Reasons  []Reason    `json:"reasons"`
}

// NamedPort is a port with its displayed name.
type NamedPort struct {
	Port ident.PortID `json:"port"`
	Name string       `json:"name"`
}

// WRCCSenderPlan is the desired state of the queue pairs of one class of a tenant at one NIC port.
type WRCCSenderPlan struct {
	Port   ident.PortID `json:"port"`
	Name   string       `json:"name"`
	Tenant string       `json:"tenant"`
	Class  string       `json:"class"`
	// Weight is the weight of one queue pair, on the normalised fair rate, towards all ports but those of Peers.
	Weight  float64    `json:"weight"`
	Peers   []WRCCPeer `json:"peers,omitempty"` // by port
	Reasons []Reason   `json:"reasons"`
}

// WRCCPeer is the weight of one queue pair towards one port.
type WRCCPeer struct {
	Port   ident.PortID `json:"port"`
	Weight float64      `json:"weight"`
}

// PortSettings returns the settings of an egress port of a switch; false when the plan has none for it.
func (p *WRCCPlan) PortSettings(port ident.PortID) (wrcc.Params, bool) {
	for i := range p.Ports {
		if _, ok := slices.BinarySearchFunc(p.Ports[i].Ports, port, func(n NamedPort, id ident.PortID) int { return n.Port.Compare(id) }); ok {
			return p.Ports[i].Settings, true
		}
	}
	return wrcc.Params{}, false
}

// Sender returns the settings of the queue pairs of a tenant's class at a NIC port; false when the plan has none.
func (p *WRCCPlan) Sender(port ident.PortID, tenant, class string) (*WRCCSenderPlan, bool) {
	want := WRCCSenderPlan{Port: port, Tenant: tenant, Class: class}
	i, ok := slices.BinarySearchFunc(p.Senders, &want, func(a WRCCSenderPlan, b *WRCCSenderPlan) int { return compareSenders(&a, b) })
	if !ok {
		return nil, false
	}
	return &p.Senders[i], true
}

func compareSenders(a, b *WRCCSenderPlan) int {
	return cmp.Or(a.Port.Compare(b.Port), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Class, b.Class))
}

// WeightTo returns the weight of a queue pair towards a port.
func (s *WRCCSenderPlan) WeightTo(peer ident.PortID) float64 {
	if i, ok := slices.BinarySearchFunc(s.Peers, peer, func(p WRCCPeer, id ident.PortID) int { return p.Port.Compare(id) }); ok {
		return s.Peers[i].Weight
	}
	return s.Weight
}

// LanePlan divides the link of one channel-adapter port among virtual lanes. It is used where the port itself is the bottleneck of several
// tenants, so that congestion control has no effect. The tables belong to the subnet manager: rollouts write them only if they manage OpenSM's
// files and one table serves all ports.
type LanePlan struct {
	Port ident.PortID `json:"port"`
	Name string       `json:"name"`
	// SL2VL is the lane of each service level on packets that the port sends (SLtoVLMappingTable, IBTA vol. 1, 7.6.6).
	SL2VL [ident.NumSLs]ident.VL `json:"sl2vl"`
	// High and Low are the two arbitration tables in the order of their entries (IBTA vol. 1, 7.6.9). High is empty: nothing precedes the shares.
	High    []VLWeight `json:"high,omitempty"`
	Low     []VLWeight `json:"low"`
	Reasons []Reason   `json:"reasons"`
}

// VLWeight is one entry of an arbitration table: the lane may send Weight units of 64 bytes, rounded up to whole packets, before the next
// entry's turn; 1 to 255.
type VLWeight struct {
	VL     ident.VL `json:"vl"`
	Weight uint8    `json:"weight"`
}
