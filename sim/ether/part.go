package ether

import (
	"fairlane/internal/quantity"
	"fairlane/sim"
)

// part is the state of a network that simulates only some nodes of a fabric, for Parallel. The network also holds the
// routes, the rates, and the starts and ends of flows of the whole fabric.
type part struct {
	local []bool   // whether this part simulates the node, by node
	cut   []int8   // by port: the part at the far end of a cut link, or -1
	out   []outbox // outboxes by destination part
	ended []int32  // slots of flows that ended since the last synchronisation
	done  []Done
}

// outbox holds the packets from one part to another between two synchronisations, in the order of sending.
type outbox struct {
	letters  []letter
	records  []record
	earliest quantity.Picoseconds // earliest arrival of a packet
}

// letter is a packet on a link between two parts.
type letter struct {
	packet packet // tel: index into records, or none
	port   int32  // sending port
}

// owns reports whether the network simulates a node.
func (n *Network) owns(node int32) bool { return n.part == nil || n.part.local[node] }

// post hands a packet whose transmission has just begun to the part at the far end of its link.
func (n *Network) post(pi int32, to int8, pk int32) {
	k := n.pool.at(pk)
	o := &n.part.out[to]
	l := letter{packet: *k, port: pi}
	if k.tel != none {
		l.packet.tel = int32(len(o.records))
		o.records = append(o.records, *n.records.at(k.tel))
	}
	o.letters = append(o.letters, l)
	o.earliest = min(o.earliest, k.at)
	n.release(k)
	n.pool.put(pk)
}

// take puts the packets of another part's outbox on their links in this part.
func (n *Network) take(o *outbox) {
	for i := range o.letters {
		l := &o.letters[i]
		pk := n.pool.get()
		k := n.pool.at(pk)
		*k = l.packet
		if k.tel != none {
			r := &o.records[k.tel]
			k.tel = n.records.get()
			rec := n.records.at(k.tel)
			rec.n = r.n
			copy(rec.hops[:], r.hops[:r.n])
		}
		n.launch(l.port, &n.ports[l.port], pk)
	}
	o.letters, o.records, o.earliest = o.letters[:0], o.records[:0], sim.Never
}
