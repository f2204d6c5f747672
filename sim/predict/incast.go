package predict

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// Incast is a small packet model that generates RTT samples for training without a fabric: senders share one FIFO queue before
// one link, and each samples one RTT at a time, as in S3 (3.2). It models the incast from which S3 takes its rows (4.1.2).
// Packets are simulated individually, so the samples have the jitter of real queues; all other delays are constant.
type Incast struct {
	Sizes   []int64              // bytes to send, one entry per sender; 1 to MaxSenders senders
	Link    quantity.BitRate     // rate of the senders' ports and of the shared link, at least 1 Mbit/s
	Base    quantity.Picoseconds // RTT without queueing, above 0
	Packet  int                  // packet size in bytes, 64 to 65,536
	Backlog int64                // bytes in the queue at which senders pause, at least one packet
	Control Control              // reaction of the senders to an RTT sample
	Seed    uint64               // seed of the senders' first sending times
}

// MaxSenders is the largest number of senders of an Incast; MaxIncastBytes is the largest sum of their bytes.
const (
	MaxSenders     = 4096
	MaxIncastBytes = 16e9
)

// Control selects the reaction of an Incast's senders to a sample. S3 trains on samples of both kinds, because one keeps the
// RTT steady and the other makes it vary strongly (3.4.2).
type Control uint8

// Kinds of control.
const (
	// Gradient follows the slope of the RTT, as in TIMELY (Mittal et al., SIGCOMM 2015, algorithm 1): smoothing 0.875, minimum
	// and maximum RTT 50 and 500 us, beta 0.8, slopes in units of 20 us, additive step 10 Mbit/s per 10 Gbit/s of the link,
	// five times as much after five increases. It starts at the link's rate.
	Gradient Control = iota
	// Proportional is S3's PID controller with its untrained gains, applied to the measured RTT (3.5.3): target 5 us, start at
	// a tenth of the link's rate.
	Proportional
)

// S3Incast returns S3's incast (4.1.2, figure 14): 20 senders of 100 Gbit/s with 200, 200, 150 and 17 times 5 MB, packets of
// 1 KB, and an RTT of 4 us without queueing (figure 18). Senders pause at 2 MB, where S3's own samples end (165 us, table 6).
func S3Incast(c Control, seed uint64) Incast {
	in := Incast{
		Link: 100 * quantity.Gbps, Base: 4 * quantity.Microsecond, Packet: 1048, Backlog: 2e6, Control: c, Seed: seed,
		Sizes: []int64{200e6, 200e6, 150e6},
	}
	for range 17 {
		in.Sizes = append(in.Sizes, 5e6)
	}
	return in
}

// Run sends all bytes and passes the samples to rec, one series per sender, starting with series first. It returns an error for
// values out of range.
func (in *Incast) Run(rec *Recorder, first int) error {
	if err := in.check(); err != nil {
		return err
	}
	m := incast{Incast: in, rec: rec, first: first, senders: make([]sender, len(in.Sizes))}
	rng := sim.NewRNG(in.Seed)
	for i := range m.senders {
		m.rec.Start(first + i)
		m.senders[i] = sender{left: in.Sizes[i], rate: float64(in.Link)}
		if in.Control == Proportional {
			m.senders[i].rate = float64(in.Link) / 10
		}
		at := quantity.Picoseconds(rng.Uint64n(uint64(in.Base)))
		m.engine.Schedule(at, evSend, int32(i), 0)
	}
	m.engine.RunUntil(sim.Never, &m)
	return nil
}

func (in *Incast) check() error {
	if n := len(in.Sizes); n < 1 || n > MaxSenders {
		return fmt.Errorf("incast of %d senders: want 1 to %d", n, MaxSenders)
	}
	var sum int64
	for i, s := range in.Sizes {
		if s < 1 || s > MaxIncastBytes || sum > MaxIncastBytes-s {
			return fmt.Errorf("incast: sender %d has %d bytes, the senders before it %d in total: want 1 byte or more, and at most %d for all senders", i, s, sum, int64(MaxIncastBytes))
		}
		sum += s
	}
	switch {
	case in.Link < quantity.Mbps || in.Link > quantity.MaxBitRate:
		return fmt.Errorf("incast link of %s: want %s to %s", in.Link, quantity.Mbps, quantity.MaxBitRate)
	case in.Base <= 0 || in.Base > quantity.Second:
		return fmt.Errorf("incast base RTT of %s: want more than 0, at most 1 s", in.Base)
	case in.Packet < 64 || in.Packet > 65536:
		return fmt.Errorf("incast packet of %d bytes: want 64 to 65536", in.Packet)
	case in.Backlog < int64(in.Packet) || in.Backlog > 1e12:
		return fmt.Errorf("incast backlog of %d bytes: want %d to 1e12", in.Backlog, in.Packet)
	case in.Control > Proportional:
		return fmt.Errorf("incast control %d: want %d or %d", in.Control, Gradient, Proportional)
	}
	return nil
}

const (
	evSend   = iota // sender A may send its next packet
	evSample        // the acknowledgement of sender A's probe arrives
)

type incast struct {
	*Incast
	engine  sim.Engine
	rec     *Recorder
	first   int
	senders []sender
	free    quantity.Picoseconds // time at which the shared link becomes idle
}

type sender struct {
	left   int64
	rate   float64 // bit/s
	rtt    quantity.Picoseconds
	probed bool // a probe is in flight
	seen   int  // number of samples

	slope  float64 // Gradient: smoothed difference of samples, us
	last   float64 // last sample, us, or last error
	raises int
	sum    float64 // Proportional: sum of errors
}

// Handle processes one event.
func (m *incast) Handle(ev sim.Event) {
	s := &m.senders[ev.A]
	if ev.Kind() == evSample {
		m.rec.Add(m.first+int(ev.A), s.rtt)
		s.probed = false
		if m.Control == Gradient {
			m.gradient(s)
		} else {
			m.proportional(s)
		}
		return
	}
	now := m.engine.Now()
	full := m.free - m.span(float64(m.Backlog), float64(m.Link))
	if full > now {
		m.engine.Schedule(full, evSend, ev.A, 0)
		return
	}
	size := min(s.left, int64(m.Packet))
	s.left -= size
	m.free = max(m.free, now) + m.span(float64(size), float64(m.Link))
	if !s.probed {
		s.probed = true
		s.rtt = m.free - now + m.Base
		m.engine.Schedule(now+s.rtt, evSample, ev.A, 0)
	}
	if s.left > 0 {
		m.engine.Schedule(now+m.span(float64(size), s.rate), evSend, ev.A, 0)
	}
}

// span returns the time of bytes at a rate.
func (m *incast) span(bytes, rate float64) quantity.Picoseconds {
	return max(1, quantity.Picoseconds(bytes*8e12/rate))
}

func (m *incast) gradient(s *sender) {
	const smooth, low, high, unit, beta = 0.875, 50, 500, 20, 0.8
	rtt := float64(s.rtt) / float64(quantity.Microsecond)
	s.seen++
	if s.seen == 1 {
		s.last = rtt
		return
	}
	s.slope = float64((1-smooth)*s.slope) + float64(smooth*(rtt-s.last))
	s.last = rtt
	switch {
	case rtt > high:
		s.raises = 0
		m.set(s, float64(s.rate*(1-float64(beta*(1-high/rtt)))))
	case rtt >= low && s.slope > 0:
		s.raises = 0
		m.set(s, float64(s.rate*max(0, 1-float64(beta*s.slope/unit))))
	default:
		step := float64(m.Link) / 1000
		if s.raises++; s.raises > 5 {
			step = float64(5 * step)
		}
		m.set(s, s.rate+step)
	}
}

func (m *incast) proportional(s *sender) {
	const target, kp, ki, kd = 5, -0.2, -0.05, 0.1
	e := (float64(s.rtt)/float64(quantity.Microsecond) - target) / target
	s.seen++
	s.sum += e
	if s.seen == 1 {
		s.last = e
	}
	delta := float64(kp*e) + float64(ki*s.sum/float64(s.seen)) + float64(kd*(e-s.last))
	s.last = e
	m.set(s, float64(s.rate*(1+max(-0.6, min(0.5, delta)))))
}

func (m *incast) set(s *sender, rate float64) {
	s.rate = max(float64(m.Link)/100, min(float64(m.Link), rate))
}

// DefaultRows returns the rows for training and test of the built-in model: S3's incast under both kinds of control, balanced
// to 4,765 rows per range, 19,060 in total (S3 has 19,058, 3.4.2).
func DefaultRows(seed uint64) ([]Row, error) {
	rec := NewRecorder(1 << 20)
	for i, c := range []Control{Gradient, Proportional} {
		in := S3Incast(c, sim.Hash(seed, uint64(i)))
		if err := in.Run(rec, i*len(in.Sizes)); err != nil {
			return nil, err
		}
	}
	return Balance(rec.Rows(), 4765, seed), nil
}

// TrainDefault trains the built-in model: DefaultRows(1) and DefaultOptions(1). It takes about one second, and its encoding is
// identical to model.json.
func TrainDefault() (*Model, []Round, error) {
	const seed = 1
	rows, err := DefaultRows(seed)
	if err != nil {
		return nil, nil, err
	}
	return Train(rows, DefaultOptions(seed))
}
