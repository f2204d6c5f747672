package ether

import (
	"math"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet/topogen"
)

// Values out of range are rejected with a message that contains the value found and the allowed range.
func TestConfigurationsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(2, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"payload 63: want 64 to 9216":         func(c *Config) { c.Payload = 63 },
		"ack_every 256: want 1 to 255":        func(c *Config) { c.AckEvery = 256 },
		"classes 9: want 1 to 8":              func(c *Config) { c.Classes = make([]Class, 9) },
		"weight of class 0 256: want 1":       func(c *Config) { c.Classes = []Class{{Weight: 256}} },
		"cnp class 1: want 0 to 0":            func(c *Config) { c.CNPClass = 1 },
		"p_max NaN: want 0 to 1":              func(c *Config) { c.ECN.PMax = math.NaN() },
		"ecn min 9: want 0 to 5":              func(c *Config) { c.ECN.Min, c.ECN.Max = 9, 5 },
		"ecn thresholds for a link of -1":     func(c *Config) { c.ECN.RatePer = -1 },
		"timeout 1 ns: want 1 us to 100 s":    func(c *Config) { c.Recovery.Timeout = quantity.Nanosecond },
		"timeout -1 ps: want":                 func(c *Config) { c.Recovery.Timeout = -1 },
		"nack_gap -1 ps: want":                func(c *Config) { c.Recovery.NackGap = -1 },
		"ack_delay 2 s: want 1 ns to 1 s":     func(c *Config) { c.AckDelay = 2 * quantity.Second },
		"cnp_gap 2 s: want 0 ps to 1 s":       func(c *Config) { c.CNPGap = 2 * quantity.Second },
		"buffer headroom -1: want 0":          func(c *Config) { c.Buffer.Headroom = -1 },
		"headroom NaN":                        func(c *Config) { c.Buffer.Headroom = math.NaN() },
		"alpha -1":                            func(c *Config) { c.Buffer.Alpha = -1 },
		"egress alpha 65":                     func(c *Config) { c.Buffer.EgressAlpha = 65 },
		"buffer of 1000 bytes at switch":      func(c *Config) { c.Buffer.Bytes = 1000 },
		"node 0: buffer -5: want":             func(c *Config) { c.Buffers = map[int32]Buffer{0: {Bytes: -5}} },
		"algorithms 0: want 1 to 65536":       func(c *Config) { c.Algorithms = nil },
		"fair rate period 1 ps: want":         func(c *Config) { c.FairRate = &FairRate{Period: 1} },
		"buffer of 50000 bytes at switch sw1": func(c *Config) { c.Classes = []Class{{}, {}}; c.Buffer.Bytes = 50_000 },
	} {
		cfg := Config{Algorithms: []cc.Algorithm{&recorder{}}}
		change(&cfg)
		if _, err := New(topo, cfg); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := New(nil, Config{}); err == nil {
		t.Error("no topology is accepted")
	}
}

// Invalid flows are rejected.
func TestFlowsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	n, _ := star(t, 3, Config{})
	for want, f := range map[string]FlowSpec{
		"hosts 3 and 0: want 0 to 2": {Src: 3},
		"hosts 0 and -1: want":       {Dst: -1},
		"host 1 to itself":           {Src: 1, Dst: 1},
		"-1 bytes: want 0 or more":   {Dst: 1, Bytes: -1},
		"algorithm 1: want 0 to 0":   {Dst: 1, Algorithm: 1},
		"class 1: want 0 to 0":       {Dst: 1, Class: 1},
		"weight NaN: want":           {Dst: 1, Weight: math.NaN()},
		"weight -1: want":            {Dst: 1, Weight: -1},
		"demand -1 bit/s: want 0":    {Dst: 1, Demand: -1},
	} {
		f.ID = 77
		if err := n.Add(f); err == nil || !strings.Contains(err.Error(), "flow 77: "+want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if !n.Finished() {
		t.Error("a rejected flow counts as upcoming")
	}
}

// A flow may use any of MaxAlgorithms congestion controls: one for each NIC port of a large fabric with separate settings.
func TestFlowsNameMoreAlgorithmsThanAByteHolds(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(2, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Algorithms: make([]cc.Algorithm, 1000)}
	for i := range cfg.Algorithms {
		cfg.Algorithms[i] = &recorder{}
	}
	n, err := New(topo, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Add(FlowSpec{Src: 0, Dst: 1, Bytes: 1 << 20, Algorithm: 999}); err != nil {
		t.Fatal(err)
	}
	n.RunUntil(quantity.Microsecond)
	found := 0
	n.Flows(func(f FlowState) bool {
		if found++; f.Algorithm != 999 {
			t.Errorf("algorithm %d, want 999", f.Algorithm)
		}
		return true
	})
	if found != 1 {
		t.Errorf("%d flows, want 1", found)
	}
}
