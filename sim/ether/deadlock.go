package ether

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet"
)

// Deadlock is a cycle of paused ports. Each port waits until the next one in the cycle drains.
type Deadlock struct {
	Ports []string // node and port, in the order of waiting
	Class uint8
}

func (d *Deadlock) Error() string {
	return fmt.Sprintf("priority flow control deadlock in class %d: each port waits for the next, and the last port waits for the first: %s", d.Class, strings.Join(d.Ports, ", "))
}

// Deadlock returns a cycle of ports that wait for each other forever, or nil. Port A waits for port B when the switch at A's
// far end pauses A, and packets from A are queued at B. A port is stuck when every packet that could end its pause is queued at
// a stuck port. The search removes, one after the other, the ports that can continue. It is valid at any instant and never
// reports mere congestion as a deadlock.
func (n *Network) Deadlock() *Deadlock {
	return deadlockSearch{n, func(int32) *Network { return n }}.deadlock()
}

// Deadlock is Network.Deadlock for the whole fabric. The cycle may lead through several parts.
func (p *Parallel) Deadlock() *Deadlock {
	return deadlockSearch{p.parts[0], func(node int32) *Network { return p.parts[p.home[node]] }}.deadlock()
}

// deadlockSearch searches for ports that wait for each other. Any part has the topology of the whole fabric; only the part that
// simulates a node has the state of its ports.
type deadlockSearch struct {
	*Network
	of func(node int32) *Network
}

func (n deadlockSearch) deadlock() *Deadlock {
	for cls := range n.classes {
		stuck := n.stuck(cls)
		for pi := range n.ports {
			if stuck[pi] {
				return n.describe(n.loop(int32(pi), cls, stuck), uint8(cls))
			}
		}
	}
	return nil
}

// at returns a port from the part that simulates it.
func (n deadlockSearch) at(pi int32) *port { return &n.of(n.ports[pi].node).ports[pi] }

// asked reports whether the switch of a port has paused the far end.
func (n deadlockSearch) asked(pi int32, cls int) bool {
	return n.of(n.ports[pi].node).ingress[int(pi)*n.classes+cls].paused
}

// stuck returns the ports that are paused forever in a class.
func (n deadlockSearch) stuck(cls int) []bool {
	stuck := make([]bool, len(n.ports))
	var left []int32
	for pi := range n.ports {
		p := n.at(int32(pi))
		if p.peer != none && p.paused>>cls&1 != 0 && n.asked(p.peer, cls) {
			stuck[pi] = true
			left = append(left, int32(pi))
		}
	}
	for changed := true; changed; {
		changed = false
		for _, pi := range left {
			if stuck[pi] && !n.allStuck(pi, cls, stuck) {
				stuck[pi] = false
				changed = true
			}
		}
	}
	return stuck
}

// allStuck reports whether all packets from a port are queued at stuck ports of the far end.
func (n deadlockSearch) allStuck(pi int32, cls int, stuck []bool) bool {
	for _, next := range n.waitsFor(pi, cls) {
		if !stuck[next] {
			return false
		}
	}
	return true
}

// loop follows stuck ports from one of them until a port repeats.
func (n deadlockSearch) loop(pi int32, cls int, stuck []bool) []int32 {
	var path []int32
	for {
		if at := slices.Index(path, pi); at >= 0 {
			return path[at:]
		}
		path = append(path, pi)
		next := n.waitsFor(pi, cls)
		at := slices.IndexFunc(next, func(q int32) bool { return stuck[q] })
		if at < 0 {
			return path
		}
		pi = next[at]
	}
}

// waitsFor returns the ports of the switch at the far end that hold packets from pi.
func (n deadlockSearch) waitsFor(pi int32, cls int) []int32 {
	peer := n.ports[pi].peer
	if peer == none || n.ports[peer].sw == none {
		return nil
	}
	node := n.ports[peer].node
	here := n.of(node)
	var out []int32
	for oi := n.first[node]; oi < n.first[node+1]; oi++ {
		for i := here.queues[int(oi)*n.classes+cls].head; i != none; i = here.pool.at(i).next {
			if here.pool.at(i).in == peer {
				out = append(out, oi)
				break
			}
		}
	}
	return out
}

func (n *Network) describe(ports []int32, cls uint8) *Deadlock {
	d := &Deadlock{Class: cls}
	for _, pi := range ports {
		d.Ports = append(d.Ports, n.PortName(n.ref(pi)))
	}
	return d
}

// PortName returns the name of a node and the number of its port, such as "leaf-1/3".
func (n *Network) PortName(r subnet.PortRef) string {
	return fmt.Sprintf("%s/%d", n.topo.Nodes[r.Node].Name, r.Port)
}
