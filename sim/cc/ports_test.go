package cc

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	registers "fairlane/ccconfig/dcqcn"
	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

const portLine = 100 * quantity.Gbps

// driven is one flow of a port under a random sequence of notifications, packets and waits.
type driven struct {
	Algorithm
	now quantity.Picoseconds
	c   Control
}

func drive(a Algorithm) *driven {
	a.Reserve(1)
	d := &driven{Algorithm: a}
	d.c = a.Start(0, 0, &Flow{LineRate: portLine, BaseRTT: 10 * quantity.Microsecond, Payload: 1000, Wire: 1060, Weight: 1})
	return d
}

func (d *driven) step(kind int, wait quantity.Picoseconds) {
	d.now += wait
	d.Settle(0, d.now, &d.c)
	switch kind {
	case 0:
		d.Notify(0, &Notification{Now: d.now, Kind: NotifyCNP}, &d.c)
	case 1:
		d.Sent(0, d.now, 60_000, &d.c)
	}
}

func (d *driven) state() [4]float64 {
	var g [3]float64
	d.Read(0, g[:])
	return [4]float64{d.c.Rate, g[0], g[1], g[2]}
}

func drawRegisters(t *rapid.T) registers.Settings {
	s := registers.Default()
	s.TimeReset = uint32(rapid.IntRange(1, 2000).Draw(t, "time reset"))
	s.ByteReset = uint32(rapid.IntRange(0, 3000).Draw(t, "byte reset"))
	s.GD = uint8(rapid.IntRange(9, 12).Draw(t, "gd"))
	s.G = uint16(rapid.IntRange(900, 1023).Draw(t, "g"))
	s.AlphaPeriod = uint32(rapid.IntRange(1, 100).Draw(t, "alpha period"))
	s.MonitorPeriod = uint32(rapid.IntRange(1, 100).Draw(t, "monitor period"))
	s.AIRate = uint32(rapid.IntRange(0, 500).Draw(t, "ai"))
	s.MaxRate = uint32(rapid.SampledFrom([]int{0, 50_000}).Draw(t, "max rate"))
	s.RateOnFirstCNP = uint32(rapid.SampledFrom([]int{0, 30_000}).Draw(t, "first"))
	return s
}

// Ports whose registers do not change behave as one algorithm with these registers, and a write of equal registers has no
// effect.
func TestPortsWithoutChangesAreTheAlgorithm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawRegisters(t)
		one, err := NewMlx(&s)
		if err != nil {
			t.Fatal(err)
		}
		d := registers.Default()
		many, err := NewMlxPorts(3, &d)
		if err != nil {
			t.Fatal(err)
		}
		if err := many.Set(0, 0, &s, true); err != nil {
			t.Fatal(err)
		}
		a, b := drive(one), drive(many)
		for range 40 {
			kind, wait := rapid.IntRange(0, 2).Draw(t, "kind"), quantity.Picoseconds(rapid.IntRange(0, 300).Draw(t, "us"))*quantity.Microsecond
			if s.ByteReset == 0 && kind == 1 {
				kind = 2 // without a byte counter Sent is not called
			}
			a.step(kind, wait)
			b.step(kind, wait)
			if err := many.Set(0, b.now, &s, true); err != nil {
				t.Fatal(err)
			}
			if a.state() != b.state() {
				t.Fatalf("%v and %v", a.state(), b.state())
			}
		}
	})
}

// The effect of a change does not depend on the time of the next access to the flow, and rates stay within their bounds.
func TestChangesDoNotDependOnWhenFlowsAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := registers.Default()
		var runs [2]*driven
		var ports [2]*MlxPorts
		for i := range runs {
			m, err := NewMlxPorts(1, &d)
			if err != nil {
				t.Fatal(err)
			}
			ports[i], runs[i] = m, drive(m)
		}
		for range 25 {
			kind, wait := rapid.IntRange(0, 2).Draw(t, "kind"), quantity.Picoseconds(rapid.IntRange(0, 300).Draw(t, "us"))*quantity.Microsecond
			var change *registers.Settings
			on := rapid.IntRange(0, 9).Draw(t, "on") > 0
			if rapid.Bool().Draw(t, "change") {
				s := drawRegisters(t)
				change = &s
			}
			for i, r := range runs {
				if change != nil {
					if err := ports[i].Set(0, r.now, change, on); err != nil {
						t.Fatal(err)
					}
					if i == 1 {
						r.Settle(0, r.now, &r.c)
					}
				}
				r.step(kind, wait)
				if rate := r.c.Rate; !(rate > 0 && rate <= float64(portLine)) || math.IsNaN(rate) {
					t.Fatalf("rate %g", rate)
				}
			}
			if a, b := runs[0].state(), runs[1].state(); a != b {
				t.Fatalf("%v; with an access after each change, %v", a, b)
			}
		}
	})
}

func TestLimiterUsesWrittenRegisters(t *testing.T) {
	t.Parallel()
	d := registers.Default()
	m, err := NewMlxPorts(2, &d)
	if err != nil {
		t.Fatal(err)
	}
	f := drive(m)
	f.step(0, 10*quantity.Microsecond)
	f.step(2, 10*quantity.Microsecond)
	cut := f.c.Rate
	if cut >= float64(portLine) {
		t.Fatal("no cut")
	}
	s := d
	s.TimeReset = 50
	if err := m.Set(0, f.now, &s, true); err != nil {
		t.Fatal(err)
	}
	f.step(2, 0)
	if f.c.Rate != cut {
		t.Errorf("a write changes the rate from %g to %g", cut, f.c.Rate)
	}
	f.step(2, 49*quantity.Microsecond)
	if f.c.Rate != cut {
		t.Error("an increase before the new period has passed")
	}
	f.step(2, quantity.Microsecond)
	if f.c.Rate <= cut {
		t.Error("no increase after the new period")
	}
	if err := m.Set(0, f.now, &s, false); err != nil {
		t.Fatal(err)
	}
	f.step(0, quantity.Microsecond)
	if f.c.Rate != float64(portLine) {
		t.Errorf("a flow of a port that does not react still has a limiter of %g", f.c.Rate)
	}
}

func TestPortsRejectUnsupportedSettings(t *testing.T) {
	t.Parallel()
	d := registers.Default()
	bad := d
	bad.TimeReset = 1 << 20
	m, err := NewMlxPorts(2, &d)
	if err != nil {
		t.Fatal(err)
	}
	p := WRCCPort{SenderParams: wrcc.SenderParams{T1: 24 * quantity.Microsecond, MinRate: 1e6}}
	w, err := NewWRCCPorts(2, p)
	if err != nil {
		t.Fatal(err)
	}
	_, none := NewMlxPorts(0, &d)
	_, many := NewWRCCPorts(MaxPorts+1, p)
	_, wrong := NewMlxPorts(1, &bad)
	for want, err := range map[string]error{
		"0 ports": none, "65537 ports": many, "rpg_time_reset": wrong, "port 2: want 0 to 1": m.Set(2, 0, &d, true), "rpg_time_reset ": m.Set(0, 0, &bad, true),
		"port -1": w.Set(-1, 0, p), "increase timer T1": w.Set(0, 0, WRCCPort{}),
	} {
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A sender applies new settings immediately, and a new weight with the next fair rate from the network.
func TestSendersUseWrittenSettings(t *testing.T) {
	t.Parallel()
	p := WRCCPort{SenderParams: wrcc.SenderParams{T1: 24 * quantity.Microsecond, MinRate: 1e6, Increase: wrcc.IncreaseAsk}}
	w, err := NewWRCCPorts(1, p)
	if err != nil {
		t.Fatal(err)
	}
	f := drive(w)
	seq := int64(0)
	answer := func(fair float64) float64 {
		f.now += quantity.Microsecond
		seq += 1000
		f.Ack(0, &Ack{Now: f.now, Seq: seq, FairRate: fair, Packets: 1}, &f.c)
		return f.c.Rate
	}
	if r := answer(10e9); r != 10e9 {
		t.Errorf("rate %g, want the fair rate", r)
	}
	w.Reweigh(0, 3)
	if f.Settle(0, f.now, &f.c); f.c.Rate != 10e9 {
		t.Errorf("a weight changes the rate to %g before a new fair rate has arrived", f.c.Rate)
	}
	if r := answer(10e9); r != 30e9 {
		t.Errorf("rate %g, want three times the fair rate", r)
	}
	if s := w.Stamp(0, f.now); s.FairRate != 20_000 {
		t.Errorf("a packet requests %d Mbit/s, want twice the rate divided by the weight", s.FairRate)
	}
	p.MinRate = 50e9
	if err := w.Set(0, f.now, p); err != nil {
		t.Fatal(err)
	}
	if f.Settle(0, f.now, &f.c); f.c.Rate != 50e9 {
		t.Errorf("rate %g, want the new minimum rate", f.c.Rate)
	}
	p.MinRate, p.Increase, p.Domain = 1e6, wrcc.IncreaseTimer, 7
	if err := w.Set(0, f.now, p); err != nil {
		t.Fatal(err)
	}
	if s := w.Stamp(0, f.now); s.Domain != 7 || s.FairRate != 16_667 {
		t.Errorf("stamp %+v, want data centre 7 and the rate divided by the weight", s)
	}
	if r := answer(10e9); r != 30e9 {
		t.Errorf("rate %g", r)
	}
	if s := w.Stamp(0, f.now); !s.Burst {
		t.Error("a receiver of another data centre clears the burst mark")
	}
	if f.step(2, 24*quantity.Microsecond); f.c.Rate != 60e9 {
		t.Errorf("rate %g, want double at the timer's expiry", f.c.Rate)
	}
}
