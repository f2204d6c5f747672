package dci_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/dci"
)

// halvingControl is the simplest reaction point: a CNP or mark halves the rate, and 1 ms later the rate is the line rate again.
type halvingControl struct {
	traits  cc.Traits
	line    float64
	rate    []float64
	until   []quantity.Picoseconds
	notices int
	acks    int
	sent    int
}

func (h *halvingControl) Traits() cc.Traits {
	if h.traits == (cc.Traits{}) {
		return cc.Traits{CNP: true, ECN: true, Sent: true}
	}
	return h.traits
}

func (h *halvingControl) Reserve(n int) {
	h.rate, h.until = make([]float64, n), make([]quantity.Picoseconds, n)
}

func (h *halvingControl) Start(slot int32, now quantity.Picoseconds, f *cc.Flow) cc.Control {
	h.line = float64(f.LineRate)
	h.rate[slot], h.until[slot] = h.line, now
	return cc.Control{Rate: h.line}
}

func (h *halvingControl) Settle(slot int32, now quantity.Picoseconds, c *cc.Control) {
	if now >= h.until[slot] {
		h.rate[slot] = h.line
	}
	c.Rate = h.rate[slot]
}

func (h *halvingControl) cut(slot int32, now quantity.Picoseconds, c *cc.Control) {
	h.rate[slot] /= 2
	h.until[slot] = now + ms
	c.Rate = h.rate[slot]
}

func (h *halvingControl) Sent(int32, quantity.Picoseconds, int, *cc.Control) { h.sent++ }
func (h *halvingControl) Ack(slot int32, a *cc.Ack, c *cc.Control) {
	h.acks += a.Marked
	h.cut(slot, a.Now, c)
}
func (h *halvingControl) Notify(slot int32, n *cc.Notification, c *cc.Control) {
	h.notices++
	h.cut(slot, n.Now, c)
}
func (h *halvingControl) Gauges() []string      { return nil }
func (h *halvingControl) Read(int32, []float64) {}

func newReceiverSide(t *testing.T, voqs int) (*dci.ReceiverSide, *halvingControl) {
	t.Helper()
	c, h := config(), &halvingControl{}
	c.VOQs = voqs
	f, err := dci.NewReceiverSide(c, h)
	if err != nil {
		t.Fatal(err)
	}
	f.Reserve(8)
	return f, h
}

// next returns the result of Next, and fails the test if every queue is empty.
func next(t *testing.T, f *dci.ReceiverSide) (int32, quantity.Picoseconds) {
	t.Helper()
	q, at, ok := f.Next()
	if !ok {
		t.Fatal("all queues are empty")
	}
	return q, at
}

func TestEachDestinationGetsAVOQAtLineRate(t *testing.T) {
	t.Parallel()
	f, _ := newReceiverSide(t, 4)
	if _, _, ok := f.Next(); ok {
		t.Fatal("Next returned a queue before the first packet")
	}
	a, b, a2 := f.Arrive(5, 1250, us), f.Arrive(6, 1250, us), f.Arrive(5, 1250, us)
	if a.VOQ == b.VOQ || a.VOQ != a2.VOQ || a.Notice || b.Notice {
		t.Fatalf("%+v, %+v, %+v", a, b, a2)
	}
	if bytes, packets, rate := f.Backlog(a.VOQ); bytes != 2500 || packets != 2 || rate != 100e9 {
		t.Errorf("backlog %d bytes, %d packets at %v", bytes, packets, rate)
	}
	// 1,250 bytes take 100 ns at line rate: the first packet of each queue leaves at once, the second packet of queue a 100 ns
	// later.
	for _, want := range []struct {
		queue int32
		at    quantity.Picoseconds
	}{{a.VOQ, us}, {b.VOQ, us}, {a.VOQ, us + 100*quantity.Nanosecond}} {
		q, at := next(t, f)
		if q != want.queue || at != want.at {
			t.Errorf("queue %d at %s, want %d at %s", q, at, want.queue, want.at)
		}
		f.Leave(q, 1250, at)
	}
	if _, _, ok := f.Next(); ok {
		t.Error("a queue is left")
	}
	f.Leave(a.VOQ, 1250, 2*us) // Leave on an empty queue must not make the count negative
	if bytes, packets, _ := f.Backlog(a.VOQ); bytes != 0 || packets != 0 {
		t.Errorf("backlog %d bytes, %d packets", bytes, packets)
	}
}

func TestEmptiedQueueKeepsItsRate(t *testing.T) {
	t.Parallel()
	f, _ := newReceiverSide(t, 4)
	f.Leave(f.Arrive(5, 1250, us).VOQ, 1250, us)
	f.Arrive(5, 1250, us)
	if _, at := next(t, f); at != us+100*quantity.Nanosecond {
		t.Errorf("the next packet may leave at %s", at)
	}
}

func TestACNPSlowsItsDestinationOnly(t *testing.T) {
	t.Parallel()
	f, h := newReceiverSide(t, 4)
	a, b := f.Arrive(5, 1250, 0).VOQ, f.Arrive(6, 1250, 0).VOQ
	for i, c := range []struct {
		at   quantity.Picoseconds
		want int
	}{{us, 1}, {2 * us, 1}, {51*us - 1, 1}, {51 * us, 2}} {
		if !f.CNP(5, c.at) || h.notices != c.want {
			t.Errorf("CNP %d: the queue reacted %d times, want %d", i, h.notices, c.want)
		}
	}
	for q, want := range map[int32]float64{a: 25e9, b: 100e9} {
		if _, _, rate := f.Backlog(q); rate != want {
			t.Errorf("queue %d at %v, want %v", q, rate, want)
		}
	}
	f.Arrive(5, 1250, 60*us)
	f.Leave(a, 1250, 60*us)
	f.Leave(b, 1250, 60*us)
	if q, at := next(t, f); q != a || at != 60*us+400*quantity.Nanosecond {
		t.Errorf("queue %d at %s: want a packet at a quarter of the rate, 400 ns later", q, at)
	}
	if h.sent != 2 {
		t.Errorf("the algorithm saw %d packets leave", h.sent)
	}
}

func TestEchoesServeWhereNoCNPsAreSent(t *testing.T) {
	t.Parallel()
	h := &halvingControl{}
	f, err := dci.NewReceiverSide(config(), h)
	if err != nil {
		t.Fatal(err)
	}
	f.Reserve(8)
	if f.Echo(5, 0, 0) || h.notices != 0 {
		t.Error("an acknowledgement without marks had an effect")
	}
	if !f.Echo(5, 3, 0) || h.notices != 1 || h.acks != 0 || h.sent != 0 {
		t.Errorf("a marked acknowledgement: %+v", h)
	}
}

func TestNoticesComeWhileAVOQHoldsTooMuch(t *testing.T) {
	t.Parallel()
	f, _ := newReceiverSide(t, 4)
	notified := []quantity.Picoseconds{}
	for i := range quantity.Picoseconds(50) { // 10,000 bytes every 10 us, and no packet leaves
		if f.Arrive(5, 10_000, i*10*us).Notice {
			notified = append(notified, i*10*us)
		}
	}
	// The backlog passes 300,000 bytes with packet 30; the gap is 100 us.
	if want := []quantity.Picoseconds{300 * us, 400 * us}; !slices.Equal(notified, want) {
		t.Errorf("notices at %v, want %v", notified, want)
	}
}

func TestNoticeCarriesSuitableRate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cnps    int
		backlog int
		want    float64
	}{
		// One CNP halves the line rate of 100 Gbit/s; 1,000,000 bytes in 4 ms are 2 Gbit/s.
		"a slowed queue at its target":          {1, 300_000, 50e9},
		"the excess is subtracted":              {1, 1_300_000, 48e9},
		"room is given":                         {1, 50_000, 50.5e9},
		"at least half the drain rate":          {2, 100_000_000, 12.5e9},
		"a queue at line rate above its target": {0, 10_300_000, 80e9},
		"one byte above the target":             {0, 300_001, 100e9 - 2000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := newReceiverSide(t, 4)
			for i := range c.cnps {
				f.CNP(5, quantity.Picoseconds(i)*50*us)
			}
			if a := f.Arrive(5, c.backlog, 100*us); !a.Notice || math.Abs(a.Rate-c.want) > 0.001 {
				t.Errorf("%+v, want a notice of %v", a, c.want)
			}
		})
	}
}

func TestFastAndShortQueueSendsNoNotice(t *testing.T) {
	t.Parallel()
	f, _ := newReceiverSide(t, 4)
	f.CNP(5, 0)
	if !f.Arrive(5, 1250, us).Notice || f.Arrive(5, 1250, 2*us).Notice {
		t.Error("want one notice of a slowed queue within the gap")
	}
	if f.Arrive(5, 1250, ms).Notice { // back at line rate
		t.Error("a queue at line rate caused a notice")
	}
}

func TestVOQChangesOwnerOnlyWhenEmptyAtLineRate(t *testing.T) {
	t.Parallel()
	f, _ := newReceiverSide(t, 2)
	a, b := f.Arrive(0, 1250, 0).VOQ, f.Arrive(1, 1250, 0).VOQ
	if c := f.Arrive(2, 1250, 0).VOQ; c != 0 { // 2 modulo 2 VOQs: shared with host 0
		t.Errorf("host 2 is in queue %d", c)
	}
	if c := f.Arrive(3, 1250, 0).VOQ; c != 1 {
		t.Errorf("host 3 is in queue %d", c)
	}
	f.CNP(1, us)
	for range 2 {
		f.Leave(b, 1250, us)
	}
	if c := f.Arrive(4, 1250, 2*us).VOQ; c != a {
		t.Errorf("host 4 took queue %d, which is slowed", c)
	}
	if c := f.Arrive(5, 1250, 2*ms).VOQ; c != b {
		t.Errorf("host 5 is in queue %d: want the queue that is empty and at line rate again", c)
	}
	if c := f.Arrive(1, 1250, 2*ms).VOQ; c != b { // host 5 owns the earlier queue of host 1; 1 modulo 2 VOQs selects the same queue
		t.Errorf("host 1 is in queue %d", c)
	}
	if bytes, packets, _ := f.Backlog(b); bytes != 2500 || packets != 2 {
		t.Errorf("backlog %d bytes, %d packets", bytes, packets)
	}
}

func TestPacersThatCannotReactAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"none", "hpcc", "dctcp", "timely", "wrcc"} {
		spec, err := cc.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		a, err := spec.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dci.NewReceiverSide(config(), a); err == nil || !strings.Contains(err.Error(), "such as dcqcn") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A VOQ paced by DCQCN settles near the rate that its destination accepts, as long as the destination answers any excess with
// CNPs. Without CNPs the VOQ returns to line rate.
func TestAVOQUnderDCQCNFollowsItsReceiver(t *testing.T) {
	t.Parallel()
	spec, err := cc.ByName("dcqcn")
	if err != nil {
		t.Fatal(err)
	}
	pace, err := spec.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := dci.NewReceiverSide(config(), pace)
	if err != nil {
		t.Fatal(err)
	}
	f.Reserve(1)
	const share = 25e9 // bit/s that the destination accepts
	now, queue, left := quantity.Picoseconds(0), 0.0, 0
	for f.Arrive(0, 1250, 0); now < 100*ms; left++ {
		f.Arrive(0, 1250, now) // more than the destination accepts: the VOQ is never empty
		q, at := next(t, f)
		queue = max(0, queue-(at-now).Seconds()*share/8) + 1250
		now = at
		f.Leave(q, 1250, now)
		if queue > 100_000 {
			f.CNP(0, now)
		}
	}
	if rate := float64(left) * 1250 * 8 / now.Seconds(); math.Abs(rate/share-1) > 0.2 {
		t.Errorf("%.2f Gbit/s left toward a destination that accepts %.2f", rate/1e9, share/1e9)
	}
	for end := now + quantity.Second; now < end; {
		f.Arrive(0, 1250, now)
		q, at := next(t, f)
		now = max(at, now+ms)
		f.Leave(q, 1250, now)
	}
	if _, _, rate := f.Backlog(0); rate < 100e9 {
		t.Errorf("%.2f Gbit/s a second after the last CNP", rate/1e9)
	}
}

// receiverModel is a naive reference model: the packets of each queue in order, and the time of each queue's last departure.
type receiverModel struct {
	*dci.ReceiverSide
	held map[int32][]receiverPacket
	left map[int32]quantity.Picoseconds
	seen map[int32]int // by host: number of the last packet that left
}

type receiverPacket struct {
	host int32
	n    int
}

func (m *receiverModel) leave(rt *rapid.T, now quantity.Picoseconds) quantity.Picoseconds {
	q, at, ok := m.Next()
	waiting := 0
	for _, h := range m.held {
		waiting += len(h)
	}
	if ok != (waiting > 0) {
		rt.Fatalf("Next returned ok %v with %d packets in the queues", ok, waiting)
	}
	if !ok {
		return now
	}
	now = max(now, at)
	p := m.held[q][0]
	m.held[q] = m.held[q][1:]
	if p.n < m.seen[p.host] {
		rt.Fatalf("host %d: packet %d left after %d", p.host, p.n, m.seen[p.host])
	}
	m.seen[p.host] = p.n
	// At line rate, the maximum rate of a queue, 1,250 bytes take 100 ns.
	if last, before := m.left[q]; before && now-last < 100*quantity.Nanosecond {
		rt.Fatalf("queue %d sent packets at %s and %s", q, last, now)
	}
	m.left[q] = now
	m.Leave(q, 1250, now)
	return now
}

// Each queue holds the packets that arrived and have not left. Packets leave no faster than line rate. Packets of one host
// never overtake each other, whichever queue the host has.
func TestReceiverSideInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f, _ := newReceiverSide(t, rapid.IntRange(1, 4).Draw(rt, "queues"))
		m := receiverModel{f, map[int32][]receiverPacket{}, map[int32]quantity.Picoseconds{}, map[int32]int{}}
		now := quantity.Picoseconds(0)
		for i := range rapid.IntRange(1, 300).Draw(rt, "steps") {
			host := rapid.Int32Range(0, 7).Draw(rt, "host")
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				f.CNP(host, now)
			case 1:
				now += quantity.Picoseconds(rapid.Int64Range(0, 3e9).Draw(rt, "wait"))
			case 2, 3:
				q := f.Arrive(host, 1250, now).VOQ
				m.held[q] = append(m.held[q], receiverPacket{host, i})
			default:
				now = m.leave(rt, now)
			}
			for q, packets := range m.held {
				if bytes, n, _ := f.Backlog(q); int(n) != len(packets) || bytes != int64(n)*1250 {
					rt.Fatalf("queue %d holds %d packets, %d bytes: want %d", q, n, bytes, len(packets))
				}
			}
		}
	})
}

func TestReceiverSideDoesNotAllocate(t *testing.T) {
	f, _ := newReceiverSide(t, 4)
	now := quantity.Picoseconds(0)
	n := testing.AllocsPerRun(1000, func() {
		now += 60 * us
		for host := range int32(8) {
			f.Leave(f.Arrive(host, 1250, now).VOQ, 1250, now)
			f.CNP(host, now)
		}
		f.Next()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkReceiverSide(b *testing.B) {
	b.ReportAllocs()
	f, err := dci.NewReceiverSide(config(), &halvingControl{})
	if err != nil {
		b.Fatal(err)
	}
	f.Reserve(128)
	now, host := quantity.Picoseconds(0), int32(0)
	for range 1000 {
		f.Arrive(host, 1250, now)
		host = (host + 1) % 128
	}
	for b.Loop() {
		f.Arrive(host, 1250, now)
		host = (host + 1) % 128
		q, at, _ := f.Next()
		now = max(now, at)
		f.Leave(q, 1250, now)
	}
}
