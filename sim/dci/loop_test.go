package dci_test

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/dci"
)

// crossing is one endless flow between two data centres: a DCQCN sender, the two DCI switches, a long haul of 1 ms, and a
// receiver that accepts less than the sender's line rate and sends CNPs while its backlog is above 100,000 bytes.
type crossing struct {
	near     *dci.SenderSide
	far      *dci.ReceiverSide
	sender   cc.Algorithm
	ctl      cc.Control
	haul     []quantity.Picoseconds // arrivals at the far switch, in order
	notices  []notice
	now      quantity.Picoseconds
	queue    float64 // backlog of the receiver's port, bytes
	drained  quantity.Picoseconds
	left     int
	notified int
}

// notice is a notice on its way to the near switch.
type notice struct {
	at   quantity.Picoseconds
	rate float64
}

const (
	haul  = ms
	share = 25e9 // bit/s that the receiver accepts
	size  = 1250
)

func newCrossing(t *testing.T) *crossing {
	t.Helper()
	build := func() cc.Algorithm {
		spec, err := cc.ByName("dcqcn")
		if err != nil {
			t.Fatal(err)
		}
		a, err := spec.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	far, err := dci.NewReceiverSide(config(), build())
	if err != nil {
		t.Fatal(err)
	}
	far.Reserve(4)
	c := &crossing{near: newSenderSide(t), far: far, sender: build()}
	c.sender.Reserve(1)
	c.ctl = c.sender.Start(0, 0, &cc.Flow{LineRate: 100 * quantity.Gbps, BaseRTT: 2 * ms, Payload: 1000, Wire: size})
	return c
}

// send sends one packet into the long haul and returns the earliest time of the next one.
func (c *crossing) send() quantity.Picoseconds {
	for len(c.notices) > 0 && c.notices[0].at <= c.now {
		c.near.Notice(0, c.notices[0].rate, c.notices[0].at)
		c.notices = c.notices[1:]
	}
	c.sender.Settle(0, c.now, &c.ctl)
	if c.near.Outbound(0, 0, size, false, c.now).CNP {
		c.notified++
		c.sender.Notify(0, &cc.Notification{Now: c.now, Kind: cc.NotifyCNP}, &c.ctl)
	}
	c.sender.Sent(0, c.now, size, &c.ctl)
	c.haul = append(c.haul, c.now+haul)
	return c.now + quantity.Picoseconds(size*8/c.ctl.Rate*1e12)
}

func (c *crossing) deliver(q int32) {
	c.far.Leave(q, size, c.now)
	c.queue = max(0, c.queue-(c.now-c.drained).Seconds()*share/8) + size
	c.drained = c.now
	if c.left++; c.queue > 100_000 {
		c.far.CNP(0, c.now)
	}
}

// run handles events in order of time. If dropNotices is set, it drops the notices.
func (c *crossing) run(until quantity.Picoseconds, dropNotices bool) {
	for next := c.now; ; {
		q, at, ok := c.far.Next()
		switch {
		case len(c.haul) > 0 && c.haul[0] <= next && (!ok || c.haul[0] <= at):
			c.now = c.haul[0]
			c.haul = c.haul[1:]
			if a := c.far.Arrive(0, size, c.now); a.Notice && !dropNotices {
				c.notices = append(c.notices, notice{c.now + haul, a.Rate})
			}
		case ok && at <= next:
			c.now = max(c.now, at)
			c.deliver(q)
		default:
			c.now = next
			next = c.send()
		}
		if c.now >= until {
			return
		}
	}
}

// All three loops together. The receiver's port keeps a short queue and uses most of its rate, although a single DCQCN flow
// oscillates between its cuts. The VOQ holds little more than one round trip at line rate, because notices slow down the
// sender. Without notices the VOQ grows without limit.
func TestNoticesMatchTheSenderToItsReceiver(t *testing.T) {
	t.Parallel()
	peak := map[bool]int64{}
	for _, dropNotices := range []bool{false, true} {
		c := newCrossing(t)
		for c.now < 60*ms {
			c.run(c.now+ms, dropNotices)
			bytes, _, _ := c.far.Backlog(0)
			peak[dropNotices] = max(peak[dropNotices], bytes)
			if c.queue > 2e6 {
				t.Fatalf("deaf %v: the receiver's port holds %.0f bytes at %s", dropNotices, c.queue, c.now)
			}
		}
		if use := float64(c.left) * size * 8 / (c.now - haul).Seconds() / share; use < 0.6 || use > 1.1 {
			t.Errorf("deaf %v: %.0f %% of the rate that the receiver accepts", dropNotices, use*100)
		}
		if (c.notified > 0) == dropNotices {
			t.Errorf("deaf %v: the sender received %d CNPs", dropNotices, c.notified)
		}
	}
	if first := int64((100e9 - share) / 8 * 2e-3); peak[false] > first*5/4 || peak[true] < 10*first {
		t.Errorf("largest VOQ %d bytes with notices, %d without", peak[false], peak[true])
	}
}
