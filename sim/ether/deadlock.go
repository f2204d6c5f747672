package ether

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet"
)

// Deadlock is a circle of paused ports: each waits for the next to drain.
type Deadlock struct {
	Ports []string // node and port, in the order of waiting
	Class uint8
}

func (d *Deadlock) Error() string {
	return fmt.Sprintf("priority flow control deadlock in class %d: %s waits for itself", d.Class, strings.Join(d.Ports, " waits for "))
}

// Deadlock returns a circle of ports that wait for each other for ever, or nil. Port A waits for port
// B when A is paused by the switch at its far end because of packets from A that wait at B, and B is
// itself paused. The check looks at every paused port: call it when nothing moves.
func (n *Network) Deadlock() *Deadlock {
	for cls := range n.classes {
		seen := make([]uint8, len(n.ports)) // 1 on the way, 2 done
		var way []int32
		for pi := range n.ports {
			if c := n.follow(int32(pi), cls, seen, &way); c != nil {
				return n.describe(c, uint8(cls))
			}
		}
	}
	return nil
}

// follow searches depth first for a circle that starts at a port, and returns it.
func (n *Network) follow(pi int32, cls int, seen []uint8, way *[]int32) []int32 {
	if n.ports[pi].paused>>cls&1 == 0 || seen[pi] == 2 {
		return nil
	}
	if seen[pi] == 1 {
		return (*way)[slices.Index(*way, pi):]
	}
	seen[pi] = 1
	*way = append(*way, pi)
	for _, next := range n.waitsFor(pi, cls) {
		if c := n.follow(next, cls, seen, way); c != nil {
			return c
		}
	}
	*way = (*way)[:len(*way)-1]
	seen[pi] = 2
	return nil
}

// waitsFor returns the ports of the switch at the far end that hold packets from pi.
func (n *Network) waitsFor(pi int32, cls int) []int32 {
	peer := n.ports[pi].peer
	if peer == none || n.ports[peer].sw == none {
		return nil
	}
	node := n.ports[peer].node
	var out []int32
	for oi := n.first[node]; oi < n.first[node+1]; oi++ {
		for i := n.queues[int(oi)*n.classes+cls].head; i != none; i = n.pool.all[i].next {
			if n.pool.all[i].in == peer {
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
