package telemetry

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// busy is a port whose counters by SL are saturated after much traffic.
func busy(w *wire) Port {
	w.sticks = true
	p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{0: 3 * quantity.Gbps, 4: 57 * quantity.Gbps})
	w.ports[portKey{5, 1}].start[4] = counterEnd
	return p
}

func TestFirstMeasurementOfSaturatedCountersIsCorrect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		win, err := newCollector(t, w, []Port{busy(w)}, Options{}).Measure(t.Context(), 100*ms)
		if err != nil {
			t.Fatal(err)
		}
		r := win.Ports[0]
		near(t, "SL 4", bps(t, r.SL[4]), 57*quantity.Gbps, 1e-3)
		near(t, "SL 0", bps(t, r.SL[0]), 3*quantity.Gbps, 1e-3)
		if win.Coverage < 0.99 || win.Elapsed < 100*ms || win.Elapsed > 110*ms || w.sets != 1 {
			t.Errorf("coverage %g of %s, %d clears", win.Coverage, win.Elapsed, w.sets)
		}
	})
}

// TestSaturatedCountersThatMayNotBeClearedAreNotMeasured reports which SL, and still measures the others and the port.
func TestSaturatedCountersThatMayNotBeClearedAreNotMeasured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		win, err := newCollector(t, w, []Port{busy(w)}, Options{KeepCounters: true}).Measure(t.Context(), 100*ms)
		if err != nil {
			t.Fatal(err)
		}
		r := win.Ports[0]
		if err := why(r.SL[4]); !errors.Is(err, ErrSaturated) || err.Error() != "the counter of SL 4 has reached its maximum" {
			t.Errorf("SL 4: %v", err)
		}
		near(t, "SL 0", bps(t, r.SL[0]), 3*quantity.Gbps, 1e-3)
		near(t, "port", bps(t, r.Xmit), 60*quantity.Gbps, 1e-3)
		if w.sets != 0 || win.Elapsed > 110*ms {
			t.Errorf("%d clears, measured for %s", w.sets, win.Elapsed)
		}
	})
}

// refuse answers requests to set an attribute with an error status.
func refuse(status mad.Status) func(mad.Target, *mad.Packet) error {
	return func(_ mad.Target, req *mad.Packet) error {
		if req.Method() == mad.MethodSet {
			return &mad.StatusError{Status: status}
		}
		return nil
	}
}

// TestADeviceThatDoesNotClearIsMeasuredByDifferences covers a device that says so, too.
func TestADeviceThatDoesNotClearIsMeasuredByDifferences(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]mad.Status{"unsupported": mad.StatusBadMethodAttr, "busy": mad.StatusBusy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				p := busy(w)
				w.ports[portKey{5, 1}].start = [ident.NumSLs]uint32{4: clearAt + 5}
				w.answer = refuse(status)
				win, err := newCollector(t, w, []Port{p}, Options{}).Measure(t.Context(), 100*ms)
				if err != nil {
					t.Fatal(err)
				}
				err = why(win.Ports[0].SL[4])
				if status == mad.StatusBadMethodAttr {
					near(t, "SL 4", bps(t, win.Ports[0].SL[4]), 57*quantity.Gbps, 1e-3)
				} else if status := new(mad.StatusError); !errors.As(err, &status) {
					t.Errorf("a clear that fails: %v", err)
				}
			})
		})
	}
}

// clearing makes another collector clear the counters of a port, first after a while and then periodically, until stop is
// called.
func clearing(t *testing.T, w *wire, p Port, first, every time.Duration) (stop func()) {
	zero := mad.NewPerf(mad.MethodSet, mad.AttrPortXmitDataSL, 0)
	a := mad.PortSLCounters{PortSelect: p.ID.Port, CounterSelect: 0xffff}
	if err := a.Encode(zero.Data()); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		for wait := first; ; wait = every {
			select {
			case <-done:
				return
			case <-time.After(wait):
				req := zero
				_, _ = w.Exchange(t.Context(), mad.Target{LID: p.LID}, &req)
			}
		}
	}()
	return func() { close(done) }
}

func TestClearsByAnotherCollectorAreNeverANumber(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, every time.Duration
		keep         bool
		why          error
	}{
		"once":                   {60 * time.Millisecond, time.Hour, false, nil},
		"once, kept":             {60 * time.Millisecond, time.Hour, true, nil},
		"just before the end":    {99 * time.Millisecond, time.Hour, false, nil},
		"just after the begin":   {2 * time.Millisecond, time.Hour, false, nil},
		"again and again":        {20 * time.Millisecond, 20 * time.Millisecond, false, ErrCleared},
		"again and again, kept":  {20 * time.Millisecond, 20 * time.Millisecond, true, ErrCleared},
		"as often as it is read": {50 * time.Millisecond, 100 * time.Millisecond, false, ErrCleared},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				w.delay = 500 * time.Microsecond // readings take time, which is not measured
				p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: 57 * quantity.Gbps})
				defer clearing(t, w, p, c.first, c.every)()
				win, err := newCollector(t, w, []Port{p}, Options{KeepCounters: c.keep}).Measure(t.Context(), 100*ms)
				if err != nil {
					t.Fatal(err)
				}
				r := win.Ports[0]
				near(t, "port", bps(t, r.Xmit), 57*quantity.Gbps, 1e-3)
				if c.why != nil {
					if !errors.Is(why(r.SL[4]), c.why) {
						t.Errorf("SL 4: %v", r.SL[4])
					}
					return
				}
				near(t, "SL 4", bps(t, r.SL[4]), 57*quantity.Gbps, 2e-3)
			})
		})
	}
}

// TestLateReadingLosesOnlyItsOwnTime suspends the collector once, for longer than a counter takes to saturate.
func TestLateReadingLosesOnlyItsOwnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.sticks = true
		p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: 90 * quantity.Gbps})
		begun, stopped := time.Now(), false
		w.answer = func(mad.Target, *mad.Packet) error {
			if !stopped && time.Since(begun) > 5*time.Second {
				stopped = true
				time.Sleep(3 * time.Second)
			}
			return nil
		}
		win, err := newCollector(t, w, []Port{p}, Options{}).Measure(t.Context(), 10*quantity.Second)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "SL 4", bps(t, win.Ports[0].SL[4]), 90*quantity.Gbps, 1e-3)
		if win.Coverage < 0.7 || win.Coverage > 0.8 || win.Elapsed < 10*quantity.Second {
			t.Errorf("measured for %s, coverage %g: want 10 s of 13", win.Elapsed, win.Coverage)
		}
	})
}

// TestAClearOfTheWholePortEndsTheMeasurement clears the 64-bit counters of the port, as perfquery -R does.
func TestAClearOfTheWholePortEndsTheMeasurement(t *testing.T) {
	t.Parallel()
	m := meter{rate: 100 * quantity.Gbps}
	m.observe(at(0, 1000, 1e9))
	m.observe(at(10*ms, 500, 500))
	m.observe(at(20*ms, 1500, 1500))
	if m.port.words != 1000 || m.port.time != 10*ms || !errors.Is(m.port.why, ErrCleared) || m.sl[3].words != 1000 {
		t.Errorf("port %+v, SL 3 %+v", m.port, m.sl[3])
	}
}

// TestClearsByOthersNeverCauseWrongRates makes another collector clear any counters of a port at any time, while
// traffic on four SLs changes, on devices whose counters wrap or saturate. The count of an SL must match what the SL sent
// in the counted time, within the fraction that a clear may hide.
func TestClearsByOthersNeverCauseWrongRates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const sls = 4
		rate := quantity.BitRate(rapid.Int64Range(1e9, 1e12).Draw(t, "rate"))
		sticks := rapid.Bool().Draw(t, "sticks")
		m := meter{rate: rate}
		var raw, sent, atLast, want [sls]uint64
		for sl := range raw {
			raw[sl] = rapid.Uint64Range(0, clearAt).Draw(t, "start")
		}
		var now quantity.Picoseconds
		var total, allowed uint64
		send := func(span quantity.Picoseconds) {
			now += span
			left := mulDiv(uint64(span), uint64(rate), uint64(quantity.Second)*wordBits)
			for sl := range raw {
				n := rapid.Uint64Range(0, left).Draw(t, "words")
				left -= n
				total, sent[sl], raw[sl] = total+n, sent[sl]+n, raw[sl]+n
				if sticks {
					raw[sl] = min(raw[sl], counterEnd)
				} else {
					raw[sl] &= counterEnd
				}
			}
		}
		read := func() reading {
			r := reading{before: now, after: now + 10*quantity.Microsecond, xmit: total, perSL: true}
			for sl, v := range raw {
				r.sl[sl] = uint32(v)
			}
			now = r.after
			return r
		}
		for range rapid.IntRange(2, 12).Draw(t, "readings") {
			r, last, had := read(), m.last, m.sl
			m.observe(r)
			allowed += wordsIn(r.width()+last.width(), rate) + (total-last.xmit)/clearedParts
			for sl := range raw {
				if m.sl[sl].time > had[sl].time {
					want[sl] += sent[sl] - atLast[sl]
				}
				atLast[sl] = sent[sl]
				if got := m.sl[sl].words; got > want[sl]+allowed || got+allowed < want[sl] {
					t.Fatalf("SL %d: counted %d words, sent %d", sl, got, want[sl])
				}
			}
			if m.needsClear() {
				raw = [sls]uint64{}
				m.restart(read())
			}
			span := quantity.Picoseconds(rapid.Int64Range(int64(ms), int64(SafeInterval(rate))).Draw(t, "interval"))
			part := quantity.Picoseconds(rapid.Int64Range(0, int64(span)).Draw(t, "until the clear"))
			send(part)
			for sl := range raw {
				if rapid.Bool().Draw(t, "cleared") {
					raw[sl] = 0
				}
			}
			send(span - part)
		}
	})
}
