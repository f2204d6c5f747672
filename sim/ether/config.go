package ether

import (
	"fmt"
	"maps"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
)

// MaxClasses bounds the traffic classes of a fabric.
const MaxClasses = 8

// MaxAlgorithms bounds the congestion controls of a run: what FlowSpec.Algorithm can tell apart.
const MaxAlgorithms = 1 << 16

// Config is the hardware and the protocol of a fabric. The zero value of most fields means the
// default that their comment gives.
type Config struct {
	Seed uint64 // of the marking coin and the hash of paths

	Payload  int     // of a full packet, bytes; 1000
	Headers  Headers // bytes on the wire beside the payload
	AckEvery int     // data packets per acknowledgement; 1
	// AckDelay is how long a receiver keeps an acknowledgement back when AckEvery asks for more
	// packets than come: a window may close, and an endless flow stop, before they do; 10 us.
	AckDelay quantity.Picoseconds
	// AckOvertakesPause lets a NIC send acknowledgements of a class that is paused. They may overrun
	// the headroom and be lost.
	AckOvertakesPause bool
	// TruncateNs cuts every serialization time and pacing gap to whole nanoseconds, as ns-3 does. Small
	// packets on fast links then take less time than their rate allows, and may overrun the headroom.
	TruncateNs bool
	// FixedPoint makes those nanoseconds as ns-3 does: it turns seconds in a double into binary fixed point with 64
	// digits before and after the point, which cuts them off, and then into nanoseconds, which cuts again. A time
	// that is a whole number of nanoseconds comes out one shorter. Without TruncateNs it has no effect.
	FixedPoint bool
	// PaceCredit is how much of the time that a paced flow has waited in line behind others it may make
	// up for, up to 1 ms; 0 is none, as in ns-3. Without it the flows of a busy NIC stay below their rates.
	PaceCredit quantity.Picoseconds
	// GlobalRTT tells every flow the largest base round trip of the fabric instead of its path's.
	GlobalRTT bool

	Classes []Class // by class number; one lossless class
	// CNPClass carries notification packets; CNPGap is the least time between two of a flow.
	CNPs     bool // answer marks by packets; otherwise the acknowledgement echoes the mark
	CNPClass uint8
	CNPGap   quantity.Picoseconds

	ECN ECN
	// ECNs are the rules of single switch ports in place of ECN. Their thresholds are taken as they are: those
	// of the very link, with no scaling by RatePer and no defaults.
	ECNs     map[subnet.PortRef]ECN
	Buffer   Buffer
	Buffers  map[int32]Buffer // of single switches, by node
	Recovery Recovery
	FairRate *FairRate // WRCC switches; nil is none
	DCI      *DCI      // BiCC switches; nil is none. Algorithms that take marks must take CNPs then

	// Algorithms are the congestion controls of the run; a flow names one by its index.
	Algorithms []cc.Algorithm
	// OnStart is called when a flow begins, with the name by which it can be looked at and changed while it lasts.
	OnStart func(id int64, ref FlowRef)
	// OnDone is called when the acknowledgement of a flow's last byte has reached its sender.
	OnDone func(Done)
	// OnRTT is called with the round trip of each acknowledgement; nil costs nothing.
	OnRTT func(FlowRef, quantity.Picoseconds)
	// OnPause is called when a class of a port that transmits begins or ends to be paused by the far end.
	OnPause func(Pause)
}

// Pause is the begin or the end of a pause.
type Pause struct {
	At    quantity.Picoseconds
	Port  subnet.PortRef // that does not transmit
	Class uint8
	Begin bool
}

// Headers are bytes on the wire. An algorithm's own headers come on top (cc.Traits).
type Headers struct {
	Data  int // beside the payload of a data packet; 48
	Ack   int // a whole acknowledgement; 60
	CNP   int // a whole notification packet; 64
	Pause int // a whole PFC frame; 43
}

// Class is a traffic class: one queue per port.
type Class struct {
	Strict bool // served before all classes with weights, lower numbers first
	Weight int  // of deficit round robin, 1..255; 1
	Lossy  bool // no priority flow control: the buffer drops
}

// ECN is the marking rule of every switch queue: never below Min, always above Max, and between them
// with a probability that rises linearly to PMax. Thresholds are for a link of RatePer and scale with
// the rate of the link.
type ECN struct {
	Min, Max  int64            // bytes; 100,000 and 400,000
	RatePer   quantity.BitRate // 25 Gbit/s
	Absolute  bool             // the thresholds are those of every link, whatever its rate
	PMax      float64          // 0.2
	Off       bool             // mark nothing
	AtEnqueue bool             // decide when the packet enters the queue, not when it leaves
}

// Buffer is the shared packet memory of a switch with PFC thresholds per (ingress port, class).
type Buffer struct {
	Bytes   int64 // 33,554,432
	Reserve int64 // per port and lossless class, first-come bytes that need no shared memory; 4096
	// Headroom is the room kept for what arrives after a pause was asked for, in units of
	// rate x delay of the link. 0 is 3 such units, and on links so short that these could be
	// overrun what certainly suffices (see certain). A value given is kept to the letter, as the
	// reference simulators do: less than 2 units and three full packets may lose packets.
	Headroom float64
	// Alpha is the part of the free shared memory that one ingress port may hold: 1/8 at AlphaRate,
	// doubled with each doubling of the rate above it, at most 1.
	Alpha     float64
	AlphaRate quantity.BitRate // rate of the slowest host link
	// AlphaFixed makes Alpha that of every port, whatever its rate.
	AlphaFixed bool
	// Static, if not 0, is a fixed threshold in bytes in place of the dynamic one.
	Static int64
	Resume int64 // a paused port resumes this far below the threshold; 3072
	// EgressAlpha bounds a lossy queue to this part of the free shared memory; 1.
	EgressAlpha float64
}

// RecoveryMode is what a sender does about loss.
type RecoveryMode uint8

// Recovery modes.
const (
	GoBackN         RecoveryMode = iota // resend everything from the first missing byte
	SelectiveRepeat                     // resend what is missing
)

// Recovery is loss recovery. In a fabric with lossless classes alone it has nothing to do.
type Recovery struct {
	Mode    RecoveryMode
	NackGap quantity.Picoseconds // least time between two NACKs for one missing byte; 500 us
	// Timeout makes the sender start again after so long without progress: 1 us to 100 s, or 0 for
	// never. Without it a lossy class never learns that the last packet of a flow was lost.
	Timeout quantity.Picoseconds
}

// withDefaults fills in and checks.
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

// checkDCI refuses algorithms that marks reach in acknowledgements alone: a DCI switch takes the marks of
// its own data centre off and answers them with notifications, which such an algorithm does not take.
func (c *Config) checkDCI() error {
	for i, a := range c.Algorithms {
		if t := a.Traits(); c.DCI != nil && t.ECN && !t.CNP {
			return fmt.Errorf("algorithm %d takes marks but no notification packets, which are what BiCC switches answer marks with: want one that takes both, such as dcqcn, or none", i)
		}
	}
	return nil
}

// checkTimes bounds the timers: none may fire so often that time stands still.
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
