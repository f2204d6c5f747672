package cc

import (
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// star is the smallest network that closes a sender's control loop. Hosts with one flow each send through one switch to one
// receiver, over identical links. Times are truncated to whole nanoseconds, as in the HPCC paper's simulator, so that an
// algorithm alone can reproduce its published runs.
type star struct {
	rate   quantity.BitRate
	delay  quantity.Picoseconds
	header int // headers of a data packet, bytes
	ack    int // size of an acknowledgement, bytes
	mark   int64
	alg    Algorithm
	queue  sim.Queue
	now    quantity.Picoseconds
	flows  []starFlow
	port   []starPacket // backlog of the egress port, first packet first
	busy   bool
	queued int64
	sent   uint32
	peak   int64
	hop    []Hop
	maxRTT quantity.Picoseconds
	sumRTT quantity.Picoseconds
	acks   int64
}

type starFlow struct {
	size, next, acked int64
	control           Control
	nextSend          quantity.Picoseconds
	busyUntil         quantity.Picoseconds
	last              int // wire bytes of the flow's last packet
	timerAt           quantity.Picoseconds
	timer             int32 // generation; 0 means no pending timer
	generation        int32
	done              quantity.Picoseconds
	cable             []starPacket // packets on the link to the switch
	answers           []starPacket // acknowledgements on their way to the sender
}

type starPacket struct {
	flow   int32
	load   int64
	seq    int64
	at     quantity.Picoseconds
	hop    Hop
	marked bool
}

const starPayload = 1000

// Events of the star; A is the flow.
const (
	starStart uint8 = iota
	starNICFree
	starTimer
	starAtSwitch
	starPortFree
	starAtReceiver
	starAckAtSwitch
	starAckAtHost
)

func newStar(alg Algorithm, sizes []int64, starts []quantity.Picoseconds) *star {
	t := alg.Traits()
	s := &star{
		rate: 100 * quantity.Gbps, delay: quantity.Microsecond, header: 48 + t.DataHeader,
		ack: 60 + t.AckHeader, alg: alg, flows: make([]starFlow, len(sizes)), hop: make([]Hop, 1),
		mark: math.MaxInt64,
	}
	alg.Reserve(len(sizes))
	for i := range sizes {
		s.flows[i].size = sizes[i]
		s.queue.Push(starts[i], starStart, int32(i), 0)
	}
	return s
}

// transmissionTime returns the transmission time of a number of bytes, in whole nanoseconds.
func (s *star) transmissionTime(bytes int, rate float64) quantity.Picoseconds {
	return quantity.Picoseconds(float64(bytes)*8e9/rate) * quantity.Nanosecond
}

func (s *star) base() quantity.Picoseconds {
	return 4*s.delay + 2*s.transmissionTime(starPayload, float64(s.rate))
}

func (s *star) flow() *Flow {
	return &Flow{
		LineRate: s.rate, BaseRTT: s.base(), Payload: starPayload, Wire: starPayload + s.header, Hops: 2, Weight: 1,
		BDP: int64(float64(s.base()) * float64(s.rate) / 8e12),
	}
}

// run handles every event before an instant.
func (s *star) run(until quantity.Picoseconds) {
	for s.queue.NextAt() < until {
		ev, _ := s.queue.Pop()
		s.now = ev.At
		s.handle(ev)
	}
	s.now = until
}

func (s *star) handle(ev sim.Event) {
	f := &s.flows[ev.A]
	switch ev.Kind() {
	case starStart:
		f.control = s.alg.Start(ev.A, s.now, s.flow())
		s.trySend(ev.A)
	case starNICFree:
		s.trySend(ev.A)
	case starTimer:
		if ev.B == f.timer {
			f.timer = 0
			s.trySend(ev.A)
		}
	case starAtSwitch:
		p := f.cable[0]
		f.cable = f.cable[1:]
		s.port = append(s.port, p)
		s.queued += p.load + int64(s.header)
		s.peak = max(s.peak, s.queued)
		s.forward()
	case starPortFree:
		s.busy = false
		s.forward()
	case starAtReceiver:
		s.queue.Push(s.now+s.transmissionTime(s.ack, float64(s.rate))+s.delay, starAckAtSwitch, ev.A, 0)
	case starAckAtSwitch:
		s.queue.Push(s.now+s.transmissionTime(s.ack, float64(s.rate))+s.delay, starAckAtHost, ev.A, 0)
	case starAckAtHost:
		s.acknowledge(ev.A)
	}
}

// trySend starts the flow's next packet, or schedules a timer for its deadline.
func (s *star) trySend(i int32) {
	f := &s.flows[i]
	if s.now < f.busyUntil || f.next >= f.size {
		return
	}
	flight := f.next - f.acked
	if f.control.Window != 0 && flight >= f.control.Window || f.nextSend > s.now {
		if f.timer == 0 && f.nextSend > s.now {
			s.setTimer(i, f.nextSend)
		}
		return
	}
	load := min(starPayload, f.size-f.next)
	wire := int(load) + s.header
	end := s.now + s.transmissionTime(wire, float64(s.rate))
	f.busyUntil = end
	s.queue.Push(end, starNICFree, i, 0)
	s.queue.Push(end+s.delay, starAtSwitch, i, 0)
	f.cable = append(f.cable, starPacket{flow: i, load: load, seq: f.next + load, at: s.now})
	f.next += load
	f.last = wire
	f.nextSend = s.now + s.transmissionTime(wire, f.control.Rate)
}

func (s *star) setTimer(i int32, at quantity.Picoseconds) {
	f := &s.flows[i]
	f.generation++
	f.timer, f.timerAt = f.generation, at
	s.queue.Push(at, starTimer, i, f.timer)
}

// forward starts the next packet of the switch port, with the telemetry and the ECN mark at its departure from the queue.
func (s *star) forward() {
	if s.busy || len(s.port) == 0 {
		return
	}
	p := s.port[0]
	s.port = s.port[1:]
	wire := int(p.load) + s.header
	s.queued -= int64(wire)
	p.hop = Hop{At: s.now, Tx: s.sent, Queue: uint32(s.queued), Mbps: uint32(s.rate / quantity.Mbps)}
	p.marked = s.queued > s.mark
	s.sent += uint32(wire)
	s.busy = true
	end := s.now + s.transmissionTime(wire, float64(s.rate))
	s.queue.Push(end, starPortFree, p.flow, 0)
	s.queue.Push(end+s.delay, starAtReceiver, p.flow, 0)
	f := &s.flows[p.flow]
	f.answers = append(f.answers, p)
}

func (s *star) acknowledge(i int32) {
	f := &s.flows[i]
	p := f.answers[0]
	f.answers = f.answers[1:]
	f.acked = p.seq
	if f.acked >= f.size {
		f.done = s.now
	}
	a := Ack{Now: s.now, RTT: s.now - p.at, Seq: p.seq, Next: f.next, Acked: p.load, Packets: 1}
	s.maxRTT = max(s.maxRTT, a.RTT)
	s.sumRTT += a.RTT
	s.acks++
	if p.marked {
		a.Marked = 1
	}
	if s.alg.Traits().INT {
		s.hop[0] = p.hop
		a.INT = s.hop
	}
	old := f.control.Rate
	s.alg.Settle(i, s.now, &f.control)
	s.alg.Ack(i, &a, &f.control)
	if s.alg.Traits().Repace && f.control.Rate != old {
		f.nextSend += s.transmissionTime(f.last, f.control.Rate) - s.transmissionTime(f.last, old)
		if f.timer != 0 && f.nextSend < f.timerAt {
			s.setTimer(i, max(f.nextSend, s.now))
		}
	}
	s.trySend(i)
}

// delivered returns the acknowledged payload bytes of all flows.
func (s *star) delivered() (n int64) {
	for i := range s.flows {
		n += s.flows[i].acked
	}
	return n
}
