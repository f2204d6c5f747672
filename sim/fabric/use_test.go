package fabric

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Utilization falls linearly from all of the link at threshold 0 to 60 % at threshold 15 (S1, 4.1).
func TestThresholdUseIsLinear(t *testing.T) {
	t.Parallel()
	for th, want := range map[uint8]float64{0: 1, 1: 1 - 0.4/15, 3: 0.92, 6: 0.84, 8: 0.8 - 0.2/15, 12: 0.68, 15: 0.6, 200: 0.6} {
		if got := ThresholdUse(th); math.Abs(got-want) > 1e-12 {
			t.Errorf("threshold %d: %.6f of the link, want %.6f", th, got, want)
		}
		m := useMeter{window: 75 * us}
		m.allow(th, 0)
		if got := float64(m.limit) / float64(m.window); got != ThresholdUse(th) {
			t.Errorf("threshold %d: the meter allows %.6f, want %.6f", th, got, ThresholdUse(th))
		}
	}
}

// For packets of one size and spacing, the average utilization is exactly size divided by spacing for any window; the filter
// has no ripple at the ends of packets.
func TestUseOfEvenPacketsIsExact(t *testing.T) {
	t.Parallel()
	for _, window := range []quantity.Picoseconds{us, 10 * us, 153_600 * quantity.Nanosecond, 10 * ms} {
		for _, c := range []struct{ size, distance quantity.Picoseconds }{{840, 840}, {840, 1400}, {256, 432}, {50, 5000}} {
			m := useMeter{window: window}
			m.allow(15, 0)
			for end := c.size * 1000; end < max(20*window, 200*1000*c.distance); end += c.distance * 1000 {
				m.sent(end, c.size*1000)
			}
			near(t, fmt.Sprintf("window %s, %d in %d ns", window, c.size, c.distance), float64(m.busy)/float64(window),
				float64(c.size)/float64(c.distance), 1e-3)
		}
	}
}

// Without packets, utilization u falls to the limit after window·(u/limit - 1).
func TestUseDecaysByTheWindow(t *testing.T) {
	t.Parallel()
	m := useMeter{window: 60 * us}
	m.allow(15, 0)
	for i := range quantity.Picoseconds(10_000) {
		m.sent((i+1)*us, us) // the link is fully used
	}
	const left = 40 * us // 60 us · (1/0.6 - 1)
	near(t, "time above the limit after the last packet", float64(m.until-m.last), float64(left), 1e-3)
	if !m.over(m.until-1) || m.over(m.until) {
		t.Error("the utilization is not above the limit until the computed time")
	}
	if a, b := m.aboveAt(m.until+ms), m.aboveAt(m.until+2*ms); a != b {
		t.Errorf("the utilization of an idle link stays above the limit: %s, then %s", a, b)
	}
}

// For any packets, pauses and threshold changes, the meter equals its definition in floating point.
func TestUseMeterAgainstItsDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		window := quantity.Picoseconds(rapid.IntRange(1, 10_000).Draw(t, "window")) * us
		m := useMeter{window: window}
		th := uint8(rapid.IntRange(1, 15).Draw(t, "threshold"))
		m.allow(th, 0)
		now, use, above := quantity.Picoseconds(0), 0.0, quantity.Picoseconds(0)
		w := float64(window)
		for range rapid.IntRange(1, 200).Draw(t, "packets") {
			pause := quantity.Picoseconds(rapid.OneOf(rapid.IntRange(0, 2000), rapid.IntRange(0, 20_000_000), rapid.IntRange(0, 1<<40)).Draw(t, "pause"))
			size := quantity.Picoseconds(rapid.OneOf(rapid.IntRange(1, 5_000_000), rapid.IntRange(1, 1<<36)).Draw(t, "size"))
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				th = uint8(rapid.IntRange(0, 15).Draw(t, "threshold"))
				m.allow(th, now)
			}
			if at := now + pause; math.Abs(use*w/(w+float64(pause))-ThresholdUse(th)) > 1e-6 &&
				m.over(at) != (use*w/(w+float64(pause)) > ThresholdUse(th)) {
				t.Fatalf("%s after the last packet: over %v, utilization %.6f, threshold %.6f", pause, m.over(at), use*w/(w+float64(pause)), ThresholdUse(th))
			}
			now += pause + size
			m.sent(now, size)
			use = (use*w + float64(size)) / (w + float64(pause+size))
			if got := float64(m.busy) / w; m.busy < 0 || m.busy > window || math.Abs(got-use) > 1e-6+200/w {
				t.Fatalf("utilization %.9f, want %.9f, at most 1", got, use)
			}
			if a := m.aboveAt(now); a < above || a > now || m.aboveAt(now+us)-a > us {
				t.Fatalf("%s above the limit of %s, before %s", a, now, above)
			} else {
				above = a
			}
		}
	})
}

// used returns a star in which all hosts send to the last one. The switch marks by the utilization of the link to that host.
func used(t *testing.T, hosts int, cfg Config, threshold uint8, rate uint16) (n *Network, sw int32) {
	t.Helper()
	f := star(t, hosts)
	cfg.MarkBy = MarkByUse
	n = build(t, f, cfg)
	sw = f.Switches()[0]
	n.SetSwitchCC(sw, ibcc.SwitchSettings{Threshold: threshold, MarkingRate: rate})
	return n, sw
}

// A source that sends evenly and does not react gets a mark in every packet if the utilization exceeds the threshold, and no
// mark otherwise. Marking by queue gives no marks, because there is no queue.
func TestMarksBeginAtTheUseOfTheThreshold(t *testing.T) {
	t.Parallel()
	for _, at := range []MarkPoint{MarkOnArrival, MarkOnDeparture} {
		for _, c := range []struct {
			threshold uint8
			demand    quantity.BitRate
			marks     bool
		}{
			{15, 58 * quantity.Gbps, false},
			{15, 63 * quantity.Gbps, true},
			{8, 76 * quantity.Gbps, false},
			{8, 81 * quantity.Gbps, true},
			{1, 95 * quantity.Gbps, false},
			{1, 100 * quantity.Gbps, true},
			{0, 100 * quantity.Gbps, false},
		} {
			for _, by := range []MarkBasis{MarkByUse, MarkByQueue} {
				f := star(t, 2)
				n := build(t, f, Config{MarkBy: by, MarkAt: at})
				n.SetSwitchCC(f.Switches()[0], ibcc.SwitchSettings{Threshold: c.threshold, MarkingRate: 1})
				addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 1), Demand: c.demand})
				n.RunUntil(10 * ms)
				before := n.Stats()
				n.RunUntil(20 * ms)
				after := n.Stats()
				marks, packets := float64(after.Marks-before.Marks), float64(after.Packets-before.Packets)
				want := 0.0
				if c.marks && by == MarkByUse {
					want = packets
				}
				if math.Abs(marks-want) > 2 {
					t.Errorf("threshold %d, %s, basis %d, point %d: %.0f marks on %.0f packets, want %.0f", c.threshold, c.demand, by, at, marks, packets, want)
				}
			}
		}
	}
}

// Congestion control keeps the link of one flow at the utilization of the threshold: above it, marks lower the rate; below
// it, the timer raises the rate. Two flows with Increase 1 and 2 share this utilization in the ratio 2 to 1.
func TestUseSettlesAtTheThreshold(t *testing.T) {
	t.Parallel()
	for _, threshold := range []uint8{15, 12, 8, 4} {
		for _, increase := range [][]uint8{{1}, {1, 2}} {
			n, sw := used(t, len(increase)+1, Config{Seed: 2}, threshold, 16)
			f := n.Topology()
			var ids []FlowID
			for i, inc := range increase {
				src := hostPort(f, i)
				n.ApplyCA(src.Node, src.Port, ibcc.CASettings{
					Limit: 255, Table: geometric(1.02, 256), SLs: allSLs(ibcc.SLParams{Timer: 40, Increase: inc}),
				})
				ids = append(ids, addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, len(increase))}))
			}
			r := rates(n, ids, 20*ms, 220*ms)
			near(t, fmt.Sprintf("threshold %d, %d flows: link in Gbit/s", threshold, len(r)), sum(r), 100*ThresholdUse(threshold), 0.02)
			if len(r) > 1 {
				near(t, fmt.Sprintf("threshold %d: rates", threshold), r[0]/r[1], 2, 0.12)
			}
			if q, _ := n.QueuedBytes(sw, ident.PortNum(len(r)+1), 0); q > len(r)*(4096+DataHeader) {
				t.Errorf("threshold %d: %d bytes queued by %d flows, want at most one packet per flow", threshold, q, len(r))
			}
		}
	}
}

// The counter of congested time counts the time above the threshold, and never decreases, even when the threshold changes.
func TestCongestedTimeByUse(t *testing.T) {
	t.Parallel()
	n, sw := used(t, 2, Config{}, 15, 1)
	f := n.Topology()
	id := addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 1), Demand: 80 * quantity.Gbps})
	ticks := func() float64 { return float64(n.Counters(sw, 2).XmitTimeCongVL[0]) }
	const tick = 320.0 // ps: 4 bytes at 100 Gbit/s
	n.RunUntil(5 * ms)
	begun := ticks()
	n.RunUntil(15 * ms)
	near(t, "ticks in 10 ms above the threshold", ticks()-begun, float64(10*ms)/tick, 1e-3)

	n.SetSwitchCC(sw, ibcc.SwitchSettings{Threshold: 2, MarkingRate: 1}) // 94.7 %: not exceeded from now on
	raised, marks := ticks(), n.Stats().Marks
	n.RunUntil(20 * ms)
	if got := ticks(); got != raised || n.Stats().Marks != marks {
		t.Errorf("80 %% of the link below a threshold of 94.7 %%: %g ticks more, %d marks more", got-raised, n.Stats().Marks-marks)
	}
	n.SetSwitchCC(sw, ibcc.SwitchSettings{}) // threshold 0 never marks
	if got := ticks(); got != raised {
		t.Errorf("threshold 0: %g ticks, before %g", got, raised)
	}
	n.SetSwitchCC(sw, ibcc.SwitchSettings{Threshold: 15, MarkingRate: 1})
	n.RunUntil(25 * ms)
	again := ticks()
	if again <= raised {
		t.Error("no congestion after the threshold was restored")
	}
	n.StopFlow(id)
	n.RunUntil(26 * ms) // utilization decays within 153.6 us · (0.8/0.6 - 1)
	near(t, "ticks after the flow", ticks()-again, 51.2e6/tick, 0.05)
}

// The switch measures utilization per link, not per lane. A lane may therefore be marked because of the traffic of other
// lanes.
func TestUseCountsTheWholeLink(t *testing.T) {
	t.Parallel()
	n, _ := used(t, 3, Config{DataVLs: 2}, 15, 1)
	f := n.Topology()
	mapLanes(n, 2)
	ids := []FlowID{
		addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 2), SL: 0, Demand: 40 * quantity.Gbps}),
		addFlow(t, n, FlowSpec{Src: hostPort(f, 1), Dst: hostPort(f, 2), SL: 1, Demand: 40 * quantity.Gbps}),
	}
	n.RunUntil(10 * ms)
	for _, id := range ids {
		if s := n.Flow(id); float64(s.BECNs) < 0.9*float64(s.DeliveredPkts) {
			t.Errorf("flow %d: %d BECNs for %d packets; together the flows use 80 %% of the link", id, s.BECNs, s.DeliveredPkts)
		}
	}
}

func TestUseWindowIsChecked(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	for _, c := range []Config{
		{UseWindow: us - 1}, {UseWindow: 10*ms + 1}, {UseWindow: -us}, {MarkBy: MarkByUse + 1},
	} {
		if _, err := New(f, c); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := build(t, f, Config{}).Config(); got.UseWindow != 153_600*quantity.Nanosecond || got.MarkBy != MarkByQueue {
		t.Errorf("defaults %+v", got)
	}
}

func TestMarkingByUseDoesNotAllocate(t *testing.T) {
	n, _ := used(t, 21, Config{Seed: 1}, 8, 32)
	f := n.Topology()
	for i := range 20 {
		src := hostPort(f, i)
		n.ApplyCA(src.Node, src.Port, ibcc.CASettings{Limit: 127, Table: geometric(1.05, 128), SLs: allSLs(ibcc.SLParams{Timer: 256, Increase: 1})})
		addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 20), QPs: 4})
	}
	n.RunUntil(20 * ms)
	if a := testing.AllocsPerRun(20, func() { n.RunUntil(n.Now() + 100*us) }); a != 0 {
		t.Errorf("%v allocations per 100 us of traffic, want none", a)
	}
}

// Marking by utilization is deterministic: runs with the same seed are identical for any step size.
func TestMarkingByUseIsDeterministic(t *testing.T) {
	t.Parallel()
	run := func(step quantity.Picoseconds) Stats {
		n, sw := used(t, 6, Config{Seed: 4, UseWindow: 20 * us}, 12, 8)
		f := n.Topology()
		for i := range 5 {
			src := hostPort(f, i)
			n.ApplyCA(src.Node, src.Port, ibcc.CASettings{Limit: 127, Table: geometric(1.05, 128), SLs: allSLs(ibcc.SLParams{Timer: 64, Increase: 1})})
			addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 5), QPs: 2})
		}
		for n.Now() < 5*ms {
			n.RunUntil(n.Now() + step)
			n.Counters(sw, 6) // reading the counters must not change the run
		}
		return n.Stats()
	}
	if a, b := run(5*ms), run(10*us); a != b || a.Marks == 0 {
		t.Errorf("in one step %+v, in small steps %+v", a, b)
	}
}
