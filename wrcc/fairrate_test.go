package wrcc_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

// params returns the paper's settings: 100 Gbit/s, WRCCT 24 us.
func params() wrcc.Params { return wrcc.DefaultParams(100*quantity.Gbps, 24*us) }

func TestAutoParm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate, rin float64 // Gbit/s, target 64
		level     float64
	}{
		{rate: 10, rin: 0, level: 2},
		{rate: 10, rin: 32, level: 2}, // half is left: at the limit
		{rate: 10, rin: 32.01, level: 4},
		{rate: 10, rin: 48, level: 4},
		{rate: 10, rin: 48.01, level: 8},
		{rate: 10, rin: 56, level: 8},
		{rate: 10, rin: 60, level: 16},
		{rate: 10, rin: 62, level: 32},
		{rate: 10, rin: 62.01, level: 64},
		{rate: 10, rin: 63.5, level: 64}, // 1/128 is left: 64 is the last
		{rate: 10, rin: 64, level: 64},
		{rate: 10, rin: 70, level: 64}, // above the target
		{rate: 63.99, rin: 64, level: 64},
		{rate: 64, rin: 64, level: 2}, // a fair rate at the target limits no flow
		{rate: 100, rin: 70, level: 2},
	} {
		alpha, beta := wrcc.AutoParm(c.rate*1e9, c.rin*1e9, 64e9)
		if alpha != 1/c.level || beta != alpha/2 {
			t.Errorf("rate %v, input %v: alpha 1/%v, beta 1/%v; want 1/%v and half of it", c.rate, c.rin, 1/alpha, 1/beta, c.level)
		}
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	const rtt = 12 // us, within WRCCT: formula (2) then has WRCCT for RTTavg
	for name, c := range map[string]struct {
		rate float64
		in   wrcc.PeriodInput
		want float64
	}{
		"eight senders at line rate are reduced to an eighth in one step": {
			100e9, wrcc.PeriodInput{RinBps: 800e9, RTTSum: rtt, PktNum: 1}, 12.5e9},
		"just below RateRatioMax the rate is not divided": {
			10e9, wrcc.PeriodInput{RinBps: 109.9e9, RTTSum: rtt, PktNum: 1}, 10e9 * (1 - 0.099/64)},
		"at RateRatioMax the rate is": {
			10e9, wrcc.PeriodInput{RinBps: 110e9, RTTSum: rtt, PktNum: 1}, 10e9 / 1.1},
		"a pause halves the rate though the input fits": {
			10e9, wrcc.PeriodInput{RinBps: 100e9, SumPFC: 1, RTTSum: rtt, PktNum: 1}, 5e9},
		"a pause does not weaken a larger decrease": {
			10e9, wrcc.PeriodInput{RinBps: 400e9, SumPFC: 7, RTTSum: rtt, PktNum: 1}, 2.5e9},
		"an idle port grows by half": {
			10e9, wrcc.PeriodInput{}, 15e9},
		"a flow with a long round trip makes the step smaller": {
			10e9, wrcc.PeriodInput{RinBps: 50e9, RTTSum: 240 * 10, PktNum: 10}, 10e9 * (1 + 0.1*0.5*0.5)},
		"at the target with a queue within its limit the rate stays": {
			10e9, wrcc.PeriodInput{RinBps: 100e9, Ingresses: 1, QueueBytes: 500_000, QMaxBytes: 1_000_000, RTTSum: rtt, PktNum: 1}, 10e9},
		// 24,000 bytes over in 24 us is 8 Gbit/s; beta is 1/128: 8/128/100 of the rate.
		"a queue over its limit drains": {
			10e9, wrcc.PeriodInput{RinBps: 100e9, Ingresses: 1, QueueBytes: 524_000, QMaxBytes: 1_000_000, RTTSum: rtt, PktNum: 1}, 10e9 * (1 - 8.0/128/100)},
		// The shared buffer is full: the whole queue of 24,000 bytes is over the limit.
		"a queue in a full buffer drains": {
			10e9, wrcc.PeriodInput{RinBps: 100e9, Ingresses: 2, QueueBytes: 24_000, RTTSum: rtt, PktNum: 1}, 10e9 * (1 - 8.0/128/100)},
		"a threshold below zero counts as zero": {
			10e9, wrcc.PeriodInput{RinBps: 100e9, Ingresses: 1, QueueBytes: 24_000, QMaxBytes: -1 << 60, RTTSum: rtt, PktNum: 1}, 10e9 * (1 - 8.0/128/100)},
		"with no ingress port there is no limit": {
			10e9, wrcc.PeriodInput{RinBps: 100e9, QueueBytes: 1 << 40, RTTSum: rtt, PktNum: 1}, 10e9},
		"Fmin holds": {150e6, wrcc.PeriodInput{RinBps: 800e9}, 100e6},
		"Fmax holds": {90e9, wrcc.PeriodInput{}, 100e9},
		"a full queue lowers the rate to Fmin, not below zero": {
			10e9, wrcc.PeriodInput{RinBps: 109e9, Ingresses: 1, QueueBytes: 1 << 62, QMaxBytes: 1 << 20, RTTSum: rtt, PktNum: 1}, 100e6},
		"an invalid rate is ignored": {10e9, wrcc.PeriodInput{RinBps: math.NaN()}, 15e9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := params()
			s := wrcc.PortState{FairRate: c.rate}
			st := s.Update(&p, &c.in)
			if math.Abs(s.FairRate-c.want) > 1 || st.FairRate != s.FairRate {
				t.Errorf("fair rate %.0f (%.0f in the step), want %.0f", s.FairRate, st.FairRate, c.want)
			}
		})
	}
}

func TestUpdateReportsItsReason(t *testing.T) {
	t.Parallel()
	p := params()
	s := wrcc.NewPortState(&p)
	got := s.Update(&p, &wrcc.PeriodInput{RinBps: 800e9, SumPFC: 1, Ingresses: 1, QueueBytes: 900, QMaxBytes: 1000, RTTSum: 24, PktNum: 2})
	if want := (wrcc.Step{FairRate: 12.5e9, SlowDown: 8, ExtraQ: 400, Divided: true, MeanRTTus: 24}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = s.Update(&p, &wrcc.PeriodInput{})
	if got.Divided || got.Alpha != 0.5 || got.SlowDown != 0 || got.Clamped {
		t.Errorf("idle period: %+v", got)
	}
}

// The excess queue is the part above QRatioMax·Qmax; the printed Qmax - Qp would fall as the queue grows.
func TestExtraQueueGrowsWithTheQueue(t *testing.T) {
	t.Parallel()
	p := params()
	last := int64(-1)
	for q := int64(0); q <= 1000; q += 50 {
		s := wrcc.PortState{FairRate: 10e9}
		extra := s.Update(&p, &wrcc.PeriodInput{RinBps: 100e9, Ingresses: 1, QueueBytes: q, QMaxBytes: 1000}).ExtraQ
		if want := max(0, q-500); extra != want || extra < last {
			t.Errorf("queue %d: extra %d, want %d", q, extra, want)
		}
		last = extra
	}
}

func TestAverageRTT(t *testing.T) {
	t.Parallel()
	p := params()
	s := wrcc.NewPortState(&p)
	s.Update(&p, &wrcc.PeriodInput{})
	if s.AvgRTT != 0 {
		t.Errorf("average %v without packets", s.AvgRTT)
	}
	s.Update(&p, &wrcc.PeriodInput{RTTSum: 4000, PktNum: 2})
	if s.AvgRTT != 2e-3 {
		t.Errorf("first average %v, want 2 ms", s.AvgRTT)
	}
	s.Update(&p, &wrcc.PeriodInput{RTTSum: 10, PktNum: 1})
	if want := 0.9*2e-3 + 0.1*10e-6; math.Abs(s.AvgRTT-want) > 1e-12 {
		t.Errorf("second average %v, want %v", s.AvgRTT, want)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	s := wrcc.PortState{FairRate: 12.5e9}
	for in, want := range map[uint32]struct {
		mbps  uint32
		above bool
	}{
		100_000: {12_500, true}, 12_501: {12_500, true}, 12_500: {12_500, false}, 1: {1, false}, 0: {0, false},
	} {
		if got, above := s.Limit(in); got != want.mbps || above != want.above {
			t.Errorf("%d: %d, %v; want %+v", in, got, above, want)
		}
	}
	if got := (&wrcc.PortState{FairRate: 3}).Mbps(); got != 1 {
		t.Errorf("fair rate of 3 bit/s is %d Mbit/s: want the minimum of a header", got)
	}
}

// For any measurements of a switch, the fair rate is a number between Fmin and Fmax.
func TestFairRateStaysInRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := params()
		p.RateRatioPct = rapid.IntRange(100, 200).Draw(t, "rate ratio")
		p.QRatioPct = rapid.IntRange(10, 60).Draw(t, "queue ratio")
		s := wrcc.NewPortState(&p)
		for range rapid.IntRange(1, 30).Draw(t, "periods") {
			s.Update(&p, &wrcc.PeriodInput{
				RinBps: rapid.Float64().Draw(t, "input"), SumPFC: rapid.Uint32().Draw(t, "pauses"),
				Ingresses: rapid.IntRange(-1, 64).Draw(t, "ingresses"), QueueBytes: rapid.Int64().Draw(t, "queue"), QMaxBytes: rapid.Int64().Draw(t, "limit"),
				RTTSum: rapid.Uint64().Draw(t, "rtt"), PktNum: rapid.Uint32().Draw(t, "packets"),
			})
			if !(s.FairRate >= float64(p.Fmin) && s.FairRate <= float64(p.Fmax)) {
				t.Fatalf("fair rate %v", s.FairRate)
			}
		}
	})
}

// More input never gives a higher fair rate, and neither does more queue.
func TestFairRateFallsWithLoad(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := params()
		rate := rapid.Float64Range(1e8, 99e9).Draw(t, "rate")
		lo := wrcc.PeriodInput{RinBps: rapid.Float64Range(0, 4e11).Draw(t, "input"), QueueBytes: rapid.Int64Range(0, 2e6).Draw(t, "queue"), QMaxBytes: 2e6, RTTSum: 12, PktNum: 1}
		hi := lo
		hi.QueueBytes += rapid.Int64Range(0, 1e6).Draw(t, "more queue")
		a, b := wrcc.PortState{FairRate: rate}, wrcc.PortState{FairRate: rate}
		a.Update(&p, &lo)
		b.Update(&p, &hi)
		if b.FairRate > a.FairRate {
			t.Fatalf("queue %d: %v, queue %d: %v", lo.QueueBytes, a.FairRate, hi.QueueBytes, b.FairRate)
		}
		hi = lo
		hi.RinBps += rapid.Float64Range(0, 1e11).Draw(t, "more input")
		c := wrcc.PortState{FairRate: rate}
		// The queue is zero here, because a larger alpha also gives the queue more weight.
		lo.QueueBytes, hi.QueueBytes = 0, 0
		a = wrcc.PortState{FairRate: rate}
		a.Update(&p, &lo)
		c.Update(&p, &hi)
		if c.FairRate > a.FairRate {
			t.Fatalf("input %v: %v, input %v: %v", lo.RinBps, a.FairRate, hi.RinBps, c.FairRate)
		}
	})
}

func TestUpdateDoesNotAllocate(t *testing.T) {
	p, s := params(), wrcc.PortState{FairRate: 1e10}
	in := wrcc.PeriodInput{RinBps: 9e10, Ingresses: 1, QueueBytes: 1e6, QMaxBytes: 1e6, RTTSum: 120, PktNum: 10}
	if n := testing.AllocsPerRun(100, func() { s.Update(&p, &in); s.Limit(5) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkUpdate(b *testing.B) {
	b.ReportAllocs()
	p, s := params(), wrcc.PortState{FairRate: 1e10}
	in := wrcc.PeriodInput{RinBps: 9e10, Ingresses: 1, QueueBytes: 1e6, QMaxBytes: 1e6, RTTSum: 120, PktNum: 10}
	for b.Loop() {
		s.Update(&p, &in)
	}
}
