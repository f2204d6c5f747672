package dci

import (
	"fmt"
	"slices"

	"fairlane/internal/quantity"
)

// Near is the part of a DCI switch that faces its own data centre's senders. Flows and hosts are
// small numbers, such as the fabric's slots; Reserve says how many there are.
type Near struct {
	interval quantity.Picoseconds // between CNPs
	lasting  quantity.Picoseconds // of a notice
	flows    []nearFlow
	hosts    []nearHost
}

type nearFlow struct {
	cnp  quantity.Picoseconds // when the last CNP was sent
	seen uint32               // the notice that it has been told of
}

type nearHost struct {
	until  quantity.Picoseconds // a notice is answered up to here
	number uint32               // of the latest notice
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
	return &Near{interval: c.CNPInterval, lasting: c.NoticeInterval}, nil
}

// Reserve makes room for flows 0 to flows-1 and destination hosts 0 to hosts-1; it keeps what is known.
func (n *Near) Reserve(flows, hosts int) {
	for i := len(n.flows); i < flows; i = len(n.flows) {
		n.flows = append(slices.Grow(n.flows, flows-i), nearFlow{cnp: never})
	}
	if more := hosts - len(n.hosts); more > 0 {
		n.hosts = append(n.hosts, make([]nearHost, more)...)
	}
}

// Start forgets what a flow number was used for before.
func (n *Near) Start(flow int32) { n.flows[flow] = nearFlow{cnp: never} }

// Outbound is asked for each data packet that leaves into the long haul, after the switch's own port
// had its chance to mark it. A mark was made in this data centre, so it ends here: it is taken off
// even where the sender has been told within the CNP gap, as a receiver moderates its CNPs too. A
// notice about the destination is answered once a flow.
func (n *Near) Outbound(flow, dst int32, marked bool, now quantity.Picoseconds) Verdict {
	f, h := &n.flows[flow], &n.hosts[dst]
	v := Verdict{Clear: marked}
	told := f.seen == h.number || now >= h.until
	if (marked || !told) && now-f.cnp >= n.interval {
		v.CNP = true
		f.cnp = now
		f.seen = h.number
	}
	return v
}

// Notice takes the far switch's word that the queue of a destination grows. It is answered by the
// flows that send within one notice gap from now.
func (n *Near) Notice(dst int32, now quantity.Picoseconds) {
	h := &n.hosts[dst]
	h.number++
	h.until = now + n.lasting
}
