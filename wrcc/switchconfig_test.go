package wrcc_test

import (
	"cmp"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

func legalConfig() *wrcc.SwitchConfig {
	return &wrcc.SwitchConfig{
		Ports: []wrcc.PortConfig{
			{Port: 1, FminMbps: 100, FmaxMbps: 100_000, TargetMbps: 100_000, PeriodUs: 24, RateRatioPct: 110, QRatioPct: 50},
			{Port: 3, FminMbps: 1, FmaxMbps: math.MaxUint32, TargetMbps: wrcc.MaxTargetMbps, PeriodUs: 24, RateRatioPct: 200, QRatioPct: 60},
		},
		Weights: []wrcc.ClassWeight{{Port: 1, Class: 7, Multiplier: 1}, {Port: 3, Class: 0, Multiplier: math.MaxUint16, Shift: 15}},
		Domains: []wrcc.PortDomain{{Port: 1, Domain: 7}, {Port: 3, Domain: math.MaxUint16, WAN: true}},
	}
}

func TestSwitchConfigRanges(t *testing.T) {
	t.Parallel()
	if err := legalConfig().Validate(3); err != nil {
		t.Fatal(err)
	}
	if err := (&wrcc.SwitchConfig{}).Validate(1); err != nil {
		t.Fatalf("no entries: %v", err)
	}
	for name, c := range map[string]struct {
		change      func(*wrcc.SwitchConfig)
		wantText    string
		consistency bool // only Validate refuses
	}{
		"least of all":           {change: func(c *wrcc.SwitchConfig) { c.Ports[0].RateRatioPct, c.Ports[0].QRatioPct = 100, 10 }},
		"floor 0":                {func(c *wrcc.SwitchConfig) { c.Ports[0].FminMbps = 0 }, "ports[0].f_min_mbps: found 0, want 1 to 4294967295", false},
		"ceiling 0":              {func(c *wrcc.SwitchConfig) { c.Ports[0].FmaxMbps = 0 }, "ports[0].f_max_mbps", false},
		"target 0":               {func(c *wrcc.SwitchConfig) { c.Ports[1].TargetMbps = 0 }, "ports[1].b_tar_mbps", false},
		"target over the range":  {func(c *wrcc.SwitchConfig) { c.Ports[1].TargetMbps++ }, "b_tar_mbps: found 100000001, want 1 to 100000000", false},
		"period 0":               {func(c *wrcc.SwitchConfig) { c.Ports[1].PeriodUs = 0 }, "ports[1].wrcct_us", false},
		"rate ratio 99":          {func(c *wrcc.SwitchConfig) { c.Ports[0].RateRatioPct = 99 }, "rate_ratio_pct: found 99, want 100 to 200", false},
		"rate ratio 201":         {func(c *wrcc.SwitchConfig) { c.Ports[0].RateRatioPct = 201 }, "rate_ratio_pct: found 201, want 100 to 200", false},
		"queue ratio 9":          {func(c *wrcc.SwitchConfig) { c.Ports[0].QRatioPct = 9 }, "q_ratio_pct: found 9, want 10 to 60", false},
		"queue ratio 61":         {func(c *wrcc.SwitchConfig) { c.Ports[0].QRatioPct = 61 }, "q_ratio_pct: found 61, want 10 to 60", false},
		"port 0":                 {func(c *wrcc.SwitchConfig) { c.Ports[0].Port = 0 }, "ports[0].port: found 0, want 1 to 3", false},
		"port 4 of 3":            {func(c *wrcc.SwitchConfig) { c.Domains[1].Port = 4 }, "domains[1].port: found 4, want 1 to 3", false},
		"a port twice":           {func(c *wrcc.SwitchConfig) { c.Ports[1].Port = 1 }, "in the order of their keys", false},
		"ports in disorder":      {func(c *wrcc.SwitchConfig) { c.Ports[0], c.Ports[1] = c.Ports[1], c.Ports[0] }, "in the order", false},
		"class 8":                {func(c *wrcc.SwitchConfig) { c.Weights[0].Class = 8 }, "weights[0].class: found 8, want 0 to 7", false},
		"multiplier 0":           {func(c *wrcc.SwitchConfig) { c.Weights[0].Multiplier = 0 }, "weights[0].multiplier", false},
		"shift 16":               {func(c *wrcc.SwitchConfig) { c.Weights[1].Shift = 16 }, "weights[1].shift: found 16, want 0 to 15", false},
		"floor above ceiling":    {func(c *wrcc.SwitchConfig) { c.Ports[0].FminMbps = 100_001 }, "ports[0].f_max_mbps", true},
		"two sampling periods":   {func(c *wrcc.SwitchConfig) { c.Ports[1].PeriodUs = 48 }, "ports[1].wrcct_us: found 48, want 24", true},
		"weight of no port":      {func(c *wrcc.SwitchConfig) { c.Weights[1].Port = 2 }, "weights[1].port", true},
		"data centre of no port": {func(c *wrcc.SwitchConfig) { c.Domains[1].Port = 2 }, "domains[1].port", true},
	} {
		x := legalConfig()
		c.change(x)
		ranges, consistency := x.ValidateRanges(3), x.Validate(3)
		if got := consistency; (got == nil) != (c.wantText == "") || got != nil && !strings.Contains(got.Error(), c.wantText) {
			t.Errorf("%s: error %v, want one that contains %q", name, got, c.wantText)
		}
		if want := c.wantText != "" && !c.consistency; (ranges != nil) != want {
			t.Errorf("%s: ranges alone: %v", name, ranges)
		}
	}
}

func TestPortConfigMeansItsParams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := wrcc.PortConfig{
			Port: rapid.Uint16Min(1).Draw(t, "port"), FminMbps: rapid.Uint32Min(1).Draw(t, "fmin"), TargetMbps: rapid.Uint32Range(1, wrcc.MaxTargetMbps).Draw(t, "target"),
			PeriodUs: rapid.Uint16Min(1).Draw(t, "period"), RateRatioPct: rapid.Uint16Range(100, 200).Draw(t, "rate"), QRatioPct: rapid.Uint16Range(10, 60).Draw(t, "queue"),
		}
		c.FmaxMbps = rapid.Uint32Min(c.FminMbps).Draw(t, "fmax")
		got, err := wrcc.NewPortConfig(c.Port, c.Params())
		if err != nil || got != c {
			t.Fatalf("%+v was read back as %+v: %v", c, got, err)
		}
	})
}

func TestPortConfigRejectsUnrepresentableValues(t *testing.T) {
	t.Parallel()
	good := wrcc.DefaultParams(100*quantity.Gbps, 24*quantity.Microsecond)
	if _, err := wrcc.NewPortConfig(1, good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*wrcc.Params){
		"half a unit":       func(p *wrcc.Params) { p.Fmin += quantity.Mbps / 2 },
		"half a period":     func(p *wrcc.Params) { p.Period += quantity.Microsecond / 2 },
		"another smoothing": func(p *wrcc.Params) { p.Lambda = 0.2 },
		"floor of zero":     func(p *wrcc.Params) { p.Fmin = 0 },
		"huge target":       func(p *wrcc.Params) { p.Target = wrcc.MaxFairRate + quantity.Mbps },
	} {
		p := good
		change(&p)
		if c, err := wrcc.NewPortConfig(1, p); err == nil {
			t.Errorf("%s: accepted as %+v", name, c)
		}
	}
}

func TestClassWeightIsNearest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weight float64
		mult   uint16
		shift  uint8
	}{{1, 1, 0}, {4, 1 << 2, 0}, {0.5, 1, 1}, {1.5, 3, 1}, {65535, 65535, 0}, {math.Ldexp(1, -15), 1, 15}} {
		w, err := wrcc.NewClassWeight(2, 5, c.weight)
		if err != nil || w.Multiplier != c.mult || w.Shift != c.shift || w.Port != 2 || w.Class != 5 {
			t.Errorf("weight %v: %+v %v, want %d/2^%d", c.weight, w, err, c.mult, c.shift)
		}
	}
	for _, bad := range []float64{0, -1, 65536, math.NaN(), math.Inf(1), 1e-9} {
		if w, err := wrcc.NewClassWeight(1, 0, bad); err == nil {
			t.Errorf("weight %v accepted as %+v", bad, w)
		}
	}
	if _, err := wrcc.NewClassWeight(1, 8, 1); err == nil {
		t.Error("class 8 accepted")
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Float64Range(1, 65535).Draw(t, "weight")
		w, err := wrcc.NewClassWeight(1, 0, want)
		if err != nil || math.Abs(w.Weight()-want) > want/(1<<16)*1.001 {
			t.Fatalf("weight %v became %v: %v", want, w.Weight(), err)
		}
	})
}

func TestClassWeightApplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		w    wrcc.ClassWeight
		mbps uint32
		want uint32
	}{
		{wrcc.ClassWeight{Multiplier: 3, Shift: 1}, 1000, 1500},
		{wrcc.ClassWeight{Multiplier: 1, Shift: 15}, 1000, 1},
		{wrcc.ClassWeight{Multiplier: 65535}, math.MaxUint32, math.MaxUint32},
	} {
		if got := c.w.Apply(c.mbps); got != c.want {
			t.Errorf("%+v of %d: %d, want %d", c.w, c.mbps, got, c.want)
		}
	}
}

func TestMergeMeetsEachKeyOnceInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(side string, mark uint16) (list []wrcc.ClassWeight, ports map[uint16]bool) {
			ports = rapid.MapOfN(rapid.Uint16Range(1, 9), rapid.Just(true), 0, 9).Draw(t, side)
			for port := range uint16(10) {
				if ports[port] {
					list = append(list, wrcc.ClassWeight{Port: port, Multiplier: mark})
				}
			}
			return list, ports
		}
		a, inA := draw("a", 1)
		b, inB := draw("b", 2)
		met, last := map[string]bool{}, uint16(0)
		wrcc.Merge(a, b, func(x, y *wrcc.ClassWeight) {
			e := cmp.Or(x, y)
			if e == nil || e.Port <= last || inA[e.Port] != (x != nil) || inB[e.Port] != (y != nil) ||
				x != nil && x.Multiplier != 1 || y != nil && (y.Multiplier != 2 || y.Port != e.Port) {
				t.Fatalf("%+v and %+v after port %d", x, y, last)
			}
			met[e.Name()], last = true, e.Port
		})
		for _, e := range append(a, b...) {
			if !met[e.Name()] {
				t.Fatalf("%s was not met", e.Name())
			}
		}
	})
}

func TestSwitchConfigCloneAndLookup(t *testing.T) {
	t.Parallel()
	c := legalConfig()
	d := c.Clone()
	if !c.Equal(d) {
		t.Fatal("clone differs")
	}
	d.Ports[0].FminMbps++
	if c.Equal(d) {
		t.Error("a change of the clone changed the original, or Equal is blind")
	}
	d.Ports[0], d.Ports[1] = d.Ports[1], d.Ports[0]
	d.Weights[0], d.Weights[1] = d.Weights[1], d.Weights[0]
	d.Domains[0], d.Domains[1] = d.Domains[1], d.Domains[0]
	d.Sort()
	if err := d.Validate(3); err != nil {
		t.Errorf("sorted: %v", err)
	}
	if p, ok := c.PortConfig(3); !ok || p.FminMbps != 1 {
		t.Errorf("port 3: %+v %v", p, ok)
	}
	if _, ok := c.PortConfig(2); ok {
		t.Error("port 2 has an entry")
	}
}
