package cc

import (
	"math"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

func dcqcnSpecs() []Spec {
	return []Spec{dcqcnSpec(), dcqcnPeerSpec(), dcqcnMlxSpec(), dcqcnPSpec()}
}

// drawnAlgorithm draws an implementation of DCQCN, with parameters from their whole ranges.
func drawnAlgorithm(t *rapid.T) (spec Spec, v Values) {
	spec = rapid.SampledFrom(dcqcnSpecs()).Draw(t, "algorithm")
	v = Values{}
	for _, p := range spec.Params {
		if rapid.Bool().Draw(t, "default "+p.Name) {
			continue
		}
		switch p.Kind {
		case ParamWord:
			v[p.Name] = float64(rapid.IntRange(0, len(p.Words)-1).Draw(t, p.Name))
		case ParamFlag:
			v[p.Name] = float64(rapid.IntRange(0, 1).Draw(t, p.Name))
		case ParamDuration:
			// Short periods coincide often. All are whole microseconds, the unit of the registers.
			v[p.Name] = float64(rapid.Int64Range(1, 100).Draw(t, p.Name)) * 1e6
		case ParamRate:
			v[p.Name] = float64(rapid.Int64Range(int64(max(p.Min/1e6, 1)), 131071).Draw(t, p.Name)) * 1e6
		default:
			whole := rapid.Int64Range(int64(math.Ceil(p.Min)), int64(min(p.Max, 40000))).Draw(t, p.Name)
			v[p.Name] = min(float64(whole), p.Max)
			if p.Max <= 1 {
				v[p.Name] = rapid.Float64Range(p.Min, p.Max).Draw(t, p.Name)
			}
		}
	}
	// Contradictory values are replaced by their defaults, the last ones first, until Build accepts the set. All defaults
	// together are valid.
	for i := len(spec.Params) - 1; i >= 0; i-- {
		if _, err := spec.Build(v); err == nil {
			break
		}
		delete(v, spec.Params[i].Name)
	}
	return spec, v
}

// happening is an event at an instant of a random history.
type happening struct {
	after quantity.Picoseconds
	kind  int // 0 nothing, 1 an echo, 2 a CNP, 3 packets are sent
	halt  quantity.Picoseconds
}

func drawnHistory(t *rapid.T) []happening {
	step := rapid.Custom(func(t *rapid.T) happening {
		h := happening{kind: rapid.IntRange(0, 3).Draw(t, "kind")}
		switch rapid.IntRange(0, 3).Draw(t, "scale") {
		case 0:
			h.after = quantity.Picoseconds(rapid.Int64Range(0, 20).Draw(t, "us")) * testUS
		case 1:
			h.after = quantity.Picoseconds(rapid.Int64Range(0, 100_000_000).Draw(t, "ps"))
		case 2:
			h.after = quantity.Picoseconds(rapid.Int64Range(0, 5).Draw(t, "ms")) * quantity.Millisecond
		case 3:
			h.after = quantity.Picoseconds(rapid.Int64Range(0, 200).Draw(t, "ns")) * quantity.Nanosecond
		}
		h.halt = quantity.Picoseconds(rapid.Int64Range(0, int64(h.after)).Draw(t, "halt"))
		return h
	})
	return rapid.SliceOfN(step, 1, 60).Draw(t, "history")
}

func (h happening) apply(a Algorithm, now quantity.Picoseconds, c *Control) {
	a.Settle(0, now, c)
	switch h.kind {
	case 1:
		a.Ack(0, &Ack{Now: now, Marked: 1, Packets: 1}, c)
	case 2:
		a.Notify(0, &Notification{Now: now, Kind: NotifyCNP}, c)
	case 3:
		for range 40 {
			a.Sent(0, now, 4096, c)
		}
	}
}

func mustBuild(t *rapid.T, s *Spec, v Values) Algorithm {
	a, err := s.Build(v)
	if err != nil {
		t.Fatal(err)
	}
	a.Reserve(1)
	return a
}

// minRate returns the minimum rate of a flow: the parameter, limited to the flow's maximum rate.
func minRate(s *Spec, v Values, line float64) float64 {
	given := func(name string) float64 {
		p, ok := s.Param(name)
		if !ok {
			return 0
		}
		if x, ok := v[name]; ok {
			return x
		}
		return p.Default
	}
	floor := min(given("min_rate")+given("rpg_min_rate"), line)
	if most := given("rpg_max_rate"); most > 0 {
		floor = min(floor, most)
	}
	return floor
}

// The rate stays between its minimum and the line rate, and alpha between 0 and 1. One settlement, the same in two parts, and
// the same twice give bit-identical results.
func TestRatesStayInBoundsAndSettlingTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec, v := drawnAlgorithm(t)
		once, twice := mustBuild(t, &spec, v), mustBuild(t, &spec, v)
		line := float64(rapid.Int64Range(1, 400).Draw(t, "line")) * 1e9
		flow := &Flow{LineRate: quantity.BitRate(line), BDP: 52000}
		c1, c2 := once.Start(0, 0, flow), twice.Start(0, 0, flow)
		floor := minRate(&spec, v, line)
		var now quantity.Picoseconds
		g1, g2 := make([]float64, len(once.Gauges())), make([]float64, len(twice.Gauges()))
		for _, h := range drawnHistory(t) {
			twice.Settle(0, now+h.halt, &c2)
			twice.Settle(0, now+h.halt, &c2)
			now += h.after
			h.apply(once, now, &c1)
			h.apply(twice, now, &c2)
			once.Read(0, g1)
			twice.Read(0, g2)
			if c1 != c2 || g1[0] != g2[0] || g1[1] != g2[1] || g1[2] != g2[2] {
				t.Fatalf("%s at %s: %+v %v; settled in parts %+v %v", spec.Name, now, c1, g1, c2, g2)
			}
			if !(c1.Rate >= floor*(1-1e-12) && c1.Rate <= line) {
				t.Fatalf("%s at %s: rate %v, want %v to %v", spec.Name, now, c1.Rate, floor, line)
			}
			if !(g1[1] >= 0 && g1[1] <= 1) {
				t.Fatalf("%s at %s: alpha %v", spec.Name, now, g1[1])
			}
		}
	})
}

// Calls of Settle and Sent before the first mark or notification have no effect on the later state, to the last bit.
func TestQuietFlowsNeedNoCallsBeforeTheirFirstMark(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec, v := drawnAlgorithm(t)
		always, late := mustBuild(t, &spec, v), mustBuild(t, &spec, v)
		if !always.Traits().Quiet {
			t.Fatalf("%s is not quiet", spec.Name)
		}
		flow := &Flow{LineRate: quantity.BitRate(rapid.Int64Range(1, 400).Draw(t, "line")) * quantity.Gbps, BDP: 52000}
		c1, c2 := always.Start(0, 0, flow), late.Start(0, 0, flow)
		var now quantity.Picoseconds
		var g1, g2 [3]float64
		marked := false
		for _, h := range drawnHistory(t) {
			now += h.after
			marked = marked || h.kind == 1 || h.kind == 2
			h.apply(always, now, &c1)
			if marked {
				h.apply(late, now, &c2)
			}
			unmarked := &Ack{Now: now, Packets: 1}
			always.Ack(0, unmarked, &c1)
			late.Ack(0, unmarked, &c2)
			always.Read(0, g1[:])
			late.Read(0, g2[:])
			if c1 != c2 || g1 != g2 {
				t.Fatalf("%s at %s: %+v %v; with calls from the first mark on %+v %v", spec.Name, now, c1, g1, c2, g2)
			}
		}
	})
}

func TestFlowsAreSmall(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]uintptr{
		"dcqcn": unsafe.Sizeof(dcqcnFlow{}), "dcqcn-peer": unsafe.Sizeof(dcqcnPeerFlow{}),
		"dcqcn-mlx": unsafe.Sizeof(dcqcnMlxFlow{}), "dcqcn-p": unsafe.Sizeof(dcqcnPFlow{}),
	} {
		if size > 96 {
			t.Errorf("%s: %d bytes per flow, want at most 96", name, size)
		}
	}
}

func TestDCQCNAllocatesNothing(t *testing.T) { // not parallel: other tests would add allocations
	for _, s := range dcqcnSpecs() {
		r := newDCQCNRig(t, s.Name, nil)
		g := make([]float64, 3)
		now := r.now
		ack, cnp, flow := &Ack{Marked: 1}, &Notification{}, &Flow{LineRate: testLine}
		if n := testing.AllocsPerRun(200, func() {
			now += 7 * testUS
			r.a.Settle(0, now, &r.c)
			ack.Now, cnp.Now = now, now
			r.a.Ack(0, ack, &r.c)
			r.a.Sent(0, now, 1048, &r.c)
			r.a.Notify(0, cnp, &r.c)
			r.a.Read(0, g)
			r.c = r.a.Start(0, now, flow)
		}); n != 0 {
			t.Errorf("%s: %v allocations per round, want none", s.Name, n)
		}
	}
}

func TestReserveKeepsTheStateOfFlows(t *testing.T) {
	t.Parallel()
	for _, s := range dcqcnSpecs() {
		r := newDCQCNRig(t, s.Name, nil).at(0).cnp().at(5 * testUS)
		before := r.c.Rate
		r.a.Reserve(100)
		r.at(5*testUS).wantRate(before, s.Name)
	}
}

// The cost of settling an idle flow does not depend on the idle time: the counters advance without executing each expiry.
func TestLongIdleTimeIsCheap(t *testing.T) {
	t.Parallel()
	p := RPParams{Reading: RecoverDCQCN, Threshold: 5, AI: 40e6, HAI: 400e6}
	s := RPState{Rate: testLine, Target: testLine}
	next := s.expire(&p, testLine, noStop, 1, 1+1000*quantity.Second, 1)
	if next != 2+1000*quantity.Second || s.TimeStage != math.MaxUint16 || s.Rate != testLine {
		t.Errorf("next expiry %d, stage %d, rate %v", next, s.TimeStage, s.Rate)
	}
	// Without an additive step, the rate settles below the top.
	p.AI, p.HAI = 0, 0
	s = RPState{Rate: 10e9, Target: 20e9}
	next = s.expire(&p, testLine, noStop, 1, 1+1000*quantity.Second, 1)
	if next != 2+1000*quantity.Second || !sameValue(s.Rate, 20e9, 1e-12) {
		t.Errorf("next expiry %d, rate %v", next, s.Rate)
	}
}

func benchmarkDCQCN(b *testing.B, name string, every int) {
	s, err := ByName(name)
	if err != nil {
		b.Fatal(err)
	}
	a, err := s.Build(nil)
	if err != nil {
		b.Fatal(err)
	}
	a.Reserve(1)
	c := a.Start(0, 0, &Flow{LineRate: testLine})
	ack := Ack{Packets: 1}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		ack.Now += 90 * quantity.Nanosecond
		ack.Marked = 0
		if i++; i%every == 0 {
			ack.Marked = 1
		}
		a.Settle(0, ack.Now, &c)
		a.Ack(0, &ack, &c)
	}
}

func BenchmarkDCQCNSettleAck(b *testing.B) {
	for _, s := range dcqcnSpecs() {
		b.Run(s.Name+"/marks 1 in 8", func(b *testing.B) { benchmarkDCQCN(b, s.Name, 8) })
		b.Run(s.Name+"/marks 1 in 1000", func(b *testing.B) { benchmarkDCQCN(b, s.Name, 1000) })
	}
}
