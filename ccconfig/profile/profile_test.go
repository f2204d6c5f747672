package profile

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/ccconfig/ecn"
	"fairlane/internal/quantity"
)

func mustLookup(t testing.TB, name string) *Profile {
	t.Helper()
	p, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEmbeddedProfilesAreValidAndDocumentTheirCalibration(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		p := mustLookup(t, name)
		bare, err := Uncalibrated(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.Made, "fairlane calibrate --profile "+name) {
			t.Errorf("%s was made by %q", name, p.Made)
		}
		// Values that the command does not measure equal those of the source.
		bare.Lever.Decline = p.Lever.Decline
		if d := cmp.Diff(bare.Lever, p.Lever) + cmp.Diff(bare.Base, p.Base) + cmp.Diff(bare.Marking, p.Marking) + cmp.Diff(bare.Speeds, p.Speeds); d != "" {
			t.Errorf("%s: calibrate it again: %s", name, d)
		}
		if p.Bound(4) > 0.1 {
			t.Errorf("%s: bound %g for rates up to 4:1: want 0.1 or less", name, p.Bound(4))
		}
	}
	if _, err := Lookup("connectx-1"); err == nil || !strings.Contains(err.Error(), "connectx-6") {
		t.Errorf("error %v, want one that lists the names", err)
	}
}

func TestEncodingIsTheInverseOfDecoding(t *testing.T) {
	t.Parallel()
	p := mustLookup(t, Default)
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, back); d != "" {
		t.Error(d)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	text, err := mustLookup(t, Default).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"version"`, `"versions"`, "unknown field"},
		{`"format": 1,`, ``, "profile: format 0: want 1"},
		{`"format": 1`, `"format": 2, "news": true`, "profile: format 2: want 1"},
		{`"scope": "port"`, `"scope": "queue"`, `want "port" or "vf"`},
		{`"rpg_gd": 11`, `"rpg_gd": 12`, "rpg_gd: found 12, want 10..11"},
		{`"step": 0.02`, `"step": 2`, "want above 0 to 1"},
		{`"volume_bits": 120000`, `"volume_bits": -1`, "want 1 to 1e9"},
		{`"min_period_us": 20`, `"min_period_us": 0`, "want 1 to 131071"},
		{`"p_max_percent": 50`, `"p_max_percent": 101`, "want 1 to 100 percent"},
		{`"rate_reduce_monitor_period": 1`, `"rate_reduce_monitor_period": 64`, "cliff"},
		{`"register": "dce_tcp_rtt"`, `"register": "no_such"`, "want a register of the device"},
	} {
		bad := strings.Replace(string(text), c.old, c.new, 1)
		if bad == string(text) {
			t.Fatalf("no %s in the profile", c.old)
		}
		if _, err := Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.new, err, c.want)
		}
	}
	if _, err := Decode(append(text, '{')); err == nil {
		t.Error("text after the profile was accepted")
	}
	if _, err := Decode(make([]byte, MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("error %v for a file that is too long", err)
	}
}

func TestValidateRefusesGainsThatRise(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Profile){
		func(p *Profile) { p.Response.Gains[0] = -0.1 },
		func(p *Profile) { p.Response.Gains[2] = p.Response.Gains[1] + 0.01 },
		func(p *Profile) { p.Response.Gains[2] = math.NaN() },
		func(p *Profile) { p.Response.Gains = p.Response.Gains[1:] },
		func(p *Profile) { p.Response.Positions[1] = -1 },
		func(p *Profile) { p.Response.Flows[0], p.Response.Flows[1] = 8, 2 },
		func(p *Profile) { p.Response.Speeds = nil },
		func(p *Profile) { p.Bounds = nil },
		func(p *Profile) { p.Bounds[0].Error = 0 },
		func(p *Profile) { p.Bounds[1].Ratio = p.Bounds[0].Ratio },
		func(p *Profile) { p.Lever.Decline = 1 },
		func(p *Profile) { p.Marking.MaxSpan = p.Marking.MinSpan - 1 },
		func(p *Profile) { p.Cliffs[0].Reason = "" },
		func(p *Profile) { p.Version = 0 },
		func(p *Profile) { p.Format = 2 },
		func(p *Profile) { p.Speeds[0] = 0 },
	} {
		p := mustLookup(t, Default)
		change(p)
		if err := p.Validate(); err == nil {
			t.Errorf("%+v: no error", p)
		}
		if _, err := p.Encode(); err == nil {
			t.Error("an invalid profile was written")
		}
	}
}

func drawCondition(t *rapid.T) Condition {
	return Condition{
		Speed: quantity.BitRate(rapid.Int64Range(1e9, 400e9).Draw(t, "speed")), Fastest: math.Exp(rapid.Float64Range(math.Log(1e6), math.Log(400e9)).Draw(t, "ln fastest")),
		RTT:  quantity.Picoseconds(rapid.Int64Range(0, 100e6).Draw(t, "rtt")),
		Port: Port{Line: 25e9, Sent: rapid.Float64Range(0, 25e9).Draw(t, "sent"), Flows: float64(rapid.IntRange(1, 32).Draw(t, "sharing"))},
	}
}

// The response falls with the position and is inverted exactly. It lies between the responses of the calibrated
// conditions for rates of the fastest flow that runs reached without the limit of its port's line rate.
func TestResponseIsMonotoneBoundedAndInverted(t *testing.T) {
	t.Parallel()
	p := mustLookup(t, Default)
	n := len(p.Response.Positions)
	rapid.Check(t, func(t *rapid.T) {
		at := drawCondition(t)
		c := p.Response.Curve(at)
		for i := range n {
			if fastest := min(at.Fastest, float64(at.Speed)); 2*at.Port.Sent > at.Port.Line || 2*fastest > float64(at.Speed) || 4*fastest > 100e9 {
				break
			}
			low, high := math.Inf(1), math.Inf(-1)
			for k := i; k < len(p.Response.Gains); k += n {
				low, high = min(low, p.Response.Gains[k]), max(high, p.Response.Gains[k])
			}
			if g := c.Gain(p.Response.Positions[i]); g < low-1e-9 || g > high+1e-9 {
				t.Fatalf("gain %g at position %d: want %g to %g", g, i, low, high)
			}
		}
		a := rapid.Float64Range(0, 9).Draw(t, "a")
		b := a + rapid.Float64Range(0, 3).Draw(t, "more")
		if c.Gain(b) > c.Gain(a)+1e-12 {
			t.Fatalf("gain %g at %g, %g at %g", c.Gain(a), a, c.Gain(b), b)
		}
		if back := c.Gain(c.Position(c.Gain(a))); math.Abs(back-c.Gain(a)) > 1e-9 {
			t.Fatalf("position %g: gain %g, of its inverse %g", a, c.Gain(a), back)
		}
	})
}

func TestAConditionOfTheGridIsTheTableItself(t *testing.T) {
	t.Parallel()
	r := mustLookup(t, Default).Response
	first := 0
	for _, speed := range r.Speeds {
		for _, flows := range r.Flows {
			for _, rtt := range r.RTTs {
				for i, x := range r.Positions {
					fastest := 2 * float64(speed) / (float64(flows) * (1 + math.Exp(-x))) // of as many fast as slow flows
					c := r.Curve(Condition{Speed: speed, Fastest: fastest, Port: Port{Line: float64(speed), Sent: fastest, Flows: 1}, RTT: quantity.Picoseconds(rtt) * quantity.Microsecond})
					if got, want := c.Gain(x), r.Gains[first+i]; math.Abs(got-want) > 1e-9 {
						t.Fatalf("%s, %d flows, %d us, position %g: %g, want %g", speed, flows, rtt, x, got, want)
					}
				}
				first += len(r.Positions)
			}
		}
	}
}

// For any request the registers are legal, and rounding changes the resulting rate little: by the exponents of the
// lever, the rounding errors of both registers nearly cancel.
func TestSetIsLegalAndCompensatesForRounding(t *testing.T) {
	t.Parallel()
	var all []*Profile
	for _, name := range Names() {
		all = append(all, mustLookup(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(all).Draw(t, "profile")
		rate := math.Exp(rapid.Float64Range(math.Log(1e6), math.Log(400e9)).Draw(t, "ln rate"))
		period := math.Exp(rapid.Float64Range(math.Log(20), math.Log(131071)).Draw(t, "ln period"))
		s := p.Set(rate, period, quantity.BitRate(rapid.Int64Range(1e9, 400e9).Draw(t, "line")))
		if err := s.Validate(p.Limits()); err != nil {
			t.Fatal(err)
		}
		if c, bad := p.Avoids(&s); bad {
			t.Fatalf("within the cliff %+v", c)
		}
		if rate < 1e8 || period < 21 || period > 1e5 {
			return // at the limits the registers may miss the rate
		}
		k := p.Lever.Decline
		if left := (1-k)*math.Log(float64(s.AIRate)*1e6/(p.Lever.Step*rate)) - k*math.Log(float64(s.TimeReset)/period); math.Abs(left) > 0.03 {
			t.Fatalf("rate %g, period %g: rounding left %g of ln rate: %+v", rate, period, left, s)
		}
	})
}

func TestMarkingFollowsSpeedAndRoundTrip(t *testing.T) {
	t.Parallel()
	m := mustLookup(t, Default).Marking
	rapid.Check(t, func(t *rapid.T) {
		speed := quantity.BitRate(rapid.Int64Range(1e9, 400e9).Draw(t, "speed"))
		rtt := quantity.Picoseconds(rapid.Int64Range(0, 200e6).Draw(t, "rtt"))
		a, b, c := m.At(speed, rtt), m.At(2*speed, rtt), m.At(speed, rtt+quantity.Microsecond)
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		if a.Max <= a.Min || b.Min < a.Min || b.Max < a.Max || c.Min < a.Min || c.Max < a.Max {
			t.Fatalf("%+v, at twice the speed %+v, at a longer round trip %+v", a, b, c)
		}
	})
	got := m.At(100*quantity.Gbps, 4*quantity.Microsecond)
	if want := (ecn.Marking{Min: 149_504, Max: 149_504 + 2_999_296, PMaxPct: 50}); got != want {
		t.Errorf("marking at 100 Gbit/s and 4 us: %+v, want %+v", got, want)
	}
}

func TestBoundGrowsWithTheRatio(t *testing.T) {
	t.Parallel()
	p := mustLookup(t, Default)
	last := 0.0
	for ratio := 1.0; ratio < 5000; ratio *= 1.1 {
		b := p.Bound(ratio)
		if b < last || b <= 0 {
			t.Fatalf("bound %g at %g, %g before", b, ratio, last)
		}
		last = b
	}
}

func FuzzDecode(f *testing.F) {
	text, err := mustLookup(f, Default).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"name":"x"}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil {
			return
		}
		again, err := p.Encode()
		if err != nil {
			t.Fatalf("decoded but not encoded: %v", err)
		}
		back, err := Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := back.Encode(); err != nil || !bytes.Equal(again, twice) {
			t.Fatalf("not the same again: %v", err)
		}
		p.Response.Curve(Condition{Speed: 1e9, Fastest: 6e8, RTT: 5e6}).Gain(1)
	})
}
