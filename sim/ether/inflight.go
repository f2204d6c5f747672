package ether

// InFlight returns the data packets in the fabric and their payload bytes, on links and in queues. At any instant, packets
// sent = delivered + dropped + in flight.
func (n *Network) InFlight() (packets, bytes uint64) {
	count := func(l *list) {
		for i := l.head; i != none; i = n.pool.at(i).next {
			if k := n.pool.at(i); k.kind == kindData {
				packets++
				bytes += uint64(k.load)
			}
		}
	}
	for i := range n.ports {
		count(&n.ports[i].pipe)
	}
	for i := range n.queues {
		count(&n.queues[i].list)
	}
	for i := range n.edges {
		for q := range n.edges[i].voqs {
			count(&n.edges[i].voqs[q])
		}
	}
	return packets, bytes
}
