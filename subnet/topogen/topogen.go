// Package topogen builds the fabrics that tests, scenarios and the demonstration use: a star, a
// dumbbell, the two-switch testbed of the differentiated-bandwidth paper (S1), leaf-spine, fat
// tree, three tiers of pods, and two data centres. It is pure: the same options give the same fabric,
// with the same GUIDs, names, LIDs and routes.
package topogen

import (
	"cmp"
	"errors"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Defaults of every builder.
const (
	DefaultRate  = 100 * quantity.Gbps
	DefaultDelay = 1 * quantity.Microsecond
	MTU          = 4096 // bytes, of every port
	DataVLs      = 8    // of every port
)

// GUIDs are in the locally administered range (bit 0x02 of the first byte), so that they cannot equal a real device's. A
// node's port p has the node's GUID plus p.
const (
	firstHost   ident.GUID = 0x0200_0000_0001_0000
	firstSwitch ident.GUID = 0x0200_0001_0001_0000
	guidStep               = 0x100
)

// Wire holds the common properties of links; the zero value is 100 Gbit/s, 1 us and LMC 0.
type Wire struct {
	Rate  quantity.BitRate     // 0 is DefaultRate
	Delay quantity.Picoseconds // one way; 0 is DefaultDelay
	LMC   uint8                // of host ports, 0 to 7
	// Bare omits LIDs and routes, for a fabric that is no InfiniBand subnet. Computing them takes far longer than the
	// rest.
	Bare bool
}

func (w Wire) rate() quantity.BitRate      { return cmp.Or(w.Rate, DefaultRate) }
func (w Wire) delay() quantity.Picoseconds { return cmp.Or(w.Delay, DefaultDelay) }

// builder collects nodes and links; nodes are numbered in the order in which they were added.
type builder struct {
	nodes           []subnet.Node
	links           []subnet.Link
	hosts, switches int
	err             error
}

func (b *builder) add(kind subnet.NodeKind, name, domain string, guid ident.GUID, ports int) int32 {
	n := subnet.Node{
		GUID: guid, SystemGUID: guid, Kind: kind, Name: name, Domain: domain,
		Ports: subnet.NewPorts(ports),
	}
	for p := range n.Ports {
		if p == 0 && kind != subnet.KindSwitch {
			continue
		}
		port := &n.Ports[p]
		port.State, port.MTU, port.VLCap = subnet.PortActive, MTU, DataVLs
		if p == 0 || kind != subnet.KindSwitch {
			port.GUID = guid + ident.GUID(p)
		}
	}
	b.nodes = append(b.nodes, n)
	return int32(len(b.nodes) - 1)
}

func (b *builder) host(name, domain string) int32 {
	b.hosts++
	return b.add(subnet.KindCA, name, domain, firstHost+ident.GUID(b.hosts-1)*guidStep, 1)
}

func (b *builder) sw(name, domain string, ports int) int32 {
	b.switches++
	return b.add(subnet.KindSwitch, name, domain, firstSwitch+ident.GUID(b.switches-1)*guidStep, ports)
}

// link joins two ports. Width and speed are set where one combination has exactly this rate.
func (b *builder) link(a int32, ap int, z int32, zp int, rate quantity.BitRate, delay quantity.Picoseconds) {
	w, s, _ := subnet.WidthSpeedFor(rate)
	b.links = append(b.links, subnet.Link{
		A: subnet.PortRef{Node: a, Port: ident.PortNum(ap)}, B: subnet.PortRef{Node: z, Port: ident.PortNum(zp)},
		Width: w, Speed: s, Rate: rate, Delay: delay,
	})
}

// check records the first option that is out of range.
func (b *builder) check(option string, value, low, high int) {
	if b.err == nil && (value < low || value > high) {
		b.err = fmt.Errorf("%s %d: want %d to %d", option, value, low, high)
	}
}

// finish marks unplugged ports down, and assigns LIDs and routes unless the fabric is bare.
func (b *builder) finish(name string, w Wire) (*subnet.Fabric, error) {
	plugged := make(map[subnet.PortRef]bool, 2*len(b.links))
	for _, l := range b.links {
		plugged[l.A], plugged[l.B] = true, true
	}
	for i := range b.nodes {
		for p := 1; p < len(b.nodes[i].Ports); p++ {
			if !plugged[subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}] {
				b.nodes[i].Ports[p].State = subnet.PortDown
			}
		}
	}
	f, err := subnet.New(name, b.nodes, b.links)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", name, err)
	}
	if w.Bare {
		return f, nil
	}
	return subnet.AssignAndRoute(f, w.LMC)
}

// Star is one switch with n hosts, h1 to hN, on its ports 1 to n: the incast topology. n is 1
// to 254.
func Star(n int, w Wire) (*subnet.Fabric, error) {
	var b builder
	b.check("hosts", n, 1, subnet.MaxPorts)
	if b.err != nil {
		return nil, fmt.Errorf("star: %w", b.err)
	}
	hub := b.sw("sw1", "", n)
	for i := 1; i <= n; i++ {
		b.link(hub, i, b.host(fmt.Sprintf("h%d", i), ""), 1, w.rate(), w.delay())
	}
	return b.finish("star", w)
}

// DumbbellOptions describes two switches with hosts on either side and one link between.
type DumbbellOptions struct {
	Left, Right int // hosts, 1 to 253 a side; 0 is 2
	Wire            // of the hosts' links
	// CoreRate and CoreDelay are those of the link between the switches; 0 is the hosts'.
	CoreRate  quantity.BitRate
	CoreDelay quantity.Picoseconds
	// LeftDomain and RightDomain name the data centre of each side.
	LeftDomain, RightDomain string
}

// Dumbbell builds switches left and right with hosts l1.. and r1..; the link between the
// switches is on the highest port of each.
func Dumbbell(o DumbbellOptions) (*subnet.Fabric, error) {
	left, right := cmp.Or(o.Left, 2), cmp.Or(o.Right, 2)
	var b builder
	b.check("left hosts", left, 1, subnet.MaxPorts-1)
	b.check("right hosts", right, 1, subnet.MaxPorts-1)
	if b.err != nil {
		return nil, fmt.Errorf("dumbbell: %w", b.err)
	}
	a := b.sw("left", o.LeftDomain, left+1)
	z := b.sw("right", o.RightDomain, right+1)
	for i := 1; i <= left; i++ {
		b.link(a, i, b.host(fmt.Sprintf("l%d", i), o.LeftDomain), 1, o.rate(), o.delay())
	}
	for i := 1; i <= right; i++ {
		b.link(z, i, b.host(fmt.Sprintf("r%d", i), o.RightDomain), 1, o.rate(), o.delay())
	}
	b.link(a, left+1, z, right+1, cmp.Or(o.CoreRate, o.rate()), cmp.Or(o.CoreDelay, o.delay()))
	return b.finish("dumbbell", o.Wire)
}

// S1Testbed is the testbed of the differentiated-bandwidth paper (S1): switches S1 and S2, hosts
// A and B on S1, hosts C, D, E and F on S2, all links 10 Gbit/s.
func S1Testbed() (*subnet.Fabric, error) {
	const rate = 10 * quantity.Gbps
	var b builder
	s1, s2 := b.sw("S1", "", 3), b.sw("S2", "", 5)
	for i, name := range []string{"A", "B"} {
		b.link(s1, i+1, b.host(name, ""), 1, rate, DefaultDelay)
	}
	for i, name := range []string{"C", "D", "E", "F"} {
		b.link(s2, i+1, b.host(name, ""), 1, rate, DefaultDelay)
	}
	b.link(s1, 3, s2, 5, rate, DefaultDelay)
	return b.finish("s1-testbed", Wire{})
}

// LeafSpineOptions describes a two-level Clos fabric.
type LeafSpineOptions struct {
	Leaves       int // 0 is 4
	HostsPerLeaf int // 0 is 4
	Spines       int // 0 is 2
	Parallel     int // links between each leaf and each spine; 0 is 1
	Wire             // of the hosts' links
	// UplinkRate and UplinkDelay are those of the links between leaves and spines; 0 is the hosts'.
	UplinkRate  quantity.BitRate
	UplinkDelay quantity.Picoseconds
}

// LeafSpine builds switches leaf1.. and spine1.. and hosts host-001.. in the order of leaves. A
// leaf's hosts are on its first ports, its uplinks behind them.
func LeafSpine(o LeafSpineOptions) (*subnet.Fabric, error) {
	leaves, hosts := cmp.Or(o.Leaves, 4), cmp.Or(o.HostsPerLeaf, 4)
	spines, parallel := cmp.Or(o.Spines, 2), cmp.Or(o.Parallel, 1)
	var b builder
	b.check("spines", spines, 1, subnet.MaxPorts)
	b.check("parallel links", parallel, 1, subnet.MaxPorts)
	b.check("hosts per leaf", hosts, 1, subnet.MaxPorts-spines*parallel)
	b.check("leaves", leaves, 1, subnet.MaxPorts/max(parallel, 1))
	if b.err != nil {
		return nil, fmt.Errorf("leaf-spine: %w", b.err)
	}
	for i := 1; i <= leaves; i++ {
		b.sw(fmt.Sprintf("leaf%d", i), "", hosts+spines*parallel)
	}
	for i := 1; i <= spines; i++ {
		b.sw(fmt.Sprintf("spine%d", i), "", leaves*parallel)
	}
	for l := range leaves {
		for h := range hosts {
			b.link(int32(l), h+1, b.host(fmt.Sprintf("host-%03d", l*hosts+h+1), ""), 1, o.rate(), o.delay())
		}
		for s := range spines {
			for p := range parallel {
				b.link(int32(l), hosts+s*parallel+p+1, int32(leaves+s), l*parallel+p+1,
					cmp.Or(o.UplinkRate, o.rate()), cmp.Or(o.UplinkDelay, o.delay()))
			}
		}
	}
	return b.finish("leaf-spine", o.Wire)
}

// FatTreeOptions describes a three-level k-ary fat tree (Al-Fares et al., SIGCOMM 2008).
type FatTreeOptions struct {
	K    int // ports of a switch: even, 2 to 74; 0 is 4. It gives K^3/4 hosts.
	Wire     // of all links
}

// FatTree builds K pods of K/2 edge and K/2 aggregation switches, K^2/4 cores and K^3/4 hosts.
// Switches are pod1-edge1.., pod1-agg1.. and core1..; hosts are host-0001.. in the order of
// pods and edges. Ports 1 to K/2 of an edge or aggregation switch lead down, the others up.
func FatTree(o FatTreeOptions) (*subnet.Fabric, error) {
	k := cmp.Or(o.K, 4)
	var b builder
	b.check("K", k, 2, 74) // more than subnet.MaxNodes hosts and switches otherwise
	if b.err == nil && k%2 != 0 {
		b.err = errors.New("K is odd: want an even number")
	}
	if b.err != nil {
		return nil, fmt.Errorf("fat tree: %w", b.err)
	}
	half := k / 2
	// Edges, then aggregations, then cores; each in the order of pods.
	for _, layer := range []string{"edge", "agg"} {
		for i := range k * half {
			b.sw(fmt.Sprintf("pod%d-%s%d", i/half+1, layer, i%half+1), "", k)
		}
	}
	for i := range half * half {
		b.sw(fmt.Sprintf("core%d", i+1), "", k)
	}
	agg, core := int32(k*half), int32(2*k*half)
	for i := range int32(k * half) { // edge or aggregation i, in pod i/half
		pod, at := i/int32(half), int(i)%half
		for j := range half {
			host := b.host(fmt.Sprintf("host-%04d", int(i)*half+j+1), "")
			b.link(i, j+1, host, 1, o.rate(), o.delay())
			b.link(i, half+j+1, agg+pod*int32(half)+int32(j), at+1, o.rate(), o.delay())
			b.link(agg+i, half+j+1, core+int32(at*half+j), int(pod)+1, o.rate(), o.delay())
		}
	}
	return b.finish("fat-tree", o.Wire)
}
