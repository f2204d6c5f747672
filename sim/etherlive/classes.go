package etherlive

import (
	"fmt"
	"maps"

	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/sim/plane"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// In a RoCE fabric, each priority, and the switch queue and the NIC's traffic class with the same number, is one class of the network. A WRCC fabric has
// one class, for Options.Priority.

// eachClass calls do with every priority that has a class of the network, and that class.
func (f *Fabric) eachClass(do func(priority, class int)) {
	if f.mlx == nil {
		do(int(f.o.Priority), 0)
		return
	}
	for c := range plane.Priorities {
		do(c, c)
	}
}

// byClass calls do with every priority of a port, its counters and its class.
func (f *Fabric) byClass(at subnet.PortRef, do func(priority int, q *ether.QueueStats, class int)) {
	var queues [ether.MaxClasses]ether.QueueStats
	f.net.Queues(at, &queues)
	f.eachClass(func(priority, class int) { do(priority, &queues[class], class) })
}

// defaultPort returns plane.DefaultPort with RoCE on the fabric's priority.
func (f *Fabric) defaultPort() plane.PortState {
	p := plane.DefaultPort()
	p.Priorities[p.DSCP], p.PFC = f.o.Priority, 1<<f.o.Priority
	p.Service[f.o.Priority] = p.Service[plane.RoCEPriority]
	return p
}

// defaultSwitchPort returns plane.DefaultSwitchPort with RoCE in the queue of the fabric's priority.
func (f *Fabric) defaultSwitchPort() plane.SwitchPort {
	p := plane.DefaultSwitchPort()
	p.Queues[plane.RoCEDSCP], p.PFC = f.o.Priority, 1<<f.o.Priority
	return p
}

// addClasses sets the initial state of all ports.
func (f *Fabric) addClasses() {
	for _, n := range f.nics {
		n.configureClasses(&n.state)
	}
	for _, s := range f.switches {
		if s != nil {
			s.configurePorts(nil)
		}
	}
}

// configureClasses sets the priorities of a port's packets, and those with pause.
func (n *NIC) configureClasses(p *plane.PortState) {
	if p.DSCP >= plane.DSCPs || p.CNPDSCP >= plane.DSCPs {
		n.problem(fmt.Errorf("DSCPs %d and %d: want 0 to %d", p.DSCP, p.CNPDSCP, plane.DSCPs-1))
		p.DSCP, p.CNPDSCP = n.state.DSCP, n.state.CNPDSCP
	}
	net, m := n.f.net, ether.CodeMap(p.Priorities)
	n.problem(net.SetMap(n.at, &m))
	n.problem(net.SetPFC(n.at, p.PFC))
	n.problem(net.SetService(n.at, serviceOf(&p.Service)))
	n.problem(net.SetNotificationCode(n.host, p.CNPDSCP))
	for _, at := range n.pairs {
		if q := &n.f.pairs[at]; q.active {
			n.problem(net.SetCode(q.ref, n.f.codeOf(at, p.DSCP)))
		}
	}
}

// SetDSCPs changes the DSCPs that the applications of tenants choose for their queue pairs: see Options.DSCPs. It returns an error for a DSCP out of
// range, and then changes nothing.
func (f *Fabric) SetDSCPs(dscps map[string]uint8) error {
	if err := checkDSCPs(dscps); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.clock.Wake()
	f.o.DSCPs = maps.Clone(dscps)
	for _, n := range f.nics {
		n.configureClasses(&n.state)
	}
	return nil
}

func checkDSCPs(dscps map[string]uint8) error {
	for tenant, dscp := range dscps {
		if dscp >= plane.DSCPs {
			return fmt.Errorf("DSCP %d of tenant %q: want 0 to %d", dscp, tenant, plane.DSCPs-1)
		}
	}
	return nil
}

// codeOf returns the DSCP of a queue pair: the one that its tenant's applications choose, or the port's.
func (f *Fabric) codeOf(pair int32, port uint8) uint8 {
	if own, ok := f.o.DSCPs[f.flows[f.net.Pairs[pair]].Tenant]; ok {
		return own
	}
	return port
}

// ConfigurePorts sets the settings of the switch's ports, those of port n at index n-1; missing ports get their initial
// settings. Packets in the switch stay in their queues. A WRCC fabric ignores these settings.
func (s *Switch) ConfigurePorts(ports []plane.SwitchPort) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	defer s.f.clock.Wake()
	if s.f.mlx != nil {
		s.configurePorts(ports)
	}
}

func (s *Switch) configurePorts(ports []plane.SwitchPort) {
	s.each(func(num ident.PortNum, _ quantity.BitRate) {
		p := s.f.defaultSwitchPort()
		if num > 0 && int(num) <= len(ports) {
			p = ports[num-1]
		}
		at, m := subnet.PortRef{Node: s.node, Port: num}, ether.CodeMap(p.Queues)
		s.problem(num, s.f.net.SetMap(at, &m))
		s.problem(num, s.f.net.SetPFC(at, p.PFC))
		s.problem(num, s.f.net.SetService(at, serviceOf(&p.Service)))
	})
}

// serviceOf reduces weights to the smallest integers with the same ratios, so that a round of deficit round robin is short.
func serviceOf(service *[plane.Priorities]plane.QueueService) ether.Service {
	s := ether.Service{HighFirst: true}
	common := uint8(0)
	for q, v := range service {
		if v.Strict {
			s.Strict |= 1 << q
			continue
		}
		s.Weights[q] = max(1, v.Weight)
		for a, b := s.Weights[q], common; ; a, b = b, a%b {
			if b == 0 {
				common = a
				break
			}
		}
	}
	for q := range s.Weights {
		s.Weights[q] /= max(1, common)
	}
	return s
}
