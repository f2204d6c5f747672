package etherlive

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/sim/plane"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// NIC is the data plane of one NIC port.
type NIC struct {
	f       *Fabric
	host    int32
	at      subnet.PortRef
	tenants []string // tenants of the port, sorted by name: the position is the index of the function
	numbers []int32  // network's numbers of the functions
	pairs   []int32  // queue pairs that send from this port
	domain  uint16   // initial data centre of the port
	state   plane.PortState
}

// NIC returns the data plane of a host port. It returns an error for any other port, and for a port without a link.
func (f *Fabric) NIC(id ident.PortID) (*NIC, error) {
	h, ok := f.net.HostOf(id)
	if !ok {
		return nil, fmt.Errorf("port %s: want a linked host port of the fabric", id)
	}
	return f.nics[h], nil
}

// addNICs creates the data planes of all hosts, and a function for each tenant at a port.
func (f *Fabric) addNICs() error {
	numbers := f.domainNumbers()
	f.nics = make([]*NIC, f.net.Hosts())
	for h := range f.nics {
		at := f.net.HostPort(int32(h))
		f.nics[h] = &NIC{f: f, host: int32(h), at: at, domain: numbers[f.topo.Nodes[at.Node].Domain], state: f.defaultPort()}
	}
	for i := range f.flows {
		fl := &f.flows[i]
		for _, id := range []ident.PortID{fl.Src, fl.Dst} {
			h, _ := f.net.HostOf(id)
			nic := f.nics[h]
			if at, has := slices.BinarySearch(nic.tenants, fl.Tenant); !has {
				nic.tenants = slices.Insert(nic.tenants, at, fl.Tenant)
			}
		}
	}
	for _, nic := range f.nics {
		functions := f.o.Functions[f.topo.PortID(nic.at)]
		if functions > 4096 {
			return fmt.Errorf("port %s: %d functions: want at most 4096", f.topo.PortName(nic.at), functions)
		}
		for range max(len(nic.tenants), functions) {
			number, err := f.net.AddFunction(nic.host, ether.FunctionShare{})
			if err != nil {
				return err
			}
			nic.numbers = append(nic.numbers, number)
		}
		if f.wrcc != nil {
			nic.configureWRCC(nil)
		}
	}
	return nil
}

// functionOf returns the network's number of a tenant's function at the port.
func (n *NIC) functionOf(tenant string) int32 {
	at, ok := slices.BinarySearch(n.tenants, tenant)
	if !ok {
		return 0
	}
	return n.numbers[at]
}

// Tenants returns the tenants of the port by name; a tenant's position is the index of its function.
func (n *NIC) Tenants() []string { return slices.Clone(n.tenants) }

// Functions returns the number of virtual functions of the port.
func (n *NIC) Functions() int { return len(n.numbers) }

// State returns the state of the port.
func (n *NIC) State() plane.PortState {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	return n.state
}

// Configure sets the state of the port. Running queue pairs keep the state of their limiters and use the new registers. If the
// model rejects a part of the state, that part does not change; Fabric.Err returns the error.
func (n *NIC) Configure(p plane.PortState) {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	defer n.f.clock.Wake()
	if n.f.mlx != nil {
		n.configureClasses(&p)
		n.configureDCQCN(&p)
	} else {
		n.configureWRCC(p.WRCC)
	}
	n.configureShares(&p)
	n.state = p
}

// Reset returns the port to its initial state.
func (n *NIC) Reset() { n.Configure(n.f.defaultPort()) }

// problem records an error of the port.
func (n *NIC) problem(err error) {
	if err != nil {
		n.f.reject("port %s: %w", n.f.topo.PortName(n.at), err)
	}
}

func (n *NIC) configureDCQCN(p *plane.PortState) {
	bit := uint8(1) << p.Priority()
	on := p.Reaction&bit != 0
	n.problem(n.f.net.SetCapable(n.host, !p.NotECT))
	n.problem(n.f.net.SetInert(n.host, p.Inert))
	if err := n.f.mlx.Set(int(n.host), n.f.net.Now(), &p.Registers, on); err != nil {
		n.problem(err)
		p.Registers = n.state.Registers
		return
	}
	n.problem(n.f.net.SetReaction(n.host, on))
	n.problem(n.f.net.SetNotification(n.host, ether.Notification{
		Off: p.Notification&bit == 0, PerPort: p.CNPsPerPort, Gap: quantity.Picoseconds(p.Registers.CNPGap) * quantity.Microsecond,
	}))
}

func (n *NIC) configureShares(p *plane.PortState) {
	if len(n.numbers) == 0 {
		return
	}
	n.problem(n.f.net.SetMaxRate(n.host, p.MaxRate))
	shares := make([]ether.FunctionShare, len(n.numbers))
	for _, s := range p.Functions {
		if s.Index >= 0 && s.Index < len(shares) {
			shares[s.Index] = ether.FunctionShare{Weight: s.Weight, Min: s.Min, Max: s.Max}
		}
	}
	for i, s := range shares {
		n.problem(n.f.net.SetFunction(n.numbers[i], s))
	}
}

// configureWRCC sets the configuration of the port's senders; nil selects the initial one.
func (n *NIC) configureWRCC(c *wrcc.NICConfig) {
	now := n.f.net.Now()
	port := cc.WRCCPort{SenderParams: defaultSender(), Domain: n.domain}
	if c != nil {
		increase, err := wrcc.ParseIncrease(c.Increase)
		if err != nil {
			n.problem(err)
			return
		}
		port = cc.WRCCPort{
			SenderParams: wrcc.SenderParams{
				T1: quantity.Picoseconds(c.T1Us) * quantity.Microsecond, MinRate: float64(c.MinRateMbps) * float64(quantity.Mbps), Increase: increase,
			},
			Domain: c.Domain,
		}
	}
	number, err := n.f.domainOf(port.Domain)
	if err != nil {
		n.problem(err)
		return
	}
	port.Domain = uint16(number)
	if err := n.f.wrcc.Set(int(n.host), now, port); err != nil {
		n.problem(err)
		return
	}
	n.problem(n.f.net.SetDomain(n.host, number))
	n.weigh(c)
}

// weigh sets the weights of the port's queue pairs to those of their senders.
func (n *NIC) weigh(c *wrcc.NICConfig) {
	for _, at := range n.pairs {
		p := &n.f.pairs[at]
		weight := n.weightOf(c, n.f.net.Pairs[at])
		if p.spec.Weight == weight {
			continue
		}
		p.spec.Weight = weight
		if p.active {
			n.problem(n.f.net.Reweigh(p.ref, weight))
		}
	}
}

// weightOf returns the weight of a flow's queue pairs: 1 without a sender.
func (n *NIC) weightOf(c *wrcc.NICConfig, flow int) float64 {
	if c == nil {
		return 1
	}
	f := &n.f.flows[flow]
	at, ok := slices.BinarySearchFunc(c.Senders, senderName(f), func(s wrcc.SenderWeight, name string) int { return strings.Compare(s.Name, name) })
	if !ok {
		return 1
	}
	s := &c.Senders[at]
	if k, ok := slices.BinarySearchFunc(s.Peers, f.Dst, func(p wrcc.PeerWeight, id ident.PortID) int { return p.Port.Compare(id) }); ok {
		return s.Peers[k].Weight.Float()
	}
	return s.Weight.Float()
}

// senderName returns the name of the sender for a flow's queue pairs.
func senderName(f *tenants.Flow) string {
	class := f.Class
	if class == "" {
		class = tenants.DefaultClass
	}
	return f.Tenant + "/" + class
}

// Measure returns the port's counters since the start of the fabric.
func (n *NIC) Measure() plane.PortCounters {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	l, h := n.f.net.Link(n.at), n.f.net.Host(n.host)
	c := plane.PortCounters{
		At: n.f.net.Now(), Up: l.Up,
		TxOctets: l.TxOctets, RxOctets: l.RxOctets, TxPackets: l.TxPackets, RxPackets: l.RxPackets,
		TransportCounters: transport(&h), PausedTime: l.PausedTime,
	}
	n.f.byClass(n.at, func(prio int, q *ether.QueueStats, at int) {
		c.PausesSent[prio], c.PausesReceived[prio], c.PausedTimes[prio] = l.PausesSent[at], l.PausesReceived[at], l.PausedTimes[at]
		c.Sent[prio] = plane.ClassCounters{Octets: q.TxOctets, Packets: q.TxPackets}
	})
	for i, number := range n.numbers {
		s := n.f.net.Function(number)
		tenant := ""
		if i < len(n.tenants) {
			tenant = n.tenants[i]
		}
		c.Functions = append(c.Functions, plane.FunctionCounters{
			Index: i, Tenant: tenant, TxOctets: s.TxOctets, RxOctets: s.RxOctets, TxPackets: s.TxPackets, RxPackets: s.RxPackets,
			TransportCounters: transport(&s.HostStats),
		})
	}
	if n.f.wrcc != nil {
		c.Senders = n.senders()
	}
	return c
}

func transport(h *ether.HostStats) plane.TransportCounters {
	return plane.TransportCounters{
		CNPsSent: h.CNPsSent, CNPsHandled: h.CNPsHandled, CNPsIgnored: h.CNPsIgnored, ECNMarked: h.Marked,
		Sequence: h.OutOfOrder, Nacks: h.Nacks, Timeouts: h.Timeouts,
	}
}

// senders returns the totals of the port's queue pairs by sender.
func (n *NIC) senders() []plane.SenderCounters {
	var out []plane.SenderCounters
	for _, at := range n.pairs {
		p := &n.f.pairs[at]
		bytes := p.done
		if p.active {
			if s, ok := n.f.net.Flow(p.ref); ok {
				bytes += s.Sent
			}
		}
		name := senderName(&n.f.flows[n.f.net.Pairs[at]])
		k, ok := slices.BinarySearchFunc(out, name, func(c plane.SenderCounters, name string) int { return strings.Compare(c.Name, name) })
		if !ok {
			out = slices.Insert(out, k, plane.SenderCounters{Name: name})
		}
		out[k].TxOctets += uint64(float64(bytes) * n.f.net.Wire)
	}
	return out
}
