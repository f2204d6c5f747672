package cc

import (
	"math"
	"testing"
	"unsafe"

	"fairlane/internal/quantity"
)

const usec = quantity.Microsecond

// agrees reports whether two numbers agree to a billionth.
func agrees(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// longHaul returns a flow with round numbers: 100 Gbit/s, 10 us, 125,000 bytes.
func longHaul() *Flow {
	return &Flow{
		LineRate: 100 * quantity.Gbps, BaseRTT: 10 * usec, BDP: 125_000, Payload: 1000, Wire: 1090, Hops: 4, Weight: 1,
	}
}

// hpccPeer is the preset that reproduces the runs of the paper's simulator.
func hpccPeer() Values { return HPCCPresets()[1].Values }

func startHPCC(t *testing.T, v Values) (*hpcc, Control) {
	t.Helper()
	a := built(t, hpccSpec(), v).(*hpcc)
	a.Reserve(1)
	return a, a.Start(0, 0, longHaul())
}

func stackAck(seq, next int64, hops ...Hop) *Ack {
	return &Ack{Seq: seq, Next: next, Acked: 1000, Packets: 1, INT: hops}
}

func gaugesOf(a Algorithm, slot int32) []float64 {
	g := make([]float64, len(a.Gauges()))
	a.Read(slot, g)
	return g
}

func TestHPCCEstimateIsTheFormula(t *testing.T) {
	t.Parallel()
	a, c := startHPCC(t, nil)
	if c.Rate != 100e9 || c.Window != 125_000 {
		t.Fatalf("the control at the start is %+v, want line rate and one bandwidth-delay product", c)
	}
	a.Ack(0, stackAck(1000, 60_000, Hop{At: usec, Tx: 5000, Queue: 20_000, Mbps: 100_000}), &c)
	if c.Rate != 100e9 {
		t.Fatalf("the first stack changed the rate to %g", c.Rate)
	}
	a.Ack(0, stackAck(2000, 61_000, Hop{At: 6 * usec, Tx: 55_000, Queue: 30_000, Mbps: 100_000}), &c)
	// 50,000 bytes in 5 us are 0.8 of the link rate, and a queue of 20,000 bytes is 0.16 of the bandwidth-delay product: u =
	// 0.96. The interval is half a round trip: U = 0.5 + 0.48.
	util := 0.98
	rate := 100e9/(util/0.95) + 40e6
	if g := gaugesOf(a, 0); !agrees(g[0], util) || g[1] != 100e9 {
		t.Errorf("U %g, reference %g; want %g and the line rate", g[0], g[1], util)
	}
	if !agrees(c.Rate, rate) || c.Window != int64(125_000*rate/100e9) {
		t.Errorf("control %+v, want %g and W = R T", c, rate)
	}
}

func TestHPCCUsesTheBusiestHop(t *testing.T) {
	t.Parallel()
	a, c := startHPCC(t, Values{"eta": 1, "rai": 0})
	first := []Hop{{At: usec, Mbps: 100_000}, {At: 2 * usec, Mbps: 400_000}, {At: 3 * usec, Mbps: 25_000}}
	a.Ack(0, stackAck(1000, 60_000, first...), &c)
	a.Ack(0, stackAck(2000, 61_000,
		Hop{At: 5 * usec, Tx: 25_000, Mbps: 100_000},  // 0.5
		Hop{At: 6 * usec, Tx: 200_000, Mbps: 400_000}, // 1
		Hop{At: 8 * usec, Tx: 31_250, Mbps: 25_000}),  // 2, in an interval of 5 us
		&c)
	if g := gaugesOf(a, 0); !agrees(g[0], 0.5*1+0.5*2) {
		t.Errorf("U %g, want 1.5 from the third hop", g[0])
	}
	if !agrees(c.Rate, 100e9/1.5) {
		t.Errorf("rate %g, want two thirds of the line rate", c.Rate)
	}
}

func TestHPCCReferenceMovesOncePerRoundTrip(t *testing.T) {
	t.Parallel()
	a, c := startHPCC(t, Values{"rai": 0, "eta": 1})
	at, tx := usec, uint32(0)
	ack := func(seq, next int64) {
		at += 10 * usec // a whole round trip: U takes the new value immediately
		tx += 250_000   // twice the rate of the link
		a.Ack(0, stackAck(seq, next, Hop{At: at, Tx: tx, Mbps: 100_000}), &c)
	}
	ack(1000, 60_000)
	for seq := int64(2000); seq <= 60_000; seq += 1000 {
		ack(seq, 60_000+seq)
		if g := gaugesOf(a, 0); g[1] != 100e9 || !agrees(c.Rate, 50e9) {
			t.Fatalf("at %d: rate %g of reference %g; want half of the line rate within the round trip", seq, c.Rate, g[1])
		}
	}
	ack(61_000, 121_000)
	if g := gaugesOf(a, 0); !agrees(g[1], 50e9) {
		t.Fatalf("reference %g after the round trip, want 50e9", g[1])
	}
	ack(62_000, 122_000)
	if !agrees(c.Rate, 25e9) {
		t.Errorf("rate %g, want half of the new reference rate", c.Rate)
	}
}

func TestHPCCWithoutFastReactionWaitsForTheRoundTrip(t *testing.T) {
	t.Parallel()
	a, c := startHPCC(t, Values{"fast_react": 0})
	a.Ack(0, stackAck(1000, 5000, Hop{At: usec, Mbps: 100_000}), &c)
	a.Ack(0, stackAck(5000, 9000, Hop{At: 11 * usec, Tx: 250_000, Mbps: 100_000}), &c)
	if c.Rate != 100e9 {
		t.Errorf("rate %g within the round trip", c.Rate)
	}
	a.Ack(0, stackAck(6000, 9000, Hop{At: 21 * usec, Tx: 500_000, Mbps: 100_000}), &c)
	if want := 100e9*0.95/2 + 40e6; !agrees(c.Rate, want) {
		t.Errorf("rate %g after the round trip, want %g", c.Rate, want)
	}
}

func TestHPCCStagesEndInAMultiplicativeStep(t *testing.T) {
	t.Parallel()
	a, c := startHPCC(t, Values{"max_stage": 5, "eta": 0.5})
	at, tx, seq := usec, uint32(0), int64(1000)
	step := func(bytes uint32) {
		at += 10 * usec
		tx += bytes
		a.Ack(0, stackAck(seq, seq+1, Hop{At: at, Tx: tx, Mbps: 100_000}), &c)
		seq += 1000
	}
	step(0)
	step(125_000) // U 1, twice eta
	want := 100e9/2 + 40e6
	if !agrees(c.Rate, want) {
		t.Fatalf("rate %g, want %g", c.Rate, want)
	}
	for i := range 5 {
		step(50_000) // U 0.4, below eta
		want += 40e6
		if !agrees(c.Rate, want) {
			t.Fatalf("additive step %d: rate %g, want %g", i, c.Rate, want)
		}
	}
	step(50_000)
	if want = want/0.8 + 40e6; !agrees(c.Rate, want) {
		t.Errorf("after five steps rate %g, want %g", c.Rate, want)
	}
}

func TestHPCCWireReadingTruncatesToHeaderUnits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line            quantity.BitRate
		txUnit, queUnit uint32
	}{
		{10 * quantity.Gbps, 128, 80}, {25 * quantity.Gbps, 128, 80}, {40 * quantity.Gbps, 128, 80},
		{100 * quantity.Gbps, 512, 320}, {400 * quantity.Gbps, 2048, 1280}, {800 * quantity.Gbps, 4096, 2560},
		{1600 * quantity.Gbps, 4096, 2560},
	} {
		a := built(t, hpccSpec(), hpccPeer()).(*hpcc)
		a.Reserve(1)
		f := longHaul()
		f.LineRate = c.line
		a.Start(0, 0, f)
		s := a.flows.at(0)
		old := a.read(s, &Hop{At: 16_777_215_999, Tx: math.MaxUint32 - 100, Queue: 7*c.queUnit + 79})
		now := a.read(s, &Hop{At: 16_777_216_999 + 87_000, Tx: 3*c.txUnit + 5, Queue: 9 * c.queUnit})
		dt, sent, queue := a.difference(s, now, old)
		if dt != 88*quantity.Nanosecond || sent != 4*c.txUnit || queue != 7*c.queUnit {
			t.Errorf("%s: %s, %d bytes sent, %d queued; want 88 ns, %d, %d", c.line, dt, sent, queue, 4*c.txUnit, 7*c.queUnit)
		}
	}
}

func TestHPCCIgnoresUnmeasurableHops(t *testing.T) {
	t.Parallel()
	stack := func(n int, at quantity.Picoseconds) []Hop {
		h := make([]Hop, n)
		for i := range h {
			h[i] = Hop{At: at, Mbps: 100_000, Queue: 1e6}
		}
		return h
	}
	for _, c := range []struct {
		name   string
		v      Values
		stacks [][]Hop
		same   bool
	}{
		{"no telemetry", nil, [][]Hop{nil, nil}, true},
		{"ten hops", nil, [][]Hop{stack(10, usec), stack(10, 2*usec)}, false},
		{"eleven hops", nil, [][]Hop{stack(11, usec), stack(11, 2*usec)}, true},
		{"five hops in the header", hpccPeer(), [][]Hop{stack(5, usec), stack(5, 2*usec)}, false},
		{"six hops in the header", hpccPeer(), [][]Hop{stack(6, usec), stack(6, 2*usec)}, true},
		{"the same packet twice", nil, [][]Hop{stack(2, usec), stack(2, usec)}, true},
		{"another path", nil, [][]Hop{stack(2, usec), stack(3, 2*usec)}, true},
		{"a byte count that may have wrapped around", nil, [][]Hop{stack(1, usec), stack(1, quantity.Second)}, true},
		{"no rate", nil, [][]Hop{{{At: usec}}, {{At: 2 * usec, Tx: 9}}}, true},
	} {
		a, ctl := startHPCC(t, c.v)
		for i, s := range c.stacks {
			a.Ack(0, stackAck(int64(1000+1000*i), 60_000, s...), &ctl)
		}
		if same := ctl.Rate == 100e9; same != c.same {
			t.Errorf("%s: rate %g", c.name, ctl.Rate)
		}
	}
}

func TestHPCCHeaderSizesEqualItsSimulators(t *testing.T) {
	t.Parallel()
	a, _ := startHPCC(t, nil)
	if tr := a.Traits(); 1000+48+tr.DataHeader != 1090 || 60+tr.AckHeader != 88 || !tr.INT || !tr.Repace {
		t.Errorf("traits %+v, want packets of 1090 and acknowledgements of 88 bytes", tr)
	}
}

func TestHPCCFlowIsSmall(t *testing.T) {
	t.Parallel()
	size := unsafe.Sizeof(hpccFlow{}) + hpccExactHops*unsafe.Sizeof(hpccHop{})
	if size > 300 || unsafe.Sizeof(hpccFlow{}) > 64 {
		t.Errorf("%d bytes per flow, want at most 300, of which 64 are not hops", size)
	}
}

// A single flow measures its own rate, U = R / C, so its rate settles at R = eta C + R_AI.
func TestSingleHPCCFlowSettlesAtEta(t *testing.T) {
	t.Parallel()
	s := newStar(built(t, hpccSpec(), nil), []int64{1e9}, []quantity.Picoseconds{0})
	s.run(2 * quantity.Millisecond)
	before := s.flows[0].acked
	s.run(3 * quantity.Millisecond)
	wire := float64(s.flows[0].acked-before) / 1000 * 1090 * 8 / 1e-3
	if want := 0.95*100e9 + 40e6; math.Abs(wire-want) > 0.01*want {
		t.Errorf("packets of %.2f Gbit/s, want %.2f", wire/1e9, want/1e9)
	}
	if s.peak > 2*1090 {
		t.Errorf("a queue of %d bytes without a second flow", s.peak)
	}
}

func TestHPCCReadingsDisagreeByLittle(t *testing.T) {
	t.Parallel()
	var acked [2]int64
	for i, v := range []Values{nil, hpccPeer()} {
		s := newStar(built(t, hpccSpec(), v), []int64{1e9, 1e9}, []quantity.Picoseconds{0, 0})
		s.run(5 * quantity.Millisecond)
		acked[i] = s.flows[0].acked + s.flows[1].acked
	}
	if d := float64(acked[1]) / float64(acked[0]); d < 0.98 || d > 1.02 {
		t.Errorf("truncation to header fields changes the throughput by %.3f", d)
	}
}

func TestHPCCPresetsBuild(t *testing.T) {
	t.Parallel()
	for _, p := range HPCCPresets() {
		if _, err := p.Build(); err != nil || p.Name == "" || p.Title == "" || p.Source == "" {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestHPCCRefusesPartsOfAStage(t *testing.T) {
	t.Parallel()
	spec := hpccSpec()
	if _, err := spec.Build(Values{"max_stage": 1.5}); err == nil {
		t.Error("one and a half stages are accepted")
	}
}
