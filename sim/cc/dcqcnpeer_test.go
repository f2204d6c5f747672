package cc

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

// tickPeer is a reference model of dcqcnPeer. It executes an event list tick by tick, events of the same instant in the order
// of scheduling. It shares only the constants with the lazy implementation.
type tickPeer struct {
	d                   *dcqcnPeer
	line                float64
	rate, target, alpha float64
	stage               int
	alphaFlag, cutFlag  bool
	started             bool
	seq                 int
	events              []tickEvent
}

type tickEvent struct {
	at   quantity.Picoseconds
	seq  int
	kind byte
}

func (m *tickPeer) schedule(at quantity.Picoseconds, kind byte) {
	m.seq++
	m.events = append(m.events, tickEvent{at, m.seq, kind})
}

func (m *tickPeer) run(now quantity.Picoseconds) {
	for len(m.events) > 0 {
		slices.SortFunc(m.events, func(a, b tickEvent) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
		})
		e := m.events[0]
		if e.at > now {
			return
		}
		m.events = m.events[1:]
		switch e.kind {
		case 'a':
			m.alpha *= 1 - m.d.rp.G
			if m.alphaFlag {
				m.alpha += m.d.rp.G
			}
			m.alphaFlag = false
			m.schedule(e.at+m.d.alpha.period, 'a')
		case 'c':
			m.schedule(e.at+m.d.cut, 'c')
			m.lower(e.at)
		case 'i':
			m.schedule(e.at+m.d.inc, 'i')
			m.raise()
		}
	}
}

func (m *tickPeer) lower(at quantity.Picoseconds) {
	if !m.cutFlag {
		return
	}
	if m.d.clamp || m.stage > 0 {
		m.target = m.rate
	}
	m.rate = max(math.Floor(m.rate*(1-m.alpha/2)), m.d.rp.Floor)
	m.stage, m.cutFlag = 0, false
	m.events = slices.DeleteFunc(m.events, func(e tickEvent) bool { return e.kind == 'i' })
	m.schedule(at+m.d.inc, 'i')
}

func (m *tickPeer) raise() {
	switch f := int(m.d.rp.Threshold); {
	case m.stage == f:
		m.target = min(m.line, m.target+20e6*m.line/100e9)
	case m.stage > f:
		m.target = min(m.line, m.target+200e6*m.line/100e9)
	}
	m.rate = math.Floor(m.rate/2) + math.Floor(m.target/2)
	m.stage++
}

func (m *tickPeer) echo(now quantity.Picoseconds) {
	m.alphaFlag, m.cutFlag = true, true
	if m.started {
		return
	}
	m.started, m.alpha, m.alphaFlag = true, 1, false
	m.schedule(now+m.d.alpha.period, 'a')
	m.schedule(now+m.d.cut+quantity.Nanosecond, 'c')
	m.rate *= m.d.first
	m.target = m.rate
}

func TestLazyPeerEqualsTickingPeer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string) float64 {
			return float64(rapid.Int64Range(1, 12).Draw(t, name)) * float64(quantity.Microsecond)
		}
		spec := dcqcnPeerSpec()
		a, err := spec.Build(Values{
			"alpha_timer": span("alpha"), "cut_timer": span("cut"), "increase_timer": span("increase"),
			"fast_recovery_stages": float64(rapid.IntRange(0, 3).Draw(t, "stages")),
			"clamp_target":         float64(rapid.IntRange(0, 1).Draw(t, "clamp")),
			"g":                    rapid.SampledFrom([]float64{1.0 / 256, 0.25}).Draw(t, "g"),
			"rate_on_first_cnp":    rapid.SampledFrom([]float64{1, 0.5}).Draw(t, "first"),
		})
		if err != nil {
			t.Fatal(err)
		}
		d := a.(*dcqcnPeer)
		line := rapid.SampledFrom([]float64{25e9, 100e9, 400e9}).Draw(t, "line")
		d.Reserve(1)
		c := d.Start(0, 0, &Flow{LineRate: quantity.BitRate(line)})
		m := &tickPeer{d: d, line: line, rate: line, target: line, alpha: 1}
		var now quantity.Picoseconds
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			// Whole microseconds, with and without the one-nanosecond offset of the cut timer, coincide with expiries.
			now += quantity.Picoseconds(rapid.SampledFrom([]int64{0, 500_000, 1_000_000, 1_001_000, 3_999_000, 4_000_000, 7_000_000, 60_000_000, 900_000_000}).Draw(t, "step"))
			d.Settle(0, now, &c)
			m.run(now)
			if rapid.Bool().Draw(t, "marked") {
				d.Ack(0, &Ack{Now: now, Marked: 1}, &c)
				m.echo(now)
			}
			var g [3]float64
			d.Read(0, g[:])
			if math.Abs(c.Rate-m.rate) > 2 || math.Abs(g[0]-m.target) > 2 || !sameValue(g[1], m.alpha, 1e-9) || int(g[2]) != m.stage {
				t.Fatalf("at %s: rate %v, target %v, alpha %v, stage %v; ticking: %v, %v, %v, %d", now, c.Rate, g[0], g[1], g[2], m.rate, m.target, m.alpha, m.stage)
			}
		}
	})
}

// sameValue compares with a relative tolerance.
func sameValue(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b), 1e-12)
}

func TestThePeersWindowFollowsTheRate(t *testing.T) {
	t.Parallel()
	d := peerPreset(t, "peer-vendor-window", nil)
	d.Reserve(1)
	c := d.Start(0, 0, &Flow{LineRate: 100 * quantity.Gbps, BDP: 52000})
	if c.Window != 52000 {
		t.Errorf("window at line rate %d, want the bandwidth-delay product 52000", c.Window)
	}
	d.Ack(0, &Ack{Now: 0, Marked: 1}, &c)
	d.Settle(0, 4*quantity.Microsecond, &c)
	if c.Rate != 100e9 {
		t.Fatalf("rate %v before the cut timer's first expiry, want line rate", c.Rate)
	}
	d.Settle(0, 4*quantity.Microsecond+quantity.Nanosecond, &c)
	// In four periods without an echo, alpha decays from 1 to (255/256)^4.
	want := math.Floor(100e9 * (1 - math.Pow(255.0/256, 4)/2))
	if c.Rate != want || c.Window != int64(52000*c.Rate/100e9) {
		t.Errorf("rate %v, window %d; want rate %v and a window in proportion to it", c.Rate, c.Window, want)
	}
}

// The increases grow with the NIC's rate. With rate_per none they are the same on every NIC.
func TestPeerIncreasesPerRateAndAbsolute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		per  float64
		want float64 // target after one additive increase of 20 Mbit/s from 10 Gbit/s
	}{{100e9, 10e9 + 5e6}, {25e9, 10e9 + 20e6}, {0, 10e9 + 20e6}} {
		d := built(t, dcqcnPeerSpec(), Values{"rate_per": c.per, "fast_recovery_stages": 0}).(*dcqcnPeer)
		s := NewRPState(&d.rp, 25e9)
		s.Rate, s.Target = 10e9, 10e9
		s.TimeStep(&d.rp, 25e9)
		if s.Target != c.want {
			t.Errorf("rate_per %g: target %.0f, want %.0f", c.per, s.Target, c.want)
		}
	}
}
