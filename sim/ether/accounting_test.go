package ether

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

// audit returns an error if the accounting of a network is inconsistent between two events.
func (n *Network) audit() error {
	packets, bytes := n.InFlight()
	t := &n.totals
	if t.SentPackets != t.DeliveredPackets+t.DroppedPackets+packets {
		return fmt.Errorf("%d packets sent, %d delivered, %d dropped, %d in flight", t.SentPackets, t.DeliveredPackets, t.DroppedPackets, packets)
	}
	if t.SentBytes < t.DroppedBytes+bytes+t.AcceptedBytes {
		return fmt.Errorf("%d bytes sent, %d dropped, %d in flight, %d accepted", t.SentBytes, t.DroppedBytes, bytes, t.AcceptedBytes)
	}
	if err := n.auditMemory(); err != nil {
		return err
	}
	return n.auditPool()
}

// auditMemory compares the buffer accounts of every switch with its packets.
func (n *Network) auditMemory() error {
	queued := make([]int64, len(n.ingress)) // by (ingress port, class)
	lossy := make([]int64, len(n.switches))
	for pi := range n.ports {
		p := &n.ports[pi]
		all := int64(0)
		for c := range n.classes {
			q := &n.queues[pi*n.classes+c]
			sum := int64(0)
			for i := q.head; i != none; i = n.pool.at(i).next {
				k := n.pool.at(i)
				sum += int64(k.wire)
				switch {
				case k.in == none:
				case n.lossy>>c&1 != 0:
					lossy[p.sw] += int64(k.wire)
				default:
					queued[int(k.in)*n.classes+c] += int64(k.wire)
				}
			}
			if sum != q.bytes || (q.head == none) != (p.ready>>c&1 == 0) {
				return fmt.Errorf("%s class %d: %d bytes in the queue, %d in its account", n.PortName(n.ref(int32(pi))), c, sum, q.bytes)
			}
			all += sum
		}
		if all != p.queued {
			return fmt.Errorf("%s: %d bytes queued, %d in its account", n.PortName(n.ref(int32(pi))), all, p.queued)
		}
	}
	for i := range n.switches {
		s := &n.switches[i]
		shared, total := lossy[i], lossy[i]
		for pi := n.first[s.node]; pi < n.first[s.node+1]; pi++ {
			for c := range n.classes {
				in := &n.ingress[int(pi)*n.classes+c]
				if in.used+in.headroom != queued[int(pi)*n.classes+c] || in.used < 0 || in.headroom < 0 || in.headroom > in.room {
					return fmt.Errorf("%s class %d: %d bytes in memory, accounts %+v", n.PortName(n.ref(pi)), c, queued[int(pi)*n.classes+c], *in)
				}
				if in.used+in.headroom == 0 && in.paused {
					return fmt.Errorf("%s class %d is empty, but its peer is still paused", n.PortName(n.ref(pi)), c)
				}
				shared += max(0, in.used-s.reserve)
				total += in.used + in.headroom
			}
		}
		if shared != s.used || s.used < 0 || s.used > s.shared {
			return fmt.Errorf("switch %d: %d bytes in shared memory, %d in its account, size %d", i, shared, s.used, s.shared)
		}
		size := n.cfg.Buffer.Bytes
		if b, ok := n.cfg.Buffers[s.node]; ok {
			size = b.Bytes
		}
		if total > size {
			return fmt.Errorf("switch %d holds %d bytes in a memory of %d", i, total, size)
		}
	}
	return nil
}

// auditPool searches for leaked packets and telemetry.
func (n *Network) auditPool() error {
	held, telemetry := 0, 0
	count := func(l *list) {
		for i := l.head; i != none; i = n.pool.at(i).next {
			held++
			if n.pool.at(i).tel != none {
				telemetry++
			}
		}
	}
	for i := range n.ports {
		count(&n.ports[i].pipe)
		count(&n.ports[i].control)
	}
	for i := range n.queues {
		count(&n.queues[i].list)
	}
	for i := range n.acks {
		count(&n.acks[i])
	}
	for slot := range n.slots {
		if f := n.flow(slot); f.held != none && f.gen > 0 {
			held++
			if n.pool.at(f.held).tel != none {
				telemetry++
			}
		}
	}
	if held != n.pool.used {
		return fmt.Errorf("%d packets found, %d in use", held, n.pool.used)
	}
	free := 0
	for i := n.records.free; i != none; i = n.records.at(i).next {
		free++
	}
	if all := len(n.records.pages) * recordPage; free+telemetry != all {
		return fmt.Errorf("%d telemetry records free and %d in packets of %d", free, telemetry, all)
	}
	return nil
}

// lossless reports whether no class may drop.
func (s *scenario) lossless() bool {
	for _, c := range s.cfg.Classes {
		if c.Lossy {
			return false
		}
	}
	return true
}

// horizon limits the simulated time of a random run. The slowest flow, 100 Mbit/s, needs 16 ms.
const horizon = 2 * quantity.Second

// mostEvents limits the events of a random run: ten flows of 200 KB cause about 100,000 events.
const mostEvents = 1_500_000

// A random fabric with random traffic has consistent accounts at every instant, ends empty with all bytes delivered, and
// repeats exactly when run in one step. Without congestion control, go-back-N may collapse at a lossy link, so such runs need
// not end.
func TestAccountingIsConsistentAndEveryFlowEnds(tb *testing.T) {
	tb.Parallel()
	rapid.Check(tb, func(t *rapid.T) {
		d := dice(func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) })
		s := drawScenario(tb, d)
		var finished, bytes int64
		done := func(d Done) { finished++; bytes += d.Bytes }
		n := s.network(t, done)
		step := quantity.Picoseconds(d("step", 1, 50)) * quantity.Microsecond
		var dead *Deadlock
		for !n.Finished() && n.Now() < horizon && n.eng.Processed() < mostEvents && dead == nil {
			n.RunUntil(n.Now() + step)
			if err := n.audit(); err != nil {
				t.Fatalf("at %s: %v", n.Now(), err)
			}
			if dead = n.Deadlock(); dead != nil && !s.cyclic {
				t.Fatalf("at %s: %v", n.Now(), dead)
			}
			step += step / 16
		}
		if dead == nil && (n.Finished() || s.lossless() || s.cfg.Recovery.Mode == SelectiveRepeat) {
			s.empty(t, n, finished, bytes)
		}
		once := s.network(t, nil)
		once.RunUntil(n.Now())
		if a, b := n.Stats(), once.Stats(); a != b {
			t.Errorf("step by step %+v\nin one go   %+v", a, b)
		}
	})
}

// empty checks a fabric whose traffic has ended.
func (s *scenario) empty(t *rapid.T, n *Network, finished, bytes int64) {
	if !n.Finished() || finished != int64(len(s.flows)) {
		for f := range n.Flows {
			t.Logf("%+v", f)
		}
		t.Fatalf("%d of %d flows ended by %s: %+v", finished, len(s.flows), n.Now(), n.Stats())
	}
	n.RunUntil(n.Now() + 50*quantity.Millisecond) // for packets still in flight
	if err := n.audit(); err != nil {
		t.Fatal(err)
	}
	packets, _ := n.InFlight()
	st := n.Stats()
	if packets != 0 || n.pool.used != 0 || len(n.selective) != 0 || len(n.kept) != 0 {
		t.Fatalf("%d packets of %d in an idle fabric, %d and %d scoreboards", packets, n.pool.used, len(n.selective), len(n.kept))
	}
	if int64(st.AcceptedBytes) != bytes {
		t.Errorf("flows of %d bytes ended, receivers accepted %d", bytes, st.AcceptedBytes)
	}
	for i := range n.ports {
		if n.ports[i].paused != 0 {
			t.Errorf("%s is paused in an idle fabric", n.PortName(n.ref(int32(i))))
		}
	}
	for i := range n.switches {
		if n.switches[i].used != 0 {
			t.Errorf("switch %d: %d bytes used in an idle fabric", i, n.switches[i].used)
		}
	}
	if s.headroom && s.lossless() && st.DroppedPackets != 0 {
		t.Errorf("a lossless fabric dropped %d packets", st.DroppedPackets)
	}
}
