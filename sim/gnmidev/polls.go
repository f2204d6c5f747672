package gnmidev

import (
	"time"

	"fairlane/sim/plane"
)

// Counters are polled from the ASIC in groups, each with its own interval.
const (
	flexTable    = "FLEX_COUNTER_TABLE"
	flexStatus   = "FLEX_COUNTER_STATUS"
	flexInterval = "POLL_INTERVAL"
)

// group is a group of counters with a common polling interval.
type group string

// Groups.
const (
	portGroup      group = "PORT"
	queueGroup     group = "QUEUE"
	watermarkGroup group = "QUEUE_WATERMARK"
	dropGroup      group = "PG_DROP"
	ecnQueueGroup  group = "WRED_ECN_QUEUE"
	ecnPortGroup   group = "WRED_ECN_PORT"
)

// usual returns the default polling interval of a group.
func (g group) usual() time.Duration {
	switch g {
	case portGroup, ecnPortGroup:
		return time.Second
	case watermarkGroup:
		return time.Minute
	default:
		return 10 * time.Second
	}
}

// polls holds the last readings. A read of counters polls a group again if its last reading is older than the group's
// interval.
type polls struct {
	last map[pollKey]*poll
	base map[int]plane.SwitchPortCounters // the ASIC's counters at the time of the last reset
}

type pollKey struct {
	group group
	port  int
}

// poll is one reading of a port, and the previous one.
type poll struct {
	at, before time.Time
	now, was   plane.SwitchPortCounters
}

// reset sets the counters to zero.
func (p *polls) reset(ports int, measure func(int) plane.SwitchPortCounters) {
	p.last, p.base = nil, map[int]plane.SwitchPortCounters{}
	for port := 1; port <= ports; port++ {
		p.base[port] = measure(port)
	}
}

// every returns the polling interval of a group, and false if it is not polled. The caller holds the lock.
func (w *Switch) every(g group) (time.Duration, bool) {
	f := w.running[flexTable][string(g)]
	if f[flexStatus] != "enable" {
		return 0, false
	}
	if ms, ok := f.count(flexInterval); ok {
		return time.Duration(ms) * time.Millisecond, true
	}
	return g.usual(), true
}

// poll returns the newest reading of a group at a port, numbered from 1. It returns nil if the group is not polled. The
// caller holds the lock.
func (w *Switch) poll(g group, port int) *poll {
	every, on := w.every(g)
	if !on || w.faults.Unreadable && g != portGroup {
		return nil
	}
	now, key := w.clock(), pollKey{g, port}
	p := w.polls.last[key]
	if p != nil && now.Sub(p.at) < every && !now.Before(p.at) {
		return p
	}
	next := &poll{at: now, now: w.count(port)}
	if p != nil {
		next.before, next.was = p.at, p.now
	}
	if w.polls.last == nil {
		w.polls.last = map[pollKey]*poll{}
	}
	w.polls.last[key] = next
	return next
}

// count reads a port's counters from the ASIC.
func (w *Switch) count(port int) plane.SwitchPortCounters {
	return since(w.o.Plane.Measure(port), w.polls.base[port])
}

// since returns the difference of the counters to base.
func since(c, base plane.SwitchPortCounters) plane.SwitchPortCounters {
	c.TxOctets -= base.TxOctets
	c.RxOctets -= base.RxOctets
	c.TxPackets -= base.TxPackets
	c.RxPackets -= base.RxPackets
	c.InDrops -= base.InDrops
	c.PausedTime -= base.PausedTime
	for i := range c.Queues {
		q, b := &c.Queues[i], &base.Queues[i]
		q.Octets -= b.Octets
		q.Packets -= b.Packets
		q.Drops -= b.Drops
		q.DroppedBytes -= b.DroppedBytes
		q.Marks -= b.Marks
		c.PausesSent[i] -= base.PausesSent[i]
		c.PausesReceived[i] -= base.PausesReceived[i]
		c.GroupDrops[i] -= base.GroupDrops[i]
	}
	return c
}
