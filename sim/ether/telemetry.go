package ether

import "fairlane/sim/cc"

// maxHops is the largest number of switches whose telemetry one packet can carry.
const maxHops = 10

// record is the telemetry of one data packet and of its acknowledgement.
type record struct {
	n    int32
	next int32
	hops [maxHops]cc.Hop
}

const recordPage = 64

// records holds telemetry in pages, so records do not move. Free records are reused.
type records struct {
	pages [](*[recordPage]record)
	free  int32
}

func (r *records) at(i int32) *record { return &r.pages[i/recordPage][i%recordPage] }

func (r *records) get() int32 {
	if r.free == none {
		base := int32(len(r.pages)) * recordPage
		r.pages = append(r.pages, new([recordPage]record))
		for i := int32(recordPage) - 1; i >= 0; i-- {
			r.at(base + i).next = r.free
			r.free = base + i
		}
	}
	i := r.free
	rec := r.at(i)
	r.free = rec.next
	rec.n = 0
	return i
}

// release frees the telemetry of a packet.
func (n *Network) release(k *packet) {
	if k.tel == none {
		return
	}
	n.records.at(k.tel).next = n.records.free
	n.records.free = k.tel
	k.tel = none
}

// telemetry appends a port's telemetry to a departing packet.
func (n *Network) telemetry(p *port, k *packet) {
	rec := n.records.at(k.tel)
	if rec.n == maxHops {
		return
	}
	rec.hops[rec.n] = cc.Hop{At: n.eng.Now(), Tx: uint32(p.tx), Queue: uint32(p.queued), Mbps: uint32(p.rate / 1e6)}
	rec.n++
}
