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

// TestTheSafeIntervalKeepsCountersBelowTheirEnd checks the two promises of SafeInterval: from
// half its range a counter cannot reach its end within it, and it can be told from a wrap.
func TestTheSafeIntervalKeepsCountersBelowTheirEnd(t *testing.T) {
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

func TestJumpedTellsARestartFromTime(t *testing.T) {
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

// at makes a reading with a counter on SL 3, taken within 10 us.
func at(time quantity.Picoseconds, sl3 uint32, xmit uint64) reading {
	r := reading{before: time, after: time + 10*quantity.Microsecond, xmit: xmit, perSL: true}
	r.sl[3] = sl3
	return r
}

func TestMeterCountsOverAWrap(t *testing.T) {
	t.Parallel()
	m := meter{rate: 100 * quantity.Gbps}
	for _, r := range []reading{at(0, 0xffffff00, 7), at(100*ms, 0x100, 300), at(200*ms, 0x2100, 400)} {
		if err := m.observe(r); err != nil {
			t.Fatal(err)
		}
	}
	if m.sl[3] != 0x200+0x2000 || m.xmit != 393 || m.epoch != 0 {
		t.Errorf("SL 3 %#x, xmit %d, epoch %d", m.sl[3], m.xmit, m.epoch)
	}
	for sl, v := range m.sl {
		if sl != 3 && v != 0 {
			t.Errorf("SL %d counts %d", sl, v)
		}
	}
}

func TestMeterNoticesBreaks(t *testing.T) {
	t.Parallel()
	// At 100 Gbit/s, 3,125,000 words a millisecond are possible.
	for name, c := range map[string]struct {
		next reading
		why  error // nil goes on
		bad  bool  // the reading itself is of no use
	}{
		"goes on":              {at(110*ms, 1000+3125000*10, 1e6+3125000*10), nil, false},
		"nothing sent":         {at(110*ms, 1000, 1e6), nil, false},
		"faster than the link": {at(110*ms, 1000+3125000*20, 1e6+1000), ErrReset, false},
		"cleared":              {at(110*ms, 0, 1e6+1000), ErrReset, false},
		"extended cleared":     {at(110*ms, 1000, 0), ErrReset, false},
		"extended jumped":      {at(110*ms, 1000, 1e12), ErrReset, false},
		"too late":             {at(2000*ms, 1000, 1e6), ErrGap, false},
		"clock back":           {at(1*ms, 1000, 1e6), ErrReset, false},
		"at its end":           {at(110*ms, counterEnd, 1e6), ErrSaturated, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := meter{rate: 100 * quantity.Gbps}
			if err := m.observe(at(100*ms, 1000, 1e6)); err != nil {
				t.Fatal(err)
			}
			err := m.observe(c.next)
			if (err != nil) != c.bad || (m.epoch == 1) != (c.why != nil) || !errors.Is(m.why, c.why) {
				t.Errorf("error %v, epoch %d because of %v, want %v", err, m.epoch, m.why, c.why)
			}
			if c.why != nil && (m.sl[3] != 0 || m.xmit != 0) {
				t.Errorf("a broken interval was counted: %d", m.sl[3])
			}
			// Whatever happened, the next interval counts again.
			if c.bad {
				c.next.sl[3] = 5
				_ = m.observe(c.next)
			}
			before := m.sl[3]
			after := at(c.next.after+10*ms, c.next.sl[3]+77, c.next.xmit+78)
			if err := m.observe(after); err != nil || m.sl[3]-before != 77 {
				t.Errorf("after the break: error %v, %d words, want 77", err, m.sl[3]-before)
			}
		})
	}
}

func TestMeterClearsBeyondHalf(t *testing.T) {
	t.Parallel()
	m := meter{rate: 100 * quantity.Gbps}
	_ = m.observe(at(0, clearAt-1, 0))
	if m.wantsClear() {
		t.Error("wants a clear below half")
	}
	_ = m.observe(at(ms, clearAt, 1))
	if !m.wantsClear() {
		t.Error("wants no clear at half")
	}
	m.cleared()
	_ = m.observe(at(2*ms, 40, 41))
	if m.sl[3] != 41 || m.wantsClear() {
		t.Errorf("counted %d words, want the one before and the forty after the clear", m.sl[3])
	}
}

// TestMeterAgainstAnEndlessCounter drives a device whose counter wraps, or sticks, at 32 bits
// beside one that never ends: read within the safe interval and cleared when asked for, the
// meter must agree with it to the word.
func TestMeterAgainstAnEndlessCounter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := quantity.BitRate(rapid.Int64Range(1e9, 1e12).Draw(t, "rate"))
		sticks := rapid.Bool().Draw(t, "sticks")
		m := meter{rate: rate}
		raw := rapid.Uint64Range(0, counterEnd-1).Draw(t, "start")
		var now quantity.Picoseconds
		var total, atStart uint64
		for i := range rapid.IntRange(2, 40).Draw(t, "readings") {
			r := reading{before: now, after: now + ms, xmit: total, perSL: true}
			r.sl[0] = uint32(raw)
			if err := m.observe(r); err != nil {
				t.Fatalf("reading %d: %v", i, err)
			}
			if i == 0 {
				atStart = total
			}
			if m.sl[0] != total-atStart {
				t.Fatalf("reading %d: counted %d words, want %d", i, m.sl[0], total-atStart)
			}
			if m.wantsClear() {
				raw = 0
				m.cleared()
			}
			step := quantity.Picoseconds(rapid.Int64Range(int64(ms), int64(SafeInterval(rate))).Draw(t, "interval"))
			most := mulDiv(uint64(step), uint64(rate), uint64(quantity.Second)*wordBits)
			sent := rapid.Uint64Range(0, most).Draw(t, "words")
			now, total, raw = now+step, total+sent, raw+sent
			if sticks {
				raw = min(raw, counterEnd)
			} else {
				raw &= counterEnd
			}
		}
	})
}

func TestBetweenSubtractsOnlyWhatBelongsTogether(t *testing.T) {
	t.Parallel()
	port := Port{ID: ident.PortID{Node: 1, Port: 1}, Name: "host-1/P1", LID: 4}
	a := PortSample{Port: port, Time: 10 * ms, Width: 2 * ms, Xmit: 100, epoch: 1}
	b := PortSample{Port: port, Time: 110 * ms, Width: 4 * ms, Xmit: 100 + 312500, epoch: 1}
	b.SL[5] = 31250
	w := Between(&Sample{Ports: []PortSample{a}}, &Sample{Ports: []PortSample{b}})
	r := w.Ports[0]
	if r.Err != nil || r.Xmit != 100*quantity.Mbps || r.SL[5] != 10*quantity.Mbps || r.TimeError != 0.03 || w.Elapsed != 100*ms {
		t.Errorf("window %+v", w)
	}
	errLost := errors.New("lost")
	for name, c := range map[string]struct {
		change func(a, b *PortSample)
		want   error
	}{
		"unread before": {func(a, _ *PortSample) { a.Err = errLost }, errLost},
		"unread after":  {func(_, b *PortSample) { b.Err = errLost }, ErrUnread},
		"epochs":        {func(_, b *PortSample) { b.epoch, b.why = 2, ErrGap }, ErrGap},
		"clocks":        {func(_, b *PortSample) { b.Wall = true }, ErrReset},
		"no time":       {func(_, b *PortSample) { b.Time = 10 * ms }, ErrNoTime},
		"another port":  {func(a, _ *PortSample) { a.Port.ID.Port = 2 }, ErrUnread},
	} {
		a, b := a, b
		c.change(&a, &b)
		w := Between(&Sample{Ports: []PortSample{a}}, &Sample{Ports: []PortSample{b}})
		if r := w.Ports[0]; !errors.Is(r.Err, c.want) || r.Xmit != 0 || w.Elapsed != 0 {
			t.Errorf("%s: error %v, rate %d, want %v", name, r.Err, r.Xmit, c.want)
		}
	}
	b.NoSL = true
	if r := Between(&Sample{Ports: []PortSample{a}}, &Sample{Ports: []PortSample{b}}).Ports[0]; !errors.Is(r.SLErr, ErrNoSLCounters) || r.Xmit == 0 || r.SL[5] != 0 {
		t.Errorf("without counters by SL: %+v", r)
	}
	if r := Between(&Sample{}, &Sample{Ports: []PortSample{b}}).Ports[0]; !errors.Is(r.Err, ErrUnread) {
		t.Errorf("without a first reading: %v", r.Err)
	}
}
