package cc

import (
	"math"
	"testing"

	"fairlane/internal/quantity"
)

const (
	testUS   = quantity.Microsecond
	testLine = 100e9 // line rate of the flows under test
)

// dcqcnRig drives one flow of one algorithm.
type dcqcnRig struct {
	t   *testing.T
	a   Algorithm
	c   Control
	now quantity.Picoseconds
}

func newDCQCNRig(t *testing.T, name string, v Values) *dcqcnRig {
	t.Helper()
	s, err := ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Build(v)
	if err != nil {
		t.Fatal(err)
	}
	a.Reserve(1)
	return &dcqcnRig{t: t, a: a, c: a.Start(0, 0, &Flow{LineRate: testLine, BDP: 52000})}
}

// at advances the flow to an instant.
func (r *dcqcnRig) at(now quantity.Picoseconds) *dcqcnRig {
	r.now = now
	r.a.Settle(0, now, &r.c)
	return r
}

func (r *dcqcnRig) cnp() *dcqcnRig {
	r.a.Notify(0, &Notification{Now: r.now, Kind: NotifyCNP}, &r.c)
	return r
}

func (r *dcqcnRig) echo() *dcqcnRig {
	r.a.Ack(0, &Ack{Now: r.now, Marked: 1, Packets: 1}, &r.c)
	return r
}

func (r *dcqcnRig) send(bytes int) *dcqcnRig {
	for ; bytes > 0; bytes -= 1000 {
		r.a.Sent(0, r.now, min(bytes, 1000), &r.c)
	}
	return r
}

func (r *dcqcnRig) gauges() (target, alpha, stage float64) {
	var g [3]float64
	r.a.Read(0, g[:])
	return g[0], g[1], g[2]
}

func (r *dcqcnRig) wantRate(want float64, why string) {
	r.t.Helper()
	if !sameValue(r.c.Rate, want, 1e-9) {
		r.t.Errorf("at %s: rate %v, want %v: %s", r.now, r.c.Rate, want, why)
	}
}

func (r *dcqcnRig) wantTarget(want float64, why string) {
	r.t.Helper()
	if got, _, _ := r.gauges(); !sameValue(got, want, 1e-9) {
		r.t.Errorf("at %s: target %v, want %v: %s", r.now, got, want, why)
	}
}

func (r *dcqcnRig) wantAlpha(want float64, why string) {
	r.t.Helper()
	if _, got, _ := r.gauges(); !sameValue(got, want, 1e-9) {
		r.t.Errorf("at %s: alpha %v, want %v: %s", r.now, got, want, why)
	}
}

func TestEachNotificationAtAlphaOneHalvesTheRate(t *testing.T) {
	t.Parallel()
	r := newDCQCNRig(t, "dcqcn", nil)
	for k := range 6 {
		r.at(quantity.Picoseconds(k) * 10 * testUS).cnp()
		r.wantRate(testLine/math.Exp2(float64(k+1)), "R_C = R_C (1 - alpha/2), and alpha stays 1")
		r.wantTarget(testLine/math.Exp2(float64(k)), "R_T is the rate before the cut")
	}
}

func TestAlphaDecaysWithoutNotifications(t *testing.T) {
	t.Parallel()
	r := newDCQCNRig(t, "dcqcn", nil).at(0).cnp()
	r.at(55*testUS-1).wantAlpha(1, "the first period has not passed")
	r.at(55*testUS).wantAlpha(255.0/256, "one period")
	a := 255.0 / 256 * 255 / 256 * 255 / 256
	r.at(3*55*testUS).wantAlpha(a, "three periods")
	r.cnp().wantAlpha(a*255/256+1.0/256, "alpha = (1-g) alpha + g")
	r.at(4*55*testUS).wantAlpha((a*255/256+1.0/256)*255/256, "the notification restarts the period")
	r.at(quantity.Second)
	a = (a*255/256 + 1.0/256) * math.Pow(255.0/256, math.Floor((1e6-165)/55))
	r.wantAlpha(a, "one long interval has the effect of its periods")
}

func TestThePapersIncreaseByTime(t *testing.T) {
	t.Parallel()
	for name, fast := range map[string]int{"below": 4, "at-most": 5} {
		compare := map[string]float64{"at-most": 0, "below": 1}[name]
		r := newDCQCNRig(t, "dcqcn", Values{"stage_compare": compare}).at(0).cnp().cnp()
		rate, target := 25e9, 50e9
		for k := 1; k <= 30; k++ {
			if k > fast {
				target += 40e6
			}
			rate = (rate + target) / 2
			r.at(quantity.Picoseconds(k) * 55 * testUS)
			r.wantRate(rate, name+": fast recovery, then additive increase")
		}
		r.wantTarget(target, name+": each additive step adds R_AI")
	}
}

func TestHyperIncreaseNeedsBothCounters(t *testing.T) {
	t.Parallel()
	for _, byStage := range []float64{0, 1} {
		r := newDCQCNRig(t, "dcqcn", Values{
			"byte_counter": 1e6, "fast_recovery_stages": 1, "stage_compare": 0, "r_ai": 1e9, "r_hai": 5e9, "hyper_by_stage": byStage,
		}).at(0).cnp().cnp()
		r.send(1e6).wantTarget(50e9, "first stage: fast recovery")
		r.send(1e6).wantTarget(51e9, "only the byte stage is past the threshold: additive")
		r.at(55*testUS).wantTarget(52e9, "T is 1: still additive")
		r.at(110*testUS).wantTarget(57e9, "both stages are past the threshold: hyper")
		want := 62e9
		if byStage == 1 {
			want = 57e9 + 2*5e9
		}
		r.send(1e6).at(165*testUS).wantTarget(want+map[float64]float64{0: 5e9, 1: 5e9}[byStage], "hyper again, by bytes and by time")
	}
}

func TestANotificationStartsTimerAndByteCounterAgain(t *testing.T) {
	t.Parallel()
	r := newDCQCNRig(t, "dcqcn", Values{"byte_counter": 1e6}).at(0).cnp().send(999_000)
	r.at(54*testUS).cnp().wantRate(25e9, "no increase yet")
	r.send(999_000).at(108*testUS).wantRate(25e9, "neither timer nor bytes have expired since the cut")
	r.at(109*testUS).wantRate(37.5e9, "the timer has expired")
	r.send(1000).wantRate(43.75e9, "the byte counter has expired")
}

func TestEchoesAreSpacedByTheNotificationInterval(t *testing.T) {
	t.Parallel()
	r := newDCQCNRig(t, "dcqcn", nil).at(0).echo().wanted(50e9)
	r.at(49 * testUS).echo().wanted(50e9)
	r.at(50 * testUS).echo().wanted(25e9)
	r.at(51 * testUS).cnp().wanted(12.5e9) // the receiver already spaces notification packets
	r.a.Ack(0, &Ack{Now: r.now + quantity.Second, Packets: 4}, &r.c)
	r.wanted(12.5e9)
	r.a.Notify(0, &Notification{Now: r.now, Kind: NotifyFCNP}, &r.c)
	r.wanted(12.5e9)
}

func (r *dcqcnRig) wanted(rate float64) *dcqcnRig {
	r.t.Helper()
	r.wantRate(rate, "rate after the notifications so far")
	return r
}

func TestFlowWithoutCongestionIsUnchanged(t *testing.T) {
	t.Parallel()
	for _, s := range dcqcnSpecs() {
		r := newDCQCNRig(t, s.Name, nil).at(quantity.Second).send(40e6).at(2 * quantity.Second)
		r.wantRate(testLine, s.Name)
	}
}

func TestDCQCNRequestsMarksAndCounters(t *testing.T) {
	t.Parallel()
	for _, s := range dcqcnSpecs() {
		a := built(t, s, nil)
		want := Traits{ECN: true, CNP: true, Sent: s.Name != "dcqcn-peer", Quiet: true}
		if got := a.Traits(); got != want {
			t.Errorf("%s: %+v, want %+v", s.Name, got, want)
		}
	}
	for name, off := range map[string]string{"dcqcn": "byte_counter", "dcqcn-mlx": "rpg_byte_reset", "dcqcn-p": "byte_counter"} {
		r := newDCQCNRig(t, name, Values{off: 0}).at(0).cnp().at(10 * testUS)
		if r.a.Traits().Sent {
			t.Errorf("%s counts bytes with the counter off", name)
		}
		before := r.c.Rate
		r.send(100e6).wantRate(before, "no byte counter, no increase")
	}
}

func TestPresetsBuild(t *testing.T) {
	t.Parallel()
	for _, p := range DCQCNPresets() {
		if _, err := p.Build(); err != nil {
			t.Error(err)
		}
		if got, err := DCQCNPreset(p.Name); err != nil || got.Title != p.Title {
			t.Errorf("%s: %+v, %v", p.Name, got, err)
		}
	}
	if _, err := DCQCNPreset("dctcp"); err == nil {
		t.Error("ByName found an unknown name")
	}
	if _, err := (&Preset{Name: "x", Algorithm: "y"}).Build(); err == nil {
		t.Error("Build accepted a preset of an unknown algorithm")
	}
}
