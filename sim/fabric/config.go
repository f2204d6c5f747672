package fabric

import (
	"fmt"

	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/quantity"
)

// Wire sizes in bytes.
const (
	// DataHeader is the size of a data packet without its payload: LRH 8, BTH 12, ICRC 4 and VCRC 2 (IBTA vol. 1, 7.7, 9.2,
	// 7.8).
	DataHeader = 26
	// AckSize is the size of an RC acknowledgement, bytes: LRH, BTH, AETH 4, ICRC, VCRC.
	AckSize = 30
	// CNPSize is the size of a congestion notification packet, bytes: LRH, BTH, 16 reserved bytes, ICRC, VCRC.
	CNPSize = 42
	// MADSize is the size of a management packet, bytes: LRH 8, BTH 12, DETH 8, 256 bytes, ICRC, VCRC, rounded down to 288
	// bytes because counters count four-byte words.
	MADSize = 288
	// CreditBlock is the unit of link-level flow control (IBTA vol. 1, 7.9).
	CreditBlock = 64
)

// Defaults of Config.
const (
	defaultBuffer    = 512 << 10
	defaultReference = 128 << 10
	// defaultUseWindow is a CCTI_Timer of 150 units of 1.024 us, the only period given in S1.
	defaultUseWindow = 153_600 * quantity.Nanosecond
)

// BecnMode selects how a destination answers a packet with FECN.
type BecnMode uint8

// Answers to FECN (IBTA annex A10).
const (
	BecnByAck BecnMode = iota // BECN in the RC acknowledgement, sent immediately
	BecnByCNP                 // a congestion notification packet (CNP) in addition to the acknowledgements
)

// MarkSpacing selects how Marking_Rate N spaces the marks.
type MarkSpacing uint8

// Spacings of marks among eligible packets.
const (
	// MarkRandom draws each interval uniformly from 1 to 2N-1 (mean N), so that marks cannot synchronize with the round robin
	// of flows.
	MarkRandom MarkSpacing = iota
	// MarkEveryNth marks exactly every Nth eligible packet.
	MarkEveryNth
)

// MarkBasis selects the quantity that a switch compares with its threshold.
type MarkBasis uint8

// Quantities compared with marking thresholds.
const (
	// MarkByQueue compares the bytes queued for the (output port, VL): Config.ThresholdBytes.
	MarkByQueue MarkBasis = iota
	// MarkByUse compares the utilization of the output's link, over all VLs: ThresholdUse. With this basis, marking also limits
	// a single flow, and a controlled link has no queue. S1 (4.1) defines the thresholds in this form.
	MarkByUse
)

// MarkPoint selects the moment at which a switch decides on a mark.
type MarkPoint uint8

// Moments of the marking decision. The specification does not say.
const (
	// MarkOnArrival uses the queue length at a packet's arrival. All flows see the same queue on average, so shares follow the
	// law rate ~ 1/(Increase·Timer).
	MarkOnArrival MarkPoint = iota
	// MarkOnDeparture uses the queue length at a packet's departure. With round robin over the inputs, the packets of a light
	// flow leave a queue that their own burst has just lengthened. The heaviest flow then gets 2 to 4 % more than the law
	// predicts.
	MarkOnDeparture
)

// Config holds the settings of the simulation that a topology does not contain. A field's zero value selects its default.
type Config struct {
	// Seed is the seed of all random draws: marking intervals and timer phases.
	Seed uint64
	// BufferPerVL is the input buffer of each (port, VL) in bytes, and so the initial credits: 8 KiB to 64 MiB, default 512
	// KiB. It must hold the oscillation of a controlled queue: if a link between switches runs out of credits, back-pressure
	// determines the shares instead of the weights.
	BufferPerVL int
	// MTU limits the payload of a packet in bytes: 256, 512, 1024, 2048 or 4096; 0 uses the MTU of the ports, or 4096 for ports
	// without one.
	MTU int
	// AckEvery is the message size in packets, 1 to 65535, default 16: RC acknowledges each message. Under BecnByAck, a packet
	// with FECN is acknowledged immediately.
	AckEvery int
	// Becn selects how a destination answers FECN; default BecnByAck.
	Becn BecnMode
	// TimerRestart makes every BECN restart CCTI_Timer (S1, Algorithm 1); by default the timer is free-running (IBTA annex
	// A10).
	TimerRestart bool
	// Aggregate is the number of packets that a source sends before it applies the sum of their injection rate delays, 1 to 64,
	// default 1 (S1, Algorithm 2 uses 4).
	Aggregate int
	// Marking selects the spacing of marks; default MarkRandom.
	Marking MarkSpacing
	// MarkAt selects the moment of the marking decision; default MarkOnArrival.
	MarkAt MarkPoint
	// MarkBy selects the quantity compared with the threshold; default MarkByQueue.
	MarkBy MarkBasis
	// UseWindow is the averaging time of link utilization under MarkByUse: 1 us to 10 ms, default 153.6 us. S1 specifies an
	// average but no time; the default is the period of its CCTI_Timer. A window of a few packets marks fast flows more than in
	// proportion; a window of many timer periods makes the utilization oscillate.
	UseWindow quantity.Picoseconds
	// ThresholdReference is the queue length, in bytes, that defines the thresholds: threshold t from 1 to 15 is exceeded when
	// more than ThresholdReference·(16-t)/16 bytes are queued for one (output port, VL); 0 never marks. IBTA leaves this
	// mapping to the vendor. Default 128 KiB.
	ThresholdReference int
	// SwitchLatency is the latency of each hop into a switch, 0 to 100 us; default 0.
	SwitchLatency quantity.Picoseconds
	// CCTBlocks is the capacity of a channel adapter's congestion control table in blocks of 64 entries
	// (CongestionInfo.ControlTableCap): 1 to 16, default 2.
	CCTBlocks int
	// Devices are the profiles of the fabric's devices; nil selects the built-in profiles. TimerRestart, ThresholdReference and
	// CCTBlocks apply to devices with a generic profile. Other devices follow their profile, and keep the nearest supported
	// value of each setting.
	Devices *ibprofile.Set
	// DataVLs is the initial number of operational data VLs: 1, 2, 4, 8 or 15, default 1.
	DataVLs int
}

// withDefaults sets the defaults and validates the ranges.
func (c Config) withDefaults() (Config, error) {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.BufferPerVL, defaultBuffer)
	def(&c.AckEvery, 16)
	def(&c.Aggregate, 1)
	def(&c.ThresholdReference, defaultReference)
	def(&c.CCTBlocks, 2)
	def(&c.DataVLs, 1)
	if c.UseWindow == 0 {
		c.UseWindow = defaultUseWindow
	}
	for _, f := range []struct {
		name        string
		v, low, max int
	}{
		{"buffer per VL", c.BufferPerVL, 8 << 10, 64 << 20},
		{"packets per acknowledgement", c.AckEvery, 1, 1<<16 - 1},
		{"aggregate", c.Aggregate, 1, 64},
		{"threshold reference", c.ThresholdReference, 1 << 10, 1 << 30},
		{"CCT blocks", c.CCTBlocks, 1, 16},
		{"use window in ps", int(c.UseWindow), int(quantity.Microsecond), int(10 * quantity.Millisecond)},
		{"switch latency in ps", int(c.SwitchLatency), 0, int(100 * quantity.Microsecond)},
	} {
		if f.v < f.low || f.v > f.max {
			return c, fmt.Errorf("%s %d: want %d to %d", f.name, f.v, f.low, f.max)
		}
	}
	if c.MTU != 0 && !validMTU(c.MTU) {
		return c, fmt.Errorf("MTU %d: want 256, 512, 1024, 2048 or 4096", c.MTU)
	}
	if !validVLs(c.DataVLs) {
		return c, fmt.Errorf("data VLs %d: want 1, 2, 4, 8 or 15", c.DataVLs)
	}
	if c.Becn > BecnByCNP || c.Marking > MarkEveryNth || c.MarkAt > MarkOnDeparture || c.MarkBy > MarkByUse {
		return c, fmt.Errorf("BECN mode %d, mark spacing %d, mark point %d, mark basis %d: want 0 or 1", c.Becn, c.Marking, c.MarkAt, c.MarkBy)
	}
	return c, nil
}

func validMTU(m int) bool { return m == 256 || m == 512 || m == 1024 || m == 2048 || m == 4096 }

func validVLs(n int) bool { return n == 1 || n == 2 || n == 4 || n == 8 || n == 15 }

// ThresholdBytes returns the number of queued bytes, for one (output port, VL), that corresponds to a marking threshold under
// Config.ThresholdReference; -1 for threshold 0, which never marks.
func (c Config) ThresholdBytes(threshold uint8) int {
	if threshold == 0 {
		return -1
	}
	ref := c.ThresholdReference
	if ref == 0 {
		ref = defaultReference
	}
	return ref * (16 - int(min(threshold, 15))) / 16
}
