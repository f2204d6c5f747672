package wrcc_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

const us = quantity.Microsecond

func TestDeriveReproducesThePapersSettings(t *testing.T) {
	t.Parallel()
	s, err := wrcc.Derive(wrcc.Facts{PortRate: 100 * quantity.Gbps, MaxIntraRTT: 12 * us})
	if err != nil {
		t.Fatal(err)
	}
	want := wrcc.Settings{T1: 24 * us, Port: wrcc.Params{
		Fmin: 100 * quantity.Mbps, Fmax: 100 * quantity.Gbps, Target: 100 * quantity.Gbps, Period: 24 * us,
		RateRatioPct: 110, QRatioPct: 50, Lambda: 0.1,
	}}
	if s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if s.Port != wrcc.DefaultParams(100*quantity.Gbps, 24*us) {
		t.Error("the defaults differ from the settings derived from the same facts")
	}
}

func TestDerive(t *testing.T) {
	t.Parallel()
	base := wrcc.Facts{PortRate: 400 * quantity.Gbps, HostRate: 100 * quantity.Gbps, MaxIntraRTT: 12 * us}
	for name, c := range map[string]struct {
		change func(*wrcc.Facts)
		check  func(wrcc.Settings) bool
	}{
		"a fast port keeps the hosts' fair rates": {func(*wrcc.Facts) {}, func(s wrcc.Settings) bool {
			return s.Port.Fmax == 100*quantity.Gbps && s.Port.Fmin == 100*quantity.Mbps && s.Port.Target == 400*quantity.Gbps
		}},
		"four round trips": {func(f *wrcc.Facts) { f.PeriodRTTs = 4 }, func(s wrcc.Settings) bool {
			return s.Port.Period == 48*us && s.T1 == 48*us
		}},
		"a period is rounded up to microseconds": {func(f *wrcc.Facts) { f.MaxIntraRTT = 10*us + 1 }, func(s wrcc.Settings) bool {
			return s.Port.Period == 21*us
		}},
		"a reserve": {func(f *wrcc.Facts) { f.TargetPct = 95 }, func(s wrcc.Settings) bool { return s.Port.Target == 380*quantity.Gbps }},
		"a light flow alone may fill its host's port": {func(f *wrcc.Facts) { f.MinWeight = 0.25 }, func(s wrcc.Settings) bool {
			return s.Port.Fmax == 400*quantity.Gbps
		}},
		"many weights lower the floor": {func(f *wrcc.Facts) { f.WeightSum = 40_000 }, func(s wrcc.Settings) bool {
			return s.Port.Fmin == 10*quantity.Mbps
		}},
		"heavy flows alone have a low ceiling, and the floor with it": {func(f *wrcc.Facts) { f.MinWeight = 5000 }, func(s wrcc.Settings) bool {
			return s.Port.Fmax == 20*quantity.Mbps && s.Port.Fmin == 20*quantity.Mbps
		}},
		"the floor is at least the header's unit": {func(f *wrcc.Facts) { f.WeightSum = 1e9 }, func(s wrcc.Settings) bool {
			return s.Port.Fmin == quantity.Mbps
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := base
			c.change(&f)
			s, err := wrcc.Derive(f)
			if err != nil {
				t.Fatal(err)
			}
			if !c.check(s) {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestDeriveRefusesFactsWithoutSettings(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]wrcc.Facts{
		"port rate 0 bit/s":                         {MaxIntraRTT: us},
		"largest RTT inside the data centre 0 ps":   {PortRate: quantity.Gbps},
		"largest RTT inside the data centre 20 ms":  {PortRate: quantity.Gbps, MaxIntraRTT: 20 * quantity.Millisecond},
		"WRCCT of 5 RTTs: want 2 to 4":              {PortRate: quantity.Gbps, MaxIntraRTT: us, PeriodRTTs: 5},
		"target rate over port rate 40 %: want 50":  {PortRate: quantity.Gbps, MaxIntraRTT: us, TargetPct: 40},
		"least weight 1e-09: want 0.001":            {PortRate: quantity.Gbps, MaxIntraRTT: us, MinWeight: 1e-9},
		"sum of weights -1: want 1 to 1e+12":        {PortRate: quantity.Gbps, MaxIntraRTT: us, WeightSum: -1},
		"host rate 1 bit/s: want 1 Mbit/s to 100 T": {PortRate: quantity.Gbps, HostRate: 1, MaxIntraRTT: us},
	} {
		if _, err := wrcc.Derive(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", f, err, want)
		}
	}
}

func TestValidateNamesAllowedValues(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*wrcc.Params){
		"minimum fair rate 0 bit/s: want 1 Mbit/s": func(p *wrcc.Params) { p.Fmin = 0 },
		"maximum fair rate 50 Mbit/s: want 100 M":  func(p *wrcc.Params) { p.Fmax = 50 * quantity.Mbps },
		"target rate 0 bit/s":                      func(p *wrcc.Params) { p.Target = 0 },
		"WRCCT 1 ns: want 1 us to 65.535 ms":       func(p *wrcc.Params) { p.Period = quantity.Nanosecond },
		"RateRatioMax 99 %: want 100 to 200 %":     func(p *wrcc.Params) { p.RateRatioPct = 99 },
		"RateRatioMax 201 %":                       func(p *wrcc.Params) { p.RateRatioPct = 201 },
		"QRatioMax 9 %: want 10 to 60 %":           func(p *wrcc.Params) { p.QRatioPct = 9 },
		"QRatioMax 61 %":                           func(p *wrcc.Params) { p.QRatioPct = 61 },
		"average RTT 0: want above 0 to 1":         func(p *wrcc.Params) { p.Lambda = 0 },
	} {
		p := wrcc.DefaultParams(100*quantity.Gbps, 24*us)
		if err := p.Validate(); err != nil {
			t.Fatalf("defaults: %v", err)
		}
		change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestSenderParamsNeedATimerNoShorterThanThePeriod(t *testing.T) {
	t.Parallel()
	ok := wrcc.SenderParams{T1: 24 * us, MinRate: 1e8}
	if err := ok.Validate(24 * us); err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]wrcc.SenderParams{
		"increase timer T1 23 us: want 24 us to 1 s":     {T1: 23 * us, MinRate: 1e8},
		"minimum rate of a flow 0 bit/s: want 1 to 1000": {T1: 24 * us},
	} {
		if err := p.Validate(24 * us); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", p, err, want)
		}
	}
}

// For any valid facts the settings are legal, and the fair rate of the port with the most flows is above Fmin, as far
// as the header's unit allows.
func TestDerivedSettingsAreLegal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := wrcc.Facts{
			PortRate:    quantity.BitRate(rapid.Int64Range(1, 1600).Draw(t, "port")) * quantity.Gbps,
			HostRate:    quantity.BitRate(rapid.Int64Range(1, 800).Draw(t, "host")) * quantity.Gbps,
			MaxIntraRTT: quantity.Picoseconds(rapid.Int64Range(1e3, 1e10).Draw(t, "rtt")),
			PeriodRTTs:  rapid.Float64Range(2, 4).Draw(t, "rtts"),
			MinWeight:   rapid.Float64Range(0.001, 1e6).Draw(t, "light"),
		}
		f.WeightSum = f.MinWeight * rapid.Float64Range(1, 1e6).Draw(t, "flows")
		s, err := wrcc.Derive(f)
		if err != nil {
			t.Fatal(err)
		}
		sp := wrcc.SenderParams{T1: s.T1, MinRate: 1e6}
		if err := s.Port.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := sp.Validate(s.Port.Period); err != nil {
			t.Fatal(err)
		}
		if s.Port.Fmin > quantity.Mbps && float64(s.Port.Fmin)*f.WeightSum > float64(s.Port.Target) {
			t.Fatalf("floor %s with weights %v exceeds %s", s.Port.Fmin, f.WeightSum, s.Port.Target)
		}
		if s.Port.Period < quantity.Picoseconds(f.PeriodRTTs*float64(f.MaxIntraRTT)) {
			t.Fatalf("period %s of round trip %s", s.Port.Period, f.MaxIntraRTT)
		}
	})
}
