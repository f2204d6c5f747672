package scenario

import (
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
)

// PresetNS3 is the model with the behaviour of the HPCC paper's public ns-3 simulator (Li et al., SIGCOMM 2019; its 2021
// snapshot), for a direct comparison of results. HPCC itself also needs its parameter int: wire.
const PresetNS3 = "ns3-hpcc"

// noPreset is the model with its defaults.
const noPreset = "none"

// preset returns the model settings of a preset.
func preset(name string) ether.Config {
	if name != PresetNS3 {
		return ether.Config{}
	}
	return ether.Config{
		Payload: 1000, Headers: ether.Headers{Data: 48, Ack: 60, CNP: 64, Pause: 43}, AckEvery: 1, TruncateNs: true, FixedPoint: true, GlobalRTT: true,
		ECN: ether.ECN{Min: 100_000, Max: 400_000, RatePer: 25 * quantity.Gbps, PMax: 0.2},
		// A headroom of 3 means exactly 3 times rate x delay, even where this is not enough.
		Buffer:   ether.Buffer{Bytes: 32 << 20, Reserve: 4096, Headroom: 3, Alpha: 0.125, Resume: 3072},
		Recovery: ether.Recovery{NackGap: 500 * quantity.Microsecond},
	}
}

// presetValues returns a preset's parameters of an algorithm, which apply unless the scenario sets them.
func presetValues(name, algorithm string) cc.Values {
	if name == PresetNS3 && algorithm == "dctcp" {
		return cc.Values{"first_window": 1} // window size from the next sequence number
	}
	return nil
}

// markingOf returns the default marking rule for the congestion controls: if all are DCTCP, its single threshold (Kmin =
// Kmax, 30 KB per 10 Gbit/s, as in the RDMA simulators), above which every packet is marked; otherwise the model's default.
func markingOf(controls []Control) ether.ECN {
	other := func(c Control) bool { return c.Algorithm != "dctcp" }
	if len(controls) == 0 || slices.ContainsFunc(controls, other) {
		return ether.ECN{}
	}
	return ether.ECN{Min: 30_000, Max: 30_000, RatePer: 10 * quantity.Gbps, PMax: 1}
}
