// Package tenantnet simulates tenants' flows on an Ethernet fabric, for runs of a plan and for live fabrics: each queue pair is
// a flow of the network with its own source port, and so its own path.
package tenantnet

import (
	"fmt"

	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// Packet sizes on Ethernet, in bytes.
const (
	Payload = 1000
	Headers = dcqcn.PacketWire - Payload
)

// RoCE returns the configuration of a fabric of DCQCN NICs, without algorithms.
func RoCE(seed uint64) ether.Config {
	return ether.Config{Seed: seed, Payload: Payload, Headers: ether.Headers{Data: Headers}, AckEvery: dcqcn.AckEvery, CNPs: true}
}

// WRCC returns the configuration of a WRCC fabric, without algorithms and fair rates.
func WRCC(seed uint64) ether.Config {
	return ether.Config{
		Seed: seed, Payload: Payload, Headers: ether.Headers{Data: Headers},
		AckEvery: wrcc.AckEvery, AckDelay: wrcc.AckDelay, PaceCredit: wrcc.PaceCredit,
	}
}

// Network is an Ethernet fabric with the queue pairs of tenants' flows.
type Network struct {
	*ether.Network
	ByPort map[subnet.PortRef]int32
	Pairs  []int              // flow index of each queue pair
	Paths  [][]subnet.PortRef // for each queue pair, the ports that send its packets
	Wire   float64            // wire bytes per payload byte

	fabric *subnet.Fabric
	flows  []tenants.Flow
}

// New builds the network and determines the path of each queue pair, without starting any. It returns the errors of ether.New,
// and an error for flows whose ends are not linked host ports of the fabric.
func New(fabric *subnet.Fabric, flows []tenants.Flow, cfg ether.Config) (*Network, error) {
	net, err := ether.New(fabric, cfg)
	if err != nil {
		return nil, err
	}
	header := cfg.Headers.Data + cfg.Algorithms[0].Traits().DataHeader
	n := &Network{
		Network: net, Wire: float64(cfg.Payload+header) / float64(cfg.Payload), ByPort: make(map[subnet.PortRef]int32, net.Hosts()),
		fabric: fabric, flows: flows,
	}
	for h := range int32(net.Hosts()) {
		n.ByPort[net.HostPort(h)] = h
	}
	for i := range flows {
		f := &flows[i]
		for _, id := range []ident.PortID{f.Src, f.Dst} {
			if _, ok := n.HostOf(id); !ok {
				return nil, fmt.Errorf("flow %d of tenant %s: port %s: want a linked host port of the fabric", i, f.Tenant, id)
			}
		}
		for range f.QPs {
			n.Pairs = append(n.Pairs, i)
		}
	}
	for i := range n.Pairs {
		path, err := net.Path(n.Spec(i))
		if err != nil {
			return nil, err
		}
		n.Paths = append(n.Paths, path)
	}
	return n, nil
}

// HostOf returns the host of a port, and false for a port that is not a host's.
func (n *Network) HostOf(id ident.PortID) (int32, bool) {
	ref, ok := n.fabric.PortByID(id)
	if !ok {
		return 0, false
	}
	h, ok := n.ByPort[ref]
	return h, ok
}

// Spec returns the flow of a queue pair, without a plan's settings.
func (n *Network) Spec(i int) ether.FlowSpec {
	f := &n.flows[n.Pairs[i]]
	src, _ := n.HostOf(f.Src)
	dst, _ := n.HostOf(f.Dst)
	s := ether.FlowSpec{ID: int64(i), Entropy: uint32(i), Src: src, Dst: dst}
	if f.Demand > 0 {
		s.Demand = max(1, f.Demand/quantity.BitRate(f.QPs))
	}
	return s
}
