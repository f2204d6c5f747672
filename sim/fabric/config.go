package fabric

import (
	"fmt"

	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/quantity"
)

// Wire sizes in bytes.
const (
	// DataHeader is what a data packet carries besides its payload: LRH 8, BTH 12, ICRC 4
	// and VCRC 2 (IBTA vol. 1, 7.7, 9.2, 7.8).
	DataHeader = 26
	// AckSize is an RC acknowledgement: LRH, BTH, AETH 4, ICRC, VCRC.
	AckSize = 30
	// CNPSize is a congestion notification packet: LRH, BTH, 16 reserved bytes, ICRC, VCRC.
	CNPSize = 42
	// MADSize is a management packet on the wire: LRH 8, BTH 12, DETH 8, 256 bytes, ICRC,
	// VCRC, rounded down to the 288 bytes that counters in four-byte words can hold.
	MADSize = 288
	// CreditBlock is the unit of link-level flow control (IBTA vol. 1, 7.9).
	CreditBlock = 64
)

// Defaults of Config.
const (
	defaultBuffer    = 512 << 10
	defaultReference = 128 << 10
	// defaultUseWindow is a CCTI_Timer of 150 units of 1.024 us, the only time that S1 names.
	defaultUseWindow = 153_600 * quantity.Nanosecond
)

// BecnMode chooses how a destination answers a packet that carries FECN.
type BecnMode uint8

// Answers to FECN (IBTA annex A10).
const (
	BecnByAck BecnMode = iota // BECN in the RC acknowledgement, which is sent at once
	BecnByCNP                 // a congestion notification packet besides the acknowledgements
)

// MarkSpacing chooses how Marking_Rate N spaces the marks.
type MarkSpacing uint8

// Spacings of marks among eligible packets.
const (
	// MarkRandom draws each interval uniformly from 1 to 2N-1, whose mean is N, so that marks
	// cannot lock to the order in which flows take turns.
	MarkRandom MarkSpacing = iota
	// MarkEveryNth marks exactly every Nth eligible packet.
	MarkEveryNth
)

// MarkBasis chooses what a switch compares with its threshold.
type MarkBasis uint8

// What marking thresholds are thresholds of.
const (
	// MarkByQueue compares what is held for the (output port, VL): Config.ThresholdBytes.
	MarkByQueue MarkBasis = iota
	// MarkByUse compares the use of the output's link, all VLs together: ThresholdUse. A single flow is held
	// to it too, and a link under control keeps no queue. This is how S1 (4.1) words the thresholds.
	MarkByUse
)

// MarkPoint chooses when a switch decides on a mark.
type MarkPoint uint8

// Moments of the marking decision. The specification does not say.
const (
	// MarkOnArrival looks at the queue a packet finds. All flows find the same queue on average,
	// so shares follow the law rate ~ 1/(Increase·Timer).
	MarkOnArrival MarkPoint = iota
	// MarkOnDeparture looks at the queue a packet leaves. Where inputs are served in turn, a
	// light flow's packets leave a queue that their own burst has just raised: the heaviest
	// flow gets 2 to 4 % more than the law says.
	MarkOnDeparture
)

// Config is what the links and tables of a topology leave open. The zero value of each field
// is its default.
type Config struct {
	// Seed decides every random draw: marking intervals and timer phases.
	Seed uint64
	// BufferPerVL is the input buffer of each (port, VL) in bytes, which is what the credits
	// stand for: 8 KiB to 64 MiB, default 512 KiB. It must hold the swing of a controlled queue:
	// where a link between switches runs out of credits, back-pressure replaces the weights.
	BufferPerVL int
	// MTU caps the payload of a packet in bytes: 256, 512, 1024, 2048 or 4096; 0 leaves it to
	// the ports, and ports that say nothing have 4096.
	MTU int
	// AckEvery is the message size in packets: RC acknowledges every so many packets, 1 to
	// 65535, default 16. A FECN packet is acknowledged at once under BecnByAck.
	AckEvery int
	// Becn is how a destination answers FECN; default BecnByAck.
	Becn BecnMode
	// TimerRestart makes every BECN restart CCTI_Timer (S1, Algorithm 1); by default the
	// timer runs free (IBTA annex A10).
	TimerRestart bool
	// Aggregate makes a source apply the injection rate delay once per so many packets (S1,
	// Algorithm 2 uses 4) as the sum of their delays; 1 to 64, default 1.
	Aggregate int
	// Marking spaces the marks; default MarkRandom.
	Marking MarkSpacing
	// MarkAt is when a switch decides on a mark; default MarkOnArrival.
	MarkAt MarkPoint
	// MarkBy is what a switch compares with its threshold; default MarkByQueue.
	MarkBy MarkBasis
	// UseWindow is the time over which MarkByUse averages the use of a link: 1 us to 10 ms, default 153.6 us.
	// S1 speaks of an average and names no time for it; the default is the period of its CCTI_Timer. A window
	// of a few packets marks fast flows beyond their part, one of many timer periods makes the use swing.
	UseWindow quantity.Picoseconds
	// ThresholdReference is the queue, in bytes, that the thresholds divide: threshold t from
	// 1 to 15 is exceeded above ThresholdReference·(16-t)/16 bytes held for one (output port,
	// VL); 0 never marks. IBTA leaves the map to the vendor. Default 128 KiB.
	ThresholdReference int
	// SwitchLatency is added to each hop into a switch, 0 to 100 us; default 0.
	SwitchLatency quantity.Picoseconds
	// CCTBlocks is how many 64-entry blocks of a congestion control table a channel adapter
	// holds (CongestionInfo.ControlTableCap): 1 to 16, default 2.
	CCTBlocks int
	// Devices are the profiles of the fabric's devices; nil is the built-in ones alone. TimerRestart, ThresholdReference and CCTBlocks are
	// for devices of the generic profiles; others hold what their profile says, and keep the nearest value of settings beyond it.
	Devices *ibprofile.Set
	// DataVLs is how many data VLs are operational when the fabric comes up: 1, 2, 4, 8 or
	// 15, default 1.
	DataVLs int
}

// withDefaults fills in and checks.
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

// ThresholdBytes returns how many bytes held for one (output port, VL) a marking threshold
// stands for, by the map of Config.ThresholdReference; -1 for threshold 0, which never marks.
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
