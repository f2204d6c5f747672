package ether

import (
	"fmt"

	"fairlane/internal/quantity"
)

// prepareBuffers divides the buffer of each switch: headroom and reserve of each port and lossless class, and the rest as
// shared buffer. It returns an error when the rest is empty, or too small for one packet of a lossy class.
func (n *Network) prepareBuffers() error {
	slowest := quantity.BitRate(0)
	for i := range n.hosts {
		if r := n.ports[n.hosts[i].port].rate; slowest == 0 || r < slowest {
			slowest = r
		}
	}
	for i := range n.switches {
		s := &n.switches[i]
		b, ok := n.cfg.Buffers[s.node]
		if !ok {
			b = n.cfg.Buffer
		}
		s.shared, s.reserve, s.resume, s.static = b.Bytes, b.Reserve, b.Resume, b.Static
		s.egressNum = max(1, int64(b.EgressAlpha*1024))
		for pi := n.first[s.node]; pi < n.first[s.node+1]; pi++ {
			p := &n.ports[pi]
			if p.peer == none {
				continue
			}
			alpha := b.AlphaAt(p.rate, slowest)
			room := n.headroom(&b, p)
			for c := range n.classes {
				if n.lossy>>c&1 != 0 {
					continue
				}
				s.shared -= room + s.reserve
				n.ingress[int(pi)*n.classes+c] = ingress{room: room, alphaNum: max(1, int64(alpha*1024))}
			}
		}
		least := int64(0)
		if n.lossy != 0 {
			least = int64(n.largest)<<10/s.egressNum + int64(n.largest)
		}
		if s.shared < least {
			return &BufferError{Switch: n.topo.Nodes[s.node].Name, Bytes: b.Bytes, Least: b.Bytes - s.shared + least}
		}
	}
	return nil
}

// AlphaAt returns the fraction of the free buffer that a port may hold, for the port's rate and the rate of the slowest host
// link.
func (b Buffer) AlphaAt(rate, slowest quantity.BitRate) float64 {
	b = b.withDefaults()
	base := b.AlphaRate
	if base <= 0 {
		base = slowest
	}
	alpha := b.Alpha
	for r := base * 2; r <= rate && alpha < 1 && !b.AlphaFixed && base > 0; r *= 2 {
		alpha = min(1, alpha*2)
	}
	return alpha
}

// BufferError reports that the buffer of a switch is too small for its links.
type BufferError struct {
	Switch       string // name
	Bytes, Least int64  // buffer size, and the minimum size before any sharing
}

// Error names the switch, the size found and the required size.
func (e *BufferError) Error() string {
	return fmt.Sprintf("buffer of %d bytes at switch %s: want at least %d for the headroom and reserve of its ports and one packet",
		e.Bytes, e.Switch, e.Least)
}

// headroom returns the headroom of one lossless class of a port.
func (n *Network) headroom(b *Buffer, p *port) int64 {
	flight := float64(p.rate) / 8 * float64(p.delay) / 1e12
	if b.Headroom > 0 {
		return int64(b.Headroom * flight)
	}
	return max(int64(3*flight), n.requiredHeadroom(int64(2*flight)+1))
}

// requiredHeadroom returns the largest number of bytes that may arrive at a port after a packet found no room; flight is the
// bytes on the link in a round trip time. They are: that packet; as many bytes as the packet that the port is still sending
// before the pause; the pauses of all classes; and a packet that the far end has started when the pause arrives (IEEE
// 802.1Q-2018, annex N).
func (n *Network) requiredHeadroom(flight int64) int64 {
	return flight + 3*int64(n.largest) + int64(n.classes*n.cfg.Headers.Pause)
}
