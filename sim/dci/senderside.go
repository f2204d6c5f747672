package dci

import (
	"fmt"
	"slices"

	"fairlane/internal/quantity"
)

// SenderSide is the sender's side of a DCI switch. Flows and hosts are small numbers, such as the fabric's slots; Reserve sets their
// count.
type SenderSide struct {
	interval quantity.Picoseconds   // minimum gap between CNPs to a flow
	lasting  quantity.Picoseconds   // validity of a notice
	limit    float64                // maximum length of a virtual queue, bytes
	flows    []quantity.Picoseconds // time of each flow's last CNP
	hosts    []senderHost
}

// senderHost is the virtual queue of a destination for which the far switch has sent a notice.
type senderHost struct {
	until quantity.Picoseconds // end of the notice's validity
	at    quantity.Picoseconds // time at which bytes is valid
	bytes float64
	rate  float64 // bit/s
}

// Verdict is the decision on a data packet that leaves into the long haul.
type Verdict struct {
	CNP   bool // send a CNP to the packet's sender
	Clear bool // remove its congestion mark
}

// NewSenderSide returns the sender's side of a DCI switch.
func NewSenderSide(c Config) (*SenderSide, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("near side of a DCI switch: %w", err)
	}
	return &SenderSide{interval: c.CNPInterval, lasting: c.HaulRTT + c.NoticeInterval, limit: float64(c.NoticeBytes)}, nil
}

// Reserve allocates space for flows 0 to flows-1 and destination hosts 0 to hosts-1, and preserves their state.
func (n *SenderSide) Reserve(flows, hosts int) {
	if more := flows - len(n.flows); more > 0 {
		n.flows = append(n.flows, slices.Repeat([]quantity.Picoseconds{never}, more)...)
	}
	if more := hosts - len(n.hosts); more > 0 {
		n.hosts = append(n.hosts, make([]senderHost, more)...)
	}
}

// Start resets the state of a flow number for a new flow.
func (n *SenderSide) Start(flow int32) { n.flows[flow] = never }

// Outbound decides on each data packet, wire bytes, that leaves into the long haul, after the switch's own port may have
// marked it. A mark set in this data centre ends here: it is removed even if the sender got a CNP within the CNP gap, because
// a receiver limits its CNPs too.
func (n *SenderSide) Outbound(flow, dst int32, wire int, marked bool, now quantity.Picoseconds) Verdict {
	v := Verdict{Clear: marked}
	over := n.hosts[dst].pass(wire, n.limit, now)
	if (marked || over) && now-n.flows[flow] >= n.interval {
		v.CNP = true
		n.flows[flow] = now
	}
	return v
}

// Notice handles a notice from the far switch with the suitable rate, bit/s, for a destination. It is valid for one round trip
// of the long haul plus one notice gap.
func (n *SenderSide) Notice(dst int32, rate float64, now quantity.Picoseconds) {
	h := &n.hosts[dst]
	if now >= h.until {
		h.bytes = 0
	} else {
		h.drain(now)
	}
	h.at, h.rate, h.until = now, rate, now+n.lasting
}

// pass adds a packet to the virtual queue, and reports whether the queue is then above the limit. The queue is capped at one
// eighth above the limit, so that CNPs end soon after the flows have fallen below the rate. Packets sent before appear in the
// far switch's VOQ, and so in its next notice.
func (h *senderHost) pass(wire int, limit float64, now quantity.Picoseconds) (over bool) {
	if now >= h.until {
		return false
	}
	h.drain(now)
	h.bytes = min(h.bytes+float64(wire), limit*9/8)
	return h.bytes > limit
}

func (h *senderHost) drain(now quantity.Picoseconds) {
	h.bytes = max(h.bytes-(now-h.at).Seconds()*h.rate/8, 0)
	h.at = now
}
