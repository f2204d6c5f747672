package cc

import (
	"math"
	"strings"
	"testing"

	"fairlane/internal/quantity"
)

const testMonitor = 4 * testUS

func TestGD11IsThePapersDecreaseAndGD10TwiceThat(t *testing.T) {
	t.Parallel()
	// With G at 1023 of 1024, alpha stays near its initial value.
	for gd, want := range map[float64]float64{
		11: 1 - 1019.0/2048, 12: 1 - 1019.0/4096, 15: 1 - 1019.0/32768,
		10: 0.5, 0: 0.5, // limit of one cut: min_dec_fac 50 %
	} {
		r := newDCQCNRig(t, "dcqcn-mlx", Values{"rpg_gd": gd, "dce_tcp_g": 1023}).at(0).cnp()
		r.wantRate(testLine, "the cut waits for the end of the monitor period")
		// In four periods with factor 1023/1024, alpha falls from 1023 to 1019.01. The cut uses the integer part.
		r.at(testMonitor).wantRate(testLine*want, "1 - A/2^GD, with where A is the integer alpha")
	}
	r := newDCQCNRig(t, "dcqcn-mlx", Values{"rpg_gd": 10, "rpg_min_dec_fac": 0, "dce_tcp_g": 1023}).at(0).cnp()
	r.at(testMonitor).wantRate(testLine*(1-1019.0/1024), "without a limit of the cut, GD 10 means 1 - alpha")
	r = newDCQCNRig(t, "dcqcn-mlx", Values{"rpg_min_dec_fac": 100}).at(0).cnp()
	r.at(testMonitor).wantRate(testLine, "100 percent never cuts")
}

func TestAlphaSettlesNearAQuarterUnderContinuousNotifications(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]float64{
		// One period of four has a notification: alpha is g / (1 - (1-g)^4) right after that period.
		"fraction": (5.0 / 1024) / (1 - math.Pow(1019.0/1024, 4)),
		// Truncation lowers alpha by up to one whole step per period, so the value is smaller.
		"integer": 205.0 / 1024,
	} {
		s := dcqcnMlxSpec()
		p, _ := s.Param("alpha_state")
		word, err := p.Parse(state)
		if err != nil {
			t.Fatal(err)
		}
		r := newDCQCNRig(t, "dcqcn-mlx", Values{"alpha_state": word})
		for k := range quantity.Picoseconds(2000) {
			r.at(k*testMonitor + testUS/2).cnp()
		}
		r.at(r.now + testUS) // the period with the notification has passed
		if _, got, _ := r.gauges(); math.Abs(got-want) > 0.005 {
			t.Errorf("%s: alpha %v, want about %v", state, got, want)
		}
	}
}

func TestTheGainReadingHasNoMemory(t *testing.T) {
	t.Parallel()
	r := newDCQCNRig(t, "dcqcn-mlx", Values{"alpha_filter": 1}).at(0).cnp()
	r.at(testUS).wantAlpha(1023.0*5/1024/1024, "a period without a notification retains 5/1024")
	r.at(testUS + 1).cnp().at(2 * testUS)
	if _, got, _ := r.gauges(); got < 0.99 || got > 1 {
		t.Errorf("alpha %v after a period with a notification, want about 1", got)
	}
}

// increased returns a flow after a cut at 4 us, two more cuts some periods later, and then one increase from each requested
// source.
func increased(t *testing.T, v Values, byTime, byBytes bool) *dcqcnRig {
	t.Helper()
	all := Values{"rpg_byte_reset": 1000, "rpg_byte_unit": 1, "rpg_time_reset": 50e6}
	for k, x := range v {
		all[k] = x
	}
	r := newDCQCNRig(t, "dcqcn-mlx", all).at(0).cnp().at(testMonitor)
	r.wantTarget(testLine, "no increase yet: the target is unchanged")
	if v["clamp_tgt_rate"] == 0 {
		r.cnp().at(2*testMonitor).wantTarget(testLine, "a second cut does not change the target")
	}
	if byTime {
		r.at(2*testMonitor + 50*testUS)
	}
	if byBytes {
		r.send(1000)
	}
	return r
}

func TestRateCutsLowerTheTargetAccordingToTheClampSwitches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		clamp, afterTime float64
		byTime, byBytes  bool
		lowersTarget     bool
	}{
		{name: "no increase", afterTime: 1},
		{name: "increase by time", afterTime: 1, byTime: true, lowersTarget: true},
		{name: "increase by time, clamp_tgt_rate_after_time_inc off", byTime: true},
		{name: "increase by bytes", byBytes: true, lowersTarget: true},
		{name: "by time, then by bytes", byTime: true, byBytes: true, lowersTarget: true},
		{name: "clamp", clamp: 1, lowersTarget: true},
	} {
		r := increased(t, Values{"clamp_tgt_rate": c.clamp, "clamp_tgt_rate_after_time_inc": c.afterTime}, c.byTime, c.byBytes)
		before := r.c.Rate
		target, _, _ := r.gauges()
		r.at(r.now + 1).cnp().at(r.now + testMonitor)
		if c.lowersTarget {
			target = before
		}
		r.wantTarget(target, c.name)
		if r.c.Rate >= before {
			t.Errorf("%s: the notification did not cut the rate", c.name)
		}
	}
}

func TestClampReproducesTheStepsOfS4(t *testing.T) {
	t.Parallel()
	for clamp, want := range map[float64]int{0: 1, 1: 5} {
		r := newDCQCNRig(t, "dcqcn-mlx", Values{"clamp_tgt_rate": clamp})
		r.at(0).cnp()
		seen := map[float64]bool{}
		for k := range quantity.Picoseconds(5) {
			r.at((k+1)*testMonitor + testUS/2).cnp()
			target, _, _ := r.gauges()
			seen[target] = true
		}
		if len(seen) != want {
			t.Errorf("clamp %v: %d values of the target in five cuts, want %d", clamp, len(seen), want)
		}
	}
}

func TestLimiterIsReleasedAtFullRateAndRestarts(t *testing.T) {
	t.Parallel()
	r := newDCQCNRig(t, "dcqcn-mlx", Values{"rpg_max_rate": 40e9}).at(0).cnp()
	r.wantRate(40e9, "a limiter allows at most rpg_max_rate")
	r.at(testMonitor)
	for r.c.Rate < 40e9 {
		r.at(r.now + 300*testUS)
		if r.now > 100*quantity.Millisecond {
			t.Fatalf("rate %v after %s", r.c.Rate, r.now)
		}
	}
	r.wantRate(testLine, "released: the flow is unlimited")
	r.wantAlpha(1023.0/1024, "alpha is reset")
	r.cnp().wantRate(40e9, "a new limiter")
}

func TestAFirstNotificationSetsTheRate(t *testing.T) {
	t.Parallel()
	r := newDCQCNRig(t, "dcqcn-mlx", Values{"rate_to_set_on_first_cnp": 30e9}).at(0).cnp()
	r.wantRate(30e9, "rate_to_set_on_first_cnp")
	r.wantTarget(30e9, "rate_to_set_on_first_cnp applies to the target, too")
}

func TestTheByteCounterCountsSixtyFourBytes(t *testing.T) {
	t.Parallel()
	for unit, bytes := range map[float64]int{0: 64 * 32767, 1: 32767} {
		r := newDCQCNRig(t, "dcqcn-mlx", Values{"rpg_byte_unit": unit}).at(0).cnp().at(testMonitor)
		before := r.c.Rate
		r.send(bytes-1).wantRate(before, "one byte before the threshold")
		r.send(1).wantRate((before+testLine)/2, "at the threshold")
	}
}

func TestAtMostOneRateCutPerMonitorPeriod(t *testing.T) {
	t.Parallel()
	for _, reading := range []float64{0, 1} {
		r := newDCQCNRig(t, "dcqcn-mlx", Values{"cut_reading": reading, "rate_reduce_monitor_period": 20e6, "rpg_min_dec_fac": 1}).at(0).cnp()
		last, rate := quantity.Picoseconds(math.MinInt64/2), r.c.Rate
		for k := range quantity.Picoseconds(400) {
			r.at(k * testUS / 2).cnp()
			if r.c.Rate != rate {
				if r.now-last < 20*testUS {
					t.Fatalf("reading %v: cuts at %s and %s", reading, last, r.now)
				}
				last, rate = r.now, r.c.Rate
			}
		}
		if last < 0 {
			t.Errorf("reading %v: the rate never decreased", reading)
		}
	}
}

func TestHyperAndFastRecoveryOfTheVendor(t *testing.T) {
	t.Parallel()
	r := newDCQCNRig(t, "dcqcn-mlx", Values{"rpg_byte_reset": 1000, "rpg_byte_unit": 1}).at(0).cnp().at(testMonitor)
	r.cnp().at(2 * testMonitor).cnp().at(3 * testMonitor) // the target is at line rate
	r.at(3*testMonitor + 300*testUS).cnp().at(r.now + testMonitor)
	cut := r.now
	base, _, _ := r.gauges()
	r.send(1000).wantTarget(base, "B is 1, not above the threshold 1: fast recovery")
	r.send(1000).wantTarget(base+5e6, "B is 2: additive")
	r.at(cut+300*testUS).wantTarget(base+10e6, "T is 1: additive still")
	r.at(cut+600*testUS).wantTarget(base+60e6, "T is 2 as well: hyper")
}

func TestRegistersRejectUnrepresentableValues(t *testing.T) {
	t.Parallel()
	s := dcqcnMlxSpec()
	for _, c := range []struct {
		v    Values
		want string
	}{
		{Values{"rpg_time_reset": 1.5e6}, "whole number of us"},
		{Values{"rpg_ai_rate": 5.5e6}, "whole number of Mbit/s"},
		{Values{"dce_tcp_g": 1019.5}, "whole number"},
		{Values{"dce_tcp_g": 0}, "from 1 to 1023"},
		{Values{"dce_tcp_g": 1024}, "from 1 to 1023"},
		{Values{"rpg_threshold": 32}, "from 0 to 31"},
		{Values{"rpg_gd": 16}, "from 0 to 15"},
		{Values{"rpg_min_dec_fac": 101}, "from 0 to 100"},
		{Values{"initial_alpha_value": 1024}, "from 0 to 1023"},
		{Values{"dce_tcp_rtt": 131072e6}, "from 1 us to 131.071 ms"},
		{Values{"rpg_min_rate": 0}, "from 1 Mbit/s"},
		{Values{"rpg_max_rate": 131072e6, "wide_rates": 0}, "at most 131071 Mbit/s"},
		{Values{"rpg_byte_reset": 32768, "wide_rates": 0}, "at most 32767"},
	} {
		if _, err := s.Build(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.v, err, c.want)
		}
	}
	if _, err := s.Build(Values{"rpg_max_rate": 131071e6, "rpg_byte_reset": 32767, "wide_rates": 0}); err != nil {
		t.Error(err)
	}
}

// The names, defaults and units are those of the vendor's parameter page.
func TestTheVendorsDefaults(t *testing.T) {
	t.Parallel()
	s := dcqcnMlxSpec()
	for name, want := range map[string]string{
		"clamp_tgt_rate": "false", "clamp_tgt_rate_after_time_inc": "true", "rpg_time_reset": "300 us", "rpg_byte_reset": "32767",
		"rpg_threshold": "1", "rpg_max_rate": "0 bit/s", "rpg_ai_rate": "5 Mbit/s", "rpg_hai_rate": "50 Mbit/s", "rpg_gd": "11",
		"rpg_min_dec_fac": "50", "rpg_min_rate": "1 Mbit/s", "rate_to_set_on_first_cnp": "0 bit/s", "dce_tcp_g": "1019",
		"dce_tcp_rtt": "1 us", "rate_reduce_monitor_period": "4 us", "initial_alpha_value": "1023", "min_time_between_cnps": "4 us",
		"alpha_filter": "retained", "rpg_byte_unit": "64-bytes", "stage_compare": "at-most",
	} {
		p, ok := s.Param(name)
		if !ok || p.Text(p.Default) != want {
			t.Errorf("%s: want the default %s", name, want)
		}
	}
}
