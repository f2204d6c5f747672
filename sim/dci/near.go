package dci

import (
	"fmt"
	"slices"

	"fairlane/internal/quantity"
)

// Near is the part of a DCI switch that faces its own data centre's senders. Flows and hosts are
// small numbers, such as the fabric's slots; Reserve says how many there are.
type Near struct {
	interval quantity.Picoseconds   // between CNPs
	lasting  quantity.Picoseconds   // of a notice
	limit    float64                // of a virtual queue, bytes
	flows    []quantity.Picoseconds // when the last CNP was sent
	hosts    []nearHost
}

// nearHost is the virtual queue of a destination that the far switch has spoken of.
type nearHost struct {
	until quantity.Picoseconds // the notice is good up to here
	at    quantity.Picoseconds // of bytes
	bytes float64
	rate  float64 // bit/s
}

// Verdict is what to do with a data packet that leaves into the long haul.
type Verdict struct {
	CNP   bool // send a CNP to the packet's sender
	Clear bool // take its congestion mark off
}

// NewNear returns the sender's side of a DCI switch.
func NewNear(c Config) (*Near, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("near side of a DCI switch: %w", err)
	}
	return &Near{interval: c.CNPInterval, lasting: c.HaulRTT + c.NoticeInterval, limit: float64(c.NoticeBytes)}, nil
}

// Reserve makes room for flows 0 to flows-1 and destination hosts 0 to hosts-1; it keeps what is known.
func (n *Near) Reserve(flows, hosts int) {
	if more := flows - len(n.flows); more > 0 {
		n.flows = append(n.flows, slices.Repeat([]quantity.Picoseconds{never}, more)...)
	}
	if more := hosts - len(n.hosts); more > 0 {
		n.hosts = append(n.hosts, make([]nearHost, more)...)
	}
}

// Start forgets what a flow number was used for before.
func (n *Near) Start(flow int32) { n.flows[flow] = never }

// Outbound is asked for each data packet, wire bytes, that leaves into the long haul, after the
// switch's own port had its chance to mark it. A mark was made in this data centre, so it ends here:
// it is taken off even where the sender has been told within the CNP gap, as a receiver moderates its
// CNPs too.
func (n *Near) Outbound(flow, dst int32, wire int, marked bool, now quantity.Picoseconds) Verdict {
	v := Verdict{Clear: marked}
	over := n.hosts[dst].pass(wire, n.limit, now)
	if (marked || over) && now-n.flows[flow] >= n.interval {
		v.CNP = true
		n.flows[flow] = now
	}
	return v
}

// Notice takes the far switch's word on the rate, bit/s, that suits a destination. It is good for a
// round trip of the long haul and a notice gap.
func (n *Near) Notice(dst int32, rate float64, now quantity.Picoseconds) {
	h := &n.hosts[dst]
	if now >= h.until {
		h.bytes = 0
	} else {
		h.drain(now)
	}
	h.at, h.rate, h.until = now, rate, now+n.lasting
}

// pass puts a packet into the virtual queue, and reports whether it is then above the limit. An eighth
// above it the queue is full, so that CNPs end soon after the flows have come below the rate; what went
// out before shows in the far switch's VOQ, and so in its next notice.
func (h *nearHost) pass(wire int, limit float64, now quantity.Picoseconds) (over bool) {
	if now >= h.until {
		return false
	}
	h.drain(now)
	h.bytes = min(h.bytes+float64(wire), limit*9/8)
	return h.bytes > limit
}

func (h *nearHost) drain(now quantity.Picoseconds) {
	h.bytes = max(h.bytes-(now-h.at).Seconds()*h.rate/8, 0)
	h.at = now
}
