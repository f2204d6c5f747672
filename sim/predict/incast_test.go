package predict

import (
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

func TestIncastSamplesOneRoundTripAtATime(t *testing.T) {
	t.Parallel()
	// One sender at line rate causes no queue: 8,192 packets of 1,000 bytes leave at intervals of 80 ns, each round trip takes
	// 4.08 us, and every 51st packet is a probe.
	in := Incast{Sizes: []int64{8192 * 1000}, Link: 100 * quantity.Gbps, Base: 4 * us, Packet: 1000, Backlog: 1e6}
	rec := NewRecorder(1000)
	if err := in.Run(rec, 3); err != nil {
		t.Fatal(err)
	}
	// There are 161 probes, and the first three samples give no row.
	if got := len(rec.Rows()); got != 158 {
		t.Errorf("%d rows, want 158", got)
	}
	for _, r := range rec.Rows() {
		if r != (Row{}) {
			t.Fatalf("row %v, although the queue is always empty", r)
		}
	}
}

// observe returns the smallest and the largest RTT sample of an incast, and the bytes that the link could send until the end.
func observe(t *testing.T, in Incast) (lo, hi quantity.Picoseconds, bytes float64) {
	t.Helper()
	m := incast{Incast: &in, rec: NewRecorder(0), senders: make([]sender, len(in.Sizes))}
	lo = sim.Never
	for i := range m.senders {
		m.senders[i] = sender{left: in.Sizes[i], rate: float64(in.Link)}
		m.engine.Schedule(0, evSend, int32(i), 0)
	}
	h := &watched{incast: &m, lo: lo}
	m.engine.RunUntil(sim.Never, h)
	for i := range m.senders {
		if m.senders[i].left != 0 {
			t.Errorf("sender %d has %d bytes left", i, m.senders[i].left)
		}
	}
	return h.lo, h.hi, m.free.Seconds() * float64(in.Link) / 8
}

type watched struct {
	*incast
	lo, hi quantity.Picoseconds
}

func (w *watched) Handle(ev sim.Event) {
	if ev.Kind() == evSample {
		w.lo, w.hi = min(w.lo, w.senders[ev.A].rtt), max(w.hi, w.senders[ev.A].rtt)
	}
	w.incast.Handle(ev)
}

func TestIncastQueuesNoMoreThanItsBacklogAndLosesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []Control{Gradient, Proportional} {
		in := S3Incast(c, 1)
		in.Sizes = slices.Repeat([]int64{1000 * int64(in.Packet)}, 20)
		lo, hi, sent := observe(t, in)
		packet := quantity.Picoseconds(in.Packet * 80)
		if want := in.Base + packet; lo < want {
			t.Errorf("control %d: an RTT of %s, below %s without queueing", c, lo, want)
		}
		// All senders start their last packets at the full backlog at the latest, at the same time.
		if want := in.Base + 160*us + 21*packet; hi > want || hi < want/2 {
			t.Errorf("control %d: highest RTT %s, want at most %s and at least half of it", c, hi, want)
		}
		if want := 20e3 * float64(in.Packet); sent < want*0.9999 || sent > want*3 {
			t.Errorf("control %d: the link could send %.0f bytes until the end, want 1 to 3 times %.0f", c, sent, want)
		}
	}
}

func TestProportionalSendersHoldTheirTarget(t *testing.T) {
	t.Parallel()
	in := S3Incast(Proportional, 4)
	in.Sizes = slices.Repeat([]int64{20e6}, 4)
	m := incast{Incast: &in, rec: NewRecorder(0), senders: make([]sender, 4)}
	for i := range m.senders {
		m.senders[i] = sender{left: in.Sizes[i], rate: float64(in.Link) / 10}
		m.engine.Schedule(0, evSend, int32(i), 0)
	}
	var sum float64
	n := 0
	h := handler(func(ev sim.Event) {
		if ev.Kind() == evSample {
			sum += m.senders[ev.A].rtt.Seconds() * 1e6
			n++
		}
		m.Handle(ev)
	})
	m.engine.RunUntil(5*quantity.Millisecond, h)
	if mean := sum / float64(n); mean < 4.3 || mean > 5.7 {
		t.Errorf("mean RTT %.2f us over %d samples, want 5 within 0.7", mean, n)
	}
}

type handler func(sim.Event)

func (h handler) Handle(ev sim.Event) { h(ev) }

func TestIncastIsAFunctionOfItsSeed(t *testing.T) {
	t.Parallel()
	run := func(c Control, seed uint64) []Row {
		in := S3Incast(c, seed)
		in.Sizes = []int64{3e6, 3e6, 2e6, 1e6}
		rec := NewRecorder(1e6)
		if err := in.Run(rec, 0); err != nil {
			t.Fatal(err)
		}
		return rec.Rows()
	}
	for _, c := range []Control{Gradient, Proportional} {
		if a := run(c, 1); len(a) < 10 || !slices.Equal(a, run(c, 1)) || slices.Equal(a, run(c, 2)) {
			t.Errorf("control %d: %d rows; want more than 0, equal rows for the same seed, different rows for another seed", c, len(a))
		}
	}
}

func TestIncastRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		edit func(*Incast)
	}{
		{"0 senders", func(in *Incast) { in.Sizes = nil }},
		{"4097 senders", func(in *Incast) { in.Sizes = slices.Repeat([]int64{1}, 4097) }},
		{"sender 1 has 0 bytes", func(in *Incast) { in.Sizes[1] = 0 }},
		{"sender 2 has 16000000000", func(in *Incast) { in.Sizes[2] = 16e9 }},
		{"link of 1 kbit/s", func(in *Incast) { in.Link = quantity.Kbps }},
		{"base RTT of 0 ps", func(in *Incast) { in.Base = 0 }},
		{"packet of 63 bytes", func(in *Incast) { in.Packet = 63 }},
		{"backlog of 1000 bytes", func(in *Incast) { in.Backlog = 1000 }},
		{"control 2", func(in *Incast) { in.Control = 2 }},
	} {
		in := S3Incast(Gradient, 1)
		c.edit(&in)
		if err := in.Run(NewRecorder(1), 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}
