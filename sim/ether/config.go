package ether

import (
	"fmt"
	"maps"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
)

// MaxClasses is the largest number of traffic classes in a fabric.
const MaxClasses = 8

// MaxAlgorithms is the largest number of congestion control algorithms in a run; FlowSpec.Algorithm is an index below it.
const MaxAlgorithms = 1 << 16

// Config is the hardware and protocol configuration of a fabric. The zero value of most fields selects the default stated in
// the field's comment.
type Config struct {
	Seed uint64 // seed of the random draws of marking and of the path hash

	Payload  int     // payload of a full packet, bytes; 1000
	Headers  Headers // bytes on the wire in addition to the payload
	AckEvery int     // data packets per acknowledgement; 1
	// AckDelay is the longest time that a receiver delays an acknowledgement when it has fewer packets than AckEvery, for
	// example because the window is full or an unlimited flow stops; 10 us.
	AckDelay quantity.Picoseconds
	// AckOvertakesPause lets a NIC send acknowledgements of a paused class. They may exceed the headroom and be lost.
	AckOvertakesPause bool
	// TruncateNs truncates every serialization time and pacing gap to whole nanoseconds, as ns-3 does. Small packets on fast
	// links then take less time than their rate allows, and may exceed the headroom.
	TruncateNs bool
	// FixedPoint computes the times of TruncateNs as ns-3 does: it converts seconds from a double to binary fixed point with 64
	// digits before and after the point, truncating, and then to nanoseconds, truncating again. A time that is a whole number
	// of nanoseconds becomes one nanosecond shorter. FixedPoint has no effect without TruncateNs.
	FixedPoint bool
	// PaceCredit is the queueing time behind other flows, up to 1 ms, for which a paced flow may compensate; 0 means none, as
	// in ns-3. Without it, the flows of a busy NIC stay below their rates.
	PaceCredit quantity.Picoseconds
	// GlobalRTT gives every flow the largest base round trip time of the fabric instead of that of its path.
	GlobalRTT bool

	Classes []Class // by class number; default is one lossless class
	// CNPClass is the class of notification packets; CNPGap is the minimum time between two CNPs of a flow.
	CNPs     bool // answer marks by CNPs; otherwise the acknowledgement echoes the mark
	CNPClass uint8
	CNPGap   quantity.Picoseconds

	ECN ECN
	// ECNs are marking rules of single switch ports that replace ECN. Their thresholds apply to the actual link rate, without
	// scaling by RatePer and without defaults.
	ECNs     map[subnet.PortRef]ECN
	Buffer   Buffer
	Buffers  map[int32]Buffer // buffers of single switches, by node
	Recovery Recovery
	FairRate *FairRate // WRCC switches; nil means none
	DCI      *DCI      // BiCC switches; nil means none. Algorithms that react to marks must then also react to CNPs

	// Algorithms are the congestion controls of the run; a flow selects one by its index.
	Algorithms []cc.Algorithm
	// OnStart is called at the start of a flow. The reference can be used to read and change the flow until it ends.
	OnStart func(id int64, ref FlowRef)
	// OnDone is called when the acknowledgement of a flow's last byte reaches its sender.
	OnDone func(Done)
	// OnRTT is called with the round trip time of each acknowledgement; nil costs nothing.
	OnRTT func(FlowRef, quantity.Picoseconds)
	// OnPause is called when the far end pauses or resumes a class of a transmitting port.
	OnPause func(Pause)
}

// Pause is the start or the end of a pause.
type Pause struct {
	At    quantity.Picoseconds
	Port  subnet.PortRef // the paused transmitter
	Class uint8
	Begin bool
}

// Headers are sizes in bytes on the wire. Headers of an algorithm are added to them (cc.Traits).
type Headers struct {
	Data  int // headers of a data packet; 48
	Ack   int // complete acknowledgement; 60
	CNP   int // complete notification packet; 64
	Pause int // complete PFC frame; 43
}

// Class is a traffic class. Each port has one queue for it.
type Class struct {
	Strict bool // served before all classes with weights, lower numbers first
	Weight int  // weight for deficit round robin, 1 to 255; 1
	Lossy  bool // the class has no priority flow control: packets are dropped when the buffer is full
}

// ECN is the marking rule of every switch queue: it never marks below Min, always marks above Max, and marks in between with a
// probability that rises linearly to PMax. The thresholds are for a link of rate RatePer and scale with the link rate.
type ECN struct {
	Min, Max  int64            // bytes; 100,000 and 400,000
	RatePer   quantity.BitRate // 25 Gbit/s
	Absolute  bool             // use the thresholds at every link rate, unscaled
	PMax      float64          // 0.2
	Off       bool             // no marking
	AtEnqueue bool             // decide at enqueue instead of at dequeue
}

// Buffer is the shared packet buffer of a switch with PFC thresholds per (ingress port, class).
type Buffer struct {
	Bytes   int64 // 33,554,432
	Reserve int64 // bytes per port and lossless class that do not count as shared buffer; 4096
	// Headroom is the buffer for packets that arrive after a pause request, in units of rate x delay of the link. 0 selects 3
	// units, and the exact requirement on links so short that 3 units would not suffice (see requiredHeadroom). An explicit
	// value is used unchanged, as in the reference simulators: less than 2 units and three full packets may lose packets.
	Headroom float64
	// Alpha is the fraction of the free shared buffer that one ingress port may hold at AlphaRate; 1/8. It doubles with each
	// doubling of the rate above AlphaRate, up to 1.
	Alpha     float64
	AlphaRate quantity.BitRate // default: rate of the slowest host link
	// AlphaFixed uses Alpha for every port, at any rate.
	AlphaFixed bool
	// Static, if not 0, is a fixed threshold in bytes instead of the dynamic one.
	Static int64
	Resume int64 // bytes below the threshold at which a paused port resumes; 3072
	// EgressAlpha is the fraction of the free shared buffer that a lossy queue may hold; 1.
	EgressAlpha float64
}

// RecoveryMode selects a sender's reaction to loss.
type RecoveryMode uint8

// Recovery modes.
const (
	GoBackN         RecoveryMode = iota // resend all packets from the first missing byte
	SelectiveRepeat                     // resend only missing packets
)

// Recovery configures loss recovery. It has no effect in a fabric of lossless classes only.
type Recovery struct {
	Mode    RecoveryMode
	NackGap quantity.Picoseconds // minimum time between two NACKs for one missing byte; 500 us
	// Timeout is the time without progress after which a sender resends: 1 us to 100 s, or 0 for never. Without it, a flow of a
	// lossy class cannot recover the loss of its last packet.
	Timeout quantity.Picoseconds
}

// withDefaults sets the defaults and validates the ranges.
func (c Config) withDefaults() (Config, error) {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.Payload, 1000)
	def(&c.AckEvery, 1)
	def(&c.Headers.Data, 48)
	def(&c.Headers.Ack, 60)
	def(&c.Headers.CNP, 64)
	def(&c.Headers.Pause, 43)
	if len(c.Classes) == 0 {
		c.Classes = []Class{{Weight: 1}}
	}
	c.Classes = append([]Class(nil), c.Classes...)
	for i := range c.Classes {
		def(&c.Classes[i].Weight, 1)
	}
	c.ECN = c.ECN.withDefaults()
	c.Buffer = c.Buffer.withDefaults()
	c.ECNs = maps.Clone(c.ECNs)
	c.Buffers = maps.Clone(c.Buffers)
	for node, b := range c.Buffers {
		c.Buffers[node] = b.withDefaults()
	}
	if c.Recovery.NackGap == 0 {
		c.Recovery.NackGap = 500 * quantity.Microsecond
	}
	if c.AckDelay == 0 {
		c.AckDelay = 10 * quantity.Microsecond
	}
	return c, c.check()
}

func (e ECN) withDefaults() ECN {
	if e.Min == 0 && e.Max == 0 {
		e.Min, e.Max = 100_000, 400_000
	}
	if e.RatePer == 0 {
		e.RatePer = 25 * quantity.Gbps
	}
	if e.PMax == 0 {
		e.PMax = 0.2
	}
	return e
}

func (b Buffer) withDefaults() Buffer {
	def := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&b.Bytes, 32<<20)
	def(&b.Reserve, 4096)
	def(&b.Resume, 3072)
	if b.Alpha == 0 {
		b.Alpha = 0.125
	}
	if b.EgressAlpha == 0 {
		b.EgressAlpha = 1
	}
	return b
}

func (c *Config) check() error {
	between := func(name string, v, low, high int64) error {
		if v < low || v > high {
			return fmt.Errorf("%s %d: want %d to %d", name, v, low, high)
		}
		return nil
	}
	for _, err := range []error{
		between("payload", int64(c.Payload), 64, 9216),
		between("ack_every", int64(c.AckEvery), 1, 255),
		between("data header", int64(c.Headers.Data), 1, 512),
		between("ack size", int64(c.Headers.Ack), 1, 1024),
		between("cnp size", int64(c.Headers.CNP), 1, 1024),
		between("pause size", int64(c.Headers.Pause), 1, 1024),
		between("classes", int64(len(c.Classes)), 1, MaxClasses),
		between("cnp class", int64(c.CNPClass), 0, int64(len(c.Classes)-1)),
		between("algorithms", int64(len(c.Algorithms)), 1, MaxAlgorithms),
	} {
		if err != nil {
			return err
		}
	}
	for i, cl := range c.Classes {
		if err := between(fmt.Sprintf("weight of class %d", i), int64(cl.Weight), 1, 255); err != nil {
			return err
		}
	}
	if err := c.ECN.check(); err != nil {
		return err
	}
	if c.ECN.RatePer <= 0 {
		return fmt.Errorf("ecn thresholds for a link of %s: want more than 0 bit/s", c.ECN.RatePer)
	}
	for at, e := range c.ECNs {
		if err := e.check(); err != nil {
			return fmt.Errorf("node %d port %d: %w", at.Node, at.Port, err)
		}
	}
	if err := c.checkTimes(); err != nil {
		return err
	}
	if err := c.checkDCI(); err != nil {
		return err
	}
	if err := c.Buffer.check(); err != nil {
		return err
	}
	for node, b := range c.Buffers {
		if err := b.check(); err != nil {
			return fmt.Errorf("node %d: %w", node, err)
		}
	}
	return nil
}

func (e *ECN) check() error {
	switch {
	case e.Max < 0 || e.Max > 1<<40:
		return fmt.Errorf("ecn max %d: want 0 to %d", e.Max, int64(1)<<40)
	case e.Min < 0 || e.Min > e.Max:
		return fmt.Errorf("ecn min %d: want 0 to %d", e.Min, e.Max)
	case !(e.PMax >= 0 && e.PMax <= 1):
		return fmt.Errorf("ecn p_max %g: want 0 to 1", e.PMax)
	}
	return nil
}

// checkDCI rejects algorithms that receive marks in acknowledgements only: a DCI switch removes the marks of its own data
// centre and answers them with notifications, which such algorithms ignore.
func (c *Config) checkDCI() error {
	for i, a := range c.Algorithms {
		if t := a.Traits(); c.DCI != nil && t.ECN && !t.CNP {
			return fmt.Errorf("algorithm %d reacts to marks but not to notification packets, with which BiCC switches answer marks: want an algorithm that reacts to both, such as dcqcn, or to neither", i)
		}
	}
	return nil
}

// checkTimes limits the timers, so that frequent events cannot stop the progress of time.
func (c *Config) checkTimes() error {
	for _, t := range []struct {
		name     string
		v        quantity.Picoseconds
		low, top quantity.Picoseconds
	}{
		{"ack_delay", c.AckDelay, quantity.Nanosecond, quantity.Second},
		{"pace_credit", c.PaceCredit, 0, quantity.Millisecond},
		{"cnp_gap", c.CNPGap, 0, quantity.Second},
		{"nack_gap", c.Recovery.NackGap, 1, quantity.Second},
		{"timeout", c.Recovery.Timeout, quantity.Microsecond, 100 * quantity.Second},
	} {
		if (t.v < t.low || t.v > t.top) && !(t.name == "timeout" && t.v == 0) {
			return fmt.Errorf("%s %s: want %s to %s", t.name, t.v, t.low, t.top)
		}
	}
	return nil
}

func (b *Buffer) check() error {
	switch {
	case b.Bytes < 0 || b.Bytes > 1<<40:
		return fmt.Errorf("buffer %d: want 1 to 2^40 bytes", b.Bytes)
	case b.Reserve < 0 || b.Resume < 0 || b.Static < 0:
		return fmt.Errorf("buffer reserve %d, resume %d, static %d: want 0 or more bytes", b.Reserve, b.Resume, b.Static)
	case !(b.Headroom >= 0 && b.Headroom <= 1000):
		return fmt.Errorf("buffer headroom %g: want 0 for the default, or more and at most 1000 rate-delay products", b.Headroom)
	case !(b.Alpha > 0 && b.Alpha <= 64) || !(b.EgressAlpha > 0 && b.EgressAlpha <= 64):
		return fmt.Errorf("buffer alpha %g, egress alpha %g: want more than 0 and at most 64", b.Alpha, b.EgressAlpha)
	}
	return nil
}
