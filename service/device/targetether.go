package device

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/prereq"
	"fairlane/ccconfig/qos"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// MaxEthernetTargets bounds a rollout on Ethernet, where devices need no LID: the number of ports in the largest fabric
// file.
const MaxEthernetTargets = 262_144

// nicDevice returns a NIC port of a plan.
func nicDevice(plane subnet.Plane, id ident.PortID, name string, f *subnet.Fabric) (driver.Device, subnet.PortRef, error) {
	ref, ok := f.PortByID(id)
	if !ok || f.Nodes[ref.Node].Kind != subnet.KindCA {
		return driver.Device{}, ref, fmt.Errorf("plan for NIC port %s %q: no such port on fabric %q", id, name, f.Name)
	}
	return driver.Device{Plane: plane, ID: id, Name: f.PortName(ref), Kind: subnet.KindCA}, ref, nil
}

// etherSwitch returns a switch of a plan.
func etherSwitch(plane subnet.Plane, id ident.GUID, name string, f *subnet.Fabric) (driver.Device, error) {
	n, ok := f.NodeByGUID(id)
	if !ok || f.Nodes[n].Kind != subnet.KindSwitch {
		return driver.Device{}, fmt.Errorf("plan for switch %s %q: no such switch on fabric %q", id, name, f.Name)
	}
	node := &f.Nodes[n]
	return driver.Device{
		Plane: plane, ID: ident.PortID{Node: id}, Name: node.Name, Kind: subnet.KindSwitch, Ports: len(node.Ports) - 1,
	}, nil
}

// roceTargets adds the NIC ports and switches of a plan for DCQCN.
func roceTargets(p *policy.RoCEPlan, f *subnet.Fabric, add func(Target, error)) {
	shares, needs, divided := p.Functions(), needsOf(p, false), needsOf(p, true)
	for i := range p.NICs {
		nic := &p.NICs[i]
		dev, ref, err := nicDevice(driver.PlaneRoCE, nic.Port, nic.Name, f)
		if err != nil {
			add(Target{}, err)
			continue
		}
		state := &driver.NICState{AllShares: true}
		for _, s := range nicparam.OfDCQCN(int(nic.Port.Port), &nic.Settings) {
			state.Params = append(state.Params, driver.NICParam{Name: s.Name, Index: s.Index, Value: s.Value})
		}
		if l, _ := f.Link(ref); l != nil {
			for _, s := range shares[nic.Port] {
				state.Params = append(state.Params, driver.NICParam{Name: driver.ShareParam, Index: s.Function, Value: s.Mbps(l.Rate)})
			}
		}
		state.Shares = classShares(p, nic)
		state.Sort()
		t := Target{Device: dev, Want: driver.Settings{NIC: state}, Needs: needs}
		if len(state.Shares) > 0 {
			t.Needs = divided
		}
		add(t, nil)
	}
	for i := range p.Switches {
		sw := &p.Switches[i]
		dev, err := etherSwitch(driver.PlaneRoCE, sw.Node, sw.Name, f)
		queues := &driver.QueueState{Marking: slices.Clone(sw.Queues), Weights: slices.Clone(sw.Weights)}
		add(Target{Device: dev, Want: driver.Settings{Queues: queues}, Needs: needs}, err)
	}
}

// classShares returns the shares of all traffic classes of the site at a NIC port that a plan divides by class; nil for others. Classes from which no tenant sends there have 0,
// so that a share of an earlier plan does not stay.
func classShares(p *policy.RoCEPlan, nic *policy.NICPlan) []qos.ClassShare {
	if len(nic.Shares) == 0 {
		return nil
	}
	out := slices.Clone(nic.Shares)
	for i := range p.Classes {
		class := p.Classes[i].Queue
		if !slices.ContainsFunc(nic.Shares, func(c qos.ClassShare) bool { return c.Class == class }) {
			out = append(out, qos.ClassShare{Class: class})
		}
	}
	slices.SortFunc(out, func(a, b qos.ClassShare) int { return cmp.Compare(a.Class, b.Class) })
	return out
}

// needsOf returns the prerequisites of a plan, for NIC ports that it divides by class or for all other devices.
func needsOf(p *policy.RoCEPlan, divided bool) *prereq.Needs {
	var classes []qos.TrafficClass
	for i := range p.Classes {
		classes = append(classes, p.Classes[i].TrafficClass)
	}
	return RoCENeeds(classes, divided)
}

// RoCENeeds returns the prerequisites of plans for RoCE: of the traffic classes that they divide links among, or of all traffic where there are
// none. divided is for NIC ports that a plan divides by class.
func RoCENeeds(classes []qos.TrafficClass, divided bool) *prereq.Needs {
	if len(classes) == 0 {
		return &prereq.Needs{RoCE: &prereq.RoCE{DSCP: policy.RoCEDSCP, Priority: policy.RoCEPriority, Queue: policy.RoCEQueue, Lossless: true}}
	}
	n := &prereq.Needs{}
	for _, c := range classes {
		n.Classes = append(n.Classes, prereq.RoCE{DSCP: c.DSCP, Priority: c.Queue, Queue: c.Queue, Lossless: true, Divided: divided})
	}
	return n
}

// wrccTargets adds the switches and NIC ports of a plan for WRCC: every switch that it sets, and every linked NIC port,
// since each needs the number by which the others know its data centre.
func wrccTargets(p *policy.WRCCPlan, f *subnet.Fabric, add func(Target, error)) {
	domains := make(map[string]uint16, len(p.Domains))
	for i, d := range p.Domains {
		domains[d.Domain] = uint16(i + 1)
	}
	fairTargets(p, f, domains, add)
	senders, err := sendersOf(p)
	if err != nil {
		add(Target{}, err)
		return
	}
	increase, err := wrcc.ParseIncrease(p.Increase)
	if err != nil {
		add(Target{}, fmt.Errorf("plan for senders: increase: %w", err))
		return
	}
	for i := range p.Domains {
		d := &p.Domains[i]
		base, err := wrcc.NewNICConfig(domains[d.Domain], wrcc.SenderParams{T1: d.T1, MinRate: float64(p.MinRate), Increase: increase})
		if err != nil {
			add(Target{}, fmt.Errorf("plan for senders of data centre %q: %w", d.Domain, err))
			continue
		}
		for _, h := range f.Hosts() {
			node := &f.Nodes[h]
			if node.Kind != subnet.KindCA || node.Domain != d.Domain {
				continue
			}
			for num := range node.Ports {
				ref := subnet.PortRef{Node: h, Port: ident.PortNum(num)}
				if _, linked := f.Peer(ref); !linked {
					continue
				}
				id := f.PortID(ref)
				c := base
				c.Senders = senders[id]
				delete(senders, id)
				c.Sort()
				add(Target{
					Device: driver.Device{Plane: driver.PlaneWRCC, ID: id, Name: f.PortName(ref), Kind: subnet.KindCA},
					Want:   driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{}, WRCC: &c}},
				}, nil)
			}
		}
	}
	for id := range senders {
		add(Target{}, fmt.Errorf("plan for NIC port %s: no such linked port in a data centre of the plan on fabric %q", id, f.Name))
	}
}

// sendersOf returns the senders of each NIC port.
func sendersOf(p *policy.WRCCPlan) (map[ident.PortID][]wrcc.SenderWeight, error) {
	out := make(map[ident.PortID][]wrcc.SenderWeight)
	for i := range p.Senders {
		s := &p.Senders[i]
		w, err := wrcc.NewFixedWeight(s.Weight)
		if err != nil {
			return nil, fmt.Errorf("plan for sender %s/%s at %s: %w", s.Tenant, s.Class, s.Name, err)
		}
		sender := wrcc.SenderWeight{Name: SenderName(s.Tenant, s.Class), Weight: w}
		for _, peer := range s.Peers {
			if w, err = wrcc.NewFixedWeight(peer.Weight); err != nil {
				return nil, fmt.Errorf("plan for sender %s/%s at %s towards %s: %w", s.Tenant, s.Class, s.Name, peer.Port, err)
			}
			sender.Peers = append(sender.Peers, wrcc.PeerWeight{Port: peer.Port, Weight: w})
		}
		out[s.Port] = append(out[s.Port], sender)
	}
	return out, nil
}

// SenderName returns the name that a NIC has for the queue pairs of one class of a tenant.
func SenderName(tenant, class string) string { return tenant + "/" + class }

// fairTargets adds the switches of a plan for WRCC. domains maps data centres to the plan's numbers.
func fairTargets(p *policy.WRCCPlan, f *subnet.Fabric, domains map[string]uint16, add func(Target, error)) {
	at := make(map[ident.GUID]*wrcc.SwitchConfig)
	var order []policy.NamedPort // one of each switch
	for i := range p.Ports {
		for _, port := range p.Ports[i].Ports {
			c := at[port.Port.Node]
			if c == nil {
				c = &wrcc.SwitchConfig{}
				at[port.Port.Node] = c
				order = append(order, port)
			}
			settings, err := wrcc.NewPortConfig(uint16(port.Port.Port), p.Ports[i].Settings)
			if err != nil {
				add(Target{}, fmt.Errorf("plan for port %s: %w", port.Name, err))
				continue
			}
			c.Ports = append(c.Ports, settings)
			ref, ok := f.PortByID(port.Port)
			if !ok {
				continue // the switch is reported below, or the number when values are checked
			}
			peer, linked := f.Peer(ref)
			own := f.Nodes[ref.Node].Domain
			c.Domains = append(c.Domains, wrcc.PortDomain{
				Port: uint16(port.Port.Port), Domain: domains[own], WAN: linked && f.Nodes[peer.Node].Domain != own,
			})
		}
	}
	for _, port := range order {
		c := at[port.Port.Node]
		c.Sort()
		dev, err := etherSwitch(driver.PlaneWRCC, port.Port.Node, port.Name, f)
		add(Target{Device: dev, Want: driver.Settings{WRCC: c}}, err)
	}
}
