package wrcc_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

func legalNIC() wrcc.NICConfig {
	return wrcc.NICConfig{Domain: 7, T1Us: 24, MinRateMbps: 100, Increase: "ask", Senders: []wrcc.SenderWeight{
		{Name: "astro/bulk", Weight: wrcc.FixedWeight{Multiplier: 1, Shift: 1}},
		{Name: "bio/all", Weight: wrcc.FixedWeight{Multiplier: 4}, Peers: []wrcc.PeerWeight{
			{Port: ident.PortID{Node: 1, Port: 1}, Weight: wrcc.FixedWeight{Multiplier: 3}},
			{Port: ident.PortID{Node: 1, Port: 2}, Weight: wrcc.FixedWeight{Multiplier: 5, Shift: 15}},
		}},
	}}
}

func TestNICConfigValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(*wrcc.NICConfig)
		wantText string
	}{
		"legal":      {func(*wrcc.NICConfig) {}, ""},
		"no senders": {func(c *wrcc.NICConfig) { c.Senders = nil }, ""},
		"largest": {func(c *wrcc.NICConfig) {
			c.T1Us, c.MinRateMbps, c.Domain = math.MaxUint16, math.MaxUint32, math.MaxUint16
		}, ""},
		"T1":                {func(c *wrcc.NICConfig) { c.T1Us = 0 }, "t1_us: found 0"},
		"minimum rate":      {func(c *wrcc.NICConfig) { c.MinRateMbps = 0 }, "min_rate_mbps: found 0"},
		"increase":          {func(c *wrcc.NICConfig) { c.Increase = "never" }, "increase:"},
		"no name":           {func(c *wrcc.NICConfig) { c.Senders[0].Name = "" }, "senders[0].name: found 0 bytes"},
		"long name":         {func(c *wrcc.NICConfig) { c.Senders[1].Name = strings.Repeat("z", wrcc.MaxSenderName+1) }, "senders[1].name: found 161 bytes"},
		"longest name":      {func(c *wrcc.NICConfig) { c.Senders[1].Name = strings.Repeat("z", wrcc.MaxSenderName) }, ""},
		"same name":         {func(c *wrcc.NICConfig) { c.Senders[1].Name = c.Senders[0].Name }, `senders[1].name: found "astro/bulk" after "astro/bulk"`},
		"weight 0":          {func(c *wrcc.NICConfig) { c.Senders[1].Weight.Multiplier = 0 }, "senders[1].weight.multiplier: found 0"},
		"shift 16":          {func(c *wrcc.NICConfig) { c.Senders[0].Weight.Shift = 16 }, "senders[0].weight.shift: found 16"},
		"peer's weight":     {func(c *wrcc.NICConfig) { c.Senders[1].Peers[1].Weight.Multiplier = 0 }, "senders[1].peers[1].weight.multiplier: found 0"},
		"peers upside down": {func(c *wrcc.NICConfig) { c.Senders[1].Peers[1].Port.Port = 0 }, "senders[1].peers[1].port: found 0x0000000000000001:0 after 0x0000000000000001:1"},
		"too many senders":  {func(c *wrcc.NICConfig) { c.Senders = make([]wrcc.SenderWeight, wrcc.MaxSenders+1) }, "senders: found 1025"},
		"too many peers":    {func(c *wrcc.NICConfig) { c.Senders[0].Peers = make([]wrcc.PeerWeight, wrcc.MaxPeers+1) }, "senders[0].peers: found 4097"},
	} {
		c2 := legalNIC()
		c.change(&c2)
		err := c2.Validate()
		if (err == nil) != (c.wantText == "") || err != nil && !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: error %v, want one that contains %q", name, err, c.wantText)
		}
	}
}

func TestFixedWeightIsNearest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weight float64
		want   wrcc.FixedWeight
	}{{1, wrcc.FixedWeight{Multiplier: 1}}, {4, wrcc.FixedWeight{Multiplier: 4}}, {0.5, wrcc.FixedWeight{Multiplier: 1, Shift: 1}}, {1.5, wrcc.FixedWeight{Multiplier: 3, Shift: 1}}, {65535, wrcc.FixedWeight{Multiplier: 65535}}, {math.Ldexp(1, -15), wrcc.FixedWeight{Multiplier: 1, Shift: 15}}} {
		if w, err := wrcc.NewFixedWeight(c.weight); err != nil || w != c.want || w.Float() != c.weight {
			t.Errorf("weight %v: %s %v, want %s", c.weight, w, err, c.want)
		}
	}
	for _, bad := range []float64{0, -1, 65536, math.NaN(), math.Inf(1), 1e-9} {
		if w, err := wrcc.NewFixedWeight(bad); err == nil {
			t.Errorf("weight %v accepted as %s", bad, w)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Float64Range(1, 65535).Draw(t, "weight")
		w, err := wrcc.NewFixedWeight(want)
		if err != nil || math.Abs(w.Float()-want) > want/(1<<16)*1.001 {
			t.Fatalf("weight %v became %s: %v", want, w, err)
		}
		if again, err := wrcc.NewFixedWeight(w.Float()); err != nil || again != w {
			t.Fatalf("%s became %s: %v", w, again, err)
		}
	})
}

func TestNewNICConfigRequiresWholeUnits(t *testing.T) {
	t.Parallel()
	good := wrcc.SenderParams{T1: 24 * quantity.Microsecond, MinRate: float64(100 * quantity.Mbps), Increase: wrcc.IncreaseTimer}
	c, err := wrcc.NewNICConfig(5, good)
	if err != nil || c.Domain != 5 || c.T1Us != 24 || c.MinRateMbps != 100 || c.Increase != "timer" {
		t.Fatalf("%+v: %v", c, err)
	}
	for name, change := range map[string]func(*wrcc.SenderParams){
		"half a microsecond": func(p *wrcc.SenderParams) { p.T1 += quantity.Microsecond / 2 },
		"no time":            func(p *wrcc.SenderParams) { p.T1 = 0 },
		"too long":           func(p *wrcc.SenderParams) { p.T1 = 65536 * quantity.Microsecond },
		"half a Mbit/s":      func(p *wrcc.SenderParams) { p.MinRate += float64(quantity.Mbps) / 2 },
		"no rate":            func(p *wrcc.SenderParams) { p.MinRate = 0 },
		"negative":           func(p *wrcc.SenderParams) { p.MinRate = -float64(quantity.Mbps) },
	} {
		p := good
		change(&p)
		if c, err := wrcc.NewNICConfig(5, p); err == nil {
			t.Errorf("%s: accepted as %+v", name, c)
		}
	}
}

func TestNICConfigCloneSortAndLookup(t *testing.T) {
	t.Parallel()
	c := legalNIC()
	d := c.Clone()
	d.Senders[0], d.Senders[1] = d.Senders[1], d.Senders[0]
	d.Senders[0].Peers[0], d.Senders[0].Peers[1] = d.Senders[0].Peers[1], d.Senders[0].Peers[0]
	if err := c.Validate(); err != nil {
		t.Errorf("a change of the clone changed the original: %v", err)
	}
	if err := d.Validate(); err == nil {
		t.Error("an invalid order was accepted")
	}
	d.Sort()
	if got, want := fmt.Sprintf("%+v", *d), fmt.Sprintf("%+v", c); got != want {
		t.Errorf("sorted: %s, want %s", got, want)
	}
	s, ok := c.Sender("bio/all")
	if !ok || s.Weight.Multiplier != 4 {
		t.Errorf("bio/all: %+v %t", s, ok)
	}
	if _, ok := c.Sender("bio"); ok {
		t.Error("bio exists")
	}
	if w := s.WeightTo(ident.PortID{Node: 1, Port: 2}); w.Multiplier != 5 {
		t.Errorf("towards a peer with a separate weight: %s", w)
	}
	if w := s.WeightTo(ident.PortID{Node: 2, Port: 2}); w.Multiplier != 4 {
		t.Errorf("towards any other peer: %s", w)
	}
}
