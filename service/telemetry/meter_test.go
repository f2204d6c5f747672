package telemetry

import (
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

func TestSafeIntervalFollowsFromTheLinkSpeed(t *testing.T) {
	t.Parallel()
	for rate, want := range map[quantity.BitRate]quantity.Picoseconds{
		10 * quantity.Gbps:  3435973836800,
		100 * quantity.Gbps: 343597383680, // 2^31 words of 32 bits at 100 Gbit/s take 0.687 s
		400 * quantity.Gbps: 85899345920,
		0:                   21474836480,
		-5:                  21474836480,
	} {
		if got := SafeInterval(rate); got != want {
			t.Errorf("%s: %d ps, want %d", rate, got, want)
		}
	}
}

// TestSafeIntervalPreventsSaturationAndAmbiguity checks the two guarantees of SafeInterval: a counter at half its range
// cannot saturate within it, and a wrap can be recognised.
func TestSafeIntervalPreventsSaturationAndAmbiguity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := quantity.BitRate(rapid.Int64Range(1e9, 2e12).Draw(t, "rate"))
		words := mulDiv(uint64(SafeInterval(rate)), uint64(rate), uint64(quantity.Second)*wordBits)
		if clearAt+words >= counterEnd {
			t.Errorf("%d words in the safe interval of %s", words, rate)
		}
		if wordsIn(SafeInterval(rate), rate) > counterEnd {
			t.Errorf("the safe interval of %s is a gap", rate)
		}
	})
}

func TestMulDivIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b"), rapid.Uint64Min(1).Draw(t, "c")
		n := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
		n.Add(n, new(big.Int).SetUint64(c/2))
		n.Div(n, new(big.Int).SetUint64(c))
		want := ^uint64(0)
		if n.IsUint64() {
			want = n.Uint64()
		}
		if got := mulDiv(a, b, c); got != want {
			t.Errorf("%d*%d/%d = %d, want %d", a, b, c, got, want)
		}
	})
}

func TestRateOfWordsOverTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words uint64
		span  quantity.Picoseconds
		want  quantity.BitRate
	}{
		{0, quantity.Second, 0},
		{1, quantity.Second, 32},
		{3125000000, quantity.Second, 100 * quantity.Gbps},
		{3125, quantity.Microsecond, 100 * quantity.Gbps},
		{1, 3 * quantity.Second, 11}, // 10.67 rounds up
		{1, 1024000, 31250000},       // one word in one tick of the TimeStamp
		{1 << 63, 1, 1<<63 - 1},      // no overflow, whatever the counters say
	} {
		if got := rateOf(c.words, c.span); got != c.want {
			t.Errorf("%d words in %s: %d bit/s, want %d", c.words, c.span, got, c.want)
		}
	}
}

func TestDeviceClockUnwraps(t *testing.T) {
	t.Parallel()
	var c deviceClock
	for _, step := range []struct {
		ticks uint32
		want  quantity.Picoseconds
	}{
		{0xfffffff0, 0},
		{0xffffffff, 15 * 1024000},
		{0, 16 * 1024000}, // over the wrap, to the tick
		{9, 25 * 1024000},
		{9, 25 * 1024000},
		{0x80000009, (25 + 1<<31) * 1024000},
	} {
		if got := c.advance(step.ticks); got != step.want {
			t.Errorf("at %#x: %d ps, want %d", step.ticks, got, step.want)
		}
	}
}

func TestJumpedDistinguishesARestartFromElapsedTime(t *testing.T) {
	t.Parallel()
	second := uint32(976562) // ticks of 1.024 us
	for name, c := range map[string]struct {
		ticks  uint32
		passed quantity.Picoseconds
		want   bool
	}{
		"as expected":        {second, quantity.Second, false},
		"simulation ahead":   {10 * second, quantity.Second, false},
		"standing still":     {0, quantity.Second, false},
		"set back a little":  {^uint32(0) - 5, quantity.Second, true},
		"an hour in seconds": {3600 * second, quantity.Second, true},
		"an hour in an hour": {3600 * second, 3600 * quantity.Second, false},
		"wall clock back":    {second, -quantity.Second, false},
	} {
		if got := jumped(c.ticks, c.passed); got != c.want {
			t.Errorf("%s: jumped is %t", name, got)
		}
	}
}

const ms = quantity.Millisecond

// at returns a reading with a counter on SL 3, taken within 10 us.
func at(time quantity.Picoseconds, sl3 uint32, xmit uint64) reading {
	r := reading{before: time, after: time + 10*quantity.Microsecond, xmit: xmit, perSL: true}
	r.sl[3] = sl3
	return r
}

func TestMeterCountsOverAWrap(t *testing.T) {
	t.Parallel()
	m := meter{rate: 100 * quantity.Gbps}
	for _, r := range []reading{at(0, 0xffffff00, 7), at(100*ms, 0x100, 7+0x200), at(200*ms, 0x2100, 7+0x2200)} {
		m.observe(r)
	}
	if m.sl[3].words != 0x200+0x2000 || m.port.words != 0x2200 || m.sl[3].time != 200*ms || m.port.time != 200*ms {
		t.Errorf("SL 3 %+v, port %+v", m.sl[3], m.port)
	}
	for sl, v := range m.sl {
		if sl != 3 && (v.words != 0 || v.time != 200*ms) {
			t.Errorf("SL %d counts %+v", sl, v)
		}
	}
}

// TestMeterExcludesUncertainIntervals takes one reading that cannot follow the last one: neither the counters nor the time
// count, the reason is stored, and the next reading counts again.
func TestMeterExcludesUncertainIntervals(t *testing.T) {
	t.Parallel()
	const first = 50_000_000
	// At 100 Gbit/s, 3,125,000 words a millisecond are possible.
	for name, c := range map[string]struct {
		next reading
		why  error // of SL 3; nil: the test continues
		port error // of the whole port
	}{
		"continues":            {at(110*ms, first+3125000*10, 1e9+3125000*10), nil, nil},
		"nothing sent":         {at(110*ms, first, 1e9), nil, nil},
		"faster than the link": {at(110*ms, first+3125000*20, 1e9+1000), ErrReset, nil},
		"cleared":              {at(110*ms, 0, 1e9+1000), ErrCleared, nil},
		"cleared half-way":     {at(110*ms, 3125000*2, 1e9+3125000*5), ErrCleared, nil},
		"cleared, and grown":   {at(119*ms, first+3125000, 1e9+3125000*19), ErrCleared, nil},
		"traffic not counted":  {at(110*ms, first+100, 1e9+3125000*5), nil, nil}, // more than a clear would have left
		"more than was sent":   {at(110*ms, first+3125000*5, 1e9), ErrCleared, nil},
		"extended cleared":     {at(110*ms, first, 0), ErrCleared, ErrCleared},
		"extended jumped":      {at(110*ms, first, 1e12), ErrReset, ErrReset},
		"too late":             {at(2000*ms, first, 1e9), ErrGap, nil},
		"clock back":           {at(1*ms, first, 1e9), ErrReset, ErrReset},
		"at its end":           {at(110*ms, counterEnd, 1e9+3125000*10), ErrSaturated, nil},
		"at its end, late":     {at(2000*ms, counterEnd, 1e9+3125000*10), ErrSaturated, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := meter{rate: 100 * quantity.Gbps}
			m.observe(at(100*ms, first, 1e9))
			m.observe(c.next)
			span := c.next.middle() - at(100*ms, 0, 0).middle()
			for what, x := range map[string]struct {
				tally
				want error
			}{"SL 3": {m.sl[3], c.why}, "port": {m.port, c.port}} {
				if !errors.Is(x.why, x.want) || (x.want == nil) != (x.why == nil) {
					t.Errorf("%s: because of %v, want %v", what, x.why, x.want)
				}
				if x.want != nil && (x.words != 0 || x.time != 0) || x.want == nil && x.time != span {
					t.Errorf("%s: %d words over %s", what, x.words, x.time)
				}
			}
			// In any case the next interval counts again.
			if c.next.sl[3] == counterEnd {
				m.restart(at(c.next.after, 5, c.next.xmit))
				c.next = m.last
			}
			before := m.sl[3]
			m.observe(at(c.next.after+10*ms, c.next.sl[3]+77, c.next.xmit+78))
			if got := m.sl[3]; got.words-before.words != 77 || got.time <= before.time {
				t.Errorf("after the break: %d words over %s, want 77", got.words-before.words, got.time-before.time)
			}
		})
	}
}

// TestSaturatedCounterAffectsOnlyItsOwnSL keeps counters: the others count on, except where a wrap cannot be
// distinguished from a clear because the port's count is not the sum of the known ones.
func TestSaturatedCounterAffectsOnlyItsOwnSL(t *testing.T) {
	t.Parallel()
	m := meter{rate: 100 * quantity.Gbps}
	read := func(time quantity.Picoseconds, sl3, sl5 uint32, xmit uint64) {
		r := at(time, sl3, xmit)
		r.sl[4], r.sl[5] = counterEnd, sl5
		m.observe(r)
	}
	read(0, 1000, counterEnd-500, 0)
	read(100*ms, 2000, 500, 1e8)
	if got := m.sl[3]; got.words != 1000 || got.time != 100*ms {
		t.Errorf("SL 3 counts %+v", got)
	}
	if err := m.sl[4].why; err == nil || err.Error() != "the counter of SL 4 has reached its maximum" || !errors.Is(err, ErrSaturated) {
		t.Errorf("SL 4: %v", err)
	}
	if got := m.sl[5]; !errors.Is(got.why, ErrCleared) || got.words != 0 || got.time != 0 {
		t.Errorf("SL 5, which wrapped or was cleared, counts %+v", got)
	}
	if m.port.words != 1e8 {
		t.Errorf("port %+v", m.port)
	}
}

func TestMeterClearsBeyondHalf(t *testing.T) {
	t.Parallel()
	m := meter{rate: 100 * quantity.Gbps}
	m.observe(at(0, clearAt-1, 0))
	if m.needsClear() {
		t.Error("wants a clear below half")
	}
	m.observe(at(ms, clearAt, 1))
	if !m.needsClear() {
		t.Error("wants no clear at half")
	}
	m.restart(at(2*ms, 7, 20))
	m.observe(at(3*ms, 40, 53))
	if m.sl[3].words != 1+33 || m.sl[3].time != 2*ms || m.needsClear() {
		t.Errorf("counted %+v, want what passed before and after the clear", m.sl[3])
	}
}

// TestMeterAgainstAnEndlessCounter drives a device whose counter wraps, or saturates, at 32 bits in parallel with one
// that never ends: read within the safe interval and cleared on request, the meter must agree with it to the word.
func TestMeterAgainstAnEndlessCounter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := quantity.BitRate(rapid.Int64Range(1e9, 1e12).Draw(t, "rate"))
		sticks := rapid.Bool().Draw(t, "sticks")
		m := meter{rate: rate}
		raw := rapid.Uint64Range(0, counterEnd).Draw(t, "start")
		var now quantity.Picoseconds
		var total, want uint64
		read := func() reading {
			r := reading{before: now, after: now + ms, xmit: total, perSL: true}
			r.sl[0] = uint32(raw)
			return r
		}
		send := func(step quantity.Picoseconds) uint64 {
			most := mulDiv(uint64(step), uint64(rate), uint64(quantity.Second)*wordBits)
			sent := rapid.Uint64Range(0, most).Draw(t, "words")
			now, total, raw = now+step, total+sent, raw+sent
			if sticks {
				raw = min(raw, counterEnd)
			} else {
				raw &= counterEnd
			}
			return sent
		}
		for i := range rapid.IntRange(2, 40).Draw(t, "readings") {
			m.observe(read())
			if m.sl[0].words != want {
				t.Fatalf("reading %d: counted %d words, want %d: %v", i, m.sl[0].words, want, m.sl[0].why)
			}
			if m.needsClear() {
				send(2 * ms) // is lost on the way, and its time is left out
				raw = 0
				send(2 * ms)
				m.restart(read())
			}
			want += send(quantity.Picoseconds(rapid.Int64Range(int64(2*ms), int64(SafeInterval(rate))).Draw(t, "interval")))
		}
	})
}

func TestBetweenSubtractsOnlyComparableSamples(t *testing.T) {
	t.Parallel()
	port := Port{ID: ident.PortID{Node: 1, Port: 1}, Name: "host-1/P1", LID: 4}
	sample := func(at quantity.Picoseconds, xmit, sl5 uint64) PortSample {
		s := PortSample{Port: port, Time: at, Width: 2 * ms}
		s.totals.port = tally{words: xmit, time: at}
		for sl := range s.totals.sl {
			s.totals.sl[sl] = tally{time: at}
		}
		s.totals.sl[5].words = sl5
		return s
	}
	a, b := sample(10*ms, 100, 0), sample(110*ms, 100+312500, 31250)
	b.Width = 4 * ms
	w := Between(&Sample{Ports: []PortSample{a}}, &Sample{Ports: []PortSample{b}})
	r := w.Ports[0]
	if r.Err != nil || bps(t, r.Xmit) != 100*quantity.Mbps || bps(t, r.SL[5]) != 10*quantity.Mbps || r.TimeError != 0.03 || w.Elapsed != 100*ms || w.Coverage != 1 {
		t.Errorf("window %+v", w)
	}
	errLost := errors.New("lost")
	for name, c := range map[string]struct {
		change func(a, b *PortSample)
		want   error
	}{
		"unread before": {func(a, _ *PortSample) { a.Err = errLost }, errLost},
		"unread after":  {func(_, b *PortSample) { b.Err = errLost }, ErrUnread},
		"clocks":        {func(_, b *PortSample) { b.Wall = true }, ErrReset},
		"no time":       {func(_, b *PortSample) { b.Time = 10 * ms }, ErrNoTime},
		"another port":  {func(a, _ *PortSample) { a.Port.ID.Port = 2 }, ErrUnread},
	} {
		a, b := a, b
		c.change(&a, &b)
		w := Between(&Sample{Ports: []PortSample{a}}, &Sample{Ports: []PortSample{b}})
		if r := w.Ports[0]; !errors.Is(r.Err, c.want) || why(r.Xmit) == nil || why(r.SL[5]) == nil || w.Elapsed != 0 || w.Coverage != 0 {
			t.Errorf("%s: error %v, %v, want %v", name, r.Err, why(r.Xmit), c.want)
		}
	}
	// A rate measured for part of the window is valid from a third of the window on.
	for part, measured := range map[quantity.Picoseconds]bool{33 * ms: false, 34 * ms: true, 90 * ms: true} {
		b := b
		b.totals.sl[5].time, b.totals.sl[5].why = 10*ms+part, ErrCleared
		w := Between(&Sample{Ports: []PortSample{a}}, &Sample{Ports: []PortSample{b}})
		r := w.Ports[0]
		if !measured {
			if !errors.Is(why(r.SL[5]), ErrCleared) || w.Coverage != 1 {
				t.Errorf("measured for %s: %v, coverage %g", part, why(r.SL[5]), w.Coverage)
			}
			continue
		}
		near(t, "SL 5", bps(t, r.SL[5]), rateOf(31250, part), 1e-9)
		if want := float64(part) / float64(100*ms); w.Coverage != want {
			t.Errorf("measured for %s: coverage %g, want %g", part, w.Coverage, want)
		}
	}
	b.NoSL = true
	if r := Between(&Sample{Ports: []PortSample{a}}, &Sample{Ports: []PortSample{b}}).Ports[0]; !errors.Is(why(r.SL[5]), ErrNoSLCounters) || bps(t, r.Xmit) == 0 {
		t.Errorf("without counters by SL: %+v", r)
	}
	if r := Between(&Sample{}, &Sample{Ports: []PortSample{b}}).Ports[0]; !errors.Is(r.Err, ErrUnread) {
		t.Errorf("without a first reading: %v", r.Err)
	}
}
