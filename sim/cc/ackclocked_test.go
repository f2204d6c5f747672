package cc

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

// ackClockedSpecs returns the algorithms that react to acknowledgements only, HPCC with both forms of telemetry.
func ackClockedSpecs() map[string]func() (Spec, Values) {
	return map[string]func() (Spec, Values){
		"hpcc":      func() (Spec, Values) { return hpccSpec(), nil },
		"hpcc-wire": func() (Spec, Values) { return hpccSpec(), hpccPeer() },
		"timely":    func() (Spec, Values) { return timelySpec(), Values{"window": windowVariable} },
		"dctcp":     func() (Spec, Values) { return dctcpSpec(), nil },
		"swift":     func() (Spec, Values) { return swiftSpec(), nil },
	}
}

// anyFlow draws a flow. Its size and path are those of real fabrics: slow and fast links, short and long distances.
func anyFlow(t *rapid.T) *Flow {
	f := &Flow{
		LineRate: rapid.SampledFrom([]quantity.BitRate{100 * quantity.Mbps, 10 * quantity.Gbps, 100 * quantity.Gbps,
			800 * quantity.Gbps}).Draw(t, "line"),
		BaseRTT: quantity.Picoseconds(rapid.Int64Range(0, int64(10*quantity.Millisecond)).Draw(t, "rtt")),
		Payload: rapid.IntRange(1, 9000).Draw(t, "payload"),
		Hops:    rapid.IntRange(1, 12).Draw(t, "links"),
		Weight:  1,
	}
	f.Wire = f.Payload + 90
	f.BDP = int64(f.BaseRTT.Seconds() * float64(f.LineRate) / 8)
	return f
}

// anyAcks draws acknowledgements in order of time, with any delay, marks, losses and telemetry.
func anyAcks(t *rapid.T, f *Flow) []Ack {
	var out []Ack
	var now quantity.Picoseconds
	var seq int64
	hops := make([]Hop, f.Hops-1)
	for i := range hops {
		hops[i].Mbps = uint32(f.LineRate/quantity.Mbps) << rapid.IntRange(0, 2).Draw(t, "faster")
	}
	for range rapid.IntRange(1, 60).Draw(t, "acks") {
		now += quantity.Picoseconds(rapid.Int64Range(0, int64(20*quantity.Millisecond)).Draw(t, "gap"))
		a := Ack{
			Now: now, RTT: quantity.Picoseconds(rapid.Int64Range(0, int64(20*quantity.Millisecond)).Draw(t, "rtt")),
			Packets: rapid.IntRange(1, 8).Draw(t, "packets"), Nack: rapid.Bool().Draw(t, "nack"),
		}
		if !a.Nack {
			a.Acked = int64(a.Packets * f.Payload)
			seq += a.Acked
		}
		a.Seq, a.Next = seq, seq+rapid.Int64Range(0, 1<<24).Draw(t, "flight")
		a.Marked = rapid.IntRange(0, a.Packets).Draw(t, "marked")
		for i := range hops {
			hops[i].At = max(hops[i].At, now-a.RTT)
			hops[i].Tx += rapid.Uint32().Draw(t, "tx")
			hops[i].Queue = rapid.Uint32().Draw(t, "queue")
		}
		a.INT = slices.Clone(hops)
		out = append(out, a)
	}
	return out
}

func TestAckClockedControlsStayInTheirBounds(t *testing.T) {
	t.Parallel()
	for name, spec := range ackClockedSpecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				sp, v := spec()
				a, err := sp.Build(v)
				if err != nil {
					t.Fatal(err)
				}
				a.Reserve(1)
				f := anyFlow(t)
				line := float64(f.LineRate)
				c := a.Start(0, 0, f)
				low := min(1e9, line)
				if name == "swift" {
					low = 0
				}
				check := func() {
					if !(c.Rate > 0 && c.Rate >= low && c.Rate <= line) || c.Window < 1 {
						t.Fatalf("%+v, want a rate from %g to %g and a window of at least 1", c, low, line)
					}
					for i, g := range gaugesOf(a, 0) {
						if math.IsNaN(g) || math.IsInf(g, 0) {
							t.Fatalf("gauge %s is %g", a.Gauges()[i], g)
						}
					}
				}
				check()
				for _, k := range anyAcks(t, f) {
					a.Settle(0, k.Now, &c)
					a.Ack(0, &k, &c)
					check()
				}
			})
		})
	}
}

// A new flow in a used slot inherits no state, and growing the arrays preserves all state.
func TestAckClockedSlotsAreIndependent(t *testing.T) {
	t.Parallel()
	for name, spec := range ackClockedSpecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				sp, v := spec()
				used, err := sp.Build(v)
				if err != nil {
					t.Fatal(err)
				}
				fresh, _ := sp.Build(v)
				used.Reserve(1)
				fresh.Reserve(4)
				old := anyFlow(t)
				c := used.Start(0, 0, old)
				for _, k := range anyAcks(t, old) {
					used.Ack(0, &k, &c)
				}
				f := anyFlow(t)
				cu, cf := used.Start(0, 0, f), fresh.Start(3, 0, f)
				for i, k := range anyAcks(t, f) {
					used.Reserve(1 + i)
					used.Ack(0, &k, &cu)
					fresh.Ack(3, &k, &cf)
					if cu != cf || !slices.Equal(gaugesOf(used, 0), gaugesOf(fresh, 3)) {
						t.Fatalf("acknowledgement %d: %+v in a used slot, %+v in a fresh one", i, cu, cf)
					}
				}
			})
		})
	}
}

func TestScaledWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode uint8
		rate float64
		want int64
	}{
		{windowVariable, 100e9, 52_000}, {windowVariable, 50e9, 26_000}, {windowVariable, 99.999e9, 51_999},
		{windowVariable, 1000, 1}, {windowFixed, 1000, 52_000}, {windowNone, 50e9, 0},
	} {
		if got := windowFor(c.mode, 52_000, c.rate, 100e9); got != c.want {
			t.Errorf("mode %d at %g: %d, want %d", c.mode, c.rate, got, c.want)
		}
	}
}

// ackStream is a steady stream of acknowledgements of a flow over five switches.
func ackStream(k *Ack, hops []Hop) {
	step := 87 * quantity.Nanosecond
	k.Now += step
	k.Seq += 1000
	k.Next = k.Seq + 48_000
	k.RTT = 4*usec + k.Now%(3*usec)
	k.Marked = int(k.Seq/1000) & 1
	for i := range hops {
		hops[i].At += step
		hops[i].Tx += 1090
		hops[i].Queue = uint32(k.Seq) & 0xfff
	}
}

func steady(a Algorithm) (*Ack, []Hop, *Control) {
	a.Reserve(1)
	f := longHaul()
	f.Hops = 6
	c := a.Start(0, 0, f)
	hops := make([]Hop, 5)
	for i := range hops {
		hops[i].Mbps = 100_000
	}
	return &Ack{Acked: 1000, Packets: 1, INT: hops}, hops, &c
}

func TestAckClockedAcksDoNotAllocate(t *testing.T) {
	for name, spec := range ackClockedSpecs() {
		sp, v := spec()
		a := built(t, sp, v)
		k, hops, c := steady(a)
		if n := testing.AllocsPerRun(1000, func() {
			ackStream(k, hops)
			a.Settle(0, k.Now, c)
			a.Sent(0, k.Now, 1090, c)
			a.Ack(0, k, c)
		}); n != 0 {
			t.Errorf("%s: %g allocations per acknowledgement", name, n)
		}
	}
}

func BenchmarkAck(b *testing.B) {
	for name, spec := range ackClockedSpecs() {
		sp, v := spec()
		b.Run(name, func(b *testing.B) {
			a := built(b, sp, v)
			k, hops, c := steady(a)
			b.ReportAllocs()
			for b.Loop() {
				ackStream(k, hops)
				a.Settle(0, k.Now, c)
				a.Ack(0, k, c)
			}
		})
	}
}

// The default of every parameter, formatted as in a scenario file, parses to the same value.
func TestAckClockedDefaultsSurviveTheirText(t *testing.T) {
	t.Parallel()
	for name, spec := range ackClockedSpecs() {
		sp, _ := spec()
		for i := range sp.Params {
			p := &sp.Params[i]
			if got, err := p.Parse(p.Text(p.Default)); err != nil || got != p.Default {
				t.Errorf("%s: %s: %v, %v, want %v", name, p.Name, got, err, p.Default)
			}
			if p.Doc == "" {
				t.Errorf("%s: %s has no text", name, p.Name)
			}
		}
		if _, err := ByName(sp.Name); err != nil {
			t.Error(fmt.Errorf("not registered: %w", err))
		}
	}
}
